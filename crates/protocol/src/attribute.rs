//! Typed attributes of users: what an organization knows about its people beyond the standard claims, such as a
//! department, an employee number or the end of a contract.
//!
//! An issuer's [`AttributeSchema`] defines which attributes there are, of which type, who may read and write them, and
//! which scope releases each as a claim of its name. The values are part of the user's record. They are checked against
//! the schema when they are written; a change of the schema leaves the values that are stored as they are.

mod definition;
mod reserved;
mod schema;
mod value;

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use smol_str::SmolStr;

pub use definition::{AttributeDefinition, InvalidPattern, Party, Pattern};
pub use reserved::is_reserved_claim;
pub use schema::{AttributeChecker, AttributeError, AttributeSchema, InvalidSchema};
pub(crate) use value::MOST_ITEMS;
pub use value::{AttributeFault, AttributeType, AttributeValue};

/// The longest name, in characters.
const LONGEST_NAME: usize = 64;

/// How many bytes of JSON the attributes of one user may take together. Records of users are kept in memory, and a claim
/// may be made of every attribute.
pub const MOST_BYTES: usize = 16 << 10;

/// The attributes of a user. A name has no empty value: an attribute without a value is absent.
pub type Attributes = BTreeMap<AttributeName, AttributeValue>;

/// A text that is not the name of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the name of an attribute must have 1 to 64 characters of A-Z, a-z, 0-9, _, . and -, and not be . or .."
)]
pub struct InvalidAttributeName;

/// The name of an attribute, and of the claim that it is released as.
///
/// Whether a name is [reserved](is_reserved_claim) is checked when a schema is saved, not here: a name that a later
/// version reserves must not make records unreadable that have it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct AttributeName(SmolStr);

impl AttributeName {
    /// Takes a name as it was typed.
    ///
    /// # Errors
    /// [`InvalidAttributeName`].
    pub fn parse(text: &str) -> Result<Self, InvalidAttributeName> {
        Self::check(text).map(|()| Self(SmolStr::new(text)))
    }

    /// No character needs to be escaped in JSON, in a path, or in the name of a query parameter.
    fn check(text: &str) -> Result<(), InvalidAttributeName> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        let is_good = (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(is_allowed);
        if is_good && !matches!(text, "." | "..") { Ok(()) } else { Err(InvalidAttributeName) }
    }

    /// Takes a name that was checked before it was stored.
    pub fn trusted(text: impl Into<SmolStr>) -> Self {
        Self(text.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An attribute is looked up by its text. Names are compared and hashed as their texts are.
impl Borrow<str> for AttributeName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AttributeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AttributeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl std::str::FromStr for AttributeName {
    type Err = InvalidAttributeName;
    fn from_str(text: &str) -> Result<Self, InvalidAttributeName> {
        Self::parse(text)
    }
}

impl<'de> Deserialize<'de> for AttributeName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = SmolStr::deserialize(deserializer)?;
        Self::check(&text).map_err(serde::de::Error::custom)?;
        Ok(Self(text))
    }
}

#[cfg(test)]
mod tests;
