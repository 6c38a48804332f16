//! People are told by mail of a sign-in in a browser in which they have never signed in.

use std::time::Duration;

use serde_json::json;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_store::port::AuthenticatorUpdate;
use symbolon_testkit::{Answer, Browser};

use crate::login::{PASSWORD, Scene, hidden};
use crate::mailbox::Mailbox;
use crate::second_factor;

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const MARK: &str = "symbolon_known";
const OTHER: &str = "other@example.com";

/// A server with two users, and their mail.
struct Told {
    scene: Scene,
    mailbox: Mailbox,
}

impl Told {
    fn new() -> Self {
        let mailbox = Mailbox::with_news();
        Self { scene: Scene::with(mailbox.options().one_node()), mailbox }
    }

    fn browser(&self) -> Browser {
        self.scene.server.browser()
    }

    /// Signs somebody in, and waits until all is done that follows.
    fn sign_in(&self, browser: &Browser, email: &str, password: &str) {
        let page =
            self.scene.at_login(browser, &self.scene.rp.authorization_request().with("prompt", "login"));
        let (transaction, csrf) = hidden(&page);
        let form = [
            ("transaction", &*transaction),
            ("csrf_token", &*csrf),
            ("username", email),
            ("password", password),
        ];
        let signed_in: Answer = browser.post_with("/login", &form, &[("user-agent", FIREFOX)]);
        assert_eq!(signed_in.status, 303, "{signed_in:?}");
        self.scene.server.settle();
    }

    fn demo(&self, browser: &Browser) {
        self.sign_in(browser, &self.scene.demo.email, &self.scene.demo.password);
    }

    fn other(&self, browser: &Browser) {
        self.sign_in(browser, OTHER, PASSWORD);
    }

    /// Signs the other user in by a code that is mailed to them.
    fn other_by_mail(&self, browser: &Browser) {
        let send = |page: &Answer, field: (&str, &str)| {
            let (transaction, csrf) = hidden(page);
            let form = [("transaction", &*transaction), ("csrf_token", &*csrf), field];
            let answer = browser.post("/login/email-code", &form);
            assert_eq!(answer.status, 303, "{answer:?}");
            answer
        };
        let page = self.scene.at_login(browser, &self.scene.rp.authorization_request());
        let sent = send(&page, ("username", OTHER));
        let code = self.mailbox.next().code();
        send(&browser.get(&sent.location()), ("code", &code));
        self.scene.server.settle();
    }

    /// Ends every session, so that only its mark speaks for a browser.
    fn end_sessions(&self) {
        let users = self.scene.server.admin("GET", "/users", None).json();
        for user in users["users"].as_array().expect("users") {
            let path = format!("/users/{}/sessions", user["id"].as_str().expect("an id"));
            assert!(self.scene.server.admin("DELETE", &path, None).status < 300);
        }
    }

    /// Nobody is told of anything more: the next mail is one that is asked for now.
    fn assert_quiet(&self) {
        let browser = self.browser();
        let (transaction, csrf) = hidden(&browser.get("/forgot-password"));
        let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", OTHER)];
        assert_eq!(browser.post("/forgot-password", &form).status, 303);
        let mail = self.mailbox.next();
        assert!(mail.text.contains("/reset-password"), "{mail:?}");
    }

    /// Whoever is told next is this one. Mail comes in the order in which it was queued, so nothing came before.
    fn assert_told(&self, email: &str) {
        let mail = self.mailbox.next();
        assert!(mail.to.contains(email), "{mail:?}");
        assert!(mail.head.contains("New sign-in"), "{mail:?}");
        assert!(mail.text.contains("Firefox · Linux") && mail.text.contains("127.0.0.1"), "{mail:?}");
    }
}

#[test]
fn the_first_sign_in_of_an_account_is_not_told_and_one_in_a_new_browser_is() {
    let told = Told::new();
    let email = told.scene.demo.email.clone();
    let (first, second) = (told.browser(), told.browser());
    told.demo(&first);
    told.assert_quiet();
    told.demo(&first);
    told.end_sessions();
    told.demo(&first);
    told.demo(&second);
    told.assert_told(&email);
    told.end_sessions();
    told.demo(&second);
    told.demo(&first);
    told.demo(&told.browser());
    told.assert_told(&email);
    told.assert_quiet();
}

#[test]
fn each_account_of_a_browser_is_known_by_itself() {
    let told = Told::new();
    let (own, shared) = (told.browser(), told.browser());
    told.other(&own);
    told.demo(&shared);
    told.other(&shared);
    told.assert_told(OTHER);
    told.end_sessions();
    told.demo(&shared);
    told.other(&shared);
    told.demo(&own);
    told.assert_told(&told.scene.demo.email.clone());
    told.assert_quiet();
}

