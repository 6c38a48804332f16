//! A browser that stands in for the second factor for some days.

use std::time::Duration;

use serde_json::json;
use symbolon_testkit::{Answer, Browser};

use super::{OTHER, is_in, set};
use crate::login::{PASSWORD, Scene, hidden};
use crate::second_factor::{Phone, after_password, enrolled};

const DAY: Duration = Duration::from_secs(86_400);
const COOKIE: &str = "symbolon_device";

/// A browser that was let be remembered.
fn remembered(scene: &Scene, phone: &Phone) -> Browser {
    let browser = scene.server.browser();
    let page = after_password(scene, &browser);
    assert!(page.body.contains("id=\"remember\""), "{page:?}");
    let (transaction, csrf) = hidden(&page);
    let code = phone.code(scene);
    let form =
        [("transaction", &*transaction), ("csrf_token", &*csrf), ("code", &*code), ("remember", "true")];
    let answer = browser.post("/login/second-factor", &form);
    assert!(is_in(&answer), "{answer:?}");
    assert!(browser.cookie(COOKIE).is_some());
    browser
}

fn sign_in_again(scene: &Scene, browser: &Browser) -> Answer {
    let request = scene.rp.authorization_request().with("prompt", "login");
    let page = browser.get(&browser.get(&request.path()).location());
    Scene::sign_in(browser, &page, OTHER, PASSWORD)
}

fn is_asked(answer: &Answer) -> bool {
    answer.location().starts_with("/login/second-factor?")
}

#[test]
fn nobody_is_remembered_unless_the_issuer_wants_it() {
    let scene = Scene::new();
    let phone = enrolled(&scene);
    let browser = scene.server.browser();
    let page = after_password(&scene, &browser);
    assert!(!page.body.contains("id=\"remember\""), "{page:?}");
    let (transaction, csrf) = hidden(&page);
    let code = phone.code(&scene);
    let form =
        [("transaction", &*transaction), ("csrf_token", &*csrf), ("code", &*code), ("remember", "true")];
    assert!(is_in(&browser.post("/login/second-factor", &form)));
    assert!(browser.cookie(COOKIE).is_none());
    let refused = scene.server.admin("PATCH", "/settings", Some(json!({ "remember_device_days": 31 })));
    assert!(
        refused.status == 400 && refused.body.contains("remember_device_days must be 0 to 30"),
        "{refused:?}"
    );
}

#[test]
fn a_remembered_browser_is_not_asked_for_its_days() {
    let scene = Scene::new();
    let phone = enrolled(&scene);
    set(&scene, json!({ "remember_device_days": 7, "second_factor": "required" }));
    let browser = remembered(&scene, &phone);
    assert!(is_in(&sign_in_again(&scene, &browser)), "not asked, where it is required too");
    let other = scene.server.browser();
    assert!(is_asked(&sign_in_again(&scene, &other)), "another browser is asked");
    // It stands in for a factor and is none: the class asks for a real one.
    let request = scene.rp.authorization_request().with("acr_values", "urn:symbolon:acr:2");
    assert!(is_asked(&browser.get(&request.path())));
    scene.server.clock.advance(6 * DAY);
    assert!(is_in(&sign_in_again(&scene, &browser)));
    scene.server.clock.advance(DAY);
    assert!(is_asked(&sign_in_again(&scene, &browser)), "its days are over");
}

