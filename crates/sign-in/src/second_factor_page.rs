//! The page that asks for a second factor, and the one on which a generator is set up.

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use symbolon_pages::{SecondFactorError, SecondFactorPage, SecondFactorSetup};

use crate::interaction::{Interaction, Page, PendingAuthorization, address, fits_address};
use crate::login_page::append;
use crate::passkey_attempt::prompt;
use crate::remembered_device;
use crate::requesting_client::Asking;
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure, Policy, html, redirect};

/// The path of the page and its form.
pub(super) const PATH: &str = "/login/second-factor";

/// Asks the person for a second factor: shows the page if the person is on it already or if the interaction is too long for
/// an address, else redirects to it.
///
/// # Errors
/// [`Failure`]
pub(super) async fn ask(
    call: &mut Call,
    interaction: Interaction<PendingAuthorization>,
    on: Page,
) -> Result<Response, Failure> {
    let sealed = interaction.seal(&call.context)?;
    let is_shown_here = on == Page::SecondFactor && !call.received.is_post();
    if is_shown_here || !fits_address(&sealed) {
        let asking = Asking::of(&call.context, &interaction.pending).await?;
        return page(&call.context, &interaction, &asking, (None, None));
    }
    let mut response = redirect(call.received.is_post(), &address(&call.context, PATH, &sealed));
    append(response.headers_mut(), interaction.browser.cookie(&call.context.issuer));
    Ok(response)
}

/// The page, before or after an attempt: what was wrong, and the id of a passkey that was brought and that nobody has.
///
/// # Errors
/// [`Failure`]: the page cannot be rendered.
pub(super) fn page(
    context: &Context,
    interaction: &Interaction<PendingAuthorization>,
    asking: &Asking,
    (error, unknown_passkey): (Option<SecondFactorError>, Option<String>),
) -> Result<Response, Failure> {
    let internal = |error: String| Failure::Internal(error);
    let first = interaction.pending.first_factor.as_ref();
    let first = first.ok_or_else(|| internal("a second factor without a first".into()))?;
    let look = asking.appearance(context);
    let setup = first.new_secret().map(|secret| {
        let key_uri = secret.key_uri(&context.issuer.display_name(), &first.login_name);
        SecondFactorSetup::new(key_uri.expose(), secret.typed_form().expose())
    });
    let sealed = interaction.seal(context)?;
    let takes = first.takes;
    let passkey = takes.passkey.then(|| prompt(context, interaction, (PATH, &sealed), unknown_passkey));
    // A generator that is being set up is not yet what the browser could stand in for; nor is one for the account pages.
    let may_remember = setup.is_none() && asking.client().is_some();
    let remember_days = if may_remember { remembered_device::days(&context.issuer) } else { 0 };
    let language = interaction.language;
    let page = SecondFactorPage {
        takes_code: takes.code,
        passkey: passkey.transpose()?,
        remember_days,
        may_skip: first.is_voluntary(),
        language,
        issuer_name: look.name,
        client_name: asking.display_name(language),
        action: address(context, PATH, &sealed),
        transaction: sealed,
        csrf: interaction.csrf_token(context, Purpose::SecondFactor, ""),
        setup: setup.transpose().map_err(|error| internal(error.to_string()))?,
        error,
    };
    let page =
        page.render_for(&context.issuer.prefix, &look.brand).map_err(|error| internal(error.to_string()))?;
    let mut response = html(
        status(error),
        page,
        &Policy { leads_to_client: asking.client().is_some(), language, ..Policy::default() },
    );
    if let Some(SecondFactorError::TooManyAttempts { retry_after_seconds }) = error {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after_seconds));
    }
    append(response.headers_mut(), interaction.browser.cookie(&context.issuer));
    Ok(response)
}

/// As of the login page: RFC 9110 15.5.4, RFC 6585 4.
const fn status(error: Option<SecondFactorError>) -> StatusCode {
    match error {
        None => StatusCode::OK,
        Some(SecondFactorError::Wrong | SecondFactorError::PasskeyRefused) => StatusCode::FORBIDDEN,
        Some(SecondFactorError::TooManyAttempts { .. }) => StatusCode::TOO_MANY_REQUESTS,
    }
}
