//! Members that nobody knows are refused by every operation of the admin API that takes a body.

mod operations;

use serde_json::{Value, json};
use symbolon_testkit::{Answer, Browser, RelyingParty, TestServer};

use crate::admin::bulk;

/// The description of a refusal with 400.
fn refusal(answer: &Answer) -> String {
    assert_eq!((answer.status, answer.error()), (400, "invalid_request".to_owned()), "{answer:?}");
    answer.json()["error_description"].as_str().expect("a description").to_owned()
}

#[test]
fn every_body_is_read_to_its_last_member() {
    let server = TestServer::start();
    let (user, _) = server.signed_in("ann@example.com");
    RelyingParty::register(&server, json!({ "client_id": "app" }));
    let user = format!("/users/{user}");
    let (user, password, sign_out) =
        (user.as_str(), &*format!("{user}/password"), &*format!("{user}/sign-out"));
    let client = json!({ "client_name": "x", "redirect_uris": ["https://x.example/"] });
    for (method, path, good, slip, meant) in [
        ("POST", "/users", json!({ "email": "b@example.com" }), "emial_verified", Some("email_verified")),
        (
            "PUT",
            user,
            json!({ "email": "ann@example.com" }),
            "preferred_user_name",
            Some("preferred_username"),
        ),
        ("PATCH", user, json!({}), "nickame", Some("nickname")),
        ("POST", password, json!({ "password": null }), "signout", Some("sign_out")),
        ("POST", sign_out, json!({}), "everywhere", None),
        ("POST", "/clients", client.clone(), "enabled", None),
        ("PUT", "/clients/app", client, "redirect_uri", Some("redirect_uris")),
        ("PATCH", "/clients/app", json!({}), "code_lifetimes", Some("code_lifetime")),
        ("PATCH", "/settings", json!({}), "audit_day", Some("audit_days")),
        ("PUT", "/settings", json!({}), "lifetime", Some("lifetimes")),
        ("PUT", "/settings/session-shards", json!({ "shards": 8 }), "shard", Some("shards")),
        ("PUT", "/settings/refresh-token-sharding", json!({ "shardCount": 8 }), "note", Some("notes")),
        (
            "PUT",
            "/settings/introspection-validation",
            json!({ "strictValidation": false }),
            "expectedAudiences",
            Some("expectedAudience"),
        ),
        ("PUT", "/settings/token-exchange", json!({}), "enable", Some("enabled")),
        ("POST", "/issuers", json!({ "id": "acme", "url": "https://acme.example" }), "uri", Some("url")),
        ("POST", "/test/sessions", json!({ "user_id": "ann@example.com" }), "ttl", None),
        (
            "POST",
            "/test/email-codes",
            json!({ "email": "ann@example.com" }),
            "create_users",
            Some("create_user"),
        ),
        ("POST", "/signing-keys/rotate", json!({}), "algorithms", Some("algorithm")),
    ] {
        let mut body = good;
        body[slip] = Value::Null;
        let told = refusal(&server.admin(method, path, Some(body)));
        assert!(told.starts_with(&format!("unknown member \"{slip}\"")), "{method} {path}: {told}");
        match meant {
            Some(meant) => assert!(told.ends_with(&format!("did you mean \"{meant}\"?")), "{told}"),
            None => assert!(!told.contains("did you mean"), "{told}"),
        }
    }
    assert_eq!(server.admin("GET", "/users?email=b@example.com", None).json()["users"], json!([]));
    assert_eq!(server.admin("GET", "/issuers/acme", None).status, 404);
}

