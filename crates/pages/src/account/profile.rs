//! The account pages on which a person writes: profile and password.

use askama::Template;

use super::AccountFrame;
use crate::Language;
use crate::page::page;

/// One text of the profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileField {
    /// The claim, and the field's name.
    pub name: &'static str,
    /// Its value.
    pub value: String,
}

/// How an attribute is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeInput {
    /// In a line.
    Text,
    /// In several lines.
    Lines,
    /// As a number.
    Number,
    /// As a day.
    Date,
    /// As yes or no.
    Flag,
    /// A list, one in each line.
    List,
}

/// One attribute. The field's name is `attribute.NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributeField {
    /// The attribute's name.
    pub name: String,
    /// What people read of it.
    pub label: String,
    /// How it is typed.
    pub input: AttributeInput,
    /// Its value as text.
    pub value: String,
    /// Whether the person may write it.
    pub is_writable: bool,
    /// Whether the person may see it; else the field is empty.
    pub is_readable: bool,
    /// Whether it must have a value.
    pub is_required: bool,
}

/// Shows and changes the profile (`POST` with the claims' names, `locale`, `attribute.NAME`, `seen`, `csrf_token`).
#[derive(Template)]
#[template(path = "account/profile.html")]
pub struct ProfilePage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// What all account pages have.
    pub frame: AccountFrame,
    /// The e-mail address.
    pub email: Option<String>,
    /// Whether it was verified.
    pub email_verified: bool,
    /// The texts that the person writes.
    pub fields: Vec<ProfileField>,
    /// The language of mail to the person, if one is known. Its field is `locale`.
    pub mail_language: Option<Language>,
    /// The attributes that the person sees or writes.
    pub attributes: Vec<AttributeField>,
    /// The hidden field `seen`: which state of the record the page shows.
    pub seen: u64,
}

impl ProfilePage {
    fn label(&self, field: &ProfileField) -> &'static str {
        let texts = self.t();
        match field.name {
            "name" => texts.profile_name,
            "given_name" => texts.profile_given_name,
            "family_name" => texts.profile_family_name,
            "middle_name" => texts.profile_middle_name,
            "nickname" => texts.profile_nickname,
            other => other,
        }
    }

    /// The tag of the language of mail; empty if none is known.
    fn mail_tag(&self) -> &'static str {
        self.mail_language.map_or("", Language::tag)
    }

    /// The autofill token (HTML, "Autofill").
    fn autocomplete(&self, field: &ProfileField) -> &'static str {
        match field.name {
            "given_name" => "given-name",
            "family_name" => "family-name",
            "middle_name" => "additional-name",
            "nickname" => "nickname",
            _ => "name",
        }
    }
}

impl AttributeField {
    fn is_lines(&self) -> bool {
        matches!(self.input, AttributeInput::Lines | AttributeInput::List)
    }

    fn is_flag(&self) -> bool {
        self.input == AttributeInput::Flag
    }

    fn is_list(&self) -> bool {
        self.input == AttributeInput::List
    }

    fn kind(&self) -> &'static str {
        if self.input == AttributeInput::Date { "date" } else { "text" }
    }

    fn is_number(&self) -> bool {
        self.input == AttributeInput::Number
    }
}

/// Changes the password (`POST` with `present`, `new`, `again`, `end_others`, `state`, `csrf_token`).
#[derive(Template)]
#[template(path = "account/password.html")]
pub struct PasswordPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// What all account pages have.
    pub frame: AccountFrame,
    /// The name by which the person signs in, for password managers.
    pub login_name: String,
    /// Whether there is a password, which is then asked for.
    pub has_password: bool,
    /// The hidden field `state`: which password the page was shown for.
    pub state: String,
}

page!(ProfilePage, PasswordPage);
