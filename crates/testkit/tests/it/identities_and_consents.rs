//! Identities, consents and providers in bulk, and the exports of these and of logos.

use serde_json::{Value, json};
use symbolon_testkit::{ADMIN_SECRET, Browser, RelyingParty, TestServer};

use crate::admin::bulk;

/// The lines of an export.
fn export(server: &TestServer, path: &str) -> Vec<Value> {
    let answer = server.admin("GET", path, None);
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer.body.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// A server with the users `ann` and `bob`, the client `app` and the provider `acme`.
fn server() -> TestServer {
    let server = TestServer::start();
    RelyingParty::register(&server, json!({ "client_id": "app" }));
    let users = ["ann", "bob"].map(|id| json!({ "id": id, "email": format!("{id}@example.com") }));
    assert_eq!(bulk(&server, "/users/bulk", &users).len(), 2);
    let made = bulk(&server, "/identity-providers/bulk", &[acme()]);
    assert_eq!(made[0]["identity_provider"]["has_client_secret"], true, "{made:?}");
    server
}

fn acme() -> Value {
    json!({ "id": "acme", "issuer": "https://acme.example", "client_id": "us", "client_secret": "kept-by-us" })
}

fn identity(user: &str, provider: &str, subject: &str) -> Value {
    json!({ "user_id": user, "identity_provider": provider, "subject": subject })
}

#[test]
fn an_identity_is_one_users_and_a_repeat_changes_nothing() {
    let server = server();
    let lines = [
        identity("ann", "acme", "s1"),
        identity("bob", "nobody", "s2"),
        identity("carol", "acme", "s3"),
        identity("bob", "acme", "caf\u{e9}"),
    ];
    let told = bulk(&server, "/identities/bulk", &lines);
    assert_eq!(told[0]["changed"], true, "{told:?}");
    for (answer, why) in told[1..].iter().zip(["no such identity provider", "no such user", "ASCII"]) {
        assert!(answer["error_description"].as_str().is_some_and(|text| text.contains(why)), "{answer}");
    }
    let again = [identity("ann", "acme", "s1"), identity("bob", "acme", "s1"), identity("ann", "acme", "s9")];
    let told = bulk(&server, "/identities/bulk", &again);
    assert_eq!(told[0]["changed"], false, "{told:?}");
    assert_eq!((&told[1]["error"], &told[2]["error"]), (&json!("conflict"), &json!("conflict")), "{told:?}");

    let all = export(&server, "/identities/export");
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!((&all[0]["user_id"], &all[0]["subject"]), (&json!("ann"), &json!("s1")));
    // What is exported is taken as it is.
    assert_eq!(bulk(&server, "/identities/bulk", &all)[0]["changed"], false);
    // An identity at a provider that is no more leads to nobody.
    assert_eq!(server.admin("DELETE", "/identity-providers/acme", None).status, 204);
    assert!(export(&server, "/identities/export").is_empty());
}

#[test]
fn a_consent_that_is_there_stays_and_none_is_of_later_than_now() {
    let server = server();
    let later = server.now().millis() + 60_000;
    let consent = |user: &str, client: &str, scope: &str| {
        json!({
            "user_id": user, "client_id": client, "scope": scope, "granted_at": later, "client_consent_version": 3,
        })
    };
    let lines = [
        consent("ann", "app", "openid email"),
        consent("bob", "gone", "openid"),
        consent("carol", "app", "openid"),
    ];
    let told = bulk(&server, "/consents/bulk", &lines);
    assert_eq!(told[0]["changed"], true, "{told:?}");
    for (answer, why) in told[1..].iter().zip(["no such client", "no such user"]) {
        assert!(answer["error_description"].as_str().is_some_and(|text| text.contains(why)), "{answer}");
    }
    let more = bulk(&server, "/consents/bulk", &[consent("ann", "app", "openid phone")]);
    assert_eq!(more[0]["changed"], false, "{more:?}");
    let all = export(&server, "/consents/export");
    let expected = json!({
        "user_id": "ann", "client_id": "app", "scope": "openid email", "granted_at": server.now().millis(),
        "client_consent_version": 3,
    });
    assert_eq!(all, [expected]);
}

#[test]
fn providers_are_tried_and_exported_without_their_secrets() {
    let server = server();
    let other = json!({ "id": "other", "issuer": "https://other.example", "client_id": "us" });
    let tried = bulk(&server, "/identity-providers/bulk?dry_run=true", &[acme(), other]);
    assert_eq!(
        (&tried[0]["error"], &tried[1]["identity_provider"]["id"]),
        (&json!("conflict"), &json!("other"))
    );
    let all = export(&server, "/identity-providers/export");
    assert_eq!(all.len(), 1, "a trial made one: {all:?}");
    assert!(all[0].get("client_secret").is_none() && !all[0].to_string().contains("kept-by-us"), "{all:?}");
}

#[test]
fn logos_are_exported_with_their_owners() {
    let server = server();
    assert!(export(&server, "/logos/export").is_empty());
    let (browser, bearer) = (Browser::new(&server.management), format!("Bearer {ADMIN_SECRET}"));
    let headers = [("authorization", &*bearer), ("content-type", "image/svg+xml")];
    for path in ["/clients/app/logo", "/branding/logo"] {
        let put = browser.send("PUT", &format!("/api/admin{path}"), &headers, b"<svg/>");
        assert_eq!(put.status, 200, "{put:?}");
    }
    let logo = json!({ "media_type": "image/svg+xml", "content": "PHN2Zy8-" });
    let mut of_app = logo.clone();
    of_app["client_id"] = json!("app");
    assert_eq!(export(&server, "/logos/export"), [logo, of_app]);
}
