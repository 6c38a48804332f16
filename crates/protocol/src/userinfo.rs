//! UserInfo (OpenID Connect Core 5.3): the claims about a user that a token's scope allows.

use crate::attribute::AttributeSchema;
use crate::claim_definition::{ClaimFailure, ClaimInput, ClaimSet, DefinedClaims, Destination};
use crate::discovery::{endpoint, path};
use crate::error::{ErrorCode, OAuthError};
use crate::json::Object;
use crate::refusal::{Reason, Refusal};
use crate::scope::OPENID;
use crate::time::Timestamp;
use crate::token::access_token::AccessToken;
use crate::user::User;
use crate::user_claims::{RequestedClaims, UserClaims, UserRecords};

/// The error for a token that is not accepted (RFC 6750 3.1). The client is told the same whatever the reason.
fn invalid_token(token: &AccessToken, refusal: Refusal) -> OAuthError {
    OAuthError::new(
        ErrorCode::InvalidToken,
        refusal.reason,
        "the access token is malformed, expired, revoked or not for this",
    )
    .because(refusal.naming(&token.client_id))
}

/// The header by which a client of FAPI 1.0 gives a request a name, which the answer repeats (FAPI 1.0 Baseline 6.2.1-11).
pub const INTERACTION_ID: &str = "x-fapi-interaction-id";

/// Whether the value of [`INTERACTION_ID`] is a UUID (RFC 9562 4), and so may be repeated.
pub fn is_interaction_id(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(place, octet)| match place {
            8 | 13 | 18 | 23 => *octet == b'-',
            _ => octet.is_ascii_hexdigit(),
        })
}

/// The name of a request that came without one: a random UUID (RFC 9562 5.4).
pub fn new_interaction_id(random: [u8; 16]) -> String {
    // 6.2, 4.1: four bits say the version, two the variant.
    let (version, variant) = (0xf_u128 << 76, 0x3_u128 << 62);
    let id = (u128::from_be_bytes(random) & !version & !variant) | (0x4_u128 << 76) | (0x2_u128 << 62);
    let (fourth, fifth) = ((id >> 48) & 0xffff, id & 0xffff_ffff_ffff);
    format!(
        "{:08x}-{:04x}-{:04x}-{fourth:04x}-{fifth:012x}",
        id >> 96,
        (id >> 80) & 0xffff,
        (id >> 64) & 0xffff
    )
}

/// Whether an access token may be used at UserInfo. Its signature was verified, and it is not revoked.
///
/// # Errors
/// `invalid_token` for a token of another issuer, an expired one, and one whose audience is neither the issuer nor UserInfo;
/// `insufficient_scope` without `openid`.
pub fn check(token: &AccessToken, issuer_url: &str, now: Timestamp) -> Result<(), OAuthError> {
    token
        .check(issuer_url, now)
        .map_err(|not| invalid_token(token, token.refused_as_not_valid(not, issuer_url, now)))?;
    // RFC 9068 4: `aud` MUST name the resource server, which is the issuer itself, or this endpoint by its URL.
    if !token.aud.contains(issuer_url) && !token.aud.contains(&endpoint(issuer_url, path::USERINFO)) {
        return Err(invalid_token(token, token.refused_audience([issuer_url])));
    }
    // OpenID Connect Core 5.3.1, RFC 6750 3.1.
    if !token.scope.contains(OPENID) {
        let reason = Reason::TokenScopeInsufficient;
        return Err(OAuthError::new(ErrorCode::InsufficientScope, reason, "the scope openid is required")
            .because(token.refused(reason).naming(&token.client_id)));
    }
    Ok(())
}

/// Whether the claims about a token's user are made from the user's groups and roles too. The user's record is needed in
/// any case.
pub fn needs_entitlements(token: &AccessToken, claims: &ClaimSet) -> bool {
    RequestedClaims::by(&token.scope).need_entitlements()
        || claims.need(Destination::Userinfo, &token.scope).entitlements
}

/// The claims about a token's user that its scope requests (OpenID Connect Core 5.4), by the issuer's schema of attributes at
/// a time.
///
/// # Errors
/// `invalid_token` if there is no such user, or they may no longer sign in.
pub fn claims<'a>(
    token: &'a AccessToken,
    records: UserRecords,
    (schema, now): (&AttributeSchema, Timestamp),
) -> Result<UserInfo<'a>, OAuthError> {
    match records.user.as_deref().filter(|user: &&User| token.is_about(&user.id)) {
        Some(user) if user.may_sign_in() => {}
        found => {
            let reason = if found.is_some() { Reason::UserDeactivated } else { Reason::TokenUserUnknown };
            return Err(invalid_token(token, token.refused(reason)));
        }
    }
    let requested = RequestedClaims::by(&token.scope).and_attributes(schema, &token.scope);
    let claims = UserClaims::of(records, requested).with_attributes(schema, &token.scope, now);
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
            self.claims = self.claims.without(claims);
        }
        self
    }

    /// The response body.
    pub fn to_json(&self) -> Vec<u8> {
        self.onto(Object::with_capacity(384))
    }

    /// The claims of a signed response. It has no `exp`, `jti` and `client_id`, so it is neither an ID token nor an access token
    /// (RFC 8725 3.12).
    pub fn to_signed_claims(&self) -> Vec<u8> {
        let mut json = Object::with_capacity(512);
        // OpenID Connect Core 5.3.2: a signed response SHOULD contain `iss` and `aud`: the issuer, which `check` compared, and
        // the client.
        json.text("iss", &self.token.iss);
        json.text("aud", self.token.client_id.as_str());
        self.onto(json)
    }

    /// Writes the claims about the user.
    #[inline]
    fn onto(&self, mut json: Object) -> Vec<u8> {
        // OpenID Connect Core 5.3.2: `sub` MUST always be returned.
        json.text("sub", &self.token.sub);
        self.claims.write(&self.token.client_id, &mut json);
        json.members(&self.defined);
        json.end()
    }
}

#[cfg(test)]
mod tests;
