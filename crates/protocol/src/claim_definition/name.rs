//! Names of claims: which can be defined.

use super::source::standard_claims;
use crate::scope::{GROUPS, ROLES};

/// The claims that say what a token is, whose it is and how it is bound, the members of introspection's answer, and the
/// lineage of this server's access tokens. Whoever reads a token decides by them, so no definition may write them.
const RESERVED: [&str; 45] = [
    // RFC 7519 4.1.
    "iss",
    "sub",
    "aud",
    "exp",
    "nbf",
    "iat",
    "jti",
    // OpenID Connect Core 2, 3.3.2.11; Front-Channel Logout 3; Back-Channel Logout 2.4.
    "auth_time",
    "nonce",
    "acr",
    "amr",
    "azp",
    "at_hash",
    "c_hash",
    "s_hash",
    "sid",
    "events",
    "sub_jwk",
    // RFC 9493 3.
    "sub_id",
    // OpenID Connect Core 5.6.2: they say where other claims are.
    "_claim_names",
    "_claim_sources",
    // RFC 9068 2.2, RFC 8693 4, RFC 7800 3.1, RFC 9396 9.1, RFC 8707.
    "client_id",
    "scope",
    "act",
    "may_act",
    "cnf",
    "authorization_details",
    "resource",
    // RFC 7662 2.2.
    "active",
    "username",
    "token_type",
    // RFC 7515 4.1, RFC 7516 4.1: names of header parameters, which a nested token may repeat as claims.
    "typ",
    "alg",
    "kid",
    "jwk",
    "crit",
    // The lineage of access tokens, and the version of a registered refresh token.
    "gid",
    "anc",
    "gcl",
    "gat",
    "rtv",
    // What this server alone can know.
    "email_verified",
    "phone_number_verified",
    "updated_at",
    // RFC 9701 5: the answer of introspection as a JWT.
    "token_introspection",
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
    if RESERVED.iter().any(|own| own.eq_ignore_ascii_case(name)) {
        return Some("the name is reserved: whoever reads a token decides by this claim");
    }
    let is_nearly = |own: &&str| own.eq_ignore_ascii_case(name) && *own != name;
    if standard_claims().chain(["address", GROUPS, ROLES]).any(|own| is_nearly(&own)) {
        return Some("the name differs from that of a standard claim by its case alone");
    }
    None
}
