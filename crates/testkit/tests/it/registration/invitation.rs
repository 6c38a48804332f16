//! Invitations.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_app::registration::invitation_link;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::sign_in::invitation::Invitation;

use super::{ANN, PASSWORD, Scene, confirm, submit};

fn invite(scene: &Scene, body: Value) -> Value {
    let answer = scene.server.admin("POST", "/invitations", Some(body));
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

fn invited_only() -> Scene {
    let scene = Scene::new();
    scene.set(json!({ "registration": "invited" }));
    scene
}

#[test]
fn who_is_invited_by_mail_opens_one_account_with_groups_and_roles() {
    let scene = invited_only();
    let group = scene.server.admin("POST", "/groups", Some(json!({ "name": "staff" }))).json();
    let role = scene.server.admin("POST", "/roles", Some(json!({ "name": "editor" }))).json();
    let (group, role) = (group["group"]["id"].clone(), role["role"]["id"].clone());
    let made = invite(&scene, json!({ "email": ANN, "groups": [group], "roles": [role] }));
    assert_eq!((&made["queued"], made.get("link")), (&json!(true), None));
    let mail = scene.mailbox.next();
    assert_eq!(mail.to, ANN);
    let browser = scene.server.browser();
    for _ in 0..3 {
        assert_eq!(browser.get(&mail.link()).status, 200, "looking at it uses nothing up");
    }
    let page = browser.get(&mail.link());
    // Another address than the invited one is not taken.
    let fields = [("email", "eve@example.com"), ("given_name", "Ann"), ("password", PASSWORD)];
    assert_eq!(submit(&browser, &page, &[("email", ANN), ("password", "short")]).status, 400);
    let done = submit(&browser, &page, &fields);
    assert_eq!((done.status, done.location().as_str()), (303, "/account"), "{done:?}");
    assert!(scene.user_of("eve@example.com").is_none());
    let user = scene.user_of(ANN).unwrap();
    assert_eq!(user["email_verified"], json!(true));
    let path = format!("/users/{}/entitlements", user["id"].as_str().unwrap());
    let held = scene.server.admin("GET", &path, None).body;
    assert!(held.contains("staff") && held.contains("editor"), "{held}");
    let other = scene.server.browser();
    assert_eq!(other.get(&mail.link()).status, 410, "it was used");
    let again = submit(&browser, &page, &fields);
    assert_eq!((again.status, again.location().as_str()), (303, "/account"), "pressed twice: {again:?}");
    let user = user["id"].as_str().unwrap();
    assert_eq!(scene.server.admin("DELETE", &format!("/users/{user}/sessions"), None).status, 200);
    let again = submit(&browser, &page, &fields);
    assert_eq!(again.status, 409, "it was used: {again:?}");
    assert_eq!(scene.audited("invitation.made").len(), 1);
}

#[test]
fn the_audit_log_names_only_what_an_invitation_really_gave() {
    let scene = invited_only();
    let made = |path: &str, kind: &str, name: &str| {
        let made = scene.server.admin("POST", path, Some(json!({ "name": name }))).json();
        made[kind]["id"].as_str().unwrap().to_owned()
    };
    let (kept, gone) = (made("/groups", "group", "staff"), made("/groups", "group", "guests"));
    let (role, gone_role) = (made("/roles", "role", "editor"), made("/roles", "role", "guest"));
    invite(&scene, json!({ "email": ANN, "groups": [gone, kept], "roles": [gone_role, role] }));
    for path in [format!("/groups/{gone}"), format!("/roles/{gone_role}")] {
        assert!(scene.server.admin("DELETE", &path, None).status < 300, "{path}");
    }
    let browser = scene.server.browser();
    let page = browser.get(&scene.mailbox.next().link());
    let done = submit(&browser, &page, &[("given_name", "Ann"), ("password", PASSWORD)]);
    assert_eq!(done.status, 303, "{done:?}");
    let told = |event: &str, member: &str| -> Vec<String> {
        let records = scene.audited(event);
        records.iter().map(|record| record["detail"][member].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(told("group.member_added", "group_id"), [kept]);
    assert_eq!(told("role.given", "role_id"), [role]);
}

#[test]
fn invitations_are_listed_until_they_end_used_or_not_and_never_with_their_link() {
    let scene = invited_only();
    let list = |query: &str| scene.server.admin("GET", &format!("/invitations{query}"), None);
    assert_eq!(list("").json()["invitations"], json!([]));
    let group = scene.server.admin("POST", "/groups", Some(json!({ "name": "staff" }))).json();
    let group = group["group"]["id"].clone();
    let at = scene.server.now().millis();
    invite(&scene, json!({ "email": ANN, "groups": [group] }));
    let mail = scene.mailbox.next();
    scene.server.clock.advance(Duration::from_secs(1));
    let made = invite(&scene, json!({ "email": "Bob@example.com", "send_mail": false, "lifetime": 60 }));
    let link = made["link"].as_str().unwrap();
    let answer = list("");
    assert!(!answer.body.contains("register?") && !answer.body.contains(&link[link.len() - 20..]));
    let all = answer.json();
    let listed = |all: &Value, number: usize| all["invitations"][number].clone();
    assert_eq!(all["pagination"]["total"], 2);
    assert_eq!(listed(&all, 0), made["invitation"], "the newest first, as it was told when it was made");
    let of_ann = listed(&all, 1);
    let week = 7 * 86_400_000;
    assert_eq!(
        of_ann,
        json!({
            "id": of_ann["id"], "email": ANN, "is_mailed": true, "groups": [group], "roles": [], "created_at": at,
            "expires_at": at + week, "made_by": "admin", "made_from": "127.0.0.1", "used_at": null,
        })
    );
    assert_eq!(listed(&list("?limit=1&page=2").json(), 0)["email"], ANN);
    let found = list("?search=bOB").json();
    assert_eq!(
        (&found["pagination"]["total"], &listed(&found, 0)["email"]),
        (&json!(1), &json!("Bob@example.com"))
    );
    for bad in ["?page=0", "?state=used"] {
        assert_eq!(list(bad).status, 400, "{bad}");
    }
    let browser = scene.server.browser();
    let used = submit(&browser, &browser.get(&mail.link()), &[("given_name", "Ann"), ("password", PASSWORD)]);
    assert_eq!(used.status, 303, "{used:?}");
    let used_at = scene.server.now().millis();
    assert_eq!(listed(&list("").json(), 1)["used_at"], used_at);
    let path = format!("/invitations/{}", of_ann["id"].as_str().unwrap());
    assert_eq!(scene.server.admin("DELETE", &path, None).status, 404, "it was used, and stays in the list");
    scene.server.clock.advance(Duration::from_secs(60));
    let left = list("").json();
    assert_eq!(
        (&left["pagination"]["total"], &listed(&left, 0)["email"]),
        (&json!(1), &json!(ANN)),
        "Bob's is over"
    );
}

/// They were not kept: their ids tell when they end, and a mark that they were used or withdrawn.
#[test]
fn an_invitation_of_an_earlier_release_leads_in_once_and_can_be_withdrawn() {
    let scene = invited_only();
    let issuers = scene.server.app.issuers.load_full();
    let issuer = issuers.by_id(&IssuerId::default_issuer()).unwrap();
    let link = |letter: &str| {
        let expires_at = scene.server.now() + Duration::from_secs(3_600);
        let id = format!("{}-{}", expires_at.seconds(), letter.repeat(22));
        let (groups, roles) = (Vec::new(), Vec::new());
        let email = format!("{}@example.com", letter.to_lowercase());
        let invitation = Invitation { id: id.clone(), email, is_mailed: true, groups, roles, expires_at };
        (invitation_link(issuer, &invitation).unwrap(), format!("/invitations/{id}"))
    };
    let fields = [("given_name", "Ann"), ("password", PASSWORD)];
    let ((used, used_path), (withdrawn, withdrawn_path)) = (link("A"), link("Q"));
    let browser = scene.server.browser();
    let page = browser.get(&used);
    assert_eq!(submit(&browser, &page, &fields).status, 303);
    assert_eq!(submit(&browser, &page, &fields).status, 303, "pressed twice");
    assert_eq!(scene.server.admin("DELETE", &used_path, None).status, 404);
    let browser = scene.server.browser();
    let page = browser.get(&withdrawn);
    assert_eq!(scene.server.admin("DELETE", &withdrawn_path, None).status, 204);
    assert_eq!(scene.server.admin("DELETE", &withdrawn_path, None).status, 404);
    assert_eq!(submit(&browser, &page, &fields).status, 410);
    assert!(scene.user_of("a@example.com").is_some() && scene.user_of("q@example.com").is_none());
}

#[test]
fn a_link_that_was_handed_over_does_not_prove_the_address() {
    let scene = invited_only();
    let made = invite(&scene, json!({ "email": ANN, "send_mail": false }));
    let link = made["link"].as_str().unwrap().to_owned();
    let browser = scene.server.browser();
    let page = browser.get(&link);
    assert!(!page.body.contains("name=\"password\""), "{}", page.body);
    let sent = submit(&browser, &page, &[]);
    let waiting = browser.get(&sent.location());
    let mail = scene.mailbox.next();
    assert_eq!(confirm(&browser, &waiting, &mail.code(), PASSWORD).status, 303);
    assert!(scene.signs_in(ANN, PASSWORD));
}

#[test]
fn an_invitation_ends_by_its_time_by_withdrawal_and_with_registration() {
    let scene = invited_only();
    let browser = scene.server.browser();
    invite(&scene, json!({ "email": ANN, "lifetime": 60 }));
    let link = scene.mailbox.next().link();
    let page = browser.get(&link);
    scene.server.clock.advance(Duration::from_secs(60));
    assert_eq!(browser.get(&link).status, 410);
    assert_eq!(submit(&browser, &page, &[("password", PASSWORD)]).status, 410);
    let made = invite(&scene, json!({ "email": ANN }));
    let link = scene.mailbox.next().link();
    let page = browser.get(&link);
    let path = format!("/invitations/{}", made["invitation"]["id"].as_str().unwrap());
    assert_eq!(scene.server.admin("DELETE", &path, None).status, 204);
    assert_eq!(scene.server.admin("DELETE", &path, None).status, 404);
    assert_eq!(browser.get(&link).status, 410);
    assert_eq!(submit(&browser, &page, &[("password", PASSWORD)]).status, 410);
    invite(&scene, json!({ "email": ANN }));
    let link = scene.mailbox.next().link();
    scene.set(json!({ "registration": "closed" }));
    assert_eq!(browser.get(&link).status, 403);
    assert!(scene.user_of(ANN).is_none());
    for (body, status) in [
        (json!({ "email": ANN }), 409),
        (json!({}), 400),
        (json!({ "email": "x" }), 400),
        (json!({ "email": ANN, "lifetime": 1 }), 400),
        (json!({ "email": ANN, "groups": ["nothing"] }), 400),
    ] {
        if status == 400 {
            scene.set(json!({ "registration": "invited" }));
        }
        assert_eq!(scene.server.admin("POST", "/invitations", Some(body.clone())).status, status, "{body}");
    }
    for forged in ["", "x", &"A".repeat(300)] {
        let page = browser.get(&format!("/register?invitation={forged}"));
        assert!(page.status == 403 || page.status == 410, "{page:?}");
    }
}
