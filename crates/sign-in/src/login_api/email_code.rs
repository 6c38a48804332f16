//! Signing in by a code that was sent by e-mail.

use axum::response::Response;
use http::header;
use serde::Deserialize;
use serde_json::{Map, json};
use symbolon_protocol::id::ClientId;
use symbolon_protocol::precis::login_key;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::sign_in::email_code::LIVES;
use symbolon_protocol::sign_in::email_code_use::EmailCodeTry;
use symbolon_protocol::sign_in::method::SignInMethod;
use symbolon_protocol::sign_in::{Factor, Proven};

use super::answer::{FirstStep, Wanted, ok, signed_in};
use super::{allowed_origin, body, email, offered};
use crate::email_code_attempt::{
    CodeRequest, attempt, details, failed, forget, mail_to, reason_of, recipient, remember, sent,
};
use crate::first_factor::Proof;
use crate::known_browser;
use crate::passkey_challenge::unproven;
use symbolon_app::email_code;
use symbolon_app::http::{Call, Context, Failure};

/// What is told of every code that is not accepted.
const NOT_ACCEPTED: &str = "the code is wrong, or no longer valid";

#[derive(Deserialize)]
struct Typed {
    email: String,
    code: String,
    client_id: Option<ClientId>,
    acr_values: Option<String>,
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
    let Context { app, issuer, .. } = &call.context;
    let from = known_browser::origin(&call.context, &call.received, address);
    app.rate_limits.check_mail(&issuer.id, address, from.clone(), app.now()).map_err(|limited| {
        let refusal = Refusal::about(Reason::SignInRateLimited, details(&call.context, address));
        Failure::limited(limited, refusal)
    })?;
    let new = email_code::begin(app, issuer, (address, None), LIVES);
    let new = new.map_err(|error| Failure::Internal(error.to_string()))?;
    let cookie = remember(&call.context, &new);
    let (context, name) = (call.context.clone(), address.to_owned());
    let page = call.language();
    let asked = CodeRequest { context, name, from, by_address_alone: true, page, client: None, new };
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
    let origin = allowed_origin(call)?;
    offered(call, SignInMethod::EmailCode)?;
    let typed: Typed = body(call)?;
    let address = email(&typed.email)?;
    let wanted = Wanted::of(call, typed.client_id.as_ref(), typed.acr_values.as_deref()).await?;
    let context = call.context.clone();
    let Context { app, issuer, remote, .. } = &context;
    let Some(sent) = sent(&call.received.headers, issuer) else {
        let told = "this browser has asked for no code, or its cookies are blocked";
        return Err(unproven(Reason::EmailCodeOtherBrowser, told, Details::default()));
    };
    let now = app.now();
    let refused = |reason| unproven(reason, NOT_ACCEPTED, details(&context, address));
    sent.may_be_tried(address, now).map_err(|why| refused(reason_of(why)))?;
    let from = known_browser::origin(&context, &call.received, address);
    let in_flight = app.rate_limits.begin_login(&issuer.id, address, from.clone(), now);
    let in_flight = in_flight.map_err(|limited| {
        let refusal = Refusal::about(Reason::SignInRateLimited, details(&context, address));
        Failure::limited(limited, refusal)
    })?;
    let noted = match attempt(call, &sent, &typed.code).await? {
        EmailCodeTry::Right { recipient } => recipient,
        EmailCodeTry::Wrong { .. } => {
            app.rate_limits.failed_login(&issuer.id, address, from, now);
            failed(&context, Reason::EmailCodeWrong, address, typed.client_id.as_ref());
            return Ok(unproven(Reason::EmailCodeWrong, NOT_ACCEPTED, Details::default()).into_json());
        }
        EmailCodeTry::UsedUp => return Err(refused(Reason::EmailCodeUsedUp)),
    };
    let user = recipient(&context, &sent, noted).await?;
    let user = user.ok_or_else(|| refused(Reason::UserDeactivated))?;
    app.rate_limits.right_password(&issuer.id, address, *remote, now);
    app.rate_limits.right_mailed_code(from);
    let enrolled = app.store.authenticators(&issuer.id, &user.id).await?.set;
    let first = FirstStep {
        proven: Proven::by(Factor::EmailCode, now),
        proof: Some(Proof::EmailCode { address: login_key(user.email.as_deref().unwrap_or(address).trim()) }),
        enrolled,
    };
    let about = json!({ "success": true });
    let mut response = signed_in(call, (&origin, &wanted), (&user, first), about).await?;
    drop(in_flight);
    forget(call, &mut response);
    Ok(response)
}
