//! Signing in by a code that was sent by e-mail.

use std::sync::Arc;

use axum::response::Response;
use http::{HeaderMap, header};
use serde::Deserialize;
use serde_json::{Map, json};
use symbolon_crypto::secret::SecretString;
use symbolon_mail::{Mail, Message};
use symbolon_protocol::id::UserId;
use symbolon_protocol::precis::login_key;
use symbolon_protocol::refusal::{Details, Reason, Refusal, shown_login_name};
use symbolon_protocol::sign_in::email_code::{CodeRefused, EmailCode, LIVES, SentCode, TRIES};
use symbolon_protocol::sign_in::{Factor, Proven};
use symbolon_protocol::user::User;

use super::answer::{ok, signed_in};
use super::{allowed_origin, body, email, unproven};
use crate::after_answer::{after_answer, mail_language, queue};
use symbolon_app::audit::{Actor, RefusedRequest};
use symbolon_app::email_code;
use symbolon_app::http::{Call, Context, Failure, cookies, remove_cookie, set_cookie};
use symbolon_app::issuer::IssuerState;
use symbolon_app::one_use::use_once;

/// The name of the cookie in load scripts.
const COOKIE_OF_SCRIPTS: &str = "authrim_otp_session";
/// The kind of the marks.
const MARK: &str = "email-code";
/// What is told of every code that is not accepted.
const NOT_ACCEPTED: &str = "the code is wrong, or no longer valid";

/// The name of the cookie that keeps what is known about a code.
fn cookie_name(issuer: &IssuerState) -> String {
    issuer.cookie_name("symbolon_email_code")
}

#[derive(Deserialize)]
struct Typed {
    email: String,
    code: String,
}

#[derive(Deserialize)]
struct Asked {
    email: String,
}

/// `POST /api/auth/email-code/send`: sends a code to an address, if an account has it. The answer is the same if none has, and
/// comes as early: the mail is queued after it.
///
/// # Errors
/// [`Failure`]
pub(super) async fn send(call: &mut Call) -> Result<Response, Failure> {
    allowed_origin(call)?;
    let asked: Asked = body(call)?;
    let address = email(&asked.email)?;
    let Context { app, issuer, .. } = &call.context;
    app.rate_limits.check_email_code(&issuer.id, address, app.now()).map_err(|limited| {
        let refusal = Refusal::about(Reason::SignInRateLimited, details(&call.context, address));
        Failure::limited(limited, refusal)
    })?;
    let found = app.store.user_by_login(&issuer.id, address).await?.map(|(user, _)| user);
    // A user's name may look like an address of somebody else.
    let recipient = found
        .filter(|user| user.may_sign_in() && user.email.as_deref().is_some_and(|own| is_same(own, address)));
    let user = recipient.as_ref().map(|user| user.id.clone());
    let new = email_code::begin(app, issuer, address, user);
    let new = new.map_err(|error| Failure::Internal(error.to_string()))?;
    let lives = new.expires_at.since(app.now());
    let cookie = set_cookie(issuer, &cookie_name(issuer), &new.sealed, lives);
    let mail = recipient.and_then(|user| {
        let minutes = u32::try_from(LIVES.as_secs() / 60).unwrap_or(u32::MAX);
        let code = SecretString::new(new.code.expose().to_owned());
        let message = Message::EmailCode { code, minutes };
        // What the person wrote into the profile, then what this browser prefers.
        let language = mail_language(call.language(), user.profile.locale.as_deref());
        Some(Mail { to: user.email.clone()?, language, user: Some(user.id.clone()), message })
    });
    let context = call.context.clone();
    let queueing = async move {
        if let Some(mail) = mail {
            queue(&context, &mail).await;
        }
    };
    after_answer(&call.context, queueing).await;
    let mut response = ok(Map::from_iter([("success".to_owned(), true.into())]));
    response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    Ok(response)
}

fn is_same(address: &str, other: &str) -> bool {
    login_key(address.trim()) == login_key(other.trim())
}