#[test]
fn groups_roles_and_who_has_them_are_read_to_the_last_member() {
    let server = TestServer::start();
    let (user, _) = server.signed_in("ann@example.com");
    for (path, id) in [("/groups", "staff"), ("/roles", "ops")] {
        assert_eq!(server.admin("POST", path, Some(json!({ "id": id, "name": id }))).status, 201);
    }
    let (member, to_user) = (format!("/groups/staff/members/{user}"), format!("/users/{user}/roles/ops"));
    for (method, path, good, slip, meant) in [
        ("POST", "/groups", json!({ "name": "x" }), "parent", Some("parent_id")),
        ("PUT", "/groups/staff", json!({ "name": "staff" }), "descripton", Some("description")),
        ("PATCH", "/groups/staff", json!({}), "nam", Some("name")),
        ("POST", "/roles", json!({ "name": "x" }), "clientId", Some("client_id")),
        ("PUT", "/roles/ops", json!({ "name": "ops" }), "client", Some("client_id")),
        ("PATCH", "/roles/ops", json!({}), "descripton", Some("description")),
        ("PUT", &*member, json!({}), "expires_at", None),
        ("DELETE", &*member, json!({}), "reason", None),
        ("PUT", &*to_user, json!({}), "scope", None),
        ("PUT", "/groups/staff/roles/ops", json!({}), "until", None),
    ] {
        let mut body = good;
        body[slip] = Value::Null;
        let told = refusal(&server.admin(method, path, Some(body)));
        let mut expected = format!("unknown member \"{slip}\"");
        if let Some(meant) = meant {
            expected.push_str(&format!("; did you mean \"{meant}\"?"));
        }
        assert_eq!(told, expected, "{method} {path}");
    }
    let entitlements = server.admin("GET", &format!("/users/{user}/entitlements"), None).json();
    assert_eq!(entitlements["entitlements"]["groups"], json!([]), "nothing was done");
    for (path, line, slip) in [
        ("/groups/bulk", json!({ "name": "a" }), "parents"),
        ("/roles/bulk", json!({ "name": "a" }), "clients"),
        ("/memberships/bulk", json!({ "group_id": "staff", "user_id": user }), "until"),
        ("/memberships/bulk-removal", json!({ "group_id": "staff", "user_id": user }), "reason"),
        ("/given-roles/bulk", json!({ "role_id": "ops", "user_id": user }), "scope"),
        ("/given-roles/bulk-removal", json!({ "role_id": "ops", "user_id": user }), "reason"),
    ] {
        let mut bad = line.clone();
        bad[slip] = json!("x");
        let lines = bulk(&server, path, &[bad, line]);
        let told = lines[0]["error_description"].as_str().unwrap_or_else(|| panic!("{path}: {lines:?}"));
        assert!(told.starts_with(&format!("unknown member \"{slip}\"")), "{path}: {told}");
        assert!(lines[1].get("error").is_none(), "{path}: {lines:?}");
    }
}

/// `/users/export` and its like are paths of their own: nobody could reach a record of that id.
#[test]
fn an_id_that_no_path_leads_to_is_refused() {
    let server = TestServer::start();
    let of = |path: &str, id: &str| match path {
        "/users" => json!({ "id": id, "email": "ann@example.com" }),
        "/clients" => json!({ "client_id": id, "client_name": "x", "redirect_uris": ["https://x.example/"] }),
        _ => json!({ "id": id, "name": "x" }),
    };
    for path in ["/users", "/clients", "/groups", "/roles"] {
        for id in ["bulk", "export", ".", ".."] {
            let told = refusal(&server.admin("POST", path, Some(of(path, id))));
            assert!(told.contains("id"), "{path} {id}: {told}");
            let lines = bulk(&server, &format!("{path}/bulk"), &[of(path, id)]);
            assert_eq!((&lines[0]["error_description"], lines.len()), (&json!(told), 1), "{path} {id}");
            if ["bulk", "export"].contains(&id) {
                assert!(told.contains("must not be bulk or export"), "{path} {id}: {told}");
            }
        }
        let made = server.admin("POST", path, Some(of(path, "exports")));
        assert_eq!(made.status, 201, "{path}: {made:?}");
    }
}

#[test]
fn a_line_with_an_unknown_member_is_refused_alone() {
    let server = TestServer::start();
    RelyingParty::register(&server, json!({ "client_id": "app" }));
    let users = [
        json!({ "id": "a", "email": "a@example.com", "emial_verified": true }),
        json!({ "id": "b", "email": "b@example.com", "user_type": "end_user" }),
        json!({ "id": "c", "email": "c@example.com", "active": true, "blocked": true }),
        json!({ "id": "d", "email": "d@example.com", "disabled": true }),
    ];
    let lines = bulk(&server, "/users/bulk", &users);
    let unknown = "unknown member \"emial_verified\"; did you mean \"email_verified\"?";
    assert_eq!(lines[0], json!({ "error": "invalid_request", "error_description": unknown, "line": 1 }));
    assert_eq!(lines[1]["user"]["id"], "b");
    assert_eq!(lines[2]["error_description"], "blocked contradicts active");
    assert_eq!(server.admin("GET", "/users/d", None).json()["user"]["active"], false);
    let client = json!({ "client_name": "x", "redirect_uris": ["https://x.example/"], "public": true });
    assert_eq!(bulk(&server, "/clients/bulk", &[client])[0]["line"], 1);
    for (path, line) in [
        ("/sessions/bulk", json!({ "user_id": "b", "ttl_second": 60 })),
        ("/tokens/bulk", json!({ "user_id": "b", "client_id": "app", "scopes": "openid" })),
        ("/refresh-tokens/bulk", json!({ "user_id": "b", "client_id": "app", "ttl_seconds": 60 })),
    ] {
        let lines = bulk(&server, path, &[line, json!({ "user_id": "b", "client_id": "app" })]);
        assert!(lines[0]["error_description"].as_str().unwrap().starts_with("unknown member"), "{lines:?}");
        // Where a line may name a client, the second one is good.
        assert_eq!(lines[1].get("error").is_some(), path == "/sessions/bulk", "{lines:?}");
    }
}

