//! Rate limits over HTTP: per client, per address, for failed passwords and admin secrets.

use std::time::Duration;

use serde_json::json;
use symbolon_protocol::event::Event;
use symbolon_testkit::{Answer, Browser, Options, RelyingParty, TestServer};

use crate::login::Scene;

fn limited(name: &str, rate: &str) -> Options {
    // Every process counts for itself.
    Options::default().one_node().env("SYMBOLON_RATE_LIMITS", "on").env(name, rate)
}

fn assert_limited(answer: &Answer) -> u64 {
    assert_eq!((answer.status, &*answer.error()), (429, "rate_limit_exceeded"), "{answer:?}");
    let wait = answer.header("retry-after").expect("Retry-After").parse().expect("seconds");
    assert!((1..=60).contains(&wait), "{wait}");
    wait
}

const CREDENTIALS: [(&str, &str); 1] = [("grant_type", "client_credentials")];

#[test]
fn a_client_is_limited_by_itself_and_not_by_its_address() {
    let server = TestServer::start_with(limited("SYMBOLON_RATE_LIMIT_TOKEN_CLIENT", "5/m"));
    let (busy, calm) =
        (RelyingParty::register(&server, json!({})), RelyingParty::register(&server, json!({})));
    for _ in 0..5 {
        assert_eq!(busy.token(&CREDENTIALS).status, 200);
    }
    let wait = assert_limited(&busy.token(&CREDENTIALS));
    assert_eq!(calm.token(&CREDENTIALS).status, 200, "nobody else pays for it");
    assert_eq!(busy.post("/introspect", &[("token", "x")]).status, 200, "another endpoint is another limit");
    server.clock.advance(Duration::from_secs(wait));
    assert_eq!(busy.token(&CREDENTIALS).status, 200, "after the time that was said");
    assert_limited(&busy.token(&CREDENTIALS));
}

#[test]
fn who_guesses_secrets_or_tokens_is_limited_by_address() {
    let server = TestServer::start_with(
        limited("SYMBOLON_RATE_LIMIT_TOKEN_ADDRESS", "3/m")
            .env("SYMBOLON_RATE_LIMIT_INTROSPECT_ADDRESS", "3/m")
            .env("SYMBOLON_RATE_LIMIT_REVOKE_ADDRESS", "3/m")
            .env("SYMBOLON_RATE_LIMIT_USERINFO_ADDRESS", "3/m")
            .env("SYMBOLON_RATE_LIMIT_AUTHORIZE_ADDRESS", "3/m"),
    );
    let rp = RelyingParty::register(&server, json!({}));
    let (_, signed_in) = server.signed_in("a@example.com");
    let token = rp.sign_in(&signed_in).access_token;
    let guess = RelyingParty::known(&server, &rp.client_id, Some("a-wrong-secret-of-thirty-two-chars"), "");
    for path in ["/token", "/introspect", "/revoke"] {
        let form = [CREDENTIALS[0], ("token", "x")];
        for _ in 0..3 {
            assert_eq!(guess.post(path, &form).status, 401, "{path}");
        }
        assert_limited(&guess.post(path, &form));
        assert_eq!(
            rp.post(path, &form).status,
            200,
            "{path}: the client itself is let in from the same address"
        );
    }
    let bearer = |token: &str| {
        server.browser().get_with("/userinfo", &[("authorization", &format!("Bearer {token}"))])
    };
    for _ in 0..3 {
        assert_eq!(bearer("x").status, 401);
    }
    assert_limited(&bearer("x"));
    assert_eq!(bearer(&token).status, 200, "a good token is no guess");
    // The authorization endpoint was used once already.
    for _ in 0..2 {
        assert_eq!(server.browser().get(&rp.authorization_request().path()).status, 302);
    }
    assert_limited(&server.browser().get(&rp.authorization_request().path()));
}

