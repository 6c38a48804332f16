//! Links by mail that sign in.

use std::time::Duration;

use serde_json::json;
use symbolon_testkit::{Answer, Browser};

use super::{OTHER, id_token, is_in, set};
use crate::login::{Scene, hidden};
use crate::mailbox::Mailbox;

const PATH: &str = "/login/email-code";

fn scene(methods: &[&str]) -> (Scene, Mailbox) {
    let mailbox = Mailbox::open();
    let scene = Scene::with(mailbox.options().one_node());
    set(&scene, json!({ "sign_in_methods": methods }));
    (scene, mailbox)
}

fn with(browser: &Browser, page: &Answer, more: (&str, &str)) -> Answer {
    let (transaction, csrf) = hidden(page);
    browser.post(PATH, &[("transaction", &*transaction), ("csrf_token", &*csrf), more])
}

/// Asks for a link; the page that waits for it.
fn ask(browser: &Browser, page: &Answer, name: &str) -> Answer {
    let sent = with(browser, page, ("username", name));
    assert!(sent.status == 303 && sent.location().starts_with("/login/email-code?"), "{sent:?}");
    let page = browser.get(&sent.location());
    assert_eq!(page.status, 200, "{page:?}");
    page
}

/// The digits that the page of another browser shows.
fn shown(page: &Answer) -> String {
    let (_, rest) = page.body.split_once("id=\"typed-code\"").expect("a code");
    let (_, rest) = rest.split_once('>').unwrap();
    rest.split_once('<').unwrap().0.to_owned()
}

/// Presses the button of an opened link.
fn press(browser: &Browser, page: &Answer) -> Answer {
    let code = page.field("code").expect("the code that the form brings");
    with(browser, page, ("code", &code))
}

#[test]
fn a_link_signs_in_once_and_only_the_browser_that_asked() {
    let (scene, mailbox) = scene(&["password", "magic_link"]);
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    let login = scene.at_login(&browser, &request);
    assert!(login.body.contains("id=\"magic-link\"") && !login.body.contains("id=\"send-code\""));
    ask(&browser, &login, OTHER);
    let mail = mailbox.next();
    assert_eq!(mail.to, OTHER);
    assert!(!mail.text.lines().any(|line| line.trim().len() == 6 && line.trim().parse::<u32>().is_ok()));
    // A scanner of mail, and another browser, change nothing.
    let elsewhere = scene.server.browser();
    for _ in 0..10 {
        let page = elsewhere.get(&mail.link());
        assert!(page.status == 200 && page.field("code").is_none(), "no form: {page:?}");
        assert!(page.body.contains("id=\"typed-code\"") && elsewhere.cookie("symbolon_session").is_none());
    }
    let page = browser.get(&mail.link());
    assert!(page.status == 200 && browser.cookie("symbolon_session").is_none(), "{page:?}");
    assert!(page.body.contains(OTHER) && page.body.contains("id=\"confirm\""), "{page:?}");
    let answer = press(&browser, &page);
    assert!(is_in(&answer), "{answer:?}");
    assert!(is_in(&press(&browser, &page)), "sent twice, it leads on");
    let claims = id_token(&scene, &browser, &request, &answer);
    assert_eq!((&claims["amr"], &claims["acr"]), (&json!(["otp"]), &json!("urn:symbolon:acr:1")));
    // Used, whoever opens it again.
    scene.server.clock.advance(Duration::from_secs(1));
    let again = press(&browser, &browser.get(&mail.link()));
    assert_eq!(again.status, 403, "{again:?}");
}

/// The button was pressed twice: the browser has given up the first answer, with its cookies.
#[test]
fn pressed_twice_the_second_form_leads_on_into_the_session_of_the_first() {
    let (scene, mailbox) = scene(&["email_code", "magic_link"]);
    for by_link in [true, false] {
        let browser = scene.server.browser();
        let waiting = ask(&browser, &scene.at_login(&browser, &scene.rp.authorization_request()), OTHER);
        let mail = mailbox.next();
        let (code, opened) = (mail.code(), browser.get(&mail.link()));
        let (page, other) = if by_link { (opened, waiting) } else { (waiting, opened) };
        let given_up = browser.copy();
        let given_up_code = browser.cookie("symbolon_email_code").expect("what is known of the code");
        assert!(is_in(&with(&given_up, &page, ("code", &code))));
        assert_eq!(with(&browser, &page, ("code", "000000")).status, 403, "another code brings nobody in");
        assert!(browser.cookie("symbolon_session").is_none());
        assert!(is_in(&with(&browser, &page, ("code", &code))), "by link: {by_link}");
        let session = browser.cookie("symbolon_session").expect("a session");
        assert_eq!(given_up.cookie("symbolon_session"), Some(session), "one session");
        // The same code in another page that asks for it is a second use, and no use to who has the cookie of the code alone.
        assert_eq!(with(&browser, &other, ("code", &code)).status, 403);
        let thief = scene.server.browser();
        let own = ask(&thief, &scene.at_login(&thief, &scene.rp.authorization_request()), OTHER);
        mailbox.next();
        thief.set_cookie("symbolon_email_code", &given_up_code);
        assert_eq!(with(&thief, &own, ("code", &code)).status, 403);
        // Nor does it begin anything once that session has ended.
        assert_eq!(scene.server.admin("DELETE", "/users/other/sessions", None).status, 200);
        assert_eq!(with(&given_up, &page, ("code", &code)).status, 403);
        scene.server.clock.advance(Duration::from_secs(61));
    }
}

