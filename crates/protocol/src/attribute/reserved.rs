//! Names of claims that an attribute cannot have, because a token or UserInfo would carry two claims of one name, or a
//! relying party would take the attribute for something that this server vouches for.

use crate::user_claims::PROFILE_CLAIMS;

/// Claims of ID tokens, access tokens and introspection that describe the token or the sign-in: RFC 7519 4.1, OpenID
/// Connect Core 2, 3.1.3.6 and 5.6.2, RFC 7662 2.2, RFC 8693 4, RFC 9068 2.2, others of IANA's registry of claims that say
/// what a token is bound to or allows, and the lineage of this server's access tokens.
const OF_TOKENS: &[&str] = &[
    "iss",
    "sub",
    "aud",
    "exp",
    "nbf",
    "iat",
    "jti",
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
    "sub_id",
    "sub_jwk",
    "_claim_names",
    "_claim_sources",
    "cnf",
    "act",
    "may_act",
    "client_id",
    "scope",
    "resource",
    "active",
    "username",
    "token_type",
    "token_introspection",
    "authorization_details",
    "txn",
    "toe",
    "typ",
    "alg",
    "kid",
    "gid",
    "anc",
    "gcl",
    "gat",
    "groups",
    "roles",
    "entitlements",
    "attributes",
];

/// Standard claims about the user besides the texts of the profile (OpenID Connect Core 5.1).
const STANDARD: &[&str] =
    &["updated_at", "email", "email_verified", "phone_number", "phone_number_verified", "address"];

/// Whether a claim has a meaning of its own, so that no attribute may have its name. Case does not count, because some
/// relying parties look claims up without regard to it.
pub fn is_reserved_claim(name: &str) -> bool {
    let mut all = OF_TOKENS.iter().chain(STANDARD).chain(PROFILE_CLAIMS);
    all.any(|reserved| reserved.eq_ignore_ascii_case(name))
}
