//! What waits while a person looks at a page: nobody meets a dead end, and nobody fills a store.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_testkit::{Answer, Browser, Options, RelyingParty, TestServer};

use crate::login::{PASSWORD, Scene, hidden};

const STYLED: [(&str, &str); 1] = [("accept", "text/html")];

fn decide_logout(browser: &Browser, page: &Answer, decision: &str) -> Answer {
    let (transaction, csrf) = hidden(page);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("decision", decision)];
    browser.post("/logout/confirm", &form)
}

/// Where the page can be opened again: the form's action carries its interaction.
fn action(page: &Answer) -> String {
    let at = page.body.find(" action=\"").expect("a form");
    page.body[at + 9..].split_once('"').unwrap().0.to_owned()
}

/// What the stores of all nodes have kept: operations by kind, and the records that can be listed, of every issuer.
/// Records of kinds that nobody reads here have no operation unless one is kept; of the others (a job looks for
/// deliveries at any time), those are counted that a person could leave. The audit log is left out: it has
/// [its own bounds](crate::rate_limits).
fn left_behind(server: &TestServer, issuers: &[&str]) -> BTreeMap<String, u64> {
    let read = [
        "audit",
        "authenticator",
        "client",
        "consent",
        "delivery",
        "group",
        "key",
        "role",
        "session",
        "setting",
        "user",
    ];
    let mut left: BTreeMap<String, u64> = server
        .store_operations()
        .into_iter()
        .filter(|(kind, _)| !read.contains(kind))
        .map(|(kind, operations)| (format!("operations on {kind}"), operations))
        .collect();
    let waiting = server.block_on(server.app.store.waiting_deliveries()).unwrap();
    left.insert("deliveries".to_owned(), waiting.iter().map(|(_, number)| number).sum());
    for issuer in issuers {
        for list in ["users", "clients", "groups", "roles", "sessions"] {
            let listed = server.admin("GET", &format!("{issuer}/{list}?limit=100"), None).json();
            let records = listed[list].as_array().unwrap_or_else(|| panic!("no {list}: {listed}"));
            left.insert(format!("{issuer} {list}"), records.len() as u64);
        }
        let users = server.admin("GET", &format!("{issuer}/users?limit=100"), None).json();
        for user in users["users"].as_array().unwrap() {
            let path = format!("{issuer}/users/{}/consents", user["id"].as_str().unwrap());
            let consents = server.admin("GET", &path, None).json();
            let consents = consents["consents"].as_array().unwrap_or_else(|| panic!("{consents}"));
            left.insert(path, consents.len() as u64);
        }
    }
    left
}

#[test]
fn who_has_proven_nothing_leaves_nothing_in_the_store() {
    let scene = Scene::new();
    let url = format!("{}/acme", scene.server.url);
    let made = scene.server.admin("POST", "/issuers", Some(json!({ "id": "acme", "url": url })));
    assert_eq!(made.status, 201, "{made:?}");
    let other = RelyingParty::register_at(&scene.server, "/issuers/acme", json!({ "skip_consent": false }));
    let other = other.served_at(&url);
    let cookie = "symbolon_session_acme";
    let (_, with_cookie) = scene.server.signed_in_at("/issuers/acme", cookie, "ann@acme.example");
    let signed_in_there = Browser::new(&url);
    signed_in_there.set_cookie(cookie, &with_cookie.cookie(cookie).unwrap());
    let (signed_in, _) = scene.signed_in();
    let issuers = ["", "/issuers/acme"];
    let before = left_behind(&scene.server, &issuers);
    for _ in 0..20 {
        let browser = scene.server.browser();
        let page = scene.at_login(&browser, &scene.rp.authorization_request());
        assert_eq!(Scene::sign_in(&browser, &page, "nobody", "x").status, 403);
        assert_eq!(signed_in.get("/logout").status, 200);
        let consent = scene.rp.authorization_request().with("prompt", "consent");
        assert_eq!(signed_in.get(&consent.path()).status, 302);

        let browser = Browser::new(&url);
        let sent = browser.get(&other.authorization_request().path());
        assert!(sent.location().starts_with("/acme/login?"), "{sent:?}");
        let page = browser.get(&format!("{}{}", scene.server.url, sent.location()));
        assert_eq!(page.status, 200, "{page:?}");
        let (transaction, csrf) = hidden(&page);
        let form = [
            ("transaction", &*transaction),
            ("csrf_token", &*csrf),
            ("username", "nobody"),
            ("password", "x"),
        ];
        assert_eq!(browser.post("/login", &form).status, 403);
        assert_eq!(signed_in_there.get("/logout").status, 200);
        let consent = other.authorization_request().with("prompt", "consent");
        let consent = signed_in_there.get(&consent.path());
        assert!(consent.location().starts_with("/acme/consent?"), "{consent:?}");
    }
    scene.server.settle();
    assert_eq!(left_behind(&scene.server, &issuers), before);
    // What is looked at does tell: whoever has proven who they are leaves a session and a code.
    scene.another_grant();
    let after = left_behind(&scene.server, &issuers);
    for grown in ["operations on code", " sessions"] {
        assert!(after[grown] > before[grown], "{grown}: {after:?}");
    }
}

