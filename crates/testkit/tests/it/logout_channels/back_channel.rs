//! Whatever ends a session, every application that took part gets a logout token.

use std::time::Duration;

use serde_json::json;
use symbolon_testkit::{Browser, RelyingParty, TestServer, TokenSet, decode_jwt};

use super::application::{Application, assert_verifies, happened, options, records, sid, wait_for};
use crate::login::{Scene, hidden};

/// A person who is signed in at two applications that want to be told, and at one that does not.
struct Held {
    server: TestServer,
    applications: [Application; 2],
    clients: [RelyingParty; 2],
    user: String,
    browser: Browser,
    tokens: TokenSet,
}

impl Held {
    fn new() -> Self {
        let server = TestServer::start_with(options());
        let applications = [Application::start(), Application::start()];
        let clients = [applications[0].register(&server), applications[1].register(&server)];
        let silent = RelyingParty::register(&server, json!({}));
        let (user, browser) = server.signed_in("ann@example.com");
        silent.sign_in(&browser);
        let tokens = clients[0].sign_in(&browser);
        clients[1].sign_in(&browser);
        Self { server, applications, clients, user, browser, tokens }
    }

    fn sid(&self) -> String {
        sid(self.tokens.id_token.as_deref().unwrap())
    }

    /// Each application was told once, of this session.
    fn assert_told(&self, how: &str) {
        for (application, client) in self.applications.iter().zip(&self.clients) {
            let claims = application.claims(1);
            assert_eq!(claims.len(), 1, "{how}");
            assert_eq!(
                (&claims[0]["sid"], &claims[0]["sub"], &claims[0]["aud"]),
                (&json!(self.sid()), &json!(self.user), &json!(client.client_id)),
                "{how}"
            );
        }
    }
}

