//! The one place where an error becomes a status with a JSON body or a page.

use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;
use smol_str::SmolStr;
use symbolon_pages::{Brand, ErrorPage, Language};
use symbolon_protocol::client::Client;
use symbolon_protocol::dpop;
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_protocol::refusal::{Reason, Refusal};
use symbolon_store::StoreError;

use super::response::{Policy, html, json, no_store};
use crate::passwords::Busy;
use crate::rate_limit::Limited;
use symbolon_telemetry::{Current, RequestFacts};

/// Why a request fails.
#[derive(Debug)]
pub enum Failure {
    /// An error code of an RFC.
    OAuth(OAuthError),
    /// An error of a protected resource (RFC 6750 3).
    Bearer(OAuthError),
    /// An error of a protected resource that was called by the scheme DPoP, or that needs it (RFC 9449 7.1).
    Dpop(OAuthError),
    /// A DPoP proof without a good nonce: the answer has one. Boxed, because few requests need it.
    DpopNonce(Box<NonceDemand>),
    /// The request is understood, and not allowed (RFC 9110 15.5.4).
    Forbidden(OAuthError),
    /// A protected resource was called without credentials: a challenge without an error code (RFC 6750 3.1).
    NoToken {
        /// Whether tokens that are bound to a key are taken there.
        takes_dpop: bool,
    },
    /// Temporarily unavailable: overload, a full disk, a store out of reach.
    Unavailable {
        /// Seconds until a retry makes sense.
        retry_after: u64,
    },
    /// Too many requests (RFC 6585 4).
    TooMany {
        /// Seconds until a retry makes sense.
        retry_after: u64,
        /// Whose limit is used up.
        refusal: Refusal,
    },
    /// The body is too long.
    TooLarge,
    /// The connection ended before the whole body came.
    BrokenBody,
    /// The body did not come in time (RFC 9110 15.5.9).
    TooSlow,
    /// The body is not a form.
    NotAForm,
    /// The body is not JSON.
    NotJson,
    /// No endpoint has this path.
    NotFound,
    /// The endpoint does not allow the method (RFC 9110 15.5.6).
    MethodNotAllowed,
    /// A fault of the server: logged, and not explained to the client.
    Internal(String),
}

/// What a client is told whose DPoP proof needs a nonce (RFC 9449 8, 9).
#[derive(Debug)]
pub struct NonceDemand {
    /// `use_dpop_nonce`.
    pub error: OAuthError,
    /// The nonce that the next proof must have.
    pub nonce: SmolStr,
    /// Whether a protected resource was called: it answers by a challenge.
    pub at_resource: bool,
}

impl From<OAuthError> for Failure {
    fn from(error: OAuthError) -> Self {
        Self::OAuth(error)
    }
}

/// The limit of an address.
impl From<Limited> for Failure {
    fn from(limited: Limited) -> Self {
        Self::limited(limited, Reason::AddressRateLimited.into())
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
            // Callers retry after a conflict; this one is left after the second attempt.
            StoreError::Conflict => Self::Unavailable { retry_after: 1 },
            StoreError::Failed(reason) => Self::Internal(reason),
        }
    }
}

/// What an error page needs to know about the request.
pub struct ErrorAbout<'a> {
    /// The headers of the request.
    pub headers: &'a HeaderMap,
    /// The request's id, as it stands in the log.
    pub request_id: Option<String>,
    /// The provider's name, if the request is for an issuer.
    pub issuer_name: Option<String>,
    /// The path prefix of the issuer's pages; may be empty.
    pub prefix: &'a str,
    /// The language of the page.
    pub language: Language,
    /// The issuer's branding, if the request is for an issuer.
    pub brand: Option<Brand>,
    /// The client that sent the person here, if known.
    pub client: Option<&'a Client>,
    /// Where that client begins a sign-in again, if it says so (OpenID Connect Core 4).
    pub login_uri: Option<String>,
}

