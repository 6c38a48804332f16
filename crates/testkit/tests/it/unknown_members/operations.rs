//! The same of every operation that the admin API has, and of every object within a body.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use symbolon_testkit::{Answer, RelyingParty, TestServer};

use super::refusal;
use crate::audit_changes::operations::{Body, Change, changes};
use crate::audit_changes::{Scene, documented, prepare};

/// The name of no member of anything.
const SLIP: &str = "nobody_knows_this";

/// What an answer says of the member: of a line, where lines were sent.
fn refused(answer: &Answer, of_lines: bool) -> String {
    if !of_lines {
        return refusal(answer);
    }
    let line: Value = serde_json::from_str(answer.body.lines().next().expect("a line")).expect("JSON");
    line["error_description"].as_str().unwrap_or_else(|| panic!("{answer:?}")).to_owned()
}

/// A change with the member added to what it sends; `None` where an image is sent. Where nothing needs to be sent, a body may
/// be sent all the same, and is read.
fn with_slip(change: &Change) -> Option<Change> {
    let added = |body: &Value| {
        let mut body = body.clone();
        body[SLIP] = json!(true);
        body
    };
    let body = match &change.body {
        Body::None => Body::Json(json!({ SLIP: true })),
        Body::Json(body) => Body::Json(added(body)),
        Body::Lines(lines) => Body::Lines(lines.iter().map(added).collect()),
        Body::Svg(_) => return None,
    };
    Some(Change { body, ..change.clone() })
}

/// The list of operations is the one whose changes are made and recorded, which is compared with the OpenAPI document: an
/// operation that is not in it fails this test.
#[test]
fn every_operation_refuses_a_member_that_nobody_knows_and_does_nothing() {
    let mut scene = Scene::new();
    let mut asked = BTreeSet::new();
    for mut change in changes(&scene) {
        prepare(&mut scene, &mut change);
        let (method, path) = change.operation;
        if let Some(slip) = with_slip(&change) {
            let answer = scene.send(&slip);
            let told = refused(&answer, matches!(slip.body, Body::Lines(_)));
            assert!(told.contains("unknown") && told.contains(SLIP), "{method} {path}: {told}");
        }
        // That nothing was done shows in that it can still be done, and made ready for the next ones.
        let answer = scene.send(&change);
        let done = (200..300).contains(&answer.status) && !answer.body.contains("error_description");
        assert!(done, "{method} {path}: {answer:?}");
        asked.insert(format!("{method} {path}"));
    }
    assert_eq!(asked, documented());
}

/// Bodies with objects in them: path, body, and the way to the object that gets one member more.
fn nested() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    let claim = json!({ "claims": [{ "name": "team", "source": "groups" }] });
    let provider =
        json!({ "id": "google", "preset": "google", "client_id": "us", "client_secret": "x".repeat(32) });
    let mut mapped = provider.clone();
    mapped["groups"] = json!({ "claim": "groups", "groups": {} });
    let attribute = json!({ "attributes": [{ "name": "team", "type": "string" }] });
    let branding = json!({ "branding": { "accent": { "light": "#1a4d8f", "dark": "#9ec1ff" } } });
    let of_client = |settings: Value| json!({ "settings": settings });
    vec![
        ("PATCH", "/settings", json!({ "lifetimes": { "code": 30 } }), "/lifetimes"),
        ("PATCH", "/settings", claim.clone(), "/claims/0"),
        ("PATCH", "/settings", attribute, "/attributes/0"),
        ("PATCH", "/settings", branding.clone(), "/branding"),
        ("PATCH", "/settings", branding.clone(), "/branding/accent"),
        ("PATCH", "/clients/app", of_client(json!({})), "/settings"),
        ("PATCH", "/clients/app", of_client(claim), "/settings/claims/0"),
        ("PATCH", "/clients/app", branding.clone(), "/branding"),
        ("PATCH", "/clients/app", branding, "/branding/accent"),
        ("PATCH", "/users/ann", json!({ "address": { "country": "AT" } }), "/address"),
        ("PUT", "/settings/token-exchange", json!({ "idJag": { "enabled": false } }), "/idJag"),
        ("POST", "/identity-providers", mapped, "/groups"),
    ]
}

#[test]
fn an_object_within_a_body_is_read_to_its_last_member() {
    let server = TestServer::start();
    RelyingParty::register(&server, json!({ "client_id": "app" }));
    let ann = json!({ "id": "ann", "email": "ann@example.com" });
    assert_eq!(server.admin("POST", "/users", Some(ann)).status, 201);
    for (method, path, good, object) in nested() {
        let mut body = good.clone();
        body.pointer_mut(object).expect("an object")[SLIP] = json!(true);
        let told = refusal(&server.admin(method, path, Some(body)));
        assert!(told.contains(SLIP), "{method} {path} {object}: {told}");
        // Groups that a provider's are mapped to would have to exist.
        if object != "/groups" {
            let answer = server.admin(method, path, Some(good));
            assert!((200..300).contains(&answer.status), "{method} {path}: {answer:?}");
        }
    }
}
