//! Signing in by a code that was sent by e-mail, on the pages.
//!
//! The answer is one whether an account has the name, has an address, has proven it, or not; and so is its time: the mail is
//! queued after it. What is known of the code is sealed in a cookie of the browser that asked. The store has a mark of each
//! try and of the use.

use std::sync::Arc;

use axum::response::Response;
use http::header;
use symbolon_crypto::secret::SecretString;
use symbolon_mail::Mail;
use symbolon_pages::{EmailCodeError, Language, LoginError};
use symbolon_protocol::params::Params;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::sign_in::email_code::{EmailCode, LIVES_ON_PAGES, SENT_AGAIN_AFTER, SentCode};
use symbolon_protocol::sign_in::method::SignInMethod;
use symbolon_protocol::sign_in::{Factor, Proven};
use symbolon_protocol::user::User;

use crate::after_answer::may_be_told;
use crate::email_code_attempt::{
    MARK, Recipient, details, failed, forget, has_try, is_same, mail_to, owner, queue_after_answer,
    reason_of, remember, sent,
};
use crate::first_factor::Proof;
use crate::interaction::{Page, PendingEmailCode};
use crate::login_form::{self, LoginForm, Opened, is_plain_name};
use crate::refusal_pause::refusal_pause;
use crate::session_begin::{SignIn, begin_for};
use crate::signed_in::signed_in;
use crate::{email_code_page, login_page, magic_link, second_factor};
use symbolon_app::email_code;
use symbolon_app::http::{Call, Context, Failure};
use symbolon_app::one_use::use_once;
use symbolon_app::rate_limit::Limited;

/// `POST /login/email-code`: sends a code, or takes one.
///
/// # Errors
/// [`Failure`]
pub(super) async fn submit(call: &mut Call) -> Result<Response, Failure> {
    let form = call.received.form.clone();
    let params = Params::parse(&form)?;
    let form = match login_form::open(call, &params).await? {
        Opened::Form(form) => *form,
        Opened::Answered(answer) => return Ok(answer),
    };
    let is_offered = |method| login_page::offers(&call.context, method);
    if !(is_offered(SignInMethod::EmailCode) || is_offered(SignInMethod::MagicLink)) {
        form.note(&call.context, Refusal::about(Reason::SignInMethodOff, Details::of("sign_in_methods")));
        return form.refused(&call.context, LoginError::Expired).await;
    }
    match params.get("code")? {
        Some(code) => take(call, form, code).await,
        None => send(call, form).await,
    }
}

/// Sends a code to the address of the account that has the typed name, if one has it.
async fn send(call: &mut Call, form: LoginForm) -> Result<Response, Failure> {
    let context = call.context.clone();
    let Context { app, issuer, .. } = &context;
    let LoginForm { mut interaction, asking, typed } = form;
    let before = interaction.pending.email_code.clone();
    let name = typed.clone().or_else(|| before.as_ref().map(|code| code.typed.clone()));
    let Some(name) = name.filter(|name| is_plain_name(name)) else {
        return login_page::page(&context, &interaction, &asking, None, Some(LoginError::NameMissing));
    };
    let now = app.now();
    let waits = before
        .filter(|code| code.typed == name)
        .map(|code| SENT_AGAIN_AFTER.saturating_sub(now.since(code.at)));
    if let Some(left) = waits.filter(|left| !left.is_zero()) {
        let retry_after_seconds = left.as_secs().max(1);
        return email_code_page::page(
            &context,
            &interaction,
            &asking,
            Some(EmailCodeError::TooSoon { retry_after_seconds }),
        );
    }
    let limited = app.rate_limits.check_mail(&issuer.id, &name, context.remote, now);
    if let Err(Limited { retry_after_seconds }) = limited {
        let form = LoginForm { interaction, asking, typed: Some(name.clone()) };
        form.note(&context, Refusal::about(Reason::SignInRateLimited, details(&context, &name)));
        return form.refused(&context, LoginError::TooManyAttempts { retry_after_seconds }).await;
    }
    let recipient = recipient(&context, &name).await?;
    let user = recipient.user();
    let address = user.and_then(|user| user.email.as_deref()).unwrap_or(&name);
    let new = email_code::begin(app, issuer, (address, user.map(|user| user.id.clone())), LIVES_ON_PAGES);
    let new = new.map_err(|error| Failure::Internal(error.to_string()))?;
    interaction.pending.email_code = Some(PendingEmailCode { typed: name.clone(), at: now });
    let link = magic_link::link(&context, &interaction, (&new, address))?;
    let mail = user.and_then(|user| mail_for(&context, user, interaction.language, (&new.code, link)));
    queue_after_answer(&context, (&recipient, &name), interaction.language, mail).await;
    let mut response = email_code_page::ask(call, &interaction, Page::Other).await?;
    response.headers_mut().extend(remember(&context, &new).map(|cookie| (header::SET_COOKIE, cookie)));
    Ok(response)
}

/// The mail to a user: with the code, with the link, or with both, by what the issuer offers. Where there is no link, because
/// the application's request is too long for one, the code signs in as well.
fn mail_for(
    context: &Context,
    user: &User,
    page: Language,
    (code, link): (&EmailCode, Option<SecretString>),
) -> Option<Mail> {
    let Some(link) = link else { return mail_to(user, page, code, LIVES_ON_PAGES) };
    let has_code = login_page::offers(context, SignInMethod::EmailCode);
    let code = has_code.then(|| SecretString::new(code.expose().to_owned()));
    magic_link::mail_to(user, page, link, code)
}