/// Whoever ends a session from elsewhere may have lost the device: the browser must prove the second factor again.
#[test]
fn sessions_that_are_ended_from_elsewhere_end_it_and_signing_out_does_not() {
    let scene = Scene::new();
    let phone = enrolled(&scene);
    set(&scene, json!({ "remember_device_days": 30 }));
    let sids = || -> Vec<String> {
        let listed = scene.server.admin("GET", "/users/other/sessions", None).json();
        let sessions = listed["sessions"].as_array().unwrap();
        sessions.iter().map(|session| session["sid"].as_str().unwrap().to_owned()).collect()
    };
    let laptop = remembered(&scene, &phone);
    let page = laptop.get("/logout");
    let (transaction, csrf) = hidden(&page);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("decision", "confirm")];
    assert_eq!(laptop.post("/logout/confirm", &form).status, 200);
    assert!(laptop.cookie("symbolon_session").is_none());
    scene.server.clock.advance(Duration::from_secs(60));
    assert!(is_in(&sign_in_again(&scene, &laptop)), "who signs out is remembered");
    let ways: [&dyn Fn(); 4] = [
        &|| assert_eq!(scene.server.admin("DELETE", "/users/other/sessions", None).status, 200),
        &|| {
            let path = format!("/sessions/{}", sids()[0]);
            assert_eq!(scene.server.admin("DELETE", &path, None).status, 204);
        },
        &|| by_themselves(&scene, &phone, |_| ("end_others", "true".to_owned())),
        &|| by_themselves(&scene, &phone, |other| ("end", other.to_owned())),
    ];
    for (number, end) in ways.into_iter().enumerate() {
        scene.server.clock.advance(Duration::from_secs(60));
        let laptop = remembered(&scene, &phone);
        scene.server.clock.advance(Duration::from_secs(60));
        assert!(is_in(&sign_in_again(&scene, &laptop)), "{number}");
        end();
        scene.server.clock.advance(Duration::from_secs(60));
        assert!(is_asked(&sign_in_again(&scene, &laptop)), "{number}");
        // What was remembered since is good.
        let anew = remembered(&scene, &phone);
        scene.server.clock.advance(Duration::from_secs(60));
        assert!(is_in(&sign_in_again(&scene, &anew)), "{number}");
        assert_eq!(scene.server.admin("DELETE", "/users/other/sessions", None).status, 200);
    }
}

/// Ends the other session on the account page, in another browser. `field` says what is sent, of the other session's `sid`.
fn by_themselves(scene: &Scene, phone: &Phone, field: impl Fn(&str) -> (&'static str, String)) {
    scene.server.clock.advance(Duration::from_secs(60));
    let browser = scene.server.browser();
    let page = after_password(scene, &browser);
    let (transaction, csrf) = hidden(&page);
    let code = phone.code(scene);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("code", &*code)];
    assert!(is_in(&browser.post("/login/second-factor", &form)));
    let page = browser.get("/account/sessions");
    let other = page.body.split("name=\"end\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let (name, value) = field(other.expect("another session"));
    let csrf = page.field("csrf_token").unwrap();
    let ended = browser.post("/account/sessions", &[("csrf_token", &*csrf), (name, &*value)]);
    assert_eq!((ended.status, &*ended.location()), (303, "/account/sessions?done=sessions"), "{ended:?}");
}

#[test]
fn a_changed_password_signing_out_everywhere_and_the_setting_end_it() {
    let scene = Scene::new();
    let phone = enrolled(&scene);
    set(&scene, json!({ "remember_device_days": 30 }));
    let browser = remembered(&scene, &phone);
    let cookie = browser.cookie(COOKIE).unwrap();
    scene.server.clock.advance(Duration::from_secs(60));
    let ended = scene.server.admin("POST", "/users/other/sign-out", None);
    assert!(ended.status < 300, "{ended:?}");
    assert!(is_asked(&sign_in_again(&scene, &browser)));
    // Signing out everywhere ends what began in its second, too.
    scene.server.clock.advance(Duration::from_secs(60));
    let browser = remembered(&scene, &phone);
    scene.server.clock.advance(Duration::from_secs(60));
    set(&scene, json!({ "remember_device_days": 0 }));
    assert!(is_asked(&sign_in_again(&scene, &browser)));
    set(&scene, json!({ "remember_device_days": 30 }));
    assert!(is_in(&sign_in_again(&scene, &browser)));
    // The same password set again is another hash.
    let changed = scene.server.admin("POST", "/users/other/password", Some(json!({ "password": PASSWORD })));
    assert!(changed.status < 300, "{changed:?}");
    assert!(is_asked(&sign_in_again(&scene, &browser)));
    // A value of another browser, user or issuer opens nothing.
    let thief = scene.server.browser();
    thief.set_cookie(COOKIE, &cookie);
    assert!(is_asked(&sign_in_again(&scene, &thief)));
    thief.set_cookie(COOKIE, "made-up");
    assert!(is_asked(&sign_in_again(&scene, &thief)));
}
