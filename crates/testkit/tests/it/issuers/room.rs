//! One of several issuers takes its share of the rooms for what may happen once, and no more.

use std::time::Duration;

use serde_json::json;
use symbolon_testkit::{Answer, Browser, Options, TestServer, is_clustered};

use super::{PLACES, Tenant, start_with, urls};

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// What a mark counts for, in bytes.
fn mark() -> u64 {
    if is_clustered() { 128 } else { 64 }
}

fn tenants(server: &TestServer) -> [Tenant; 2] {
    let [first, second, _] = urls(server);
    [Tenant::new(server, PLACES[0], first), Tenant::new(server, PLACES[1], second)]
}

fn limited() -> Options {
    // One browser asks for all codes.
    let options = Options::default().one_node().env("SYMBOLON_RATE_LIMITS", "on");
    options.env("SYMBOLON_RATE_LIMIT_AUTHORIZE_USER", "off")
}

/// The client of a tenant proves who it is by an assertion.
fn prove(server: &TestServer, tenant: &Tenant, jti: &str) -> Answer {
    let (client, key) = &tenant.signer;
    let now = server.now().seconds();
    let claims = json!({
        "iss": client, "sub": client, "aud": tenant.url, "jti": jti, "iat": now, "exp": now + 60,
    });
    let assertion = key.jwt("JWT", &claims);
    let form = [
        ("grant_type", "client_credentials"),
        ("client_assertion_type", ASSERTION),
        ("client_assertion", &*assertion),
    ];
    Browser::new(&tenant.url).post("/token", &form)
}

fn refused(server: &TestServer, kind: &str) -> u64 {
    server.counted(&format!("symbolon_store_room_refused_total{{kind=\"{kind}\"}}"))
}

#[test]
fn an_issuers_marks_leave_room_for_those_of_others() {
    let server = start_with(limited());
    let [first, second] = tenants(&server);
    server.app.store.figures().assertion_room().set_most(100 * mark());
    let accepted =
        (0..100).take_while(|number| prove(&server, &first, &format!("m{number}")).status == 200).count();
    assert_eq!(accepted, 50, "half of the room");
    assert_eq!(refused(&server, "assertion"), 1);
    let answer = prove(&server, &first, "one-more");
    assert_eq!((answer.status, answer.header("retry-after").is_some()), (503, true), "{answer:?}");

    assert_eq!(prove(&server, &second, "m0").status, 200);
    // What needs no mark goes on at the first one too.
    for tenant in [&first, &second] {
        let tokens = tenant.rp.sign_in(&tenant.browser);
        assert_eq!(tenant.userinfo(&tokens.access_token).status, 200, "{}", tenant.name);
    }

    // What has ended frees its share.
    server.clock.advance(Duration::from_secs(1_200));
    server.block_on(server.app.store.sweep(server.now())).unwrap();
    assert_eq!(prove(&server, &first, "later").status, 200);
}

#[test]
fn a_single_issuer_takes_all_marks_and_so_does_each_where_limits_are_off() {
    for server in [TestServer::start_with(limited()), start_with(Options::default().one_node())] {
        let first = Tenant::new(&server, PLACES[0], server.url.clone());
        server.app.store.figures().assertion_room().set_most(100 * mark());
        let accepted = (0..75).filter(|number| prove(&server, &first, &format!("m{number}")).status == 200);
        assert_eq!(accepted.count(), 75);
    }
}

/// The memory of a cluster's Redis is that of all tests: `store-cluster/src/share.rs` has this for a Redis of its own.
#[test]
fn an_issuers_codes_leave_room_for_those_of_others() {
    if is_clustered() {
        return;
    }
    let server = start_with(limited().env("SYMBOLON_STORAGE_ISSUER_SHARE", "25"));
    let [first, second] = tenants(&server);
    server.app.store.figures().code_room().set_most(4 << 20);
    let nonce = "n".repeat(2_000);
    let code = |tenant: &Tenant| {
        let request = tenant.rp.authorization_request().with("nonce", &nonce);
        let answer = tenant.silent(&tenant.browser, request);
        if answer.status == 503 { None } else { answer.redirected("code") }
    };
    let accepted = (0..1_000).take_while(|_| code(&first).is_some()).count();
    // A quarter of 4 MiB, at 2,000 bytes and more.
    assert!((350..525).contains(&accepted), "{accepted}");
    assert_eq!(refused(&server, "code"), 1);
    for tenant in [&second, &first] {
        let is_first = tenant.name == first.name;
        assert_eq!(code(tenant).is_none(), is_first, "{}", tenant.name);
    }
    let tokens = second.rp.sign_in(&second.browser);
    assert_eq!(second.userinfo(&tokens.access_token).status, 200);
    // The tokens of before go on.
    assert_eq!(first.userinfo(first.access_token()).status, 200);
    assert_eq!(first.rp.refresh(first.refresh_token()).status, 200);

    server.clock.advance(Duration::from_secs(120));
    server.block_on(server.app.store.sweep(server.now())).unwrap();
    assert!(code(&first).is_some(), "codes that ended free their share");
}
