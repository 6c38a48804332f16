//! Who may not sign in at the source does not come in active, however the source says it.

use serde_json::{Value, json};

use super::testing::{Noted, file, opened};

/// What is sent of a user of whom a file says something.
fn sent(kind: &str, user: impl Fn(Value) -> Value, said: Value) -> Value {
    let (_file, path) = file(&user(said).to_string());
    let read = opened(&[kind, &path]).unwrap();
    let server = Noted::default();
    let (done, _) = server.import(false, |importer| read(importer));
    assert_eq!(done, Ok(()));
    server.to("/users/bulk").remove(0)
}

#[test]
fn a_value_that_is_not_understood_is_left_to_the_server_which_refuses_it() {
    type User = fn(Value) -> Value;
    let kinds: [(&str, &str, User); 5] = [
        ("auth0", "blocked", |said| json!({ "user_id": "1", "email": "a@b.example", "blocked": said })),
        (
            "firebase",
            "disabled",
            |said| json!({ "users": [{ "localId": "1", "email": "a@b.example", "disabled": said }] }),
        ),
        (
            "cognito",
            "enabled",
            |said| json!({ "Users": [{ "Username": "a", "Enabled": said, "Attributes": [] }] }),
        ),
        ("keycloak", "enabled", |said| json!({ "users": [{ "username": "a", "enabled": said }] })),
        (
            "authentik",
            "is_active",
            |said| json!([{ "model": "authentik_core.user", "pk": 1, "fields": { "username": "a", "uuid": "u", "is_active": said } }]),
        ),
    ];
    for (kind, member, user) in kinds {
        for said in [json!(true), json!(false), json!("false"), json!(""), json!(0), json!([]), json!({})] {
            let sent = sent(kind, user, said.clone());
            assert_eq!(sent[member], said, "{kind}");
            assert!(sent.get("active").is_none(), "{kind}");
        }
    }
}

#[test]
fn a_user_of_keycloak_of_whom_nothing_is_said_is_not_active() {
    for user in [json!({ "username": "a" }), json!({ "username": "a", "enabled": null })] {
        assert_eq!(sent("keycloak", |_| json!({ "users": [user] }), json!(null))["enabled"], false);
    }
}
