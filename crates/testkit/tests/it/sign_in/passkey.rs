//! Passkeys on the pages.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_store::port::AuthenticatorUpdate;
use symbolon_testkit::{Answer, Authenticator, Browser, Flaw};

use super::{OTHER, answer_with, id_token, is_in, options, passkey_of_other, set};
use crate::login::{PASSWORD, Scene, hidden};
use crate::second_factor::enrolled;

const PATH: &str = "/login/passkey";
const OFFER: &str = "/login/passkey-offer";

fn passkeys(scene: &Scene) -> usize {
    let (issuer, user) = (IssuerId::default_issuer(), UserId::trusted("other"));
    scene.server.block_on(scene.server.app.store.authenticators(&issuer, &user)).unwrap().set.passkeys.len()
}

#[test]
fn a_passkey_signs_in_without_a_name_and_counts_as_two_factors() {
    let scene = Scene::new();
    let mut passkey = passkey_of_other(&scene);
    set(&scene, json!({ "second_factor": "required" }));
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    let page = scene.at_login(&browser, &request);
    assert!(page.body.contains("autocomplete=\"username webauthn\""), "{page:?}");
    let asked = options(&page);
    assert_eq!((&asked["allowCredentials"], &asked["userVerification"]), (&json!([]), &json!("required")));
    let answer = answer_with(&browser, PATH, &page, &passkey.get(&asked));
    assert!(is_in(&answer), "{answer:?}");
    let claims = id_token(&scene, &browser, &request, &answer);
    assert_eq!(
        (&claims["sub"], &claims["amr"], &claims["acr"]),
        (&json!("other"), &json!(["hwk", "mfa"]), &json!("phrh"))
    );
}

/// Nothing is stored for somebody who has proven nothing, and what was proven counts once and here.
#[test]
fn an_answer_is_bound_to_page_browser_and_time_and_counts_once() {
    let scene = Scene::new();
    let mut passkey = passkey_of_other(&scene);
    let (browser, thief) = (scene.server.browser(), scene.server.browser());
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let credential = passkey.get(&options(&page));
    let other_page = scene.at_login(&browser, &scene.rp.authorization_request());
    let thiefs = scene.at_login(&thief, &scene.rp.authorization_request());
    for (browser, page) in [(&browser, &other_page), (&thief, &thiefs), (&thief, &page)] {
        let refused = answer_with(browser, PATH, page, &credential);
        assert_eq!(refused.status, 403, "{refused:?}");
    }
    for bad in [json!(null), json!({}), json!("text")] {
        assert_eq!(answer_with(&browser, PATH, &page, &bad).status, 403, "{bad}");
    }
    assert!(browser.cookie("symbolon_session").is_none() && thief.cookie("symbolon_session").is_none());
    assert!(is_in(&answer_with(&browser, PATH, &page, &credential)));
    // The form is sent once more: the first answer has signed in, and this one leads on.
    assert!(is_in(&answer_with(&browser, PATH, &page, &credential)));
    let late = scene.at_login(&thief, &scene.rp.authorization_request());
    let credential = passkey.get(&options(&late));
    scene.server.clock.advance(Duration::from_secs(601));
    assert_eq!(answer_with(&thief, PATH, &late, &credential).status, 403);
}

#[test]
fn what_proves_nothing_is_refused_and_an_unknown_passkey_is_named() {
    let scene = Scene::new();
    let mut passkey = passkey_of_other(&scene);
    let browser = scene.server.browser();
    for flaw in [Flaw::Unverified, Flaw::BadSignature, Flaw::OtherRelyingParty] {
        passkey.flaw = flaw;
        let page = scene.at_login(&browser, &scene.rp.authorization_request());
        let refused = answer_with(&browser, PATH, &page, &passkey.get(&options(&page)));
        assert_eq!(refused.status, 403, "{refused:?}");
        assert!(!refused.body.contains("data-unknown"), "the browser must keep it: {flaw:?}");
    }
    let mut removed = Authenticator::new(&scene.server.issuer);
    removed.user = Some(b"other".to_vec());
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let credential = removed.get(&options(&page));
    let refused = answer_with(&browser, PATH, &page, &credential);
    let named = format!("data-unknown=\"{}\"", credential["id"].as_str().unwrap());
    assert!(refused.status == 403 && refused.body.contains(&named), "{refused:?}");
}

