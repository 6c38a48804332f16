//! Cross-origin calls (Fetch standard): which origins' scripts may read an answer.
//!
//! Only the login API uses cookies across origins. Its answers allow credentials, to the origins that the issuer lists
//! and to no other. No other endpoint here authenticates by cookie, so no other answer allows credentials. Public documents, and the answers to
//! applications that register themselves, may be read by every origin. The token and UserInfo endpoints may be read by the origins of the client's redirect URIs and those that
//! it registered. A preflight does not identify a client, so it allows every origin and all requested headers; the
//! check is made on the actual answer.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use symbolon_protocol::client::Client;
use symbolon_protocol::redirect_uri;

use crate::issuer::IssuerState;

/// Answers a preflight. `methods` are those of the path, separated by commas.
pub fn preflight(headers: &HeaderMap, methods: &str) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let answer = response.headers_mut();
    if let Some(origin) = headers.get(header::ORIGIN) {
        answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        answer.append(header::VARY, HeaderValue::from_static("Origin"));
    }
    if let Ok(methods) = HeaderValue::try_from(methods) {
        answer.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    }
    // Libraries add headers of their own, such as trace headers. They are listed one by one, because `*` does not
    // cover Authorization (Fetch standard, CORS-unsafe request-header names).
    let asked = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let allowed = asked.unwrap_or(HeaderValue::from_static("authorization, content-type, dpop"));
    answer.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    answer.append(header::VARY, HeaderValue::from_static("Access-Control-Request-Headers"));
    answer.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("7200"));
    response
}

/// Answers a preflight of the login API: nothing is allowed to an origin that may not call it.
pub fn preflight_with_credentials(headers: &HeaderMap, issuer: &IssuerState) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    allow_with_credentials(headers, issuer, &mut response);
    let answer = response.headers_mut();
    if answer.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN) {
        answer.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
        let asked = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
        let allowed = asked.unwrap_or(HeaderValue::from_static("content-type"));
        answer.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
        answer.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("7200"));
    }
    answer.append(header::VARY, HeaderValue::from_static("Access-Control-Request-Headers"));
    response
}

/// Lets the requesting origin read an answer, and send cookies, if it may call the issuer's login API.
pub(super) fn allow_with_credentials(request: &HeaderMap, issuer: &IssuerState, response: &mut Response) {
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    let Some(origin) = request.get(header::ORIGIN) else { return };
    if origin.to_str().is_ok_and(|origin| issuer.allows_origin(origin)) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("retry-after"));
    }
}

/// Lets every origin read an answer that is the same for everybody.
pub(super) fn allow_everybody(response: &mut Response) {
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
}

/// Lets the requesting origin read the answer if it belongs to the client. Without a `client` (authentication failed)
/// every origin may read the error, which reveals nothing.
pub(super) fn allow(request: &HeaderMap, client: Option<&Client>, response: &mut Response) {
    let Some(origin) = request.get(header::ORIGIN) else { return };
    let allowed = client.is_none_or(|client| origin.to_str().is_ok_and(|origin| is_of(client, origin)));
    let headers = response.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    if allowed {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("www-authenticate, retry-after, dpop-nonce"),
        );
    }
}

fn is_of(client: &Client, origin: &str) -> bool {
    client.allowed_redirect_origins.iter().any(|own| own == origin)
        || client.redirect_uris.iter().any(|uri| redirect_uri::is_at(uri, origin, &client.redirect_uri_forms))
}
