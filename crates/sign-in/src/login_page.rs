//! The login page.

use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use symbolon_pages::{LoginError, LoginPage, LoginStage, LoginWays, ProviderButton};
use symbolon_protocol::authorize::AnotherAccount;
use symbolon_protocol::identity_provider::way_left::OfferedWays;
use symbolon_protocol::sign_in::method::{SignInMethod, SignInMethods, SignInPage};
use symbolon_protocol::sign_in::registration::Registration;
use symbolon_protocol::user::User;

use crate::interaction::{Interaction, Page, PendingAuthorization, address, fits_address};
use crate::passkey_attempt::prompt;
use crate::requesting_client::Asking;
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure, Policy, html, redirect};
use symbolon_app::registration::PATH as REGISTER;
use symbolon_config::Mode;

/// The path of the page for who forgot the password.
pub(super) const FORGOT_PASSWORD: &str = "/forgot-password";

/// The path of the page and its form.
pub(super) const PATH: &str = "/login";
/// The path of the form that brings the answer of a passkey.
pub(super) const PASSKEY_PATH: &str = "/login/passkey";
/// The path of the form that leads to another provider.
pub(super) const PROVIDER_PATH: &str = "/login/provider";
/// The path of the page that asks for a code by e-mail, and of its forms.
pub(super) const EMAIL_CODE_PATH: &str = "/login/email-code";

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
        // The request's hint names who the person is not.
        let hint = asking.login_hint().filter(|_| interaction.pending.wants != AnotherAccount::SignIn);
        let shown = Shown { hint: hint.map(str::to_owned), ..Shown::default() };
        return page_with(&call.context, &interaction, &asking, shown);
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
    interaction.begin_for_another(context, AnotherAccount::SignIn);
    let asking = Asking::of(context, &interaction.pending).await?;
    page(context, &interaction, &asking, None, None)
}

/// Whether people may sign in by a method on the pages. In development mode every mail arrives, on `/outbox`.
pub(super) fn offers(context: &Context, method: SignInMethod) -> bool {
    methods(context).offer(method)
}

fn methods(context: &Context) -> SignInMethods {
    let Context { app, issuer, .. } = context;
    let config = app.config.load();
    let has_mail = config.mail.smtp.is_some() || config.mode == Mode::Development;
    issuer.sign_in_methods(has_mail)
}

/// Whether codes or links by mail are a way to sign in.
pub(super) fn offers_mail(context: &Context) -> bool {
    let methods = methods(context);
    methods.offer(SignInMethod::EmailCode) || methods.offer(SignInMethod::MagicLink)
}

/// Whether mail is a way to sign in to this account, so that the person may give up every other one.
pub(super) fn is_let_in_by_mail(context: &Context, user: &User) -> bool {
    offers_mail(context) && user.mailable_address().is_some()
}

/// The ways of signing in of which a person must keep one, where mail is none.
pub(super) fn offered_ways(context: &Context) -> OfferedWays {
    OfferedWays::of(&context.issuer.settings.load(), methods(context))
}

/// What the page shows besides what it asks for.
#[derive(Default)]
pub(super) struct Shown {
    /// What was typed as the name.
    pub(super) username: Option<String>,
    /// What the request says that it may be.
    pub(super) hint: Option<String>,
    /// What was wrong.
    pub(super) error: Option<LoginError>,
    /// The id of a passkey that was brought and that nobody has.
    pub(super) unknown_passkey: Option<String>,
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
    page_with(context, interaction, asking, Shown { username, error, ..Shown::default() })
}

