//! The page that asks for a code that was sent by e-mail.

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use symbolon_pages::{EmailCodeError, EmailCodePage};
use symbolon_protocol::sign_in::email_code::LIVES_ON_PAGES;
use symbolon_protocol::sign_in::method::SignInMethod;

use crate::interaction::{Interaction, Page, PendingAuthorization, address, fits_address};
use crate::login_page::{self, EMAIL_CODE_PATH as PATH, append, offers};
use crate::requesting_client::Asking;
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure, Policy, html, redirect};

/// Asks the person for a code: shows the page if the person is on it already or if the interaction is too long for an
/// address, else redirects to it.
///
/// # Errors
/// [`Failure`]
pub(super) async fn ask(
    call: &mut Call,
    interaction: &Interaction<PendingAuthorization>,
    on: Page,
) -> Result<Response, Failure> {
    let sealed = interaction.seal(&call.context)?;
    let is_shown_here = on == Page::EmailCode && !call.received.is_post();
    if is_shown_here || !fits_address(&sealed) {
        let asking = Asking::of(&call.context, &interaction.pending).await?;
        return page(&call.context, interaction, &asking, None);
    }
    let mut response = redirect(call.received.is_post(), &address(&call.context, PATH, &sealed));
    append(response.headers_mut(), interaction.browser.cookie(&call.context.issuer));
    Ok(response)
}

/// The page, before or after an attempt.
///
/// # Errors
/// [`Failure`]: the page cannot be rendered.
pub(super) fn page(
    context: &Context,
    interaction: &Interaction<PendingAuthorization>,
    asking: &Asking,
    error: Option<EmailCodeError>,
) -> Result<Response, Failure> {
    let sealed = interaction.seal(context)?;
    let typed = interaction.pending.email_code.as_ref().map(|code| code.typed.clone());
    let look = asking.appearance(context);
    let page = EmailCodePage {
        language: interaction.language,
        issuer_name: look.name,
        client_name: asking.display_name(interaction.language),
        typed: typed.unwrap_or_default(),
        is_link: !offers(context, SignInMethod::EmailCode),
        minutes: LIVES_ON_PAGES.as_secs() / 60,
        action: address(context, PATH, &sealed),
        other_way: address(context, login_page::PATH, &sealed),
        transaction: sealed,
        csrf: interaction.csrf_token(context, Purpose::Login, ""),
        error,
    };
    let page = page
        .render_for(&context.issuer.prefix, &look.brand)
        .map_err(|error| Failure::Internal(error.to_string()))?;
    let mut response = html(
        status(error),
        page,
        &Policy { leads_to_client: true, language: interaction.language, ..Policy::default() },
    );
    if let Some(seconds) = retry_after(error) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    append(response.headers_mut(), interaction.browser.cookie(&context.issuer));
    Ok(response)
}

/// As of the login page: RFC 9110 15.5.4, RFC 6585 4.
const fn status(error: Option<EmailCodeError>) -> StatusCode {
    match error {
        None => StatusCode::OK,
        Some(EmailCodeError::Wrong | EmailCodeError::Spent) => StatusCode::FORBIDDEN,
        Some(EmailCodeError::TooSoon { .. } | EmailCodeError::TooManyAttempts { .. }) => {
            StatusCode::TOO_MANY_REQUESTS
        }
    }
}

const fn retry_after(error: Option<EmailCodeError>) -> Option<u64> {
    match error {
        Some(
            EmailCodeError::TooSoon { retry_after_seconds }
            | EmailCodeError::TooManyAttempts { retry_after_seconds },
        ) => Some(retry_after_seconds),
        _ => None,
    }
}
