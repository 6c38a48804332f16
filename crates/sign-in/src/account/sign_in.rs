//! Signing in without a client: the way to an account page.

use axum::response::Response;
use http::{HeaderValue, header};
use serde::{Deserialize, Serialize};
use symbolon_crypto::secret::SecretString;
use symbolon_pages::{AccountPlace, Language, LoginError, LoginPage};
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::session::{Session, SessionId};
use symbolon_protocol::time::Timestamp;

use super::{Freshness, signed_in};
use crate::interaction::{Interaction, Pending, address, to_root};
use crate::login::{PasswordAttempt, refusal_pause, sign_in};
use crate::{login_page, session_quota};
use symbolon_app::audit::RefusedRequest;
use symbolon_app::http::csrf::Purpose;
use symbolon_app::http::{Call, Context, Failure, Policy, html, redirect, set_cookie};
use symbolon_app::rate_limit::Limited;

/// The path of the page and its form.
pub(in super::super) const PATH: &str = "/account/sign-in";

/// An account page that waits for its person to sign in. What was proven is in the session, so nothing is remembered
/// here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PendingAccount {
    /// The path of the page.
    to: String,
    /// Whether a session is not enough, but the person must have signed in lately.
    fresh: bool,
}

impl Pending for PendingAccount {
    const PURPOSE: &'static str = "account";

    fn forget(&mut self, _now: Option<Timestamp>) {}
}

impl PendingAccount {
    /// The page that the person wants. Only pages of ours are led to, whatever was sealed by another version.
    fn place(&self) -> AccountPlace {
        let named = AccountPlace::ALL.into_iter().find(|place| place.path() == self.to);
        named.unwrap_or(AccountPlace::Overview)
    }

    fn freshness(&self) -> Freshness {
        if self.fresh { Freshness::Fresh } else { Freshness::Any }
    }
}

/// Leads to the sign-in page, and from there to `place`.
///
/// # Errors
/// [`Failure::Internal`]
pub(super) fn lead(call: &Call, place: AccountPlace, freshness: Freshness) -> Result<Response, Failure> {
    let pending = PendingAccount { to: place.path().to_owned(), fresh: freshness == Freshness::Fresh };
    let interaction = Interaction::begin(&call.context, &call.received, pending);
    let to = address(&call.context, PATH, &interaction.seal(&call.context)?);
    let mut response = redirect(call.received.is_post(), &to);
    login_page::append(response.headers_mut(), interaction.browser.cookie(&call.context.issuer));
    Ok(response)
}

/// `GET` of the page: whoever is signed in, as recently as the account page wants, is led on.
///
/// # Errors
/// [`Failure`]: `invalid_request` for an address that is not from a page of ours.
pub(in super::super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    let query = call.received.uri.query().unwrap_or_default().to_owned();
    let params = Params::parse(query.as_bytes())?;
    if params.get("transaction")?.is_none() {
        return Ok(redirect(
            false,
            &format!("{}{}", call.context.issuer.prefix, AccountPlace::Overview.path()),
        ));
    }
    let interaction = Interaction::<PendingAccount>::open(&call.context, &call.received, &params)?;
    match signed_in(call).await? {
        Some(person) if interaction.pending.freshness().is_met(&person.session, call.context.app.now()) => {
            Ok(to_place(call, &interaction))
        }
        person => {
            let name = person.map(|person| person.login_name().to_owned());
            page(&call.context, &interaction, name, None)
        }
    }
}

