//! Safe by default outside development mode, and under what should not come.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use symbolon_config::{Config, Sources};
use symbolon_testkit::{ADMIN_SECRET, Answer, Browser, Options, RelyingParty, TestServer, TokenSet};

use crate::login::Scene;

fn load(env: &[(&str, &str)]) -> Result<Config, String> {
    let env: Vec<(String, String)> =
        env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    Config::load(Sources { file: None, env: env.into_iter(), flags: Vec::new() })
        .map_err(|errors| errors.to_string())
}

#[test]
fn issuer_and_admin_secret_are_asked_for_by_name() {
    let issuer = ("SYMBOLON_ISSUER", "https://login.example");
    let secret = ("SYMBOLON_ADMIN_SECRET", "twenty-two-characters-or-more");
    assert!(load(&[issuer]).err().unwrap().contains("admin_secret"));
    assert!(load(&[issuer, ("SYMBOLON_ADMIN_SECRET", "short")]).err().unwrap().contains("22 characters"));
    assert!(load(&[secret, ("SYMBOLON_LISTEN", "0.0.0.0:8080")]).err().unwrap().contains("SYMBOLON_ISSUER"));
    let config = load(&[issuer, secret]).ok().unwrap();
    assert!(config.rate_limits.enabled && !config.security.test_endpoints && !config.listen.admin_on_public);
    assert!(config.listen.management.ip().is_loopback());
}

#[test]
fn test_endpoints_are_off_unless_told() {
    let server = TestServer::start_with(Options::default().env("SYMBOLON_TEST_ENDPOINTS", "false"));
    for (method, path) in [
        ("POST", "/test/sessions"),
        ("GET", "/test/signing-key"),
        ("POST", "/test/tokens"),
        ("POST", "/test/mails"),
    ] {
        let body = (method == "POST").then(|| json!({ "user_id": "x" }));
        let answer = server.admin(method, path, body);
        assert_eq!((answer.status, answer.error()), (403, "access_denied".to_owned()), "{path}");
        // And nobody learns even that without the secret.
        assert_eq!(server.admin_with(method, path, None, "wrong").status, 401, "{path}");
    }
}

#[test]
fn each_listener_serves_its_own() {
    let server = TestServer::start_with(Options::default().env("SYMBOLON_ADMIN_ON_PUBLIC", "false"));
    let public = server.browser();
    for path in ["/api/admin/users", "/api/admin", "/metrics", "/healthz", "/readyz"] {
        let answer = public.get_with(path, &[("authorization", "Bearer an-admin-secret-for-tests")]);
        assert_eq!(answer.status, 404, "{path}");
    }
    let management = Browser::new(&server.management);
    for path in ["/authorize", "/token", "/login", "/.well-known/openid-configuration"] {
        assert_eq!(management.get(path).status, 404, "{path}");
    }
    assert_eq!([management.get("/healthz").status, management.get("/readyz").status], [200, 200]);
    assert!(management.get("/metrics").body.contains("symbolon_"));
    assert_eq!(management.get("/api/admin/users").status, 401);
}

pub(crate) fn assert_guarded(page: &Answer, told: &str) {
    assert!(page.header("content-type").unwrap().starts_with("text/html"), "{told}: {page:?}");
    let policy = page.header("content-security-policy").unwrap_or_else(|| panic!("{told}: no policy"));
    for part in ["default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{told}: {policy}");
    }
    assert!(!policy.contains("unsafe"), "{told}: {policy}");
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("cache-control", "no-store"),
        ("referrer-policy", "strict-origin"),
    ] {
        assert_eq!(page.header(name), Some(value), "{told}: {name}");
    }
    // Or a popup would never be heard of again by the client that opened it.
    assert_eq!(page.header("cross-origin-opener-policy"), None, "{told}");
}

