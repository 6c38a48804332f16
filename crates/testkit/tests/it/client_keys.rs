//! Clients that publish their keys at an address of theirs (`jwks_uri`).

use std::cell::Cell;
use std::time::Duration;

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_testkit::{Answer, RelyingParty, Signing, TestServer};

use crate::upstream::fake::{Fake, ok};
use crate::upstream::options;

const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const MINUTE: Duration = Duration::from_secs(60);

fn key() -> Signing {
    Signing::generate(Algorithm::EdDsa)
}

/// A server, and the server of clients that publish their keys.
struct Scene {
    server: TestServer,
    fake: Fake,
    assertions: Cell<u32>,
}

impl Scene {
    fn new(jwks: &Value) -> Self {
        let server = TestServer::start_with(options().one_node());
        Self { server, fake: Fake::start(jwks), assertions: Cell::new(0) }
    }

    /// A client whose keys are at this path.
    fn client(&self, path: &str) -> RelyingParty {
        let uri = format!("{}{path}", self.fake.issuer);
        let metadata = json!({ "token_endpoint_auth_method": "private_key_jwt", "jwks_uri": uri });
        RelyingParty::register(&self.server, metadata)
    }

    fn publish(&self, keys: &[&Signing]) {
        let keys: Vec<Value> = keys.iter().map(|key| key.jwks()["keys"][0].clone()).collect();
        self.fake.set("/jwks", ok(&json!({ "keys": keys })));
    }

    /// How often the keys were asked for.
    fn asked(&self) -> usize {
        self.fake.requests("/jwks").len()
    }

    /// Authenticates by a new assertion.
    fn answer(&self, rp: &RelyingParty, key: &Signing) -> Answer {
        let number = self.assertions.get() + 1;
        self.assertions.set(number);
        let (jti, id) = (format!("n{number}"), format!("assertion-{number}"));
        let assertion = key.assertion(&rp.client_id, &self.server.issuer, &jti, self.server.now().seconds());
        let form = [
            ("grant_type", "client_credentials"),
            ("client_assertion_type", JWT_BEARER),
            ("client_assertion", &*assertion),
        ];
        self.server.browser().post_with("/token", &form, &[("x-request-id", &*id)])
    }

    fn status(&self, rp: &RelyingParty, key: &Signing) -> u16 {
        self.answer(rp, key).status
    }

    /// Why the last assertion was refused: the reason and its explanation.
    fn why(&self) -> (String, String) {
        let path = format!("/failures/assertion-{}", self.assertions.get());
        let failure = self.server.admin("GET", &path, None).json()["failures"][0].clone();
        let text = |name: &str| failure[name].as_str().unwrap_or_default().to_owned();
        (text("reason"), text("explanation"))
    }
}

