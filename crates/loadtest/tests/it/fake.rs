//! A provider that keeps everything in memory, signs nothing, and can be told to answer wrongly.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::header::{AUTHORIZATION, COOKIE, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use symbolon_crypto::{digest, encoding};
use url::form_urlencoded;

pub(crate) const SECRET: &str = "admin-secret";

/// What the provider does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    State,
    Issuer,
    LoginRequired,
    Subject,
    Scope,
    Audience,
    Actor,
    Inactive,
    NotRotated,
    Unavailable,
}

#[derive(Default)]
struct Data {
    next: u64,
    sessions: HashMap<String, String>,
    codes: HashMap<String, Code>,
    families: HashMap<String, String>,
}

struct Code {
    user: String,
    challenge: String,
    client: String,
}

pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    bulk: bool,
    data: Mutex<Data>,
    fault: Mutex<Fault>,
}

impl Fake {
    /// Starts one on a thread of its own.
    pub(crate) fn start(bulk: bool) -> Arc<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let fake = Arc::new(Self { address, bulk, data: Mutex::default(), fault: Mutex::new(Fault::None) });
        let router = router(Arc::clone(&fake));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(listener, router).await.unwrap();
            });
        });
        fake
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn set_fault(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    fn has(&self, fault: Fault) -> bool {
        *self.fault.lock().unwrap() == fault
    }

    fn id(&self, prefix: &str) -> String {
        let mut data = self.data.lock().unwrap();
        data.next += 1;
        format!("{prefix}{}", data.next)
    }

    fn jwt(&self, sub: &str, aud: &str, client: &str, scope: &str) -> String {
        let sub = if self.has(Fault::Subject) { "somebody-else" } else { sub };
        let scope = if self.has(Fault::Scope) { "openid admin" } else { scope };
        let aud = if self.has(Fault::Audience) { "https://elsewhere" } else { aud };
        let actor = if self.has(Fault::Actor) { "client:other" } else { &*format!("client:{client}") };
        let claims = json!({
            "iss": self.url(), "sub": sub, "aud": aud, "client_id": client, "scope": scope,
            "act": {"sub": actor}, "jti": self.id("jti"), "exp": 4_000_000_000_u64,
        });
        let header = encoding::encode(br#"{"alg":"ES256","typ":"at+jwt","kid":"k"}"#);
        format!("{header}.{}.{}", encoding::encode(claims.to_string().as_bytes()), encoding::encode(&[7; 64]))
    }

    fn family(&self, user: &str) -> String {
        let token = self.id("rt_");
        self.data.lock().unwrap().families.insert(token.clone(), user.to_owned());
        token
    }
}

fn router(fake: Arc<Fake>) -> Router {
    Router::new()
        .route("/.well-known/openid-configuration", get(discovery))
        .route("/authorize", get(authorize))
        .route("/token", post(token))
        .route("/userinfo", get(userinfo))
        .route("/introspect", post(introspect))
        .route("/api/admin/{*call}", post(admin))
        .with_state(fake)
}

fn reply(value: &Value) -> Response {
    ([("content-type", "application/json")], value.to_string()).into_response()
}

fn form(text: &str) -> HashMap<String, String> {
    form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&encoding::decode(payload).unwrap()).unwrap()
}

async fn discovery(State(fake): State<Arc<Fake>>) -> Response {
    let url = fake.url();
    let issuer = if fake.has(Fault::Issuer) { "https://other" } else { &*url };
    reply(&json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "userinfo_endpoint": format!("{url}/userinfo"),
        "introspection_endpoint": format!("{url}/introspect"),
        "jwks_uri": format!("{url}/jwks"),
    }))
}

async fn authorize(State(fake): State<Arc<Fake>>, RawQuery(query): RawQuery, headers: HeaderMap) -> Response {
    let query = form(&query.unwrap_or_default());
    let session = headers[COOKIE].to_str().unwrap().strip_prefix("fake_session=").unwrap().to_owned();
    let user = fake.data.lock().unwrap().sessions.get(&session).cloned();
    let code = fake.id("code-");
    let mut answer = form_urlencoded::Serializer::new(String::new());
    match user {
        Some(user) if !fake.has(Fault::LoginRequired) => {
            let (challenge, client) = (query["code_challenge"].clone(), query["client_id"].clone());
            fake.data.lock().unwrap().codes.insert(code.clone(), Code { user, challenge, client });
            answer.append_pair("code", &code);
        }
        _ => {
            answer.append_pair("error", "login_required");
        }
    }
    answer.append_pair("state", if fake.has(Fault::State) { "another" } else { &query["state"] });
    let url = fake.url();
    answer.append_pair("iss", if fake.has(Fault::Issuer) { "https://other" } else { &url });
    let location = format!("{}?{}", query["redirect_uri"], answer.finish());
    (StatusCode::FOUND, [(LOCATION, location)]).into_response()
}

