//! A session that nobody uses ends, where the issuer says so.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_testkit::{Answer, Browser, RelyingParty, TestServer, TokenSet, decode_jwt};

use crate::login::Scene;
use crate::mail::wait_for;

/// How long sessions may be idle in these tests.
const IDLE: Duration = Duration::from_secs(600);

/// A last use that is not written may be a minute younger than the one that is.
const UNWRITTEN: Duration = Duration::from_secs(60);

fn set_idle(server: &TestServer, seconds: u64) -> Answer {
    server.admin("PATCH", "/settings", Some(json!({ "lifetimes": { "session_idle": seconds } })))
}

fn silent(rp: &RelyingParty, browser: &Browser) -> Result<String, String> {
    let answer = browser.get(&rp.authorization_request().with("prompt", "none").path());
    answer.redirected("code").ok_or_else(|| answer.redirected("error").expect("an answer"))
}

fn is_active(rp: &RelyingParty, token: &str) -> Value {
    rp.post("/introspect", &[("token", token)]).json()["active"].clone()
}

#[test]
fn a_session_that_nobody_used_ends_everywhere() {
    let server = TestServer::start();
    assert_eq!(set_idle(&server, IDLE.as_secs()).status, 200);
    let rp = RelyingParty::register(&server, json!({}));
    let (user, browser) = server.signed_in("ann@example.com");
    let online = rp.authorization_request().with("scope", "openid");
    let tokens = rp.sign_in_with(&browser, online);
    let offline =
        rp.sign_in_with(&browser, rp.authorization_request().with("scope", "openid offline_access"));
    let sid = decode_jwt(tokens.id_token.as_deref().unwrap()).1["sid"].as_str().unwrap().to_owned();
    // Whoever uses it keeps it.
    for _ in 0..3 {
        server.clock.advance(IDLE - Duration::from_secs(1));
        silent(&rp, &browser).expect("a code");
    }
    let listed = || {
        let of_user = server.admin("GET", &format!("/users/{user}/sessions"), None).json();
        let one = server.admin("GET", &format!("/sessions/{sid}"), None).status;
        (of_user["pagination"]["total"].clone(), one)
    };
    server.clock.advance(IDLE + UNWRITTEN - Duration::from_secs(1));
    assert_eq!(listed(), (json!(1), 200), "looking at it is no use, and does not end it");
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(listed(), (json!(0), 404));
    // The job that looks for such sessions ends what hangs on it, though no browser comes back.
    wait_for("its end", || server.counted("symbolon_events_total{event=\"session.ended\"}") == 1);
    let refresh = |tokens: &TokenSet| rp.refresh(tokens.refresh_token.as_deref().unwrap());
    assert_eq!(refresh(&tokens).error(), "invalid_grant", "it is bound to the session");
    assert_eq!(refresh(&offline).status, 200, "it outlives every session");
    assert_eq!(silent(&rp, &browser).expect_err("no session"), "login_required");
    assert_eq!(is_active(&rp, &tokens.access_token), false);
    let account = browser.get("/account");
    assert!(matches!(account.status, 302 | 303), "the account pages ask for a sign-in, too: {account:?}");
    server.drain_audit();
    let ended = server.admin("GET", "/audit-logs?event=session.ended", None).json();
    assert_eq!(ended["audit_logs"].as_array().unwrap().len(), 1, "{ended}");
    assert_eq!(ended["audit_logs"][0]["detail"], json!({ "reason": "idle" }));
}

#[test]
fn a_refresh_is_no_use_of_the_session() {
    let server = TestServer::start();
    assert_eq!(set_idle(&server, IDLE.as_secs()).status, 200);
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("ann@example.com");
    let tokens = rp.sign_in_with(&browser, rp.authorization_request().with("scope", "openid"));
    server.clock.advance(IDLE / 2 + UNWRITTEN);
    assert_eq!(rp.refresh(tokens.refresh_token.as_deref().unwrap()).status, 200);
    server.clock.advance(IDLE / 2);
    assert_eq!(silent(&rp, &browser).expect_err("no session"), "login_required");
}

/// A session keeps the rule under which it began, whether by the pages or by an administrator.
#[test]
fn the_setting_is_that_of_sessions_that_begin_under_it() {
    let scene = Scene::new();
    let rp = RelyingParty::register(&scene.server, json!({}));
    let (_, before) = scene.server.signed_in("before@example.com");
    assert_eq!(set_idle(&scene.server, IDLE.as_secs()).status, 200);
    let (under, _) = scene.signed_in();
    assert_eq!(set_idle(&scene.server, 0).status, 200);
    let (_, after) = scene.server.signed_in("after@example.com");
    scene.server.clock.advance(IDLE + UNWRITTEN);
    for (browser, is_live) in [(&before, true), (&under, false), (&after, true)] {
        assert_eq!(silent(&rp, browser).is_ok(), is_live);
    }
}

#[test]
fn a_span_that_means_nothing_is_refused() {
    let server = TestServer::start();
    let shown =
        server.admin("GET", "/settings", None).json()["settings"]["lifetimes"]["session_idle"].clone();
    assert_eq!(shown, json!(0), "it is off at first");
    for wrong in [1, 59, 86_401] {
        let refused = set_idle(&server, wrong);
        assert_eq!(refused.status, 400, "{wrong}: {refused:?}");
    }
    for right in [60, 86_400, 0] {
        let set = set_idle(&server, right);
        assert_eq!(set.json()["settings"]["lifetimes"]["session_idle"], json!(right), "{set:?}");
    }
    let shorter = json!({ "lifetimes": { "session": 3_600, "session_idle": 3_601 } });
    assert_eq!(server.admin("PATCH", "/settings", Some(shorter)).status, 400);
}