#[test]
fn a_logout_token_is_what_the_specification_says() {
    let held = Held::new();
    let hint = held.tokens.id_token.clone().unwrap();
    assert_eq!(held.browser.get(&format!("/logout?id_token_hint={hint}")).status, 200);
    held.assert_told("the logout page");
    let token = held.applications[0].tokens().remove(0);
    assert_verifies(&held.server, &token);
    let (header, claims) = decode_jwt(&token);
    assert_eq!(header["typ"], "logout+jwt");
    assert_eq!(claims["iss"], held.server.issuer);
    assert_eq!(claims["events"], json!({ "http://schemas.openid.net/event/backchannel-logout": {} }));
    let (iat, exp) = (claims["iat"].as_u64().unwrap(), claims["exp"].as_u64().unwrap());
    assert_eq!((iat, exp - iat), (held.server.now().seconds(), 120));
    assert!(claims["jti"].as_str().unwrap().len() >= 16 && claims.get("nonce").is_none(), "{claims}");
    let other = held.applications[1].claims(1);
    assert_ne!(other[0]["jti"], claims["jti"]);
    let request = held.applications[0].requests().remove(0);
    assert!(request.starts_with("POST /logout?tenant=1 HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("content-type: application/x-www-form-urlencoded\r\n"), "{request}");
    // It is no ID token and no access token.
    let bearer = format!("Bearer {token}");
    assert_eq!(held.server.browser().get_with("/userinfo", &[("authorization", &bearer)]).status, 401);
    wait_for("the notes", || happened(&held.server, "logout.delivered") == 2);
    let delivered = records(&held.server, "logout.delivered");
    assert_eq!(delivered.len(), 2);
    assert_eq!(delivered[0]["detail"], json!({ "sid": held.sid(), "attempts": 1 }));
    assert_eq!((&delivered[0]["user"], &delivered[0]["actor"]), (&json!(held.user), &json!("system")));
}

#[test]
fn a_logout_token_is_no_hint() {
    let held = Held::new();
    let hint = held.tokens.id_token.clone().unwrap();
    held.browser.get(&format!("/logout?id_token_hint={hint}"));
    held.applications[0].claims(1);
    let (_, browser) = held.server.signed_in("bob@example.com");
    held.clients[0].sign_in(&browser);
    let token = held.applications[0].tokens().remove(0);
    let asked = browser.get(&format!("/logout?id_token_hint={token}"));
    assert!(asked.field("csrf_token").is_some(), "the person is asked, as without a hint: {asked:?}");
}

#[test]
fn whatever_an_administrator_ends_is_told() {
    type Deed = fn(&Held);
    let deeds: [(&str, Deed); 4] = [
        ("one session", |held| {
            let path = format!("/sessions/{}", held.sid());
            assert_eq!(held.server.admin("DELETE", &path, None).status, 204);
        }),
        ("all sessions of a user", |held| {
            let path = format!("/users/{}/sessions", held.user);
            assert!(held.server.admin("DELETE", &path, None).status < 300);
        }),
        ("a deactivated user", |held| {
            let path = format!("/users/{}", held.user);
            assert_eq!(held.server.admin("PATCH", &path, Some(json!({ "active": false }))).status, 200);
        }),
        ("a deleted user", |held| {
            let path = format!("/users/{}", held.user);
            assert_eq!(held.server.admin("DELETE", &path, None).status, 204);
        }),
    ];
    for (how, deed) in deeds {
        let held = Held::new();
        deed(&held);
        held.assert_told(how);
    }
}

#[test]
fn a_sign_in_as_somebody_else_in_a_browser_of_one_account_is_told() {
    let scene = Scene::with(options());
    let one = json!({ "accounts_per_browser": 1 });
    assert_eq!(scene.server.admin("PATCH", "/settings", Some(one)).status, 200);
    let application = Application::start();
    let client = application.register(&scene.server);
    let (browser, _) = scene.signed_in();
    let tokens = client.sign_in(&browser);
    let page = scene.at_login(&browser, &scene.rp.authorization_request().with("prompt", "login"));
    let signed_in = Scene::sign_in(&browser, &page, "other@example.com", crate::login::PASSWORD);
    assert_eq!(signed_in.status, 303, "{signed_in:?}");
    let claims = application.claims(1);
    assert_eq!(claims[0]["sid"], sid(tokens.id_token.as_deref().unwrap()));
}

/// The same person signs in again: the session goes on under another `sid`. When it ends, both are told.
#[test]
fn a_session_ends_under_every_sid_that_it_had() {
    let scene = Scene::with(options());
    let application = Application::start();
    let client = application.register(&scene.server);
    let (browser, _) = scene.signed_in();
    let first = client.sign_in(&browser);
    let page = scene.at_login(&browser, &scene.rp.authorization_request().with("prompt", "login"));
    let signed_in = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    assert_eq!(signed_in.status, 303, "{signed_in:?}");
    let second = client.sign_in(&browser);
    std::thread::sleep(Duration::from_millis(300));
    assert!(application.requests().is_empty(), "it goes on");
    let (transaction, csrf) = hidden(&browser.get("/logout"));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("decision", "confirm")];
    assert_eq!(browser.post("/logout/confirm", &form).status, 200);
    let mut told: Vec<String> =
        application.claims(2).iter().map(|claims| claims["sid"].as_str().unwrap().to_owned()).collect();
    let mut expected = [first, second].map(|tokens| sid(tokens.id_token.as_deref().unwrap()));
    told.sort_unstable();
    expected.sort_unstable();
    assert_eq!(told, expected);
}

#[test]
fn a_stolen_refresh_token_is_told_to_its_client_alone() {
    let held = Held::new();
    let stolen = held.tokens.refresh_token.clone().unwrap();
    let second = TokenSet::of(&held.clients[0].refresh(&stolen));
    TokenSet::of(&held.clients[0].refresh(second.refresh_token.as_deref().unwrap()));
    held.server.clock.advance(Duration::from_secs(60));
    assert_eq!(held.clients[0].refresh(&stolen).error(), "invalid_grant");
    let claims = held.applications[0].claims(1);
    assert_eq!((&claims[0]["sid"], &claims[0]["sub"]), (&json!(held.sid()), &json!(held.user)));
    assert!(held.applications[1].requests().is_empty());
    let silent = held.browser.get(&held.clients[1].authorization_request().with("prompt", "none").path());
    assert!(silent.redirected("code").is_some(), "the session goes on");
}

/// The time of a session is over: whoever uses it then ends it.
#[test]
fn an_expired_session_is_told_when_it_is_used() {
    let held = Held::new();
    held.server.clock.advance(Duration::from_secs(7_200 + 60));
    let silent = held.browser.get(&held.clients[0].authorization_request().with("prompt", "none").path());
    assert_eq!(silent.redirected("error").as_deref(), Some("login_required"));
    held.assert_told("its time is over");
    let ended = records(&held.server, "session.ended");
    assert_eq!((ended.len(), &ended[0]["detail"]), (1, &json!({ "reason": "expired" })));
}
