//! The page that applications embed in a frame to learn whether the person is still signed in as before (OpenID Connect
//! Session Management 1.0 3.3), and what its script asks where the browser computes no digests.

use axum::response::Response;
use http::StatusCode;
use symbolon_pages::CheckSessionPage;
use symbolon_protocol::params::Params;
use symbolon_protocol::session_management::is_unchanged;

use symbolon_app::http::{
    Call, Context, Failure, Framing, Policy, html, json, known_browser_state, no_store,
};

/// `GET /check-session`.
///
/// # Errors
/// [`Failure::NotFound`] where it is off; `invalid_request` for a question without `client_id` or `origin`.
pub(super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    let context = &call.context;
    if !context.issuer.settings.load().session_management {
        return Err(Failure::NotFound);
    }
    let query = call.received.uri.query().unwrap_or_default();
    let params = Params::parse(query.as_bytes())?;
    match params.get("session_state")? {
        Some(session_state) => {
            let asked = (params.require("client_id")?, params.require("origin")?);
            let browser_state = known_browser_state(&call.received.headers, &context.issuer);
            Ok(answer(is_unchanged(session_state, asked, browser_state.unwrap_or_default())))
        }
        None => page(context),
    }
}

fn page(context: &Context) -> Result<Response, Failure> {
    let issuer = &context.issuer;
    let page = CheckSessionPage { cookie: issuer.browser_state_cookie.clone() };
    let page = page.render_below(&issuer.prefix).map_err(|error| Failure::Internal(error.to_string()))?;
    let policy = Policy { framed_by: Framing::Everybody, connect: vec!["'self'"], ..Policy::default() };
    Ok(html(StatusCode::OK, page, &policy))
}

/// The answer to a question of the page's script. No other site can read it, and it tells nothing that the script could not compute.
fn answer(is_unchanged: bool) -> Response {
    let state = if is_unchanged { r#"{"state":"unchanged"}"# } else { r#"{"state":"changed"}"# };
    no_store(json(StatusCode::OK, state))
}
