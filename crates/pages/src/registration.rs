//! The page on which somebody asks for an account.

use askama::Template;

use crate::page::page;
use crate::sign_in::wait;
use crate::{ByLanguage, Language, NewPassword, PasswordFault, Texts};

/// Why a registration was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegisterError {
    /// The address is none.
    Email,
    /// A field is missing, or not in the right form.
    Field(String),
    /// A value belongs to another account.
    Taken,
    /// The password was not taken.
    Password(PasswordFault),
    /// Too many mails were asked for.
    TooManyAttempts {
        /// Seconds until the next attempt is allowed.
        retry_after_seconds: u64,
    },
    /// The server has too many passwords to check at the moment.
    Busy,
    /// The puzzle was not solved: the browser runs no scripts.
    Puzzle,
    /// The page was out of date.
    Expired,
}

impl RegisterError {
    fn text(&self, texts: &'static Texts) -> String {
        match self {
            Self::Email => texts.register_email_wrong.into(),
            Self::Field(label) => texts.register_field_wrong.with(label),
            Self::Taken => texts.register_taken.into(),
            Self::Password(fault) => fault.text(texts),
            Self::TooManyAttempts { retry_after_seconds } => {
                texts.login_too_many_attempts.with(&wait(*retry_after_seconds, texts))
            }
            Self::Busy => texts.login_busy.into(),
            Self::Puzzle => texts.register_puzzle.into(),
            Self::Expired => texts.form_expired.into(),
        }
    }
}

/// How a value is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// A text.
    Text,
    /// A number.
    Number,
    /// A day.
    Date,
    /// Yes or no.
    Check,
}

/// A field for an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormField {
    /// The name of the attribute; the field is `attribute.` and this name.
    pub name: String,
    /// What people read of it, where that is another text.
    pub label: ByLanguage,
    /// How it is typed.
    pub kind: FieldKind,
    /// What was typed.
    pub value: String,
    /// Whether it must be filled in.
    pub required: bool,
}

impl FormField {
    fn label_in(&self, tag: &str) -> &str {
        self.label.in_language(tag).unwrap_or(&self.name)
    }

    fn input_type(&self) -> &'static str {
        match self.kind {
            FieldKind::Text | FieldKind::Number => "text",
            FieldKind::Date => "date",
            FieldKind::Check => "checkbox",
        }
    }

    fn is_check(&self) -> bool {
        self.kind == FieldKind::Check
    }

    fn is_number(&self) -> bool {
        self.kind == FieldKind::Number
    }

    fn is_on(&self) -> bool {
        self.value == "true"
    }
}

/// A puzzle that the browser solves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PuzzleView {
    /// How many bits.
    pub bits: u8,
    /// The page's id, which is part of it.
    pub page: String,
}

/// Asks for an account (`POST action` with `email`, `given_name`, `family_name`, `attribute.NAME`, `password` if it is asked
/// for, `puzzle`, `transaction`, `csrf_token`).
#[derive(Template)]
#[template(path = "register.html")]
pub struct RegisterPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// The name of the client that the person came from.
    pub client_name: Option<String>,
    /// Where the form is posted.
    pub action: String,
    /// The hidden field `transaction`.
    pub transaction: String,
    /// The hidden field `csrf_token`.
    pub csrf: String,
    /// The address, as it was typed.
    pub email: String,
    /// Whether the address is given by an invitation.
    pub is_invited: bool,
    /// The first name, as it was typed.
    pub given_name: String,
    /// The last name, as it was typed.
    pub family_name: String,
    /// Attributes that the person must or may write.
    pub attributes: Vec<FormField>,
    /// Whether the password is chosen here: where the address is proven already.
    pub new_password: NewPassword,
    /// Whether this form opens the account: the address is proven already.
    pub opens_account: bool,
    /// The puzzle, if there is one.
    pub puzzle: Option<PuzzleView>,
    /// Where somebody who has an account goes.
    pub sign_in_uri: Option<String>,
    /// Why the last attempt was not taken.
    pub error: Option<RegisterError>,
}

impl RegisterPage {
    fn is_password_wrong(&self) -> bool {
        matches!(self.error, Some(RegisterError::Password(_)))
    }
}

page!(RegisterPage);
