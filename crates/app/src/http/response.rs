//! Responses: JSON, redirects and pages, each with its required headers.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use symbolon_pages::Language;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const NO_CACHE: HeaderValue = HeaderValue::from_static("no-cache");

fn empty(status: StatusCode, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}

/// A JSON document.
pub fn json(status: StatusCode, body: impl Into<Bytes>) -> Response {
    let mut response = empty(status, Body::from(body.into()));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A JWT, as which an answer is signed.
pub fn jwt(media_type: &'static str, compact: String) -> Response {
    let mut response = empty(StatusCode::OK, Body::from(compact));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Marks an answer that carries tokens or personal data (RFC 6749 5.1).
pub fn no_store(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
    response.headers_mut().insert(header::PRAGMA, NO_CACHE);
    response
}

/// A redirect that is not cached: 302 after a GET, 303 after a POST (RFC 9700 4.12).
pub fn redirect(after_post: bool, location: &str) -> Response {
    let status = if after_post { StatusCode::SEE_OTHER } else { StatusCode::FOUND };
    let mut response = empty(status, Body::empty());
    // Locations are built from checked parts. If one is still not a valid header value, the redirect fails instead of
    // being altered.
    match HeaderValue::from_str(location) {
        Ok(location) => {
            response.headers_mut().insert(header::LOCATION, location);
            response.headers_mut().insert(header::CACHE_CONTROL, NO_STORE);
        }
        Err(_) => *response.status_mut() = StatusCode::BAD_REQUEST,
    }
    response
}

/// What the headers of a page say: its Content-Security-Policy, and its language.
#[derive(Clone, Debug, Default)]
pub struct Policy<'a> {
    /// Whether submitting the page's form ends in a redirect to a client. Browsers apply `form-action` to every
    /// redirect after a form, also to those that the client makes, which are not known here. So such a page has no
    /// `form-action`.
    pub leads_to_client: bool,
    /// Origins that the page's script may call, `'self'` among them if it may call its own.
    pub connect: Vec<&'a str>,
    /// Origins that the page may embed in frames, `'self'` among them if it may embed its own.
    pub frame: Vec<&'a str>,
    /// Who may embed the page in a frame.
    pub framed_by: Framing,
    /// The language of the page.
    pub language: Language,
}

/// Who may embed a page in a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// Nobody: prevents clickjacking (RFC 9700 4.16).
    #[default]
    Nobody,
    /// Pages of the same origin.
    Ourselves,
    /// Everybody: nothing on the page reacts to clicks, so clickjacking gains nothing.
    Everybody,
}

impl Policy<'_> {
    fn header(&self) -> String {
        let sources = |list: &[&str]| list.iter().map(|origin| format!(" {origin}")).collect::<String>();
        let ancestors = match self.framed_by {
            Framing::Nobody => "'none'",
            Framing::Ourselves => "'self'",
            Framing::Everybody => "*",
        };
        let mut policy = format!(
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; \
             frame-ancestors {ancestors}"
        );
        if !self.leads_to_client {
            policy.push_str("; form-action 'self'");
        }
        if !self.connect.is_empty() {
            policy.push_str(&format!("; connect-src{}", sources(&self.connect)));
        }
        if !self.frame.is_empty() {
            policy.push_str(&format!("; frame-src{}", sources(&self.frame)));
        }
        policy
    }
}

/// A page, with headers against framing, MIME sniffing, caching and leaking of referrers.
///
/// `Cross-Origin-Opener-Policy` is not sent: it would cut the link between a popup and its opener, and clients that
/// sign people in in a popup wait for its answer.
pub fn html(status: StatusCode, page: String, policy: &Policy<'_>) -> Response {
    let mut response = empty(status, Body::from(page));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HTML);
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    // RFC 9110 8.5, 12.5.5: the same address is answered in several languages.
    headers.insert(header::CONTENT_LANGUAGE, HeaderValue::from_static(policy.language.tag()));
    headers.insert(header::VARY, HeaderValue::from_static("accept-language, cookie"));
    if let Ok(policy) = HeaderValue::try_from(policy.header()) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // With `no-referrer`, browsers would send `Origin: null` with the page's own forms, and the check of `Origin`
    // would refuse them.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("strict-origin"));
    if policy.framed_by == Framing::Nobody {
        headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    }
    response
}
