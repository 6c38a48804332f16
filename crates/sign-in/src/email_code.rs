//! Signing in by a code that was sent by e-mail, on the pages.
//!
//! The answer is one whether an account has the name, has an address, has proven it, or not; and so is its time: who has the
//! name is looked up after it, and once more when a right code comes back. What is known of the code is sealed in a cookie of
//! the browser that asked. The store has one record of it: its tries, and to whom it was mailed.

use axum::response::Response;
use http::header;
use symbolon_crypto::secret::SecretString;
use symbolon_mail::Mail;
use symbolon_pages::{EmailCodeError, LoginError};
use symbolon_protocol::params::Params;
use symbolon_protocol::precis::login_key;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::sign_in::email_code::{EmailCode, LIVES_ON_PAGES, SENT_AGAIN_AFTER, SentCode};
use symbolon_protocol::sign_in::email_code_use::EmailCodeTry;
use symbolon_protocol::sign_in::method::SignInMethod;
use symbolon_protocol::sign_in::{Factor, Proven};
use symbolon_protocol::user::User;

use crate::email_code_attempt::{
    CodeRequest, attempt, details, failed, forget, is_same, mail_to, owner, reason_of, recipient, remember,
    sent,
};
use crate::first_factor::Proof;
use crate::interaction::{Page, PendingEmailCode};
use crate::login_form::{self, LoginForm, Opened, is_plain_name};
use crate::magic_link::{self, RequestingBrowser};
use crate::refusal_pause::refusal_pause;
use crate::session_begin::{Begun, SignIn, begin_for};
use crate::signed_in::signed_in;
use crate::{email_code_page, known_browser, login_page, second_factor, sent_twice};
use symbolon_app::email_code;
use symbolon_app::http::{Call, Context, Failure, Received};
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
    if !login_page::offers_mail(&call.context) {
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
    let from = known_browser::origin(&context, &call.received, &name);
    let limited = app.rate_limits.check_mail(&issuer.id, &name, from.clone(), now);
    if let Err(Limited { retry_after_seconds }) = limited {
        let form = LoginForm { interaction, asking, typed: Some(name.clone()) };
        form.note(&context, Refusal::about(Reason::SignInRateLimited, details(&context, &name)));
        return form.refused(&context, LoginError::TooManyAttempts { retry_after_seconds }).await;
    }
    let new = email_code::begin(app, issuer, (&name, None), LIVES_ON_PAGES);
    let new = new.map_err(|error| Failure::Internal(error.to_string()))?;
    interaction.pending.email_code = Some(PendingEmailCode { typed: name.clone(), at: now });
    let cookie = remember(&context, &new);
    let asking_browser =
        RequestingBrowser { browser: interaction.browser.digest(), pending: interaction.pending.clone() };
    let page = interaction.language;
    let client = interaction.pending.client_id();
    let request = CodeRequest { context, name, from, by_address_alone: false, page, client, new };
    request.mail_after_answer(|request, user| mail_for(request, user, asking_browser)).await;
    let mut response = email_code_page::ask(call, &interaction, Page::Other).await?;
    response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    Ok(response)
}

