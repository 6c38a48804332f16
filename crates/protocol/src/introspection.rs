//! Token introspection (RFC 7662), and its answer as a JWT (RFC 9701).

use serde::Serialize;
use smol_str::SmolStr;

use crate::authorization_details::AuthorizationDetails;
use crate::claim_definition::DefinedClaims;
use crate::client::Client;
use crate::dpop::DPOP;
use crate::family::Family;
use crate::id::ClientId;
use crate::json::Object;
use crate::refusal::{Details, Reason, Refusal};
use crate::scope::Scope;
use crate::time::Timestamp;
use crate::token::access_token::AccessToken;
use crate::token::claim::{Actor, OneOrMany};
use crate::token::confirmation::Confirmation;
use crate::token::response::BEARER;
use crate::user::{User, tokens_are_good};
use crate::user_claims::Replaced;

/// The additional requirements of strict introspection.
#[derive(Clone, Copy, Debug)]
pub struct Strict<'a> {
    /// A value that the token's `aud` must contain: the issuer, or the audience configured instead.
    pub audience: &'a str,
    /// Whether the client that the token was issued to still exists.
    pub client_exists: bool,
}

/// The answer (RFC 7662 2.2); members are serialized in this order.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Introspection<'a> {
    active: bool,
    #[serde(skip_serializing_if = "no_scope")]
    scope: Option<&'a Scope>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exp: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iat: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nbf: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aud: Option<&'a OneOrMany>,
    #[serde(skip_serializing_if = "Option::is_none")]
    iss: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jti: Option<&'a str>,
    /// RFC 9470 6.2: when the person signed in, and by which class.
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_time: Option<u64>,
    /// See above.
    #[serde(skip_serializing_if = "Option::is_none")]
    acr: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    act: Option<&'a Actor>,
    #[serde(skip_serializing_if = "no_resource")]
    resource: Option<&'a OneOrMany>,
    /// RFC 9449 6.2, RFC 8705 3.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    cnf: Option<&'a Confirmation>,
    /// RFC 9068 2.2.3.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    roles: Option<&'a [SmolStr]>,
    /// RFC 9396 9.2.
    #[serde(skip_serializing_if = "no_details")]
    authorization_details: Option<&'a AuthorizationDetails>,
}

fn no_details(details: &Option<&AuthorizationDetails>) -> bool {
    details.is_none_or(AuthorizationDetails::is_empty)
}

fn no_scope(scope: &Option<&Scope>) -> bool {
    scope.is_none_or(Scope::is_empty)
}

fn no_resource(resource: &Option<&OneOrMany>) -> bool {
    resource.is_none_or(OneOrMany::is_empty)
}

/// RFC 7662 2.2: the whole answer for a token that is not active, or that the caller may not know about.
pub const INACTIVE: Introspection<'static> = Introspection {
    active: false,
    scope: None,
    client_id: None,
    username: None,
    token_type: None,
    exp: None,
    iat: None,
    nbf: None,
    sub: None,
    aud: None,
    iss: None,
    jti: None,
    auth_time: None,
    acr: None,
    act: None,
    resource: None,
    cnf: None,
    roles: None,
    authorization_details: None,
};

/// Whether a client may introspect a token: it was issued to the client, or its `aud` contains the client or one of
/// the client's audiences (RFC 7662 4: prevents scanning for other clients' tokens).
pub fn may_see(caller: &Client, token: &AccessToken) -> bool {
    token.client_id == caller.client_id
        || token.aud.contains(caller.client_id.as_str())
        || caller.audiences.iter().any(|audience| token.aud.contains(audience))
}

/// The input of an introspection besides the token.
#[derive(Clone, Copy)]
pub struct Inquiry<'a> {
    /// The requesting client, already authenticated (RFC 7662 2.1).
    pub caller: &'a Client,
    /// The issuer's URL.
    pub issuer_url: &'a str,
    /// The current time.
    pub now: Timestamp,
    /// The strict requirements, if they are enabled.
    pub strict: Option<Strict<'a>>,
}

/// Whether the caller may be told that an access token is active. Its signature was verified, and it is not revoked.
fn check_access_token(
    inquiry: &Inquiry<'_>,
    token: &AccessToken,
    user: Option<&User>,
) -> Result<(), Refusal> {
    let Inquiry { caller, issuer_url, now, strict } = *inquiry;
    token.check(issuer_url, now).map_err(|not| token.refused_as_not_valid(not, issuer_url, now))?;
    if let Some(Strict { audience, client_exists }) = strict {
        if !client_exists {
            return Err(token.refused(Reason::TokenClientUnknown));
        }
        if !token.aud.contains(audience) {
            return Err(token.refused_audience([audience]));
        }
    }
    if !tokens_are_good(user) {
        return Err(token.refused(Reason::UserDeactivated));
    }
    if !may_see(caller, token) {
        return Err(not_for(caller, token));
    }
    Ok(())
}

fn not_for(caller: &Client, token: &AccessToken) -> Refusal {
    let audiences = caller.audiences.iter().map(String::as_str);
    token.refused_to(std::iter::once(caller.client_id.as_str()).chain(audiences))
}