impl<'a> ErrorAbout<'a> {
    /// About a request of which only the headers are known.
    pub const fn request(headers: &'a HeaderMap) -> Self {
        Self {
            headers,
            request_id: None,
            issuer_name: None,
            prefix: "",
            language: Language::English,
            brand: None,
            client: None,
            login_uri: None,
        }
    }
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    error: &'a str,
    error_description: &'a str,
}

impl Failure {
    /// A limit is used up; the refusal says whose.
    pub const fn limited(limited: Limited, refusal: Refusal) -> Self {
        Self::TooMany { retry_after: limited.retry_after_seconds, refusal }
    }

    /// What the operator is told about a refused request, taken out of the failure; `None` if the path belongs to no
    /// endpoint.
    pub fn take_refusal(&mut self) -> Option<Refusal> {
        Some(match self {
            Self::OAuth(error) | Self::Bearer(error) | Self::Dpop(error) | Self::Forbidden(error) => {
                error.take_refusal()
            }
            Self::DpopNonce(demand) => demand.error.take_refusal(),
            Self::NoToken { .. } => Reason::TokenMissing.into(),
            Self::Unavailable { .. } => Reason::Unavailable.into(),
            Self::TooMany { refusal, .. } => {
                let reason = refusal.reason;
                std::mem::replace(refusal, reason.into())
            }
            Self::TooLarge => Reason::BodyTooLong.into(),
            Self::BrokenBody | Self::TooSlow => Reason::BodyIncomplete.into(),
            Self::NotAForm => Reason::NotAForm.into(),
            Self::NotJson => Reason::NotJson.into(),
            Self::MethodNotAllowed => Reason::MethodNotAllowed.into(),
            Self::Internal(_) => Reason::ServerFault.into(),
            Self::NotFound => return None,
        })
    }

    /// The error code and description that the client or the person is told.
    pub fn told(&self) -> (&'static str, &str) {
        let (_, code, description) = self.parts();
        (code, description)
    }