#[test]
fn the_form_is_taken_from_our_own_pages_only() {
    let scene = Scene::new();
    let mut passkey = passkey_of_other(&scene);
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let credential = passkey.get(&options(&page)).to_string();
    let (transaction, csrf) = hidden(&page);
    for (csrf, origin) in [(&*csrf, "https://evil.example"), ("", scene.server.issuer.as_str())] {
        let form = [("transaction", &*transaction), ("csrf_token", csrf), ("credential", &*credential)];
        let refused = browser.post_with(PATH, &form, &[("origin", origin)]);
        assert_eq!(refused.status, 403, "{refused:?}");
    }
    assert!(browser.cookie("symbolon_session").is_none());
}

/// The page that follows the password.
fn second_page(scene: &Scene, browser: &Browser) -> Answer {
    let page = scene.at_login(browser, &scene.rp.authorization_request());
    let answer = Scene::sign_in(browser, &page, OTHER, PASSWORD);
    assert!(answer.location().starts_with("/login/second-factor?"), "{answer:?}");
    browser.get(&answer.location())
}

#[test]
fn the_page_of_the_second_factor_takes_a_passkey() {
    let scene = Scene::new();
    let mut passkey = passkey_of_other(&scene);
    set(&scene, json!({ "second_factor": "required" }));
    let browser = scene.server.browser();
    let page = second_page(&scene, &browser);
    assert!(!page.body.contains("id=\"code\"") && !page.body.contains("qr-code"), "{page:?}");
    // A passkey of somebody else is none here.
    let mut foreign = Authenticator::new(&scene.server.issuer);
    foreign.user = Some(scene.demo.email.clone().into_bytes());
    let refused = answer_with(&browser, "/login/second-factor", &page, &foreign.get(&options(&page)));
    assert_eq!(refused.status, 403, "{refused:?}");
    let answer = answer_with(&browser, "/login/second-factor", &page, &passkey.get(&options(&page)));
    assert!(is_in(&answer), "{answer:?}");
    let id = browser.cookie("symbolon_session").unwrap();
    assert!(scene.session_lives(&id));
}

#[test]
fn beside_a_generator_either_is_taken() {
    let scene = Scene::new();
    let mut passkey = passkey_of_other(&scene);
    let phone = enrolled_beside(&scene);
    for by_passkey in [true, false] {
        let browser = scene.server.browser();
        let page = second_page(&scene, &browser);
        assert!(page.body.contains("id=\"code\"") && page.body.contains("id=\"use-passkey\""), "{page:?}");
        let answer = match by_passkey {
            true => answer_with(&browser, "/login/second-factor", &page, &passkey.get(&options(&page))),
            false => crate::second_factor::confirm(&browser, &page, &phone.code(&scene)),
        };
        assert!(is_in(&answer), "{by_passkey}: {answer:?}");
    }
}

/// A generator for somebody who has a passkey already.
fn enrolled_beside(scene: &Scene) -> crate::second_factor::Phone {
    let (issuer, user) = (IssuerId::default_issuer(), UserId::trusted("other"));
    let store = &scene.server.app.store;
    // That they have signed in is noted in the same record, after the answer.
    scene.server.settle();
    let before = scene.server.block_on(store.authenticators(&issuer, &user)).unwrap();
    let bare = symbolon_protocol::authenticator::AuthenticatorSet::default();
    let written = scene.server.block_on(store.put_authenticators(&issuer, &user, before.revision, &bare));
    assert_eq!(written.unwrap(), AuthenticatorUpdate::Written);
    let phone = enrolled(scene);
    scene.server.settle();
    let mut both = scene.server.block_on(store.authenticators(&issuer, &user)).unwrap();
    both.set.passkeys = before.set.passkeys;
    let written = scene.server.block_on(store.put_authenticators(&issuer, &user, both.revision, &both.set));
    assert_eq!(written.unwrap(), AuthenticatorUpdate::Written);
    phone
}