#[test]
fn every_page_carries_its_security_headers() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let html = [("accept", "text/html")];
    assert_guarded(&browser.get_with("/", &html), "index");
    assert_guarded(&browser.get_with("/nothing", &html), "not found");
    assert_guarded(&browser.get_with("/authorize?client_id=nobody", &html), "error");
    assert_guarded(&browser.get_with("/login?transaction=x", &html), "no transaction");
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    assert_guarded(&page, "login");
    let again = Scene::sign_in(&browser, &page, &scene.demo.email, "wrong");
    assert_eq!(again.status, 403);
    assert_guarded(&again, "a wrong password");
    let signed_in = Scene::sign_in(&browser, &again, &scene.demo.email, &scene.demo.password);
    assert_guarded(&Scene::to_consent(&browser, &signed_in), "consent");
    assert_guarded(&browser.get("/logout"), "logout");
    assert_guarded(&scene.server.browser().get("/logout"), "logged out");
}

#[test]
fn a_form_without_its_token_does_nothing() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let (transaction, csrf) = crate::login::hidden(&page);
    let form = |csrf: &str, browser: &Browser| {
        let form = [
            ("transaction", &*transaction),
            ("csrf_token", csrf),
            ("username", &*scene.demo.email),
            ("password", &*scene.demo.password),
        ];
        browser.post("/login", &form)
    };
    for bad in ["", "x", &csrf[1..]] {
        let answer = form(bad, &browser);
        assert_eq!(answer.status, 403, "{bad}");
        assert!(browser.cookie("symbolon_session").is_none());
    }
    // The right token in another browser: somebody planted it there.
    assert_eq!(form(&csrf, &scene.server.browser()).status, 403);
    assert_eq!(form(&csrf, &browser).status, 303);
}

/// Tells threads that it is enough when it is dropped, by a panic too.
struct Enough<'a>(&'a AtomicBool);

impl Drop for Enough<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_full_queue_of_passwords_answers_503_and_the_rest_goes_on() {
    let scene = Scene::with(
        Options::default()
            .env("SYMBOLON_ARGON2_THREADS", "1")
            .env("SYMBOLON_ARGON2_QUEUE", "1")
            .env("SYMBOLON_ARGON2_MEMORY", "16MiB")
            // Each node has a queue of its own, and the attempts would be spread over all of them.
            .one_node(),
    );
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let (checked, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    let attempt = || {
        let answer = Scene::sign_in(&browser, &page, "other@example.com", "wrong");
        if answer.status == 503 {
            assert!(answer.header("retry-after").is_some(), "{answer:?}");
            refused.fetch_add(1, Ordering::Relaxed);
        } else {
            // It came just when there was a place.
            assert_eq!((answer.status, answer.header("retry-after")), (403, None), "{answer:?}");
            checked.fetch_add(1, Ordering::Relaxed);
        }
    };
    let looked_up = || {
        let figures = symbolon_testkit::Browser::new(&scene.server.management).get("/metrics").body;
        let line = "symbolon_store_kind_wall_seconds_count{kind=\"user\"} ";
        figures.lines().find_map(|text| text.strip_prefix(line)?.parse::<u64>().ok()).unwrap_or(0)
    };
    let before = looked_up();
    let enough = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _until_here = Enough(&enough);
        // Thirty more who try the same account from the same address, where one is at work and one may wait: their turns
        // come after one another, so that the latest is refused.
        for _ in 0..30 {
            scope.spawn(|| {
                while !enough.load(Ordering::Relaxed) {
                    attempt();
                }
            });
        }
        while refused.load(Ordering::Relaxed) < 60 {
            attempt();
        }
        assert_eq!(scene.server.browser().get("/.well-known/jwks.json").status, 200);
    });
    // A place in the queue comes first, and nobody is looked up for an attempt without one.
    let looked_up = looked_up() - before;
    let (checked, refused) = (checked.into_inner(), refused.into_inner());
    assert!(looked_up <= checked, "{looked_up} looked up, {checked} checked, {refused} refused");
    let attempt = || Scene::sign_in(&browser, &page, "other@example.com", "wrong");
    assert_eq!(attempt().status, 403);
    let signed_in = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    assert_eq!(signed_in.status, 303, "nothing was used up");
}

