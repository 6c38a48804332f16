//! The client credentials grant (RFC 6749 4.4): a client acts for itself.

use super::Context;
use super::access_token::{AccessToken, client_subject};
use super::claim::Audience;
use crate::client::GrantType;
use crate::error::{ErrorCode, OAuthError};
use crate::grant::GrantId;
use crate::scope::Scope;

/// Scopes that say something about a user, and mean nothing without one (OpenID Connect Core 5.4, 11).
const NEED_A_USER: [&str; 6] = ["openid", "profile", "email", "address", "phone", "offline_access"];

/// The access token of a client that acts for itself, in a grant of its own. There is no refresh token (RFC 6749
/// 4.4.3) and no ID token.
///
/// Scopes that need a user are dropped; without `scope` it is all that is registered. `audience` names whom the token
/// is for: the issuer, or what the client registered.
///
/// # Errors
/// `unauthorized_client` for public clients and those without the grant type; `invalid_scope` beyond what is
/// registered; `invalid_target` for an audience that is not registered.
pub fn issue(
    context: &Context<'_>,
    scope: Option<&str>,
    audience: &[&str],
) -> Result<Box<AccessToken>, OAuthError> {
    let client = context.client;
    // RFC 6749 4.4: MUST only be used by confidential clients.
    if client.is_public() {
        return Err(OAuthError::new(
            ErrorCode::UnauthorizedClient,
            "public clients may not use client_credentials",
        ));
    }
    if !client.may_use(GrantType::ClientCredentials) {
        return Err(OAuthError::new(
            ErrorCode::UnauthorizedClient,
            "the client may not use client_credentials",
        ));
    }
    let scope = granted(&client.scope, scope)?;
    let aud = if audience.is_empty() { None } else { Some(named(context, audience)?) };

    let sub = client_subject(&client.client_id);
    let grant = GrantId::draw(&context.issuer.id, &sub, context.now, context.random);
    let mut access = AccessToken::new(context, grant.slot(), sub, scope);
    access.gid = Some(grant);
    if let Some(aud) = aud {
        access.aud = aud;
    }
    Ok(access)
}

fn granted(registered: &Scope, asked: Option<&str>) -> Result<Scope, OAuthError> {
    let without_user = |scope: &Scope| scope.filtered(|token| !NEED_A_USER.contains(&token));
    let Some(asked) = asked.filter(|text| !text.is_empty()) else { return Ok(without_user(registered)) };
    let asked =
        Scope::parse(asked).map_err(|_| OAuthError::new(ErrorCode::InvalidScope, "scope is malformed"))?;
    let asked = without_user(&asked);
    // RFC 6749 3.3, 5.2.
    if registered.covers(&asked) {
        return Ok(asked);
    }
    Err(OAuthError::new(ErrorCode::InvalidScope, "scope goes beyond what the client registered"))
}

fn named(context: &Context<'_>, audience: &[&str]) -> Result<Audience, OAuthError> {
    let allowed = |value: &&str| {
        *value == context.issuer.url || context.client.access_token_audiences.iter().any(|own| own == value)
    };
    // RFC 8707 2, for the audience parameter of RFC 8693 as for resources.
    if audience.iter().all(allowed) {
        return Ok(Audience::of(audience.iter().copied()));
    }
    Err(OAuthError::new(ErrorCode::InvalidTarget, "the client may not name this audience"))
}

#[cfg(test)]
mod tests;
