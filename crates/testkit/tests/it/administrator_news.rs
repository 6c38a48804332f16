//! Mail to people about what an administrator changed of what they sign in with.

use serde_json::{Value, json};

use crate::admin::bulk;
use crate::authenticators::enrol;
use crate::registration::{ANN, PASSWORD, Scene};

const NEW: &str = "ann@example.org";

/// Changes something of a user.
fn change(scene: &Scene, method: &str, path: &str, body: Option<Value>) {
    let answer = scene.server.admin(method, path, body);
    assert!((200..300).contains(&answer.status), "{method} {path}: {answer:?}");
}

#[test]
fn a_password_that_an_administrator_sets_or_removes_is_told_in_the_persons_language() {
    let scene = Scene::new();
    let ann = scene.user(json!({ "email": ANN, "password": PASSWORD, "locale": "de-AT" }));
    let path = format!("/users/{ann}/password");
    let refused = scene.server.admin("POST", &path, Some(json!({ "password": "short" })));
    assert_eq!(refused.status, 400, "{refused:?}");
    for password in [json!("quite another password"), Value::Null] {
        change(&scene, "POST", &path, Some(json!({ "password": password })));
        let mail = scene.mailbox.next();
        assert_eq!(mail.to, ANN);
        assert!(mail.text.contains("Das Passwort Ihres Kontos"), "{}", mail.text);
        assert!(!mail.text.contains("quite another"), "{}", mail.text);
    }
    scene.server.settle();
    assert_eq!(scene.mailbox.unread(), 0, "one mail for one change");
}

#[test]
fn an_address_that_an_administrator_changes_or_removes_is_told_to_the_old_one() {
    let scene = Scene::new();
    let named = json!({ "email": ANN, "email_verified": true, "preferred_username": "ann" });
    let path = format!("/users/{}", scene.user(named));
    // Another spelling of the same address, and everything else, is nothing to tell.
    for same in [json!({ "name": "Ann" }), json!({ "email": "ANN@example.com" }), json!({ "email": ANN })] {
        change(&scene, "PATCH", &path, Some(same));
    }
    change(&scene, "PATCH", &path, Some(json!({ "email": NEW })));
    let told = scene.mailbox.next();
    assert!(told.to == ANN && told.text.contains(NEW), "{told:?}");
    change(&scene, "PUT", &path, Some(json!({ "preferred_username": "ann" })));
    let told = scene.mailbox.next();
    assert!(told.to == NEW && told.text.contains("no e-mail address any more"), "{told:?}");
    change(&scene, "PATCH", &path, Some(json!({ "email": ANN })));
    scene.server.settle();
    assert_eq!(scene.mailbox.unread(), 0, "there was no address to tell");
}

#[test]
fn what_an_administrator_removes_of_passkeys_and_generator_is_told() {
    let scene = Scene::new();
    let ann = scene.user(json!({ "email": ANN, "password": PASSWORD }));
    enrol(&scene.server, &ann);
    let path = format!("/users/{ann}/authenticators");
    change(&scene, "DELETE", &format!("{path}/recovery-codes"), None);
    change(&scene, "DELETE", &format!("{path}/passkeys/key-2"), None);
    let told = scene.mailbox.next();
    assert!(told.to == ANN && told.text.contains("A passkey was removed"), "{told:?}");
    change(&scene, "DELETE", &path, None);
    let rest = [scene.mailbox.next(), scene.mailbox.next()];
    for text in ["A passkey was removed", "The authenticator app of your account"] {
        assert!(rest.iter().any(|mail| mail.text.contains(text)), "{text}: {rest:?}");
    }
    change(&scene, "DELETE", &path, None);
    scene.server.settle();
    assert_eq!(scene.mailbox.unread(), 0, "nothing was left to remove");
}

#[test]
fn another_provider_that_an_administrator_connects_is_told() {
    let scene = Scene::new();
    let provider = json!({
        "id": "acme", "name": "Acme", "issuer": "https://acme.example", "client_id": "us",
        "client_secret": "kept-by-us",
    });
    change(&scene, "POST", "/identity-providers", Some(provider));
    let connect = |user: &str| {
        let line = json!({ "user_id": user, "identity_provider": "acme", "subject": user });
        let told = bulk(&scene.server, "/identities/bulk", &[line]);
        assert_eq!(told[0]["changed"], true, "{told:?}");
    };
    let imported = scene.user(json!({ "email": "imported@example.com", "password": PASSWORD }));
    connect(&imported);
    let ann = scene.user(json!({ "email": ANN, "password": PASSWORD }));
    assert!(scene.signs_in(ANN, PASSWORD));
    scene.server.settle();
    connect(&ann);
    let told = scene.mailbox.next();
    assert!(told.to == ANN && told.text.contains("Acme"), "{told:?}");
    assert_eq!(scene.mailbox.unread(), 0, "nobody has ever signed in to the other account");
}
