//! What the provider tells about requests: figures, audit records, and answers that belong to no endpoint.

use serde_json::{Value, json};
use symbolon_testkit::{Answer, Browser, Options, RelyingParty, TestServer};

use crate::login::{PASSWORD, Scene};

#[test]
fn figures_can_be_switched_off() {
    let server = TestServer::start_with(Options::default().env("SYMBOLON_METRICS", "false"));
    let management = Browser::new(&server.management);
    assert_eq!(server.browser().get("/.well-known/jwks.json").status, 200);
    assert_eq!(management.get("/metrics").status, 404);
    assert_eq!(management.get("/healthz").status, 200);
    assert!(server.app.registry.requests().snapshot().is_empty());
    // The one whose figures are read.
    let server = TestServer::start_with(Options::default().one_node());
    assert_eq!(server.browser().get("/.well-known/jwks.json").status, 200);
    let page = Browser::new(&server.management).get("/metrics");
    assert!(page.body.contains("symbolon_requests_total{endpoint=\"jwks\",outcome=\"ok\"} 1"), "{page:?}");
}

#[test]
fn figures_say_what_the_process_runs_with() {
    for (limits, endpoints) in [("off", "true"), ("on", "false")] {
        let options = Options::default()
            .one_node()
            .env("SYMBOLON_RATE_LIMITS", limits)
            .env("SYMBOLON_TEST_ENDPOINTS", endpoints);
        let page = Browser::new(&TestServer::start_with(options).management).get("/metrics");
        let endpoints = if endpoints == "true" { "on" } else { "off" };
        let told = format!("rate_limits=\"{limits}\",test_endpoints=\"{endpoints}\"}} 1");
        let line = page.body.lines().find(|line| line.starts_with("symbolon_configuration_info{store="));
        assert!(line.is_some_and(|line| line.ends_with(&told)), "{line:?}");
    }
}

#[test]
fn a_wrong_method_is_refused_in_the_form_of_every_other_error() {
    let server = TestServer::start();
    let allowed = |answer: &Answer| {
        let mut methods: Vec<String> = answer
            .header("allow")
            .expect("Allow")
            .split(',')
            .map(|method| method.trim().to_owned())
            .collect();
        methods.sort();
        methods.join(",")
    };
    for (method, path, allow) in [
        ("GET", "/token", "OPTIONS,POST"),
        ("DELETE", "/authorize", "GET,POST"),
        ("PUT", "/userinfo", "GET,HEAD,OPTIONS,POST"),
        ("GET", "/introspect", "POST"),
        ("POST", "/.well-known/jwks.json", "GET,HEAD,OPTIONS"),
        ("DELETE", "/login", "GET,POST"),
    ] {
        let answer = server.browser().send(method, path, &[], b"");
        assert_eq!((answer.status, answer.error()), (405, "invalid_request".to_owned()), "{method} {path}");
        assert_eq!(allowed(&answer), allow, "{method} {path}");
        let page = server.browser().send(method, path, &[("accept", "text/html")], b"");
        assert_eq!((page.status, allowed(&page)), (405, allow.to_owned()), "{method} {path}");
        assert!(page.header("content-type").unwrap().starts_with("text/html"), "{page:?}");
        assert!(page.header("content-security-policy").is_some(), "{page:?}");
    }
    let head = server.browser().send("HEAD", "/authorize", &[], b"");
    assert_eq!((head.status, allowed(&head)), (405, "GET,POST".to_owned()), "it would issue a code");
    let management = Browser::new(&server.management).send("POST", "/metrics", &[], b"");
    assert_eq!((management.status, allowed(&management)), (405, "GET,HEAD".to_owned()));
    let admin = server.admin("PATCH", "/users", None);
    assert_eq!((admin.status, allowed(&admin)), (405, "GET,HEAD,POST".to_owned()));
}

