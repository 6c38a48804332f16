//! The authenticators of a user at the admin API: shown without secrets, removed one by one and together.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_protocol::authenticator::{AuthenticatorSet, Passkey, RecoveryCode, Totp};
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_testkit::TestServer;

/// Enrols a user as the account pages would: two passkeys, a generator and two recovery codes. Returns what nobody may be
/// shown.
pub(crate) fn enrol(server: &TestServer, user: &str) -> Vec<String> {
    let now = server.now();
    let passkey = |number: u8, last_used_at| Passkey {
        id: format!("key-{number}"),
        name: format!("Key {number}"),
        credential: json!({ "public_key": format!("the public key {number}") }),
        is_synced: number == 1,
        created_at: now,
        last_used_at,
    };
    let code = |number: u8| RecoveryCode { digest: format!("the digest {number}") };
    let set = AuthenticatorSet {
        passkeys: vec![passkey(1, Some(now + Duration::from_secs(1))), passkey(2, None)],
        totp: Some(Totp { secret: "the sealed secret".to_owned(), added_at: now, last_step: 59_000_001 }),
        recovery_codes: vec![code(1), code(2)],
        has_signed_in: false,
    };
    let (issuer, user, store) = (IssuerId::default_issuer(), UserId::trusted(user), &server.app.store);
    let enrolled = server.block_on(store.authenticators(&issuer, &user)).unwrap();
    let put = server.block_on(store.put_authenticators(&issuer, &user, enrolled.revision, &set)).unwrap();
    assert_eq!(put, symbolon_store::port::AuthenticatorUpdate::Written);
    ["the public key", "the digest", "the sealed secret", "59000001"].map(str::to_owned).to_vec()
}

fn held(server: &TestServer, user: &str) -> Value {
    let answer = server.admin("GET", &format!("/users/{user}/authenticators"), None);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["authenticators"].clone()
}

#[test]
fn authenticators_are_shown_without_secrets_and_removed() {
    let server = TestServer::start();
    let (user, _) = server.signed_in("a@example.com");
    let none = json!({ "passkeys": [], "totp": null, "recovery_codes": 0 });
    assert_eq!(held(&server, &user), none);
    let secrets = enrol(&server, &user);
    let found = held(&server, &user);
    let now = server.now().millis();
    let first = json!({
        "id": "key-1", "name": "Key 1", "is_synced": true, "created_at": now, "last_used_at": now + 1_000,
    });
    assert_eq!(found["passkeys"][0], first);
    assert_eq!(found["passkeys"][1]["last_used_at"], Value::Null);
    assert_eq!((&found["totp"], &found["recovery_codes"]), (&json!({ "added_at": now }), &json!(2)));
    assert!(secrets.iter().all(|secret| !found.to_string().contains(&**secret)), "{found}");

    let remove =
        |what: &str| server.admin("DELETE", &format!("/users/{user}/authenticators{what}"), None).status;
    assert_eq!(
        (remove("/passkeys/key-3"), remove("/passkeys/key-2"), remove("/passkeys/key-2")),
        (404, 204, 404)
    );
    assert_eq!((remove("/totp"), remove("/totp")), (204, 404));
    let left = held(&server, &user);
    assert_eq!(left, json!({ "passkeys": [first], "totp": null, "recovery_codes": 2 }));
    assert_eq!((remove("/recovery-codes"), remove("/recovery-codes")), (204, 404));
    assert_eq!((remove(""), remove("")), (204, 204));
    assert_eq!(held(&server, &user), none);
    for (method, path) in [("GET", ""), ("DELETE", ""), ("DELETE", "/totp"), ("DELETE", "/passkeys/key-1")] {
        assert_eq!(server.admin(method, &format!("/users/nobody/authenticators{path}"), None).status, 404);
    }

    let log = server.admin("GET", "/audit-logs?event=user.authenticators_removed", None).json();
    let details: Vec<&Value> =
        log["audit_logs"].as_array().unwrap().iter().map(|record| &record["detail"]).collect();
    assert_eq!(details.len(), 4, "what removed nothing is no event: {log}");
    assert_eq!(details[3]["passkeys"], json!([{ "id": "key-2", "name": "Key 2" }]));
    assert_eq!((&details[2]["totp"], &details[1]["recovery_codes"]), (&json!(true), &json!(2)));
    assert_eq!(details[0]["passkeys"], json!([{ "id": "key-1", "name": "Key 1" }]));
    assert!(log["audit_logs"].as_array().unwrap().iter().all(|record| record["user"] == json!(user)));
    assert!(secrets.iter().all(|secret| !log.to_string().contains(&**secret)), "{log}");
}

#[test]
fn authenticators_go_with_their_user() {
    let server = TestServer::start();
    let create = || server.admin("POST", "/users", Some(json!({ "id": "ann", "email": "ann@example.com" })));
    assert_eq!(create().status, 201);
    enrol(&server, "ann");
    assert_eq!(server.admin("DELETE", "/users/ann", None).status, 204);
    assert_eq!(create().status, 201);
    assert_eq!(held(&server, "ann"), json!({ "passkeys": [], "totp": null, "recovery_codes": 0 }));
}
