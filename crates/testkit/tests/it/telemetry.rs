//! What the provider tells about requests: figures, audit records, and answers that belong to no endpoint.

use symbolon_testkit::{Answer, Browser, Options, TestServer};

#[test]
fn figures_can_be_switched_off() {
    let server = TestServer::start_with(Options::default().env("SYMBOLON_METRICS", "false"));
    let management = Browser::new(&server.management);
    assert_eq!(server.browser().get("/.well-known/jwks.json").status, 200);
    assert_eq!(management.get("/metrics").status, 404);
    assert_eq!(management.get("/healthz").status, 200);
    assert!(server.app.registry.requests().snapshot().is_empty());
    let server = TestServer::start();
    assert_eq!(server.browser().get("/.well-known/jwks.json").status, 200);
    let page = Browser::new(&server.management).get("/metrics");
    assert!(page.body.contains("symbolon_requests_total{endpoint=\"jwks\",outcome=\"ok\"} 1"), "{page:?}");
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
        ("DELETE", "/authorize", "GET,HEAD,POST"),
        ("PUT", "/userinfo", "GET,HEAD,OPTIONS,POST"),
        ("GET", "/introspect", "POST"),
        ("POST", "/.well-known/jwks.json", "GET,HEAD,OPTIONS"),
        ("DELETE", "/login", "GET,HEAD,POST"),
    ] {
        let answer = server.browser().send(method, path, &[], b"");
        assert_eq!((answer.status, answer.error()), (405, "invalid_request".to_owned()), "{method} {path}");
        assert_eq!(allowed(&answer), allow, "{method} {path}");
        let page = server.browser().send(method, path, &[("accept", "text/html")], b"");
        assert_eq!((page.status, allowed(&page)), (405, allow.to_owned()), "{method} {path}");
        assert!(page.header("content-type").unwrap().starts_with("text/html"), "{page:?}");
        assert!(page.header("content-security-policy").is_some(), "{page:?}");
    }
    let management = Browser::new(&server.management).send("POST", "/metrics", &[], b"");
    assert_eq!((management.status, allowed(&management)), (405, "GET,HEAD".to_owned()));
    let admin = server.admin("PATCH", "/users", None);
    assert_eq!((admin.status, allowed(&admin)), (405, "GET,HEAD,POST".to_owned()));
}
