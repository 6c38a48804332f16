//! A provider that is down.

use std::time::Duration;

use serde_json::json;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_testkit::{Answer, Browser, RelyingParty, Signing, TestServer};

use super::fake::{Fake, ok};
use super::{add, at_login, claims, options, parameter};
use crate::login::hidden;

const METADATA: &str = "/.well-known/openid-configuration";

fn broken() -> (String, String) {
    ("503 Service Unavailable".to_owned(), String::new())
}

/// Presses the button; the answer and its browser.
fn pressed(server: &TestServer, rp: &RelyingParty) -> (Browser, Answer) {
    let browser = server.browser();
    let (transaction, csrf) = hidden(&at_login(&browser, &rp.authorization_request()));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("provider", "acme")];
    let answer = browser.post("/login/provider", &form);
    (browser, answer)
}

/// Metadata that cannot be read are asked for by one person in half a minute; the others are told at once.
#[test]
fn metadata_of_a_provider_that_is_down_are_not_asked_for_by_everybody() {
    let fake = Fake::start(&json!({ "keys": [] }));
    fake.set(METADATA, broken());
    let server = TestServer::start_with(options().one_node());
    let asked = || fake.requests(METADATA).len();
    add(&server, "acme", json!({ "issuer": fake.issuer }));
    let rp = RelyingParty::register(&server, json!({}));
    for _ in 0..3 {
        let (_, told) = pressed(&server, &rp);
        assert_eq!(told.status, 502, "{told:?}");
        assert!(told.body.contains("Continue with <bdi>Acme</bdi>"), "{}", told.body);
    }
    assert_eq!(asked(), 1);
    server.clock.advance(Duration::from_secs(30));
    assert_eq!((pressed(&server, &rp).1.status, asked()), (502, 2));
    assert_eq!((pressed(&server, &rp).1.status, asked()), (502, 2), "the time begins anew");

    fake.set(METADATA, ok(&fake.metadata()));
    assert_eq!((pressed(&server, &rp).1.status, asked()), (502, 2));
    // Whoever mends the settings need not wait.
    let renamed = server.admin("PATCH", "/identity-providers/acme", Some(json!({ "name": "Acme" })));
    assert_eq!(renamed.status, 200, "{renamed:?}");
    assert_eq!((pressed(&server, &rp).1.status, asked()), (303, 3));
}

/// The same of keys: the answer of the provider is good as soon as they can be read.
#[test]
fn keys_of_a_provider_that_is_down_are_not_asked_for_by_everybody() {
    let key = Signing::generate(Algorithm::EdDsa);
    let fake = Fake::start(&key.jwks());
    fake.set("/jwks", broken());
    let server = TestServer::start_with(options().one_node());
    add(&server, "acme", json!({ "issuer": fake.issuer, "sign_up": true }));
    let rp = RelyingParty::register(&server, json!({}));
    let (browser, request) = (server.browser(), rp.authorization_request());
    let to = super::press(&browser, &at_login(&browser, &request), "acme");
    let of = |name: &str| parameter(&to, name).unwrap_or_else(|| panic!("no {name} in {to}"));
    let (state, nonce, now) = (of("state"), of("nonce"), server.now().seconds());
    let truth = json!({
        "iss": fake.issuer, "aud": "us", "sub": "s1", "nonce": nonce, "iat": now, "exp": now + 300,
    });
    fake.say(&key.jwt("JWT", &truth));
    let back = || browser.get(&format!("/login/callback/acme?code=c&state={state}"));
    assert_eq!((back().status, back().status), (502, 502));
    assert_eq!(fake.requests("/jwks").len(), 1);
    fake.set("/jwks", ok(&key.jwks()));
    assert_eq!(back().status, 502);
    server.clock.advance(Duration::from_secs(30));
    let done = back();
    assert!(claims(&rp, &request, &done)["sub"].is_string());
    assert_eq!(fake.requests("/jwks").len(), 2);
}
