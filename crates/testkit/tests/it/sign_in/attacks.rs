//! What signing in must withstand: names that only look the same, addresses that go to somebody else, texts of a megabyte,
//! headers in names.

use serde_json::{Value, json};
use symbolon_testkit::{Answer, Browser};

use crate::login::hidden;
use crate::registration::{ANN, PASSWORD, Scene, submit};

const CODE: &str = "/login/email-code";

fn at_login(scene: &Scene, browser: &Browser) -> Answer {
    browser.get(&browser.get(&scene.rp.authorization_request().path()).location())
}

fn with(browser: &Browser, page: &Answer, more: (&str, &str)) -> Answer {
    let (transaction, csrf) = hidden(page);
    browser.post(CODE, &[("transaction", &*transaction), ("csrf_token", &*csrf), more])
}

/// Asks for a code on the page; the page that takes it.
fn ask_on_page(scene: &Scene, browser: &Browser, name: &str) -> Answer {
    let sent = with(browser, &at_login(scene, browser), ("username", name));
    assert_eq!(sent.status, 303, "{name}: {sent:?}");
    browser.get(&sent.location())
}

fn call(scene: &Scene, browser: &Browser, path: &str, body: &Value) -> Answer {
    let headers = [("content-type", "application/json"), ("origin", scene.server.issuer.as_str())];
    browser.send("POST", &format!("/api/auth/email-code/{path}"), &headers, body.to_string().as_bytes())
}

fn ask_by_api(scene: &Scene, browser: &Browser, email: &str) {
    let sent = call(scene, browser, "send", &json!({ "email": email }));
    assert_eq!(sent.status, 200, "{email}: {sent:?}");
}

fn recover(browser: &Browser, name: &str) -> u16 {
    let (transaction, csrf) = hidden(&browser.get("/forgot-password"));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", name)];
    browser.post("/forgot-password", &form).status
}

fn patch(scene: &Scene, user: &str, body: Value) {
    let answer = scene.server.admin("PATCH", &format!("/users/{user}"), Some(body));
    assert_eq!(answer.status, 200, "{answer:?}");
}

fn delete(scene: &Scene, user: &str) {
    assert_eq!(scene.server.admin("DELETE", &format!("/users/{user}"), None).status, 204);
}

fn is_signed_in(browser: &Browser) -> bool {
    browser.cookie("symbolon_session").is_some()
}

/// Whether a code that was typed on the page signs in; then the application gets its answer.
fn page_signs_in(browser: &Browser, page: &Answer, code: &str) -> bool {
    let answer = with(browser, page, ("code", code));
    assert!([303, 403].contains(&answer.status), "{answer:?}");
    assert_eq!(answer.status == 303, is_signed_in(browser), "{answer:?}");
    is_signed_in(browser)
}

fn api_signs_in(scene: &Scene, browser: &Browser, email: &str, code: &str) -> bool {
    let answer = call(scene, browser, "verify", &json!({ "email": email, "code": code }));
    assert!([200, 400].contains(&answer.status), "{answer:?}");
    assert_eq!(answer.status == 200, is_signed_in(browser), "{answer:?}");
    is_signed_in(browser)
}

#[test]
fn a_name_that_only_looks_the_same_is_another_and_every_spelling_is_one() {
    let scene = Scene::new();
    scene.set(json!({ "registration": "closed" }));
    let own = "mike@m\u{fc}ller.example";
    scene.user(json!({ "email": own, "email_verified": true, "password": PASSWORD }));
    let browser = scene.server.browser();
    // Cyrillic letters, a Latin one without its dot, and one with a mark more.
    for look_alike in [
        "mik\u{435}@m\u{fc}ller.example",
        "\u{43c}ike@m\u{fc}ller.example",
        "m\u{131}ke@m\u{fc}ller.example",
        "mike@m\u{fc}\u{308}ller.example",
    ] {
        assert!(!scene.signs_in(look_alike, PASSWORD), "{look_alike}");
        ask_on_page(&scene, &browser, look_alike);
        ask_by_api(&scene, &browser, look_alike);
        assert_eq!(recover(&browser, look_alike), 303, "{look_alike}");
    }
    scene.server.settle();
    // Decomposed, in capitals, of full width, with the sign of the unit Kelvin for a K: the same address, and mail goes to it as it
    // stands in the account.
    for spelling in [
        "mike@mu\u{308}ller.example",
        "MIKE@M\u{dc}LLER.EXAMPLE",
        "\u{ff4d}ike\u{ff20}m\u{fc}ller.example",
        "mi\u{212a}e@m\u{fc}ller.example",
    ] {
        assert!(scene.signs_in(spelling, PASSWORD), "{spelling}");
        let (on_page, by_api) = (scene.server.browser(), scene.server.browser());
        let page = ask_on_page(&scene, &on_page, spelling);
        let mail = scene.mailbox.next();
        assert_eq!(mail.to, "mike@xn--mller-kva.example", "{spelling}");
        assert!(page_signs_in(&on_page, &page, &mail.code()), "{spelling}");
        if spelling.contains('@') {
            ask_by_api(&scene, &by_api, spelling);
            let mail = scene.mailbox.next();
            assert_eq!(mail.to, "mike@xn--mller-kva.example", "{spelling}");
            assert!(api_signs_in(&scene, &by_api, own, &mail.code()), "{spelling}");
        }
        assert_eq!(recover(&browser, spelling), 303);
        let mail = scene.mailbox.next();
        assert!(mail.to == "mike@xn--mller-kva.example" && mail.text.contains("/reset-password"), "{mail:?}");
    }
    assert_eq!(scene.mailbox.unread(), 0, "nothing was mailed for the names that only look the same");
}

