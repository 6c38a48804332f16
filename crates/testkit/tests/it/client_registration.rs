//! Applications that register themselves as clients (RFC 7591), and manage their registration (RFC 7592).

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use symbolon_protocol::client::Client;
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_server::jobs;
use symbolon_testkit::{
    Answer, Browser, Options, RelyingParty, TestServer, TokenSet, decode_jwt, is_clustered,
};

use crate::login::hidden;

const REGISTER: &str = "/connect/register";
const DAY: Duration = Duration::from_secs(86_400);

fn set(server: &TestServer, settings: Value) {
    let answer = server.admin("PATCH", "/settings", Some(settings));
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// A server at which everybody may register.
fn open() -> TestServer {
    let server = TestServer::start();
    set(&server, json!({ "client_registration": "open" }));
    server
}

fn send(server: &TestServer, method: &str, path: &str, token: Option<&str>, body: &Value) -> Answer {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers = vec![("content-type", "application/json"), ("origin", "https://app.example")];
    headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let answer = server.browser().send(method, path, &headers, body.as_bytes());
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{method} {path}: {answer:?}");
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{method} {path}: {answer:?}");
    answer
}

fn least() -> Value {
    json!({ "redirect_uris": ["https://rp.example/callback"] })
}

/// A registration that was answered.
struct Own {
    told: Value,
    token: String,
    path: String,
}

impl Own {
    fn of(answer: &Answer) -> Self {
        assert_eq!(answer.status, 201, "{answer:?}");
        let told = answer.json();
        let token = told["registration_access_token"].as_str().unwrap().to_owned();
        let path = format!("{REGISTER}/{}", told["client_id"].as_str().unwrap());
        assert!(told["registration_client_uri"].as_str().unwrap().ends_with(&path), "{told}");
        Self { told, token, path }
    }

    fn register(server: &TestServer, metadata: &Value) -> Self {
        Self::of(&send(server, "POST", REGISTER, None, metadata))
    }

    fn id(&self) -> &str {
        self.told["client_id"].as_str().unwrap()
    }

    fn relying_party(&self, server: &TestServer) -> RelyingParty {
        let uri = self.told["redirect_uris"][0].as_str().unwrap();
        RelyingParty::known(server, self.id(), self.told["client_secret"].as_str(), uri)
    }
}

/// The person is asked, allows it, and the application gets tokens.
fn sign_in(rp: &RelyingParty, browser: &Browser) -> TokenSet {
    let request = rp.authorization_request().with("scope", "openid profile email offline_access");
    let asked = browser.get(&request.path());
    assert!(asked.location().starts_with("/consent?"), "a stranger's client needs consent: {asked:?}");
    let (transaction, csrf) = hidden(&browser.get(&asked.location()));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("decision", "allow")];
    let code = browser.post("/consent", &form).redirected("code").expect("a code");
    TokenSet::of(&rp.redeem(&code, &request.verifier))
}

fn stored(server: &TestServer, id: &str) -> Option<Arc<Client>> {
    let id = ClientId::parse(id).unwrap();
    server.block_on(server.app.store.client(&IssuerId::default_issuer(), &id)).unwrap()
}

#[test]
fn nobody_registers_where_it_is_off() {
    let server = TestServer::start();
    let discovery = || server.browser().get("/.well-known/openid-configuration").json();
    assert!(discovery()["registration_endpoint"].is_null());
    assert_eq!(send(&server, "POST", REGISTER, None, &least()).status, 403);
    set(&server, json!({ "client_registration": "open" }));
    assert_eq!(discovery()["registration_endpoint"], format!("{}{REGISTER}", server.issuer));
    let own = Own::register(&server, &least());
    set(&server, json!({ "client_registration": null }));
    for method in ["GET", "DELETE"] {
        let answer = send(&server, method, &own.path, Some(&own.token), &Value::Null);
        assert_eq!((answer.status, answer.error().as_str()), (403, "access_denied"), "{method}");
    }
    assert!(stored(&server, own.id()).is_some());
}

