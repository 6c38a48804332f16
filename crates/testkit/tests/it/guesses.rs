//! Guesses over HTTP, ten thousand where one costs little. With the limits as they are by default ten a minute are looked at; the
//! others are refused unseen: up to the 1,200th request of a minute after a pause of 0.5 to 1.5 s, from then on at once, because the
//! address has sent too many. On one connection that would be twenty minutes of pauses, so [`CONNECTIONS`] share them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use symbolon_testkit::{Browser, Options};

use crate::login::{Scene, hidden};
use crate::mailbox::Mailbox;
use crate::recovery::{asked, choose, enrol};
use crate::registration::{ANN, PASSWORD, Scene as RegistrationScene, other_than};
use crate::second_factor::{after_password, confirm, enrolled};

const GUESSES: usize = 10_000;
const CONNECTIONS: usize = 100;
const MINUTE: Duration = Duration::from_secs(60);
const EMAIL_CODE: &str = "/login/email-code";

/// One process, because each counts for itself.
fn limited(options: Options) -> Options {
    options.one_node().env("SYMBOLON_RATE_LIMITS", "on")
}

/// Sends so many wrong guesses on so many connections, each with the browser's cookies: how many were looked at (403), and how many
/// were refused unseen (429, or 503 where the store was busy).
fn guess(
    (guesses, connections): (usize, usize),
    browser: &Browser,
    send: impl Fn(&Browser) -> u16 + Sync,
) -> (usize, usize) {
    let (sent, looked_at, unseen) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..connections {
            scope.spawn(|| {
                let own = browser.copy();
                while sent.fetch_add(1, Ordering::Relaxed) < guesses {
                    let counter = match send(&own) {
                        403 => &looked_at,
                        429 | 503 => &unseen,
                        status => panic!("{status}"),
                    };
                    counter.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    (looked_at.into_inner(), unseen.into_inner())
}

#[test]
fn of_ten_thousand_passwords_ten_a_minute_are_looked_at() {
    let scene = Scene::with(limited(Options::default()));
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let send = |own: &Browser| Scene::sign_in(own, &page, &scene.demo.email, "a guess").status;
    let (looked_at, unseen) = guess((GUESSES, CONNECTIONS), &browser, send);
    // One counts when it was found wrong, so those that were looked at together may be some more; the next minute has as many
    // less.
    assert!((10..20).contains(&looked_at), "{looked_at}");
    assert_eq!(looked_at + unseen, GUESSES);
    scene.server.clock.advance(MINUTE);
    let (then, _) = guess((CONNECTIONS, CONNECTIONS), &browser, send);
    assert!((1..20).contains(&then) && looked_at + then < 30, "{looked_at} and {then}");
    scene.server.clock.advance(MINUTE);
    let right = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    assert_eq!(right.status, 303, "nobody is locked out");
}

#[test]
fn of_ten_thousand_second_factors_ten_a_minute_are_looked_at() {
    let scene = Scene::with(limited(Options::default()));
    let phone = enrolled(&scene);
    let browser = scene.server.browser();
    let page = after_password(&scene, &browser);
    let send = |own: &Browser| confirm(own, &page, "000000").status;
    assert_eq!(guess((GUESSES, CONNECTIONS), &browser, send), (10, GUESSES - 10));
    scene.server.clock.advance(MINUTE);
    assert_eq!(guess((CONNECTIONS, CONNECTIONS), &browser, send), (10, CONNECTIONS - 10));
    scene.server.clock.advance(MINUTE);
    assert_eq!(confirm(&browser, &page, &phone.code(&scene)).status, 303, "nobody is locked out");
}

/// Tries belong to the code, so they hold without any limit. A thousand, since nothing becomes dearer or rarer after the fifth.
#[test]
fn of_a_thousand_codes_on_the_page_five_are_looked_at() {
    let mailbox = Mailbox::open();
    let scene = Scene::with(mailbox.options().one_node());
    let browser = scene.server.browser();
    let login = scene.at_login(&browser, &scene.rp.authorization_request());
    let (transaction, csrf) = hidden(&login);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", "other@example.com")];
    let page = browser.get(&browser.post(EMAIL_CODE, &form).location());
    let code = mailbox.next().code();
    let wrong = other_than(&code);
    let (transaction, csrf) = hidden(&page);
    let type_in = |own: &Browser, code: &str| {
        let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("code", code)];
        own.post(EMAIL_CODE, &form).status
    };
    let (refused, _) = guess((1_000, 4), &browser, |own| type_in(own, &wrong));
    assert!(refused > 900, "{refused}");
    scene.server.drain_audit();
    let compared = scene.server.admin("GET", "/audit-logs?event=session.sign_in_failed", None).json();
    assert_eq!(compared["audit_logs"].as_array().map(Vec::len), Some(5), "{compared}");
    assert_eq!(type_in(&browser, &code), 403, "nor is the right one");
}

/// Each costs the hash of a password before it is looked at or refused, so there are a thousand. One after another, because no more
/// than four at once are hashed for a name.
#[test]
fn of_a_thousand_second_factors_beside_a_new_password_ten_a_minute_are_looked_at() {
    let scene = RegistrationScene::with(limited);
    let ann = scene.user(json!({ "email": ANN, "email_verified": true, "password": PASSWORD }));
    enrol(&scene, &ann);
    let browser = scene.server.browser();
    let page = browser.get(&asked(&scene).link());
    let send = |own: &Browser| choose(own, &page, "quite another password", "000000").status;
    assert_eq!(guess((1_000, 1), &browser, send), (10, 990));
    scene.server.clock.advance(MINUTE);
    assert_eq!(guess((100, 1), &browser, send), (10, 90));
    assert!(scene.signs_in(ANN, PASSWORD), "the password is as it was");
}