/// The answer for an access token whose signature was verified and that is not revoked. `user` is the token's user,
/// if there is a record.
///
/// # Errors
/// [`Refusal`]: the caller is only told [`INACTIVE`].
pub fn of_access_token<'a>(
    inquiry: &Inquiry<'a>,
    token: &'a AccessToken,
    user: Option<&'a User>,
) -> Result<Introspection<'a>, Refusal> {
    check_access_token(inquiry, token, user)?;
    Ok(Introspection {
        active: true,
        scope: Some(&token.scope),
        client_id: Some(token.client_id.as_str()),
        username: user.and_then(|user| username(user, &token.scope)),
        token_type: Some(if token.cnf.jkt.is_some() { DPOP } else { BEARER }),
        exp: Some(token.exp),
        iat: Some(token.iat),
        nbf: token.nbf,
        sub: Some(&token.sub),
        aud: Some(&token.aud),
        iss: Some(&token.iss),
        jti: Some(token.jti.as_str()),
        auth_time: token.auth_time,
        acr: token.acr.as_deref(),
        act: token.act.as_ref(),
        resource: Some(&token.resource),
        cnf: token.cnf.claim(),
        roles: token.roles.as_deref(),
        authorization_details: Some(&token.authorization_details),
    })
}

/// A name for people, if the scope lets the client see it (RFC 7662 5).
fn username<'a>(user: &'a User, scope: &Scope) -> Option<&'a str> {
    let name = user.profile.preferred_username.as_deref().filter(|_| scope.contains("profile"));
    name.or_else(|| user.email.as_deref().filter(|_| scope.contains("email")))
}

/// Whether the caller may be told that a refresh token is active: an authentic one of `version`, of a family whose
/// lineage is not revoked. Only the family's client may see it.
fn check_refresh_token(
    inquiry: &Inquiry<'_>,
    family: &Family,
    version: u32,
    user: Option<&User>,
) -> Result<(), Refusal> {
    let reason = if version != family.version {
        Reason::RefreshTokenReused
    } else if family.ended(inquiry.now) {
        Reason::RefreshTokenExpired
    } else if !tokens_are_good(user) {
        Reason::UserDeactivated
    } else if family.client != inquiry.caller.client_id {
        Reason::RefreshTokenOfOtherClient
    } else {
        return Ok(());
    };
    Err(Refusal::about(reason, Details::of_user(&family.user)))
}

/// The answer for such a refresh token.
///
/// # Errors
/// [`Refusal`]: the caller is only told [`INACTIVE`].
pub fn of_refresh_token<'a>(
    inquiry: &Inquiry<'a>,
    family: &'a Family,
    version: u32,
    user: Option<&'a User>,
) -> Result<Introspection<'a>, Refusal> {
    check_refresh_token(inquiry, family, version, user)?;
    Ok(Introspection {
        active: true,
        scope: Some(&family.scope),
        client_id: Some(family.client.as_str()),
        username: user.and_then(|user| username(user, &family.scope)),
        exp: Some(family.idle_expires_at.min(family.expires_at).seconds()),
        iat: Some(family.rotated_at.seconds()),
        sub: Some(family.user.as_str()),
        iss: Some(inquiry.issuer_url),
        authorization_details: Some(&family.authorization_details),
        ..INACTIVE
    })
}

impl<'a> Introspection<'a> {
    /// The answer with the subject as the client knows it, where that is not the user's id (OpenID Connect Core 8.1).
    #[must_use]
    pub fn about(self, sub: &'a str) -> Self {
        Self { sub: Some(sub), ..self }
    }
}

impl Introspection<'_> {
    /// The response body.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = Vec::with_capacity(if self.active { 640 } else { 24 });
        // Writing text and numbers into memory cannot fail.
        let _ = serde_json::to_writer(&mut json, self);
        json
    }

    /// The response body with the claims of definitions: RFC 7662 2.2 lets the answer have members of one's own. They take
    /// the place of the standard claims `replaced`.
    pub fn to_json_with(&self, replaced: Replaced, defined: &DefinedClaims) -> Vec<u8> {
        let roles = self.roles.filter(|_| !replaced.roles());
        let mut json = Self { roles, ..*self }.to_json();
        if !defined.is_empty() && json.pop().is_some() {
            json.extend_from_slice(defined.as_bytes());
            json.push(b'}');
        }
        json
    }
}

/// The media type of an answer as a JWT (RFC 9701 4, 5).
pub const JWT_MEDIA_TYPE: &str = "application/token-introspection+jwt";
/// `typ` of such a JWT (RFC 9701 5).
pub const JWT_TYP: &str = "token-introspection+jwt";

/// Whether a value of `Accept` asks for the answer as a JWT (RFC 9701 4). Ranges such as `*/*` do not: JSON is what a client gets
/// that has no preference. Of weights only `q=0` counts, which says that the type is not wanted.
pub fn accepts_jwt(accept: &str) -> bool {
    accept.split(',').any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let is_named = parts.next().is_some_and(|media| media.eq_ignore_ascii_case(JWT_MEDIA_TYPE));
        is_named && !parts.any(is_weight_of_zero)
    })
}

fn is_weight_of_zero(parameter: &str) -> bool {
    let weight = parameter.split_once('=').filter(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    weight.is_some_and(|(_, value)| value.trim().bytes().all(|digit| digit == b'0' || digit == b'.'))
}

/// The claims of an answer as a JWT for its caller (RFC 9701 5). `answer` is the JSON of the plain one. `sub` and `exp` stand in the
/// answer alone: beside it they would make the JWT look like a token about the user (RFC 9701 5, 8.1).
pub fn signed_claims(issuer_url: &str, caller: &ClientId, now: Timestamp, answer: &[u8]) -> Vec<u8> {
    let mut json = Object::with_capacity(answer.len().saturating_add(256));
    json.text("iss", issuer_url);
    json.text("aud", caller.as_str());
    json.number("iat", now.seconds());
    json.name("token_introspection");
    json.raw().extend_from_slice(answer);
    json.end()
}

#[cfg(test)]
mod tests;
