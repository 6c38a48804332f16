//! How pages present an issuer, or one of its clients: name, colours and other variables of the style sheet, links and texts. Why
//! variables and not a style sheet, and why colours are checked together: `docs/decisions/054-branding-is-checked-as-a-whole.md`.

pub mod address;
mod colour;
mod palette;
mod style_file;
mod translations;
mod variables;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use symbolon_crypto::{digest, encoding};

use crate::id::ClientId;
use crate::redirect_uri;
use crate::translation::{self, MOST_TRANSLATIONS};
use crate::unknown_member::{self, UnknownMember};

pub use colour::Colour;
use palette::{Palette, Scheme};
pub use style_file::{LONGEST as LONGEST_STYLE_FILE, StyleFault, read as read_style_file};
pub use translations::{IN_LANGUAGES, Translations};
use variables::Variable;
pub use variables::{VariableKind, Variables};

/// The longest name, in characters.
const LONGEST_NAME: usize = 80;
/// The longest text, in characters.
const LONGEST_TEXT: usize = 500;
/// The longest link, in bytes.
const LONGEST_URI: usize = 2048;

/// The branding of an issuer, or of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Branding {
    /// The name on pages and in mail, instead of the issuer's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The colour of buttons and links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accent: Option<Accent>,
    /// Other variables of the style sheet. Not written while there are none, so that nodes of earlier versions read the settings.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Variables::is_empty")]
    pub variables: Variables,
    /// Where people find help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help_uri: Option<String>,
    /// The privacy policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_uri: Option<String>,
    /// The terms of service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tos_uri: Option<String>,
    /// A text above every page's card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intro: Option<String>,
    /// A text at the foot of every page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foot: Option<String>,
    /// Links and texts in further languages, as `intro#de`. Every other member is refused here.
    #[serde(flatten)]
    pub translations: Translations,
}

/// The members of a branding, without those in further languages.
const MEMBERS: [&str; 8] =
    ["name", "accent", "variables", "help_uri", "policy_uri", "tos_uri", "intro", "foot"];

/// Refuses a member that a branding does not have.
///
/// # Errors
/// [`UnknownMember`]
pub fn check_members(branding: &Map<String, Value>) -> Result<(), UnknownMember> {
    let mut others = branding.clone();
    others.retain(|member, _| !translations::is_translation(member));
    unknown_member::check(&others, &MEMBERS, "branding")
}

/// A member that `null` removes.
fn nullable<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Variables, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// The accent colour in both schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accent {
    /// Where the page is light: the button's text is white.
    pub light: Colour,
    /// Where it is dark: the button's text is nearly black.
    pub dark: Colour,
}

/// The colours of a button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Button {
    /// Of the button.
    pub ground: Colour,
    /// Of the text on it.
    pub text: Colour,
}

impl Branding {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks lengths, links and contrast.
    ///
    /// # Errors
    /// The member and what is wrong with it; of a colour the ratio that it has.
    pub fn validate(&self) -> Result<(), String> {
        for member in ["name"].into_iter().chain(IN_LANGUAGES) {
            if let Some(text) = self.without_language(member) {
                check_displayed(member, text).map_err(|why| format!("branding.{member} {why}"))?;
            }
        }
        for (member, tag, text) in self.translations.iter() {
            if !translation::is_tag(tag) {
                return Err(format!(
                    "branding.{member} has a translation whose language is no tag of RFC 5646"
                ));
            }
            check_displayed(member, text).map_err(|why| format!("branding.{member}#{tag} {why}"))?;
        }
        if self.translations.len() > MOST_TRANSLATIONS {
            return Err(format!("branding is in further languages more than {MOST_TRANSLATIONS} times"));
        }
        self.palette().check()
    }

    /// A text or link in a language: by the whole tag, else by the first subtag, else the one without a language.
    pub fn displayed_in(&self, member: &str, language: &str) -> Option<&str> {
        let given = || self.translations.of(member);
        translation::lookup(given, language).or_else(|| self.without_language(member))
    }

