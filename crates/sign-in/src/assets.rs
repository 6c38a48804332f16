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

/// An asset that caches keep for ever (RFC 8246), because its path contains its fingerprint. Compressed for who takes that:
/// files hold no secrets, which an attacker could find out by the length (pages do, and are sent as they are).
fn file(asset: &'static Asset, request: &HeaderMap) -> Response {
    let compressed = if takes_gzip(request) { asset.compressed() } else { None };
    let etag = if compressed.is_some() { &asset.compressed_etag } else { &asset.etag };
    let known = request
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .any(|tags| names(tags, &asset.etag) || names(tags, &asset.compressed_etag));
    let content = compressed.unwrap_or(asset.body.as_bytes());
    let body = if known { Body::empty() } else { Body::from(Bytes::from_static(content)) };
    let mut response = Response::new(body);
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    // RFC 9110 12.5.5: caches must know what else the answer depends on.
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(etag) = HeaderValue::from_str(etag) {
        headers.insert(header::ETAG, etag);
    }
    if !known {
        if compressed.is_some() {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
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

/// Whether the sender takes gzip (RFC 9110 12.5.3): it names it, or `*`, with a weight other than 0.
fn takes_gzip(request: &HeaderMap) -> bool {
    let codings = request.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut any = false;
    for coding in codings.flat_map(|value| value.split(',')) {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.trim().parse::<f32>().ok());
        let is_taken = weight.is_some_and(|weight| weight > 0.0);
        match name.trim() {
            name if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") => {
                return is_taken;
            }
            "*" => any = is_taken,
            _ => {}
        }
    }
    any
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
    fn gzip_is_sent_to_who_takes_it() {
        let takes = |value: &'static str| {
            takes_gzip(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(value))]))
        };
        assert!(!takes_gzip(&HeaderMap::new()));
        for yes in ["gzip", "br, GZIP;q=0.5", "deflate, gzip, br, zstd", "*", "identity;q=0.1, *;q=0.2"] {
            assert!(takes(yes), "{yes}");
        }
        for no in ["", "br", "gzip;q=0", "*, gzip;q=0.0", "*;q=0", "gzip;q=much"] {
            assert!(!takes(no), "{no}");
        }
    }

    #[test]
    fn a_compressed_file_has_another_tag_than_the_plain_one() {
        let Some(asset) = assets().iter().find(|asset| asset.body.len() > 1_000) else { panic!("a file") };
        let plain = file(asset, &HeaderMap::new());
        let gzip = HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"))]);
        let compressed = file(asset, &gzip);
        assert!(plain.headers().get(header::CONTENT_ENCODING).is_none());
        assert_eq!(compressed.headers()[header::CONTENT_ENCODING], "gzip");
        assert_ne!(plain.headers()[header::ETAG], compressed.headers()[header::ETAG]);
        for answer in [&plain, &compressed] {
            assert_eq!(answer.headers()[header::VARY], "accept-encoding");
        }
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
