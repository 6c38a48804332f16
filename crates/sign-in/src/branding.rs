//! What pages load of a branding: the style sheets of the issuer and its clients, after that of all pages, and their logos.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, header};
use symbolon_protocol::branding::{Branding, StyleSheet, client_of_style};
use symbolon_protocol::logo::{self, Logo};

use symbolon_app::http::{Call, Context, Failure};

/// `GET /branding.css`
///
/// # Errors
/// [`Failure::NotFound`] if the issuer has none of its own.
pub(super) async fn style(call: &mut Call) -> Result<Response, Failure> {
    let style = call.context.issuer.style.load_full().ok_or(Failure::NotFound)?;
    Ok(sheet(call, &style))
}

/// `GET /branding/clients/{name}/style.css`
///
/// # Errors
/// [`Failure::NotFound`] if the client has no colours of its own; or the store is out of reach.
pub(super) async fn client_style(call: &mut Call) -> Result<Response, Failure> {
    let client = client_of_style(call.received.uri.path()).ok_or(Failure::NotFound)?;
    let client = call.context.app.store.client(&call.context.issuer.id, &client).await?;
    let branding = client.as_ref().and_then(|client| client.branding.as_deref());
    Ok(sheet(call, &branding.and_then(Branding::style_sheet).ok_or(Failure::NotFound)?))
}

fn sheet(call: &Call, style: &StyleSheet) -> Response {
    let is_current = call.received.uri.query() == Some(style.query());
    file(Body::from(style.text().to_owned()), "text/css; charset=utf-8", is_current)
}

/// `GET /branding/logo`: the issuer's.
///
/// # Errors
/// [`Failure::NotFound`] if it has none.
pub(super) async fn logo(call: &mut Call) -> Result<Response, Failure> {
    let logo = call.context.issuer.logo.load_full().ok_or(Failure::NotFound)?;
    Ok(image(call, &logo))
}

/// `GET /branding/clients/{name}/logo`: a client's.
///
/// # Errors
/// [`Failure::NotFound`] if it has none; or the store is out of reach.
pub(super) async fn client_logo(call: &mut Call) -> Result<Response, Failure> {
    let Context { app, issuer, .. } = &call.context;
    let client = logo::client_in(call.received.uri.path()).ok_or(Failure::NotFound)?;
    // Looked up first, because the cache of logos also keeps that there is none: a name of nobody must not get into it.
    app.store.client(&issuer.id, &client).await?.ok_or(Failure::NotFound)?;
    let logo = app.store.logo(&issuer.id, Some(&client)).await?;
    Ok(image(call, &logo.ok_or(Failure::NotFound)?))
}

fn image(call: &Call, logo: &Logo) -> Response {
    let is_current = call.received.uri.query() == Some(&logo.query());
    let body = Body::from(Bytes::copy_from_slice(logo.content()));
    let mut response = file(body, logo.media_type(), is_current);
    response
        .headers_mut()
        .insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(logo::CONTENT_SECURITY_POLICY));
    response
}

/// An answer that pages of the issuer alone may load. RFC 8246: the address that pages load names the content, and caches keep it
/// for ever. Any other address is answered with today's.
fn file(body: Body, media_type: &'static str, is_current: bool) -> Response {
    let mut response = Response::new(body);
    let cache = if is_current { "public, max-age=31536000, immutable" } else { "no-cache" };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    );
    response
}