#[test]
fn a_client_authenticates_by_the_keys_that_it_publishes() {
    let own = key();
    let scene = Scene::new(&own.jwks());
    let rp = scene.client("/jwks");
    let path = format!("/clients/{}", rp.client_id);
    let shown = scene.server.admin("GET", &path, None).json()["client"].clone();
    assert_eq!(
        (&shown["jwks_uri"], &shown["jwks"]),
        (&json!(format!("{}/jwks", scene.fake.issuer)), &Value::Null)
    );
    assert_eq!(scene.asked(), 0, "not before they are needed");
    for _ in 0..3 {
        let answer = scene.answer(&rp, &own);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    assert_eq!(scene.asked(), 1);

    // RFC 7591 2: never both.
    let both = scene.server.admin("PATCH", &path, Some(json!({ "jwks": own.jwks() })));
    assert_eq!(both.status, 400, "{both:?}");
    assert!(both.body.contains("jwks_uri must not stand beside jwks"), "{both:?}");
    let other = key();
    let given = json!({ "jwks": other.jwks(), "jwks_uri": null });
    assert_eq!(scene.server.admin("PATCH", &path, Some(given)).status, 200);
    assert_eq!((scene.status(&rp, &own), scene.status(&rp, &other)), (401, 200));
    let none = scene.server.admin("PATCH", &path, Some(json!({ "jwks": null })));
    assert_eq!(none.status, 400, "{none:?}");
}

#[test]
fn a_new_key_is_found_and_unknown_ones_are_looked_for_once_a_minute() {
    let (old, new) = (key(), key());
    let scene = Scene::new(&old.jwks());
    let rp = scene.client("/jwks");
    assert_eq!(scene.status(&rp, &old), 200);
    scene.publish(&[&old, &new]);
    assert_eq!((scene.status(&rp, &new), scene.asked()), (401, 1), "they were read a moment ago");
    assert_eq!(scene.why().0, "assertion_key_unknown");
    scene.server.clock.advance(MINUTE);
    assert_eq!((scene.status(&rp, &new), scene.status(&rp, &old), scene.asked()), (200, 200, 2));
    for round in 0..3 {
        scene.server.clock.advance(MINUTE);
        for _ in 0..10 {
            assert_eq!(scene.status(&rp, &key()), 401);
        }
        assert_eq!(scene.asked(), 3 + round);
    }
}

#[test]
fn a_withdrawn_key_verifies_no_longer_than_the_client_says() {
    let (old, new) = (key(), key());
    let scene = Scene::new(&json!({}));
    let body = old.jwks().to_string();
    scene.fake.set("/jwks", ("200 OK\r\nCache-Control: public, max-age=300".to_owned(), body));
    let rp = scene.client("/jwks");
    assert_eq!(scene.status(&rp, &old), 200);
    scene.publish(&[&new]);
    scene.server.clock.advance(Duration::from_secs(299));
    assert_eq!((scene.status(&rp, &old), scene.asked()), (200, 1));
    scene.server.clock.advance(Duration::from_secs(1));
    assert_eq!((scene.status(&rp, &old), scene.status(&rp, &new), scene.asked()), (401, 200, 2));
}

#[test]
fn keys_that_cannot_be_had_authenticate_nobody_and_the_operator_is_told_why() {
    let own = key();
    let scene = Scene::new(&own.jwks());
    let many: Vec<Value> = (0..33).map(|_| key().jwks()["keys"][0].clone()).collect();
    let moved = format!("302 Found\r\nLocation: {}/jwks", scene.fake.issuer);
    for (path, answer, cause) in [
        ("/down", ("503 Service Unavailable".to_owned(), String::new()), "503"),
        ("/moved", (moved, String::new()), "302"),
        ("/long", ok(&json!({ "keys": own.jwks()["keys"], "x": "x".repeat(70_000) })), "too long"),
        ("/many", ok(&json!({ "keys": many })), "more than 32 keys"),
        ("/page", ("200 OK".to_owned(), "<html>".to_owned()), "not a JWK"),
        ("/silent", (String::new(), String::new()), "no answer within"),
    ] {
        scene.fake.set(path, answer);
        let rp = scene.client(path);
        for _ in 0..2 {
            let told = scene.answer(&rp, &own);
            assert_eq!((told.status, &*told.error()), (401, "invalid_client"), "{path}: {told:?}");
            assert!(!told.body.contains(path), "{told:?}");
            let (reason, explanation) = scene.why();
            assert_eq!(reason, "client_keys_unreachable", "{path}");
            let names_all =
                explanation.contains(cause) && explanation.contains(&format!("{}{path}", scene.fake.issuer));
            assert!(names_all, "{path}: {explanation}");
        }
        assert_eq!(scene.fake.requests(path).len(), 1, "{path}: not asked again at once");
    }
    assert_eq!(scene.asked(), 0, "no redirect is followed");
    scene.fake.set("/down", ok(&own.jwks()));
    let rp = scene.client("/down");
    assert_eq!(scene.status(&rp, &own), 401);
    scene.server.clock.advance(Duration::from_secs(30));
    assert_eq!(scene.status(&rp, &own), 200);
}

#[test]
fn a_clients_server_that_is_down_for_a_while_keeps_nobody_out() {
    let own = key();
    let scene = Scene::new(&own.jwks());
    let rp = scene.client("/jwks");
    assert_eq!(scene.status(&rp, &own), 200);
    scene.fake.set("/jwks", ("503 Service Unavailable".to_owned(), String::new()));
    scene.server.clock.advance(Duration::from_secs(3_600));
    assert_eq!((scene.status(&rp, &own), scene.status(&rp, &own), scene.asked()), (200, 200, 2));
    scene.server.clock.advance(Duration::from_secs(4 * 3_600));
    assert_eq!((scene.status(&rp, &own), scene.asked()), (401, 3));
    assert_eq!(scene.why().0, "client_keys_unreachable");
}

#[test]
fn of_many_at_once_one_asks() {
    let own = key();
    let scene = Scene::new(&own.jwks());
    let rp = scene.client("/jwks");
    let now = scene.server.now().seconds();
    let assertions: Vec<String> = (0..8)
        .map(|number| own.assertion(&rp.client_id, &scene.server.issuer, &format!("at-once-{number}"), now))
        .collect();
    let server = &scene.server;
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let present = |assertion: &str| {
            let form = [
                ("grant_type", "client_credentials"),
                ("client_assertion_type", JWT_BEARER),
                ("client_assertion", assertion),
            ];
            server.browser().post("/token", &form).status
        };
        let tasks: Vec<_> = assertions.iter().map(|own| scope.spawn(move || present(own))).collect();
        tasks.into_iter().map(|task| task.join().unwrap()).collect()
    });
    assert_eq!(statuses, [200; 8]);
    assert_eq!(scene.asked(), 1);
}

#[test]
fn published_keys_verify_request_objects_too() {
    let own = key();
    let scene = Scene::new(&own.jwks());
    let rp = scene.client("/jwks");
    let (_, browser) = scene.server.signed_in("a@example.com");
    let sign = |key: &Signing| {
        let now = scene.server.now().seconds();
        let mut claims =
            json!({ "iss": rp.client_id, "aud": scene.server.issuer, "nbf": now, "exp": now + 60 });
        for (name, value) in &rp.authorization_request().with("state", "signed").parameters {
            claims[name] = json!(value);
        }
        key.jwt("oauth-authz-req+jwt", &claims)
    };
    let send = |object: &str| browser.get(&rp.authorization_request().with("request", object).path());
    let answer = send(&sign(&own));
    assert_eq!(answer.redirected("state").as_deref(), Some("signed"), "{answer:?}");
    assert!(answer.redirected("code").is_some(), "{answer:?}");
    assert_eq!(send(&sign(&key())).redirected("error").as_deref(), Some("invalid_request_object"));

    let assertion = own.assertion(&rp.client_id, &scene.server.issuer, "par", scene.server.now().seconds());
    let object = sign(&own);
    let form = [
        ("client_id", &*rp.client_id),
        ("client_assertion_type", JWT_BEARER),
        ("client_assertion", &*assertion),
        ("request", &*object),
    ];
    let pushed = scene.server.browser().post("/par", &form);
    assert_eq!(pushed.status, 201, "{pushed:?}");
    assert_eq!(scene.asked(), 1);

    scene.fake.set("/down", ("503 Service Unavailable".to_owned(), String::new()));
    let rp = scene.client("/down");
    let request = rp.authorization_request().with("request", &object);
    let refused = browser.get(&request.path());
    assert_eq!(refused.redirected("error").as_deref(), Some("invalid_request_object"), "{refused:?}");
}