/// What the load scripts send, also what has no effect here (section 3 of their contract).
#[test]
fn the_members_of_the_load_scripts_are_taken() {
    let server = TestServer::start();
    let client = json!({
        "client_name": "x", "redirect_uris": ["https://x.example/"], "grant_types": ["authorization_code"],
        "response_types": ["code"], "scope": "openid", "token_endpoint_auth_method": "client_secret_basic",
        "is_trusted": true, "skip_consent": true, "token_exchange_allowed": true, "allow_claims_without_scope": true,
        "subject_type": "public", "sector_identifier_uri": "https://x.example/sector",
        "logo_uri": "https://x.example/l", "client_uri": "https://x.example/", "policy_uri": "https://x.example/p",
        "tos_uri": "https://x.example/t", "contacts": ["a@x.example"],
        "allowed_redirect_origins": ["https://x.example"],
    });
    let user = json!({
        "email": "a@example.com", "name": "A", "email_verified": true, "given_name": "A", "family_name": "B",
        "nickname": "C", "preferred_username": "a", "picture": "https://x.example/a", "phone_number": "+431",
        "phone_number_verified": true, "user_type": "end_user",
    });
    let sharding = json!({ "clientId": "x", "shardCount": 8, "notes": "a test", "skip_sync_check": true });
    let exchange = json!({
        "enabled": true, "allowedSubjectTokenTypes": ["urn:ietf:params:oauth:token-type:access_token"],
        "maxResourceParams": 5, "maxAudienceParams": 5, "idJag": { "enabled": false, "allowedIssuers": [] },
    });
    for (method, path, body, status) in [
        ("POST", "/clients", client, 201),
        ("POST", "/users", user, 201),
        ("POST", "/test/sessions", json!({ "user_id": "a@example.com", "ttl_seconds": 7200 }), 201),
        ("POST", "/test/email-codes", json!({ "email": "a@example.com", "create_user": false }), 201),
        ("PUT", "/settings/refresh-token-sharding", sharding, 200),
        ("PUT", "/settings/token-exchange", exchange, 200),
    ] {
        let answer = server.admin(method, path, Some(body));
        assert_eq!(answer.status, status, "{path}: {answer:?}");
    }
}

#[test]
fn what_is_shown_can_be_sent_back() {
    let server = TestServer::start();
    RelyingParty::register(&server, json!({ "client_id": "app", "settings": { "code_lifetime": 30 } }));
    let user = json!({ "id": "ann", "email": "ann@example.com", "address": { "country": "AT" } });
    assert_eq!(server.admin("POST", "/users", Some(user)).status, 201);
    for (path, member) in [("/clients/app", "client"), ("/users/ann", "user")] {
        let shown = server.admin("GET", path, None).json()[member].clone();
        let answer = server.admin("PUT", path, Some(shown.clone()));
        assert_eq!(answer.status, 200, "{answer:?}");
        let mut again = answer.json()[member].clone();
        again["updated_at"] = shown["updated_at"].clone();
        assert_eq!(again, shown);
    }
}

/// RFC 8259 4: readers differ in what they make of a repeated member.
#[test]
fn a_repeated_member_is_refused() {
    let server = TestServer::start();
    let body = br#"{"id":"ann","email":"ann@example.com","active":false,"active":true}"#;
    let send = |path: &str, media_type: &str| {
        let headers = [("authorization", "Bearer an-admin-secret-for-tests"), ("content-type", media_type)];
        Browser::new(&server.management).send("POST", &format!("/api/admin{path}"), &headers, body)
    };
    let told = refusal(&send("/users", "application/json"));
    assert!(told.contains("\"active\" is given twice"), "{told}");
    let line = send("/users/bulk", "application/x-ndjson");
    assert!(line.body.contains("given twice") && line.body.contains("\"line\":1"), "{line:?}");
    assert_eq!(server.admin("GET", "/users/ann", None).status, 404);
}

#[test]
fn a_setting_of_a_client_holds_wherever_it_stands() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({ "access_token_lifetime": 77 }));
    let shown = server.admin("GET", &format!("/clients/{}", rp.client_id), None).json();
    assert_eq!(shown["client"]["settings"]["access_token_lifetime"], 77);
    let (_, browser) = server.signed_in("ann@example.com");
    assert_eq!(rp.sign_in(&browser).body["expires_in"], 77);
}
