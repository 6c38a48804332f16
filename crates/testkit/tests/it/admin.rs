//! The admin API: clients, users, bulk creation, export, errors.

use serde_json::{Value, json};
use symbolon_testkit::{Answer, Browser, Options, RelyingParty, TestServer, TokenSet, decode_jwt};

const NDJSON: &str = "application/x-ndjson";

/// Sends lines; the answers, a line each.
pub(crate) fn bulk(server: &TestServer, path: &str, lines: &[Value]) -> Vec<Value> {
    let body = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    ndjson(&raw_bulk(server, path, NDJSON, body.as_bytes()))
}

fn raw_bulk(server: &TestServer, path: &str, media_type: &str, body: &[u8]) -> Answer {
    let headers = [("authorization", "Bearer an-admin-secret-for-tests"), ("content-type", media_type)];
    Browser::new(&server.management).send("POST", &format!("/api/admin{path}"), &headers, body)
}

fn ndjson(answer: &Answer) -> Vec<Value> {
    assert_eq!((answer.status, answer.header("content-type")), (200, Some(NDJSON)), "{answer:?}");
    answer.body.lines().map(|line| serde_json::from_str(line).expect("JSON in a line")).collect()
}

#[test]
fn only_the_secret_opens_it() {
    let server = TestServer::start();
    let anyone = Browser::new(&server.management);
    let wrong = [
        anyone.get("/api/admin/users"),
        server.admin_with("GET", "/users", None, "wrong"),
        server.admin_with("GET", "/users", None, ""),
        server.admin_with("GET", "/no/such/path", None, "wrong"),
        server.admin_with("PATCH", "/users", None, "wrong"),
        anyone.get_with("/api/admin/users", &[("authorization", "Basic YTpi")]),
        raw_bulk_unauthenticated(&anyone),
    ];
    for answer in wrong {
        assert_eq!((answer.status, answer.error()), (401, "invalid_token".to_owned()), "{answer:?}");
        assert!(answer.header("www-authenticate").unwrap().starts_with("Bearer"), "{answer:?}");
    }
    assert_eq!(server.admin("GET", "/no/such/path", None).status, 404);
    assert_eq!(server.admin("PATCH", "/users", None).status, 405);
    let answer = server.admin("GET", "/users", None);
    assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-store")));
}

fn raw_bulk_unauthenticated(anyone: &Browser) -> Answer {
    anyone.send("POST", "/api/admin/users/bulk", &[("content-type", NDJSON)], b"{}\n")
}

#[test]
fn bodies_must_be_what_they_say() {
    let server = TestServer::start();
    let send = |media_type: &str, body: &[u8]| {
        let headers = [("authorization", "Bearer an-admin-secret-for-tests"), ("content-type", media_type)];
        Browser::new(&server.management).send("POST", "/api/admin/clients", &headers, body).status
    };
    assert_eq!(send("text/plain", b"{}"), 415);
    assert_eq!(send("application/json", b"{"), 400);
    assert_eq!(send("application/json", b"[]"), 400);
    assert_eq!(send("application/json", b"\xff\xfe"), 400);
    assert_eq!(send("application/json", "[".repeat(100_000).as_bytes()), 400);
    for (body, named) in [
        (json!({}), "client_name"),
        (json!({ "client_name": "x" }), "redirect_uris"),
        (json!({ "client_name": "x", "redirect_uris": ["/relative"] }), "redirect_uris"),
        (json!({ "client_name": "x", "redirect_uris": ["https://x.example/#f"] }), "redirect_uris"),
        (json!({ "client_name": "x", "redirect_uris": ["javascript:alert(1)"] }), "redirect_uris"),
        (
            json!({ "client_name": "x", "redirect_uris": ["https://x.example/"], "grant_types": ["password"] }),
            "grant_types",
        ),
        (json!({ "client_name": 5, "redirect_uris": ["https://x.example/"] }), "client_name"),
        (json!({ "client_name": "x", "grant_types": ["refresh_token"] }), "add authorization_code"),
    ] {
        let answer = server.admin("POST", "/clients", Some(body.clone()));
        assert_eq!((answer.status, answer.error()), (400, "invalid_request".to_owned()), "{body}");
        assert!(answer.json()["error_description"].as_str().unwrap().contains(named), "{answer:?}");
    }
}

