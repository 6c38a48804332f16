//! The second factor of a sign-in on the pages: setting a generator up, its codes, recovery codes.

use std::thread;
use std::time::Duration;

use data_encoding::BASE32_NOPAD;
use serde_json::json;
use symbolon_crypto::one_time_password::hotp;
use symbolon_crypto::secret::SecretBytes;
use symbolon_sign_in::demo;
use symbolon_testkit::{Answer, Browser, Options, TokenSet, decode_jwt};

use crate::login::{PASSWORD, Scene, hidden};

const STEP: Duration = Duration::from_secs(30);
const PATH: &str = "/login/second-factor";

/// A generator of codes, and what its owner keeps on paper.
pub(crate) struct Phone {
    secret: SecretBytes,
    pub(crate) recovery_codes: Vec<String>,
}

impl Phone {
    pub(crate) fn code(&self, scene: &Scene) -> String {
        format!("{:06}", hotp(&self.secret, scene.server.now().millis() / 30_000, 6))
    }
}

pub(crate) fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let rest = text.split_once(begin).unwrap_or_else(|| panic!("no {begin} in {text}")).1;
    rest.split_once(end).expect("an end").0
}

/// Requires a second factor of everybody who signs in to the demo's client.
fn require(scene: &Scene) {
    let body = json!({ "settings": { "second_factor": "required" } });
    let answer = scene.server.admin("PATCH", &format!("/clients/{}", demo::CLIENT), Some(body));
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// The page that follows a right password.
pub(crate) fn after_password(scene: &Scene, browser: &Browser) -> Answer {
    let page = scene.at_login(browser, &scene.rp.authorization_request());
    let answer = Scene::sign_in(browser, &page, "other@example.com", PASSWORD);
    assert_eq!(answer.status, 303, "{answer:?}");
    assert!(answer.location().starts_with("/login/second-factor?transaction="), "{answer:?}");
    let page = browser.get(&answer.location());
    assert_eq!(page.status, 200, "{page:?}");
    page
}

pub(crate) fn confirm(browser: &Browser, page: &Answer, code: &str) -> Answer {
    let (transaction, csrf) = hidden(page);
    browser.post(PATH, &[("transaction", &transaction), ("csrf_token", &csrf), ("code", code)])
}

/// Sets a generator up on the way through a sign-in; the person's phone, and the page with the recovery codes.
fn set_up(scene: &Scene, browser: &Browser) -> (Phone, Answer) {
    require(scene);
    let page = after_password(scene, browser);
    let typed = between(&page.body, "<code id=\"secret\" dir=\"ltr\">", "</code>").replace(' ', "");
    assert!(page.body.contains("qr-code"), "a QR code: {}", page.body);
    let secret = SecretBytes::new(BASE32_NOPAD.decode(typed.as_bytes()).unwrap());
    let mut phone = Phone { secret, recovery_codes: Vec::new() };
    assert_eq!(confirm(browser, &page, "000000").status, 403);
    let shown = confirm(browser, &page, &phone.code(scene));
    assert_eq!(shown.status, 200, "{shown:?}");
    let list = between(&shown.body, "<ul class=\"recovery-codes\"", "</ul>");
    let codes =
        list.split("<code dir=\"ltr\">").skip(1).map(|code| code.split_once('<').unwrap().0.to_owned());
    phone.recovery_codes = codes.collect();
    assert_eq!(phone.recovery_codes.len(), 10, "{list}");
    (phone, shown)
}

/// A phone that was set up a while ago.
pub(crate) fn enrolled(scene: &Scene) -> Phone {
    let (phone, _) = set_up(scene, &scene.server.browser());
    scene.server.clock.advance(2 * STEP);
    phone
}

fn is_in(answer: &Answer) -> bool {
    answer.status == 303 && answer.location().starts_with("/consent?transaction=")
}

#[test]
fn who_must_bring_a_second_factor_sets_one_up_on_the_way() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    require(&scene);
    let request = scene.rp.authorization_request();
    let page = scene.at_login(&browser, &request);
    let answer = Scene::sign_in(&browser, &page, "other@example.com", PASSWORD);
    let page = browser.get(&answer.location());
    assert!(browser.cookie("symbolon_session").is_none(), "nobody is signed in yet");
    let typed = between(&page.body, "<code id=\"secret\" dir=\"ltr\">", "</code>").replace(' ', "");
    let secret = SecretBytes::new(BASE32_NOPAD.decode(typed.as_bytes()).unwrap());
    let phone = Phone { secret, recovery_codes: Vec::new() };
    let shown = confirm(&browser, &page, &phone.code(&scene));
    let onward = between(&shown.body, "id=\"continue\" href=\"", "\"").replace("&amp;", "&");
    let consent = browser.get(&onward);
    let consent = browser.get(&consent.location());
    let code = Scene::decide(&browser, &consent, "allow").redirected("code").expect("a code");
    let tokens = TokenSet::of(&scene.rp.redeem(&code, &request.verifier));
    let id_token = tokens.id_token.as_deref().expect("an ID token");
    assert_eq!(decode_jwt(id_token).1["amr"], json!(["pwd", "otp", "mfa"]));
    scene.server.drain_audit();
    let found = scene.server.admin("GET", "/audit-logs?event=totp.added", None).json();
    assert_eq!(found["audit_logs"].as_array().map(Vec::len), Some(1), "{found}");
}

