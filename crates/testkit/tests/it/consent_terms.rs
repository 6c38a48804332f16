//! Consents that are asked for again: the terms are of another version, or the consent is too old.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_testkit::{Answer, Browser, RelyingParty, TestServer};

use crate::login::hidden;

struct Bench {
    server: TestServer,
    rp: RelyingParty,
    browser: Browser,
}

impl Bench {
    /// A person who has consented once.
    fn new() -> Self {
        let server = TestServer::start();
        let rp = RelyingParty::register(&server, json!({ "skip_consent": false }));
        let (_, browser) = server.signed_in("ann@example.com");
        let bench = Self { server, rp, browser };
        assert!(bench.is_asked());
        assert!(bench.consent().redirected("code").is_some());
        bench
    }

    /// Whether the person is asked; a silent request says the same.
    fn is_asked(&self) -> bool {
        let silent = self.browser.get(&self.rp.authorization_request().with("prompt", "none").path());
        let answer = self.browser.get(&self.rp.authorization_request().path());
        let is_asked = answer.location().starts_with("/consent?");
        let expected = if is_asked { Some("consent_required".to_owned()) } else { None };
        assert_eq!(silent.redirected("error"), expected, "{answer:?}");
        is_asked
    }

    fn consent(&self) -> Answer {
        let page = self.browser.get(&self.browser.get(&self.rp.authorization_request().path()).location());
        let (transaction, csrf) = hidden(&page);
        let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("decision", "allow")];
        self.browser.post("/consent", &form)
    }

    fn of_issuer(&self, settings: Value) -> Answer {
        self.server.admin("PATCH", "/settings", Some(settings))
    }

    fn of_client(&self, settings: Value) -> Answer {
        let path = format!("/clients/{}", self.rp.client_id);
        self.server.admin("PATCH", &path, Some(json!({ "settings": settings })))
    }
}

#[test]
fn whoever_raises_a_version_has_people_asked_again_once() {
    let bench = Bench::new();
    assert!(!bench.is_asked());
    for version in [1, 2] {
        assert_eq!(bench.of_client(json!({ "consent_version": version })).status, 200);
        assert!(bench.is_asked(), "the client's {version}");
        assert!(bench.consent().redirected("code").is_some());
        assert!(!bench.is_asked());
        let set = bench.of_issuer(json!({ "consent_version": version }));
        assert_eq!(set.json()["settings"]["consent_version"], version, "{set:?}");
        assert!(bench.is_asked(), "the issuer's {version}");
        assert!(bench.consent().redirected("code").is_some());
        assert!(!bench.is_asked());
    }
}

#[test]
fn a_consent_has_a_lifetime_where_one_is_set() {
    let bench = Bench::new();
    bench.server.clock.advance(Duration::from_secs(1_000));
    assert!(!bench.is_asked(), "none is set");
    assert_eq!(bench.of_issuer(json!({ "consent_lifetime_seconds": 1_200 })).status, 200);
    assert!(!bench.is_asked());
    bench.server.clock.advance(Duration::from_secs(200));
    assert!(bench.is_asked());
    assert!(bench.consent().redirected("code").is_some());
    assert!(!bench.is_asked());
    // The client's own comes before it.
    assert_eq!(bench.of_client(json!({ "consent_lifetime_seconds": 300 })).status, 200);
    bench.server.clock.advance(Duration::from_secs(299));
    assert!(!bench.is_asked());
    bench.server.clock.advance(Duration::from_secs(1));
    assert!(bench.is_asked());
    assert_eq!(bench.of_client(json!({ "consent_lifetime_seconds": null })).status, 200);
    assert!(!bench.is_asked());
    for refused in [
        bench.of_client(json!({ "consent_lifetime_seconds": 59 })),
        bench.of_issuer(json!({ "consent_lifetime_seconds": 59 })),
    ] {
        assert!(refused.status == 400 && refused.body.contains("consent_lifetime_seconds"), "{refused:?}");
    }
}
