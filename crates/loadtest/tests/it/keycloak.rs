//! A realm with the pages of Keycloak: where the form goes holds the codes of the login session, and two cookies with the
//! realm's path bind it to the browser.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::header::{AUTHORIZATION, COOKIE, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::json;
use symbolon_crypto::{digest, encoding};
use url::form_urlencoded;

pub(crate) struct Keycloak {
    address: SocketAddr,
    next: AtomicU64,
    refuses: AtomicBool,
    data: Mutex<Data>,
}

#[derive(Default)]
struct Data {
    /// Authorization requests by the code of their login session.
    sessions: HashMap<String, HashMap<String, String>>,
    /// Challenge and user by authorization code.
    codes: HashMap<String, (String, String)>,
    logins: BTreeMap<String, u64>,
}

type Fields = HashMap<String, String>;

impl Keycloak {
    /// Starts one on a thread of its own.
    pub(crate) fn start() -> Arc<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let keycloak = Arc::new(Self {
            address: listener.local_addr().unwrap(),
            next: AtomicU64::new(0),
            refuses: AtomicBool::new(false),
            data: Mutex::default(),
        });
        let realm = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/protocol/openid-connect/auth", get(authorize))
            .route("/login-actions/authenticate", post(authenticate))
            .route("/protocol/openid-connect/token", post(token))
            .route("/protocol/openid-connect/userinfo", get(userinfo));
        let router = Router::new().nest("/realms/demo", realm).with_state(Arc::clone(&keycloak));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(listener, router).await.unwrap();
            });
        });
        keycloak
    }

    /// The realm's URL.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/realms/demo", self.address)
    }

    /// No password is right from now on.
    pub(crate) fn refuse(&self) {
        self.refuses.store(true, Ordering::SeqCst);
    }

    /// How often each user has logged in.
    pub(crate) fn logins(&self) -> Vec<(String, u64)> {
        self.data.lock().unwrap().logins.clone().into_iter().collect()
    }

    fn id(&self, prefix: &str) -> String {
        format!("{prefix}{}", self.next.fetch_add(1, Ordering::SeqCst))
    }

    /// The page; its form's action is escaped, as templates do it.
    fn page(&self, session: &str, username: &str) -> String {
        let action = format!(
            "{}/login-actions/authenticate?session_code={session}&execution=e1&client_id=loadtest&tab_id=t1",
            self.url()
        );
        let action = action.replace('&', "&amp;");
        format!(
            r#"<!DOCTYPE html>
<html class="login-pf" lang="en"><head><title>Sign in to demo</title>
<script type="importmap">{{"imports": {{"rfc4648": "/resources/rfc4648.js"}}}}</script></head>
<body><div id="kc-content-wrapper">
<form id="kc-form-login" class="" onsubmit="login.disabled = true; return true;" action="{action}" method="post">
<div class="form-group"><label for="username">Username or email</label>
<input tabindex="2" id="username" class="pf-c-form-control" name="username" value="{username}" type="text" autofocus autocomplete="username" dir="ltr" aria-invalid=""/></div>
<div class="form-group"><div class="pf-c-input-group" dir="ltr">
<input tabindex="3" id="password" class="pf-c-form-control" name="password" type="password" autocomplete="current-password" aria-invalid=""/></div></div>
<div class="checkbox"><label><input tabindex="5" id="rememberMe" name="rememberMe" type="checkbox"> Remember me</label></div>
<input type="hidden" id="id-hidden-input" name="credentialId" />
<input tabindex="7" class="pf-c-button" name="login" id="kc-login" type="submit" value="Sign In"/>
</form></div></body></html>"#
        )
    }
}

fn fields(text: &str) -> Fields {
    form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

async fn discovery(State(keycloak): State<Arc<Keycloak>>) -> Response {
    let url = keycloak.url();
    let endpoint = |name: &str| format!("{url}/protocol/openid-connect/{name}");
    let metadata = json!({
        "issuer": url, "authorization_endpoint": endpoint("auth"), "token_endpoint": endpoint("token"),
        "userinfo_endpoint": endpoint("userinfo"), "jwks_uri": endpoint("certs"),
    });
    ([("content-type", "application/json")], metadata.to_string()).into_response()
}

async fn authorize(State(keycloak): State<Arc<Keycloak>>, RawQuery(query): RawQuery) -> Response {
    let session = keycloak.id("session-");
    keycloak.data.lock().unwrap().sessions.insert(session.clone(), fields(&query.unwrap()));
    let mut response = Html(keycloak.page(&session, "")).into_response();
    for name in ["AUTH_SESSION_ID", "KC_RESTART"] {
        let cookie = format!("{name}={session};Version=1;Path=/realms/demo/;HttpOnly;SameSite=None");
        response.headers_mut().append(SET_COOKIE, cookie.parse().unwrap());
    }
    response
}

async fn authenticate(
    State(keycloak): State<Arc<Keycloak>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: String,
) -> Response {
    let (query, form) = (fields(&query.unwrap()), fields(&body));
    let session = &query["session_code"];
    assert_eq!(headers[COOKIE], format!("AUTH_SESSION_ID={session}; KC_RESTART={session}"));
    let names: std::collections::BTreeSet<_> = form.keys().map(String::as_str).collect();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["credentialId", "password", "username"]);
    let user = form["username"].clone();
    if keycloak.refuses.load(Ordering::SeqCst) || form["password"] != format!("{user}-password") {
        return Html(keycloak.page(session, &user)).into_response();
    }
    let request = keycloak.data.lock().unwrap().sessions.remove(session).unwrap();
    let code = keycloak.id("code.");
    let mut data = keycloak.data.lock().unwrap();
    *data.logins.entry(user.clone()).or_default() += 1;
    data.codes.insert(code.clone(), (request["code_challenge"].clone(), user));
    let location =
        format!("{}?state={}&session_state=s&code={code}", request["redirect_uri"], request["state"]);
    (StatusCode::FOUND, [(LOCATION, location)]).into_response()
}

async fn token(State(keycloak): State<Arc<Keycloak>>, body: String) -> Response {
    let form = fields(&body);
    assert_eq!((&*form["grant_type"], &*form["client_id"]), ("authorization_code", "loadtest"));
    let (challenge, user) = keycloak.data.lock().unwrap().codes.remove(&form["code"]).unwrap();
    // RFC 7636 4.6.
    assert_eq!(encoding::encode(&digest::sha256(&[form["code_verifier"].as_bytes()])), challenge);
    let answer = json!({
        "access_token": format!("access-token-of-{user}"), "token_type": "Bearer", "expires_in": 300,
        "id_token": "e.y.J", "scope": "openid profile email",
    });
    ([("content-type", "application/json")], answer.to_string()).into_response()
}

async fn userinfo(headers: HeaderMap) -> Response {
    let token = headers[AUTHORIZATION].to_str().unwrap();
    let user = token.strip_prefix("Bearer access-token-of-").unwrap();
    let answer = json!({ "sub": format!("id-of-{user}"), "preferred_username": user });
    ([("content-type", "application/json")], answer.to_string()).into_response()
}
