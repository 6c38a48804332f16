//! Request objects at addresses of the client (RFC 9101 5.2, OpenID Connect Core 6.2).

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_testkit::{Answer, Browser, RelyingParty, Signing, TestServer};

use crate::upstream::fake::{Fake, ok};
use crate::upstream::options;

struct Scene {
    server: TestServer,
    fake: Fake,
    key: Signing,
    browser: Browser,
}

impl Scene {
    fn new() -> Self {
        let server = TestServer::start_with(options().one_node());
        let (_, browser) = server.signed_in("a@example.com");
        Self { server, fake: Fake::start(&json!({})), key: Signing::generate(Algorithm::Rs256), browser }
    }

    /// A client with this address, which its metadata may change.
    fn client(&self, path: &str, more: Value) -> RelyingParty {
        let uri = format!("{}{path}", self.fake.issuer);
        let mut metadata = json!({ "jwks": self.key.jwks(), "request_uris": [uri] });
        metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        RelyingParty::register(&self.server, metadata)
    }

    /// An object of a new request with this state, and the request's verifier.
    fn object(&self, rp: &RelyingParty, state: &str) -> (String, String) {
        let request = rp.authorization_request().without("state").with("state", state);
        let mut claims = json!({ "iss": rp.client_id, "aud": self.server.issuer });
        for (name, value) in &request.parameters {
            claims[name] = json!(value);
        }
        (self.key.jwt("JWT", &claims), request.verifier)
    }

    fn publish(&self, path: &str, object: &str) {
        self.fake.set(path, ("200 OK".to_owned(), object.to_owned()));
    }

    /// Sends a browser with the address, and what stands beside it as OpenID Connect Core 6.2 wants it.
    fn ask(&self, rp: &RelyingParty, path: &str, more: &[(&str, &str)]) -> Answer {
        let uri = format!("{}{path}", self.fake.issuer);
        let mut parameters = vec![
            ("client_id", &*rp.client_id),
            ("request_uri", &*uri),
            ("response_type", "code"),
            ("scope", "openid"),
            ("redirect_uri", &*rp.redirect_uri),
        ];
        parameters.extend_from_slice(more);
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
        self.browser.get(&format!("/authorize?{query}"))
    }

    fn asked(&self, path: &str) -> usize {
        self.fake.requests(path).len()
    }
}

fn error(answer: &Answer) -> Option<String> {
    answer.redirected("error")
}

#[test]
fn an_object_at_a_registered_address_is_the_request() {
    let scene = Scene::new();
    // A fragment that is no hash of what stands there, as of a client that registers before it signs.
    let rp = scene.client("/r#of-another-time", json!({}));
    let (object, verifier) = scene.object(&rp, "signed");
    scene.publish("/r", &object);
    let answer = scene.ask(&rp, "/r#of-another-time", &[("state", "beside")]);
    assert_eq!(answer.redirected("state").as_deref(), Some("signed"), "{answer:?}");
    assert_eq!(rp.redeem(&answer.redirected("code").unwrap(), &verifier).status, 200);
    let again = scene.ask(&rp, "/r#of-another-time", &[]);
    assert!(again.redirected("code").is_some(), "{again:?}");
    assert_eq!(scene.asked("/r"), 1, "a version is asked for once");

    // Without a version the newest counts, soon.
    let rp = scene.client("/newest", json!({}));
    scene.publish("/newest", &scene.object(&rp, "first").0);
    assert_eq!(scene.ask(&rp, "/newest", &[]).redirected("state").as_deref(), Some("first"));
    scene.publish("/newest", &scene.object(&rp, "second").0);
    scene.server.clock.advance(Duration::from_secs(5));
    assert_eq!(scene.ask(&rp, "/newest", &[]).redirected("state").as_deref(), Some("second"));

    let metadata = scene.server.browser().get("/.well-known/openid-configuration").json();
    for name in ["request_uri_parameter_supported", "require_request_uri_registration"] {
        assert_eq!(metadata[name], true, "{name}");
    }
}

