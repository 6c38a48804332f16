//! Answers of the authorization endpoint (RFC 6749 4.1.2, RFC 9207).

use std::time::Duration;

use super::request::{AuthorizationRequest, ReturnTo};
use super::response_mode::ResponseMode;
use crate::client::Client;
use crate::code::{AuthorizationCode, CodeGrant};
use crate::error::OAuthError;
use crate::grant::GrantId;
use crate::id::{ClientId, IssuerId};
use crate::json::Object;
use crate::redirect_uri;
use crate::scope::Scope;
use crate::session::Session;
use crate::session_management::SessionState;
use crate::settings::IssuerSettings;
use crate::time::Timestamp;
use symbolon_crypto::random::Random;

/// The input for issuing a code.
#[derive(Clone, Copy)]
pub struct Issuance<'a> {
    /// The issuer.
    pub issuer: &'a IssuerId,
    /// Its settings.
    pub settings: &'a IssuerSettings,
    /// The client that may redeem the code.
    pub client: &'a Client,
    /// The session in which the code is issued.
    pub session: &'a Session,
    /// The current time.
    pub now: Timestamp,
}

impl Issuance<'_> {
    /// The record that a code for the decided scope stands for. Each code begins a new grant.
    pub fn code_grant(
        &self,
        request: &AuthorizationRequest<'_>,
        scope: Scope,
        random: &dyn Random,
    ) -> CodeGrant {
        let lifetimes = self.settings.lifetimes_for(&self.client.settings);
        CodeGrant {
            grant: GrantId::draw(self.issuer, self.session.user.as_str(), self.now, random),
            client: self.client.client_id.clone(),
            user: self.session.user.clone(),
            sid: self.session.sid.clone(),
            redirect_uri: request.return_to.redirect_uri.to_owned(),
            scope,
            nonce: request.nonce.map(str::to_owned),
            code_challenge: request.code_challenge,
            auth_time: self.session.auth_time,
            amr: self.session.amr,
            session_expires_at: self.session.expires_at,
            expires_at: self.now + lifetimes.code,
            resources: request.resource.iter().map(|own| (*own).to_owned()).collect(),
            acr: request.acr.satisfied_by(self.session.amr),
            dpop_jkt: request.dpop_jkt().cloned(),
            authorization_details: request.authorization_details().clone(),
        }
    }
}

/// An answer of the authorization endpoint, ready for HTTP.
#[derive(Clone, PartialEq, Eq)]
pub enum AuthorizationResponse {
    /// The `Location` of a redirect: 302 after a GET, 303 after a POST.
    Redirect(String),
    /// A page with a form that the browser submits by itself (OAuth 2.0 Form Post Response Mode 2).
    FormPost {
        /// The form's target.
        action: String,
        /// The hidden fields, not yet escaped for HTML.
        fields: Vec<(&'static str, String)>,
    },
    /// A JWT that is still to be signed.
    Signed(SignedResponse),
}

/// How long a signed answer is valid. JARM 2.1 recommends ten minutes at most.
const SIGNED_RESPONSE_LIVES: Duration = Duration::from_secs(600);

/// An answer whose parameters are the claims of a JWT (JWT Secured Authorization Response Mode 2.1).
#[derive(Clone, PartialEq, Eq)]
pub struct SignedResponse {
    redirect_uri: String,
    response_mode: ResponseMode,
    parameters: Vec<(&'static str, String)>,
}

impl SignedResponse {
    /// The JWS payload: who answers, to whom, until when, and the parameters.
    pub fn claims(&self, issuer_url: &str, client: &ClientId, now: Timestamp) -> Vec<u8> {
        let mut json = Object::with_capacity(1024);
        json.text("iss", issuer_url);
        json.text("aud", client.as_str());
        json.number("exp", (now + SIGNED_RESPONSE_LIVES).seconds());
        // `iss` of RFC 9207 is the claim of that name (RFC 9207 2.4).
        for (name, value) in self.parameters.iter().filter(|(name, _)| *name != "iss") {
            json.text(name, value);
        }
        json.end()
    }

