//! What a client asks for at the backchannel authentication endpoint (CIBA Core 7.1).

use std::ops::RangeInclusive;
use std::time::Duration;

use super::{BackchannelAuthentication, DeliveryMode, LIFETIME, LONGEST_LIFETIME, binding_message};
use crate::authorization_details::{self, AuthorizationDetails};
use crate::authorize::request::requested_scope;
use crate::client::{Client, GrantType};
use crate::error::{ErrorCode, OAuthError};
use crate::id::{ClientId, UserId};
use crate::params::Params;
use crate::refusal::{Details, Reason};
use crate::scope::{OFFLINE_ACCESS, OPENID, Scope};
use crate::settings::IssuerSettings;
use crate::sign_in::acr::RequestedAcr;
use crate::time::Timestamp;
use crate::token::resource;

/// The characters of a `client_notification_token`. CIBA Core 7.1: 1024 at most, and at least 128 bits of entropy, which fewer than 22
/// characters of a bearer token (RFC 6750 2.1) cannot have.
const TOKEN_LENGTH: RangeInclusive<usize> = 22..=1_024;

/// How a request names the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint<'p> {
    /// `login_hint`: the e-mail address or user name.
    Login(&'p str),
    /// `id_token_hint`.
    IdToken(&'p str),
}

/// A checked request, before it is known who is meant.
pub struct BackchannelRequest<'p> {
    /// Who is meant.
    pub hint: Hint<'p>,
    /// `client_notification_token`, which a client in ping mode sends.
    pub notification_token: Option<&'p str>,
    client: ClientId,
    scope: Scope,
    resources: Vec<String>,
    authorization_details: AuthorizationDetails,
    acr: RequestedAcr,
    binding_message: Option<&'p str>,
    asked_at: Timestamp,
    expires_at: Timestamp,
}

impl<'p> BackchannelRequest<'p> {
    /// Checks what an authenticated client asks for. `params` are those of its signed request, if it sent one.
    ///
    /// # Errors
    /// `unauthorized_client` without the grant type; `invalid_request` for no hint or several, and a parameter that is malformed or
    /// not supported; `invalid_binding_message`; `invalid_scope`, `invalid_target` and `invalid_authorization_details` as at the
    /// authorization endpoint.
    pub fn check(
        params: &'p Params<'_>,
        client: &Client,
        (issuer, settings): (&str, &IssuerSettings),
        now: Timestamp,
    ) -> Result<Self, OAuthError> {
        check_client(client)?;
        params.refuse_repeated(&["resource"])?;
        if params.get("request_uri")?.is_some() {
            return Err(unsupported("request_uri", "request_uri is not supported: send request", client));
        }
        let hint = hint(params, client)?;
        // CIBA Core 7.1: a user code is none of this server's, so nobody may rely on one.
        if params.get("user_code")?.is_some() {
            return Err(unsupported("user_code", "user_code is not supported", client));
        }
        let binding_message = params.get("binding_message")?;
        binding_message.map_or(Ok(()), binding_message::check)?;
        let notification_token = notification_token(params, client)?;
        let lifetime = lifetime(params)?;
        let resource: Vec<&str> = params.get_all("resource").collect();
        if resource.len() > usize::from(settings.token_exchange_max_targets) {
            let error = OAuthError::invalid_request(Reason::ResourceTooMany, "too many resource parameters");
            return Err(error.about(Details::of("resource").client(&client.client_id)));
        }
        resource::check((issuer, settings), client, &resource)?;
        let details = params.get(authorization_details::PARAMETER)?;
        Ok(Self {
            hint,
            notification_token,
            client: client.client_id.clone(),
            scope: scope(params, client)?,
            resources: resource.into_iter().map(str::to_owned).collect(),
            authorization_details: authorization_details::requested(details, client, settings)?,
            acr: RequestedAcr::requested(params.get("acr_values")?, client.default_acr_values),
            binding_message,
            asked_at: now,
            expires_at: now + lifetime,
        })
    }

    /// What is kept until somebody decides. `notification` is what the client is told then, sealed.
    pub fn for_user(self, user: UserId, notification: Option<String>) -> BackchannelAuthentication {
        BackchannelAuthentication {
            client: self.client,
            user,
            scope: self.scope,
            resources: self.resources,
            authorization_details: self.authorization_details,
            acr: self.acr,
            binding_message: self.binding_message.map(str::to_owned),
            notification,
            asked_at: self.asked_at,
            expires_at: self.expires_at,
        }
    }
}

