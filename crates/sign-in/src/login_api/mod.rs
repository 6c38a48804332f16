//! The login API: JSON, for applications that sign people in on pages of their own.
//!
//! It is called by scripts of the issuer's own origin and of those that its setting `login_api_origins` lists, with the
//! browser's cookies. A call from another origin is refused whatever it asks: the browser says truly where a script comes
//! from (RFC 6454 7.3), and only `application/json` is read, which a form cannot send.

mod answer;
mod email_code;
mod passkey_login;
mod passkey_registration;
mod second_factor;

use serde::de::DeserializeOwned;
use symbolon_app::http::methods::POST;
use symbolon_app::http::{Call, Cors, Endpoint, Failure, Failures, Form, Handler, Limit};
use symbolon_app::rate_limit::EndpointClass;
use symbolon_protocol::error::{ErrorCode, OAuthError};
use symbolon_protocol::refusal::{Details, Reason};
use symbolon_protocol::sign_in::method::SignInMethod;
use symbolon_telemetry::Endpoint as Label;

/// The longest e-mail address, in bytes (RFC 5321 4.5.3.1.3, without the angle brackets).
const LONGEST_EMAIL: usize = 254;

/// The longest name of a person, in bytes.
const LONGEST_NAME: usize = 200;

/// The rows of the login API. The endpoints of its first clients have two paths, because they are known by either.
pub static LOGIN_API: [Endpoint; 13] = [
    row("/api/auth/email-code/send", |call| Box::pin(email_code::send(call))),
    row("/api/auth/email-codes/send", |call| Box::pin(email_code::send(call))),
    row("/api/auth/email-code/verify", |call| Box::pin(email_code::verify(call))),
    row("/api/auth/email-codes/verify", |call| Box::pin(email_code::verify(call))),
    row("/api/auth/passkey/login/options", |call| Box::pin(passkey_login::options(call))),
    row("/api/auth/passkeys/login/options", |call| Box::pin(passkey_login::options(call))),
    row("/api/auth/passkey/login/verify", |call| Box::pin(passkey_login::verify(call))),
    row("/api/auth/passkeys/login/verify", |call| Box::pin(passkey_login::verify(call))),
    row("/api/auth/passkey/register/options", |call| Box::pin(passkey_registration::options(call))),
    row("/api/auth/passkeys/register/options", |call| Box::pin(passkey_registration::options(call))),
    row("/api/auth/passkey/register/verify", |call| Box::pin(passkey_registration::verify(call))),
    row("/api/auth/passkeys/register/verify", |call| Box::pin(passkey_registration::verify(call))),
    row("/api/auth/second-factor/verify", |call| Box::pin(second_factor::verify(call))),
];

const fn row(path: &'static str, handler: Handler) -> Endpoint {
    Endpoint {
        path,
        methods: POST,
        label: Label::LoginApi,
        limit: Limit::Address(EndpointClass::Authorize),
        form: Form::Json,
        repeatable: None,
        needs_lease: true,
        cors: Cors::LoginApi,
        failures: Failures::Json,
        handler,
    }
}

/// The origin of the page that calls, if it may.
///
/// # Errors
/// 403
fn allowed_origin(call: &Call) -> Result<String, Failure> {
    let origin = call.received.headers.get(http::header::ORIGIN).and_then(|origin| origin.to_str().ok());
    match origin {
        Some(origin) if call.context.issuer.allows_origin(origin) => Ok(origin.to_owned()),
        refused => {
            let details = Details::of("Origin").sent(refused.unwrap_or_default());
            let told = "pages of this origin may not call the login API";
            Err(forbidden(Reason::OriginNotAllowed, told, details))
        }
    }
}

/// The body: a JSON object. Members that nobody reads are ignored, because clients send what other servers want.
///
/// # Errors
/// 400
fn body<T: DeserializeOwned>(call: &Call) -> Result<T, Failure> {
    serde_json::from_slice(&call.received.form).map_err(|error| {
        let reason = if error.is_data() { Reason::MemberInvalid } else { Reason::NotJson };
        let told = format!("the body is not what this endpoint takes: {error}");
        OAuthError::with(ErrorCode::InvalidRequest, reason, told).into()
    })
}

/// An e-mail address, as far as every address looks alike.
///
/// # Errors
/// 400
fn email(text: &str) -> Result<&str, Failure> {
    let text = text.trim();
    let is_sound = text.len() <= LONGEST_EMAIL && text.contains('@') && !text.chars().any(char::is_control);
    match is_sound {
        true => Ok(text),
        false => {
            Err(OAuthError::invalid_request(Reason::MemberInvalid, "email is not an e-mail address").into())
        }
    }
}

/// The name of a person.
///
/// # Errors
/// 400
fn person(text: &str) -> Result<&str, Failure> {
    let text = text.trim();
    match text.len() <= LONGEST_NAME && !text.chars().any(char::is_control) {
        true => Ok(text),
        false => {
            Err(OAuthError::invalid_request(Reason::MemberInvalid, "name is too long, or not plain").into())
        }
    }
}

/// Refuses a method that the issuer's setting does not offer. Where nothing is set, the API has every method.
///
/// # Errors
/// 403
fn offered(call: &Call, method: SignInMethod) -> Result<(), Failure> {
    match call.context.issuer.settings.load().sign_in_methods {
        Some(methods) if !methods.offer(method) => {
            let told = "nobody signs in by this method here";
            Err(forbidden(Reason::SignInMethodOff, told, Details::of("sign_in_methods")))
        }
        _ => Ok(()),
    }
}

/// 403 `access_denied`.
fn forbidden(reason: Reason, told: &'static str, details: Details) -> Failure {
    Failure::Forbidden(OAuthError::new(ErrorCode::AccessDenied, reason, told).about(details))
}
