//! The page of the profile.

use serde_json::json;

use super::{audited, send, send_of, signed_in};
use crate::login::{PASSWORD, Scene};

const PATH: &str = "/account/profile";

fn define(scene: &Scene, name: &str, definition: serde_json::Value) {
    let answer = scene.server.admin("PUT", &format!("/settings/attributes/{name}"), Some(definition));
    assert_eq!(answer.status, 200, "{answer:?}");
}

fn user(scene: &Scene) -> serde_json::Value {
    scene.server.admin("GET", "/users/other", None).json()["user"].clone()
}

#[test]
fn a_person_writes_names_and_the_attributes_that_are_theirs() {
    let scene = Scene::new();
    let both = json!(["person", "administrator"]);
    define(&scene, "team", json!({ "type": "string" }));
    define(&scene, "phones", json!({ "type": "list", "writable_by": both, "pattern": "\\+[0-9]+" }));
    define(&scene, "level", json!({ "type": "number", "writable_by": both }));
    define(&scene, "news", json!({ "type": "boolean", "writable_by": both }));
    define(&scene, "secret", json!({ "type": "string", "readable_by": ["administrator"] }));
    let attributes = json!({ "attributes": { "team": "blue", "secret": "unseen" } });
    assert_eq!(scene.server.admin("PATCH", "/users/other", Some(attributes)).status, 200);
    let browser = signed_in(&scene, "other@example.com", PASSWORD);
    let page = browser.get(PATH);
    assert!(page.body.contains("other@example.com") && page.body.contains("blue"), "{}", page.body);
    assert!(!page.body.contains("unseen") && !page.body.contains("attribute.team"), "{}", page.body);
    let fields = [
        ("name", " Ann Other "),
        ("nickname", ""),
        ("attribute.phones", "+43 \r\n\r\n+49"),
        ("attribute.level", "3"),
        ("attribute.news", "true"),
        ("attribute.team", "red"),
        ("attribute.secret", "mine"),
        ("email", "evil@example.com"),
    ];
    for _ in 0..2 {
        let saved = send_of(&browser, PATH, &page, &fields);
        assert_eq!((saved.status, &*saved.location()), (303, "/account/profile?done=saved"), "{saved:?}");
    }
    let user = user(&scene);
    assert_eq!((&user["name"], &user["email"]), (&json!("Ann Other"), &json!("other@example.com")));
    let attributes = json!({
        "team": "blue", "secret": "unseen", "phones": ["+43", "+49"], "level": 3, "news": true,
    });
    assert_eq!(user["attributes"], attributes);
    let record = audited(&scene, "user.updated");
    assert_eq!((&record["actor"], &record["detail"]["self"]), (&"user".into(), &true.into()), "{record}");
    assert!(
        record["detail"]["changes"]["name"].is_array() || record["detail"]["changes"]["name"].is_object()
    );
}

#[test]
fn a_value_that_the_schema_refuses_is_told_and_nothing_is_saved() {
    let scene = Scene::new();
    let both = json!(["person", "administrator"]);
    define(&scene, "level", json!({ "type": "number", "writable_by": both }));
    define(&scene, "badge", json!({ "type": "string", "writable_by": both, "unique": true }));
    let ann = json!({ "id": "ann", "preferred_username": "ann", "attributes": { "badge": "7" } });
    assert_eq!(scene.server.admin("POST", "/users", Some(ann)).status, 201);
    let browser = signed_in(&scene, "other@example.com", PASSWORD);
    let before = user(&scene);
    let long = "x".repeat(2_049);
    for (field, value, status, why) in [
        ("attribute.level", "three", 400, "level must be a number"),
        ("attribute.badge", "7", 409, "Somebody else has one of these values"),
        ("name", &*long, 400, "2,048 bytes"),
        ("name", "a\u{1b}b", 400, "control characters"),
    ] {
        let refused = send(&browser, PATH, &[("given_name", "Kept"), (field, value)]);
        assert!(refused.status == status && refused.body.contains(why), "{field}: {refused:?}");
        assert!(refused.body.contains("value=\"Kept\""), "what was typed stays");
    }
    assert_eq!(user(&scene), before);
}

#[test]
fn what_a_person_empties_is_removed() {
    let scene = Scene::new();
    define(&scene, "team", json!({ "type": "string", "writable_by": ["person", "administrator"] }));
    let stored = json!({ "nickname": "Al", "given_name": "Ann", "attributes": { "team": "blue" } });
    assert_eq!(scene.server.admin("PATCH", "/users/other", Some(stored)).status, 200);
    let browser = signed_in(&scene, "other@example.com", PASSWORD);
    let saved = send(&browser, PATH, &[("nickname", ""), ("given_name", "Ann"), ("attribute.team", "")]);
    assert_eq!(saved.status, 303, "{saved:?}");
    let user = user(&scene);
    assert_eq!((&user["nickname"], &user["given_name"]), (&json!(null), &json!("Ann")), "{user}");
    assert!(user["attributes"].get("team").is_none(), "{user}");
}

#[test]
fn attributes_are_called_what_people_call_them_in_their_language() {
    let scene = Scene::new();
    let names = json!({
        "type": "string", "writable_by": ["person", "administrator"],
        "display_name": "Team", "display_name#de": "Abteilung",
    });
    define(&scene, "team", names);
    define(&scene, "level", json!({ "type": "number" }));
    let browser = signed_in(&scene, "other@example.com", PASSWORD);
    let page = |language: &str| browser.get_with(PATH, &[("accept-language", language)]).body;
    for (language, label) in [("en", "Team"), ("de", "Abteilung"), ("fr", "Team")] {
        let page = page(language);
        let labelled = format!("<label for=\"attribute.team\"><bdi>{label}</bdi>");
        assert!(page.contains(&labelled) && page.contains("<bdi>level</bdi>"), "{language}: {page}");
    }
}

/// What the page shows of a `locale` is its language; sending it back unchanged leaves the rest of it.
#[test]
fn a_person_chooses_the_language_of_their_mail() {
    let scene = Scene::new();
    let browser = signed_in(&scene, "other@example.com", PASSWORD);
    let chosen = |stored: &str, sent: &str| {
        let body = json!({ "locale": stored });
        assert_eq!(scene.server.admin("PATCH", "/users/other", Some(body)).status, 200);
        let saved = send(&browser, PATH, &[("locale", sent)]);
        assert_eq!(saved.status, 303, "{saved:?}");
        user(&scene)["locale"].clone()
    };
    assert_eq!(chosen("de-AT", "de"), "de-AT");
    assert!(browser.get(PATH).body.contains("value=\"de\" lang=\"de\" selected"));
    assert_eq!(chosen("de-AT", "fr"), "fr");
    assert_eq!(chosen("de-AT", ""), json!(null));
    assert_eq!(chosen("nb", ""), "nb");
    assert_eq!(chosen("nb", "ja"), "ja");
    assert_eq!(chosen("ja", "tlh"), json!(null), "there is no such language");
}

#[test]
fn what_was_changed_elsewhere_is_not_overwritten() {
    let scene = Scene::new();
    let browser = signed_in(&scene, "other@example.com", PASSWORD);
    let page = browser.get(PATH);
    assert_eq!(scene.server.admin("PATCH", "/users/other", Some(json!({ "name": "By Admin" }))).status, 200);
    let refused = send_of(&browser, PATH, &page, &[("name", "Old View")]);
    assert!(refused.status == 409 && refused.body.contains("By Admin"), "{refused:?}");
    assert_eq!(user(&scene)["name"], "By Admin");
}
