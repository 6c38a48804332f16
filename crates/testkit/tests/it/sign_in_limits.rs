//! What one account or address may not take from others at sign-in: threads that check passwords, and room for sessions.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use symbolon_testkit::{Browser, Options, RelyingParty, TestServer};

use crate::account::{send, signed_in};
use crate::login::{PASSWORD, Scene, hidden};
use crate::mailbox::Mailbox;
use crate::recovery::choose;

const OTHER: &str = "other@example.com";

fn limited() -> Options {
    // Every process counts for itself.
    Options::default().one_node().env("SYMBOLON_RATE_LIMITS", "on")
}

/// Signs in; the status of the answer.
fn sign_in(scene: &Scene, browser: &Browser, name: &str, password: &str) -> u16 {
    let page = scene.at_login(browser, &scene.rp.authorization_request());
    Scene::sign_in(browser, &page, name, password).status
}

/// A scene with limits, and its mail.
fn with_mail() -> (Scene, Mailbox) {
    let mailbox = Mailbox::open();
    (Scene::with(mailbox.options().one_node().env("SYMBOLON_RATE_LIMITS", "on")), mailbox)
}

/// Asks for a new password by a name; the status of the answer.
fn forgotten(browser: &Browser, name: &str) -> u16 {
    let (transaction, csrf) = hidden(&browser.get("/forgot-password"));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", name)];
    browser.post("/forgot-password", &form).status
}

/// A stranger at the same address asks for mail to somebody until none is sent, and guesses until nothing is looked at.
fn attack(scene: &Scene, mailbox: &Mailbox, email: &str) {
    let asked: Vec<u16> = (0..4).map(|_| forgotten(&scene.server.browser(), email)).collect();
    assert_eq!(asked, [303, 303, 303, 429]);
    for _ in 0..3 {
        assert_eq!(mailbox.next().to, email);
    }
    let stranger = scene.server.browser();
    let guessed: Vec<u16> = (0..11).map(|_| sign_in(scene, &stranger, email, "a guess")).collect();
    assert_eq!(guessed.last(), Some(&429), "{guessed:?}");
}