#[test]
fn a_code_signs_in_once_and_a_wrong_one_does_not() {
    let scene = Scene::new();
    let phone = enrolled(&scene);
    let (browser, other) = (scene.server.browser(), scene.server.browser());
    let page = after_password(&scene, &browser);
    assert!(!page.body.contains("qr-code") && !page.body.contains("id=\"secret\""), "{}", page.body);
    for wrong in ["", "12345", "abcdefghij", "00000-00000"] {
        assert_eq!(confirm(&browser, &page, wrong).status, 403, "{wrong}");
    }
    let code = phone.code(&scene);
    assert!(is_in(&confirm(&browser, &page, &code)));
    let again = after_password(&scene, &other);
    assert_eq!(confirm(&other, &again, &code).status, 403, "the code was used");
    scene.server.clock.advance(STEP);
    assert!(is_in(&confirm(&other, &again, &phone.code(&scene))));
}

/// The button was pressed twice: the browser has given up the first answer, with its cookies.
#[test]
fn pressed_twice_the_second_form_leads_on_into_the_session_of_the_first() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    require(&scene);
    let page = after_password(&scene, &browser);
    let typed = between(&page.body, "<code id=\"secret\" dir=\"ltr\">", "</code>").replace(' ', "");
    let secret = SecretBytes::new(BASE32_NOPAD.decode(typed.as_bytes()).unwrap());
    let phone = Phone { secret, recovery_codes: Vec::new() };
    let press_twice = |browser: &Browser, page: &Answer| {
        let (code, given_up) = (phone.code(&scene), browser.copy());
        assert!(confirm(&given_up, page, &code).status < 400);
        assert!(browser.cookie("symbolon_session").is_none());
        let again = confirm(browser, page, &code);
        let session = browser.cookie("symbolon_session");
        assert!(session.is_some() && session == given_up.cookie("symbolon_session"), "one session");
        again
    };
    let shown = press_twice(&browser, &page);
    assert!(shown.status == 200 && shown.body.contains("recovery-codes"), "codes that work: {shown:?}");
    // The generator is set up now, and its code asked for.
    scene.server.clock.advance(2 * STEP);
    let other = scene.server.browser();
    let page = after_password(&scene, &other);
    assert!(is_in(&press_twice(&other, &page)));
    // Nobody failed to sign in.
    scene.server.drain_audit();
    let failed = scene.server.admin("GET", "/audit-logs?event=session.sign_in_failed", None).json();
    assert_eq!(failed["audit_logs"], json!([]), "{failed}");
}

#[test]
fn a_recovery_code_signs_in_once() {
    let scene = Scene::new();
    let phone = enrolled(&scene);
    let code = &phone.recovery_codes[3];
    for expected in [true, false] {
        let browser = scene.server.browser();
        let page = after_password(&scene, &browser);
        assert_eq!(is_in(&confirm(&browser, &page, &code.to_uppercase())), expected);
    }
    scene.server.drain_audit();
    let found = scene.server.admin("GET", "/audit-logs?event=recovery_code.used", None).json();
    assert_eq!(found["audit_logs"].as_array().map(Vec::len), Some(1), "{found}");
}

#[test]
fn of_many_with_one_code_one_signs_in() {
    let scene = Scene::new();
    let phone = enrolled(&scene);
    for code in [phone.code(&scene), phone.recovery_codes[0].clone()] {
        let ready: Vec<_> = (0..64)
            .map(|_| {
                let browser = scene.server.browser();
                let page = after_password(&scene, &browser);
                (browser, page)
            })
            .collect();
        let signed_in: usize = thread::scope(|scope| {
            let racers: Vec<_> = ready
                .iter()
                .map(|(browser, page)| scope.spawn(|| is_in(&confirm(browser, page, &code))))
                .collect();
            racers.into_iter().map(|racer| usize::from(racer.join().unwrap())).sum()
        });
        assert_eq!(signed_in, 1, "{code}");
    }
}

