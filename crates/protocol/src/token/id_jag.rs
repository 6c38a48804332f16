//! Identity Assertion JWT Authorization Grants (ID-JAG, draft-ietf-oauth-identity-assertion-authz-grant-03): assertions about a user
//! that are made for the authorization server of another domain. A client gets one here and presents it there for an access token.
//!
//! This issuer makes them by token exchange ([`issue`]), and takes those of trusted issuers in the JWT bearer grant ([`accept()`]).

mod accept;
mod audience;

pub use accept::{accept, check_bearer};
pub use audience::IdJagAudience;
pub(crate) use audience::check as check_audiences;

use std::time::Duration;

use smol_str::SmolStr;

use super::Context;
use super::access_token::AccessToken;
use super::claim::{Audience, OneOrMany};
use super::token_exchange::{
    Exchange, ExchangeRequest, check_resources, check_subject, invalid_subject_token, of_other_client,
};
use crate::client::Client;
use crate::error::{ErrorCode, OAuthError};
use crate::id::{ClientId, Jti};
use crate::id_text::IdText;
use crate::pairwise::Pairwise;
use crate::refusal::{Details, Reason};
use crate::scope::{self, Scope};

/// The type of an ID-JAG in a token exchange (draft 9.2).
pub const TOKEN_TYPE: &str = "urn:ietf:params:oauth:token-type:id-jag";
/// `typ` of an ID-JAG (draft 3.1).
pub const TYP: &str = "oauth-id-jag+jwt";
/// The name of the profile in the metadata of whoever takes an ID-JAG (draft 7).
pub const PROFILE: &str = "urn:ietf:params:oauth:grant-profile:id-jag";
/// `token_type` of an ID-JAG: it is no access token (draft 4.3.4, RFC 8693 2.2.1).
pub const NOT_APPLICABLE: &str = "N_A";

/// For how long an ID-JAG is good: for the one request that follows.
const LIFE: Duration = Duration::from_secs(300);

/// Checks what a request for an ID-JAG names: one authorization server, and resources of it, that the client may name.
///
/// # Errors
/// `invalid_request` if the issuer makes none, or the audience is not one; `invalid_target`.
pub(super) fn check_request(context: &Context<'_>, request: &ExchangeRequest<'_>) -> Result<(), OAuthError> {
    if !context.settings.token_exchange_id_jag {
        return Err(OAuthError::invalid_request(Reason::IdJagOff, "this issuer makes no ID-JAG"));
    }
    check_resources(request.resource)?;
    // Draft 4.3: `audience` is REQUIRED, and is the issuer identifier of the authorization server.
    let [audience] = request.audience else {
        let description = "an ID-JAG is for exactly one audience";
        let details = Details::of("audience").sent(&request.audience.join(" "));
        return Err(OAuthError::invalid_request(Reason::IdJagAudienceNotOne, description).about(details));
    };
    let Some(entry) = audience_of(context, audience) else {
        let all = context.client.token_exchange.id_jag_audiences.iter();
        return Err(not_allowed("audience", audience, all.map(|own| own.audience.as_str())));
    };
    let may_name = |resource: &str| entry.resources.iter().any(|own| own == resource);
    match request.resource.iter().find(|resource| !may_name(resource)) {
        None => Ok(()),
        Some(resource) => Err(not_allowed("resource", resource, entry.resources.iter().map(String::as_str))),
    }
}

/// What the client's metadata say of an audience. Draft 8.3: an ID-JAG is for another domain, never for this issuer.
fn audience_of<'c>(context: &Context<'c>, audience: &str) -> Option<&'c IdJagAudience> {
    let own = context.issuer.url.trim_end_matches('/');
    let mut entries = context.client.token_exchange.id_jag_audiences.iter();
    entries.find(|entry| entry.audience == audience).filter(|_| audience.trim_end_matches('/') != own)
}

fn not_allowed<'v>(name: &str, sent: &str, registered: impl IntoIterator<Item = &'v str>) -> OAuthError {
    let description = "the client may not get an ID-JAG for this audience or resource";
    OAuthError::new(ErrorCode::InvalidTarget, Reason::IdJagTargetNotAllowed, description)
        .about(Details::of(name).sent_uri(sent).registered(registered))
}

