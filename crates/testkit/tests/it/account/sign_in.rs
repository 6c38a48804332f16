//! Who is not signed in is led through the sign-in page and back.

use std::time::Duration;

use serde_json::json;

use super::{demo, fill_in, send_of, signed_in};
use crate::login::{PASSWORD, Scene, hidden};
use crate::second_factor;

const PAGES: [&str; 7] = [
    "/account",
    "/account/profile",
    "/account/password",
    "/account/sessions",
    "/account/applications",
    "/account/requests",
    "/account/data",
];

#[test]
fn every_page_leads_through_the_sign_in_page_and_back() {
    let scene = Scene::new();
    for path in PAGES {
        let browser = scene.server.browser();
        let sent = browser.get(path);
        assert_eq!(sent.status, 302, "{path}");
        assert!(sent.location().starts_with("/login?transaction="), "{sent:?}");
        let page = browser.get(&sent.location());
        assert!(page.status == 200 && page.body.contains("your account"), "{page:?}");
        let wrong = fill_in(&browser, &page, &scene.demo.email, "x");
        assert_eq!(wrong.status, 403, "{wrong:?}");
        let answer = fill_in(&browser, &page, &scene.demo.email, &scene.demo.password);
        assert_eq!((answer.status, &*answer.location()), (303, path));
        let page = browser.get(path);
        assert_eq!(page.status, 200, "{page:?}");
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.contains("form-action 'self'") && policy.contains("default-src 'none'"), "{policy}");
        assert!(!page.body.contains(" style=") && !page.body.contains("onclick"));
    }
}

#[test]
fn a_second_click_a_late_one_and_another_browser_go_on() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let address = browser.get("/account/sessions").location();
    let page = browser.get(&address);
    for _ in 0..2 {
        let answer = fill_in(&browser, &page, &scene.demo.email, &scene.demo.password);
        assert_eq!((answer.status, &*answer.location()), (303, "/account/sessions"), "{answer:?}");
    }
    // Back, or a bookmark: the person is signed in already.
    assert_eq!(browser.get(&address).location(), "/account/sessions");
    // The address was passed on: the other browser signs in for itself.
    let other = scene.server.browser();
    let answer = fill_in(&other, &page, &scene.demo.email, &scene.demo.password);
    assert_eq!(answer.status, 403, "the form of another browser: {answer:?}");
    assert!(other.cookie("symbolon_session").is_none());
    // An hour later the form still signs in.
    let late = scene.server.browser();
    let page = late.get(&late.get("/account").location());
    scene.server.clock.advance(Duration::from_secs(3_600));
    assert_eq!(fill_in(&late, &page, &scene.demo.email, &scene.demo.password).location(), "/account");
}

#[test]
fn what_changes_something_wants_a_fresh_sign_in() {
    let scene = Scene::new();
    let browser = demo(&scene);
    let page = browser.get("/account/sessions");
    scene.server.clock.advance(Duration::from_secs(601));
    assert_eq!(browser.get("/account/sessions").status, 200, "looking is free");
    assert!(browser.get("/account/password").location().starts_with("/login?"));
    let refused = send_of(&browser, "/account/sessions", &page, &[("end_others", "true")]);
    assert!(refused.status == 303 && refused.location().starts_with("/login?"), "{refused:?}");
    let login = browser.get(&refused.location());
    assert_eq!(login.status, 200, "the session is not enough: {login:?}");
    let answer = fill_in(&browser, &login, &scene.demo.email, &scene.demo.password);
    assert_eq!(answer.location(), "/account/sessions");
    assert_eq!(browser.get("/account/password").status, 200);
}

#[test]
fn an_address_that_says_that_something_was_done_is_no_way_around_a_fresh_sign_in() {
    let scene = Scene::new();
    let browser = demo(&scene);
    let told = ["/account/password?done=password", "/account/security?done=saved"];
    for path in told {
        assert_eq!(browser.get(path).status, 200, "{path}");
    }
    scene.server.clock.advance(Duration::from_secs(601));
    for path in told {
        let answer = browser.get(path);
        assert!(answer.status == 302 && answer.location().starts_with("/login?"), "{path}: {answer:?}");
    }
    assert_eq!(browser.get("/account/sessions?done=sessions").status, 200, "looking is free");
}