    /// A text or link as it is where its language is not given.
    fn without_language(&self, member: &str) -> Option<&str> {
        let text = match member {
            "name" => &self.name,
            "help_uri" => &self.help_uri,
            "policy_uri" => &self.policy_uri,
            "tos_uri" => &self.tos_uri,
            "intro" => &self.intro,
            "foot" => &self.foot,
            _ => return None,
        };
        text.as_deref()
    }

    /// The button of mail, which loads no style sheet: where it is light, and where it is dark. The pages' own, so its contrast is
    /// checked.
    pub fn buttons(&self) -> [Button; 2] {
        let palette = self.palette();
        Scheme::ALL.map(|scheme| Button {
            ground: palette.colour("button", scheme),
            text: palette.colour("on-button", scheme),
        })
    }

    const fn palette(&self) -> Palette<'_> {
        Palette { accent: self.accent.as_ref(), variables: &self.variables }
    }

    /// The style sheet that is loaded after that of all pages; `None` if it would say nothing.
    pub fn style_sheet(&self) -> Option<StyleSheet> {
        if self.accent.is_none() && self.variables.is_empty() {
            return None;
        }
        let [mut light, mut dark] = [const { String::new() }; 2];
        // What is set here goes before the dark scheme of the sheet of all pages too, so each colour is said in both.
        let mut say = |name: &str, [in_light, in_dark]: [Colour; 2]| {
            light.push_str(&format!("--{name}:{in_light};"));
            dark.push_str(&format!("--{name}:{in_dark};"));
        };
        let palette = self.palette();
        let both = |name: &str| Scheme::ALL.map(|scheme| palette.colour(name, scheme));
        if self.accent.is_some() {
            for name in ["accent", "accent-strong", "button", "button-strong", "tint"] {
                say(name, both(name));
            }
        }
        let mut others = String::new();
        for (name, variable) in self.variables.iter() {
            match variable {
                Variable::Colour(_) => say(name, both(name)),
                Variable::Length(length) => others.push_str(&format!("--{name}:{length};")),
                Variable::Fonts(fonts) => {
                    others.push_str(&format!("--{name}:{};", variables::written(fonts)))
                }
                Variable::Shadow => others.push_str(&format!("--{name}:none;")),
            }
        }
        let dark = match dark.is_empty() {
            true => dark,
            false => format!("@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"),
        };
        Some(StyleSheet::of(format!(":root{{{light}{others}}}{dark}\n")))
    }
}

/// Whether a text or a link may be displayed, and else what it must be.
fn check_displayed(member: &str, text: &str) -> Result<(), String> {
    if member.ends_with("_uri") {
        // A `javascript:` URI would run at the provider's origin.
        return match text.len() <= LONGEST_URI && redirect_uri::origin(text).is_some() {
            true => Ok(()),
            false => Err("must be an http or https URL".to_owned()),
        };
    }
    let longest = if member == "name" { LONGEST_NAME } else { LONGEST_TEXT };
    match translation::is_line(text, longest) {
        true => Ok(()),
        false => Err(format!("must be 1 to {longest} characters on one line")),
    }
}

/// The path of an issuer's style sheet, relative to the issuer.
pub const STYLE_PATH: &str = "/branding.css";
/// The last part of the path of a client's.
const STYLE_FILE: &str = "style.css";

/// The client in the path of a style sheet, which may have an issuer's prefix before it.
pub fn client_of_style(path: &str) -> Option<ClientId> {
    address::client_in(path, STYLE_FILE)
}

/// A style sheet that a branding makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StyleSheet {
    text: String,
    query: String,
}

impl StyleSheet {
    fn of(text: String) -> Self {
        let digest = digest::sha256(&[text.as_bytes()]);
        let query = format!("v={}", encoding::encode(digest.first_chunk::<12>().unwrap_or(&[0; 12])));
        Self { text, query }
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The query of its address: caches may keep for ever what an address with this query answers.
    pub fn query(&self) -> &str {
        &self.query
    }

    /// Its address relative to the issuer: of the issuer's, or of a client's.
    pub fn address(&self, client: Option<&ClientId>) -> String {
        let of_client = |client| address::of_client(client, STYLE_FILE);
        format!("{}?{}", client.map_or_else(|| STYLE_PATH.to_owned(), of_client), self.query)
    }
}

#[cfg(test)]
mod tests;
