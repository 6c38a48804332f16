//! Accounts that need no password.

use serde_json::json;
use symbolon_testkit::{Answer, Browser};

use super::{ANN, PASSWORD, Scene, confirm, submit};
use crate::login::hidden;
use crate::mailbox::Mail;

/// The page that waits for the code, and the mail.
fn waiting(scene: &Scene, browser: &Browser) -> (Answer, Mail) {
    let page = scene.apply(browser, &browser.get("/register"), ANN);
    (page, scene.mailbox.next())
}

/// The field for the password.
fn password_field(page: &Answer) -> Option<&str> {
    let rest = page.body.split_once("<input id=\"password\"")?.1;
    rest.split_once('>').map(|(field, _)| field)
}

/// Whether a code that is mailed signs the person in.
fn signs_in_by_code(scene: &Scene) -> bool {
    let browser = scene.server.browser();
    let login = browser.get(&browser.get(&scene.rp.authorization_request().path()).location());
    let send = |page: &Answer, more: (&str, &str)| {
        let (transaction, csrf) = hidden(page);
        browser.post("/login/email-code", &[("transaction", &*transaction), ("csrf_token", &*csrf), more])
    };
    let page = browser.get(&send(&login, ("username", ANN)).location());
    let code = scene.mailbox.next().code();
    send(&page, ("code", &code)).redirected("code").is_some()
}

#[test]
fn where_codes_sign_in_a_password_may_be_left_out() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let (page, mail) = waiting(&scene, &browser);
    let field = password_field(&page).unwrap_or_else(|| panic!("{page:?}"));
    assert!(!field.contains("required"), "{field}");
    assert_eq!(confirm(&browser, &page, &mail.code(), "short").status, 400, "one that is typed is checked");
    let done = confirm(&browser, &page, &mail.code(), "");
    assert_eq!((done.status, done.location().as_str()), (303, "/account"), "{done:?}");
    assert!(!scene.signs_in(ANN, "") && !scene.signs_in(ANN, PASSWORD));
    assert!(signs_in_by_code(&scene));
}

#[test]
fn where_passwords_are_no_way_to_sign_in_none_is_asked_for_and_none_is_kept() {
    let scene = Scene::new();
    scene.set(json!({ "sign_in_methods": ["email_code"] }));
    let browser = scene.server.browser();
    let (page, mail) = waiting(&scene, &browser);
    assert_eq!(password_field(&page), None, "{page:?}");
    assert_eq!(confirm(&browser, &page, &mail.code(), PASSWORD).status, 303);
    assert!(signs_in_by_code(&scene));
    scene.set(json!({ "sign_in_methods": null }));
    assert!(!scene.signs_in(ANN, PASSWORD), "what was sent though nobody asked is no password");
}

#[test]
fn where_mail_is_no_way_to_sign_in_a_password_must_be_chosen() {
    let scene = Scene::new();
    scene.set(json!({ "sign_in_methods": ["password", "passkey"] }));
    let browser = scene.server.browser();
    let (page, mail) = waiting(&scene, &browser);
    assert!(password_field(&page).is_some_and(|field| field.contains("required")), "{page:?}");
    assert_eq!(confirm(&browser, &page, &mail.code(), "").status, 400);
    assert!(scene.user_of(ANN).is_none());
}

#[test]
fn who_is_invited_by_mail_needs_no_password_either() {
    let scene = Scene::new();
    let made = scene.server.admin("POST", "/invitations", Some(json!({ "email": ANN })));
    assert_eq!(made.status, 201, "{made:?}");
    let link = scene.mailbox.next().link();
    let browser = scene.server.browser();
    let page = browser.get(&link);
    assert!(password_field(&page).is_some_and(|field| !field.contains("required")), "{page:?}");
    assert_eq!(submit(&browser, &page, &[("given_name", "Ann"), ("password", "short")]).status, 400);
    let done = submit(&browser, &page, &[("given_name", "Ann"), ("password", "")]);
    assert_eq!((done.status, done.location().as_str()), (303, "/account"), "{done:?}");
    assert!(signs_in_by_code(&scene));
}
