//! The root page, its files, and what development mode adds.

use std::sync::Arc;
use std::time::Duration;

use symbolon_config::{Config, Mode, Sources};
use symbolon_crypto::secret::SecretString;
use symbolon_protocol::id::IssuerId;
use symbolon_sign_in::demo;
use symbolon_testkit::{Browser, Options, decode_jwt};

use crate::login::Scene;

/// The scene as development mode has it: its own issuer on `localhost`.
fn developing() -> Scene {
    // Development mode is one process.
    let mut scene = Scene::with(Options::default().one_node());
    let listen = scene.server.url.trim_start_matches("http://").to_owned();
    let directory = scene.directory.path().to_str().unwrap().to_owned();
    let env = [("SYMBOLON_LISTEN".to_owned(), listen), ("SYMBOLON_DATA_DIR".to_owned(), directory)];
    let config = Config::load(Sources { file: None, env: env.into_iter(), flags: Vec::new() }).unwrap();
    assert_eq!(config.mode, Mode::Development);
    scene.server.issuer = config.issuer.as_str().to_owned();
    let app = Arc::clone(&scene.server.app);
    app.config.store(Arc::new(config));
    scene.server.block_on(app.load_issuers()).unwrap();
    scene.server.block_on(demo::prepare(&app)).unwrap();
    // Another URL while it runs is nothing that a server does: a node of a cluster has waited for itself, and lost its lease.
    let management = Browser::new(&scene.server.management);
    while management.get("/readyz").status != 200 {
        std::thread::sleep(Duration::from_millis(10));
    }
    scene.rp.redirect_uri = format!("{}/callback", scene.server.issuer);
    scene
}

#[test]
fn files_are_kept_for_ever_and_checked_by_tag() {
    let scene = Scene::new();
    let page = scene.server.browser().get("/");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("/.well-known/openid-configuration"));
    let at = page.body.find("/assets/style").expect("a style sheet");
    let path = page.body[at..].split_once('"').unwrap().0;
    let file = scene.server.browser().get(path);
    assert_eq!((file.status, file.header("content-type")), (200, Some("text/css; charset=utf-8")));
    assert!(file.header("cache-control").unwrap().contains("immutable"));
    let again = scene.server.browser().get_with(path, &[("if-none-match", file.header("etag").unwrap())]);
    assert_eq!((again.status, &*again.body), (304, ""));
    assert_eq!(scene.server.browser().get("/assets/style.css").status, 404);
}

#[test]
fn outside_development_mode_there_is_no_demo() {
    let scene = Scene::new();
    assert_eq!(scene.server.browser().get("/callback").status, 404);
    assert_eq!(scene.server.browser().get("/callback/silent").status, 404);
    let exchange = scene.server.browser().post("/demo/token-exchange", &[("subject_token", "x")]);
    assert_eq!(exchange.status, 404);
}

#[test]
fn the_demo_is_made_once_and_follows_its_file() {
    let scene = Scene::new();
    let again = scene.server.block_on(symbolon_sign_in::demo::prepare(&scene.server.app)).unwrap();
    assert!(again == scene.demo);
    let app = &scene.server.app;
    let issuer = IssuerId::default_issuer();
    let known = || scene.server.block_on(app.store.user_by_login(&issuer, &again.email)).unwrap().unwrap();
    let is_right = || {
        let verified = app.passwords.verify_own(SecretString::new(again.password.clone()), known().1);
        scene.server.block_on(verified).unwrap()
    };
    let other = scene.server.block_on(app.passwords.hash("another".into())).unwrap();
    scene.server.block_on(app.store.set_password(&issuer, &known().0.id, Some(other))).unwrap();
    assert!(!is_right());
    scene.server.block_on(again.keep_password(app)).unwrap();
    assert!(is_right());
}

#[test]
fn the_walk_through_may_do_what_it_needs_and_no_more() {
    let scene = developing();
    let browser = scene.server.browser();
    for path in ["/", "/callback?code=x"] {
        let page = browser.get(path);
        assert_eq!(page.status, 200);
        assert!(page.body.contains(&scene.demo.password) && page.body.contains(&scene.demo.email));
        let policy = page.header("content-security-policy").unwrap();
        let issuer = &scene.server.issuer;
        for part in [
            "script-src 'self'",
            &format!("connect-src 'self' {issuer}"),
            &format!("frame-src 'self' {issuer}"),
        ] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
    }
    let silent = browser.get("/callback/silent?error=login_required");
    assert!(silent.header("content-security-policy").unwrap().contains("frame-ancestors 'self'"));
    assert!(silent.header("x-frame-options").is_none());
}

#[test]
fn the_demo_clients_follow_the_port() {
    let scene = developing();
    let (_, tokens) = scene.signed_in();
    assert!(tokens.id_token.is_some());
}

#[test]
fn the_back_end_exchanges_the_walk_throughs_token() {
    let scene = developing();
    let (_, tokens) = scene.signed_in();
    let answer =
        scene.server.browser().post("/demo/token-exchange", &[("subject_token", &tokens.access_token)]);
    assert_eq!(answer.status, 200, "{answer:?}");
    let (_, claims) = decode_jwt(answer.json()["access_token"].as_str().unwrap());
    assert!(claims["act"]["sub"].as_str().unwrap().contains(demo::SERVICE), "{claims}");
    let refused = scene.server.browser().post("/demo/token-exchange", &[("subject_token", "forged")]);
    assert_eq!((refused.status, &*refused.error()), (400, "invalid_grant"));
}
