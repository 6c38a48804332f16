//! The page that applications embed in a frame to learn whether the person is still signed in as before (OpenID Connect
//! Session Management 1.0 3.3).

use axum::response::Response;
use http::StatusCode;
use symbolon_pages::CheckSessionPage;

use symbolon_app::http::{Call, Failure, Framing, Policy, html};

/// `GET /check-session`.
///
/// # Errors
/// [`Failure::NotFound`] where it is off.
pub(super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    let issuer = &call.context.issuer;
    if !issuer.settings.load().session_management {
        return Err(Failure::NotFound);
    }
    let page = CheckSessionPage { cookie: issuer.browser_state_cookie.clone() };
    let page = page.render_below(&issuer.prefix).map_err(|error| Failure::Internal(error.to_string()))?;
    Ok(html(StatusCode::OK, page, &Policy { framed_by: Framing::Everybody, ..Policy::default() }))
}
