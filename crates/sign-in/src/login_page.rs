//! The login page.

use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use symbolon_pages::{LoginError, LoginPage};
use symbolon_protocol::sign_in::registration::Registration;

use crate::interaction::{Asking, Interaction, Page, PendingAuthorization, address, fits_address};
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure, Policy, html, redirect};
use symbolon_app::registration::PATH as REGISTER;

/// The path of the page for who forgot the password.
pub(super) const FORGOT_PASSWORD: &str = "/forgot-password";

/// The path of the page and its form.
pub(super) const PATH: &str = "/login";

/// Asks the person to sign in: shows the page if the person is on it already or if the interaction is too long for an
/// address, else redirects to it.
///
/// # Errors
/// [`Failure`]
pub(super) async fn ask(
    call: &mut Call,
    interaction: Interaction<PendingAuthorization>,
    on: Page,
) -> Result<Response, Failure> {
    let sealed = interaction.seal(&call.context)?;
    let is_shown_here = on == Page::Login && !call.received.is_post();
    if is_shown_here || !fits_address(&sealed) {
        let asking = Asking::of(&call.context, &interaction.pending).await?;
        let hint = asking.login_hint().map(str::to_owned);
        return page(&call.context, &interaction, &asking, hint, None);
    }
    let mut response = redirect(call.received.is_post(), &address(&call.context, PATH, &sealed));
    append(response.headers_mut(), interaction.browser.cookie(&call.context.issuer));
    Ok(response)
}

/// The page for a person other than the signed-in user. It is the direct answer: `GET` of the page's address would
/// see the live session and skip the page.
///
/// # Errors
/// [`Failure`]
pub(super) async fn show_to_another(
    context: &Context,
    mut interaction: Interaction<PendingAuthorization>,
) -> Result<Response, Failure> {
    interaction.begin_for_another(context);
    let asking = Asking::of(context, &interaction.pending).await?;
    page(context, &interaction, &asking, None, None)
}

/// The page, before or after an attempt.
///
/// # Errors
/// [`Failure`]: the page cannot be rendered.
pub(super) fn page(
    context: &Context,
    interaction: &Interaction<PendingAuthorization>,
    asking: &Asking,
    username: Option<String>,
    error: Option<LoginError>,
) -> Result<Response, Failure> {
    let sealed = interaction.seal(context)?;
    let action = address(context, PATH, &sealed);
    let (language, client) = (interaction.language, asking.client());
    let is_open = context.app.registration(&context.issuer) == Registration::Open;
    let way = |path| address(context, path, &sealed);
    let page = LoginPage {
        language,
        issuer_name: context.issuer.display_name(),
        client_name: asking.display_name(language),
        client_uri: client.and_then(|client| client.displayed_in("client_uri", language.tag())),
        client_logo: client.and_then(|client| client.displayed_in("logo_uri", language.tag())),
        cancel_action: action.clone(),
        action,
        csrf: interaction.csrf_token(context, Purpose::Login, ""),
        login_hint: username,
        forgot_uri: Some(way(FORGOT_PASSWORD)),
        register_uri: is_open.then(|| way(REGISTER)),
        magic_link_action: None,
        transaction: sealed,
        error,
    };
    let page = page
        .render_for(&context.issuer.prefix, &context.issuer.brand())
        .map_err(|error| Failure::Internal(error.to_string()))?;
    let policy = Policy { leads_to_client: client.is_some(), language, ..Policy::default() };
    let mut response = html(status(error), page, &policy);
    if let Some(seconds) = retry_after(error) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    append(response.headers_mut(), interaction.browser.cookie(&context.issuer));
    Ok(response)
}

/// The status of an attempt, for browsers and password managers.
const fn status(error: Option<LoginError>) -> StatusCode {
    match error {
        None => StatusCode::OK,
        // RFC 9110 15.5.4: the credentials in the request are insufficient. 401 would need a challenge of HTTP
        // authentication.
        Some(LoginError::InvalidCredentials | LoginError::Expired) => StatusCode::FORBIDDEN,
        Some(LoginError::TooManyAttempts { .. }) => StatusCode::TOO_MANY_REQUESTS,
        Some(LoginError::Busy) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

const fn retry_after(error: Option<LoginError>) -> Option<u64> {
    match error {
        Some(LoginError::TooManyAttempts { retry_after_seconds }) => Some(retry_after_seconds),
        Some(LoginError::Busy) => Some(1),
        _ => None,
    }
}

/// Adds a cookie, if there is one.
pub(super) fn append(headers: &mut HeaderMap, cookie: Option<HeaderValue>) {
    if let Some(cookie) = cookie {
        headers.append(header::SET_COOKIE, cookie);
    }
}