/// The mail to a user: with the code, with the link, or with both, by what the issuer offers. Where there is no link, because
/// the application's request is too long for one, the code signs in as well.
fn mail_for(request: &CodeRequest, user: &User, from: RequestingBrowser) -> Option<Mail> {
    let CodeRequest { context, page, new, .. } = request;
    let Some(link) = magic_link::link(context, from, (new, user.email.as_deref()?)) else {
        return mail_to(user, *page, &new.code, LIVES_ON_PAGES);
    };
    let has_code = login_page::offers(context, SignInMethod::EmailCode);
    let code = has_code.then(|| SecretString::new(new.code.expose().to_owned()));
    magic_link::mail_to(user, *page, link, code)
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
    if let Err(why) = sent.may_be_tried(sent.name(), now) {
        return again(&context, &form, (reason_of(why), &pending.typed), EmailCodeError::Spent).await;
    }
    let from = known_browser::origin(&context, &call.received, &pending.typed);
    let in_flight = match app.rate_limits.begin_login(&issuer.id, &pending.typed, from.clone(), now) {
        Ok(in_flight) => in_flight,
        Err(Limited { retry_after_seconds }) => {
            let error = EmailCodeError::TooManyAttempts { retry_after_seconds };
            return again(&context, &form, (Reason::SignInRateLimited, &pending.typed), error).await;
        }
    };
    call.must_complete();
    let tried = attempt(call, &sent, code).await?;
    if !matches!(tried, EmailCodeTry::Right { .. }) {
        call.may_be_given_up();
    }
    let user = match tried {
        EmailCodeTry::Wrong { left } => {
            app.rate_limits.failed_login(&issuer.id, &pending.typed, from, now);
            failed(&context, Reason::EmailCodeWrong, &pending.typed, form.asking.client_id());
            let error = if left == 0 { EmailCodeError::Spent } else { EmailCodeError::Wrong };
            return email_code_page::page(&context, &form.interaction, &form.asking, Some(error));
        }
        EmailCodeTry::Right { recipient: noted } => recipient(&context, &sent, noted).await?,
        EmailCodeTry::UsedUp => {
            drop(in_flight);
            return used_up(call, form, (&sent, &pending.typed), code).await;
        }
    };
    let address = user.as_ref().and_then(|user| user.mailable_address());
    let (Some(user), Some(address)) = (&user, address) else {
        return again(&context, &form, (Reason::EmailCodeUsedUp, &pending.typed), EmailCodeError::Spent)
            .await;
    };
    app.rate_limits.right_password(&issuer.id, &pending.typed, context.remote, now);
    app.rate_limits.right_mailed_code(from);
    let mut response = sign_in(call, form, user, address).await?;
    drop(in_flight);
    forget(call, &mut response);
    Ok(response)
}

/// The answer to a code that was used up: into the session that this form began when it was sent before, if it did, with this code.
async fn used_up(
    call: &mut Call,
    mut form: LoginForm,
    (sent, name): (&SentCode, &str),
    code: &str,
) -> Result<Response, Failure> {
    let context = call.context.clone();
    let Some(begun) = begun_by_first((&context, &call.received), &form, sent, code).await? else {
        return again(&context, &form, (Reason::EmailCodeUsedUp, name), EmailCodeError::Spent).await;
    };
    form.interaction.pending.email_code = None;
    let mut response = signed_in(call, form.interaction, begun).await?;
    forget(call, &mut response);
    Ok(response)
}

/// The session that this form began when it was sent before, by the code that it used up then.
async fn begun_by_first(
    (context, received): (&Context, &Received),
    form: &LoginForm,
    sent: &SentCode,
    typed: &str,
) -> Result<Option<Begun>, Failure> {
    let Context { app, issuer, .. } = context;
    let from = known_browser::origin(context, received, sent.name());
    if sent.check(EmailCode::parse(typed).as_ref(), &issuer.sign_in_key).is_err() {
        // Otherwise a code that is used up could be guessed at without end: nothing else tells whether a guess was right.
        app.rate_limits.failed_login(&issuer.id, sent.name(), from, app.now());
        return Ok(None);
    }
    let found = app.store.user_by_login(&issuer.id, sent.name()).await?.map(|(user, _)| user);
    let Some(user) = found.filter(|user| user.may_sign_in()) else { return Ok(None) };
    sent_twice::begun((context, received), &form.interaction, &user).await
}

/// Whether the address is still the user's, and proven.
async fn is_still_theirs(context: &Context, user: &User, address: &str) -> Result<bool, Failure> {
    let found = owner(context, &user.id, address).await?;
    Ok(found.is_some_and(|now| now.mailable_address().is_some_and(|own| is_same(own, address))))
}

/// Signs in who has proven to read the mail of an address.
async fn sign_in(call: &mut Call, form: LoginForm, user: &User, address: &str) -> Result<Response, Failure> {
    let context = call.context.clone();
    let proven = Proven::by(Factor::EmailCode, context.app.now());
    let assessed = second_factor::assess(call, &form.asking, user, proven).await?;
    let LoginForm { mut interaction, asking, typed } = form;
    let code = interaction.pending.email_code.take();
    if second_factor::is_needed(&assessed.step) {
        let proof = Proof::EmailCode { address: login_key(address.trim()) };
        return second_factor::begin(call, interaction, (user, proof), &assessed.step).await;
    }
    let client = asking.client_id();
    let by = SignIn { user, amr: assessed.proven.amr(), client };
    match begin_for(call, &interaction, by, async || is_still_theirs(&context, user, address).await).await? {
        Some(begun) => signed_in(call, interaction, begun).await,
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