#[test]
fn a_second_click_ends_where_the_first_one_did() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let first = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    let session = browser.cookie("symbolon_session").unwrap();
    let second = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    assert_eq!(second.status, 303, "{second:?}");
    assert!(second.location().starts_with("/consent?"), "{second:?}");
    assert_eq!(browser.cookie("symbolon_session").unwrap(), session, "one interaction signs in once");

    let consent = Scene::to_consent(&browser, &first);
    for _ in 0..2 {
        let allowed = Scene::decide(&browser, &consent, "allow");
        assert!(allowed.redirected("code").is_some(), "{allowed:?}");
    }
    for _ in 0..2 {
        let denied = Scene::decide(&browser, &consent, "deny");
        assert_eq!(denied.redirected("error").as_deref(), Some("access_denied"));
    }
    let logout = browser.get("/logout");
    for _ in 0..2 {
        assert_eq!(decide_logout(&browser, &logout, "confirm").status, 200, "signed out");
    }
}

/// The browser leaves before the first answer is there: its cookie never arrives.
#[test]
fn a_form_that_is_sent_twice_opens_one_session() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let before = browser.cookie("symbolon_login").unwrap();
    let sessions: Vec<String> = (0..3)
        .map(|_| {
            let again = scene.server.browser();
            again.set_cookie("symbolon_login", &before);
            assert_eq!(Scene::sign_in(&again, &page, &scene.demo.email, &scene.demo.password).status, 303);
            again.cookie("symbolon_session").unwrap()
        })
        .collect();
    assert!(sessions.windows(2).all(|pair| pair[0] == pair[1]), "{sessions:?}");
    // Another user of the same form has a session of their own.
    let other = scene.server.browser();
    other.set_cookie("symbolon_login", &before);
    assert_eq!(Scene::sign_in(&other, &page, "other@example.com", PASSWORD).status, 303);
    assert_ne!(other.cookie("symbolon_session").as_ref(), sessions.first());
}

/// A session that has ended is not begun again under its name: everything that hangs on that name is dead.
#[test]
fn the_form_of_an_ended_session_begins_another_one() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let request = scene.rp.authorization_request();
    let page = scene.at_login(&browser, &request);
    assert_eq!(Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password).status, 303);
    let first = browser.cookie("symbolon_session").unwrap();
    decide_logout(&browser, &browser.get("/logout"), "confirm");
    assert!(!scene.session_lives(&first));
    let signed_in = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    assert_ne!(browser.cookie("symbolon_session").unwrap(), first);
    let allowed = Scene::decide(&browser, &Scene::to_consent(&browser, &signed_in), "allow");
    let code = allowed.redirected("code").unwrap();
    assert_eq!(scene.rp.redeem(&code, &request.verifier).status, 200);
}

