//! The page behind the link: a new password.

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use symbolon_crypto::secret::SecretString;
use symbolon_mail::{Mail, Message};
use symbolon_pages::{Notice, RecoveryError, ResetPasswordPage, SecondFactorError};
use symbolon_protocol::event::Event;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::sign_in::recovery::needs_second_factor;
use symbolon_protocol::user::{PasswordHash, User};

use super::ask::status;
use super::{PATH, RESET, SealedLink};
use crate::after_answer::mail_language;
use crate::chosen_password;
use crate::known_browser;
use crate::login_page::append;
use crate::notice_page::notice;
use crate::onward;
use crate::requesting_client::appearance;
use crate::second_factor_attempt::use_code;
use crate::user_change::change;
use symbolon_app::audit::RefusedRequest;
use symbolon_app::grants::end_all_of_user;
use symbolon_app::http::csrf::{Browser, PageForm, Purpose};
use symbolon_app::http::{Call, Context, Failure, Policy, Received, html};
use symbolon_app::issuer::Appearance;
use symbolon_app::one_use::use_once;
use symbolon_app::passwords::Busy;
use symbolon_app::rate_limit::Limited;

/// The kind of the marks.
const MARK: &str = "recovery";

/// A link that works, with the account as it is now.
struct LiveLink {
    sealed: String,
    contents: SealedLink,
    user: Arc<User>,
    hash: Option<PasswordHash>,
    needs_code: bool,
    look: Appearance,
}

/// Opens the link of a request; `None` if it does not work. Nothing is used up, so that a scanner of mail changes nothing.
async fn open(context: &Context, params: &Params<'_>) -> Result<Option<LiveLink>, Failure> {
    let Context { app, issuer, .. } = context;
    let Some(sealed) = params.get("link")? else { return Ok(None) };
    let Some(contents) = SealedLink::open(issuer, sealed) else { return Ok(None) };
    let id = contents.link.user();
    let user = app.store.user(&issuer.id, id).await?;
    let hash = app.store.passwords_of(&issuer.id, std::slice::from_ref(id)).await?;
    let hash = hash.into_iter().next().flatten();
    if contents.link.holds(user.as_deref(), hash.as_ref(), app.now()).is_err() {
        return Ok(None);
    }
    let Some(user) = user else { return Ok(None) };
    let needs_code = needs_second_factor(&app.store.authenticators(&issuer.id, id).await?.set);
    let look = appearance(context, contents.authorization.as_ref()).await?;
    Ok(Some(LiveLink { sealed: sealed.to_owned(), contents, user, hash, needs_code, look }))
}

/// `GET /reset-password`
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn show(call: &mut Call) -> Result<Response, Failure> {
    let params = Params::parse(call.received.encoded())?;
    match open(&call.context, &params).await? {
        Some(link) => page(call, &link, None),
        None => over(call),
    }
}

/// `POST /reset-password`
///
/// # Errors
/// [`Failure`]
pub(in super::super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let form = call.received.form.clone();
    let params = Params::parse(&form)?;
    let context = call.context.clone();
    let Some(link) = open(&context, &params).await? else { return over(call) };
    let browser = Browser::of_or_new(&call.received.headers, &context.issuer, &*context.app.random);
    let is_known = browser.accepts(&context.issuer, link.form(), params.get("csrf_token")?);
    if !(is_known && call.received.is_from_own_page(&context.issuer)) {
        context.refused(RefusedRequest::anonymous(Reason::PageFormExpired.into(), None));
        return page(call, &link, Some(RecoveryError::Expired));
    }
    let password = SecretString::new(params.get("password")?.unwrap_or_default().to_owned());
    let code = params.get("code")?.unwrap_or_default();
    match attempt((&context, &call.received), &link, password, code).await? {
        Ok(true) => {}
        Ok(false) => return over(call),
        Err(error) => return page(call, &link, Some(error)),
    }
    let mail = Mail {
        to: link.user.email.clone().unwrap_or_default(),
        language: mail_language(call.language(), link.user.profile.locale.as_deref()),
        user: Some(link.user.id.clone()),
        client: None,
        message: Message::PasswordChanged { at: context.app.now() },
    };
    context.app.queue_mail(&context.issuer, &mail).await;
    let to = onward::sign_in_page(&context, &call.received, link.contents.authorization.as_ref())?;
    notice((&context, call.language()), StatusCode::OK, Notice::PasswordReset, Some(to))
}

