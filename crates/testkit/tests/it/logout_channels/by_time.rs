//! A session that ends by itself is told like any other, although no browser comes back.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_testkit::{Browser, RelyingParty, TestServer, TokenSet};

use super::application::{Application, happened, options, records, sid, wait_for};

/// How long the sessions of these tests live.
const LIVES: Duration = Duration::from_secs(7_200);

/// A person who is signed in at an application that wants to be told, and at one that does not.
struct Held {
    server: TestServer,
    application: Application,
    client: RelyingParty,
    browser: Browser,
    tokens: TokenSet,
}

impl Held {
    fn on(server: TestServer) -> Self {
        let application = Application::start();
        let client = application.register(&server);
        let silent = RelyingParty::register(&server, json!({}));
        let (_, browser) = server.signed_in("ann@example.com");
        silent.sign_in(&browser);
        let tokens = client.sign_in(&browser);
        Self { server, application, client, browser, tokens }
    }

    fn sid(&self) -> String {
        sid(self.tokens.id_token.as_deref().unwrap())
    }

    /// It was told once, of this session, and will not be told again.
    fn assert_told_once(&self, server: &TestServer, why: &str) {
        let claims = self.application.claims(1);
        wait_for("the note of it", || happened(server, "session.ended") == 1);
        let silent = self.browser.get(&self.client.authorization_request().with("prompt", "none").path());
        assert_eq!(silent.redirected("error").as_deref(), Some("login_required"));
        let ended = records(server, "session.ended");
        assert_eq!((ended.len(), &ended[0]["detail"]), (1, &json!({ "reason": why })));
        assert_eq!(ended[0]["actor"], "system");
        assert_eq!((claims.len(), &claims[0]["sid"]), (1, &json!(self.sid())));
        assert_eq!(self.application.requests().len(), 1, "once");
    }
}

#[test]
fn a_session_that_expires_is_told_although_nobody_comes_back() {
    let held = Held::on(TestServer::start_with(options()));
    let active = |token: &str| held.client.post("/introspect", &[("token", token)]).json()["active"].clone();
    let clients = held.server.admin("GET", &format!("/sessions/{}", held.sid()), None);
    assert_eq!(clients.json()["session"]["clients"].as_array().map(Vec::len), Some(2), "{clients:?}");
    held.server.clock.advance(LIVES - Duration::from_secs(1));
    let exchanged = held.client.sign_in(&held.browser);
    held.server.clock.advance(Duration::from_secs(1));
    held.assert_told_once(&held.server, "expired");
    assert_eq!(active(&exchanged.access_token), Value::Bool(false), "what hangs on it has ended, too");
}

#[test]
fn a_session_that_is_idle_is_told_and_one_that_is_used_goes_on() {
    let server = TestServer::start_with(options());
    let idle = json!({ "lifetimes": { "session_idle": 600 } });
    assert_eq!(server.admin("PATCH", "/settings", Some(idle)).status, 200);
    let held = Held::on(server);
    let (_, other) = held.server.signed_in("bob@example.com");
    let of_other = held.client.sign_in(&other);
    held.server.clock.advance(Duration::from_secs(500));
    held.client.sign_in(&other);
    held.server.clock.advance(Duration::from_secs(160));
    held.assert_told_once(&held.server, "idle");
    held.client.sign_in(&other);
    held.server.clock.advance(Duration::from_secs(660));
    assert_eq!(held.application.claims(2)[1]["sid"], sid(of_other.id_token.as_deref().unwrap()));
}

/// Nobody was there when it ended, nor for hours after that.
#[test]
fn an_end_that_nobody_saw_is_told_when_the_provider_is_back() {
    let held = Held::on(TestServer::start_with(options()));
    let Held { server, .. } = held;
    let issuer = server.issuer.clone();
    server.clock.advance(LIVES + Duration::from_secs(20 * 3_600));
    let server = server.restart(options().issuer(&issuer));
    let claims = held.application.claims(1);
    assert_eq!(claims[0]["sid"], sid(held.tokens.id_token.as_deref().unwrap()));
    wait_for("the note of it", || records(&server, "session.ended").len() == 1);
    let server = server.restart(options().issuer(&issuer));
    // The claim of the one that told it is over, if it was not told.
    server.clock.advance(Duration::from_secs(600));
    let (_, browser) = server.signed_in("bob@example.com");
    let tokens = held.application.register(&server).sign_in(&browser);
    server.clock.advance(LIVES);
    let told: Vec<Value> = held.application.claims(2).iter().map(|claims| claims["sid"].clone()).collect();
    let wanted = [&held.tokens, &tokens].map(|tokens| sid(tokens.id_token.as_deref().unwrap()));
    assert_eq!(told, wanted, "each was told once");
}

/// The provider looks at sessions of which somebody is to be told, at those that may be idle, and at no others.
#[test]
fn a_session_of_which_nobody_is_told_ends_in_silence() {
    let server = TestServer::start_with(options());
    let silent = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("carol@example.com");
    silent.sign_in(&browser);
    let held = Held::on(server);
    held.server.clock.advance(LIVES);
    held.application.claims(1);
    wait_for("the note of it", || happened(&held.server, "session.ended") >= 1);
    assert_eq!(records(&held.server, "session.ended").len(), 1);
}
