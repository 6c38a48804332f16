//! A second factor that a role demands: of the issuer or of a client, given to the user or to a group.

use serde_json::{Value, json};
use symbolon_testkit::{Answer, Browser, RelyingParty, TokenSet};

use crate::login::{PASSWORD, Scene};
use crate::second_factor::after_password;

const PATH: &str = "/login/second-factor";

/// Creates a role or a group; its id.
fn made(scene: &Scene, path: &str, kind: &str, body: Value) -> String {
    let answer = scene.server.admin("POST", path, Some(body));
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()[kind]["id"].as_str().unwrap().to_owned()
}

fn role(scene: &Scene, body: Value) -> String {
    made(scene, "/roles", "role", body)
}

/// `to`: `users/ID` or `groups/ID`.
fn give(scene: &Scene, role: &str, to: &str) {
    let answer = scene.server.admin("PUT", &format!("/{to}/roles/{role}"), None);
    assert_eq!(answer.status, 204, "{answer:?}");
}

/// The roles that demand a second factor.
fn demand(scene: &Scene, roles: &[&str]) {
    let answer = scene.server.admin("PATCH", "/settings", Some(json!({ "second_factor_roles": roles })));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["settings"]["second_factor_roles"], json!(roles), "{answer:?}");
}

/// What follows the password of the user `other`.
fn signs_in(scene: &Scene, browser: &Browser) -> Answer {
    let page = scene.at_login(browser, &scene.rp.authorization_request().with("prompt", "login"));
    Scene::sign_in(browser, &page, "other@example.com", PASSWORD)
}

fn is_asked(answer: &Answer) -> bool {
    answer.status == 303 && answer.location().starts_with(PATH)
}

#[test]
fn who_has_the_role_brings_a_second_factor_and_nobody_else() {
    let scene = Scene::new();
    RelyingParty::register(&scene.server, json!({ "client_id": "desk" }));
    let own = role(&scene, json!({ "name": "admin" }));
    let of_client = role(&scene, json!({ "name": "admin", "client_id": "desk" }));
    let of_group = role(&scene, json!({ "name": "auditor" }));
    let group = made(&scene, "/groups", "group", json!({ "name": "office" }));
    let below = made(&scene, "/groups", "group", json!({ "name": "desk", "parent_id": group }));
    give(&scene, &of_group, &format!("groups/{group}"));
    demand(&scene, &[&own, &of_client, &of_group]);
    let asked = || is_asked(&signs_in(&scene, &scene.server.browser()));
    assert!(!asked(), "nobody has such a role");
    for role in [&own, &of_client] {
        give(&scene, role, "users/other");
        assert!(asked(), "{role}");
        let taken = scene.server.admin("DELETE", &format!("/users/other/roles/{role}"), None);
        assert_eq!(taken.status, 204, "{taken:?}");
        assert!(!asked(), "{role} was taken away");
    }
    let joined = scene.server.admin("PUT", &format!("/groups/{below}/members/other"), None);
    assert!(joined.status < 300, "{joined:?}");
    assert!(asked(), "by a group above the person's own");
    demand(&scene, &[&own]);
    assert!(!asked(), "another role");
}

/// A session that began before: the silent request says so, and the person proves the factor on the way.
#[test]
fn a_session_from_before_the_role_is_not_enough() {
    let scene = Scene::new();
    let path = format!("/clients/{}", scene.rp.client_id);
    let trusted = json!({ "skip_consent": true });
    assert_eq!(scene.server.admin("PATCH", &path, Some(trusted)).status, 200);
    let browser = scene.server.browser();
    let request = scene.rp.authorization_request().with("scope", "openid offline_access");
    let page = scene.at_login(&browser, &request);
    let code = Scene::sign_in(&browser, &page, "other@example.com", PASSWORD).redirected("code");
    let tokens = TokenSet::of(&scene.rp.redeem(&code.expect("a code"), &request.verifier));
    let silent = || browser.get(&scene.rp.authorization_request().with("prompt", "none").path());
    assert!(silent().redirected("code").is_some());
    assert_eq!(browser.get("/account").status, 200);

    let admin = role(&scene, json!({ "name": "admin" }));
    demand(&scene, &[&admin]);
    assert!(silent().redirected("code").is_some(), "the person has no such role");
    give(&scene, &admin, "users/other");
    assert_eq!(silent().redirected("error").as_deref(), Some("login_required"));
    assert!(browser.get("/account").location().starts_with("/login?"), "nor is it for the account pages");
    // Tokens that were issued go on: what they stand for was signed in to before.
    let refreshed = scene.rp.refresh(tokens.refresh_token.as_deref().expect("a refresh token"));
    assert_eq!(refreshed.status, 200, "{refreshed:?}");

    let led = browser.get(&scene.rp.authorization_request().path());
    assert!(led.location().starts_with("/login?"), "{led:?}");
    let page = after_password(&scene, &browser);
    assert!(page.body.contains("qr-code"), "a generator is set up on the way: {}", page.body);
}

#[test]
fn a_role_that_does_not_exist_is_refused_and_a_deleted_one_demands_nothing() {
    let scene = Scene::new();
    let admin = role(&scene, json!({ "name": "admin" }));
    let body = json!({ "second_factor_roles": [admin, "nothing"] });
    let refused = scene.server.admin("PATCH", "/settings", Some(body));
    assert!(refused.status == 400 && refused.body.contains("second_factor_roles has nothing"), "{refused:?}");
    give(&scene, &admin, "users/other");
    demand(&scene, &[&admin]);
    assert!(is_asked(&signs_in(&scene, &scene.server.browser())));
    assert_eq!(scene.server.admin("DELETE", &format!("/roles/{admin}"), None).status, 204);
    assert!(!is_asked(&signs_in(&scene, &scene.server.browser())));
    // What is shown may be sent back with a change, with the role that is gone.
    let body = json!({ "second_factor_roles": [admin], "audit_days": 8 });
    let answer = scene.server.admin("PATCH", "/settings", Some(body));
    assert_eq!((answer.status, &answer.json()["settings"]["audit_days"]), (200, &json!(8)), "{answer:?}");
    let many: Vec<String> = (0..51).map(|_| admin.clone()).collect();
    let refused = scene.server.admin("PATCH", "/settings", Some(json!({ "second_factor_roles": many })));
    assert!(refused.status == 400 && refused.body.contains("50 entries"), "{refused:?}");
}
