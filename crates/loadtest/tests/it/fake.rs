//! A provider that keeps everything in memory, signs nothing, and can be told to answer wrongly.

mod admin;
mod fault;
pub(crate) mod front;
mod login;
mod login_api;
mod metrics;
mod opaque;
pub(crate) mod process;
mod routes;
mod tokens;
pub(crate) mod visits;

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::{RawQuery, State};
use axum::http::header::{AUTHORIZATION, COOKIE, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use symbolon_crypto::{SecretString, digest, encoding};
use symbolon_loadtest::RunningTarget;
use symbolon_loadtest::clock;
use url::form_urlencoded;

pub(crate) use fault::Fault;
use front::{Fates, Front};
use tokens::claims;

pub(crate) const SECRET: &str = "admin-secret";

#[derive(Default)]
struct Data {
    next: u64,
    sessions: HashMap<String, String>,
    codes: HashMap<String, Code>,
    families: HashMap<String, String>,
    revoked: HashSet<String>,
    strict: bool,
    /// Authorization requests that wait for a login.
    transactions: HashMap<String, HashMap<String, String>>,
    /// User and password hash by e-mail address.
    passwords: HashMap<String, (String, String)>,
    /// Address and code by the browser's cookie.
    email_codes: HashMap<String, (String, String)>,
    /// Passkeys by their user.
    passkeys: HashMap<String, String>,
    /// By their challenge.
    ceremonies: HashMap<String, login_api::Ceremony>,
    /// Hash and password that belong together.
    checked: HashSet<(String, String)>,
    /// Whether access tokens are handles.
    opaque: bool,
    /// Tokens by their handle.
    handles: HashMap<String, String>,
    /// How long codes live.
    code_lifetime: u64,
    /// How often the settings are still not to be had.
    busy: u64,
    /// The numbers of shards that it had, the last one now; it knows none without.
    shards: Vec<u64>,
    /// The upper bound of the bucket in which its requests are, as it says itself.
    bucket: &'static str,
}

struct Code {
    user: String,
    challenge: String,
    client: String,
    nonce: String,
}

pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    whereabouts: Whereabouts,
    /// Who has it may use the admin API.
    secret: String,
    bulk: bool,
    data: Mutex<Data>,
    fault: Mutex<Fault>,
    requests: Arc<AtomicU64>,
    started: Instant,
    pub(crate) visits: visits::Visits,
}

/// Where its URLs are.
#[derive(Clone, Copy, Default)]
struct Whereabouts {
    /// At what stands before it, where something does.
    front: Option<SocketAddr>,
    /// Below this path; empty where its issuer has none.
    path: &'static str,
}

/// How long [`Fault::Stall`] is, each second.
pub(crate) const STALL: Duration = Duration::from_millis(200);

impl Fake {
    /// Starts one on a thread of its own.
    pub(crate) fn start(bulk: bool) -> Arc<Self> {
        Self::start_at(bulk, SECRET, Whereabouts::default())
    }

    /// One behind a front that does to the answers to paths that begin so what the plan says.
    pub(crate) fn behind(path: &'static str, fates: Fates) -> (Arc<Self>, Arc<Front>) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let front = Some(listener.local_addr().unwrap());
        let fake = Self::start_at(true, SECRET, Whereabouts { front, ..Whereabouts::default() });
        let front = Front::start(listener, fake.address, path, fates);
        (fake, front)
    }

    /// One whose issuer has this path, and with it a part of the admin API of its own; it has no other.
    pub(crate) fn with_path(path: &'static str) -> Arc<Self> {
        Self::start_at(true, SECRET, Whereabouts { path, ..Whereabouts::default() })
    }