/// Whether an authenticated client may ask at all: by its grant type, and never as a public client, since anybody could ask people in
/// its name (CIBA Core 7.1: the client MUST authenticate).
///
/// # Errors
/// `unauthorized_client`.
pub fn check_client(client: &Client) -> Result<(), OAuthError> {
    match client.may_use(GrantType::Ciba) && !client.is_public() && client.backchannel.is_some() {
        true => Ok(()),
        // RFC 6749 5.2, CIBA Core 13.
        false => Err(client.refused_grant(GrantType::Ciba, "the client may not use ciba")),
    }
}

/// The one hint of a request. CIBA Core 7.1: one, and only one.
fn hint<'p>(params: &'p Params<'_>, client: &Client) -> Result<Hint<'p>, OAuthError> {
    // A token of somebody else about the person: nobody is trusted to make one.
    if params.get("login_hint_token")?.is_some() {
        let description = "login_hint_token is not supported: send login_hint or id_token_hint";
        return Err(unsupported("login_hint_token", description, client));
    }
    match (params.get("login_hint")?, params.get("id_token_hint")?) {
        (Some(name), None) => Ok(Hint::Login(name)),
        (None, Some(token)) => Ok(Hint::IdToken(token)),
        (sent, _) => {
            let description = "a request has one of login_hint and id_token_hint, and not both";
            let error = OAuthError::invalid_request(Reason::HintNotOne, description);
            let sent = if sent.is_some() { "both" } else { "none" };
            Err(error.about(Details::of("login_hint").sent(sent).client(&client.client_id)))
        }
    }
}

fn unsupported(name: &str, description: &'static str, client: &Client) -> OAuthError {
    let error = OAuthError::invalid_request(Reason::BackchannelParameterUnsupported, description);
    error.about(Details::of(name).client(&client.client_id))
}

/// CIBA Core 7.1: required of a client that is told, and a bearer token (RFC 6750 2.1). For others it means nothing.
fn notification_token<'p>(params: &'p Params<'_>, client: &Client) -> Result<Option<&'p str>, OAuthError> {
    const NAME: &str = "client_notification_token";
    if client.backchannel.as_ref().is_none_or(|own| own.mode != DeliveryMode::Ping) {
        return Ok(None);
    }
    let token = params.require(NAME)?;
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte);
    if TOKEN_LENGTH.contains(&token.len()) && token.trim_end_matches('=').bytes().all(is_token) {
        return Ok(Some(token));
    }
    let description = "client_notification_token must be a bearer token of 22 to 1024 characters";
    let error = OAuthError::invalid_request(Reason::NotificationTokenInvalid, description);
    Err(error.about(Details::of(NAME).client(&client.client_id)))
}

/// How long the request waits. CIBA Core 7.1: `requested_expiry` is a positive number of seconds; it is a wish, so more than the longest
/// time is that.
fn lifetime(params: &Params<'_>) -> Result<Duration, OAuthError> {
    const NAME: &str = "requested_expiry";
    let Some(sent) = params.get(NAME)? else { return Ok(LIFETIME) };
    let is_number = !sent.is_empty() && sent.len() <= 10 && sent.bytes().all(|byte| byte.is_ascii_digit());
    match sent.parse::<u64>() {
        Ok(seconds) if is_number && seconds > 0 => Ok(Duration::from_secs(seconds).min(LONGEST_LIFETIME)),
        _ => {
            let description = "requested_expiry must be a positive number of seconds";
            let error = OAuthError::invalid_request(Reason::RequestedExpiryInvalid, description);
            Err(error.about(Details::of(NAME).sent(sent)))
        }
    }
}

/// CIBA Core 7.1: `scope` is required, and MUST contain `openid`.
fn scope(params: &Params<'_>, client: &Client) -> Result<Scope, OAuthError> {
    let sent = params.require("scope")?;
    let scope = requested_scope(Some(sent), client)?;
    if !scope.contains(OPENID) {
        let description = "scope must have openid, and the client must be registered for it";
        let error =
            OAuthError::new(ErrorCode::InvalidScope, Reason::BackchannelScopeLacksOpenid, description);
        return Err(error.about(Details::of("scope").sent(sent).client(&client.client_id)));
    }
    // OpenID Connect Core 11: without a refresh token nothing outlives the session.
    Ok(match client.may_use(GrantType::RefreshToken) {
        true => scope,
        false => scope.filtered(|token| token != OFFLINE_ACCESS),
    })
}

/// The error where the hint names nobody who may sign in (CIBA Core 13).
pub fn unknown_user(hint: Hint<'_>) -> OAuthError {
    let (name, description) = match hint {
        Hint::Login(_) => ("login_hint", "login_hint names nobody here"),
        Hint::IdToken(_) => {
            ("id_token_hint", "id_token_hint is no ID token of this client's that this issuer signed")
        }
    };
    OAuthError::new(ErrorCode::UnknownUserId, Reason::BackchannelUserUnknown, description)
        .about(Details::of(name))
}
