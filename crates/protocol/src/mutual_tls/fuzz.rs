//! What the fuzz target of distinguished names calls: they are no part of the crate's interface.

use super::distinguished_name::DistinguishedName;

/// Whether two texts are one distinguished name (RFC 4514); `None` where one of them is none.
pub fn are_same_names(one: &str, other: &str) -> Option<bool> {
    Some(DistinguishedName::parse(one)? == DistinguishedName::parse(other)?)
}