/// A password sign-in in a browser that can create passkeys.
fn sign_in_capable(scene: &Scene, browser: &Browser) -> Answer {
    let page = scene.at_login(browser, &scene.rp.authorization_request());
    let (transaction, csrf) = hidden(&page);
    let form = [
        ("transaction", &*transaction),
        ("csrf_token", &*csrf),
        ("username", OTHER),
        ("password", PASSWORD),
        ("creates_passkeys", "true"),
    ];
    browser.post("/login", &form)
}

fn answer_offer(browser: &Browser, page: &Answer, more: (&str, &str)) -> Answer {
    let (transaction, csrf) = hidden(page);
    browser.post(OFFER, &[("transaction", &*transaction), ("csrf_token", &*csrf), more])
}

#[test]
fn after_a_password_a_passkey_is_offered_and_created() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let offered = sign_in_capable(&scene, &browser);
    assert!(offered.location().starts_with(OFFER), "{offered:?}");
    let page = browser.get(&offered.location());
    assert_eq!(page.status, 200, "{page:?}");
    let asked = options(&page);
    assert_eq!(asked["user"]["name"], OTHER);
    // Another browser has no session to add it to, and is led to sign in.
    let thief = scene.server.browser();
    assert!(thief.get(&offered.location()).location().starts_with("/login?transaction="));
    let mut passkey = Authenticator::new(&scene.server.issuer);
    let refused = answer_offer(&browser, &page, ("credential", "{}"));
    assert!(refused.status == 403 && refused.body.contains("passkey-error"), "{refused:?}");
    let credential = passkey.create(&asked).to_string();
    assert!(is_in(&answer_offer(&browser, &page, ("credential", &credential))));
    assert_eq!(passkeys(&scene), 1);
    let again = answer_offer(&browser, &page, ("credential", &credential));
    assert!(again.status == 303 || again.status == 403, "{again:?}");
    assert_eq!(passkeys(&scene), 1);
    let browser = scene.server.browser();
    assert!(is_in(&sign_in_capable(&scene, &browser)), "who has one is not asked");
    let page = scene.at_login(&scene.server.browser(), &scene.rp.authorization_request());
    drop(page);
    let fresh = scene.server.browser();
    let page = scene.at_login(&fresh, &scene.rp.authorization_request());
    assert!(is_in(&answer_with(&fresh, PATH, &page, &passkey.get(&options(&page)))));
}

#[test]
fn not_now_holds_for_thirty_days_in_this_browser_and_the_setting_ends_it() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let page = browser.get(&sign_in_capable(&scene, &browser).location());
    assert!(is_in(&answer_offer(&browser, &page, ("later", "true"))));
    let cookie = browser.cookie("symbolon_passkey_offered");
    assert_eq!(cookie.as_deref(), Some("1"));
    let asked_again = |browser: &Browser| {
        let request = scene.rp.authorization_request().with("prompt", "login");
        let page = browser.get(&browser.get(&request.path()).location());
        let (transaction, csrf) = hidden(&page);
        let form = [
            ("transaction", &*transaction),
            ("csrf_token", &*csrf),
            ("username", OTHER),
            ("password", PASSWORD),
            ("creates_passkeys", "true"),
        ];
        browser.post("/login", &form).location().starts_with(OFFER)
    };
    assert!(!asked_again(&browser));
    let elsewhere = scene.server.browser();
    assert!(asked_again(&elsewhere));
    set(&scene, json!({ "offer_passkey": false }));
    assert!(!asked_again(&scene.server.browser()));
    set(&scene, json!({ "offer_passkey": Value::Null }));
    // A browser that cannot create passkeys says nothing, and is not asked.
    let page = scene.at_login(&scene.server.browser(), &scene.rp.authorization_request());
    drop(page);
    let plain = scene.server.browser();
    let page = scene.at_login(&plain, &scene.rp.authorization_request());
    assert!(is_in(&Scene::sign_in(&plain, &page, OTHER, PASSWORD)));
}

#[test]
fn an_old_session_creates_no_passkey() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let page = browser.get(&sign_in_capable(&scene, &browser).location());
    let credential = Authenticator::new(&scene.server.issuer).create(&options(&page)).to_string();
    scene.server.clock.advance(Duration::from_secs(601));
    let late = answer_offer(&browser, &page, ("credential", &credential));
    assert_eq!((late.status, passkeys(&scene)), (303, 0), "{late:?}");
}
