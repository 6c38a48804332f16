//! Proving and changing the address of an account.

use serde_json::json;
use symbolon_testkit::{Answer, Browser};

use super::{ANN, PASSWORD, Scene, link, other_than};
use crate::login::hidden;

const NEW: &str = "ann@example.org";

/// Asks for a mail to an address.
fn ask(browser: &Browser, email: &str) -> Answer {
    let page = browser.get("/account/email");
    assert_eq!(page.status, 200, "{page:?}");
    let csrf = page.field("csrf_token").unwrap();
    browser.post("/account/email", &[("csrf_token", &csrf), ("email", email)])
}

fn prove(browser: &Browser, page: &Answer, code: &str) -> Answer {
    let (transaction, csrf) = hidden(page);
    browser.post("/verify-email", &[("transaction", &transaction), ("csrf_token", &csrf), ("code", code)])
}

/// A browser in which a user with an unproven address is signed in.
fn signed_in(scene: &Scene) -> (String, Browser) {
    let id = scene.user(json!({ "email": ANN, "password": PASSWORD }));
    (id, signed_in_by(scene, ANN))
}

/// A browser in which somebody has signed in by a name.
fn signed_in_by(scene: &Scene, name: &str) -> Browser {
    let browser = scene.server.browser();
    let page = browser.get(&browser.get(&scene.rp.authorization_request().path()).location());
    let (transaction, csrf) = hidden(&page);
    let form =
        [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", name), ("password", PASSWORD)];
    assert_eq!(browser.post("/login", &form).status, 303);
    browser
}

#[test]
fn an_unproven_address_is_proven_by_a_code() {
    let scene = Scene::new();
    let (id, browser) = signed_in(&scene);
    let sent = ask(&browser, ANN);
    let waiting = browser.get(&sent.location());
    let code = scene.mailbox.next().code();
    assert_eq!(prove(&browser, &waiting, &other_than(&code)).status, 403);
    assert_eq!(scene.record(&id)["email_verified"], json!(false));
    let done = prove(&browser, &waiting, &code);
    assert_eq!((done.status, done.location().as_str()), (303, "/verify-email/done"), "{done:?}");
    assert_eq!(scene.record(&id)["email_verified"], json!(true));
    assert_eq!(prove(&browser, &waiting, &code).location(), "/verify-email/done", "pressed twice");
    assert_eq!(scene.mailbox.unread(), 0, "nobody is told of a change that is none");
    // The code was used: it does not bring the address back.
    let other = json!({ "email": NEW, "email_verified": true });
    assert_eq!(scene.server.admin("PATCH", &format!("/users/{id}"), Some(other)).status, 200);
    assert_eq!(prove(&browser, &waiting, &code).status, 403);
    assert_eq!(scene.record(&id)["email"], NEW);
}

#[test]
fn a_new_address_counts_when_it_is_proven_and_the_old_one_is_told() {
    let scene = Scene::new();
    let (id, browser) = signed_in(&scene);
    let german = scene.server.admin("PATCH", &format!("/users/{id}"), Some(json!({ "locale": "de-AT" })));
    assert_eq!(german.status, 200, "{german:?}");
    let sent = ask(&browser, NEW);
    let mail = scene.mailbox.next();
    assert_eq!(mail.to, NEW);
    assert_eq!(scene.record(&id)["email"], ANN, "the old one stays until then");
    let elsewhere = scene.server.browser().get(&mail.link());
    assert!(elsewhere.status == 200 && elsewhere.field("transaction").is_none(), "{elsewhere:?}");
    let here = browser.get(&browser.get(&mail.link()).location());
    let done = prove(&browser, &here, "");
    assert_eq!(done.location(), "/verify-email/done", "{sent:?}");
    let record = scene.record(&id);
    assert_eq!((&record["email"], &record["email_verified"]), (&json!(NEW), &json!(true)));
    let told = scene.mailbox.next();
    assert!(told.to == ANN && told.text.contains(NEW), "{told:?}");
    assert!(told.text.contains("hat jetzt eine andere Adresse"), "in the person's language: {told:?}");
    assert!(scene.signs_in(NEW, PASSWORD) && !scene.signs_in(ANN, PASSWORD));
    assert_eq!(scene.audited("email.proven").len(), 1);
}

#[test]
fn an_account_without_an_address_finds_the_way_to_one_on_its_profile() {
    let scene = Scene::new();
    let id = scene.user(json!({ "preferred_username": "ann", "password": PASSWORD }));
    let browser = signed_in_by(&scene, "ann");
    let profile = browser.get("/account/profile");
    let way = link(&profile, "add-email");
    assert_eq!(way, "/account/email");
    let sent = ask(&browser, NEW);
    let waiting = browser.get(&sent.location());
    let mail = scene.mailbox.next();
    assert_eq!(mail.to, NEW);
    let done = prove(&browser, &waiting, &mail.code());
    assert_eq!((done.status, done.location().as_str()), (303, "/verify-email/done"), "{done:?}");
    let record = scene.record(&id);
    assert_eq!((&record["email"], &record["email_verified"]), (&json!(NEW), &json!(true)));
    assert_eq!(scene.mailbox.unread(), 0, "there was no address to tell");
    let profile = browser.get("/account/profile");
    assert!(profile.body.contains(NEW), "{}", profile.body);
    assert_eq!(link(&profile, "change-email"), "/account/email");
}

#[test]
fn an_address_of_somebody_else_gets_a_mail_that_says_so_and_is_not_taken() {
    let scene = Scene::new();
    let (id, browser) = signed_in(&scene);
    scene.user(json!({ "email": NEW, "email_verified": true, "password": PASSWORD }));
    let sent = ask(&browser, NEW);
    let waiting = browser.get(&sent.location());
    assert_eq!(waiting.status, 200, "the page says nothing about it");
    let mail = scene.mailbox.next();
    assert!(mail.to == NEW && mail.text.contains("/forgot-password"), "{mail:?}");
    assert_eq!(prove(&browser, &waiting, "123456").status, 403);
    assert_eq!(scene.record(&id)["email"], ANN);
}

#[test]
fn without_a_fresh_session_there_is_no_page_and_a_forged_form_changes_nothing() {
    let scene = Scene::new();
    let (id, browser) = signed_in(&scene);
    assert_eq!(scene.server.browser().get("/account/email").status, 302);
    let forged = browser.post("/account/email", &[("csrf_token", "x"), ("email", NEW)]);
    assert_eq!(forged.status, 403);
    let page = browser.get("/account/email");
    let csrf = page.field("csrf_token").unwrap();
    for bad in ["x", "", "a@b\r\nBcc: c@d"] {
        assert_eq!(browser.post("/account/email", &[("csrf_token", &csrf), ("email", bad)]).status, 400);
    }
    scene.server.clock.advance(std::time::Duration::from_secs(601));
    assert_eq!(browser.get("/account/email").status, 302);
    assert_eq!(browser.post("/account/email", &[("csrf_token", &csrf), ("email", NEW)]).status, 303);
    assert_eq!((scene.mailbox.unread(), &scene.record(&id)["email"]), (0, &json!(ANN)));
}
