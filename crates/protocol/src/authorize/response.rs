//! Answers of the authorization endpoint (RFC 6749 4.1.2, RFC 9207).

use super::request::{AuthorizationRequest, ResponseMode, ReturnTo};
use crate::client::Client;
use crate::code::{AuthorizationCode, CodeGrant};
use crate::error::OAuthError;
use crate::grant::GrantId;
use crate::id::IssuerId;
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

/// An answer with an error (RFC 6749 4.1.2.1), also with `iss` (RFC 9207 2).
pub fn error(to: &ReturnTo<'_>, error: &OAuthError, issuer_url: &str) -> AuthorizationResponse {
    let (code, description) = (("error", error.code.as_str()), ("error_description", &*error.description));
    match to.state {
        Some(state) => write(to, &[code, description, ("state", state), ("iss", issuer_url)]),
        None => write(to, &[code, description, ("iss", issuer_url)]),
    }
}

fn write(to: &ReturnTo<'_>, params: &[(&'static str, &str)]) -> AuthorizationResponse {
    match to.response_mode {
        ResponseMode::Query => {
            AuthorizationResponse::Redirect(redirect_uri::append_query(to.redirect_uri, params))
        }
        ResponseMode::Fragment => {
            AuthorizationResponse::Redirect(redirect_uri::append_fragment(to.redirect_uri, params))
        }
        ResponseMode::FormPost => AuthorizationResponse::FormPost {
            action: to.redirect_uri.to_owned(),
            fields: params.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
        },
    }
}
