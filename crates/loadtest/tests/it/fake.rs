//! A provider that keeps everything in memory, signs nothing, and can be told to answer wrongly.

pub(crate) mod front;
mod login;
mod login_api;
mod opaque;
pub(crate) mod visits;

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::header::{AUTHORIZATION, COOKIE, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::map_request;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use symbolon_crypto::jws::Compact;
use symbolon_crypto::key::SigningKey;
use symbolon_crypto::{Algorithm, SecretString, digest, encoding};
use symbolon_loadtest::RunningTarget;
use symbolon_loadtest::clock;
use url::form_urlencoded;

use front::{Fates, Front};

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
    /// Takes expired tokens.
    Expired,
    /// Takes revoked tokens.
    Revoked,
    /// Does not look at signatures.
    Signature,
    /// Takes tokens that are meant for somebody else.
    OtherAudience,
    /// Takes tokens of clients that do not exist.
    OtherClient,
    /// Tokens outlive what they came from.
    Outlives,
    /// Names another actor before the one who acts.
    Chain,
    /// Knows no password.
    LoginRefused,
    /// Asks for consent.
    Consent,
    /// ID tokens of another request.
    Nonce,
    /// Publishes another key set.
    Keys(&'static str),
    /// Has no test endpoints.
    NoTestEndpoints,
    /// Refuses tokens in words of its own.
    OtherError,
    /// UserInfo is of somebody else in one of so many answers.
    SubjectOnceIn(u64),
    /// UserInfo waits for the end of the first 200 ms of every second.
    Stall,
    /// Names somebody else in this member of an introspection.
    Told(&'static str),
    /// Tokens have ended when they are issued.
    Ended,
    /// One of so many codes is that of the request before.
    CodeOnceIn(u64),
    /// Sign-in codes without digits.
    NoDigits,
    /// Signs somebody else in.
    OtherAccount,
    /// Signs in without a session.
    NoSession,
    /// Wants the passkey of somebody else.
    OtherCredential,
    /// Announces these grants.
    Grants(&'static [&'static str]),
}

/// The provider's time, in seconds since 1970.
const NOW: u64 = 1_900_000_000;
/// When its tokens end.
const END: u64 = 1_900_600_000;

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
}

struct Code {
    user: String,
    challenge: String,
    client: String,
    nonce: String,
}

pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    /// What stands before it, where something does: its URLs are of there.
    front: Option<SocketAddr>,
    bulk: bool,
    data: Mutex<Data>,
    fault: Mutex<Fault>,
    requests: Arc<AtomicU64>,
    started: Instant,
    pub(crate) visits: visits::Visits,
}

/// How long [`Fault::Stall`] is, each second.
pub(crate) const STALL: Duration = Duration::from_millis(200);

impl Fake {
    /// Starts one on a thread of its own.
    pub(crate) fn start(bulk: bool) -> Arc<Self> {
        Self::start_behind(bulk, None)
    }

    /// One behind a front that does to the answers to paths that begin so what the plan says.
    pub(crate) fn behind(path: &'static str, fates: Fates) -> (Arc<Self>, Arc<Front>) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let fake = Self::start_behind(true, Some(listener.local_addr().unwrap()));
        let front = Front::start(listener, fake.address, path, fates);
        (fake, front)
    }

    fn start_behind(bulk: bool, front: Option<SocketAddr>) -> Arc<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let fake = Arc::new(Self {
            address,
            front,
            bulk,
            data: Mutex::default(),
            fault: Mutex::new(Fault::None),
            requests: Arc::default(),
            started: clock::now(),
            visits: visits::Visits::default(),
        });
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
        format!("http://{}", self.front.unwrap_or(self.address))
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

    fn jwt(&self, sub: &str, aud: &str, client: &str, scope: &str) -> String {
        let sub = if self.has(Fault::Subject) { "somebody-else" } else { sub };
        let scope = if self.has(Fault::Scope) { "openid admin" } else { scope };
        let aud = if self.has(Fault::Audience) { "https://elsewhere" } else { aud };
        self.sign(&json!({
            "iss": self.url(), "sub": sub, "aud": aud, "client_id": client, "scope": scope,
            "jti": self.id("jti"), "iat": NOW, "exp": END,
        }))
    }