#[test]
fn who_comes_late_goes_on() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    scene.server.clock.advance(Duration::from_secs(3_600));
    let signed_in = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    let consent = Scene::to_consent(&browser, &signed_in);
    scene.server.clock.advance(Duration::from_secs(3_600));
    assert!(Scene::decide(&browser, &consent, "allow").redirected("code").is_some());
    let logout = browser.get("/logout");
    scene.server.clock.advance(Duration::from_secs(3_600));
    assert_eq!(decide_logout(&browser, &logout, "confirm").status, 200);
    assert!(browser.cookie("symbolon_session").is_none());
}

/// What was proven counts for ten minutes: `prompt=login` asks again after that, also in the same interaction.
#[test]
fn what_was_proven_long_ago_does_not_count() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request().with("prompt", "login"));
    let signed_in = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    let consent = Scene::to_consent(&browser, &signed_in);
    scene.server.clock.advance(Duration::from_secs(601));
    let again = Scene::decide(&browser, &consent, "allow");
    assert!(again.location().starts_with("/login?"), "{again:?}");
}

#[test]
fn a_bookmark_back_and_another_tab_lead_on() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let refused = Scene::sign_in(&browser, &page, &scene.demo.email, "wrong");
    let bookmark = action(&refused);
    assert_eq!(browser.get(&bookmark).status, 200);
    // Another browser begins anew.
    let stranger = scene.server.browser();
    let opened = stranger.get(&bookmark);
    let signed_in = Scene::sign_in(&stranger, &opened, &scene.demo.email, &scene.demo.password);
    assert!(
        Scene::decide(&stranger, &Scene::to_consent(&stranger, &signed_in), "allow")
            .redirected("code")
            .is_some()
    );
    // Signed in and allowed in another tab, the page that was left leads to the application.
    let signed_in = Scene::sign_in(&browser, &refused, &scene.demo.email, &scene.demo.password);
    assert!(signed_in.redirected("code").is_some(), "{signed_in:?}");
    for path in [bookmark, action(&opened)] {
        assert!(browser.get(&path).redirected("code").is_some(), "{path}");
    }
    // Somebody who has no page of ours is led to the provider's own.
    for path in ["/login", "/consent"] {
        let nowhere = scene.server.browser().get_with(path, &STYLED);
        assert_eq!((nowhere.status, nowhere.location()), (302, "/".to_owned()), "{path}");
    }
}

/// A seal is no proof in another browser, however young it is.
#[test]
fn nothing_that_was_proven_goes_to_another_browser() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let request = scene.rp.authorization_request().with("prompt", "login");
    let signed_in = {
        let page = scene.at_login(&browser, &request);
        Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password)
    };
    let stranger = scene.server.browser();
    stranger.set_cookie("symbolon_session", &browser.cookie("symbolon_session").unwrap());
    let led = stranger.get(&signed_in.location());
    assert!(led.location().starts_with("/login?"), "{led:?}");
}

#[test]
fn a_form_from_another_site_does_nothing() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let (transaction, csrf) = hidden(&page);
    let form = [
        ("transaction", &*transaction),
        ("csrf_token", &*csrf),
        ("username", &*scene.demo.email),
        ("password", &*scene.demo.password),
    ];
    let own = scene.server.url.clone();
    let foreign: [&[(&str, &str)]; 5] = [
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site"), ("origin", &own)],
        &[("origin", "http://127.0.0.1")],
    ];
    for headers in foreign {
        let refused = browser.post_with("/login", &form, headers);
        assert_eq!(refused.status, 403, "{headers:?}");
        assert!(browser.cookie("symbolon_session").is_none(), "{headers:?}");
    }
    let logout = {
        let (browser, _) = scene.signed_in();
        let page = browser.get("/logout");
        let (transaction, csrf) = hidden(&page);
        let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("decision", "confirm")];
        browser.post_with("/logout/confirm", &form, &[("sec-fetch-site", "same-site")]);
        browser.cookie("symbolon_session")
    };
    assert!(logout.is_some(), "signed out by a sibling domain");
    let accepted = browser.post_with("/login", &form, &[("origin", &own), ("sec-fetch-site", "same-origin")]);
    assert_eq!(accepted.status, 303);
}

