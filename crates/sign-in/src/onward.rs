//! Where somebody goes on to who registers or recovers: back to what they wanted to sign in for.

use axum::response::Response;

use symbolon_pages::AccountPlace;
use symbolon_protocol::params::Params;
use symbolon_protocol::ui_locale::UiLocale;

use crate::interaction::{Interaction, PendingAuthorization, address};
use crate::login_page;
use symbolon_app::http::{Context, Failure, Received, redirect};

/// Where somebody comes from who opens the first page: their way onward, and the language that was asked for.
pub(super) struct Onward {
    /// What the person wants to sign in for.
    pub(super) authorization: Option<PendingAuthorization>,
    /// The language of `ui_locales`, as at the authorization endpoint (OpenID Connect Core 3.1.2.1), else of the page that led
    /// here.
    pub(super) ui_locale: Option<UiLocale>,
}

impl Onward {
    /// Reads the parameters `transaction` and `ui_locales`, each of which may be missing.
    ///
    /// # Errors
    /// [`Failure`]: the transaction is not one of this issuer's sign-in pages, or a parameter is repeated.
    pub(super) fn of(context: &Context, received: &Received, params: &Params<'_>) -> Result<Self, Failure> {
        let asked = params.get("ui_locales")?.and_then(UiLocale::of_ui_locales);
        if params.get("transaction")?.is_none() {
            return Ok(Self { authorization: None, ui_locale: asked });
        }
        let from = Interaction::<PendingAuthorization>::open(context, received, params)?;
        let ui_locale = asked.or_else(|| UiLocale::lookup(from.language.tag()));
        Ok(Self { authorization: Some(from.pending), ui_locale })
    }
}

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

/// The address of the account, where the sign-in page comes first if nobody is signed in.
pub(super) fn account(context: &Context) -> String {
    format!("{}{}", context.issuer.prefix, AccountPlace::Overview.path())
}

/// The address of the sign-in page, for who came from nowhere with the account behind it.
///
/// # Errors
/// [`Failure::Internal`]
pub(super) fn sign_in_page(
    context: &Context,
    received: &Received,
    wanted: Option<&PendingAuthorization>,
) -> Result<String, Failure> {
    Ok(page_with(context, received, wanted, login_page::PATH)?.unwrap_or_else(|| account(context)))
}

/// A redirect that brings the browser's cookie.
pub(super) fn lead(received: &Received, to: &str, cookie: Option<http::HeaderValue>) -> Response {
    let mut response = redirect(received.is_post(), to);
    login_page::append(response.headers_mut(), cookie);
    response
}