/// The client by which the audience of a request signs people in here, if the metadata name one.
pub fn relying_party<'c>(context: &Context<'c>, exchange: &Exchange<'_>) -> Option<&'c ClientId> {
    audience_of(context, exchange.audience.first()?)?.relying_party.as_ref()
}

/// The refusal where the client by which the audience signs people in is not registered here any more.
pub fn without_relying_party(id: &ClientId) -> OAuthError {
    not_allowed("relying_party", id.as_str(), [])
}

/// The claims of an ID-JAG. The signature of the subject token, an ID token, was verified, and it is not revoked. `relying_party`:
/// the client that [`relying_party`] names.
///
/// They have the names and forms of an access token's claims, so they are written as those are. The header says what they are.
///
/// # Errors
/// `invalid_grant` for a subject token that is not valid, or not the client's own; `invalid_scope` if nothing of the scope is left;
/// `invalid_target`.
pub fn issue(
    context: &Context<'_>,
    exchange: &Exchange<'_>,
    subject: &AccessToken,
    relying_party: Option<&Client>,
) -> Result<Box<AccessToken>, OAuthError> {
    let Context { issuer, client, now, random, .. } = *context;
    check_subject(context, subject)?;
    // Draft 4.3.3: the audience of the identity assertion MUST be the client that authenticated.
    if subject.client_id != client.client_id {
        return Err(of_other_client(client, subject, "the subject_token was issued to another client"));
    }
    let audience = exchange.audience.first().copied().unwrap_or_default();
    let Some(entry) = audience_of(context, audience) else {
        return Err(not_allowed("audience", audience, []));
    };
    let scope = granted(entry, exchange.scope.as_ref())?;
    let iat = now.seconds();
    let mut claims =
        Box::new(AccessToken::about(sub(context, subject, relying_party)?, entry.client_id.clone(), scope));
    claims.iss.clone_from(&issuer.url);
    claims.aud = Audience::one(entry.audience.as_str());
    claims.resource = OneOrMany::of(exchange.resource.iter().copied());
    claims.iat = iat;
    claims.exp = iat.saturating_add(LIFE.as_secs()).min(subject.exp);
    claims.jti = Jti::trusted(IdText::new("jag_").random::<16>(random).build());
    claims.auth_time = subject.auth_time;
    claims.acr.clone_from(&subject.acr);
    claims.amr = subject.amr;
    // Draft 8.6.1.1: an ID-JAG that was asked for with a proof is bound to its key.
    claims.cnf.jkt = context.jkt.map(SmolStr::new);
    Ok(claims)
}

/// Draft 3.1: the `sub` MUST be the one by which the audience knows the user from signing in here. Where the metadata do not say by which client
/// it does that, it is the one that the requesting client has been told.
fn sub(
    context: &Context<'_>,
    subject: &AccessToken,
    relying_party: Option<&Client>,
) -> Result<SmolStr, OAuthError> {
    let Some(relying_party) = relying_party else { return Ok(subject.sub.clone()) };
    let user = subject.user().ok_or_else(|| invalid_subject_token(Reason::TokenMalformed))?;
    Ok(match Pairwise::of(context.pairwise_key, relying_party) {
        Some(pairwise) => SmolStr::new(pairwise.sub(&user).as_str()),
        None => SmolStr::new(user.as_str()),
    })
}

/// What is asked for of the scope that the client may ask for there, or all of it (RFC 6749 3.3).
fn granted(entry: &IdJagAudience, asked: Option<&Scope>) -> Result<Scope, OAuthError> {
    let Some(asked) = asked else { return Ok(entry.scope.clone()) };
    let left = asked.intersection(&entry.scope);
    if left.is_empty() && !asked.is_empty() {
        let why = "nothing of the scope is allowed for this audience";
        let details = Details::of("scope").sent(asked.as_str()).registered([entry.scope.as_str()]);
        return Err(scope::invalid(Reason::ExchangeScopeEmpty, why, &entry.scope).about(details));
    }
    Ok(left)
}

#[cfg(test)]
mod tests;