    fn parts(&self) -> (StatusCode, &'static str, &str) {
        match self {
            Self::OAuth(error) | Self::Bearer(error) => {
                let status = StatusCode::from_u16(error.code.status()).unwrap_or(StatusCode::BAD_REQUEST);
                (status, error.code.as_str(), &error.description)
            }
            Self::Dpop(error) => (at_resource(error), error.code.as_str(), &error.description),
            Self::DpopNonce(demand) => {
                let error = &demand.error;
                let status = if demand.at_resource { at_resource(error) } else { StatusCode::BAD_REQUEST };
                (status, error.code.as_str(), &error.description)
            }
            Self::Forbidden(error) => (StatusCode::FORBIDDEN, error.code.as_str(), &error.description),
            Self::NoToken { .. } => (StatusCode::UNAUTHORIZED, "invalid_token", "an access token is needed"),
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
            Self::NotJson => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid_request", "the body must be application/json")
            }
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found", "there is nothing here"),
            Self::MethodNotAllowed => {
                (StatusCode::METHOD_NOT_ALLOWED, "invalid_request", "this path does not take the method")
            }
            Self::Internal(_) => {
                (StatusCode::INTERNAL_SERVER_ERROR, "server_error", "something went wrong on our side")
            }
        }
    }

    /// `metadata` is where the protected resource that was called says what it is.
    fn finish(&self, mut response: Response, code: &'static str, metadata: Option<&str>) -> Response {
        if let Self::Internal(reason) = self {
            let request_id = Current::arrival().map(|arrival| arrival.id.to_string());
            tracing::error!(target: "symbolon::request", request_id, reason, "a request failed inside");
        }
        if let Some(challenge) = self.challenge(metadata) {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        if matches!(self, Self::TooSlow | Self::TooLarge) {
            // Closes the connection: RFC 9110 15.5.9 asks for it at 408; 15.5.14 allows it at 413, and the rest of
            // the body is not read.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if let Self::DpopNonce(demand) = self
            && let Ok(nonce) = HeaderValue::from_str(&demand.nonce)
        {
            response.headers_mut().insert(HeaderName::from_static(dpop::NONCE_HEADER), nonce);
        }
        if let Self::Unavailable { retry_after } | Self::TooMany { retry_after, .. } = self {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(*retry_after));
        }
        RequestFacts::new().oauth_error(code).note();
        response
    }

    /// The authentication challenge: RFC 6749 5.2, RFC 6750 3, RFC 9449 7.1 and RFC 9728 5.1, and no 401 without one (RFC 9110
    /// 15.5.2).
    fn challenge(&self, metadata: Option<&str>) -> Option<HeaderValue> {
        let of = metadata.map(|url| format!(", resource_metadata=\"{url}\"")).unwrap_or_default();
        let text = match self {
            Self::OAuth(error) if error.code == ErrorCode::InvalidClient => {
                "Basic realm=\"symbolon\"".to_owned()
            }
            // RFC 9449 7.2: both schemes, because it is not known which kind of token the client has.
            Self::NoToken { takes_dpop: false } => format!("Bearer realm=\"symbolon\"{of}"),
            Self::NoToken { takes_dpop: true } => format!(
                "Bearer realm=\"symbolon\"{of}, DPoP realm=\"symbolon\", algs=\"{}\"{of}",
                dpop::ALGORITHMS
            ),
            Self::Dpop(error) => dpop_challenge(error, &of),
            Self::DpopNonce(demand) if demand.at_resource => dpop_challenge(&demand.error, &of),
            Self::Bearer(error) => format!(
                "Bearer realm=\"symbolon\", error=\"{}\", error_description=\"{}\"{of}",
                error.code, error.description
            ),
            _ => return None,
        };
        HeaderValue::try_from(text).ok()
    }

    /// As JSON (RFC 6749 5.2).
    pub fn into_json(self) -> Response {
        self.into_json_of(None)
    }

    /// As JSON, of a protected resource whose metadata are at this URL (RFC 9728 5.1).
    pub(crate) fn into_json_of(self, metadata: Option<&str>) -> Response {
        let (status, code, description) = self.parts();
        let body = ErrorBody { error: code, error_description: description };
        let response = no_store(json(status, serde_json::to_vec(&body).unwrap_or_default()));
        self.finish(response, code, metadata)
    }

    /// As a page if the browser prefers HTML, else as JSON.
    pub fn into_page(self, about: &ErrorAbout<'_>) -> Response {
        if !prefers_html(about.headers) {
            return self.into_json();
        }
        let (status, code, description) = self.parts();
        let page = ErrorPage {
            language: about.language,
            issuer_name: about.issuer_name.clone(),
            status: status.as_u16(),
            error: code.to_owned(),
            description: description.to_owned(),
            request_id: about.request_id.clone().unwrap_or_default(),
            client_name: about.client.map(|client| client.display_name_in(about.language.tag())),
            client_uri: about.client.and_then(|client| client.displayed("client_uri")),
            login_uri: about.login_uri.clone(),
        };
        match page.render_for(about.prefix, about.brand.as_ref().unwrap_or(&Brand::default())) {
            Ok(page) => self.finish(
                html(status, page, &Policy { language: about.language, ..Policy::default() }),
                code,
                None,
            ),
            Err(_) => self.into_json(),
        }
    }
}

/// RFC 9449 7.1: a protected resource answers 401 to a proof that is not good.
fn at_resource(error: &OAuthError) -> StatusCode {
    match error.code {
        ErrorCode::InvalidDpopProof | ErrorCode::UseDpopNonce => StatusCode::UNAUTHORIZED,
        code => StatusCode::from_u16(code.status()).unwrap_or(StatusCode::BAD_REQUEST),
    }
}

/// `more` is appended to the challenge.
fn dpop_challenge(error: &OAuthError, more: &str) -> String {
    format!(
        "DPoP realm=\"symbolon\", error=\"{}\", error_description=\"{}\", algs=\"{}\"{more}",
        error.code,
        error.description,
        dpop::ALGORITHMS
    )
}

/// Whether HTML stands before JSON in `Accept`.
pub(crate) fn prefers_html(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match (accept.find("text/html"), accept.find("application/json")) {
        (Some(html), Some(json)) => html < json,
        (Some(_), None) => true,
        (None, _) => false,
    }
}
