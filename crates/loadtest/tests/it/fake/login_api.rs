//! The fake's login API: codes by e-mail, which its test endpoint tells, and passkeys, of which it checks all but the
//! signature.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{COOKIE, ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use symbolon_crypto::encoding;

use super::{Fake, Fault, reply};

/// Somebody registers or signs in with a passkey.
pub(super) struct Ceremony {
    user: String,
    kind: &'static str,
}

/// What the test endpoint tells of a new code.
pub(super) fn new_code(fake: &Fake, asked: &Value) -> Value {
    assert_eq!(asked["create_user"], false);
    let email = asked["email"].as_str().unwrap().to_owned();
    let (user, _) = fake.data.lock().unwrap().passwords[&email].clone();
    let session = fake.id("otp-");
    let code = if fake.has(Fault::NoDigits) { "abcdef".to_owned() } else { format!("{:06}", session.len()) };
    fake.data.lock().unwrap().email_codes.insert(session.clone(), (email, code.clone()));
    json!({ "success": true, "code": code, "otpSessionId": session, "userId": user })
}

pub(super) async fn verify_code(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: String) -> Response {
    assert_eq!(headers[ORIGIN], fake.url());
    let typed: Value = serde_json::from_str(&body).unwrap();
    let session = headers[COOKIE].to_str().unwrap().strip_prefix("authrim_otp_session=").unwrap().to_owned();
    let (email, code) = fake.data.lock().unwrap().email_codes.remove(&session).unwrap();
    assert_eq!((&typed["email"], &typed["code"]), (&json!(email), &json!(code)));
    let user = fake.data.lock().unwrap().passwords[&email].0.clone();
    signed_in(&fake, &user)
}

pub(super) async fn register_options(State(fake): State<Arc<Fake>>, body: String) -> Response {
    let asked: Value = serde_json::from_str(&body).unwrap();
    let user = asked["userId"].as_str().unwrap();
    let challenge = begin(&fake, user, "webauthn.create");
    reply(&json!({
        "userId": user,
        "options": {
            "challenge": challenge,
            "rp": { "id": "127.0.0.1" },
            "user": { "id": encoding::encode(user.as_bytes()) },
        },
    }))
}

pub(super) async fn register(State(fake): State<Arc<Fake>>, body: String) -> Response {
    let answer: Value = serde_json::from_str(&body).unwrap();
    let user = finish(&fake, &answer["credential"], "webauthn.create");
    assert_eq!(answer["userId"], user);
    let id = answer["credential"]["id"].as_str().unwrap().to_owned();
    fake.data.lock().unwrap().passkeys.insert(user.clone(), id);
    signed_in(&fake, &user)
}

pub(super) async fn login_options(State(fake): State<Arc<Fake>>, body: String) -> Response {
    let asked: Value = serde_json::from_str(&body).unwrap();
    let user = fake.data.lock().unwrap().passwords[asked["email"].as_str().unwrap()].0.clone();
    let challenge = begin(&fake, &user, "webauthn.get");
    let known = fake.data.lock().unwrap().passkeys[&user].clone();
    let id = if fake.has(Fault::OtherCredential) { "b3RoZXI".to_owned() } else { known };
    reply(&json!({
        "challengeId": challenge,
        "options": {
            "challenge": challenge,
            "rpId": "127.0.0.1",
            "allowCredentials": [{ "id": id, "type": "public-key" }],
        },
    }))
}

pub(super) async fn login(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: String) -> Response {
    assert_eq!(headers[ORIGIN], fake.url());
    let answer: Value = serde_json::from_str(&body).unwrap();
    let user = finish(&fake, &answer["credential"], "webauthn.get");
    assert_eq!(answer["credential"]["id"], fake.data.lock().unwrap().passkeys[&user]);
    assert_eq!(answer["credential"]["response"]["userHandle"], encoding::encode(user.as_bytes()));
    signed_in(&fake, &user)
}

fn begin(fake: &Fake, user: &str, kind: &'static str) -> String {
    let challenge = encoding::encode(fake.id("challenge-").as_bytes());
    let ceremony = Ceremony { user: user.to_owned(), kind };
    fake.data.lock().unwrap().ceremonies.insert(challenge.clone(), ceremony);
    challenge
}

/// The user whose challenge was answered.
fn finish(fake: &Fake, credential: &Value, kind: &str) -> String {
    let data = encoding::decode(credential["response"]["clientDataJSON"].as_str().unwrap()).unwrap();
    let data: Value = serde_json::from_slice(&data).unwrap();
    assert_eq!((&data["type"], &data["origin"]), (&json!(kind), &json!(fake.url())));
    let challenge = data["challenge"].as_str().unwrap();
    let ceremony = fake.data.lock().unwrap().ceremonies.remove(challenge).unwrap();
    assert_eq!(ceremony.kind, kind);
    ceremony.user
}

fn signed_in(fake: &Fake, user: &str) -> Response {
    if fake.has(Fault::LoginRefused) {
        return (StatusCode::BAD_REQUEST, r#"{"error":"invalid_grant"}"#).into_response();
    }
    let session = fake.id("session:");
    fake.data.lock().unwrap().sessions.insert(session.clone(), user.to_owned());
    let told = if fake.has(Fault::OtherAccount) { "somebody-else" } else { user };
    let mut response =
        reply(&json!({ "success": true, "userId": told, "user": { "id": told, "email_verified": true } }));
    if !fake.has(Fault::NoSession) {
        let cookies =
            [format!("fake_session={session}; Path=/"), "authrim_otp_session=; Path=/; Max-Age=0".into()];
        for cookie in cookies {
            response.headers_mut().append(SET_COOKIE, cookie.parse().unwrap());
        }
    }
    response
}