#[test]
fn an_application_registers_signs_people_in_and_manages_its_registration() {
    let server = open();
    let mut metadata = least();
    metadata["client_name"] = json!("Shop");
    metadata["client_name#de"] = json!("Laden");
    metadata["grant_types"] = json!(["authorization_code", "refresh_token"]);
    metadata["unheard_of"] = json!([1]);
    let own = Own::register(&server, &metadata);
    assert_eq!((&own.told["client_secret_expires_at"], &own.told["unheard_of"]), (&json!(0), &Value::Null));
    assert_eq!(own.told["client_id_issued_at"], server.now().seconds());
    let rp = own.relying_party(&server);
    let (_, browser) = server.signed_in("ann@example.com");
    let asked = browser.get(&rp.authorization_request().path());
    let german = browser.get_with(&asked.location(), &[("accept-language", "de")]);
    assert!(german.body.contains("Laden"), "{german:?}");
    let tokens = sign_in(&rp, &browser);
    let refresh_token = tokens.refresh_token.expect("a refresh token");

    let read = send(&server, "GET", &own.path, Some(&own.token), &Value::Null);
    let mut expected = own.told.clone();
    for once in ["client_secret", "client_secret_expires_at"] {
        expected.as_object_mut().unwrap().remove(once);
    }
    assert_eq!((read.status, read.json()), (200, expected));

    let mut changed = own.told.clone();
    changed["redirect_uris"] = json!(["https://rp.example/other"]);
    changed.as_object_mut().unwrap().remove("client_name#de");
    let answer = send(&server, "PUT", &own.path, Some(&own.token), &changed);
    assert_eq!(
        (answer.status, &answer.json()["redirect_uris"]),
        (200, &changed["redirect_uris"]),
        "{answer:?}"
    );
    assert!(answer.json()["client_name#de"].is_null(), "what is left out is gone");
    assert_eq!(answer.json()["registration_access_token"], own.token, "it stays");
    assert_eq!(browser.get(&rp.authorization_request().path()).status, 400, "the URI before");
    let tokens = TokenSet::of(&rp.refresh(&refresh_token));

    let gone = send(&server, "DELETE", &own.path, Some(&own.token), &Value::Null);
    assert_eq!((gone.status, gone.body.as_str()), (204, ""));
    assert_eq!(send(&server, "GET", &own.path, Some(&own.token), &Value::Null).status, 401);
    let bearer = format!("Bearer {}", tokens.access_token);
    assert_eq!(server.browser().get_with("/userinfo", &[("authorization", &bearer)]).status, 401);
    assert_eq!(rp.refresh(&tokens.refresh_token.unwrap()).error(), "invalid_client");

    server.drain_audit();
    for event in ["client.created", "client.updated", "client.deleted"] {
        let records = server.admin("GET", &format!("/audit-logs?event={event}"), None).json();
        let of_client = |record: &&Value| record["client"] == own.told["client_id"];
        let records = records["audit_logs"].as_array().unwrap().clone();
        let record = records.iter().find(of_client).unwrap_or_else(|| panic!("no {event}: {records:?}"));
        assert_eq!((&record["actor"], &record["detail"]["by"]), (&json!("client"), &json!("registration")));
        for secret in [own.token.as_str(), own.told["client_secret"].as_str().unwrap()] {
            assert!(!record.to_string().contains(secret), "{record}");
        }
    }
}

