//! The files that pages load.

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use symbolon_pages::{Asset, assets};
use symbolon_telemetry::{Endpoint, RequestFacts};

/// `/assets/...`. Pages refer to assets by absolute paths, so assets are also served outside the issuers' prefixes.
pub fn asset_routes() -> Router {
    assets().iter().fold(Router::new(), |router, asset| {
        router.route(&asset.path, get(move |headers: HeaderMap| async move { file(asset, &headers) }))
    })
}

/// An asset that caches keep for ever (RFC 8246), because its path contains its fingerprint.
fn file(asset: &'static Asset, request: &HeaderMap) -> Response {
    let known = request.get_all(header::IF_NONE_MATCH).iter().any(|tags| names(tags, &asset.etag));
    let body = if known { Body::empty() } else { Body::from(Bytes::from_static(asset.body.as_bytes())) };
    let mut response = Response::new(body);
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    if let Ok(etag) = HeaderValue::from_str(&asset.etag) {
        headers.insert(header::ETAG, etag);
    }
    if !known {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(
            HeaderName::from_static("cross-origin-resource-policy"),
            HeaderValue::from_static("same-origin"),
        );
    }
    RequestFacts::note_endpoint(Endpoint::Page, "/assets/{file}");
    response
}

/// RFC 9110 13.1.2: `If-None-Match` compares weakly, and `*` matches every tag.
fn names(tags: &HeaderValue, etag: &str) -> bool {
    let Ok(tags) = tags.to_str() else { return false };
    tags.split(',').map(str::trim).any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == etag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entity_tags_compare_weakly() {
        let tags = |text| HeaderValue::from_static(text);
        assert!(names(&tags("\"a\", W/\"b\""), "\"b\""));
        assert!(names(&tags("*"), "\"b\""));
        assert!(!names(&tags("\"bb\", b"), "\"b\""));
    }

    #[test]
    fn a_known_file_is_not_sent_again() {
        let Some(asset) = assets().first() else { panic!("there are files") };
        let mut request = HeaderMap::new();
        assert_eq!(file(asset, &request).status(), StatusCode::OK);
        request.insert(header::IF_NONE_MATCH, HeaderValue::from_str(&asset.etag).unwrap());
        let answer = file(asset, &request);
        assert_eq!(answer.status(), StatusCode::NOT_MODIFIED);
        assert!(
            answer.headers().contains_key(header::ETAG)
                && answer.headers().contains_key(header::CACHE_CONTROL)
        );
    }
}