/// The code is bound to the account and the address that it was mailed to, though nobody was looked up when it was sealed.
#[test]
fn a_code_leads_into_no_other_account_than_the_one_that_was_mailed_it() {
    let scene = Scene::new();
    scene.set(json!({ "registration": "closed" }));
    let anew = || scene.user(json!({ "email": ANN, "email_verified": true }));
    let first = anew();
    // An address that is registered again.
    let (on_page, by_api) = (scene.server.browser(), scene.server.browser());
    let page = ask_on_page(&scene, &on_page, ANN);
    let typed = scene.mailbox.next().code();
    ask_by_api(&scene, &by_api, ANN);
    let sent = scene.mailbox.next().code();
    delete(&scene, &first);
    let second = anew();
    assert_ne!(first, second);
    assert!(!page_signs_in(&on_page, &page, &typed) && !api_signs_in(&scene, &by_api, ANN, &sent));
    // A name that goes to somebody else, and one whose owner has another address now.
    let named = |name: &str, email: &str| {
        scene.user(json!({ "email": email, "email_verified": true, "preferred_username": name }))
    };
    let carl = named("carl", "carl@example.com");
    for change in [json!({ "preferred_username": "charles" }), json!({ "email": "carl@example.org" })] {
        let browser = scene.server.browser();
        patch(&scene, &carl, json!({ "preferred_username": "carl" }));
        let page = ask_on_page(&scene, &browser, "carl");
        let code = scene.mailbox.next().code();
        patch(&scene, &carl, change.clone());
        let taker = change["email"].is_null().then(|| named("carl", "taker@example.com"));
        assert!(!page_signs_in(&browser, &page, &code), "{change}");
        match taker {
            Some(taker) => delete(&scene, &taker),
            None => assert_eq!(scene.mailbox.next().to, "carl@example.com", "the old address is told"),
        }
    }
    // An address that nobody vouches for any more, and the same one where nothing has changed.
    for verified in [false, true] {
        let (on_page, by_api) = (scene.server.browser(), scene.server.browser());
        let page = ask_on_page(&scene, &on_page, ANN);
        let typed = scene.mailbox.next().code();
        ask_by_api(&scene, &by_api, ANN);
        let sent = scene.mailbox.next().code();
        patch(&scene, &second, json!({ "email_verified": verified }));
        assert_eq!(page_signs_in(&on_page, &page, &typed), verified);
        assert_eq!(api_signs_in(&scene, &by_api, ANN, &sent), verified);
        patch(&scene, &second, json!({ "email_verified": true }));
    }
    assert_eq!(scene.mailbox.unread(), 0);
}

#[test]
fn a_password_or_code_of_a_megabyte_is_refused_unread() {
    let scene = Scene::new();
    scene.user(json!({ "email": ANN, "email_verified": true, "password": PASSWORD }));
    let (browser, huge) = (scene.server.browser(), "x".repeat(1 << 20));
    let page = at_login(&scene, &browser);
    let (transaction, csrf) = hidden(&page);
    let fields = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", ANN)];
    for path in ["/login", CODE, "/login/second-factor"] {
        for name in ["password", "code"] {
            let form = [fields[0], fields[1], fields[2], (name, &*huge)];
            assert_eq!(browser.post(path, &form).status, 413, "{path} {name}");
        }
    }
    for path in ["send", "verify"] {
        let body = json!({ "email": ANN, "code": huge });
        assert_eq!(call(&scene, &browser, path, &body).status, 413, "{path}");
    }
    // The longest that fits into a form is a wrong password like any other.
    let long = "x".repeat(60_000);
    assert_eq!(browser.post("/login", &[fields[0], fields[1], fields[2], ("password", &*long)]).status, 403);
    assert!(!is_signed_in(&browser) && scene.signs_in(ANN, PASSWORD));
}

#[test]
fn names_and_addresses_put_nothing_into_the_headers_of_mail() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    for address in [
        "eve@example.com\r\nBcc: all@example.com",
        "eve@example.com\nSubject: x",
        "eve@example.com, all@example.com",
        "Eve <eve@example.com>",
        "eve@example.com> RCPT TO:<all@example.com",
    ] {
        let user = json!({ "email": address, "email_verified": true });
        let made = scene.server.admin("POST", "/users", Some(user));
        // Where a text may be an address in a record, mail to it is one mail to one recipient, or none.
        assert!(made.status == 400 || !address.contains(['\r', '\n']), "{address:?}: {made:?}");
        if address.contains(['\r', '\n']) {
            assert_eq!(with(&browser, &at_login(&scene, &browser), ("username", address)).status, 400);
            assert_eq!(call(&scene, &browser, "send", &json!({ "email": address })).status, 400);
            assert_eq!(recover(&browser, address), 400, "{address:?}");
        } else {
            ask_on_page(&scene, &browser, address);
        }
        let page = browser.get("/register");
        assert_eq!(submit(&browser, &page, &[("email", address)]).status, 400, "{address:?}");
    }
    scene.server.settle();
    // A name may have line breaks; it is in no header.
    let hostile = "Ann\r\nBcc: all@example.com\r\n\r\nSee https://evil.example";
    scene.user(json!({
        "email": ANN, "email_verified": true, "name": hostile, "given_name": hostile, "preferred_username": "ann",
    }));
    ask_on_page(&scene, &scene.server.browser(), "ann");
    let mail = scene.mailbox.next();
    assert_eq!(mail.to, ANN, "{mail:?}");
    assert!(!mail.head.contains("Bcc") && !mail.head.contains("all@example.com"), "{mail:?}");
    assert!(!mail.text.contains("evil.example"), "{mail:?}");
    assert_eq!(scene.mailbox.unread(), 0);
}
