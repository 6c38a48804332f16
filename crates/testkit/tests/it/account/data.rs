//! The page of the person's data: the copy, and the deletion of the account.

use std::time::Duration;

use serde_json::json;

use super::{audited, demo, send, signed_in};
use crate::login::{PASSWORD, Scene};

const PATH: &str = "/account/data";
const EXPORT: &str = "/account/data/export";

fn allow_deletion(scene: &Scene) {
    let set = scene.server.admin("PATCH", "/settings", Some(json!({ "self_deletion": true })));
    assert_eq!(set.status, 200, "{set:?}");
}

#[test]
fn a_copy_has_everything_but_secrets() {
    let scene = Scene::new();
    let (browser, _) = scene.signed_in();
    let copy = browser.get(EXPORT);
    assert_eq!(copy.header("cache-control"), Some("no-store"));
    assert!(copy.header("content-disposition").unwrap().starts_with("attachment"));
    let document = copy.json();
    assert_eq!(document["profile"]["email"], *scene.demo.email);
    assert_eq!(document["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(document["applications"][0]["client_name"], "Symbolon walk-through");
    assert_eq!(document["consents"].as_array().unwrap().len(), 1);
    assert_eq!(document["has_password"], true);
    let none = json!({ "passkeys": [], "totp": null, "recovery_codes": 0 });
    assert_eq!(document["authenticators"], none);
    let session = browser.cookie("symbolon_session").unwrap();
    assert!(!copy.body.contains("argon2") && !copy.body.contains(&session));
    assert_eq!(scene.server.browser().get(EXPORT).status, 302);
}

#[test]
fn an_account_is_deleted_only_where_that_is_allowed() {
    let scene = Scene::new();
    let browser = demo(&scene);
    let page = browser.get(PATH);
    assert!(page.body.contains("no-deletion") && !page.body.contains("delete-account"));
    assert_eq!(browser.post(PATH, &[("confirm", "true")]).status, 404);
    assert_eq!(browser.get("/account").status, 200);
}

#[test]
fn deleting_the_account_ends_everything() {
    let scene = Scene::new();
    allow_deletion(&scene);
    let (browser, tokens) = scene.signed_in();
    let other = demo(&scene);
    assert_eq!(send(&browser, PATH, &[]).status, 400, "the box is not ticked");
    let deleted = send(&browser, PATH, &[("confirm", "true")]);
    assert!(deleted.status == 200 && deleted.body.contains("Your account is deleted"), "{deleted:?}");
    assert!(browser.cookie("symbolon_session").is_none());
    assert_eq!(other.get("/account").status, 302);
    let bearer = format!("Bearer {}", tokens.body["access_token"].as_str().unwrap());
    assert_eq!(browser.get_with("/userinfo", &[("authorization", &bearer)]).status, 401);
    let record = audited(&scene, "user.deleted");
    assert_eq!((&record["actor"], &record["detail"]["self"]), (&"user".into(), &true.into()), "{record}");
}

#[test]
fn after_five_minutes_the_password_is_asked_for() {
    let scene = Scene::new();
    allow_deletion(&scene);
    let browser = signed_in(&scene, "other@example.com", PASSWORD);
    scene.server.clock.advance(Duration::from_secs(301));
    assert!(browser.get(PATH).body.contains("current-password"));
    assert_eq!(send(&browser, PATH, &[("confirm", "true")]).status, 400);
    assert_eq!(send(&browser, PATH, &[("confirm", "true"), ("password", "wrong")]).status, 403);
    assert_eq!(scene.server.admin("GET", "/users/other", None).status, 200);
    assert_eq!(send(&browser, PATH, &[("confirm", "true"), ("password", PASSWORD)]).status, 200);
    assert_eq!(scene.server.admin("GET", "/users/other", None).status, 404);
}

/// What an account has besides a password is in the copy too, and what it is proven by is not.
#[test]
fn a_copy_names_passkeys_second_factors_and_identities_without_their_secrets() {
    let scene = Scene::new();
    let (browser, _) = scene.signed_in();
    let server = &scene.server;
    let user = browser.get(EXPORT).json()["profile"]["id"].as_str().unwrap().to_owned();
    let secrets = crate::authenticators::enrol(server, &user);
    crate::upstream::identities::connect(server, &user, "key-1");
    let copy = browser.get(EXPORT);
    let document = copy.json();
    let enrolled = &document["authenticators"];
    let names: Vec<_> = enrolled["passkeys"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(
        (json!(names), &enrolled["recovery_codes"]),
        (json!(["Key 1", "Key 2"]), &json!(2)),
        "{enrolled}"
    );
    assert!(enrolled["totp"]["added_at"].is_number(), "{enrolled}");
    let identities = document["identities"].as_array().unwrap();
    assert_eq!((identities.len(), &identities[0]["subject"]), (1, &json!(format!("{user} there"))));
    for secret in secrets {
        assert!(!copy.body.contains(&secret), "{secret}");
    }
}
