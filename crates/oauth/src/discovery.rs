//! `/.well-known/...`: discovery (OpenID Connect Discovery 4, RFC 8414 3), the metadata of UserInfo (RFC 9728)
//! and the key set (RFC 7517 5).

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use symbolon_protocol::key::JWKS_MAX_AGE;
use symbolon_protocol::protected_resource::of_userinfo;

use symbolon_app::http::{Call, Failure, json};

/// Caching: an hour for metadata, which is the same for everybody and rarely changes; five minutes for keys. A new
/// key signs only after every cached key set without it has expired ([`symbolon_protocol::key::PUBLISHED_AHEAD`]).
const DOCUMENT_CACHE: HeaderValue = HeaderValue::from_static("public, max-age=3600");
const KEYS_CACHE: HeaderValue = HeaderValue::from_static("public, max-age=300");
const _: () = assert!(JWKS_MAX_AGE.as_secs() == 300, "KEYS_CACHE says it");

/// The metadata document.
///
/// # Errors
/// None.
pub(super) async fn metadata(call: &mut Call) -> Result<Response, Failure> {
    let document = Bytes::clone(&call.context.issuer.discovery.load());
    Ok(cached(document, DOCUMENT_CACHE))
}

/// The metadata of UserInfo as a protected resource (RFC 9728 3).
///
/// # Errors
/// [`Failure::Internal`] if they cannot be written.
pub(super) async fn userinfo_metadata(call: &mut Call) -> Result<Response, Failure> {
    let issuer = &call.context.issuer;
    let (settings, name) = (issuer.settings.load(), issuer.display_name());
    let metadata = of_userinfo(&issuer.url, &name, &settings, issuer.mutual_tls.as_ref());
    let document = serde_json::to_vec(&metadata).map_err(|error| Failure::Internal(error.to_string()))?;
    Ok(cached(document.into(), DOCUMENT_CACHE))
}

/// The published keys.
///
/// # Errors
/// None.
pub(super) async fn jwks(call: &mut Call) -> Result<Response, Failure> {
    let keys = call.context.issuer.keys.load().jwks().clone();
    Ok(cached(keys, KEYS_CACHE))
}

fn cached(document: Bytes, cache: HeaderValue) -> Response {
    let mut response = json(StatusCode::OK, document);
    response.headers_mut().insert(header::CACHE_CONTROL, cache);
    response
}
