//! What an application is told of somebody who has proven who they are.

use axum::response::Response;
use http::{StatusCode, header};
use serde_json::{Map, Value, json};
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::refusal::{Details, Reason};
use symbolon_protocol::settings::SecondFactor;
use symbolon_protocol::sign_in::{Policy, Proven, Step, next_step};
use symbolon_protocol::user::User;

use super::forbidden;
use crate::passkey_challenge::unproven;
use crate::session_begin::{self, Begun};
use symbolon_app::http::{Call, Failure, json as json_response, no_store};

/// Begins a session for what was proven, if that is enough, and answers with it.
///
/// # Errors
/// 403 if a second factor is missing; 400 if the user was deactivated meanwhile.
pub(super) async fn signed_in(
    call: &mut Call,
    user: &User,
    (proven, enrolled): (&Proven, &AuthenticatorSet),
    about: Value,
) -> Result<Response, Failure> {
    let details = || Details::of_user(&user.id);
    let required = call.context.issuer.settings.load().second_factor == SecondFactor::Required;
    let policy = Policy { needs_second_factor: required };
    let Step::Enough { amr, .. } = next_step(proven, policy, enrolled) else {
        let told = "this account needs a second factor: sign in at the login page";
        return Err(forbidden(Reason::SecondFactorNeeded, told, details()));
    };
    match session_begin::begin(call, user, amr).await? {
        Some(begun) => Ok(with_session(call, user, &begun, about)),
        None => Err(unproven(Reason::SignInOvertaken, "sign in again", details())),
    }
}

/// The answer with the cookie of a session that has begun.
fn with_session(call: &Call, user: &User, begun: &Begun, about: Value) -> Response {
    let app = &call.context.app;
    let mut answer = told(user, about);
    // Scripts of load tests build their own cookie. No other script may know the session's secret: the cookie is out of
    // its reach (RFC 6265 5.2.6), so a page that runs a foreign script does not give the session away.
    if app.config.load().security.test_endpoints {
        answer.insert("sessionId".to_owned(), begun.id.expose().into());
    }
    let mut response = ok(answer);
    for cookie in begun.cookies(&call.context, &call.received).into_iter().flatten() {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// An answer about a user.
pub(super) fn told(user: &User, about: Value) -> Map<String, Value> {
    let mut answer = match about {
        Value::Object(about) => about,
        _ => Map::new(),
    };
    answer.insert("userId".to_owned(), json!(user.id));
    let shown = json!({
        "id": user.id,
        "email": user.email,
        "name": user.profile.name,
        "email_verified": user.email_verified,
    });
    answer.insert("user".to_owned(), shown);
    answer
}

/// 200 with a JSON object that no cache keeps.
pub(super) fn ok(answer: Map<String, Value>) -> Response {
    no_store(json_response(StatusCode::OK, Value::Object(answer).to_string()))
}
