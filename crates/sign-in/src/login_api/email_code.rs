//! Signing in by a code that was sent by e-mail.

use axum::response::Response;
use http::header;
use serde::Deserialize;
use serde_json::{Map, json};
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::sign_in::email_code::{EmailCode, LIVES};
use symbolon_protocol::sign_in::method::SignInMethod;
use symbolon_protocol::sign_in::{Factor, Proven};

use super::answer::{ok, signed_in};
use super::{allowed_origin, body, email, offered};
use crate::email_code_attempt::{
    CodeRequest, MARK, details, failed, forget, has_try, mail_to, reason_of, recipient, remember, sent,
};
use crate::passkey_challenge::unproven;
use symbolon_app::email_code;
use symbolon_app::http::{Call, Context, Failure};
use symbolon_app::one_use::use_once;

/// What is told of every code that is not accepted.
const NOT_ACCEPTED: &str = "the code is wrong, or no longer valid";

#[derive(Deserialize)]
struct Typed {
    email: String,
    code: String,
}

#[derive(Deserialize)]
struct SendRequest {
    email: String,
}

/// `POST /api/auth/email-code/send`: sends a code to an address, if an account has it. The answer is the same if none has, and
/// comes as early: who has it is looked up after it.
///
/// # Errors
/// [`Failure`]
pub(super) async fn send(call: &mut Call) -> Result<Response, Failure> {
    allowed_origin(call)?;
    offered(call, SignInMethod::EmailCode)?;
    let request: SendRequest = body(call)?;
    let address = email(&request.email)?;
    let Context { app, issuer, remote, .. } = &call.context;
    app.rate_limits.check_mail(&issuer.id, address, *remote, app.now()).map_err(|limited| {
        let refusal = Refusal::about(Reason::SignInRateLimited, details(&call.context, address));
        Failure::limited(limited, refusal)
    })?;
    let new = email_code::begin(app, issuer, (address, None), LIVES);
    let new = new.map_err(|error| Failure::Internal(error.to_string()))?;
    let cookie = remember(&call.context, &new);
    let (context, name) = (call.context.clone(), address.to_owned());
    let asked = CodeRequest { context, name, by_address_alone: true, page: call.language(), new };
    asked.mail_after_answer(|asked, user| mail_to(user, asked.page, &asked.new.code, LIVES)).await;
    let mut response = ok(Map::from_iter([("success".to_owned(), true.into())]));
    response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    Ok(response)
}

/// `POST /api/auth/email-code/verify`
///
/// # Errors
/// [`Failure`]
pub(super) async fn verify(call: &mut Call) -> Result<Response, Failure> {
    allowed_origin(call)?;
    offered(call, SignInMethod::EmailCode)?;
    let typed: Typed = body(call)?;
    let address = email(&typed.email)?;
    let context = call.context.clone();
    let Context { app, issuer, remote, .. } = &context;
    let Some(sent) = sent(&call.received.headers, issuer) else {
        let told = "this browser has asked for no code, or its cookies are blocked";
        return Err(unproven(Reason::EmailCodeOtherBrowser, told, Details::default()));
    };
    let now = app.now();
    let refused = |reason| unproven(reason, NOT_ACCEPTED, details(&context, address));
    sent.may_be_tried(address, now).map_err(|why| refused(reason_of(why)))?;
    let in_flight = app.rate_limits.begin_login(&issuer.id, address, *remote, now).map_err(|limited| {
        let refusal = Refusal::about(Reason::SignInRateLimited, details(&context, address));
        Failure::limited(limited, refusal)
    })?;
    if has_try(call, &sent).await?.is_none() {
        return Err(refused(Reason::EmailCodeUsedUp));
    }
    if let Err(why) = sent.check(EmailCode::parse(&typed.code).as_ref(), &issuer.sign_in_key) {
        app.rate_limits.failed_login(&issuer.id, address, *remote, now);
        failed(&context, reason_of(why), address, None);
        return Ok(unproven(reason_of(why), NOT_ACCEPTED, Details::default()).into_json());
    }
    let (mark, until) = (sent.use_mark(), sent.expires_at());
    if !use_once((app, issuer), MARK, &mark, until).await?.take(&mut call.durable) {
        return Err(refused(Reason::EmailCodeUsedUp));
    }
    let Some(user) = recipient(call, &sent).await? else { return Err(refused(Reason::UserDeactivated)) };
    app.rate_limits.right_password(&issuer.id, address, *remote, now);
    app.rate_limits.right_mailed_code(*remote);
    let enrolled = app.store.authenticators(&issuer.id, &user.id).await?.set;
    let proven = Proven::by(Factor::EmailCode, now);
    let mut response = signed_in(call, &user, (&proven, &enrolled), json!({ "success": true })).await?;
    drop(in_flight);
    forget(call, &mut response);
    Ok(response)
}
