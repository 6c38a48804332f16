//! `GET /branding.css`: the issuer's colours, after the style sheet of all pages.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderName, HeaderValue, header};

use symbolon_app::http::{Call, Failure};

/// `GET /branding.css`
///
/// # Errors
/// [`Failure::NotFound`] if the issuer has no colours of its own.
pub(super) async fn style(call: &mut Call) -> Result<Response, Failure> {
    let issuer = &call.context.issuer;
    let accent = issuer.settings.load().branding.accent.ok_or(Failure::NotFound)?;
    let mut response = Response::new(Body::from(accent.style_sheet()));
    let asked = call.received.uri.query();
    let is_current =
        issuer.brand().style.is_some_and(|path| path.split_once('?').map(|(_, query)| query) == asked);
    // RFC 8246: the address that pages load names the colours. Any other is answered with today's.
    let cache = if is_current { "public, max-age=31536000, immutable" } else { "no-cache" };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/css; charset=utf-8"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    );
    Ok(response)
}