/// What the password proved holds in its browser, for ten minutes, and while it is the password.
#[test]
fn the_first_factor_is_bound_to_browser_time_and_password() {
    let scene = Scene::new();
    let phone = enrolled(&scene);
    let asks_for_password = |answer: &Answer| answer.location().starts_with("/login?transaction=");
    let (browser, thief) = (scene.server.browser(), scene.server.browser());
    let page = after_password(&scene, &browser);
    let (transaction, csrf) = hidden(&page);
    let address = format!("{PATH}?transaction={transaction}");
    assert!(asks_for_password(&thief.get(&address)), "another browser has proven nothing");
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("code", &phone.code(&scene))];
    assert!(asks_for_password(&thief.post(PATH, &form)));
    scene.server.clock.advance(Duration::from_secs(601));
    assert!(asks_for_password(&browser.get(&address)), "too late");
    assert!(asks_for_password(&confirm(&browser, &page, &phone.code(&scene))), "too late");
    let page = after_password(&scene, &browser);
    let body = json!({ "password": "another battery staple" });
    let changed = scene.server.admin("POST", "/users/other/password", Some(body));
    assert!(changed.status < 300, "{changed:?}");
    assert!(asks_for_password(&confirm(&browser, &page, &phone.code(&scene))), "the password was changed");
    assert!(browser.cookie("symbolon_session").is_none_or(|cookie| !scene.session_lives(&cookie)));
}

#[test]
fn cancel_goes_back_and_an_issuer_that_requires_it_binds_every_client() {
    let scene = Scene::new();
    enrolled(&scene);
    let browser = scene.server.browser();
    let (transaction, csrf) = hidden(&after_password(&scene, &browser));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("cancel", "true")];
    assert_eq!(browser.post(PATH, &form).redirected("error").as_deref(), Some("access_denied"));
    let set =
        |path: &str, body| assert_eq!(scene.server.admin("PATCH", path, Some(body)).status, 200, "{path}");
    set("/settings", json!({ "second_factor": "required" }));
    set(&format!("/clients/{}", demo::CLIENT), json!({ "settings": { "second_factor": "optional" } }));
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let answer = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    assert!(answer.location().starts_with(PATH), "{answer:?}");
}

/// Signed in by the password alone, for a client or at a time that asked for no more.
#[test]
fn an_earlier_session_is_not_enough_where_a_second_factor_is_required() {
    let scene = Scene::new();
    let (browser, _) = scene.signed_in();
    let silent = scene.rp.authorization_request().with("prompt", "none").path();
    assert!(browser.get(&silent).redirected("code").is_some());
    require(&scene);
    assert_eq!(browser.get(&silent).redirected("error").as_deref(), Some("login_required"));
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let answer = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    assert!(answer.location().starts_with(PATH), "{answer:?}");
}

/// Whoever knows the old password must not leave a generator behind.
#[test]
fn no_generator_is_set_up_with_a_password_that_was_changed() {
    let scene = Scene::new();
    require(&scene);
    let browser = scene.server.browser();
    let page = after_password(&scene, &browser);
    let typed = between(&page.body, "<code id=\"secret\" dir=\"ltr\">", "</code>").replace(' ', "");
    let secret = SecretBytes::new(BASE32_NOPAD.decode(typed.as_bytes()).unwrap());
    let phone = Phone { secret, recovery_codes: Vec::new() };
    let body = json!({ "password": "another battery staple" });
    assert!(scene.server.admin("POST", "/users/other/password", Some(body)).status < 300);
    let answer = confirm(&browser, &page, &phone.code(&scene));
    assert!(answer.body.contains("id=\"password\""), "{answer:?}");
    let kept = scene.server.admin("GET", "/users/other/authenticators", None);
    assert!(!kept.body.contains("added_at"), "{kept:?}");
}

/// Attempts count for the account, and nobody else can use them up: they need the password.
#[test]
fn attempts_at_a_second_factor_are_limited() {
    let scene = Scene::with(Options::default().one_node().env("SYMBOLON_RATE_LIMITS", "on"));
    let phone = enrolled(&scene);
    for _ in 0..30 {
        let stranger = scene.server.browser();
        let login = scene.at_login(&stranger, &scene.rp.authorization_request());
        Scene::sign_in(&stranger, &login, "second factor of other", "no password");
        scene.server.clock.advance(Duration::from_secs(20));
    }
    let browser = scene.server.browser();
    let page = after_password(&scene, &browser);
    let statuses: Vec<u16> = (0..30).map(|_| confirm(&browser, &page, "000000").status).collect();
    assert_eq!((statuses[0], statuses[29]), (403, 429), "{statuses:?}");
    scene.server.clock.advance(Duration::from_secs(120));
    assert!(is_in(&confirm(&browser, &page, &phone.code(&scene))));
}
