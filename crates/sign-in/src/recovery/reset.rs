//! The page behind the link: a new password.

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use symbolon_crypto::secret::SecretString;
use symbolon_mail::{Mail, Message};
use symbolon_pages::{LoginError, Notice, RecoveryError, ResetPasswordPage, SecondFactorError};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::UserId;
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::Reason;
use symbolon_protocol::sign_in::recovery::{LinkRefused, needs_second_factor};
use symbolon_protocol::user::{PasswordHash, User};

use super::ask::status;
use super::{PATH, RESET, SealedLink};
use crate::after_answer::mail_language;
use crate::chosen_password;
use crate::known_browser;
use crate::login_page::append;
use crate::notice_page::notice;
use crate::onward;
use crate::password_attempt::PasswordAttempt;
use crate::requesting_client::appearance;
use crate::second_factor_attempt::{is_current_code, use_code};
use crate::sent_twice::Looks;
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
    let hash = password_hash(context, id).await?;
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
    let Some(link) = open(&context, &params).await? else { return repeated(call, &params, None).await };
    let browser = Browser::of_or_new(&call.received.headers, &context.issuer, &*context.app.random);
    let is_known = browser.accepts(&context.issuer, link.contents.form(), params.get("csrf_token")?);
    if !(is_known && call.received.is_from_own_page(&context.issuer)) {
        context.refused(RefusedRequest::anonymous(Reason::PageFormExpired.into(), None));
        return page(call, &link, Some(RecoveryError::Expired));
    }
    let password = SecretString::new(params.get("password")?.unwrap_or_default().to_owned());
    let code = params.get("code")?.unwrap_or_default();
    match attempt(call, &link, password, code).await? {
        Ok(Attempt::Set) => {}
        Ok(unset) => return repeated(call, &params, Some((&link, unset))).await,
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
    done(call, &link.contents)
}

/// The page for who has set a new password.
fn done(call: &Call, contents: &SealedLink) -> Result<Response, Failure> {
    let to = onward::sign_in_page(&call.context, &call.received, contents.authorization.as_ref())?;
    notice((&call.context, call.language()), StatusCode::OK, Notice::PasswordReset, Some(to))
}

/// The answer to a form that sets no password: that of the form that did, if it was the same. `still`: the link that works nevertheless,
/// and what the attempt came to.
async fn repeated(
    call: &mut Call,
    params: &Params<'_>,
    still: Option<(&LiveLink, Attempt)>,
) -> Result<Response, Failure> {
    let sealed = params.get("link")?.and_then(|sealed| SealedLink::open(&call.context.issuer, sealed));
    let Some(link) = sealed else { return over(call) };
    if was_set_by_first((&call.context, &call.received), &link, params).await? {
        return done(call, &link);
    }
    match still {
        Some((live, Attempt::CodeUsed)) => page(call, live, Some(RecoveryError::Code)),
        _ => over(call),
    }
}

/// Whether the typed password is the account's since the link was sent. It counts as an attempt to sign in: whoever reads the mail
/// can try no more passwords here than there.
async fn was_set_by_first(
    (context, received): (&Context, &Received),
    link: &SealedLink,
    params: &Params<'_>,
) -> Result<bool, Failure> {
    let Context { app, issuer, .. } = context;
    let browser = Browser::of_or_new(&received.headers, issuer, &*app.random);
    let is_known = browser.accepts(issuer, link.form(), params.get("csrf_token")?);
    if app.now() >= link.link.expires_at() || !(is_known && received.is_from_own_page(issuer)) {
        return Ok(false);
    }
    let Some(user) = overtaken(context, link).await? else { return Ok(false) };
    let Some(username) = user.mailable_address() else { return Ok(false) };
    let password = SecretString::new(params.get("password")?.unwrap_or_default().to_owned());
    let from = &known_browser::origin(context, received, username);
    let attempt = PasswordAttempt { context, client: None, username, password: &password, from };
    match attempt.check().await? {
        Ok(verified) => Ok(verified.user.id == user.id),
        Err(LoginError::TooManyAttempts { retry_after_seconds }) => {
            Err(Limited { retry_after_seconds }.into())
        }
        Err(LoginError::Busy) => Err(Failure::Unavailable { retry_after: 1 }),
        Err(_) => Ok(false),
    }
}

/// Whose password it was, once it is another one than when the link was sent.
async fn overtaken(context: &Context, link: &SealedLink) -> Result<Option<Arc<User>>, Failure> {
    let Context { app, issuer, .. } = context;
    let (id, mut looks) = (link.link.user(), Looks::begin());
    loop {
        let user = app.store.user(&issuer.id, id).await?;
        let hash = password_hash(context, id).await?;
        if link.link.holds(user.as_deref(), hash.as_ref(), app.now()) == Err(LinkRefused::Overtaken) {
            return Ok(user);
        }
        if !looks.again().await {
            return Ok(None);
        }
    }
}

/// The hash of a user's password; `None` if there is none.
async fn password_hash(context: &Context, id: &UserId) -> Result<Option<PasswordHash>, Failure> {
    let Context { app, issuer, .. } = context;
    let found = app.store.passwords_of(&issuer.id, std::slice::from_ref(id)).await?;
    Ok(found.into_iter().next().flatten())
}

/// What an attempt came to.
#[derive(Clone, Copy)]
enum Attempt {
    /// The password is set.
    Set,
    /// The link was used, or overtaken, meanwhile.
    LinkUsed,
    /// The code is one that the generator shows, and was used before.
    CodeUsed,
}

/// Sets the password, once. On return everything is durable.
async fn attempt(
    call: &mut Call,
    link: &LiveLink,
    password: SecretString,
    code: &str,
) -> Result<Result<Attempt, RecoveryError>, Failure> {
    let context = &call.context.clone();
    let Context { app, issuer, remote, .. } = context;
    match chosen_password::fault(context, &password, &link.user).await {
        Ok(None) => {}
        Ok(Some(fault)) => return Ok(Err(RecoveryError::Password(fault))),
        Err(Busy { .. }) => return Ok(Err(RecoveryError::Busy)),
    }
    let name = link.user.email.clone().unwrap_or_default();
    let from = known_browser::origin(context, &call.received, &name);
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
    call.must_complete();
    if link.needs_code
        && let Err(error) = use_code(context, &link.user.id, code, None).await?
    {
        call.may_be_given_up();
        return Ok(Err(match error {
            SecondFactorError::TooManyAttempts { retry_after_seconds } => {
                RecoveryError::TooManyAttempts { retry_after_seconds }
            }
            // Used, by the same form that was sent before: the link is used as well, or will be in a moment.
            SecondFactorError::Wrong if is_current_code(context, &link.user.id, code).await? => {
                return Ok(Ok(Attempt::CodeUsed));
            }
            SecondFactorError::Wrong | SecondFactorError::PasskeyRefused => RecoveryError::Code,
        }));
    }
    let (mark, until) = (link.contents.link.use_mark(), link.contents.link.expires_at());
    let is_set = use_once((app, issuer), MARK, &mark, until).await?.told().await?
        && set(context, &link.user, link.hash.as_ref(), hash).await?;
    if !is_set {
        call.may_be_given_up();
    }
    Ok(Ok(if is_set { Attempt::Set } else { Attempt::LinkUsed }))
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

impl SealedLink {
    /// The form of its page: a token for one link is refused for another.
    fn form(&self) -> PageForm<'_> {
        PageForm { purpose: Purpose::ResetPassword, interaction: self.link.id(), sid: "" }
    }
}

impl LiveLink {
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
        csrf: browser.token(issuer, link.contents.form()),
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
