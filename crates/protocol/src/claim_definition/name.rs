//! Names of claims: which can be defined.

use super::source::standard_claims;
use crate::scope::{GROUPS, ROLES};
use crate::token::claim::OF_TOKENS;

/// Claims besides those of [`OF_TOKENS`] that no definition may write.
const OTHERS: [&str; 6] = [
    // RFC 7515 4.1, RFC 7516 4.1: names of header parameters, which a nested token may repeat as claims.
    "jwk",
    "crit",
    // The version of a registered refresh token.
    "rtv",
    // What this server alone can know.
    "email_verified",
    "phone_number_verified",
    "updated_at",
];

/// The longest name, in bytes.
const LONGEST: usize = 200;

/// Why a claim of this name cannot be defined.
pub(super) fn refuses(name: &str) -> Option<&'static str> {
    // These characters need no escaping in JSON, so a name can be written as it is.
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    if name.is_empty() || name.len() > LONGEST || !name.bytes().all(is_plain) {
        return Some(
            "a name must have 1 to 200 visible ASCII characters, but no quotation mark and no backslash",
        );
    }
    // Some relying parties look claims up whatever their case, and the last one found counts for them.
    if OF_TOKENS.iter().chain(&OTHERS).any(|own| own.eq_ignore_ascii_case(name)) {
        return Some("the name is reserved: whoever reads a token decides by this claim");
    }
    let is_nearly = |own: &&str| own.eq_ignore_ascii_case(name) && *own != name;
    if standard_claims().chain(["address", GROUPS, ROLES]).any(|own| is_nearly(&own)) {
        return Some("the name differs from that of a standard claim by its case alone");
    }
    None
}
