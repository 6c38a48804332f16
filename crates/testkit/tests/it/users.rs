//! Users of the admin API: what a change leaves as it was.

use serde_json::json;
use symbolon_testkit::TestServer;

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

#[test]
fn a_password_is_neither_lost_nor_left_by_a_slip() {
    let server = TestServer::start();
    let body = json!({ "email": "ann@example.com", "password": "correct horse battery" });
    let user = server.admin("POST", "/users", Some(body)).json()["user"]["id"].as_str().unwrap().to_owned();
    let path = format!("/users/{user}/password");
    for slip in [json!({}), json!({ "pasword": "another horse" }), json!({ "end_sessions": true })] {
        assert_eq!(server.admin("POST", &path, Some(slip.clone())).status, 400, "{slip}");
    }
    for method in ["PATCH", "PUT"] {
        let body = json!({ "email": "ann@example.com", "password": "another horse" });
        let refused = server.admin(method, &format!("/users/{user}"), Some(body));
        assert_eq!(refused.status, 400, "{method}");
        assert!(refused.body.contains("POST /users/{user_id}/password"), "{}", refused.body);
    }
    for good in [json!({ "password": "another horse" }), json!({ "password": null })] {
        assert_eq!(server.admin("POST", &path, Some(good.clone())).status, 204, "{good}");
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