#[test]
fn browsers_are_bound_to_https_where_the_issuer_is_https() {
    let https = Options::default().issuer("https://login.example.com");
    let header = |answer: Answer| answer.header("strict-transport-security").map(str::to_owned);
    let server = TestServer::start_with(https.clone());
    for path in ["/.well-known/openid-configuration", "/authorize", "/nothing/here"] {
        assert_eq!(header(server.browser().get(path)).as_deref(), Some("max-age=31536000"), "{path}");
    }
    assert_eq!(header(Browser::new(&server.management).get("/healthz")), None);
    let server = TestServer::start_with(https.env("SYMBOLON_HSTS", "0s"));
    assert_eq!(header(server.browser().get("/authorize")), None);
    let server = TestServer::start();
    assert_eq!(header(server.browser().get("/authorize")), None);
}

fn audited(server: &TestServer) -> Vec<Value> {
    // Written in batches, off the request's path: wait for them.
    server.drain_audit();
    server.admin("GET", "/audit-logs?limit=100", None).json()["audit_logs"].as_array().unwrap().clone()
}

#[test]
fn an_audit_record_says_who_did_it_and_in_which_request() {
    let scene = Scene::new();
    let (server, browser) = (&scene.server, scene.server.browser());
    let request = scene.rp.authorization_request();
    let page = scene.at_login(&browser, &request);
    let (transaction, csrf) = crate::login::hidden(&page);
    let form = [
        ("transaction", &*transaction),
        ("csrf_token", &*csrf),
        ("username", "other@example.com"),
        ("password", PASSWORD),
    ];
    let signed_in = browser.post_with("/login", &form, &[("x-request-id", "edge-sign-in")]);
    let consent = Scene::to_consent(&browser, &signed_in);
    let allowed = Scene::decide(&browser, &consent, "allow");
    let code = allowed.redirected("code").unwrap();
    assert_eq!(scene.rp.redeem(&code, &request.verifier).status, 200);
    assert_eq!(scene.rp.redeem(&code, &request.verifier).status, 400);
    let machine = RelyingParty::register(server, json!({}));
    let token = machine.token(&[("grant_type", "client_credentials")]).json()["access_token"].clone();
    assert_eq!(machine.post("/revoke", &[("token", token.as_str().unwrap())]).status, 200);

    let records = audited(server);
    let record = |event: &str| {
        let found = records.iter().find(|record| record["event"] == event);
        found.unwrap_or_else(|| panic!("no {event} in {records:?}"))
    };
    for (event, actor) in [
        ("session.signed_in", "user"),
        ("consent.granted", "user"),
        ("grant.begun", "user"),
        ("refresh_token.begun", "client"),
        ("code.replayed", "client"),
        ("token.revoked", "client"),
        ("client.created", "admin"),
    ] {
        assert_eq!(record(event)["actor"], actor, "{event}");
        let request = record(event)["request"].as_str().unwrap_or_else(|| panic!("{event}: no request"));
        assert!(request.len() == 24 || request == "edge-sign-in", "{event}: {request}");
    }
    assert_eq!(record("session.signed_in")["request"], "edge-sign-in");
}

/// A page in a browser on this machine could read the figures by a name of its own that leads here (DNS rebinding).
#[test]
fn figures_are_shown_by_our_own_names_alone() {
    let options = Options::default().env("SYMBOLON_METRICS_HOSTS", "node1.internal");
    let server = TestServer::start_with(options);
    let ask = |host: &str| Browser::new(&server.management).get_with("/metrics", &[("host", host)]).status;
    for good in
        ["127.0.0.1", "127.0.0.1:9090", "[::1]:9090", "localhost:9090", "symbolon:9090", "NODE1.internal"]
    {
        assert_eq!(ask(good), 200, "{good}");
    }
    for bad in ["evil.example", "evil.example:9090", "127.0.0.1.evil.example", "node1.internal.evil.example"]
    {
        assert_eq!(ask(bad), 421, "{bad}");
    }
}
