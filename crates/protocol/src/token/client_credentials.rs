//! The client credentials grant (RFC 6749 4.4): a client acts for itself.

use super::Context;
use super::access_token::{AccessToken, client_subject};
use super::claim::{Audience, OneOrMany};
use super::resource::{may_name, not_registered};
use super::token_exchange::check_resources;
use crate::client::GrantType;
use crate::error::{ErrorCode, OAuthError};
use crate::grant::GrantId;
use crate::refusal::{Details, Reason};
use crate::scope::{self, GROUPS, ROLES, Scope};

/// Scopes that concern a user, and have no meaning without one (OpenID Connect Core 5.4, 11). Groups and roles are those
/// of users.
const NEED_A_USER: [&str; 8] =
    ["openid", "profile", "email", "address", "phone", GROUPS, ROLES, "offline_access"];

/// The access token of a client that acts for itself, in a grant of its own. No refresh token (RFC 6749 4.4.3) and no
/// ID token is issued.
///
/// Scopes that need a user are dropped; without a `scope` parameter all other registered scopes are granted.
/// `audience` and `resource` (RFC 8707 2) select the token's audience: the issuer, or others that the client may name.
///
/// # Errors
/// `unauthorized_client` for public clients and those without the grant type; `invalid_scope` beyond the registered
/// scope; `invalid_request` for a resource that is not an absolute URI; `invalid_target` for an audience or resource
/// that is not registered.
pub fn issue(
    context: &Context<'_>,
    scope: Option<&str>,
    audience: &[&str],
    resource: &[&str],
) -> Result<Box<AccessToken>, OAuthError> {
    let client = context.client;
    // RFC 6749 4.4: MUST only be used by confidential clients.
    if client.is_public() {
        return Err(OAuthError::new(
            ErrorCode::UnauthorizedClient,
            Reason::PublicClientRefused,
            "public clients may not use client_credentials",
        ));
    }
    if !client.may_use(GrantType::ClientCredentials) {
        let grant = GrantType::ClientCredentials;
        return Err(client.refused_grant(grant, "the client may not use client_credentials"));
    }
    let scope = granted(&client.scope, scope, &NEED_A_USER)?;
    let aud = named(context, audience, resource)?;

    let sub = client_subject(&client.client_id);
    let grant = GrantId::draw(&context.issuer.id, &sub, context.now, context.random);
    let mut access = AccessToken::new(context, grant.slot(), sub, scope);
    access.gid = Some(grant);
    if let Some(aud) = aud {
        access.aud = aud;
    }
    access.resource = OneOrMany::of(resource.iter().copied());
    Ok(access)
}

/// The scope of a grant for which nobody is asked: what the client asks for of its registered scope, or all of it. `never`: what the grant
/// cannot give.
///
/// # Errors
/// `invalid_scope` beyond the registered scope.
pub(super) fn granted(registered: &Scope, asked: Option<&str>, never: &[&str]) -> Result<Scope, OAuthError> {
    let without = |scope: &Scope| scope.filtered(|token| !never.contains(&token));
    // RFC 6749 3.3: without `scope`, a pre-defined default.
    let Some(text) = asked.filter(|text| !text.is_empty()) else { return Ok(without(registered)) };
    let asked = Scope::parse(text).map_err(|_| scope::malformed(text))?;
    let asked = without(&asked);
    // RFC 6749 3.3, 5.2.
    if registered.covers(&asked) {
        return Ok(asked);
    }
    let why = "scope goes beyond what the client registered";
    Err(scope::invalid(Reason::ScopeNotRegistered, why, &without(registered))
        .about(Details::of("scope").sent(text).registered([registered.as_str()])))
}

/// The audience that the request selects, if it selects one.
///
/// # Errors
/// `invalid_request` for a resource that is not an absolute URI; `invalid_target` for what is not registered.
pub(super) fn named(
    context: &Context<'_>,
    audience: &[&str],
    resource: &[&str],
) -> Result<Option<Audience>, OAuthError> {
    let issuer = (context.issuer.url.as_str(), context.settings);
    let allowed = |value: &&str| may_name(issuer, context.client, value);
    check_resources(resource)?;
    let mut targets = audience.iter().chain(resource).copied().peekable();
    if targets.peek().is_none() {
        return Ok(None);
    }
    // RFC 8707 2; applied to the `audience` parameter of RFC 8693 as well.
    if audience.iter().chain(resource).all(allowed) {
        return Ok(Some(Audience::of(targets)));
    }
    let refused = audience.iter().chain(resource).copied().find(|value| !allowed(value)).unwrap_or_default();
    let name = if audience.contains(&refused) { "audience" } else { "resource" };
    Err(not_registered(context.client, (name, refused), "the client may not name this audience or resource"))
}

#[cfg(test)]
mod tests;
