//! Where somebody goes on to who registers or recovers: back to what they wanted to sign in for.

use axum::response::Response;

use crate::interaction::{Interaction, PendingAuthorization, address, root};
use crate::login_page;
use symbolon_app::http::{Context, Failure, Received, redirect};

/// The address of a page with what the person wants to sign in for; `None` if they came from nowhere, or if it is too long.
///
/// # Errors
/// [`Failure::Internal`]
pub(super) fn page_with(
    context: &Context,
    received: &Received,
    wanted: Option<&PendingAuthorization>,
    path: &str,
) -> Result<Option<String>, Failure> {
    let Some(wanted) = wanted else { return Ok(None) };
    let sealed = Interaction::begin(context, received, wanted.clone()).seal(context)?;
    Ok(crate::interaction::fits_address(&sealed).then(|| address(context, path, &sealed)))
}

/// The address of the sign-in page, or the first page for who came from nowhere.
///
/// # Errors
/// [`Failure::Internal`]
pub(super) fn sign_in_page(
    context: &Context,
    received: &Received,
    wanted: Option<&PendingAuthorization>,
) -> Result<String, Failure> {
    Ok(page_with(context, received, wanted, login_page::PATH)?.unwrap_or_else(|| root(context)))
}

/// A redirect that brings the browser's cookie.
pub(super) fn lead(received: &Received, to: &str, cookie: Option<http::HeaderValue>) -> Response {
    let mut response = redirect(received.is_post(), to);
    login_page::append(response.headers_mut(), cookie);
    response
}
