//! Users of the admin API: what a change leaves as it was.

use serde_json::json;
use symbolon_testkit::{Options, TestServer};

use crate::admin::bulk;

/// RFC 7396 2: a patch changes what it names, inside of objects too.
#[test]
fn a_patch_keeps_what_it_does_not_name() {
    let server = TestServer::start();
    let body = json!({ "email": "ann@example.com", "address": { "locality": "Wien", "country": "AT", "region": "W" } });
    let user = server.admin("POST", "/users", Some(body)).json()["user"]["id"].as_str().unwrap().to_owned();
    let path = format!("/users/{user}");
    let patch = json!({ "address": { "country": "DE", "region": null } });
    let patched = server.admin("PATCH", &path, Some(patch)).json();
    assert_eq!(patched["user"]["address"], json!({ "locality": "Wien", "country": "DE" }));
    let patched = server.admin("PATCH", &path, Some(json!({ "address": null }))).json();
    assert!(patched["user"]["address"].is_null(), "{patched}");
}

/// OpenID Connect Core 2: a `sub` is never reassigned. Applications would take the newcomer for the one who left.
#[test]
fn a_new_user_has_not_the_id_of_one_who_is_gone() {
    let server = TestServer::start();
    let gone = server.create_user("ann@example.com");
    assert_eq!(server.admin("DELETE", &format!("/users/{gone}"), None).status, 204);
    assert_ne!(server.create_user("ann@example.com"), gone);
}

#[test]
fn a_password_is_neither_lost_nor_left_by_a_slip() {
    let server = TestServer::start();
    let body = json!({ "email": "ann@example.com", "password": "correct horse battery" });
    let user = server.admin("POST", "/users", Some(body)).json()["user"]["id"].as_str().unwrap().to_owned();
    let path = format!("/users/{user}/password");
    for slip in [json!({}), json!({ "pasword": "another horse" }), json!({ "sign_out": true })] {
        assert_eq!(server.admin("POST", &path, Some(slip.clone())).status, 400, "{slip}");
    }
    for method in ["PATCH", "PUT"] {
        let body = json!({ "email": "ann@example.com", "password": "another horse" });
        let refused = server.admin(method, &format!("/users/{user}"), Some(body));
        assert_eq!(refused.status, 400, "{method}");
        assert!(refused.body.contains("POST /users/{user_id}/password"), "{}", refused.body);
    }
    for good in [json!({ "password": "another horse" }), json!({ "password": null })] {
        let answer = server.admin("POST", &path, Some(good.clone()));
        assert_eq!(
            (answer.status, answer.json()["left_alive"]["sessions"].as_u64()),
            (200, Some(0)),
            "{good}"
        );
    }
}

#[test]
fn ids_that_a_url_would_lose_are_refused() {
    let server = TestServer::start();
    for id in [".", ".."] {
        let body = json!({ "id": id, "email": "ann@example.com" });
        assert_eq!(server.admin("POST", "/users", Some(body)).status, 400, "{id}");
        let body = json!({ "client_id": id, "client_name": "x", "redirect_uris": ["https://x.example/"] });
        assert_eq!(server.admin("POST", "/clients", Some(body)).status, 400, "{id}");
    }
}

/// A hash that takes long to check would be found by the time, and takes the thread from everybody else.
#[test]
fn a_hash_that_costs_too_much_is_not_imported() {
    let server = TestServer::start_with(Options::default().env("SYMBOLON_ARGON2_IMPORT_WORK", "384KiB"));
    let hash = |memory: u32, passes: u32| {
        format!(
            "$argon2id$v=19$m={memory},t={passes},p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
        )
    };
    let user = |id: &str, hash: &str| json!({ "id": id, "preferred_username": id, "password_hash": hash });
    let created = server.admin("POST", "/users", Some(user("cheap", &hash(64, 2))));
    assert_eq!(created.status, 201, "{created:?}");
    for costly in [hash(65_536, 3), hash(64, 60), hash(1 << 20, 3), hash(64, 1_000)] {
        let answers = [
            server.admin("POST", "/users", Some(user("costly", &costly))),
            server.admin("POST", "/users/cheap/password", Some(json!({ "password_hash": costly }))),
        ];
        for answer in answers {
            assert_eq!(answer.status, 400, "{answer:?}");
            assert!(answer.body.contains("at most"), "{answer:?}");
        }
        let lines = bulk(&server, "/users/bulk", &[user("costly", &costly)]);
        assert!(lines[0].to_string().contains("at most"), "{lines:?}");
        assert_eq!(server.admin("GET", "/users/costly", None).status, 404);
    }
}

/// Exports of other systems say by other names whether somebody may sign in: a disabled user must not come in active.
#[test]
fn a_disabled_user_is_inactive_by_whichever_name() {
    let server = TestServer::start();
    for (id, name, value) in [
        ("a", "active", false),
        ("b", "enabled", false),
        ("c", "is_active", false),
        ("d", "disabled", true),
        ("e", "blocked", true),
    ] {
        let email = format!("{id}@example.com");
        let body = json!({ "id": id, "email": email, name: value });
        let made = server.admin("POST", "/users", Some(body));
        assert_eq!((made.status, &made.json()["user"]["active"]), (201, &json!(false)), "{name}");
        assert!(made.json()["user"].get("blocked").is_none(), "it is shown by its own name");
        assert_eq!(
            server.admin("POST", "/test/sessions", Some(json!({ "user_id": id }))).status,
            404,
            "{name}"
        );
        let patched = server.admin("PATCH", &format!("/users/{id}"), Some(json!({ name: !value })));
        assert_eq!((patched.status, &patched.json()["user"]["active"]), (200, &json!(true)), "{name}");
        assert_eq!(
            server.admin("POST", "/test/sessions", Some(json!({ "user_id": id }))).status,
            201,
            "{name}"
        );
    }
    for contradiction in
        [json!({ "active": true, "blocked": true }), json!({ "enabled": true, "disabled": true })]
    {
        for (method, path) in [("PATCH", "/users/a"), ("PUT", "/users/a"), ("POST", "/users")] {
            let mut body = contradiction.clone();
            body["email"] = json!("a@example.com");
            let refused = server.admin(method, path, Some(body));
            assert_eq!(refused.status, 400, "{method} {contradiction}");
            assert!(refused.body.contains("contradicts"), "{refused:?}");
        }
    }
    let odd = server.admin("PATCH", "/users/a", Some(json!({ "disabled": "yes" })));
    assert!(odd.status == 400 && odd.body.contains("disabled is not valid"), "{odd:?}");
    assert_eq!(server.admin("GET", "/users/a", None).json()["user"]["active"], true);
}