/// `POST` of the page's form.
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let form = super::form(call);
    let params = Params::parse(&form)?;
    let context = call.context.clone();
    let interaction = Interaction::<PendingAccount>::open(&context, &call.received, &params)?;
    let username = params.get("username")?.unwrap_or_default().trim().to_owned();
    let typed = (!username.is_empty()).then(|| username.clone());
    if !interaction.accepts((&context, &call.received), &params, Purpose::Login, "")? {
        context.refused(RefusedRequest::anonymous(Reason::SignInFormExpired.into(), None));
        return page(&context, &interaction, typed, Some(LoginError::Expired));
    }
    if params.get("cancel")?.is_some() {
        return Ok(to_root(&context));
    }
    if let Some(answer) = sent_again(call, &interaction, typed.as_deref()).await? {
        return Ok(answer);
    }
    let password = SecretString::new(params.get("password")?.unwrap_or_default().to_owned());
    let attempt =
        PasswordAttempt { context: &context, client: None, username: &username, password: &password };
    let error = match attempt.check().await? {
        Ok(right) => match sign_in(call, &interaction, &attempt, &right).await? {
            Some((id, session)) => {
                session_quota::enforce(&context, &right.user.id).await;
                attempt.rehash(&right).await;
                return Ok(with_session(call, &interaction, &id, &session));
            }
            None => attempt.refused(Reason::SignInOvertaken, LoginError::InvalidCredentials),
        },
        Err(error) => error,
    };
    refused(&context, &interaction, typed, error).await
}

/// The answer to a form that was sent again after it had signed this browser in.
async fn sent_again(
    call: &mut Call,
    interaction: &Interaction<PendingAccount>,
    typed: Option<&str>,
) -> Result<Option<Response>, Failure> {
    let Some(person) = signed_in(call).await? else { return Ok(None) };
    if interaction.session_id(&call.context, &person.user.id) != person.id {
        return Ok(None);
    }
    let Context { app, issuer, remote, .. } = &call.context;
    match app.rate_limits.form_sent_again(&issuer.id, &person.user.id, *remote, app.now()) {
        Ok(()) => Ok(Some(with_session(call, interaction, &person.id, &person.session))),
        Err(Limited { retry_after_seconds }) => {
            let refusal = Refusal::about(Reason::SignInRateLimited, Details::of_user(&person.user.id));
            call.context.refused(RefusedRequest::anonymous(refusal, None));
            let error = LoginError::TooManyAttempts { retry_after_seconds };
            refused(&call.context, interaction, typed.map(str::to_owned), error).await.map(Some)
        }
    }
}

fn to_place(call: &Call, interaction: &Interaction<PendingAccount>) -> Response {
    let path = interaction.pending.place().path();
    redirect(call.received.is_post(), &format!("{}{path}", call.context.issuer.prefix))
}

fn with_session(
    call: &Call,
    interaction: &Interaction<PendingAccount>,
    id: &SessionId,
    session: &Session,
) -> Response {
    let issuer = &call.context.issuer;
    let lives = session.expires_at.since(call.context.app.now());
    let mut response = to_place(call, interaction);
    login_page::append(response.headers_mut(), set_cookie(issuer, &issuer.cookie, id.expose(), lives));
    response
}

async fn refused(
    context: &Context,
    interaction: &Interaction<PendingAccount>,
    typed: Option<String>,
    error: LoginError,
) -> Result<Response, Failure> {
    if matches!(error, LoginError::Busy | LoginError::TooManyAttempts { .. }) {
        tokio::time::sleep(refusal_pause(&*context.app.random)).await;
    }
    page(context, interaction, typed, Some(error))
}

fn page(
    context: &Context,
    interaction: &Interaction<PendingAccount>,
    username: Option<String>,
    error: Option<LoginError>,
) -> Result<Response, Failure> {
    let sealed = interaction.seal(context)?;
    let action = address(context, PATH, &sealed);
    let language = Language::English;
    let page = LoginPage {
        language,
        issuer_name: context.issuer.display_name().to_owned(),
        client_name: language.texts().account_own.to_owned(),
        client_uri: None,
        client_logo: None,
        cancel_action: action.clone(),
        action,
        transaction: sealed,
        csrf: interaction.csrf_token(context, Purpose::Login, ""),
        login_hint: username,
        error,
    };
    let page =
        page.render_below(&context.issuer.prefix).map_err(|error| Failure::Internal(error.to_string()))?;
    let mut response = html(login_page::status(error), page, &Policy::default());
    if let Some(seconds) = login_page::retry_after(error) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    login_page::append(response.headers_mut(), interaction.browser.cookie(&context.issuer));
    Ok(response)
}