#[test]
fn a_mark_that_is_not_ours_counts_for_nothing() {
    let told = Told::new();
    let email = told.scene.demo.email.clone();
    let first = told.browser();
    told.demo(&first);
    let mark = first.cookie(MARK).expect("a mark");
    let copied = told.browser();
    copied.set_cookie(MARK, &mark);
    told.demo(&copied);
    let last = mark.len() - 2;
    let changed = format!(
        "{}{}{}",
        &mark[..last],
        if &mark[last..=last] == "A" { "B" } else { "A" },
        &mark[last + 1..]
    );
    for wrong in [&*changed, &mark[1..], "", "x", &"A".repeat(4_000)] {
        // So that no limit of mails is reached.
        told.scene.server.clock.advance(Duration::from_secs(720));
        let browser = told.browser();
        browser.set_cookie(MARK, wrong);
        told.demo(&browser);
        told.assert_told(&email);
        assert_ne!(browser.cookie(MARK).as_deref(), Some(wrong), "it is known from then on");
    }
    told.assert_quiet();
}

/// Whoever has a password fills no mailbox.
#[test]
fn an_account_is_told_a_few_times_an_hour() {
    let told = Told::new();
    let email = told.scene.demo.email.clone();
    for _ in 0..8 {
        told.demo(&told.browser());
    }
    for _ in 0..5 {
        told.assert_told(&email);
    }
    told.scene.server.clock.advance(Duration::from_secs(720));
    told.demo(&told.browser());
    told.assert_told(&email);
    told.assert_quiet();
}

/// They count for nothing: what sends no mail takes no place of one that is to leave.
#[test]
fn sign_ins_by_mail_leave_the_limit_alone() {
    let told = Told::new();
    for _ in 0..6 {
        told.other_by_mail(&told.browser());
    }
    for _ in 0..5 {
        told.other(&told.browser());
        told.assert_told(OTHER);
    }
    told.assert_quiet();
}

/// The version before noted no sign-ins and left no marks.
#[test]
fn a_session_of_before_tells_that_its_account_has_signed_in() {
    let told = Told::new();
    let made = told.scene.server.admin("POST", "/test/sessions", Some(json!({ "user_id": "other" }))).json();
    let before = told.browser();
    before.set_cookie("symbolon_session", made["session_id"].as_str().expect("a session"));
    told.other(&before);
    told.other(&told.browser());
    told.assert_told(OTHER);
    told.assert_quiet();
}

/// One that is set up on the way through the first sign-in does not, and nobody is told of that sign-in.
#[test]
fn a_generator_of_before_tells_that_its_account_has_signed_in() {
    let told = Told::new();
    let (scene, server) = (&told.scene, &told.scene.server);
    let phone = second_factor::enrolled(scene);
    server.settle();
    let (issuer, user, store) = (IssuerId::default_issuer(), UserId::trusted("other"), &server.app.store);
    let mut enrolled = server.block_on(store.authenticators(&issuer, &user)).unwrap();
    assert!(enrolled.set.has_signed_in);
    enrolled.set.has_signed_in = false;
    let put = server.block_on(store.put_authenticators(&issuer, &user, enrolled.revision, &enrolled.set));
    assert_eq!(put.unwrap(), AuthenticatorUpdate::Written);
    server.clock.advance(Duration::from_secs(60));
    let browser = told.browser();
    let page = second_factor::after_password(scene, &browser);
    assert_eq!(second_factor::confirm(&browser, &page, &phone.code(scene)).status, 303);
    server.settle();
    let mails = [told.mailbox.next(), told.mailbox.next()];
    assert!(!mails[0].head.contains("New sign-in"), "that a generator was set up: {mails:?}");
    assert!(mails[1].head.contains("New sign-in"), "{mails:?}");
    told.assert_quiet();
}

/// Of a double click browsers drop the first answer, with the cookies in it.
#[test]
fn a_form_that_is_sent_twice_leaves_the_mark_by_either_answer() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let send = |browser: &Browser| {
        let answer = Scene::sign_in(browser, &page, &scene.demo.email, &scene.demo.password);
        assert_eq!(answer.status, 303, "{answer:?}");
        answer.headers.iter().any(|(name, value)| name == "set-cookie" && value.contains(MARK))
    };
    let dropped = browser.copy();
    assert!(send(&dropped), "the first answer");
    assert!(send(&browser), "the second, in a browser that has seen nothing of the first");
    assert!(send(&browser), "once more, in a browser that is signed in by then");
}
