//! People are told by mail of a sign-in in a browser in which they have never signed in.

use std::time::Duration;

use symbolon_testkit::{Answer, Browser};

use crate::login::{PASSWORD, Scene, hidden};
use crate::mailbox::Mailbox;

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
    // The first sign-in counts as one, though nobody is told of it.
    for _ in 0..4 {
        told.assert_told(&email);
    }
    told.scene.server.clock.advance(Duration::from_secs(720));
    told.demo(&told.browser());
    told.assert_told(&email);
    told.assert_quiet();
}
