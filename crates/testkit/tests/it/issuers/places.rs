//! Where an issuer is found: by host, by prefix, through a proxy.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_testkit::{Browser, Options, RelyingParty, TestServer};

use super::{start, urls};

#[test]
fn discovery_is_at_both_places_of_a_prefixed_issuer() {
    let server = start();
    let [root, acme, other] = urls(&server);
    let table = [
        (format!("{root}/.well-known/openid-configuration"), &root),
        (format!("{root}/.well-known/oauth-authorization-server"), &root),
        (format!("{acme}/.well-known/openid-configuration"), &acme),
        (format!("{acme}/.well-known/oauth-authorization-server"), &acme),
        // RFC 8414 3.1: inserted before the path.
        (format!("{root}/.well-known/oauth-authorization-server/acme"), &acme),
        (format!("{root}/.well-known/openid-configuration/acme"), &acme),
        (format!("{other}/.well-known/openid-configuration"), &other),
    ];
    let mut keys = Vec::new();
    for (place, issuer) in table {
        let document = server.browser().get(&place);
        assert_eq!(document.status, 200, "{place}");
        let document = document.json();
        assert_eq!(document["issuer"], json!(issuer), "{place}");
        for endpoint in [
            "authorization_endpoint",
            "token_endpoint",
            "jwks_uri",
            "userinfo_endpoint",
            "end_session_endpoint",
        ] {
            assert!(
                document[endpoint].as_str().unwrap().starts_with(&format!("{issuer}/")),
                "{place}: {endpoint}"
            );
        }
        let jwks = server.browser().get(document["jwks_uri"].as_str().unwrap()).json();
        assert!(!jwks["keys"].as_array().unwrap().is_empty());
        keys.push((issuer, jwks));
    }
    for (one, jwks) in &keys {
        for (two, others) in &keys {
            assert_eq!(one == two, jwks == others, "every issuer has keys of its own");
        }
    }
}