#[test]
fn logouts_are_limited_by_address_on_every_path() {
    let server = TestServer::start_with(
        limited("SYMBOLON_RATE_LIMIT_LOGOUT_ADDRESS", "3/m").env("SYMBOLON_TRUSTED_PROXIES", "127.0.0.0/8"),
    );
    for (number, (method, path)) in
        [("GET", "/logout"), ("POST", "/logout"), ("POST", "/logout/confirm")].into_iter().enumerate()
    {
        let ask = |from: &str| {
            let headers = [("x-forwarded-for", from)];
            match method {
                "GET" => server.browser().get_with(path, &headers),
                _ => server.browser().post_with(path, &[("decision", "confirm")], &headers),
            }
        };
        let from = format!("192.0.2.{number}");
        for _ in 0..3 {
            assert_ne!(ask(&from).status, 429, "{method} {path}");
        }
        let refused = ask(&from);
        assert_eq!(refused.status, 429, "{method} {path}");
        assert!(refused.header("retry-after").is_some());
        assert_ne!(ask("198.51.100.1").status, 429, "{method} {path}: another address");
    }
}

#[test]
fn a_users_flood_of_userinfo_leaves_the_clients_other_users_their_limit() {
    let options = limited("SYMBOLON_RATE_LIMIT_USERINFO_USER", "2/m");
    let server = TestServer::start_with(options.env("SYMBOLON_RATE_LIMIT_USERINFO_CLIENT", "4/m"));
    let rp = RelyingParty::register(&server, json!({}));
    let [(_, a), (_, b)] = ["a@example.com", "b@example.com"].map(|email| server.signed_in(email));
    let [flooding, calm] = [&a, &b].map(|browser| rp.sign_in(browser).access_token);
    let ask = |token: &str| {
        server.browser().get_with("/userinfo", &[("authorization", &format!("Bearer {token}"))])
    };
    for _ in 0..2 {
        assert_eq!(ask(&flooding).status, 200);
    }
    for _ in 0..20 {
        assert_limited(&ask(&flooding));
    }
    for _ in 0..2 {
        assert_eq!(ask(&calm).status, 200, "what was refused used nothing of the client's limit");
    }
    let other = RelyingParty::register(&server, json!({}));
    assert_eq!(ask(&other.sign_in(&a).access_token).status, 200, "the user has a limit at each client");
}

#[test]
fn the_address_is_the_peers_unless_a_trusted_proxy_tells_another() {
    let ask = |server: &TestServer, from: &str| {
        let headers = [("authorization", "Bearer x"), ("x-forwarded-for", from)];
        server.browser().get_with("/userinfo", &headers).status
    };
    let options = limited("SYMBOLON_RATE_LIMIT_USERINFO_ADDRESS", "2/m");
    let server = TestServer::start_with(options.clone());
    let seen = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|from| ask(&server, from));
    assert_eq!(seen, [401, 401, 429], "whoever claims other addresses is still one");
    let server = TestServer::start_with(options.env("SYMBOLON_TRUSTED_PROXIES", "127.0.0.0/8"));
    for _ in 0..2 {
        assert_eq!([ask(&server, "192.0.2.1"), ask(&server, "192.0.2.2")], [401, 401]);
    }
    assert_eq!(ask(&server, "192.0.2.1"), 429);
    assert_eq!(
        ask(&server, "192.0.2.9, 192.0.2.2"),
        429,
        "the last one counts: the others anybody can write"
    );
    // One host of IPv6 has a whole /64.
    assert_eq!(
        [ask(&server, "2001:db8::1"), ask(&server, "2001:db8::2"), ask(&server, "2001:db8::3")],
        [401, 401, 429]
    );
}

/// Tries a password; the answer.
fn attempt(scene: &Scene, browser: &Browser, from: &str, password: &str) -> Answer {
    let page = scene.at_login(browser, &scene.rp.authorization_request());
    let (transaction, csrf) = crate::login::hidden(&page);
    let form = [
        ("transaction", &*transaction),
        ("csrf_token", &*csrf),
        ("username", &*scene.demo.email),
        ("password", password),
    ];
    browser.post_with("/login", &form, &[("x-forwarded-for", from)])
}

#[test]
fn failed_passwords_delay_and_never_lock() {
    let scene = Scene::with(
        limited("SYMBOLON_RATE_LIMIT_LOGIN_ACCOUNT", "3/m").env("SYMBOLON_TRUSTED_PROXIES", "127.0.0.0/8"),
    );
    let browser = scene.server.browser();
    let right = scene.demo.password.clone();
    for _ in 0..3 {
        assert_eq!(attempt(&scene, &browser, "192.0.2.1", "wrong").status, 403);
    }
    let delayed = attempt(&scene, &browser, "192.0.2.1", &right);
    assert_eq!(delayed.status, 429, "even the right one");
    let wait: u64 = delayed.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    // The person at another address is not locked out.
    assert_eq!(attempt(&scene, &scene.server.browser(), "192.0.2.2", &right).status, 303);
    // Nor here, once the time has passed: attempts that were refused cost nothing.
    for _ in 0..20 {
        assert_eq!(attempt(&scene, &browser, "192.0.2.1", "wrong").status, 429);
    }
    scene.server.clock.advance(Duration::from_secs(wait));
    assert_eq!(attempt(&scene, &browser, "192.0.2.1", &right).status, 303);
}