    fn start_at(bulk: bool, secret: &str, whereabouts: Whereabouts) -> Arc<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let fake = Arc::new(Self {
            address,
            whereabouts,
            secret: secret.to_owned(),
            bulk,
            data: Mutex::default(),
            fault: Mutex::new(Fault::None),
            requests: Arc::default(),
            started: clock::now(),
            visits: visits::Visits::default(),
        });
        let router = routes::router(Arc::clone(&fake));
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
        let Whereabouts { front, path } = self.whereabouts;
        format!("http://{}{path}", front.unwrap_or(self.address))
    }

    /// How long codes live, and whether introspection is strict: what load tests change.
    pub(crate) fn changed_settings(&self) -> (u64, bool) {
        let data = self.data.lock().unwrap();
        (data.code_lifetime, data.strict)
    }

    /// As somebody else has changed it, or a load test that was killed.
    pub(crate) fn change_settings(&self, code_lifetime: u64, strict: bool) {
        let mut data = self.data.lock().unwrap();
        (data.code_lifetime, data.strict) = (code_lifetime, strict);
    }

    /// The settings are not to be had, so often.
    pub(crate) fn be_busy(&self, times: u64) {
        self.data.lock().unwrap().busy = times;
    }

    /// It has so many shards from here on, as somebody else has set them.
    pub(crate) fn set_shards(&self, shards: u64) {
        self.data.lock().unwrap().shards.push(shards);
    }

    /// The numbers of shards that it had so far, the last one now.
    pub(crate) fn shards(&self) -> Vec<u64> {
        self.data.lock().unwrap().shards.clone()
    }

    /// It, as a running provider.
    pub(crate) fn target(&self, pid: Option<u32>) -> RunningTarget {
        RunningTarget {
            url: self.url(),
            others: Vec::new(),
            admin_url: None,
            admin_secret: Some(SecretString::new(SECRET.into())),
            pid,
            metrics: None,
        }
    }

    /// How many requests came so far.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
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
}

fn reply(value: &Value) -> Response {
    ([("content-type", "application/json")], value.to_string()).into_response()
}

fn form(text: &str) -> HashMap<String, String> {
    form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

async fn discovery(State(fake): State<Arc<Fake>>) -> Response {
    let url = fake.url();
    let issuer = if fake.has(Fault::Issuer) { "https://other" } else { &*url };
    let mut metadata = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
        "userinfo_endpoint": format!("{url}/userinfo"),
        "introspection_endpoint": format!("{url}/introspect"),
        "revocation_endpoint": format!("{url}/revoke"),
        "jwks_uri": format!("{url}/jwks"),
    });
    if let Fault::Grants(grants) = *fake.fault.lock().unwrap() {
        metadata["grant_types_supported"] = grants.into();
    }
    reply(&metadata)
}

async fn jwks(State(fake): State<Arc<Fake>>) -> Response {
    let fault = *fake.fault.lock().unwrap();
    let right =
        r#"{"keys":[{"kty":"RSA","kid":"other","n":"","e":""},{"kty":"EC","kid":"k","crv":"P-256"}]}"#;
    let keys = if let Fault::Keys(keys) = fault { keys } else { right };
    ([("content-type", "application/jwk-set+json")], keys).into_response()
}

async fn authorize(State(fake): State<Arc<Fake>>, RawQuery(query): RawQuery, headers: HeaderMap) -> Response {
    let query = form(&query.unwrap_or_default());
    if !headers.contains_key(COOKIE) && !query.contains_key("prompt") {
        return login::ask(&fake, &query);
    }
    fake.visits.note("silent", "");
    answer(&fake, &query, &headers)
}

