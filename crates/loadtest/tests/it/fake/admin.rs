//! The fake's admin API: settings that load tests change, the test endpoints, and what a seed is made of.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

use super::tokens::TEST_KEY;
use super::{Fake, Fault, login_api, reply};

/// The name of an issuer that has a path.
pub(super) const ISSUER: &str = "t";

/// What is below an issuer's part of the admin API.
pub(super) fn routes() -> Router<Arc<Fake>> {
    Router::new()
        .route("/settings/introspection-validation", get(strictness).put(strict))
        .route("/settings", get(settings).patch(change_settings))
        .route("/settings/revocation-shards", get(shards).put(set_shards))
        .route("/test/signing-key", get(signing_key))
        .route("/{*call}", post(admin))
}

/// The issuers, where one has a path.
pub(super) async fn issuers(State(fake): State<Arc<Fake>>) -> Response {
    reply(&json!({ "issuers": [
        { "id": "default", "url": format!("http://{}", fake.address) },
        { "id": ISSUER, "url": fake.url() },
    ] }))
}

async fn strictness(State(fake): State<Arc<Fake>>) -> Response {
    reply(&json!({ "strictValidation": fake.data.lock().unwrap().strict }))
}

async fn settings(State(fake): State<Arc<Fake>>) -> Response {
    let mut data = fake.data.lock().unwrap();
    if data.busy > 0 {
        data.busy -= 1;
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    reply(&json!({ "settings": { "lifetimes": { "code": data.code_lifetime } } }))
}

async fn change_settings(State(fake): State<Arc<Fake>>, body: String) -> Response {
    let settings: Value = serde_json::from_str(&body).unwrap();
    fake.data.lock().unwrap().code_lifetime = settings["lifetimes"]["code"].as_u64().unwrap();
    reply(&settings)
}

async fn strict(State(fake): State<Arc<Fake>>, body: String) -> Response {
    let settings: Value = serde_json::from_str(&body).unwrap();
    fake.data.lock().unwrap().strict = settings["strictValidation"].as_bool().unwrap();
    reply(&settings)
}

async fn shards(State(fake): State<Arc<Fake>>) -> Response {
    match fake.shards().last() {
        Some(shards) => reply(&json!({ "shards": shards })),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn set_shards(State(fake): State<Arc<Fake>>, body: String) -> Response {
    let wanted: Value = serde_json::from_str(&body).unwrap();
    fake.set_shards(wanted["shards"].as_u64().unwrap());
    reply(&wanted)
}

async fn signing_key(State(fake): State<Arc<Fake>>, headers: HeaderMap) -> Response {
    if fake.has(Fault::NoTestEndpoints) {
        return (StatusCode::FORBIDDEN, r#"{"error":"access_denied"}"#).into_response();
    }
    assert_eq!(headers[AUTHORIZATION], format!("Bearer {}", fake.secret));
    reply(&json!({ "kid": TEST_KEY.kid(), "privatePEM": TEST_KEY.to_pkcs8_pem().unwrap().expose() }))
}

async fn admin(
    State(fake): State<Arc<Fake>>,
    Path(call): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if headers[AUTHORIZATION] != format!("Bearer {}", fake.secret) {
        return (StatusCode::UNAUTHORIZED, r#"{"error":"invalid_token"}"#).into_response();
    }
    if fake.has(Fault::AdminLimited) {
        return StatusCode::TOO_MANY_REQUESTS.into_response();
    }
    let (kind, bulk) = match call.strip_suffix("/bulk") {
        Some(_) if !fake.bulk => return StatusCode::NOT_FOUND.into_response(),
        Some(kind) => (kind, true),
        None => (&*call, false),
    };
    let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let answers: Vec<String> = lines
        .map(|line| create(&fake, kind, &serde_json::from_slice::<Value>(line).unwrap()).to_string())
        .collect();
    assert!(bulk || answers.len() == 1);
    (StatusCode::CREATED, answers.join("\n")).into_response()
}

fn create(fake: &Fake, kind: &str, item: &Value) -> Value {
    let user = item["user_id"].as_str().unwrap_or_default();
    match kind {
        "clients" => {
            let service = item["client_name"].as_str().unwrap().strip_prefix("Load test service ");
            let id = service.map_or("client-1".to_owned(), |service| format!("service-{service}"));
            json!({"client": {"client_id": id, "client_secret": "s3cret"}})
        }
        "users" => {
            let (id, text) =
                (fake.id("user-"), |name: &str| item[name].as_str().unwrap_or_default().to_owned());
            let known = (id.clone(), text("password_hash"));
            fake.data.lock().unwrap().passwords.insert(text("email"), known);
            json!({"user": {"id": id, "email": item["email"]}})
        }
        "tokens" => json!({
            "access_token": fake.jwt(user, &fake.url(), "client-1", item["scope"].as_str().unwrap())
        }),
        "refresh-tokens" => json!({"refresh_token": fake.family(user)}),
        "sessions" | "test/sessions" => {
            let id = fake.id("session:");
            fake.data.lock().unwrap().sessions.insert(id.clone(), user.to_owned());
            json!({"session_id": id, "cookie_value": format!("fake_session={id}; Path=/")})
        }
        "test/email-codes" => login_api::new_code(fake, item),
        other => panic!("{other}"),
    }
}
