//! The one place where an error becomes status, code, JSON or page.

use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Serialize;
use symbolon_pages::{ErrorPage, Language};
use symbolon_protocol::client::Client;
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_store::StoreError;

use super::response::{Policy, html, json, no_store};
use crate::passwords::Busy;
use crate::rate_limit::Limited;
use symbolon_telemetry::RequestFacts;

/// Why a request is not answered as it was asked.
#[derive(Debug)]
pub enum Failure {
    /// An error that an RFC names.
    OAuth(OAuthError),
    /// An error of a protected resource (RFC 6750 3).
    Bearer(OAuthError),
    /// No credentials at all: a challenge without an error (RFC 6750 3.1).
    NoToken,
    /// Later: overload, a full disk, an engine out of reach.
    Unavailable {
        /// Seconds.
        retry_after: u64,
    },
    /// Too many requests (RFC 6585 4).
    TooMany {
        /// Seconds.
        retry_after: u64,
    },
    /// The body is too long.
    TooLarge,
    /// The body ended early.
    BrokenBody,
    /// The body came too slowly (RFC 9110 15.5.9).
    TooSlow,
    /// A form was expected.
    NotAForm,
    /// Nothing is here.
    NotFound,
    /// Something is here, for another method (RFC 9110 15.5.6).
    MethodNotAllowed,
    /// Our own fault: logged, never explained.
    Internal(String),
}

impl From<OAuthError> for Failure {
    fn from(error: OAuthError) -> Self {
        Self::OAuth(error)
    }
}

impl From<Limited> for Failure {
    fn from(limited: Limited) -> Self {
        Self::TooMany { retry_after: limited.retry_after_seconds }
    }
}

impl From<Busy> for Failure {
    fn from(busy: Busy) -> Self {
        Self::Unavailable { retry_after: busy.retry_after_seconds }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(reason) => {
                tracing::warn!(target: "symbolon::store", reason, "the store is unavailable");
                Self::Unavailable { retry_after: 1 }
            }
            // Whoever gets here had decided a second time already.
            StoreError::Conflict => Self::Unavailable { retry_after: 1 },
            StoreError::Failed(reason) => Self::Internal(reason),
        }
    }
}

/// What the page of a failure is about.
pub struct ErrorAbout<'a> {
    /// The headers of the request.
    pub headers: &'a HeaderMap,
    /// The request's id, as the log has it.
    pub request_id: Option<String>,
    /// The provider's name, where a request is for an issuer.
    pub issuer_name: Option<String>,
    /// The path in front of the issuer's pages, if it has one.
    pub prefix: &'a str,
    /// The client that sent the person here, where it is known.
    pub client: Option<&'a Client>,
}

impl<'a> ErrorAbout<'a> {
    /// A request of which nothing more is known.
    pub const fn request(headers: &'a HeaderMap) -> Self {
        Self { headers, request_id: None, issuer_name: None, prefix: "", client: None }
    }
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    error: &'a str,
    error_description: &'a str,
}

impl Failure {
    fn parts(&self) -> (StatusCode, &'static str, &str) {
        match self {
            Self::OAuth(error) | Self::Bearer(error) => {
                let status = StatusCode::from_u16(error.code.status()).unwrap_or(StatusCode::BAD_REQUEST);
                (status, error.code.as_str(), &error.description)
            }
            Self::NoToken => (StatusCode::UNAUTHORIZED, "invalid_token", "an access token is needed"),
            Self::Unavailable { .. } => {
                (StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", "try again in a moment")
            }
            Self::TooMany { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, "rate_limit_exceeded", "too many requests, try again later")
            }
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "invalid_request", "the body is too long"),
            Self::BrokenBody => {
                (StatusCode::BAD_REQUEST, "invalid_request", "the body could not be read to its end")
            }
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, "invalid_request", "the body came too slowly"),
            Self::NotAForm => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "invalid_request",
                "the body must be application/x-www-form-urlencoded",
            ),
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found", "there is nothing here"),
            Self::MethodNotAllowed => {
                (StatusCode::METHOD_NOT_ALLOWED, "invalid_request", "this path does not take the method")
            }
            Self::Internal(_) => {
                (StatusCode::INTERNAL_SERVER_ERROR, "server_error", "something went wrong on our side")
            }
        }
    }

    fn finish(&self, mut response: Response, code: &'static str) -> Response {
        if let Self::Internal(reason) = self {
            tracing::error!(target: "symbolon::request", reason, "a request failed inside");
        }
        if let Some(challenge) = self.challenge() {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        if matches!(self, Self::TooSlow | Self::TooLarge) {
            // RFC 9110 15.5.9: the connection is to be closed; 15.5.14: it may be, and the rest of the body is not read.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if let Self::Unavailable { retry_after } | Self::TooMany { retry_after } = self {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(*retry_after));
        }
        RequestFacts::new().oauth_error(code).note();
        response
    }

    /// What to authenticate with: RFC 6749 5.2 and RFC 6750 3, and no 401 without a challenge (RFC 9110 15.5.2).
    fn challenge(&self) -> Option<HeaderValue> {
        let text = match self {
            Self::OAuth(error) if error.code == ErrorCode::InvalidClient => {
                "Basic realm=\"symbolon\"".to_owned()
            }
            Self::NoToken => "Bearer realm=\"symbolon\"".to_owned(),
            Self::Bearer(error) => format!(
                "Bearer realm=\"symbolon\", error=\"{}\", error_description=\"{}\"",
                error.code, error.description
            ),
            _ => return None,
        };
        HeaderValue::try_from(text).ok()
    }

    /// As JSON (RFC 6749 5.2).
    pub fn into_json(self) -> Response {
        let (status, code, description) = self.parts();
        let body = ErrorBody { error: code, error_description: description };
        let response = no_store(json(status, serde_json::to_vec(&body).unwrap_or_default()));
        self.finish(response, code)
    }

    /// As a page where the browser prefers one, else as JSON.
    pub fn into_page(self, about: &ErrorAbout<'_>) -> Response {
        if !prefers_html(about.headers) {
            return self.into_json();
        }
        let (status, code, description) = self.parts();
        let page = ErrorPage {
            language: Language::English,
            issuer_name: about.issuer_name.clone(),
            status: status.as_u16(),
            error: code.to_owned(),
            description: description.to_owned(),
            request_id: about.request_id.clone().unwrap_or_default(),
            client_name: about.client.map(|client| client.display_name().to_owned()),
            client_uri: about.client.and_then(|client| client.displayed("client_uri")),
        };
        match page.render_below(about.prefix) {
            Ok(page) => self.finish(html(status, page, &Policy::default()), code),
            Err(_) => self.into_json(),
        }
    }
}

/// Whether HTML comes before JSON in `Accept`.
pub(crate) fn prefers_html(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match (accept.find("text/html"), accept.find("application/json")) {
        (Some(html), Some(json)) => html < json,
        (Some(_), None) => true,
        (None, _) => false,
    }
}