#[test]
fn forged_forms_change_nothing() {
    let scene = Scene::new();
    let (browser, stranger) = (demo(&scene), signed_in(&scene, "other@example.com", PASSWORD));
    let (own, foreign) = (browser.get("/account/sessions"), stranger.get("/account/sessions"));
    let other_form = browser.get("/account/profile");
    let second = demo(&scene);
    let token = own.field("csrf_token").unwrap();
    for (csrf, headers) in [
        (String::new(), vec![]),
        (foreign.field("csrf_token").unwrap(), vec![]),
        (other_form.field("csrf_token").unwrap(), vec![]),
        (token.clone(), vec![("origin", "https://evil.example")]),
        (token.clone(), vec![("sec-fetch-site", "cross-site")]),
    ] {
        let form = [("csrf_token", &*csrf), ("end_others", "true")];
        assert_eq!(browser.post_with("/account/sessions", &form, &headers).status, 403, "{csrf} {headers:?}");
    }
    assert_eq!(second.get("/account").status, 200, "still signed in");
    let form = [("csrf_token", &*token), ("end_others", "true")];
    assert_eq!(browser.post("/account/sessions", &form).status, 303);
    assert_eq!(second.get("/account").status, 302);
}

#[test]
fn cancel_leads_to_the_first_page() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let page = browser.get(&browser.get("/account/sessions").location());
    let (transaction, csrf) = hidden(&page);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("cancel", "true")];
    let answer = browser.post("/login", &form);
    assert_eq!((answer.status, &*answer.location()), (303, "/"));
}

/// What waits for an account page leads nowhere else.
#[test]
fn an_account_page_asks_for_no_consent() {
    let scene = Scene::new();
    let browser = demo(&scene);
    let address = scene.server.browser().get("/account/data").location();
    let sealed = address.split_once('=').unwrap().1.to_owned();
    let answer = browser.get(&format!("/consent?transaction={sealed}"));
    assert_eq!((answer.status, &*answer.location()), (302, "/account/data"));
    let form = [("transaction", &*sealed), ("decision", "allow")];
    assert_eq!(browser.post("/consent", &form).location(), "/account/data");
}

/// With two factors, as for a client; a session of one is not enough any more.
#[test]
fn a_second_factor_is_asked_for_as_for_a_client() {
    let scene = Scene::new();
    let early = signed_in(&scene, "other@example.com", PASSWORD);
    let phone = second_factor::enrolled(&scene);
    let (browser, other) = (scene.server.browser(), scene.server.browser());
    let page = browser.get(&browser.get("/account/password").location());
    let answer = fill_in(&browser, &page, "other@example.com", PASSWORD);
    assert!(answer.location().starts_with("/login/second-factor?transaction="), "{answer:?}");
    assert!(browser.cookie("symbolon_session").is_none(), "nobody is signed in yet");
    let page = browser.get(&answer.location());
    assert!(page.status == 200 && page.body.contains("your account"), "{page:?}");
    assert_eq!(second_factor::confirm(&browser, &page, "000000").status, 403);
    let answer = second_factor::confirm(&browser, &page, &phone.code(&scene));
    assert_eq!((answer.status, &*answer.location()), (303, "/account/password"), "{answer:?}");
    assert_eq!(browser.get("/account/password").status, 200);
    // Signed in by the password alone, before there was a second factor.
    assert_eq!(early.get("/account").status, 200, "looking is free");
    let refused = early.get("/account/password");
    assert!(refused.location().starts_with("/login?transaction="), "{refused:?}");
    let page = early.get(&refused.location());
    let answer = fill_in(&early, &page, "other@example.com", PASSWORD);
    assert!(answer.location().starts_with("/login/second-factor?"), "{answer:?}");
    // Where the issuer requires it, nobody is let in without.
    let set = scene.server.admin("PATCH", "/settings", Some(json!({ "second_factor": "required" })));
    assert_eq!(set.status, 200);
    assert_eq!(early.get("/account").status, 302);
    let page = other.get(&other.get("/account").location());
    let answer = fill_in(&other, &page, &scene.demo.email, &scene.demo.password);
    let page = other.get(&answer.location());
    assert!(page.body.contains("qr-code"), "one is set up on the way: {page:?}");
}
