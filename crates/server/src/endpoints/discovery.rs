//! `/.well-known/...`: discovery (OpenID Connect Discovery 4, RFC 8414 3) and the key set (RFC 7517 5).

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};

use super::cors;
use crate::http::{Context, json};

/// Documents are the same for everybody and change rarely: an hour, and five minutes for keys, so that a rotation,
/// which publishes a key long before it signs, is seen in time.
const DOCUMENT_CACHE: HeaderValue = HeaderValue::from_static("public, max-age=3600");
const KEYS_CACHE: HeaderValue = HeaderValue::from_static("public, max-age=300");

/// The metadata document.
pub async fn metadata(context: Context) -> Response {
    let mut response = json(StatusCode::OK, Bytes::clone(&context.issuer.discovery.load()));
    response.headers_mut().insert(header::CACHE_CONTROL, DOCUMENT_CACHE);
    cors::allow_everybody(&mut response);
    response
}

/// The published keys.
pub async fn jwks(context: Context) -> Response {
    let mut response = json(StatusCode::OK, context.issuer.keys.load().jwks().clone());
    response.headers_mut().insert(header::CACHE_CONTROL, KEYS_CACHE);
    cors::allow_everybody(&mut response);
    response
}