/// As [`page`].
///
/// # Errors
/// [`Failure`]: the page cannot be rendered.
pub(super) fn page_with(
    context: &Context,
    interaction: &Interaction<PendingAuthorization>,
    asking: &Asking,
    shown: Shown,
) -> Result<Response, Failure> {
    let sealed = interaction.seal(context)?;
    let action = address(context, PATH, &sealed);
    let Shown { username, hint, error, unknown_passkey } = shown;
    let typed = username.or_else(|| interaction.pending.login_name.clone());
    let (language, client) = (interaction.language, asking.client());
    let leads_away = !buttons(context).is_empty();
    let is_open = context.app.registration(&context.issuer) == Registration::Open;
    // Where codes are sent too, one mail has both.
    let has_links_alone =
        offers(context, SignInMethod::MagicLink) && !offers(context, SignInMethod::EmailCode);
    let way = |path| address(context, path, &sealed);
    let look = asking.appearance(context);
    let page = LoginPage {
        language,
        issuer_name: look.name,
        client_name: asking.display_name(language),
        client_uri: client.and_then(|client| client.displayed_in("client_uri", language.tag())),
        client_logo: asking.logo_address(context),
        cancel_action: action.clone(),
        action,
        ways: ways(context, interaction, &sealed, unknown_passkey)?,
        stage: stage(context, typed.is_some()),
        csrf: interaction.csrf_token(context, Purpose::Login, ""),
        login_hint: typed.or(hint),
        forgot_uri: Some(way(FORGOT_PASSWORD)),
        register_uri: is_open.then(|| way(REGISTER)),
        magic_link_action: has_links_alone.then(|| way(EMAIL_CODE_PATH)),
        transaction: sealed,
        error,
    };
    let page = page
        .render_for(&context.issuer.prefix, &look.brand)
        .map_err(|error| Failure::Internal(error.to_string()))?;
    let policy = Policy { leads_to_client: client.is_some() || leads_away, language, ..Policy::default() };
    let mut response = html(status(error), page, &policy);
    if let Some(seconds) = retry_after(error) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    append(response.headers_mut(), interaction.browser.cookie(&context.issuer));
    Ok(response)
}

fn ways(
    context: &Context,
    interaction: &Interaction<PendingAuthorization>,
    sealed: &str,
    unknown: Option<String>,
) -> Result<LoginWays, Failure> {
    let has_passkeys = offers(context, SignInMethod::Passkey);
    let prompt = has_passkeys.then(|| prompt(context, interaction, (PASSKEY_PATH, sealed), unknown));
    let has_codes = offers(context, SignInMethod::EmailCode);
    let password = offers(context, SignInMethod::Password);
    Ok(LoginWays {
        password,
        passkey: prompt.transpose()?,
        providers: (address(context, PROVIDER_PATH, sealed), buttons(context)),
        email_code: has_codes.then(|| address(context, EMAIL_CODE_PATH, sealed)),
        asks_for_support: password && has_passkeys && context.issuer.settings.load().offer_passkey,
    })
}

/// The buttons that lead to other providers.
fn buttons(context: &Context) -> Vec<ProviderButton> {
    let settings = context.issuer.settings.load();
    let enabled = settings.identity_providers.iter().filter(|own| own.enabled);
    enabled.map(|own| ProviderButton { id: own.id.to_string(), name: own.name.clone() }).collect()
}

fn stage(context: &Context, has_name: bool) -> LoginStage {
    match context.issuer.settings.load().sign_in_page {
        SignInPage::AllAtOnce => LoginStage::AllAtOnce,
        SignInPage::IdentifierFirst if has_name => LoginStage::Proof,
        SignInPage::IdentifierFirst => LoginStage::Identifier,
    }
}

/// The status of an attempt, for browsers and password managers.
const fn status(error: Option<LoginError>) -> StatusCode {
    match error {
        None => StatusCode::OK,
        // RFC 9110 15.5.4: the credentials in the request are insufficient. 401 would need a challenge of HTTP
        // authentication.
        Some(
            LoginError::InvalidCredentials
            | LoginError::PasskeyRefused
            | LoginError::ProviderRefused
            | LoginError::ProviderUnknown
            | LoginError::Expired,
        ) => StatusCode::FORBIDDEN,
        Some(LoginError::ProviderFailed) => StatusCode::BAD_GATEWAY,
        Some(LoginError::NameMissing) => StatusCode::BAD_REQUEST,
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