/// The person in front of the browser changes while a page of the one before is open: its button means who it names.
#[test]
fn a_logout_page_signs_out_whom_it_names_and_nobody_else() {
    let scene = Scene::new();
    let (browser, _) = scene.signed_in();
    let first = browser.cookie("symbolon_session").unwrap();
    let logout = browser.get("/logout");
    let page = scene.at_login(&browser, &scene.rp.authorization_request().with("prompt", "login"));
    assert_eq!(Scene::sign_in(&browser, &page, "other@example.com", PASSWORD).status, 303);
    let second = browser.cookie("symbolon_session").unwrap();
    for _ in 0..2 {
        let out = decide_logout(&browser, &logout, "confirm");
        assert!(out.status == 200 && out.body.contains("other@example.com"), "{out:?}");
        assert!(!scene.session_lives(&first) && scene.session_lives(&second));
        assert_eq!(browser.cookie("symbolon_session").as_ref(), Some(&second));
    }
}

#[test]
fn a_user_deactivated_meanwhile_is_not_led_on() {
    let scene = Scene::with(Options::default().one_node());
    let (browser, _) = scene.signed_in();
    let page = scene.at_login(&browser, &scene.rp.authorization_request().with("prompt", "login"));
    assert_eq!(Scene::sign_in(&browser, &page, "other@example.com", PASSWORD).status, 303);
    scene.server.admin("DELETE", "/users/other", None);
    let issuer = IssuerId::default_issuer();
    let gone = scene.server.block_on(scene.server.app.store.user(&issuer, &UserId::trusted("other")));
    assert!(gone.unwrap().is_none());
    let again = Scene::sign_in(&browser, &page, "other@example.com", PASSWORD);
    assert_eq!(again.status, 403, "{again:?}");
}

#[test]
fn the_consent_page_lets_somebody_else_sign_in() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let request = scene.rp.authorization_request();
    let page = scene.at_login(&browser, &request);
    let signed_in = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    let first = browser.cookie("symbolon_session").unwrap();
    let consent = Scene::to_consent(&browser, &signed_in);
    let login = Scene::decide(&browser, &consent, "switch");
    assert!(login.status == 200 && login.body.contains("form class=\"stack\" id=\"login\""), "{login:?}");
    let signed_in = Scene::sign_in(&browser, &login, "other@example.com", PASSWORD);
    assert!(scene.session_lives(&first), "both are signed in in this browser");
    let consent = Scene::to_consent(&browser, &signed_in);
    assert!(consent.body.contains("other@example.com"), "{consent:?}");
    assert!(Scene::decide(&browser, &consent, "allow").redirected("code").is_some());
}

#[test]
fn an_error_page_names_the_application_and_leads_back() {
    let server = symbolon_testkit::TestServer::start();
    let client =
        serde_json::json!({ "client_name": "Example Shop", "client_uri": "https://shop.example/home" });
    let rp = symbolon_testkit::RelyingParty::register(&server, client);
    let foreign = rp.authorization_request().without("redirect_uri");
    let foreign = foreign.with("redirect_uri", "https://evil.example/<b>callback");
    let page = server.browser().get_with(&foreign.path(), &STYLED);
    assert_eq!(page.status, 400);
    for part in [
        "Go back to Example Shop and begin again.",
        "href=\"https://shop.example/home\"",
        "https://evil.example/&#60;b&#62;callback",
    ] {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    let nobody = server.browser().get_with("/authorize?client_id=nobody", &STYLED);
    assert!(nobody.body.contains("Go back to the application that sent you here"), "{}", nobody.body);
}