/// `POST /api/auth/email-code/verify`
///
/// # Errors
/// [`Failure`]
pub(super) async fn verify(call: &mut Call) -> Result<Response, Failure> {
    allowed_origin(call)?;
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
    if !has_try(call, &sent).await? {
        return Err(refused(Reason::EmailCodeUsedUp));
    }
    let user = match sent.check(EmailCode::parse(&typed.code).as_ref(), &issuer.sign_in_key) {
        Ok(user) => user,
        Err(why) => {
            app.rate_limits.failed_login(&issuer.id, address, *remote, now);
            return Ok(failed(&context, reason_of(why), address));
        }
    };
    let (mark, until) = (sent.use_mark(), sent.expires_at());
    if !use_once((app, issuer), MARK, &mark, until, &mut call.durable).await? {
        return Err(refused(Reason::EmailCodeUsedUp));
    }
    let Some(user) = owner(&context, user, address).await? else {
        return Err(refused(Reason::UserDeactivated));
    };
    app.rate_limits.right_password(&issuer.id, address, *remote, now);
    let enrolled = app.store.authenticators(&issuer.id, &user.id).await?.set;
    let proven = Proven::by(Factor::EmailCode, now);
    let mut response = signed_in(call, &user, (&proven, &enrolled), json!({ "success": true })).await?;
    drop(in_flight);
    forget(call, &mut response);
    Ok(response)
}

/// What the browser keeps about a code that was sent: the last one that was sent, if it has several.
fn sent(headers: &HeaderMap, issuer: &IssuerState) -> Option<SentCode> {
    let own = cookie_name(issuer);
    let found = [own.as_str(), COOKIE_OF_SCRIPTS]
        .into_iter()
        .flat_map(|name| cookies(headers, name))
        .filter_map(|value| email_code::open(issuer, value));
    found.max_by_key(SentCode::expires_at)
}

/// Whether this request has one of the tries of a code. A try is a mark, and whoever sets it has the try: so of any number
/// of requests at once, on any number of nodes, as many have one as there are.
async fn has_try(call: &mut Call, sent: &SentCode) -> Result<bool, Failure> {
    let Call { context, durable, .. } = call;
    let at = (&*context.app, &*context.issuer);
    for number in 0..TRIES {
        if use_once(at, MARK, &sent.try_mark(number), sent.expires_at(), durable).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The user, if active and still the owner of the address: it may have been given to somebody else since.
async fn owner(context: &Context, id: &UserId, address: &str) -> Result<Option<Arc<User>>, Failure> {
    let found = context.app.store.user_by_login(&context.issuer.id, address).await?;
    Ok(found.map(|(user, _)| user).filter(|user| user.id == *id && user.may_sign_in()))
}

/// The answer to a wrong code. The attempt is in the audit log, as one with a wrong password is.
fn failed(context: &Context, reason: Reason, address: &str) -> Response {
    let refusal = Refusal::about(reason, details(context, address));
    context.sign_in_failed(RefusedRequest { actor: Actor::User, ..RefusedRequest::anonymous(refusal, None) });
    unproven(reason, NOT_ACCEPTED, Details::default()).into_json()
}

/// The typed address, as it may be written down.
fn details(context: &Context, address: &str) -> Details {
    let digest = context.issuer.login_name_digest(address);
    Details::default().login_name(&shown_login_name(address, true), &digest)
}

const fn reason_of(why: CodeRefused) -> Reason {
    match why {
        CodeRefused::Expired => Reason::EmailCodeExpired,
        CodeRefused::OtherAddress => Reason::EmailCodeOtherAddress,
        CodeRefused::Wrong => Reason::EmailCodeWrong,
    }
}

/// Has the browser forget the code, by either name of the cookie.
fn forget(call: &Call, response: &mut Response) {
    let issuer = &call.context.issuer;
    let own = cookie_name(issuer);
    for name in [own.as_str(), COOKIE_OF_SCRIPTS] {
        if cookies(&call.received.headers, name).next().is_some()
            && let Some(cookie) = remove_cookie(issuer, name)
        {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
    }
}