    /// The answer with the signed JWT (JARM 2.3).
    pub fn with(&self, jwt: &str) -> AuthorizationResponse {
        place(self.response_mode, &self.redirect_uri, &[("response", jwt)])
    }
}

/// An answer with a code: `code` first, `state` unchanged, `iss`, and `session_state` (Session Management 1.0 2), unless
/// the redirect URI has no origin.
pub fn success(
    to: &ReturnTo<'_>,
    code: &AuthorizationCode,
    issuer_url: &str,
    session_state: Option<&SessionState>,
) -> AuthorizationResponse {
    let code = ("code", code.expose());
    let iss = ("iss", issuer_url);
    match (to.state, session_state.map(|own| ("session_state", own.as_str()))) {
        (Some(state), Some(own)) => write(to, &[code, ("state", state), iss, own]),
        (Some(state), None) => write(to, &[code, ("state", state), iss]),
        (None, Some(own)) => write(to, &[code, iss, own]),
        (None, None) => write(to, &[code, iss]),
    }
}

/// What the authorization endpoint returns beside a code or in its place.
#[derive(Clone, Copy)]
pub struct Returned<'a> {
    /// The code.
    pub code: Option<&'a AuthorizationCode>,
    /// The access token, its life in seconds, and its scope.
    pub access_token: Option<(&'a str, u64, &'a Scope)>,
    /// The ID token.
    pub id_token: Option<&'a str>,
}

/// An answer with tokens (OpenID Connect Core 3.2.2.5, 3.3.2.5), with `iss` and `session_state` as in [`success`].
pub fn with_tokens(
    to: &ReturnTo<'_>,
    returned: Returned<'_>,
    issuer_url: &str,
    session_state: Option<&SessionState>,
) -> AuthorizationResponse {
    let mut params = Vec::with_capacity(9);
    params.extend(returned.code.map(|code| ("code", code.expose())));
    let expires_in = returned.access_token.map(|(_, life, _)| life.to_string());
    if let (Some((token, _, scope)), Some(expires_in)) = (returned.access_token, &expires_in) {
        // RFC 6749 4.2.2: the scope is required where it differs from the requested one; it is always named.
        let own = [("token_type", "Bearer"), ("expires_in", expires_in), ("scope", scope.as_str())];
        params.push(("access_token", token));
        params.extend(own);
    }
    params.extend(returned.id_token.map(|token| ("id_token", token)));
    params.extend(to.state.map(|state| ("state", state)));
    params.push(("iss", issuer_url));
    params.extend(session_state.map(|own| ("session_state", own.as_str())));
    write(to, &params)
}

/// An answer with an error (RFC 6749 4.1.2.1), also with `iss` (RFC 9207 2).
pub fn error(to: &ReturnTo<'_>, error: &OAuthError, issuer_url: &str) -> AuthorizationResponse {
    let (code, description) = (("error", error.code.as_str()), ("error_description", &*error.description));
    match to.state {
        Some(state) => write(to, &[code, description, ("state", state), ("iss", issuer_url)]),
        None => write(to, &[code, description, ("iss", issuer_url)]),
    }
}

fn write(to: &ReturnTo<'_>, params: &[(&'static str, &str)]) -> AuthorizationResponse {
    let ReturnTo { redirect_uri, response_mode, .. } = *to;
    if response_mode.is_signed() {
        let redirect_uri = redirect_uri.to_owned();
        return AuthorizationResponse::Signed(SignedResponse {
            redirect_uri,
            response_mode,
            parameters: owned(params),
        });
    }
    place(response_mode, redirect_uri, params)
}

/// Puts parameters where the response mode says.
fn place(mode: ResponseMode, redirect_uri: &str, params: &[(&'static str, &str)]) -> AuthorizationResponse {
    if mode.is_form_post() {
        return AuthorizationResponse::FormPost { action: redirect_uri.to_owned(), fields: owned(params) };
    }
    AuthorizationResponse::Redirect(match mode.is_query() {
        true => redirect_uri::append_query(redirect_uri, params),
        false => redirect_uri::append_fragment(redirect_uri, params),
    })
}

fn owned(params: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    params.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
}