/// The body that the README of the load scripts tells people to send.
#[test]
fn the_load_tests_client_is_created_as_it_is_described() {
    let server = TestServer::start();
    let body = json!({
        "client_name": "Load Test Client", "redirect_uris": ["https://localhost:3000/callback"],
        "grant_types": ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:token-exchange"],
        "scope": "openid profile email", "skip_consent": true, "token_exchange_allowed": true,
    });
    let answer = server.admin("POST", "/clients", Some(body.clone()));
    assert_eq!(answer.status, 201);
    let client = answer.json()["client"].clone();
    for member in
        ["client_name", "redirect_uris", "grant_types", "scope", "skip_consent", "token_exchange_allowed"]
    {
        assert_eq!(client[member], body[member], "{member}");
    }
    assert_eq!(
        (&client["response_types"], &client["token_endpoint_auth_method"]),
        (&json!(["code"]), &json!("client_secret_basic"))
    );
    let sound = |text: &Value| {
        text.as_str().unwrap().bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    assert!(sound(&client["client_id"]) && sound(&client["client_secret"]), "{client}");
    assert!(client["created_at"].is_u64() && client["updated_at"].is_u64());
}

#[test]
fn clients_are_changed_in_part_or_whole() {
    let server = TestServer::start();
    let rp = RelyingParty::register(
        &server,
        json!({ "client_name": "Before", "logo_uri": "https://x.example/l.png" }),
    );
    let path = format!("/clients/{}", rp.client_id);
    let patched = server.admin("PATCH", &path, Some(json!({ "client_name": "After", "logo_uri": null })));
    assert_eq!(patched.status, 200);
    let client = &patched.json()["client"];
    assert_eq!(client["client_name"], "After");
    assert!(client.get("logo_uri").is_none() && client.get("client_secret").is_none(), "{client}");
    assert_eq!(client["skip_consent"], true, "what is not named stays");
    assert_eq!(rp.token(&[("grant_type", "client_credentials")]).status, 200, "the secret too");
    let whole = json!({ "client_name": "Whole", "redirect_uris": ["https://new.example/cb"] });
    let replaced = server.admin("PUT", &path, Some(whole));
    assert_eq!((replaced.status, &replaced.json()["client"]["skip_consent"]), (200, &json!(false)));
    assert_eq!(
        rp.token(&[("grant_type", "client_credentials")]).error(),
        "unauthorized_client",
        "grant types are the default's"
    );
    let (_, browser) = server.signed_in("a@example.com");
    assert_eq!(
        browser.get(&rp.authorization_request().path()).status,
        400,
        "the old redirect URI is gone at once"
    );
    for bad in [
        json!({ "client_id": "other" }),
        json!({ "redirect_uris": [] }),
        json!({ "grant_types": ["x"] }),
        json!({ "grant_types": ["refresh_token"] }),
    ] {
        assert_eq!(server.admin("PATCH", &path, Some(bad.clone())).status, 400, "{bad}");
    }
    assert_eq!(server.admin("DELETE", &path, None).status, 204);
    for method in ["GET", "DELETE"] {
        assert_eq!(server.admin(method, &path, None).status, 404);
    }
    let again = json!({ "client_id": "taken", "client_name": "x", "redirect_uris": ["https://x.example/"] });
    assert_eq!(server.admin("POST", "/clients", Some(again.clone())).status, 201);
    let conflict = server.admin("POST", "/clients", Some(again));
    assert_eq!((conflict.status, conflict.error()), (409, "conflict".to_owned()));
}

#[test]
fn listings_come_in_pages_and_can_be_searched() {
    let server = TestServer::start();
    let users: Vec<Value> =
        (0..45).map(|n| json!({ "id": format!("id{n:02}"), "email": format!("u{n:02}@example.com"), "name": format!("Name {n:02}"), "email_verified": n < 10 })).collect();
    assert_eq!(bulk(&server, "/users/bulk", &users).len(), 45);
    let list = |query: &str| server.admin("GET", &format!("/users{query}"), None).json();
    let mut seen = std::collections::BTreeSet::new();
    for (page, count, next) in [(1, 20, true), (2, 20, true), (3, 5, false), (4, 0, false)] {
        let answer = list(&format!("?page={page}&limit=20"));
        let found = answer["users"].as_array().unwrap();
        assert_eq!(found.len(), count, "page {page}");
        seen.extend(found.iter().map(|user| user["id"].as_str().unwrap().to_owned()));
        let pagination = json!({
            "page": page, "limit": 20, "total": 45, "totalPages": 3, "hasNext": next, "hasPrev": page > 1,
        });
        assert_eq!(answer["pagination"], pagination);
    }
    assert_eq!(seen.len(), 45, "each once");
    assert_eq!(list("?limit=1000")["pagination"]["limit"], 100);
    assert_eq!(list("?search=Name%2007")["pagination"]["total"], 1);
    assert_eq!(list("?search=U1")["pagination"]["total"], 10, "whatever the case");
    assert_eq!(list("?search=%25")["pagination"]["total"], 0, "a percent sign is a percent sign");
    assert_eq!(list("?search=_")["pagination"]["total"], 0);
    assert_eq!(list("?verified=true")["pagination"]["total"], 10);
    assert_eq!(list("?email=U07@EXAMPLE.com")["users"][0]["email"], "u07@example.com");
    assert_eq!(list("?email=u0")["users"], json!([]), "exactly this address");
    let named = json!({ "id": "by-name", "preferred_username": "Ann.Lee" });
    assert_eq!(server.admin("POST", "/users", Some(named)).status, 201);
    assert_eq!(list("?preferred_username=ann.LEE")["users"][0]["id"], "by-name");
    assert_eq!(list("?preferred_username=ann")["users"], json!([]), "exactly this name");
    for bad in ["?page=0", "?limit=0", "?page=x", "?verified=perhaps", "?page=1&page=2"] {
        assert_eq!(server.admin("GET", &format!("/users{bad}"), None).status, 400, "{bad}");
    }
}

#[test]
fn users_are_created_changed_and_deleted() {
    let server = TestServer::start();
    let body = json!({ "email": "Ann@Example.com", "name": "Ann", "email_verified": true });
    let made = server.admin("POST", "/users", Some(body.clone()));
    assert_eq!(made.status, 201);
    let id = made.json()["user"]["id"].as_str().unwrap().to_owned();
    let conflict = server.admin("POST", "/users", Some(json!({ "email": "ann@example.COM" })));
    assert_eq!((conflict.status, conflict.error()), (409, "conflict".to_owned()), "whatever the case");
    let path = format!("/users/{id}");
    let patched = server.admin("PATCH", &path, Some(json!({ "nickname": "A", "name": null }))).json();
    assert_eq!(
        (&patched["user"]["nickname"], patched["user"].get("name").cloned().unwrap_or_default()),
        (&json!("A"), Value::Null)
    );
    let replaced = server.admin("PUT", &path, Some(json!({ "email": "new@example.com" }))).json();
    assert!(replaced["user"].get("nickname").is_none_or(Value::is_null), "{replaced}");
    assert_eq!(server.admin("POST", "/users", Some(body)).status, 201, "the old address is free");
    assert_eq!(server.admin("PATCH", &path, Some(json!({ "email": "ann@example.com" }))).status, 409);
    for bad in [
        json!({}),
        json!({ "email": "no address" }),
        json!({ "email": "a@b", "active": "yes" }),
        json!({ "email": "a@b", "id": "a b" }),
        json!({ "email": "a@b", "id": "client:x" }),
        json!({ "email": "a@b", "password": "short" }),
    ] {
        assert_eq!(server.admin("POST", "/users", Some(bad.clone())).status, 400, "{bad}");
    }
    let shown = server.admin("GET", &path, None).body;
    assert!(!shown.contains("password"), "{shown}");
    assert_eq!(server.admin("DELETE", &path, None).status, 204);
    for method in ["GET", "DELETE"] {
        assert_eq!(server.admin(method, &path, None).status, 404);
    }
}

#[test]
fn what_is_made_in_bulk_works_as_if_made_one_by_one() {
    let server = TestServer::start();
    let clients = bulk(
        &server,
        "/clients/bulk",
        &[json!({
            "client_id": "app", "client_name": "App", "redirect_uris": ["https://rp.example/callback"],
            "grant_types": ["authorization_code", "refresh_token"], "scope": "openid email", "skip_consent": true,
        })],
    );
    let secret = clients[0]["client"]["client_secret"].as_str().unwrap();
    let rp = RelyingParty::known(&server, "app", Some(secret), "https://rp.example/callback");
    let users = bulk(&server, "/users/bulk", &[json!({ "id": "ann", "email": "ann@example.com" })]);
    assert_eq!(users, [json!({ "user": { "id": "ann", "email": "ann@example.com" } })]);
    let sessions = bulk(&server, "/sessions/bulk", &[json!({ "user_id": "ann", "ttl_seconds": 60 })]);
    let browser = server.browser();
    browser.set_cookie("symbolon_session", sessions[0]["session_id"].as_str().unwrap());
    let request = rp.authorization_request().with("scope", "openid");
    rp.sign_in_with(&browser, request);
    let tokens = bulk(
        &server,
        "/tokens/bulk",
        &[json!({ "user_id": "ann", "client_id": "app", "ttl_seconds": 7200 })],
    );
    let token = tokens[0]["access_token"].as_str().unwrap();
    let claims = decode_jwt(token).1;
    assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 7200);
    let bearer = format!("Bearer {token}");
    assert_eq!(server.browser().get_with("/userinfo", &[("authorization", &bearer)]).json()["sub"], "ann");
    let families = bulk(
        &server,
        "/refresh-tokens/bulk",
        &[json!({ "user_id": "ann", "client_id": "app", "scope": "openid" })],
    );
    let refreshed = TokenSet::of(&rp.refresh(families[0]["refresh_token"].as_str().unwrap()));
    assert_eq!(refreshed.body["scope"], "openid");
    // They end as all others do.
    assert_eq!(server.admin("DELETE", "/users/ann", None).status, 204);
    assert_eq!(server.browser().get_with("/userinfo", &[("authorization", &bearer)]).status, 401);
    assert_ne!(rp.refresh(refreshed.refresh_token.as_deref().unwrap()).status, 200);
}