#[test]
fn a_public_client_on_a_device_registers_with_a_loopback_address() {
    let server = open();
    let own = Own::register(
        &server,
        &json!({
            "client_name": "Tools", "redirect_uris": ["http://127.0.0.1:33418/callback", "http://localhost:33418/callback"],
            "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        }),
    );
    assert_eq!((&own.told["application_type"], &own.told["client_secret"]), (&json!("native"), &Value::Null));
    let (_, browser) = server.signed_in("ann@example.com");
    let mut rp = own.relying_party(&server);
    rp.redirect_uri = "http://127.0.0.1:50123/callback".to_owned();
    sign_in(&rp, &browser);
    let without = rp.authorization_request().without("code_challenge").without("code_challenge_method");
    assert_eq!(browser.get(&without.path()).redirected("error").as_deref(), Some("invalid_request"), "PKCE");
}

#[test]
fn a_wrong_token_and_an_unknown_client_look_the_same() {
    let server = open();
    let (own, other) = (Own::register(&server, &least()), Own::register(&server, &least()));
    let of_admin = RelyingParty::register(&server, json!({}));
    let known = format!("{REGISTER}/{}", of_admin.client_id);
    let body = json!({ "client_id": own.told["client_id"], "redirect_uris": ["https://evil.example/"] });
    for (method, body) in [("GET", Value::Null), ("PUT", body), ("DELETE", Value::Null)] {
        let mut seen = Vec::new();
        for (path, token) in [
            (own.path.as_str(), other.token.as_str()),
            (&own.path, "rat_"),
            (&own.path, own.told["client_secret"].as_str().unwrap()),
            (&known, &own.token),
            ("/connect/register/nobody", &own.token),
            ("/connect/register/%00", &own.token),
        ] {
            let answer = send(&server, method, path, Some(token), &body);
            let challenge = answer.header("www-authenticate").map(str::to_owned);
            assert!(
                challenge.as_deref().is_some_and(|text| text.starts_with("Bearer ")),
                "{path}: {answer:?}"
            );
            seen.push((answer.status, challenge, answer.body));
        }
        assert!(seen.iter().all(|one| one.0 == 401 && *one == seen[0]), "{method}: {seen:?}");
        let none = send(&server, method, &own.path, None, &body);
        assert_eq!((none.status, none.header("www-authenticate")), (401, Some("Bearer realm=\"symbolon\"")));
    }
    assert_eq!(send(&server, "GET", &own.path, Some(&own.token), &Value::Null).status, 200, "untouched");
    let answer = server.browser().send("POST", &own.path, &[], b"");
    assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD, PUT, DELETE, OPTIONS")));
}

#[test]
fn no_stranger_sets_what_only_an_administrator_may() {
    let server = open();
    let mut greedy = least();
    for (name, value) in [
        ("client_id", json!("admin")),
        ("client_secret", json!("a-secret-of-more-than-thirty-two-characters")),
        ("skip_consent", json!(true)),
        ("is_trusted", json!(true)),
        ("token_exchange_allowed", json!(true)),
        ("audiences", json!(["https://api.example"])),
        ("access_token_audiences", json!(["https://api.example"])),
        ("allowed_redirect_origins", json!(["https://evil.example"])),
        ("redirect_uri_forms", json!(["wildcard_host"])),
        ("settings", json!({ "access_token_lifetime": 86_400 })),
        ("pkce", json!("optional")),
        ("branding", json!({ "name": "The bank" })),
        ("scope", json!("openid groups roles")),
        ("grant_types", json!(["authorization_code", "client_credentials"])),
    ] {
        greedy[name] = value;
    }
    let own = Own::register(&server, &greedy);
    let path = format!("/clients/{}", own.id());
    let shown = || server.admin("GET", &path, None).json()["client"].clone();
    let client = shown();
    assert!(own.id().starts_with('c') && own.told["client_secret"] != greedy["client_secret"]);
    assert_eq!((&client["skip_consent"], &client["is_trusted"]), (&json!(false), &json!(false)));
    assert_eq!((&client["audiences"], &client["settings"]), (&json!([]), &json!({})));
    assert_eq!((&client["access_token_audiences"], &client["branding"]), (&json!([]), &Value::Null));
    assert_eq!(client["allowed_redirect_origins"], json!([]));
    assert_eq!(
        (&client["scope"], &client["grant_types"]),
        (&json!("openid"), &json!(["authorization_code"]))
    );
    // What an administrator sets then, the client neither sees nor takes away.
    let given = json!({ "skip_consent": true, "settings": { "pkce": "required" }, "scope": "openid groups" });
    assert_eq!(server.admin("PATCH", &path, Some(given)).status, 200);
    greedy["client_id"] = own.told["client_id"].clone();
    greedy["client_secret"] = own.told["client_secret"].clone();
    let changed = send(&server, "PUT", &own.path, Some(&own.token), &greedy);
    assert_eq!((changed.status, &changed.json()["scope"]), (200, &json!("openid groups")), "{changed:?}");
    assert!(changed.json()["skip_consent"].is_null() && changed.json()["settings"].is_null());
    let client = shown();
    assert_eq!((&client["skip_consent"], &client["settings"]["pkce"]), (&json!(true), &json!("required")));
    for (name, value) in [("client_id", json!("other")), ("client_secret", json!("chosen-by-the-client"))] {
        let mut body = greedy.clone();
        body[name] = value;
        let refused = send(&server, "PUT", &own.path, Some(&own.token), &body);
        assert_eq!((refused.status, refused.error().as_str()), (400, "invalid_client_metadata"), "{name}");
    }
}

#[test]
fn bodies_that_are_no_registration_are_refused() {
    let server = open();
    for (body, code) in [
        (json!([]), "invalid_client_metadata"),
        (json!({}), "invalid_redirect_uri"),
        (json!({ "redirect_uris": ["http://rp.example/"] }), "invalid_redirect_uri"),
        (json!({ "redirect_uris": ["https://rp.example/#f"] }), "invalid_redirect_uri"),
        (json!({ "redirect_uris": ["https://rp.example\\@evil.example/"] }), "invalid_redirect_uri"),
        (json!({ "redirect_uris": ["https://rp.example/", "data:text/html,x"] }), "invalid_redirect_uri"),
        (
            json!({ "redirect_uris": ["https://rp.example/"], "jwks_uri": "http://rp.example/k" }),
            "invalid_client_metadata",
        ),
    ] {
        let answer = send(&server, "POST", REGISTER, None, &body);
        assert_eq!((answer.status, answer.error().as_str()), (400, code), "{body}");
    }
    let kind = [("content-type", "text/plain")];
    assert_eq!(server.browser().send("POST", REGISTER, &kind, b"{}").status, 415);
    let long = json!({ "redirect_uris": ["https://rp.example/"], "x": "x".repeat(70_000) });
    assert_eq!(send(&server, "POST", REGISTER, None, &long).status, 413);
}

#[test]
fn there_are_only_so_many_clients_and_so_many_tries() {
    let server = open();
    let known = server.admin("GET", "/clients", None).json()["pagination"]["total"].as_u64().unwrap();
    set(&server, json!({ "client_registration_most_clients": known + 1 }));
    Own::register(&server, &least());
    let full = send(&server, "POST", REGISTER, None, &least());
    assert_eq!((full.status, full.error().as_str()), (403, "access_denied"), "{full:?}");
    drop(server);
    let limited = Options::default()
        .one_node()
        .env("SYMBOLON_RATE_LIMITS", "on")
        .env("SYMBOLON_RATE_LIMIT_CLIENT_REGISTRATION_ADDRESS", "2/m");
    let server = TestServer::start_with(limited);
    set(&server, json!({ "client_registration": "open" }));
    let own = Own::register(&server, &least());
    assert_eq!(send(&server, "GET", &own.path, Some("rat_wrong"), &Value::Null).status, 401);
    assert_eq!(send(&server, "GET", &own.path, Some(&own.token), &Value::Null).status, 429);
    assert_eq!(send(&server, "POST", REGISTER, None, &least()).status, 429);
}

#[test]
fn where_a_token_is_asked_for_it_ends_by_use_by_time_and_by_the_setting() {
    let server = TestServer::start();
    set(&server, json!({ "client_registration": "initial_access_token" }));
    let make = |body: Value| {
        let answer = server.admin("POST", "/initial-access-tokens", Some(body));
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["initial_access_token"].as_str().unwrap().to_owned()
    };
    let register = |token: Option<&str>, body: &Value| send(&server, "POST", REGISTER, token, body);
    assert_eq!(register(None, &least()).header("www-authenticate"), Some("Bearer realm=\"symbolon\""));
    assert_eq!(register(Some("iat_AQAA"), &least()).error(), "invalid_token");
    let twice = make(json!({ "uses": 2 }));
    assert_eq!(register(Some(&twice), &json!({})).status, 400, "a refused registration uses nothing up");
    let first = Own::of(&register(Some(&twice), &least()));
    Own::of(&register(Some(&twice), &least()));
    assert_eq!(register(Some(&twice), &least()).status, 401, "used up");
    // What manages one client registers no other.
    assert_eq!(register(Some(&first.token), &least()).status, 401);
    let short = make(json!({ "expires_in": 60 }));
    for _ in 0..3 {
        Own::of(&register(Some(&short), &least()));
    }
    server.clock.advance(Duration::from_secs(60));
    assert_eq!(register(Some(&short), &least()).status, 401, "expired");
    let withdrawn = make(json!({}));
    let from = server.now().millis() + 1;
    set(&server, json!({ "client_registration_tokens_from": from }));
    assert_eq!(register(Some(&withdrawn), &least()).status, 401, "made before");
    server.clock.advance(Duration::from_secs(1));
    Own::of(&register(Some(&make(json!({}))), &least()));
    for bad in [json!({ "uses": 0 }), json!({ "uses": 21 }), json!({ "expires_in": 59 }), json!({ "use": 1 })]
    {
        assert_eq!(server.admin("POST", "/initial-access-tokens", Some(bad.clone())).status, 400, "{bad}");
    }
}

/// MCP: an agent that nobody registered gets a token for the server that it is to call, and for no other.
#[test]
fn an_application_that_registered_itself_names_the_resources_of_the_issuers_choice() {
    const TOOLS: &str = "https://tools.example/mcp";
    let server = open();
    set(&server, json!({ "client_registration_resources": [TOOLS] }));
    let mut metadata = least();
    metadata["grant_types"] = json!(["authorization_code", "refresh_token"]);
    let rp = Own::register(&server, &metadata).relying_party(&server);
    let (_, browser) = server.signed_in("ann@example.com");
    let asked = |resource: &str| {
        let request = rp.authorization_request().with("resource", resource);
        (browser.get(&request.path()), request.verifier)
    };
    let other = asked("https://other.example/mcp").0;
    assert_eq!(other.redirected("error").as_deref(), Some("invalid_target"), "{other:?}");
    let (page, verifier) = asked(TOOLS);
    let (transaction, csrf) = hidden(&browser.get(&page.location()));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("decision", "allow")];
    let code = browser.post("/consent", &form).redirected("code").expect("a code");
    let tokens = TokenSet::of(&rp.redeem(&code, &verifier));
    assert_eq!(decode_jwt(&tokens.access_token).1["aud"], json!(TOOLS));

    // Who named none gets a token for the issuer alone, and what is taken off the list ends at the next refresh.
    let unnamed = sign_in(&rp, &browser);
    assert_eq!(decode_jwt(&unnamed.access_token).1["aud"], json!(server.issuer));
    set(&server, json!({ "client_registration_resources": null }));
    let refresh_token = tokens.refresh_token.expect("a refresh token");
    let refresh = [("grant_type", "refresh_token"), ("refresh_token", &*refresh_token)];
    assert_eq!(rp.token(&refresh).error(), "invalid_target");
    let of_admin = RelyingParty::register(&server, json!({}));
    set(&server, json!({ "client_registration_resources": [TOOLS] }));
    let request = of_admin.authorization_request().with("resource", TOOLS);
    let refused = browser.get(&request.path());
    assert_eq!(
        refused.redirected("error").as_deref(),
        Some("invalid_target"),
        "an administrator's client has its own"
    );
}

#[test]
fn pages_of_every_origin_may_register() {
    let server = open();
    for (path, methods) in
        [(REGISTER, "POST, OPTIONS"), ("/connect/register/x", "GET, HEAD, PUT, DELETE, OPTIONS")]
    {
        let headers = [
            ("origin", "https://app.example"),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "authorization,content-type"),
        ];
        let answer = server.browser().send("OPTIONS", path, &headers, b"");
        assert_eq!((answer.status, answer.header("access-control-allow-methods")), (204, Some(methods)));
        assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example"), "{path}");
        assert_eq!(answer.header("access-control-allow-headers"), Some("authorization,content-type"));
    }
}

