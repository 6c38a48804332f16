//! Other providers in the admin API.

use serde_json::json;
use symbolon_testkit::TestServer;

use super::add;

#[test]
fn a_provider_is_made_changed_and_deleted_and_its_secret_never_shown() {
    let server = TestServer::start();
    let made = add(&server, "google", json!({ "preset": "google", "client_secret": "very-secret" }));
    assert_eq!(made["issuer"], "https://accounts.google.com");
    assert_eq!(made["callback"], format!("{}/login/callback/google", server.issuer));
    assert_eq!((&made["has_client_secret"], &made["enabled"]), (&json!(true), &json!(true)));
    let one = "/identity-providers/google";
    let groups = json!({ "claim": "groups", "groups": { "admins": "staff" } });
    let body = json!({ "sign_up": true, "groups": groups, "email_domains": ["Example.com"] });
    let changed = server.admin("PATCH", one, Some(body));
    assert_eq!(changed.status, 200, "{changed:?}");
    let changed = changed.json()["identity_provider"].clone();
    assert_eq!((&changed["email_domains"], &changed["name"]), (&json!(["example.com"]), &json!("Acme")));
    assert_eq!(changed["has_client_secret"], true, "what is not named stays");
    // What was shown can be sent back.
    let again = server.admin("PATCH", one, Some(changed));
    assert_eq!(again.status, 200, "{again:?}");
    let public = server.admin("PATCH", one, Some(json!({ "client_secret": null, "groups": null })));
    assert_eq!(public.json()["identity_provider"]["has_client_secret"], false, "{public:?}");
    assert!(public.json()["identity_provider"]["groups"].is_null());
    // Settings that are put as a whole leave providers as they are, and do not show them.
    let settings = server.admin("PUT", "/settings", Some(json!({})));
    assert!(settings.status == 200 && !settings.body.contains("google"), "{settings:?}");
    let listed = server.admin("GET", "/identity-providers", None);
    assert_eq!(listed.json()["identity_providers"].as_array().unwrap().len(), 1);
    for shown in [&listed, &server.admin("GET", one, None), &server.admin("GET", "/audit-logs", None)] {
        assert!(!shown.body.contains("very-secret") && !shown.body.contains("sealed_secret"), "{shown:?}");
    }
    assert_eq!(server.admin("DELETE", one, None).status, 204);
    assert_eq!(server.admin("GET", one, None).status, 404);
}

#[test]
fn mistakes_are_told_with_what_to_do() {
    let server = TestServer::start();
    for (body, told) in [
        (json!({ "id": "a", "client_id": "x" }), "issuer is required, or a preset"),
        (json!({ "id": "a", "preset": "google" }), "client_id is required"),
        (json!({ "id": "A", "preset": "google", "client_id": "x" }), "id is not valid"),
        (json!({ "id": "a", "preset": "yahoo", "client_id": "x" }), "preset is not valid"),
        (json!({ "id": "a", "preset": "microsoft", "client_id": "x" }), "tenant is missing"),
        (
            json!({ "id": "a", "preset": "microsoft", "tenant": "common", "client_id": "x" }),
            "tenant \"common\"",
        ),
        (json!({ "id": "a", "issuer": "http://a.example", "client_id": "x" }), "is not https"),
        (
            json!({ "id": "a", "issuer": "https://a.example", "client_id": "x", "scopes": ["email"] }),
            "\"openid\"",
        ),
        (json!({ "id": "a", "preset": "github", "kind": "openid", "client_id": "x" }), "contradicts"),
        (json!({ "id": "a", "preset": "google", "client_id": "x", "sing_up": true }), "sing_up"),
    ] {
        let refused = server.admin("POST", "/identity-providers", Some(body.clone()));
        assert_eq!(refused.status, 400, "{body}: {refused:?}");
        assert!(refused.body.replace("\\\"", "\"").contains(told), "{body}: {}", refused.body);
    }
    add(&server, "google", json!({ "preset": "google" }));
    let twice = json!({ "id": "google", "preset": "google", "client_id": "x" });
    assert_eq!(server.admin("POST", "/identity-providers", Some(twice)).status, 409);
    let fixed = server.admin("PATCH", "/identity-providers/google", Some(json!({ "kind": "github" })));
    assert!(fixed.status == 400 && fixed.body.contains("kind cannot be changed"), "{fixed:?}");
}
