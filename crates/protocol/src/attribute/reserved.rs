//! Names of claims that an attribute cannot have, because a token or UserInfo would carry two claims of one name, or a
//! relying party would take the attribute for something that this server vouches for.

use crate::token::claim::OF_TOKENS;
use crate::user_claims::PROFILE_CLAIMS;

/// Claims besides those of [`OF_TOKENS`] that say what a token is about, or what its user may do: IANA's registry of claims,
/// and RFC 9068 2.2.3.1.
const OTHERS: &[&str] = &["txn", "toe", "groups", "roles", "entitlements", "attributes"];

/// Standard claims about the user besides the texts of the profile (OpenID Connect Core 5.1).
const STANDARD: &[&str] =
    &["updated_at", "email", "email_verified", "phone_number", "phone_number_verified", "address"];

/// Whether a claim has a meaning of its own, so that no attribute may have its name. Case does not count, because some
/// relying parties look claims up without regard to it.
pub fn is_reserved_claim(name: &str) -> bool {
    let mut all = OF_TOKENS.iter().chain(OTHERS).chain(STANDARD).chain(PROFILE_CLAIMS);
    all.any(|reserved| reserved.eq_ignore_ascii_case(name))
}