#[test]
fn what_no_issuer_is_for_is_not_found() {
    let server = start();
    let [root, acme, _] = urls(&server);
    let not_found = |path: &str, headers: &[(&str, &str)]| {
        let answer = server.browser().get_with(path, headers);
        assert_eq!(answer.status, 404, "{path} {headers:?}: {answer:?}");
    };
    not_found(&format!("{root}/nobody/.well-known/openid-configuration"), &[]);
    not_found(&format!("{root}/.well-known/oauth-authorization-server/nobody"), &[]);
    not_found(&format!("{root}/acmeandmore/.well-known/openid-configuration"), &[]);
    // OpenID Connect Discovery 2: WebFinger is served by the host of a person's address.
    not_found(&format!("{root}/.well-known/webfinger?resource=acct%3Aa%40example.com"), &[]);
    not_found("/.well-known/openid-configuration", &[("host", "nobody.example")]);
    // The admin API is the installation's: no issuer's prefix leads there.
    let answer = Browser::new(&acme)
        .get_with("/api/admin/users", &[("authorization", "Bearer an-admin-secret-for-tests")]);
    assert_eq!(answer.status, 404, "{answer:?}");
    let answer = Browser::new(&root)
        .get_with("/api/admin/users", &[("authorization", "Bearer an-admin-secret-for-tests")]);
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[test]
fn a_proxy_names_the_host_only_if_it_is_trusted() {
    let issuer_at = |server: &TestServer| {
        let port = server.url.rsplit_once(':').unwrap().1;
        let headers = format!("localhost:{port}");
        let document =
            server.browser().get_with("/.well-known/openid-configuration", &[("x-forwarded-host", &headers)]);
        document.json()["issuer"].as_str().unwrap().to_owned()
    };
    let server = start();
    assert_eq!(issuer_at(&server), server.url, "an unknown proxy's word is nothing");
    let server = TestServer::start_with(Options::default().env("SYMBOLON_TRUSTED_PROXIES", "127.0.0.0/8"));
    let [_, _, other] = urls(&server);
    assert_eq!(server.admin("POST", "/issuers", Some(json!({ "id": "other", "url": other }))).status, 201);
    assert_eq!(issuer_at(&server), other);
}

#[test]
fn a_prefixed_issuers_pages_stay_below_its_prefix_and_its_cookies_are_bound_to_the_host() {
    let server = TestServer::start_with(Options::default().issuer("https://login.example/acme"));
    let rp = RelyingParty::register(&server, json!({})).served_at(&format!("{}/acme", server.url));
    let created = server.admin("POST", "/users", Some(json!({ "email": "a@example.com" }))).json();
    let body = json!({ "user_id": created["user"]["id"], "ttl_seconds": 60 });
    let cookie = server.admin("POST", "/test/sessions", Some(body)).json()["cookie_value"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(cookie.starts_with("__Host-symbolon_session_default=se_"), "{cookie}");
    for part in ["Path=/;", "HttpOnly", "SameSite=None", "Secure"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let browser = Browser::new(&server.url);
    let sent = browser.get(&format!("/acme{}", rp.authorization_request().path()));
    assert!(sent.location().starts_with("/acme/login?"), "{sent:?}");
    let login_cookie = sent.header("set-cookie").unwrap();
    assert!(login_cookie.starts_with("__Host-") && login_cookie.contains("Path=/;"), "{login_cookie}");
    let page = browser.get(&sent.location());
    assert_eq!(page.status, 200);
    assert!(page.body.contains("action=\"/acme/login?transaction="), "{}", page.body);
    // No issuer is at the root, and the pages' files are there all the same.
    let at = page.body.find("/assets/style").expect("a style sheet");
    let path = page.body[at..].split_once('"').unwrap().0;
    assert_eq!(browser.get(path).status, 200, "{path}");
    assert_eq!(browser.get("/assets/nothing.css").status, 404);
    assert_eq!(browser.get("/login").status, 404);
}

#[test]
fn an_issuer_cannot_take_anothers_place() {
    let server = start();
    let refused = |body: Value, status: u16| {
        let answer = server.admin("POST", "/issuers", Some(body.clone()));
        assert_eq!(answer.status, status, "{body}: {answer:?}");
    };
    refused(json!({ "id": "acme", "url": "https://new.example" }), 409);
    refused(json!({ "id": "new", "url": format!("{}/acme", server.url) }), 409);
    refused(json!({ "id": "new", "url": format!("{}/api/x", server.url) }), 400);
    refused(json!({ "id": "new", "url": format!("{}/assets", server.url) }), 400);
    refused(json!({ "id": "new", "url": format!("{}/device", server.url) }), 400);
    // Where another issuer has its endpoints and pages, and the other way round.
    for path in ["/token", "/login", "/userinfo/x", "/acme/token", "/acme/consent", "/acme/logout"] {
        refused(json!({ "id": "new", "url": format!("{}{path}", server.url) }), 400);
    }
    let made =
        server.admin("POST", "/issuers", Some(json!({ "id": "deep", "url": "https://x.example/a/token" })));
    assert_eq!(made.status, 201, "nobody is above it: {made:?}");
    refused(json!({ "id": "new", "url": "https://x.example/a" }), 400);
    refused(json!({ "id": "New", "url": "https://new.example" }), 400);
    refused(json!({ "id": "new" }), 400);
    let answer = server.admin("GET", "/issuers/nobody/clients", None);
    assert_eq!(answer.status, 404);
    server.clock.advance(Duration::from_secs(1));
    let list = server.admin("GET", "/issuers", None).json();
    assert_eq!(list["issuers"].as_array().unwrap().len(), 4);
}

/// A proxy may forward nothing but the issuer's path.
#[test]
fn pages_of_a_prefixed_issuer_load_their_files_below_it() {
    let server = start();
    let [root, acme, _] = urls(&server);
    for (issuer, path) in
        [(&root, "/logout"), (&acme, "/logout"), (&acme, "/nothing/here"), (&acme, "/authorize")]
    {
        let page = server.browser().get_with(&format!("{issuer}{path}"), &[("accept", "text/html")]);
        let files: Vec<&str> = page.body.split('"').filter(|part| part.contains("/assets/")).collect();
        assert!(!files.is_empty(), "{page:?}");
        let below = format!("{}/assets/", issuer.trim_start_matches(root.as_str()));
        for file in files {
            assert!(file.starts_with(&below), "{issuer}{path}: {file}");
            assert_eq!(server.browser().get(&format!("{root}{file}")).status, 200, "{file}");
        }
    }
}