    fn sign(&self, claims: &Value) -> String {
        let header = encoding::encode(br#"{"alg":"ES256","typ":"at+jwt","kid":"k"}"#);
        format!("{header}.{}.{}", encoding::encode(claims.to_string().as_bytes()), encoding::encode(&[7; 64]))
    }

    /// The answer to an exchange.
    fn exchange(&self, form: &HashMap<String, String>, client: &str) -> Option<Value> {
        let subject = self.verified(&form["subject_token"])?;
        let actor = form.get("actor_token").map(|token| claims(token)["sub"].clone());
        let actor = actor.unwrap_or_else(|| format!("client:{client}").into());
        let actor = if self.has(Fault::Actor) { "client:other".into() } else { actor };
        let token = self.jwt(subject["sub"].as_str().unwrap(), &form["audience"], client, &form["scope"]);
        let mut claims = claims(&token);
        claims["act"] = json!({ "sub": actor });
        if self.has(Fault::Chain) {
            claims["act"]["act"] = json!({ "sub": "client:before" });
        }
        if let Some(resource) = form.get("resource") {
            claims["aud"] = json!([claims["aud"], resource]);
            claims["resource"] = resource.clone().into();
        }
        claims["exp"] = if self.has(Fault::Outlives) { END + 1 } else { END }.into();
        Some(json!({
            "access_token": self.sign(&claims), "token_type": "Bearer",
            "issued_token_type": form["requested_token_type"],
        }))
    }

    /// The claims of a token that is good: signed by this provider, not expired, not revoked.
    fn verified(&self, token: &str) -> Option<Value> {
        let told = self.told(token);
        let token = &*told;
        let jws = Compact::parse(token).unwrap();
        let signed = match jws.header().alg {
            Algorithm::Rs256 => jws.verify(TEST_KEY.public()).is_ok(),
            _ => jws.signature() == [7; 64],
        };
        let claims = claims(token);
        let expired = claims["exp"].as_u64().unwrap() <= NOW;
        let revoked = self.data.lock().unwrap().revoked.contains(token);
        let good = (signed || self.has(Fault::Signature))
            && (!expired || self.has(Fault::Expired))
            && (!revoked || self.has(Fault::Revoked));
        good.then_some(claims)
    }

    fn family(&self, user: &str) -> String {
        let token = self.id("rt_");
        self.data.lock().unwrap().families.insert(token.clone(), user.to_owned());
        token
    }
}

/// What the test endpoint hands out.
static TEST_KEY: LazyLock<SigningKey> =
    LazyLock::new(|| SigningKey::generate(Algorithm::Rs256, Some("test-key")).unwrap());

fn router(fake: Arc<Fake>) -> Router {
    let requests = Arc::clone(&fake.requests);
    let count = move |request: axum::extract::Request| {
        requests.fetch_add(1, Ordering::SeqCst);
        std::future::ready(request)
    };
    Router::new()
        .route("/.well-known/openid-configuration", get(discovery))
        .route("/authorize", get(authorize))
        .route("/authorize/continue", get(login::go_on))
        .route("/login", get(login::page).post(login::submit))
        .route("/api/auth/email-code/verify", post(login_api::verify_code))
        .route("/api/auth/passkey/register/options", post(login_api::register_options))
        .route("/api/auth/passkey/register/verify", post(login_api::register))
        .route("/api/auth/passkey/login/options", post(login_api::login_options))
        .route("/api/auth/passkey/login/verify", post(login_api::login))
        .route("/jwks", get(jwks))
        .route("/token", post(token))
        .route("/userinfo", get(userinfo))
        .route("/introspect", post(introspect))
        .route("/revoke", post(revoke))
        .route("/api/admin/settings/introspection-validation", get(strictness).put(strict))
        .route("/api/admin/settings", get(settings).patch(change_settings))
        .route("/api/admin/test/signing-key", get(signing_key))
        .route("/api/admin/{*call}", post(admin))
        .layer(map_request(count))
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

async fn signing_key(State(fake): State<Arc<Fake>>, headers: HeaderMap) -> Response {
    if fake.has(Fault::NoTestEndpoints) {
        return (StatusCode::FORBIDDEN, r#"{"error":"access_denied"}"#).into_response();
    }
    assert_eq!(headers[AUTHORIZATION], format!("Bearer {SECRET}"));
    reply(&json!({ "kid": TEST_KEY.kid(), "privatePEM": TEST_KEY.to_pkcs8_pem().unwrap().expose() }))
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