#[test]
fn bad_lines_are_answered_in_their_place_and_stop_nothing() {
    let server = TestServer::start();
    let mut body = Vec::new();
    for line in [
        &br#"{"id":"a","email":"a@example.com"}"#[..],
        b"",
        b"{",
        b"[]",
        br#"{"id":"a","email":"b@example.com"}"#,
        br#"{"id":"b","email":"A@example.com"}"#,
        br#"{"id":"client:x","email":"c@example.com"}"#,
        b"\xff\xff",
    ] {
        body.extend_from_slice(line);
        body.push(b'\n');
    }
    body.extend_from_slice(format!("{{\"email\":\"{}@example.com\"}}\n", "x".repeat(70_000)).as_bytes());
    body.extend_from_slice(br#"{"id":"z","email":"z@example.com"}"#);
    let answers = ndjson(&raw_bulk(&server, "/users/bulk", NDJSON, &body));
    let told: Vec<(Value, Value)> = answers.iter().map(|a| (a["error"].clone(), a["line"].clone())).collect();
    assert_eq!((&answers[3]["taken"], &answers[4]["taken"]), (&json!("id"), &json!("email")));
    let bad = |error: &str, line: u64| (json!(error), json!(line));
    let expected = [
        (Value::Null, Value::Null),
        bad("invalid_request", 3),
        bad("invalid_request", 4),
        bad("conflict", 5),
        bad("conflict", 6),
        bad("invalid_request", 7),
        bad("invalid_request", 8),
        bad("invalid_request", 9),
        (Value::Null, Value::Null),
    ];
    assert_eq!(told, expected);
    assert_eq!(server.admin("GET", "/users/z", None).status, 200);
    assert_eq!(raw_bulk(&server, "/users/bulk", "application/json", b"{}").status, 415);
    let unknown =
        [json!({ "user_id": "nobody", "client_id": "x" }), json!({ "user_id": "a", "client_id": "nobody" })];
    for path in ["/sessions/bulk", "/tokens/bulk", "/refresh-tokens/bulk"] {
        let answers = bulk(&server, path, &unknown[..1]);
        assert_eq!(answers[0]["error"], "not_found", "{path}");
    }
    assert_eq!(bulk(&server, "/tokens/bulk", &unknown)[1]["error"], "not_found");
}

#[test]
fn an_export_is_whole_and_can_be_put_in_again() {
    let server = TestServer::start();
    let users: Vec<Value> =
        (0..2_345).map(|n| json!({ "id": format!("u{n}"), "email": format!("u{n}@example.com") })).collect();
    assert!(bulk(&server, "/users/bulk", &users).iter().all(|answer| answer.get("error").is_none()));
    let export = server.admin("GET", "/users/export", None);
    let lines = ndjson(&export);
    let ids: std::collections::BTreeSet<&str> =
        lines.iter().map(|user| user["id"].as_str().unwrap()).collect();
    assert_eq!((lines.len(), ids.len()), (2_345, 2_345));
    RelyingParty::register(&server, json!({ "client_id": "app" }));
    let clients = server.admin("GET", "/clients/export", None);
    assert!(clients.body.contains("\"app\"") && !clients.body.contains("secret\":"), "{}", clients.body);
    let url = format!("{}/acme", server.url);
    assert_eq!(server.admin("POST", "/issuers", Some(json!({ "id": "acme", "url": url }))).status, 201);
    let again = ndjson(&raw_bulk(&server, "/issuers/acme/users/bulk", NDJSON, export.body.as_bytes()));
    assert!(
        again.iter().all(|answer| answer.get("error").is_none()),
        "{:?}",
        again.iter().find(|a| a.get("error").is_some())
    );
    assert_eq!(server.admin("GET", "/issuers/acme/users", None).json()["pagination"]["total"], 2_345);
}

#[test]
fn sessions_are_listed_shown_and_ended_without_their_secret() {
    let server = TestServer::start();
    let (user, browser) = server.signed_in("a@example.com");
    server.signed_in("b@example.com");
    let secret = browser.cookie("symbolon_session").unwrap();
    let all = server.admin("GET", "/sessions", None);
    assert_eq!(all.json()["sessions"].as_array().map(Vec::len), Some(2));
    assert_eq!(all.json()["next_cursor"], Value::Null);
    assert!(!all.body.contains(&secret), "the secret is nobody's to see");
    let own = server.admin("GET", &format!("/sessions?user_id={user}"), None).json();
    assert_eq!(
        (own["pagination"]["total"].clone(), &own["sessions"][0]["amr"]),
        (json!(1), &json!(["admin_api"]))
    );
    let path = format!("/sessions/{}", own["sessions"][0]["sid"].as_str().unwrap());
    assert_eq!(server.admin("GET", &path, None).json()["session"]["user_id"], json!(user));
    assert_eq!(server.admin("DELETE", &path, None).status, 204);
    assert_eq!(
        [server.admin("GET", &path, None).status, server.admin("DELETE", &path, None).status],
        [404, 404]
    );
    assert_eq!(server.admin("GET", "/sessions", None).json()["sessions"].as_array().map(Vec::len), Some(1));
    // A test session by e-mail address, as load scripts have them.
    let by_email = server.admin(
        "POST",
        "/test/sessions",
        Some(json!({ "user_id": "B@example.com", "ttl_seconds": 7200 })),
    );
    assert_eq!(by_email.status, 201);
    let by_email = by_email.json();
    assert_eq!(by_email["expires_at"], json!(server.now().millis() + 7_200_000));
    assert!(by_email["cookie_value"].as_str().unwrap().contains(by_email["session_id"].as_str().unwrap()));
    assert_eq!(server.admin("POST", "/test/sessions", Some(json!({}))).status, 400);
    assert_eq!(server.admin("POST", "/test/sessions", Some(json!({ "user_id": "" }))).status, 400);
    assert_eq!(server.admin("POST", "/test/sessions", Some(json!({ "user_id": "nobody" }))).status, 404);
}

#[test]
fn all_sessions_are_read_on_by_cursor() {
    let server = TestServer::start();
    let sids: Vec<String> = (0..7)
        .map(|n| {
            let (user, _) = server.signed_in(&format!("u{n}@example.com"));
            let own = server.admin("GET", &format!("/users/{user}/sessions"), None).json();
            own["sessions"][0]["sid"].as_str().unwrap().to_owned()
        })
        .collect();
    let (mut seen, mut path) = (Vec::new(), "/sessions?limit=3".to_owned());
    loop {
        let piece = server.admin("GET", &path, None).json();
        let some = piece["sessions"].as_array().unwrap();
        assert!(some.len() <= 3);
        seen.extend(some.iter().map(|session| session["sid"].as_str().unwrap().to_owned()));
        match piece["next_cursor"].as_str() {
            Some(cursor) => path = format!("/sessions?limit=3&cursor={cursor}"),
            None => break,
        }
    }
    let sorted = |mut sids: Vec<String>| {
        sids.sort();
        sids
    };
    assert_eq!(sorted(seen), sorted(sids));
    for refused in ["/sessions?cursor=x", "/sessions?page=2", "/sessions?limit=0"] {
        assert_eq!(server.admin("GET", refused, None).status, 400, "{refused}");
    }
}

#[test]
fn what_is_done_is_in_the_audit_log_and_secrets_are_not() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let body = json!({ "email": "a@example.com", "password": "a password to be kept" });
    let user = server.admin("POST", "/users", Some(body)).json()["user"]["id"].as_str().unwrap().to_owned();
    assert_eq!(server.admin("DELETE", &format!("/users/{user}"), None).status, 204);
    // Written in batches, off the request's path: wait for them.
    server.drain_audit();
    let search = |query: &str| server.admin("GET", &format!("/audit-logs{query}"), None);
    let of_user = search(&format!("?user_id={user}")).json();
    let found: Vec<Value> =
        of_user["audit_logs"].as_array().unwrap().iter().map(|record| record["event"].clone()).collect();
    assert!(found.contains(&json!("user.created")) && found.contains(&json!("user.deleted")), "{found:?}");
    let all = search("?limit=100").body;
    assert!(!all.contains("a password to be kept") && !all.contains(rp.client_secret.as_deref().unwrap()));
    assert_eq!(search("?event=client.created").json()["pagination"]["total"], 1);
    assert_eq!(search("?event=no.such").status, 400);
}

