//! UserInfo (OpenID Connect Core 5.3): the claims about a user that a token's scope allows.

use crate::claim_definition::{ClaimFailure, ClaimInput, ClaimSet, DefinedClaims, Destination};
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
pub fn needs_entitlements(token: &AccessToken, claims: &ClaimSet) -> bool {
    RequestedClaims::by(&token.scope).need_entitlements()
        || claims.need(Destination::Userinfo, &token.scope).entitlements
}

/// The claims about a token's user that its scope requests (OpenID Connect Core 5.4).
///
/// # Errors
/// `invalid_token` if there is no such user, or they may no longer sign in.
pub fn claims(token: &AccessToken, records: UserRecords) -> Result<UserInfo<'_>, OAuthError> {
    let is_good = |user: &User| user.may_sign_in() && user.id.as_str() == token.sub;
    if !records.user.as_deref().is_some_and(is_good) {
        return Err(invalid_token());
    }
    let claims = UserClaims::of(records, RequestedClaims::by(&token.scope));
    Ok(UserInfo { token, claims, defined: DefinedClaims::default() })
}

/// The answer (OpenID Connect Core 5.3.2).
#[derive(Clone, Debug)]
pub struct UserInfo<'a> {
    token: &'a AccessToken,
    claims: UserClaims,
    defined: DefinedClaims,
}

impl UserInfo<'_> {
    /// Adds the claims of definitions, those of the token's client. Claims that fail are left out and added to `failures`.
    #[must_use]
    pub fn define(mut self, claims: &ClaimSet, failures: &mut Vec<ClaimFailure>) -> Self {
        if !claims.is_empty() {
            let input = ClaimInput::for_client(self.token, self.claims.records());
            self.defined = claims.write(Destination::Userinfo, input, failures);
            self.claims = self.claims.without(claims.replaced());
        }
        self
    }

    /// The response body.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = Object::with_capacity(384);
        // OpenID Connect Core 5.3.2: `sub` MUST always be returned.
        json.text("sub", &self.token.sub);
        self.claims.write(&self.token.client_id, &mut json);
        json.members(&self.defined);
        json.end()
    }
}

#[cfg(test)]
mod tests;