/// Who gets the mail: the active user of the name, at an address that was proven to be theirs. An address gets no more codes
/// by all names of its account than by its own.
async fn recipient(context: &Context, name: &str) -> Result<Recipient, Failure> {
    let Context { app, issuer, .. } = context;
    let found = app.store.user_by_login(&issuer.id, name).await?.map(|(user, _)| user);
    let Some(user) = found else { return Ok(Recipient::NoAccount) };
    let gets_mail = user.mailable_address().is_some_and(|address| may_be_told(context, address, name));
    Ok(if gets_mail { Recipient::User(user) } else { Recipient::Nobody })
}

/// Takes a code.
async fn take(call: &mut Call, form: LoginForm, code: &str) -> Result<Response, Failure> {
    let context = call.context.clone();
    let Some(pending) = form.interaction.pending.email_code.clone() else {
        // The page was open for too long, or is of another browser.
        return form.refused(&context, LoginError::Expired).await;
    };
    let (app, issuer, now) = (&context.app, &context.issuer, context.app.now());
    let Some(sent) = sent(&call.received.headers, issuer) else {
        return again(
            &context,
            &form,
            (Reason::EmailCodeOtherBrowser, &pending.typed),
            EmailCodeError::Spent,
        )
        .await;
    };
    if let Err(why) = sent.may_be_tried(sent.address(), now) {
        return again(&context, &form, (reason_of(why), &pending.typed), EmailCodeError::Spent).await;
    }
    let in_flight = match app.rate_limits.begin_login(&issuer.id, &pending.typed, context.remote, now) {
        Ok(in_flight) => in_flight,
        Err(Limited { retry_after_seconds }) => {
            let error = EmailCodeError::TooManyAttempts { retry_after_seconds };
            return again(&context, &form, (Reason::SignInRateLimited, &pending.typed), error).await;
        }
    };
    let Some(left) = has_try(call, &sent).await? else {
        return again(&context, &form, (Reason::EmailCodeUsedUp, &pending.typed), EmailCodeError::Spent)
            .await;
    };
    let Ok(user) = sent.check(EmailCode::parse(code).as_ref(), &issuer.sign_in_key) else {
        app.rate_limits.failed_login(&issuer.id, &pending.typed, context.remote, now);
        failed(&context, Reason::EmailCodeWrong, &pending.typed, form.asking.client_id());
        let error = if left == 0 { EmailCodeError::Spent } else { EmailCodeError::Wrong };
        return email_code_page::page(&context, &form.interaction, &form.asking, Some(error));
    };
    let (mark, until) = (sent.use_mark(), sent.expires_at());
    let is_first = use_once((app, issuer), MARK, &mark, until, &mut call.durable).await?;
    let user = if is_first { proven_owner(&context, &sent, &user.clone()).await? } else { None };
    let Some(user) = user else {
        return again(&context, &form, (Reason::EmailCodeUsedUp, &pending.typed), EmailCodeError::Spent)
            .await;
    };
    app.rate_limits.right_password(&issuer.id, &pending.typed, context.remote, now);
    app.rate_limits.right_mailed_code(context.remote);
    let mut response = sign_in(call, form, &user, &sent).await?;
    drop(in_flight);
    forget(call, &mut response);
    Ok(response)
}

/// The user, if the address is still theirs and proven.
async fn proven_owner(
    context: &Context,
    sent: &SentCode,
    user: &symbolon_protocol::id::UserId,
) -> Result<Option<Arc<User>>, Failure> {
    let found = owner(context, user, sent.address()).await?;
    let is_proven =
        |user: &Arc<User>| user.mailable_address().is_some_and(|own| is_same(own, sent.address()));
    Ok(found.filter(is_proven))
}

async fn sign_in(
    call: &mut Call,
    form: LoginForm,
    user: &User,
    sent: &SentCode,
) -> Result<Response, Failure> {
    let context = call.context.clone();
    let proven = Proven::by(Factor::EmailCode, context.app.now());
    let assessed = second_factor::assess(call, form.asking.client(), user, proven).await?;
    let LoginForm { mut interaction, asking, typed } = form;
    let code = interaction.pending.email_code.take();
    if second_factor::is_needed(&assessed.step) {
        let proof = Proof::EmailCode { address: sent.address().to_owned() };
        return second_factor::begin(call, interaction, (user, proof), &assessed.step).await;
    }
    let client = asking.client_id();
    let by = SignIn { user, amr: assessed.proven.amr(), client };
    let is_still = async || Ok(proven_owner(&context, sent, &user.id).await?.is_some());
    match begin_for(call, &interaction, by, is_still).await? {
        Some((id, session)) => signed_in(call, interaction, id, &session).await,
        None => {
            interaction.pending.email_code = code;
            let form = LoginForm { interaction, asking, typed };
            let typed = form.typed.clone().unwrap_or_default();
            again(&context, &form, (Reason::SignInOvertaken, &typed), EmailCodeError::Spent).await
        }
    }
}

/// The page again, with what was wrong.
async fn again(
    context: &Context,
    form: &LoginForm,
    (reason, typed): (Reason, &str),
    error: EmailCodeError,
) -> Result<Response, Failure> {
    form.note(context, Refusal::about(reason, details(context, typed)));
    if matches!(error, EmailCodeError::TooManyAttempts { .. }) {
        tokio::time::sleep(refusal_pause(&*context.app.random)).await;
    }
    email_code_page::page(context, &form.interaction, &form.asking, Some(error))
}