#[test]
fn an_unused_registration_goes_and_a_used_one_stays() {
    if is_clustered() {
        // Another process waits for every listener there.
        return;
    }
    let server = open();
    let of_admin = RelyingParty::register(&server, json!({}));
    let unused = Own::register(&server, &least());
    let mut public = least();
    public["token_endpoint_auth_method"] = json!("none");
    let used = Own::register(&server, &public);
    let (_, browser) = server.signed_in("ann@example.com");
    sign_in(&used.relying_party(&server), &browser);
    until(|| {
        stored(&server, used.id())
            .is_some_and(|client| client.dynamic_registration.as_deref().is_some_and(|own| !own.is_new()))
    });
    server.clock.advance(DAY * 30);
    let job = server.another(&server.issuer);
    server.block_on(job.load_issuers()).unwrap();
    let (stop, stopping) = tokio::sync::watch::channel(false);
    let jobs = server.block_on(async { jobs::spawn(Arc::clone(&job), None, stopping) });
    until(|| stored(&server, unused.id()).is_none());
    stop.send_replace(true);
    server.block_on(jobs.finish());
    assert!(stored(&server, used.id()).is_some() && stored(&server, &of_admin.client_id).is_some());
}

/// Waits for what happens beside the requests.
fn until(is_so: impl Fn() -> bool) {
    let looks = (0..12_000).find(|_| {
        std::thread::sleep(Duration::from_millis(10));
        is_so()
    });
    assert!(looks.is_some(), "it did not happen");
}