/// The authorization response to a request in a session.
fn answer(fake: &Fake, query: &HashMap<String, String>, headers: &HeaderMap) -> Response {
    let session = headers[COOKIE].to_str().unwrap().strip_prefix("fake_session=").unwrap().to_owned();
    let user = fake.data.lock().unwrap().sessions.get(&session).cloned();
    let mut answer = form_urlencoded::Serializer::new(String::new());
    match user {
        Some(user) if !fake.has(Fault::LoginRequired) => {
            answer.append_pair("code", &fake.code(user, query));
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
    let client = &*client_of(&headers);
    let form = form(&body);
    let (issuer, scope) = (fake.url(), "openid profile email");
    let bearer = |access: String| json!({"access_token": access, "token_type": "Bearer", "expires_in": 3600});
    let mut answer;
    match &*form["grant_type"] {
        "client_credentials" => answer = bearer(fake.jwt(&format!("client:{client}"), &issuer, client, "")),
        "authorization_code" => {
            let code = fake.data.lock().unwrap().codes.remove(&form["code"]);
            let code = code.filter(|code| {
                code.challenge == encoding::encode(&digest::sha256(&[form["code_verifier"].as_bytes()]))
            });
            let Some(code) = code else { return (StatusCode::BAD_REQUEST, "invalid_grant").into_response() };
            assert_eq!(code.client, client);
            answer = bearer(fake.jwt(&code.user, &issuer, client, scope));
            let mut id_token = claims(&fake.jwt(&code.user, client, client, scope));
            id_token["nonce"] = if fake.has(Fault::Nonce) { "other".into() } else { code.nonce.into() };
            answer["id_token"] = fake.sign(&id_token).into();
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
            let Some(exchanged) = fake.exchange(&form, client) else {
                let error = if fake.has(Fault::OtherError) { "invalid_request" } else { "invalid_grant" };
                return (StatusCode::BAD_REQUEST, json!({ "error": error }).to_string()).into_response();
            };
            answer = exchanged;
        }
    }
    fake.hide_answer(&mut answer);
    fake.visits.note(&form["grant_type"], answer["access_token"].as_str().unwrap());
    if fake.has(Fault::Ended) {
        answer["expires_in"] = 0.into();
    }
    reply(&answer)
}

async fn userinfo(State(fake): State<Arc<Fake>>, headers: HeaderMap) -> Response {
    let token = headers[AUTHORIZATION].to_str().unwrap().strip_prefix("Bearer ").unwrap();
    fake.visits.note("userinfo", token);
    let claims = claims(&fake.told(token));
    let wrong = match *fake.fault.lock().unwrap() {
        Fault::Subject => true,
        Fault::SubjectOnceIn(number) => fake.requests().is_multiple_of(number),
        _ => false,
    };
    process::waste(&fake);
    if fake.has(Fault::Stall) {
        let into = Duration::from_nanos(u64::from(clock::now().duration_since(fake.started).subsec_nanos()));
        tokio::time::sleep(STALL.saturating_sub(into)).await;
    }
    let sub = if wrong { "somebody-else".into() } else { claims["sub"].clone() };
    reply(&json!({"sub": sub, "email_verified": true}))
}

/// The client that a request names.
fn client_of(headers: &HeaderMap) -> String {
    let basic = headers[AUTHORIZATION].to_str().unwrap().strip_prefix("Basic ").unwrap();
    let pair = String::from_utf8(STANDARD.decode(basic).unwrap()).unwrap();
    pair.split_once(':').unwrap().0.to_owned()
}

async fn introspect(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: String) -> Response {
    let caller = client_of(&headers);
    fake.visits.note("introspect", "");
    let told = fake.verified(&form(&body)["token"]).filter(|claims| {
        let strict = fake.data.lock().unwrap().strict;
        let aud = claims["aud"].to_string().contains(&format!("\"{}\"", fake.url()));
        (!strict || aud || fake.has(Fault::OtherAudience))
            && (claims["client_id"] == caller || fake.has(Fault::OtherClient))
            && !fake.has(Fault::Inactive)
    });
    let Some(mut answer) = told else { return reply(&json!({ "active": false })) };
    answer["active"] = true.into();
    if fake.has(Fault::Scope) {
        answer["scope"] = "openid admin".into();
    }
    if fake.has(Fault::Chain) && answer.get("act").is_some() {
        answer["act"]["act"] = json!({ "sub": "client:before" });
    }
    if let Fault::Told(member) = *fake.fault.lock().unwrap() {
        answer[member] = "somebody-else".into();
    }
    fake.hide_introspection(&mut answer);
    reply(&answer)
}

async fn revoke(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: String) -> Response {
    let token = form(&body)["token"].clone();
    assert_eq!(claims(&token)["client_id"], client_of(&headers));
    fake.data.lock().unwrap().revoked.insert(token);
    StatusCode::OK.into_response()
}