/// Somebody who was sent the link of another person's sign-in, and presses its button with a form of their own.
#[test]
fn the_form_of_another_browser_brings_nobody_in() {
    let (scene, mailbox) = scene(&["magic_link"]);
    let browser = scene.server.browser();
    let waiting = ask(&browser, &scene.at_login(&browser, &scene.rp.authorization_request()), OTHER);
    let mail = mailbox.next();
    let opened = browser.get(&mail.link());
    let code = shown(&scene.server.browser().get(&mail.link()));
    let thief = scene.server.browser();
    let own = scene.at_login(&thief, &scene.rp.authorization_request());
    assert_eq!(with(&thief, &own, ("code", &code)).status, 403, "no code was asked for there");
    assert_eq!(press(&thief, &opened).status, 403, "the form is of another browser");
    assert!(thief.cookie("symbolon_session").is_none());
    // The digits that another browser shows are typed where it began.
    assert!(is_in(&with(&browser, &waiting, ("code", &code))));
}

#[test]
fn after_ten_minutes_it_leads_to_the_sign_in_page_again() {
    let (scene, mailbox) = scene(&["magic_link"]);
    let browser = scene.server.browser();
    ask(&browser, &scene.at_login(&browser, &scene.rp.authorization_request()), OTHER);
    let link = mailbox.next().link();
    scene.server.clock.advance(Duration::from_secs(599));
    let page = browser.get(&link);
    assert!(page.status == 200 && page.field("code").is_some(), "{page:?}");
    scene.server.clock.advance(Duration::from_secs(2));
    assert_eq!(press(&browser, &page).status, 403);
    let anew = browser.get(&link);
    assert!(anew.status == 302 && anew.location().starts_with("/login?"), "{anew:?}");
    assert_eq!(browser.get(&anew.location()).status, 200);
    assert_eq!(scene.server.browser().get(&link).status, 410);
    for not_ours in ["/login/link", "/login/link?link=x", "/login/link?link="] {
        assert_eq!(browser.get(not_ours).status, 410, "{not_ours}");
    }
}

#[test]
fn a_mail_has_both_where_both_are_offered_and_one_use_ends_both() {
    let (scene, mailbox) = scene(&["password", "email_code", "magic_link"]);
    let browser = scene.server.browser();
    let login = scene.at_login(&browser, &scene.rp.authorization_request());
    assert!(login.body.contains("id=\"send-code\"") && !login.body.contains("id=\"magic-link\""));
    let waiting = ask(&browser, &login, OTHER);
    let mail = mailbox.next();
    let opened = browser.get(&mail.link());
    assert_eq!(opened.field("code").as_deref(), Some(mail.code().as_str()));
    assert!(is_in(&with(&browser, &waiting, ("code", &mail.code()))));
    assert_eq!(press(&browser, &opened).status, 403, "one sign-in");
}

/// Where people may register, an address without an account is told so by mail; the pages tell nothing.
#[test]
fn an_unknown_address_is_told_by_mail_where_people_may_register() {
    let (scene, mailbox) = scene(&["email_code"]);
    let shape = |name: &str| {
        let browser = scene.server.browser();
        let page = scene.at_login(&browser, &scene.rp.authorization_request());
        let sent = with(&browser, &page, ("username", name));
        let names: Vec<_> = sent.headers.iter().map(|(name, _)| name.clone()).collect();
        (sent.status, names)
    };
    let api = |name: &str| {
        let headers = [("content-type", "application/json"), ("origin", scene.server.issuer.as_str())];
        let body = json!({ "email": name }).to_string();
        let answer =
            scene.server.browser().send("POST", "/api/auth/email-code/send", &headers, body.as_bytes());
        (answer.status, answer.body)
    };
    set(&scene, json!({ "registration": "closed" }));
    let (page, told) = (shape("nobody@example.com"), api("nobody@example.com"));
    scene.server.settle();
    set(&scene, json!({ "registration": "open" }));
    // The first mail that comes is one of these: nothing was sent before.
    assert_eq!((shape("new@example.com"), mailbox.next().to), (page.clone(), "new@example.com".to_owned()));
    assert_eq!((api("newer@example.com"), mailbox.next().to), (told.clone(), "newer@example.com".to_owned()));
    assert_eq!((shape(OTHER), mailbox.next().to), (page, OTHER.to_owned()));
    assert_eq!((api(OTHER), mailbox.next().to), (told, OTHER.to_owned()));
    assert_eq!(mailbox.unread(), 0);
}
