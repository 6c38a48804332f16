//! The identities of a user at the admin API.

use serde_json::{Value, json};
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::identity_provider::Identity;
use symbolon_store::port::IdentityLink;
use symbolon_testkit::TestServer;

use super::{ANN, Scene, add, claims, user};

/// Connects a user as a sign-in would, with a provider of this key.
pub(crate) fn connect(server: &TestServer, user: &str, key: &str) {
    let identity = Identity {
        provider: key.into(),
        subject: format!("{user} there"),
        user: UserId::trusted(user),
        label: None,
        linked_at: server.now(),
    };
    let issuer = IssuerId::default_issuer();
    let linked = server.block_on(server.app.store.link_identity(&issuer, identity));
    assert_eq!(linked.unwrap(), IdentityLink::Linked);
}

fn of(server: &TestServer, user: &str) -> Vec<Value> {
    let answer = server.admin("GET", &format!("/users/{user}/identities"), None);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["identities"].as_array().unwrap().clone()
}

/// An identity is shown as the provider told it, and disconnected though it is the only way in; the person is a stranger then.
#[test]
fn identities_are_shown_and_disconnected() {
    let scene = Scene::new(json!({ "sign_up": true }));
    let server = &scene.server;
    let (theirs, person) = scene.upstream.signed_in(ANN);
    let (browser, request) = (server.browser(), scene.rp.authorization_request());
    let done = scene.through(&browser, &person, &request);
    let id = claims(&scene.rp, &request, &done)["sub"].as_str().unwrap().to_owned();
    let all = of(server, &id);
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!((&all[0]["identity_provider"], &all[0]["label"]), (&json!("acme"), &json!(ANN)));
    assert_eq!((&all[0]["subject"], &all[0]["linked_at"]), (&json!(theirs), &json!(server.now().millis())));

    let one = format!("/users/{id}/identities/{}", all[0]["id"].as_str().unwrap());
    assert_eq!(server.admin("DELETE", &format!("/users/{id}/identities/acme"), None).status, 404);
    assert_eq!(server.admin("DELETE", &one, None).status, 204);
    assert_eq!(server.admin("DELETE", &one, None).status, 404);
    assert!(of(server, &id).is_empty());
    server.drain_audit();
    let log = server.admin("GET", "/audit-logs?event=identity.unlinked", None).json();
    let records = log["audit_logs"].as_array().unwrap();
    assert_eq!(records.len(), 1, "what removed nothing is no event: {log}");
    let detail = &records[0]["detail"];
    assert_eq!((&records[0]["user"], &records[0]["actor"]), (&json!(id), &json!("admin")), "{log}");
    assert_eq!((&detail["identity_provider"], &detail["subject"]), (&json!("acme"), &json!(theirs)));

    // Their own account is not theirs by that provider any more: the address is taken, so that no other is made.
    let (browser, request) = (server.browser(), scene.rp.authorization_request());
    assert_eq!(scene.through(&browser, &person, &request).status, 403);
    assert_eq!(user(server, ANN)["id"], *id);
}

#[test]
fn identities_of_nobody_and_of_a_provider_that_is_no_more() {
    let server = TestServer::start();
    let id = server.create_user(ANN);
    assert!(of(&server, &id).is_empty());
    add(&server, "google", json!({ "preset": "google" }));
    connect(&server, &id, "gone");
    let all = of(&server, &id);
    assert_eq!((&all[0]["id"], &all[0]["identity_provider"]), (&json!("gone"), &Value::Null), "{all:?}");
    assert_eq!(server.admin("DELETE", &format!("/users/{id}/identities/gone"), None).status, 204);
    for (method, path) in [("GET", ""), ("DELETE", "/gone")] {
        let answer = server.admin(method, &format!("/users/nobody/identities{path}"), None);
        assert_eq!(answer.status, 404, "{answer:?}");
    }
}