#[test]
fn one_accounts_attempts_keep_nobody_else_from_signing_in() {
    let scene = Scene::with(
        limited()
            .env("SYMBOLON_ARGON2_THREADS", "1")
            // Fewer than those who try: without fairness they have every place.
            .env("SYMBOLON_ARGON2_QUEUE", "3")
            .env("SYMBOLON_ARGON2_MEMORY", "2MiB")
            .env("SYMBOLON_RATE_LIMIT_LOGIN_ACCOUNT", "off")
            .env("SYMBOLON_RATE_LIMIT_LOGIN_ADDRESS", "off")
            .env("SYMBOLON_RATE_LIMIT_LOGIN_SUCCESS", "off"),
    );
    let stop = AtomicBool::new(false);
    let mut statuses = Vec::new();
    std::thread::scope(|threads| {
        for number in 0..16 {
            let (scene, stop) = (&scene, &stop);
            threads.spawn(move || {
                let browser = scene.server.browser();
                let page = scene.at_login(&browser, &scene.rp.authorization_request());
                let password = if number % 2 == 0 { &*scene.demo.password } else { "wrong" };
                while !stop.load(Ordering::Relaxed) {
                    Scene::sign_in(&browser, &page, &scene.demo.email, password);
                }
            });
        }
        while scene.server.app.passwords.queue_length() == 0 {
            std::thread::yield_now();
        }
        for _ in 0..20 {
            statuses.push(sign_in(&scene, &scene.server.browser(), "other@example.com", PASSWORD));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(statuses, [303; 20]);
}

#[test]
fn a_right_password_cannot_be_repeated_without_end() {
    let scene = Scene::with(limited().env("SYMBOLON_RATE_LIMIT_LOGIN_SUCCESS", "3/m"));
    let sign_in = |name: &str, password: &str| sign_in(&scene, &scene.server.browser(), name, password);
    let right = || sign_in(&scene.demo.email, &scene.demo.password);
    assert_eq!([right(), right(), right(), right()], [303, 303, 303, 429]);
    assert_eq!(sign_in("other@example.com", PASSWORD), 303, "another account");
    scene.server.clock.advance(Duration::from_secs(20));
    assert_eq!(right(), 303);
}

#[test]
fn the_form_of_a_browser_that_is_signed_in_cannot_be_sent_again_without_end() {
    let scene = Scene::with(limited().env("SYMBOLON_RATE_LIMIT_LOGIN_SUCCESS", "3/m"));
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let send = || Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    let answers: Vec<_> = (0..5).map(|_| send()).collect();
    let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [303, 303, 303, 303, 429], "the first signs in, three more are answered as it was");
    assert!(answers[4].header("retry-after").is_some(), "{:?}", answers[4]);
    scene.server.clock.advance(Duration::from_secs(20));
    assert_eq!(send().status, 303);
}

#[test]
fn beyond_the_number_of_sessions_the_oldest_ends() {
    let scene = Scene::with(limited().env("SYMBOLON_RATE_LIMIT_LOGIN_SESSIONS", "2"));
    let made = json!({ "user_id": "other" });
    let made = scene.server.admin("POST", "/test/sessions", Some(made)).json();
    let made = made["session_id"].as_str().expect("a session").to_owned();
    let browsers: Vec<_> = (0..4)
        .map(|_| {
            scene.server.clock.advance(Duration::from_secs(1));
            let browser = scene.server.browser();
            assert_eq!(sign_in(&scene, &browser, "other@example.com", PASSWORD), 303);
            browser.cookie("symbolon_session").expect("a session")
        })
        .collect();
    let live: Vec<_> = browsers.iter().map(|cookie| scene.session_lives(cookie)).collect();
    assert_eq!(live, [false, false, true, true]);
    assert!(scene.session_lives(&made), "a session of the admin API is not counted");
}

/// Each code is kept until it ends: whoever is signed in is not to fill the memory with them.
#[test]
fn one_users_codes_are_limited_and_nobody_elses() {
    let server = TestServer::start_with(limited().env("SYMBOLON_RATE_LIMIT_AUTHORIZE_USER", "3/m"));
    let rp = RelyingParty::register(&server, json!({ "skip_consent": true }));
    let silent = |browser: &Browser| browser.get(&rp.authorization_request().with("prompt", "none").path());
    let (_, greedy) = server.signed_in("greedy@example.com");
    let (_, other) = server.signed_in("other@example.com");
    let codes = || silent(&greedy).redirected("code").is_some();
    assert_eq!([codes(), codes(), codes(), codes()], [true, true, true, false]);
    let refused = silent(&greedy);
    assert_eq!(refused.redirected("error").as_deref(), Some("temporarily_unavailable"), "{refused:?}");
    assert!(silent(&other).redirected("code").is_some(), "another user");
    server.clock.advance(Duration::from_secs(20));
    assert!(codes(), "a while later");
    let metrics = Browser::new(&server.management).get("/metrics").body;
    assert!(metrics.contains("symbolon_one_time_refused_total{kind=\"code\"} 2"), "{metrics}");
}

/// Somebody guesses at an account without end, from the address of its person: their own browser is let in, and nothing else is.
#[test]
fn a_browser_that_is_known_signs_in_while_its_account_is_attacked() {
    const COOKIE: &str = "symbolon_known";
    let scene = Scene::with(limited().env("SYMBOLON_RATE_LIMIT_LOGIN_ADDRESS", "15/m"));
    let (own, other) = (scene.server.browser(), OTHER);
    assert_eq!(sign_in(&scene, &own, other, PASSWORD), 303);
    let known = own.cookie(COOKIE).expect("the browser is known from now on");
    let attacker = scene.server.browser();
    assert_eq!(attacker.cookie(COOKIE), None);
    let attack = |name: &str| {
        let statuses: Vec<u16> = (0..12).map(|_| sign_in(&scene, &attacker, name, "a guess")).collect();
        assert_eq!(statuses.last(), Some(&429), "{statuses:?}");
    };
    attack(other);
    attack(&scene.demo.email);
    assert_eq!(attacker.cookie(COOKIE), None, "who guessed wrong is not known");
    assert_eq!(
        sign_in(&scene, &scene.server.browser(), other, PASSWORD),
        429,
        "a browser that is not known waits"
    );
    let again = scene.server.browser();
    again.set_cookie(COOKIE, &known);
    assert_eq!(sign_in(&scene, &again, "OTHER@example.com", PASSWORD), 303, "whatever the case of the name");
    // It is known by the names of that account alone, and only as it was sealed.
    let elsewhere = scene.server.browser();
    elsewhere.set_cookie(COOKIE, &known);
    assert_eq!(sign_in(&scene, &elsewhere, &scene.demo.email, &scene.demo.password), 429);
    let forged = scene.server.browser();
    let last = if known.ends_with('A') { "B" } else { "A" };
    forged.set_cookie(COOKIE, &format!("{}{last}", &known[..known.len() - 1]));
    assert_eq!(sign_in(&scene, &forged, other, PASSWORD), 429);
    // Whoever steals the mark has as many guesses as anybody at one more address.
    let thief = scene.server.browser();
    thief.set_cookie(COOKIE, &known);
    let statuses: Vec<u16> = (0..12).map(|_| sign_in(&scene, &thief, other, "a guess")).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 403).count(), 10, "{statuses:?}");
    scene.server.clock.advance(Duration::from_secs(400 * 86_400));
    attack(other);
    let old = scene.server.browser();
    old.set_cookie(COOKIE, &known);
    assert_eq!(
        sign_in(&scene, &old, other, PASSWORD),
        429,
        "four hundred days later it is a browser like any other"
    );
}