#[test]
fn bodies_that_are_too_long_are_refused() {
    let server = TestServer::start_with(Options::default().env("SYMBOLON_HTTP_MAX_BODY", "16KiB"));
    let rp = RelyingParty::register(&server, json!({}));
    let long = "x".repeat(40 << 10);
    let headers = [("authorization", &*rp.basic())];
    for path in
        ["/token", "/introspect", "/revoke", "/authorize", "/login", "/consent", "/logout", "/logout/confirm"]
    {
        let answer = server.browser().post_with(path, &[("token", &long)], &headers);
        assert_eq!(answer.status, 413, "{path}: {answer:?}");
    }
    assert_eq!(server.browser().post("/userinfo", &[("access_token", &long)]).status, 413);
    let long = json!({ "client_name": "x".repeat(2 << 20) });
    assert_eq!(server.admin("POST", "/clients", Some(long)).status, 413);
    assert_eq!(rp.token(&[("grant_type", "client_credentials")]).status, 200);
}

/// A machine that was asleep, or whose clock was an hour behind, and is set right.
#[test]
fn an_hours_step_forward_ends_only_what_is_over() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let tokens = rp.sign_in(&browser);
    let revoked = rp.sign_in(&browser);
    assert_eq!(rp.post("/revoke", &[("token", revoked.refresh_token.as_deref().unwrap())]).status, 200);
    let request = rp.authorization_request();
    let code = browser.get(&request.path()).redirected("code").unwrap();
    server.clock.advance(Duration::from_secs(3_600));
    assert_eq!(rp.redeem(&code, &request.verifier).error(), "invalid_grant", "a code of a minute is over");
    assert_eq!(rp.post("/introspect", &[("token", &tokens.access_token)]).json()["active"], false);
    assert!(
        browser.get(&rp.authorization_request().with("prompt", "none").path()).redirected("code").is_some()
    );
    TokenSet::of(&rp.refresh(tokens.refresh_token.as_deref().unwrap()));
    assert_eq!(rp.refresh(revoked.refresh_token.as_deref().unwrap()).error(), "invalid_grant");
}

/// The wall clock may be a little behind at a restart; an hour is refused by name.
#[test]
fn a_clock_set_back_brings_nothing_back() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (user, browser) = server.signed_in("a@example.com");
    server.clock.advance(Duration::from_secs(3_600));
    let tokens = rp.sign_in(&browser);
    let spent = rp.sign_in(&browser).refresh_token.unwrap();
    TokenSet::of(&rp.refresh(&spent));
    server.clock.advance(Duration::from_secs(20));
    assert_eq!(rp.refresh(&spent).error(), "invalid_grant");
    let revoked = rp.sign_in(&browser).access_token;
    assert_eq!(rp.post("/revoke", &[("token", &revoked)]).status, 200);
    let issuer = server.issuer.clone();
    server.clock.set_back(Duration::from_secs(600));
    let server = server.restart(Options { seed: 2, ..Options::default() }.issuer(&issuer));
    let rp = rp.at(&server);
    assert_eq!(rp.refresh(&spent).error(), "invalid_grant");
    assert_eq!(rp.post("/introspect", &[("token", &revoked)]).json()["active"], false);
    let session = browser.cookie("symbolon_session").unwrap();
    let browser = server.browser();
    browser.set_cookie("symbolon_session", &session);
    let silent = browser.get(&rp.authorization_request().with("prompt", "none").path());
    assert!(silent.redirected("code").is_some(), "{silent:?}");
    TokenSet::of(&rp.refresh(tokens.refresh_token.as_deref().unwrap()));
    assert_eq!(server.admin("GET", &format!("/users/{user}"), None).status, 200);
}

/// A secret that leaked is of no use any more once another one is configured.
#[test]
fn the_admin_secret_is_changed_while_running() {
    const NEW: &str = "another-secret-for-the-tests";
    let server = TestServer::start_with(Options::default().one_node());
    let set = [
        ("SYMBOLON_ISSUER", &*server.issuer),
        ("SYMBOLON_ADMIN_SECRET", NEW),
        ("SYMBOLON_ADMIN_ON_PUBLIC", "true"),
        ("SYMBOLON_RATE_LIMITS", "off"),
    ];
    let status = |secret| server.admin_with("GET", "/users", None, secret).status;
    assert_eq!((status(ADMIN_SECRET), status(NEW)), (200, 401));
    server.block_on(server.app.reconfigure(load(&set).unwrap()));
    assert_eq!((status(ADMIN_SECRET), status(NEW)), (401, 200));
}
