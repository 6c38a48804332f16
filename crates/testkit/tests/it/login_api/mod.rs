//! The login API.

mod email_code;
pub(crate) mod passkey;
pub(crate) mod second_factor;

use serde_json::{Value, json};
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::session::SessionId;
use symbolon_testkit::{Answer, Browser, Options, TestServer};

/// Calls the login API as a page at `origin` does.
fn call(browser: &Browser, origin: &str, path: &str, body: &Value) -> Answer {
    let headers = [("content-type", "application/json"), ("origin", origin)];
    browser.send("POST", &format!("/api/auth{path}"), &headers, body.to_string().as_bytes())
}

/// Creates a user with nothing but an address; the id.
fn user(server: &TestServer, email: &str) -> String {
    let answer = server.admin("POST", "/users", Some(json!({ "email": email, "name": "Ann" })));
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["user"]["id"].as_str().unwrap().to_owned()
}

/// The user of the session that the browser has.
fn signed_in_as(server: &TestServer, browser: &Browser) -> Option<String> {
    let cookie = browser.cookie(&session_cookie(server))?;
    let (issuer, id) = (IssuerId::default_issuer(), SessionId::new(cookie));
    let found = server.block_on(server.app.store.session(&issuer, &id, server.now())).unwrap().in_memory();
    found.map(|session| session.user.to_string())
}

fn session_cookie(server: &TestServer) -> String {
    server.app.issuers.load().by_id(&IssuerId::default_issuer()).unwrap().cookie.clone()
}

/// The `amr` values of the browser's session.
fn amr(server: &TestServer, browser: &Browser) -> Vec<&'static str> {
    let id = SessionId::new(browser.cookie(&session_cookie(server)).unwrap());
    let found = server.block_on(server.app.store.session(&IssuerId::default_issuer(), &id, server.now()));
    found.unwrap().in_memory().unwrap().amr.iter().map(|method| method.as_str()).collect()
}

/// A server without test endpoints, as in production.
fn production() -> TestServer {
    TestServer::start_with(Options::default().env("SYMBOLON_TEST_ENDPOINTS", "false"))
}

fn sessions_of(server: &TestServer, user: &str) -> usize {
    let answer = server.admin("GET", &format!("/users/{user}/sessions"), None);
    answer.json()["sessions"].as_array().unwrap().len()
}

fn enrolled(server: &TestServer, user: &str) -> symbolon_store::port::Enrolled {
    let (issuer, user) = (IssuerId::default_issuer(), UserId::parse(user).unwrap());
    server.block_on(server.app.store.authenticators(&issuer, &user)).unwrap()
}

#[test]
fn only_pages_of_allowed_origins_may_call_it() {
    let server = TestServer::start();
    let (browser, path) = (server.browser(), "/passkey/login/options");
    for origin in ["https://evil.example", "null", "", &server.issuer.replace("http://", "https://")] {
        let refused = call(&browser, origin, path, &json!({}));
        assert_eq!((refused.status, refused.error().as_str()), (403, "access_denied"), "{origin}");
        assert_eq!(refused.header("access-control-allow-origin"), None, "{origin}");
    }
    let without = browser.send(
        "POST",
        "/api/auth/passkey/login/options",
        &[("content-type", "application/json")],
        b"{}",
    );
    assert_eq!(without.status, 403, "{without:?}");
    let own = call(&browser, &server.issuer, path, &json!({}));
    assert_eq!(own.status, 200, "{own:?}");
    let settings = json!({ "login_api_origins": ["https://app.example", "https://*.shop.example.com"] });
    assert_eq!(server.admin("PATCH", "/settings", Some(settings)).status, 200);
    for origin in ["https://app.example", "https://eu.shop.example.com"] {
        let answer = call(&browser, origin, path, &json!({}));
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("access-control-allow-origin"), Some(origin));
        assert_eq!(answer.header("access-control-allow-credentials"), Some("true"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let asked = [("origin", origin), ("access-control-request-method", "POST")];
        let preflight = browser.send("OPTIONS", "/api/auth/passkey/login/options", &asked, b"");
        assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (204, Some(origin)));
        assert_eq!(preflight.header("access-control-allow-credentials"), Some("true"));
    }
    let asked = [("origin", "https://shop.example.com"), ("access-control-request-method", "POST")];
    let preflight = browser.send("OPTIONS", "/api/auth/passkey/login/options", &asked, b"");
    assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (204, None));
}

#[test]
fn bad_bodies_get_a_clear_answer() {
    let server = TestServer::start();
    let browser = server.browser();
    for path in [
        "/email-code/verify",
        "/email-codes/verify",
        "/passkey/login/options",
        "/passkeys/login/verify",
        "/passkeys/register/options",
        "/passkey/register/verify",
        "/second-factor/verify",
    ] {
        let path = format!("/api/auth{path}");
        let origin = ("origin", server.issuer.as_str());
        let form = [("content-type", "application/x-www-form-urlencoded"), origin];
        let answer = browser.send("POST", &path, &form, b"email=a%40example.com");
        assert_eq!(answer.status, 415, "{path}: a page of another site can send a form: {answer:?}");
        let json = [("content-type", "application/json; charset=utf-8"), origin];
        for bad in ["", "{", "[]x", "\"text\"", "{\"email\":7,\"userId\":7,\"challengeId\":7}", "\u{0}"] {
            let answer = browser.send("POST", &path, &json, bad.as_bytes());
            assert_eq!(
                (answer.status, answer.error().as_str()),
                (400, "invalid_request"),
                "{path} {bad:?}: {answer:?}"
            );
        }
        let long = format!("{{\"email\":\"{}\"}}", "a".repeat(100_000));
        assert_eq!(browser.send("POST", &path, &json, long.as_bytes()).status, 413, "{path}");
        assert_eq!(browser.get(&path).status, 405, "{path}");
    }
}
