//! The definition of one attribute.

use std::collections::BTreeSet;

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use super::{AttributeName, AttributeType, DisplayName, is_reserved_claim};
use crate::scope::Scope;

/// The longest pattern, in characters.
const LONGEST_PATTERN: usize = 500;

/// The most memory of a compiled pattern, in bytes. A short pattern can stand for a large one (`\w{1000}`).
const LARGEST_PATTERN: usize = 256 << 10;

/// Who may read or write an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Party {
    /// The user, about themselves.
    Person,
    /// Whoever uses the admin API.
    Administrator,
}

impl Party {
    /// The word for all of them, in errors.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Person => "the person",
            Self::Administrator => "administrators",
        }
    }
}

/// One attribute of an issuer's users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttributeDefinition {
    /// Its name in the user's record, and that of its claim.
    pub name: AttributeName,
    /// The type of its values. In JSON: `type`.
    #[serde(rename = "type")]
    pub kind: AttributeType,
    /// Whether every user must have it. Checked when attributes of a user are written.
    #[serde(default)]
    pub required: bool,
    /// Whether no two users of the issuer may have the same value.
    #[serde(default)]
    pub unique: bool,
    /// What a text, or each item of a list, must match as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// Who sees its value.
    #[serde(default = "everybody")]
    pub readable_by: BTreeSet<Party>,
    /// Who sets and removes its value.
    #[serde(default = "administrators")]
    pub writable_by: BTreeSet<Party>,
    /// The scope token that releases it as a claim; without one it is never released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// What people read in the place of its name. Every other member is refused here.
    #[serde(flatten)]
    pub display_name: DisplayName,
}

fn everybody() -> BTreeSet<Party> {
    BTreeSet::from([Party::Person, Party::Administrator])
}

fn administrators() -> BTreeSet<Party> {
    BTreeSet::from([Party::Administrator])
}

impl AttributeDefinition {
    /// A definition that says nothing but name and type: the person reads it, administrators read and write it.
    pub fn new(name: AttributeName, kind: AttributeType) -> Self {
        Self {
            name,
            kind,
            required: false,
            unique: false,
            pattern: None,
            readable_by: everybody(),
            writable_by: administrators(),
            scope: None,
            display_name: DisplayName::default(),
        }
    }

    /// What people read of it in a language.
    pub fn label(&self, language: &str) -> &str {
        self.display_name.in_language(language).unwrap_or(self.name.as_str())
    }

    /// Whether a granted scope releases it.
    pub fn is_released_by(&self, scope: &Scope) -> bool {
        self.scope.as_ref().is_some_and(|own| scope.contains(own.as_str()))
    }

    /// What makes it a definition that cannot be saved.
    pub(super) fn fault(&self) -> Option<String> {
        if is_reserved_claim(self.name.as_str()) {
            return Some(
                "is the name of a claim that has a meaning of its own: take another name".to_owned(),
            );
        }
        let has_texts = matches!(self.kind, AttributeType::String | AttributeType::List);
        if let Some(pattern) = &self.pattern {
            if !has_texts {
                return Some(format!("has a pattern, which a {} cannot have", self.kind.as_str()));
            }
            if let Err(error) = pattern.compile() {
                return Some(format!("has a pattern that is not valid: {error}"));
            }
        }
        let is_comparable =
            !matches!(self.kind, AttributeType::Boolean | AttributeType::List | AttributeType::Aggregated);
        if self.unique && !is_comparable {
            return Some(format!("is unique, which a {} cannot be", self.kind.as_str()));
        }
        if self.scope.as_ref().is_some_and(|scope| scope.iter().count() != 1) {
            return Some("has a scope that is not one scope token".to_owned());
        }
        if self.readable_by.is_empty() || self.writable_by.is_empty() {
            return Some("needs somebody in readable_by and in writable_by".to_owned());
        }
        // Administrators create the users.
        if self.required && !self.writable_by.contains(&Party::Administrator) {
            return Some("is required, so writable_by needs administrator".to_owned());
        }
        self.display_name.fault()
    }
}

/// A regular expression that a whole text must match, in the syntax of the `regex` crate: the time for a match grows with
/// the length of the text only, whatever the pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(String);

/// A text that is not a pattern, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidPattern(String);

impl Pattern {
    /// Takes a text. [`compile`](Self::compile) tells whether it is a pattern.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text as it was typed.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The expression that matches a text only as a whole.
    ///
    /// # Errors
    /// [`InvalidPattern`] if it is longer than 500 characters, is no regular expression, or takes more than 256 KiB.
    pub fn compile(&self) -> Result<Regex, InvalidPattern> {
        if self.0.is_empty() || self.0.chars().count() > LONGEST_PATTERN {
            return Err(InvalidPattern(format!("it must have 1 to {LONGEST_PATTERN} characters")));
        }
        // Alone first: `a)|(b` becomes an expression only by the parentheses around it, and means something else then.
        build(&self.0)?;
        build(&format!("\\A(?:{})\\z", self.0))
    }
}

fn build(text: &str) -> Result<Regex, InvalidPattern> {
    let mut builder = RegexBuilder::new(text);
    builder.size_limit(LARGEST_PATTERN).dfa_size_limit(LARGEST_PATTERN).nest_limit(50);
    builder.build().map_err(|error| {
        // The message shows the pattern in several lines; the last one says what is wrong.
        let told = error.to_string();
        InvalidPattern(told.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned())
    })
}
