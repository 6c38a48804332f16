//! Software statements of clients that register themselves (RFC 7591 2.3): what somebody who is trusted says of the software.

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_testkit::{Answer, Signing, TestServer};

use crate::upstream::fake::Fake;
use crate::upstream::options;

const REGISTER: &str = "/connect/register";

/// A server at which everybody may register, and a vendor whose statements it believes.
struct Scene {
    server: TestServer,
    vendor: Fake,
    key: Signing,
}

impl Scene {
    fn new() -> Self {
        let (server, key) =
            (TestServer::start_with(options().one_node()), Signing::generate(Algorithm::Es256));
        let vendor = Fake::start(&key.jwks());
        let scene = Self { server, vendor, key };
        scene.set(&json!({ "client_registration": "open" }));
        scene.trust(&json!(["software_statement"]));
        scene
    }

    fn set(&self, settings: &Value) {
        let answer = self.server.admin("PATCH", "/settings", Some(settings.clone()));
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    /// Trusts the vendor for these uses.
    fn trust(&self, uses: &Value) {
        let keys = format!("{}/jwks", self.vendor.issuer);
        let entry = json!({ "issuer": self.vendor.issuer, "jwks_uri": keys, "for": uses });
        self.set(&json!({ "trusted_issuers": [entry] }));
    }

    /// A statement of the vendor, with further claims.
    fn statement(&self, more: Value) -> String {
        let mut claims = json!({
            "iss": self.vendor.issuer, "software_id": "shop", "client_name": "Shop",
            "redirect_uris": ["https://shop.example/cb"],
        });
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.key.jwt("JWT", &claims)
    }

    fn send(&self, method: &str, path: &str, token: &str, body: &Value) -> Answer {
        let bearer = format!("Bearer {token}");
        let headers = [("content-type", "application/json"), ("authorization", &*bearer)];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.server.browser().send(method, path, &headers, body.as_bytes())
    }

    fn register(&self, metadata: &Value) -> Answer {
        self.send("POST", REGISTER, "", metadata)
    }

    /// The status and the error of a registration with a statement.
    fn refused(&self, statement: Value) -> (u16, String) {
        let answer = self.register(&json!({ "software_statement": statement }));
        (answer.status, answer.error())
    }
}

#[test]
fn what_a_trusted_issuer_says_of_the_software_counts() {
    let scene = Scene::new();
    scene.set(&json!({ "client_registration_require_software_statement": true }));
    let mut metadata = json!({
        "client_name": "Bank", "client_name#de": "Sparkasse", "redirect_uris": ["https://evil.example/cb"],
        "contacts": ["a@shop.example"],
    });
    let without = scene.register(&metadata);
    assert_eq!((without.status, &*without.error()), (400, "invalid_client_metadata"), "{without:?}");
    let statement = scene.statement(json!({ "scope": "openid admin", "skip_consent": true }));
    metadata["software_statement"] = json!(statement);
    let made = scene.register(&metadata);
    assert_eq!(made.status, 201, "{made:?}");
    let made = made.json();
    for (name, value) in [
        ("client_name", json!("Shop")),
        ("client_name#de", Value::Null),
        ("redirect_uris", json!(["https://shop.example/cb"])),
        ("software_id", json!("shop")),
        ("contacts", json!(["a@shop.example"])),
        // A statement widens nothing that the issuer lets such clients have.
        ("scope", json!("openid")),
        ("software_statement", json!(statement)),
    ] {
        assert_eq!(made[name], value, "{name}");
    }
    let id = made["client_id"].as_str().unwrap();
    let shown = scene.server.admin("GET", &format!("/clients/{id}"), None).body;
    assert!(!shown.contains("\"skip_consent\":true"), "{shown}");
    assert_eq!(scene.register(&metadata).status, 201, "each installation is a client of its own");
}

#[test]
fn a_client_keeps_its_statement_until_another_one_comes() {
    let scene = Scene::new();
    let statement = scene.statement(json!({}));
    let made = scene.register(&json!({ "software_statement": statement }));
    assert_eq!(made.status, 201, "{made:?}");
    let made = made.json();
    let token = made["registration_access_token"].as_str().unwrap();
    let path = format!("{REGISTER}/{}", made["client_id"].as_str().unwrap());
    let put = |metadata: &Value| {
        let mut metadata = metadata.clone();
        metadata["client_id"] = made["client_id"].clone();
        scene.send("PUT", &path, token, &metadata)
    };
    let told = |answer: &Answer| {
        assert_eq!(answer.status, 200, "{answer:?}");
        let told = answer.json();
        json!([told["client_name"], told["contacts"], told["software_statement"]])
    };
    // Without the statement, and with other words: it stays, and so does what it says.
    let changed = put(&json!({ "client_name": "Bank", "contacts": ["a@shop.example"] }));
    assert_eq!(told(&changed), json!(["Shop", ["a@shop.example"], statement]));
    // What is shown is sent back, also when its issuer is not trusted any more.
    scene.set(&json!({ "trusted_issuers": [] }));
    let shown = scene.send("GET", &path, token, &Value::Null);
    assert_eq!(told(&shown), json!(["Shop", ["a@shop.example"], statement]));
    assert_eq!(told(&put(&shown.json())), told(&shown));
    // Another one is verified, and takes its place.
    let newer = scene.statement(json!({ "client_name": "Shop 2" }));
    let refused = put(&json!({ "software_statement": newer }));
    assert_eq!((refused.status, &*refused.error()), (400, "unapproved_software_statement"), "{refused:?}");
    scene.trust(&json!(["software_statement"]));
    assert_eq!(told(&put(&json!({ "software_statement": newer }))), json!(["Shop 2", null, newer]));
    // A client that registered without one needs none later.
    let plain = scene.register(&json!({ "redirect_uris": ["https://rp.example/cb"] })).json();
    scene.set(&json!({ "client_registration_require_software_statement": true }));
    let path = format!("{REGISTER}/{}", plain["client_id"].as_str().unwrap());
    let token = plain["registration_access_token"].as_str().unwrap();
    let answer = scene.send("PUT", &path, token, &plain);
    assert_eq!((answer.status, &answer.json()["software_statement"]), (200, &Value::Null), "{answer:?}");
}

#[test]
fn statements_of_others_are_refused_by_the_codes_of_the_rfc() {
    let scene = Scene::new();
    let invalid = (400, "invalid_software_statement".to_owned());
    let unapproved = (400, "unapproved_software_statement".to_owned());
    let now = scene.server.now().seconds();
    let stranger = Signing::generate(Algorithm::Es256);
    let claims = json!({ "iss": scene.vendor.issuer, "redirect_uris": ["https://shop.example/cb"] });
    for (statement, expected) in [
        (json!(7), &invalid),
        (json!("a.b.c"), &invalid),
        (json!(stranger.jwt("JWT", &claims)), &invalid),
        (json!(scene.statement(json!({ "exp": now - 31 }))), &invalid),
        (json!(scene.statement(json!({ "aud": "https://other.example" }))), &invalid),
        (json!(scene.statement(json!({ "iss": "https://other.example" }))), &unapproved),
    ] {
        assert_eq!(scene.refused(statement.clone()), *expected, "{statement}");
    }
    let good = scene.statement(json!({ "aud": scene.server.issuer, "exp": now + 60 }));
    assert_eq!(scene.register(&json!({ "software_statement": good })).status, 201);
    // Whoever vouches for workloads does not vouch for software.
    scene.trust(&json!(["client_authentication"]));
    assert_eq!(scene.refused(json!(good)), unapproved);
}

#[test]
fn while_the_keys_of_its_issuer_cannot_be_had_a_client_tries_again_later() {
    let scene = Scene::new();
    scene.vendor.set("/jwks", ("500 Internal Server Error".to_owned(), String::new()));
    let answer = scene.refused(json!(scene.statement(json!({}))));
    assert_eq!(answer, (503, "temporarily_unavailable".to_owned()));
}