async fn token(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: String) -> Response {
    if fake.has(Fault::Unavailable) {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    assert!(headers[AUTHORIZATION].to_str().unwrap().starts_with("Basic "));
    let form = form(&body);
    let (client, issuer, scope) = ("client-1", fake.url(), "openid profile email");
    let bearer = |access: String| json!({"access_token": access, "token_type": "Bearer", "expires_in": 3600});
    let mut answer;
    match &*form["grant_type"] {
        "client_credentials" => answer = bearer(fake.jwt("client:client-1", &issuer, client, "")),
        "authorization_code" => {
            let code = fake.data.lock().unwrap().codes.remove(&form["code"]);
            let code = code.filter(|code| {
                code.challenge == encoding::encode(&digest::sha256(&[form["code_verifier"].as_bytes()]))
            });
            let Some(code) = code else { return (StatusCode::BAD_REQUEST, "invalid_grant").into_response() };
            assert_eq!(code.client, client);
            answer = bearer(fake.jwt(&code.user, &issuer, client, scope));
            answer["id_token"] = fake.jwt(&code.user, client, client, scope).into();
            answer["refresh_token"] = fake.family(&code.user).into();
        }
        "refresh_token" => {
            let old = &form["refresh_token"];
            let user = fake.data.lock().unwrap().families.remove(old);
            let Some(user) = user else { return (StatusCode::BAD_REQUEST, "invalid_grant").into_response() };
            let next = if fake.has(Fault::NotRotated) {
                fake.data.lock().unwrap().families.insert(old.clone(), user.clone());
                old.clone()
            } else {
                fake.family(&user)
            };
            answer = bearer(fake.jwt(&user, &issuer, client, scope));
            answer["refresh_token"] = next.into();
        }
        _ => {
            let subject = claims(&form["subject_token"]);
            answer =
                bearer(fake.jwt(subject["sub"].as_str().unwrap(), &form["audience"], client, &form["scope"]));
            answer["issued_token_type"] = form["requested_token_type"].clone().into();
        }
    }
    reply(&answer)
}

async fn userinfo(State(fake): State<Arc<Fake>>, headers: HeaderMap) -> Response {
    let claims = claims(headers[AUTHORIZATION].to_str().unwrap().strip_prefix("Bearer ").unwrap());
    let sub = if fake.has(Fault::Subject) { "somebody-else".into() } else { claims["sub"].clone() };
    reply(&json!({"sub": sub, "email_verified": true}))
}

async fn introspect(State(fake): State<Arc<Fake>>, body: String) -> Response {
    let mut answer = claims(&form(&body)["token"]);
    answer["active"] = (!fake.has(Fault::Inactive)).into();
    if fake.has(Fault::Scope) {
        answer["scope"] = "openid admin".into();
    }
    reply(&answer)
}

async fn admin(
    State(fake): State<Arc<Fake>>,
    axum::extract::Path(call): axum::extract::Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if headers[AUTHORIZATION] != format!("Bearer {SECRET}") {
        return (StatusCode::UNAUTHORIZED, r#"{"error":"invalid_token"}"#).into_response();
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
        "clients" => json!({"client": {"client_id": "client-1", "client_secret": "s3cret"}}),
        "users" => json!({"user": {"id": fake.id("user-"), "email": item["email"]}}),
        "tokens" => json!({
            "access_token": fake.jwt(user, &fake.url(), "client-1", item["scope"].as_str().unwrap())
        }),
        "refresh-tokens" => json!({"refresh_token": fake.family(user)}),
        "sessions" | "test/sessions" => {
            let id = fake.id("session:");
            fake.data.lock().unwrap().sessions.insert(id.clone(), user.to_owned());
            json!({"session_id": id, "cookie_value": format!("fake_session={id}; Path=/")})
        }
        other => panic!("{other}"),
    }
}
