//! Typed attributes of users: what an organization knows about its people beyond the standard claims, such as a
//! department, an employee number or the end of a contract.
//!
//! An issuer's [`AttributeSchema`] defines which attributes there are, of which type, who may read and write them, and
//! which scope releases each as a claim of its name. The values are part of the user's record. They are checked against
//! the schema when they are written; a change of the schema leaves the values that are stored as they are.

mod aggregated;
mod definition;
mod display_name;
mod reserved;
mod schema;
mod value;

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use smol_str::SmolStr;

use crate::id::{InvalidId, identifier};

pub use aggregated::AggregatedClaims;
pub use definition::{AttributeDefinition, InvalidPattern, Party, Pattern};
pub use display_name::DisplayName;
pub use reserved::is_reserved_claim;
pub use schema::{AttributeChecker, AttributeError, AttributeSchema, InvalidSchema};
pub(crate) use value::MOST_ITEMS;
pub use value::{AttributeFault, AttributeType, AttributeValue};

/// How many bytes of JSON the attributes of one user may take together. Records of users are kept in memory, and a claim
/// may be made of every attribute.
pub const MOST_BYTES: usize = 16 << 10;

/// The attributes of a user. A name has no empty value: an attribute without a value is absent.
pub type Attributes = BTreeMap<AttributeName, AttributeValue>;

identifier!(
    /// The name of an attribute, and of the claim that it is released as. No character of it needs to be escaped in JSON, in
    /// a path, or in the name of a query parameter.
    ///
    /// Whether a name is [reserved](is_reserved_claim) is checked when a schema is saved, not here: a name that a later
    /// version reserves must not make records unreadable that have it.
    AttributeName, "the name of an attribute", 64, can_be_name,
    "1 to 64 characters of A-Z, a-z, 0-9, _, . and -, and not . or .."
);

fn can_be_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    text.bytes().all(is_allowed) && !matches!(text, "." | "..")
}

#[cfg(test)]
mod tests;
