//! Whose assertions authenticate the client in place of its own (`assertion_issuers`).

use super::{invalid, take};
use crate::client::TokenEndpointAuthMethod;
use crate::error::OAuthError;
use crate::trusted_issuer::{AssertionIssuer, check_assertion_issuers};
use crate::unknown_member::Members;

const NAME: &str = "assertion_issuers";

/// Reads `assertion_issuers`. Whether each issuer is trusted is found out when an assertion comes: that is a setting, which changes by
/// itself.
pub(super) fn read(
    doc: &mut Members,
    method: TokenEndpointAuthMethod,
) -> Result<Vec<AssertionIssuer>, OAuthError> {
    let entries: Vec<AssertionIssuer> = take(doc, NAME)?.unwrap_or_default();
    check_assertion_issuers(&entries).map_err(|why| invalid(NAME, why))?;
    if !entries.is_empty() && method != TokenEndpointAuthMethod::PrivateKeyJwt {
        return Err(invalid(NAME, "needs the token_endpoint_auth_method private_key_jwt"));
    }
    Ok(entries)
}
