//! What the provider tells about requests: figures, audit records, and answers that belong to no endpoint.

use symbolon_testkit::{Browser, Options, TestServer};

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
