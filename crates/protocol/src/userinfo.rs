//! UserInfo (OpenID Connect Core 5.3): the claims about a user that a token's scope allows.

use crate::attribute::AttributeSchema;
use crate::error::{ErrorCode, OAuthError};
use crate::json::Object;
use crate::scope::OPENID;
use crate::time::Timestamp;
use crate::token::access_token::AccessToken;
use crate::user::User;
use crate::user_claims::{RequestedClaims, UserClaims, UserRecords};

/// The error for a token that is not accepted (RFC 6750 3.1).
pub const fn invalid_token() -> OAuthError {
    OAuthError::new(
        ErrorCode::InvalidToken,
        "the access token is malformed, expired, revoked or not for this",
    )
}

/// Whether an access token may be used at UserInfo. Its signature was verified, and it is not revoked.
///
/// # Errors
/// `invalid_token` for a token of another issuer, an expired one, and one whose audience is not the issuer;
/// `insufficient_scope` without `openid`.
pub fn check(token: &AccessToken, issuer_url: &str, now: Timestamp) -> Result<(), OAuthError> {
    token.check(issuer_url, now).map_err(|_| invalid_token())?;
    // RFC 9068 4: `aud` MUST name the resource server, which is the issuer itself.
    if !token.aud.contains(issuer_url) {
        return Err(invalid_token());
    }
    // OpenID Connect Core 5.3.1, RFC 6750 3.1.
    if !token.scope.contains(OPENID) {
        return Err(OAuthError::new(ErrorCode::InsufficientScope, "the scope openid is required"));
    }
    Ok(())
}

/// Whether the claims about a token's user are made from the user's groups and roles too. The user's record is needed in
/// any case.
pub fn needs_entitlements(token: &AccessToken) -> bool {
    RequestedClaims::by(&token.scope).need_entitlements()
}

/// The claims about a token's user that its scope requests (OpenID Connect Core 5.4), by the issuer's schema of attributes.
///
/// # Errors
/// `invalid_token` if there is no such user, or they may no longer sign in.
pub fn claims<'a>(
    token: &'a AccessToken,
    records: UserRecords,
    schema: &AttributeSchema,
) -> Result<UserInfo<'a>, OAuthError> {
    let is_good = |user: &User| user.may_sign_in() && user.id.as_str() == token.sub;
    if !records.user.as_deref().is_some_and(is_good) {
        return Err(invalid_token());
    }
    let requested = RequestedClaims::by(&token.scope).and_attributes(schema, &token.scope);
    Ok(UserInfo { token, claims: UserClaims::of(records, requested).with_attributes(schema, &token.scope) })
}

/// The answer (OpenID Connect Core 5.3.2).
#[derive(Clone, Debug)]
pub struct UserInfo<'a> {
    token: &'a AccessToken,
    claims: UserClaims,
}

impl UserInfo<'_> {
    /// The response body.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = Object::with_capacity(384);
        // OpenID Connect Core 5.3.2: `sub` MUST always be returned.
        json.text("sub", &self.token.sub);
        self.claims.write(&self.token.client_id, &mut json);
        json.end()
    }
}

#[cfg(test)]
mod tests;