#[test]
fn no_address_is_asked_that_is_not_registered() {
    let scene = Scene::new();
    let rp = scene.client("/mine", json!({}));
    let other = scene.client("/theirs", json!({}));
    for path in ["/mine", "/theirs", "/mine/", "/mine?x", "/Mine"] {
        scene.publish(path, &scene.object(&rp, "s").0);
    }
    for path in ["/theirs", "/mine#f", "/mine/", "/mine?x", "/Mine", "/%6dine"] {
        let answer = scene.ask(&rp, path, &[]);
        assert_eq!(error(&answer).as_deref(), Some("invalid_request_uri"), "{path}: {answer:?}");
        assert_eq!(scene.asked(path.split('#').next().unwrap()), 0, "{path}");
    }
    // RFC 9101 5: not both.
    let both = scene.ask(&rp, "/mine", &[("request", &scene.object(&rp, "s").0)]);
    assert_eq!(error(&both).as_deref(), Some("invalid_request"), "{both:?}");
    let twice = scene.ask(&rp, "/mine", &[("request_uri", "https://rp.example/")]);
    assert_eq!(error(&twice).as_deref(), Some("invalid_request"), "{twice:?}");
    // Whoever has to push does not have addresses asked.
    let pushes = scene.client("/pushes", json!({ "require_pushed_authorization_requests": true }));
    assert_eq!(error(&scene.ask(&pushes, "/pushes", &[])).as_deref(), Some("invalid_request"));
    assert_eq!((scene.asked("/mine"), scene.asked("/pushes")), (0, 0));
    // The object is the client's own: another's key does not sign for it.
    scene.publish("/theirs", &scene.object(&rp, "s").0);
    let foreign = scene.ask(&other, "/theirs", &[]);
    assert_eq!(error(&foreign).as_deref(), Some("invalid_request_object"), "{foreign:?}");
}

#[test]
fn what_is_not_there_is_told_and_not_asked_for_again_at_once() {
    let scene = Scene::new();
    let moved = format!("302 Found\r\nLocation: {}/other", scene.fake.issuer);
    for (path, answer) in [
        ("/down", ("503 Service Unavailable".to_owned(), String::new())),
        ("/moved", (moved, String::new())),
        ("/long", ok(&json!({ "x": "x".repeat(20_000) }))),
        ("/silent", (String::new(), String::new())),
        ("/empty", ("200 OK".to_owned(), "\n".to_owned())),
    ] {
        scene.fake.set(path, answer);
        let rp = scene.client(path, json!({}));
        for _ in 0..2 {
            let answer = scene.ask(&rp, path, &[]);
            assert_eq!(error(&answer).as_deref(), Some("invalid_request_uri"), "{path}: {answer:?}");
            assert!(!answer.location().contains("503"), "nothing of the answer is told: {answer:?}");
        }
        assert_eq!(scene.asked(path), 1, "{path}");
    }
    assert_eq!(scene.asked("/other"), 0, "no redirect is followed");
    // What is no object of the client is refused as one that came along.
    for (path, object) in [("/page", "<html>"), ("/none", "eyJhbGciOiJub25lIn0.e30.")] {
        scene.publish(path, object);
        let rp = scene.client(path, json!({}));
        let answer = scene.ask(&rp, path, &[]);
        assert_eq!(error(&answer).as_deref(), Some("invalid_request_object"), "{path}: {answer:?}");
    }
    // Addresses that are not public are called only where the configuration allows it.
    let closed = TestServer::start();
    let (_, browser) = closed.signed_in("a@example.com");
    let uri = format!("{}/r", scene.fake.issuer.replace("http://", "https://"));
    let rp = RelyingParty::register(&closed, json!({ "jwks": scene.key.jwks(), "request_uris": [uri] }));
    let answer = browser.get(&rp.authorization_request().with("request_uri", &uri).path());
    assert_eq!(error(&answer).as_deref(), Some("invalid_request_uri"), "{answer:?}");
    assert_eq!(scene.asked("/r"), 0);
}