/// Sets the password, once; false if the link was used, or overtaken, meanwhile. On return everything is durable.
async fn attempt(
    (context, received): (&Context, &Received),
    link: &LiveLink,
    password: SecretString,
    code: &str,
) -> Result<Result<bool, RecoveryError>, Failure> {
    let Context { app, issuer, remote, .. } = context;
    match chosen_password::fault(context, &password, &link.user).await {
        Ok(None) => {}
        Ok(Some(fault)) => return Ok(Err(RecoveryError::Password(fault))),
        Err(Busy { .. }) => return Ok(Err(RecoveryError::Busy)),
    }
    let name = link.user.email.clone().unwrap_or_default();
    let from = known_browser::origin(context, received, &name);
    let _in_flight = match app.rate_limits.begin_login(&issuer.id, &name, from, app.now()) {
        Ok(in_flight) => in_flight,
        Err(Limited { retry_after_seconds }) => {
            return Ok(Err(RecoveryError::TooManyAttempts { retry_after_seconds }));
        }
    };
    let fairness = app.passwords.fairness_key(&issuer.id, &name, *remote);
    let Ok(hash) = app.passwords.hash_anew(fairness, password).await else {
        return Ok(Err(RecoveryError::Busy));
    };
    if link.needs_code
        && let Err(error) = use_code(context, &link.user.id, code, None).await?
    {
        return Ok(Err(match error {
            SecondFactorError::TooManyAttempts { retry_after_seconds } => {
                RecoveryError::TooManyAttempts { retry_after_seconds }
            }
            SecondFactorError::Wrong | SecondFactorError::PasskeyRefused => RecoveryError::Code,
        }));
    }
    let (of_task, user, seen) = (context.clone(), Arc::clone(&link.user), link.hash.clone());
    let (mark, until) = (link.contents.link.use_mark(), link.contents.link.expires_at());
    let setting = async move {
        let at = (&*of_task.app, &*of_task.issuer);
        let is_first = use_once(at, MARK, &mark, until).await?.told().await?;
        if is_first { set(&of_task, &user, seen.as_ref(), hash).await } else { Ok(false) }
    };
    // Completed even if the browser leaves: a new password ends what was signed in before.
    app.detached.finish_even_if_dropped(setting).await.map(Ok)
}

/// Replaces the password that the link was opened for, and ends everything that is signed in.
async fn set(
    context: &Context,
    user: &User,
    seen: Option<&PasswordHash>,
    hash: PasswordHash,
) -> Result<bool, Failure> {
    let Context { app, issuer, .. } = context;
    // Only in place of the password for which the link holds: of two links the second is worth nothing any more.
    let is_set = match seen {
        Some(seen) => app.store.rehash_password(&issuer.id, &user.id, seen, hash).await?,
        None => app.store.set_password(&issuer.id, &user.id, Some(hash)).await?,
    };
    if !is_set {
        return Ok(false);
    }
    let email_verified =
        change(context, &user.id, |user| User { email_verified: true, ..user.clone() }).await;
    if let Err(failure) = email_verified {
        tracing::warn!(?failure, "an address that was proven by a recovery is not noted as proven");
    }
    let sessions = end_all_of_user(app, issuer, &user.id).await?;
    let detail = json!({ "sessions": sessions, "changes": { "password": "changed" } });
    context.audit_change(Event::PasswordReset, &user.id, None, detail);
    Ok(true)
}

impl LiveLink {
    /// The form of its page: a token for one link is refused for another.
    fn form(&self) -> PageForm<'_> {
        PageForm { purpose: Purpose::ResetPassword, interaction: self.contents.link.id(), sid: "" }
    }

    /// Whose password it sets, as the person knows it.
    fn user_name(&self) -> String {
        let profile = &self.user.profile;
        let name = self.user.email.clone().or_else(|| profile.preferred_username.clone());
        name.unwrap_or_else(|| self.user.id.to_string())
    }
}

/// The page for a link that does not work.
fn over(call: &Call) -> Result<Response, Failure> {
    let again = format!("{}{PATH}", call.context.issuer.prefix);
    notice((&call.context, call.language()), StatusCode::GONE, Notice::LinkOver, Some(again))
}

/// The page, before or after an attempt.
fn page(call: &Call, link: &LiveLink, error: Option<RecoveryError>) -> Result<Response, Failure> {
    let Context { app, issuer, .. } = &call.context;
    let browser = Browser::of_or_new(&call.received.headers, issuer, &*app.random);
    let page = ResetPasswordPage {
        language: call.language(),
        issuer_name: link.look.name.clone(),
        user_name: link.user_name(),
        action: format!("{}{RESET}", issuer.prefix),
        link: link.sealed.clone(),
        csrf: browser.token(issuer, link.form()),
        asks_code: link.needs_code,
        error,
    };
    let page = page
        .render_for(&issuer.prefix, &link.look.brand)
        .map_err(|error| Failure::Internal(error.to_string()))?;
    let mut response = html(status(error), page, &Policy { language: call.language(), ..Policy::default() });
    if let Some(RecoveryError::TooManyAttempts { retry_after_seconds }) = error {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after_seconds));
    }
    append(response.headers_mut(), browser.cookie(issuer));
    Ok(response)
}