/// Also by a name that is not the address that the mail goes to.
#[test]
fn a_browser_that_is_known_gets_its_mail_while_others_ask_for_it() {
    let (scene, mailbox) = with_mail();
    let ann = json!({
        "email": "ann@example.com", "email_verified": true, "preferred_username": "ann", "password": PASSWORD
    });
    assert_eq!(scene.server.admin("POST", "/users", Some(ann)).status, 201);
    let own = scene.server.browser();
    assert_eq!(sign_in(&scene, &own, "ann", PASSWORD), 303);
    attack(&scene, &mailbox, "ann@example.com");
    assert_eq!(forgotten(&own, "ann"), 303);
    let mail = mailbox.next();
    assert!(mail.to == "ann@example.com" && mail.text.contains("/reset-password"), "{mail:?}");
    let page = scene.at_login(&own, &scene.rp.authorization_request().with("prompt", "login"));
    let (transaction, csrf) = hidden(&page);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", "ann")];
    assert_eq!(own.post("/login/email-code", &form).status, 303);
    let mail = mailbox.next();
    assert!(mail.to == "ann@example.com" && !mail.code().is_empty(), "{mail:?}");
}

#[test]
fn a_browser_that_is_known_sets_a_new_password_while_its_account_is_attacked() {
    let (scene, mailbox) = with_mail();
    let own = scene.server.browser();
    assert_eq!(sign_in(&scene, &own, OTHER, PASSWORD), 303);
    attack(&scene, &mailbox, OTHER);
    assert_eq!(forgotten(&own, OTHER), 303);
    let link = mailbox.next().link();
    let choose = |browser: &Browser| choose(browser, &browser.get(&link), "quite another password", "");
    assert_eq!(choose(&scene.server.browser()).status, 429, "a browser that is not known waits");
    let done = choose(&own);
    assert_eq!(done.status, 200, "{done:?}");
}

#[test]
fn a_browser_that_is_known_changes_its_account_while_it_is_attacked() {
    let (scene, mailbox) = with_mail();
    let own = signed_in(&scene, OTHER, PASSWORD);
    attack(&scene, &mailbox, OTHER);
    let csrf = own.get("/account/email").field("csrf_token").expect("a form");
    let sent = own.post("/account/email", &[("csrf_token", &csrf), ("email", OTHER)]);
    assert_eq!(sent.status, 303, "{sent:?}");
    let code = mailbox.next().code();
    let (transaction, csrf) = hidden(&own.get(&sent.location()));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("code", &*code)];
    let proven = own.post("/verify-email", &form);
    assert_eq!((proven.status, &*proven.location()), (303, "/verify-email/done"), "{proven:?}");
    let new = "quite another password";
    let form = [("present", PASSWORD), ("new", new), ("again", new)];
    let changed = send(&own, "/account/password", &form);
    assert_eq!(changed.status, 303, "{changed:?}");
}