/// A change that was acknowledged is in the audit log, whatever happens to the server next.
#[test]
fn an_acknowledged_change_is_in_the_audit_log() {
    let server = TestServer::start();
    let found = |event: &str| {
        let found = server.admin("GET", &format!("/audit-logs?event={event}&limit=100"), None).json();
        found["audit_logs"].as_array().unwrap().len()
    };
    for round in 1..=20 {
        let answer =
            server.admin("POST", "/users", Some(json!({ "email": format!("u{round}@example.com") })));
        assert_eq!(answer.status, 201, "{answer:?}");
        assert_eq!(found("user.created"), round);
    }
    let users = [json!({ "email": "a@example.com" }), json!({ "email": "b@example.com" })];
    assert_eq!(bulk(&server, "/users/bulk", &users).len(), 2);
    assert_eq!(
        found("user.created"),
        24,
        "a stream has a record at its beginning, for each line, and at its end"
    );
}

/// Whoever has the admin secret is not to write anywhere in the file system.
#[test]
fn a_backup_is_written_below_the_configured_directory_alone() {
    let directory = tempfile::tempdir().unwrap();
    let (backups, other) = (directory.path().join("backups"), directory.path().join("other"));
    std::fs::create_dir(&backups).unwrap();
    let ask = |server: &TestServer, path: &std::path::Path| {
        let answers = ["/backup", "/migration"]
            .map(|operation| server.admin("POST", operation, Some(json!({ "path": path }))));
        answers.map(|answer| (answer.status, answer.body))
    };
    for (status, body) in ask(&TestServer::start(), &backups.join("today")) {
        assert!(status == 400 && body.contains("`backup_dir`"), "{body}");
    }
    let options = Options::default().env("SYMBOLON_BACKUP_DIR", backups.to_str().unwrap());
    let server = TestServer::start_with(options);
    for (status, body) in ask(&server, &other) {
        assert!(status == 400 && body.contains("backup_dir"), "{body}");
    }
    assert!(!other.exists() && !backups.join("today").exists());
}