/// Whether a name is somebody's, and whether two are the same one's, is not to be seen in what is delayed.
#[test]
fn a_delay_tells_nothing_of_accounts() {
    let scene = Scene::with(limited("SYMBOLON_RATE_LIMIT_LOGIN_ACCOUNT", "3/m"));
    let browser = scene.server.browser();
    let tried = |name: &str| {
        let page = scene.at_login(&browser, &scene.rp.authorization_request());
        Scene::sign_in(&browser, &page, name, "wrong").status
    };
    // The names of one account, and two of nobody.
    for [address, name] in [[&*scene.demo.email, "demo"], ["zoe@example.com", "zoe"]] {
        let capitals = address.to_uppercase();
        let statuses = [address, &capitals, address, address, &capitals, name].map(tried);
        assert_eq!(statuses, [403, 403, 403, 429, 429, 403], "{address}");
    }
}

#[test]
fn one_address_cannot_try_every_account() {
    let scene = Scene::with(limited("SYMBOLON_RATE_LIMIT_LOGIN_ADDRESS", "4/m"));
    let browser = scene.server.browser();
    let mut statuses = Vec::new();
    for number in 0..6 {
        let page = scene.at_login(&browser, &scene.rp.authorization_request());
        statuses.push(Scene::sign_in(&browser, &page, &format!("user-{number}@example.com"), "wrong").status);
    }
    assert_eq!(statuses, [403, 403, 403, 403, 429, 429]);
}

#[test]
fn wrong_admin_secrets_are_limited() {
    let server = TestServer::start_with(limited("SYMBOLON_RATE_LIMIT_ADMIN_ADDRESS", "3/m"));
    let wrong = || server.admin_with("GET", "/users", None, "a wrong secret");
    for _ in 0..3 {
        assert_eq!(wrong().status, 401);
    }
    let answer = wrong();
    assert_eq!(answer.status, 429);
    // Whoever shares an address with a guesser is let in all the same.
    assert_eq!(server.admin("GET", "/users", None).status, 200);
    assert_eq!(wrong().status, 429, "the right secret forgives none");
    let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    server.clock.advance(Duration::from_secs(wait));
    assert_eq!(wrong().status, 401);
}

#[test]
fn wrong_admin_secrets_are_in_the_audit_log_and_a_flood_of_them_does_not_fill_it() {
    let server = TestServer::start_with(Options::default().one_node());
    let wrong = || server.admin_with("GET", "/users", None, "a wrong secret");
    for _ in 0..200 {
        assert_eq!(wrong().status, 401);
    }
    server.clock.advance(Duration::from_secs(60));
    assert_eq!(server.admin_with("GET", "/issuers/other/no-such-path", None, "wrong").status, 401);
    server.drain_audit();
    let found = server.admin("GET", "/audit-logs?event=admin.refused", None).json();
    let records = found["audit_logs"].as_array().unwrap();
    let attempts: Vec<_> =
        records.iter().map(|record| record["detail"]["attempts"].as_u64().unwrap()).collect();
    assert_eq!(attempts, [1, 199, 1], "{found}");
    for record in records {
        assert_eq!((&record["actor"], &record["address"]), (&json!("anonymous"), &json!("127.0.0.1")));
    }
    assert!(!found.to_string().contains("wrong secret"));
    assert_eq!(server.app.audit.events(Event::AdminRefused), 201);
}

#[test]
fn the_switch_lifts_every_limit() {
    let off = limited("SYMBOLON_RATE_LIMIT_TOKEN_CLIENT", "1/m").env("SYMBOLON_RATE_LIMITS", "off");
    let server = TestServer::start_with(off);
    let rp = RelyingParty::register(&server, json!({}));
    for _ in 0..10 {
        assert_eq!(rp.token(&CREDENTIALS).status, 200);
    }
}
