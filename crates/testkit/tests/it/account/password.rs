//! The page that changes the password.

use std::time::Duration;

use symbolon_testkit::Options;

use super::{audited, demo, fill_in, send, send_of, signed_in};
use crate::login::{PASSWORD, Scene};
use crate::mailbox::{Mail, Mailbox};

const PATH: &str = "/account/password";
const NEW: &str = "tangerine mills 42";

fn form<'a>(present: &'a str, new: &'a str) -> [(&'a str, &'a str); 3] {
    [("present", present), ("new", new), ("again", new)]
}

#[test]
fn the_new_password_counts_and_the_old_one_does_not() {
    let scene = Scene::new();
    let (browser, other) = (demo(&scene), demo(&scene));
    let page = browser.get(PATH);
    let mut all = form(&scene.demo.password, NEW).to_vec();
    all.push(("end_others", "true"));
    for _ in 0..2 {
        let changed = send_of(&browser, PATH, &page, &all);
        assert_eq!((changed.status, &*changed.location()), (303, "/account/password?done=password"));
    }
    assert!(browser.get("/account/password?done=password").body.contains("Your password is changed."));
    assert_eq!((browser.get("/account").status, other.get("/account").status), (200, 302));
    let again = scene.server.browser();
    let page = again.get(&again.get("/account").location());
    assert_eq!(fill_in(&again, &page, &scene.demo.email, &scene.demo.password).status, 403);
    assert_eq!(fill_in(&again, &page, &scene.demo.email, NEW).status, 303);
    let record = audited(&scene, "user.updated");
    assert_eq!(
        (&record["actor"], &record["detail"]["password"]),
        (&"user".into(), &"set".into()),
        "{record}"
    );
    assert!(!record.to_string().contains("tangerine") && !record.to_string().contains("argon2"));
}

#[test]
fn other_sessions_stay_unless_they_are_to_end() {
    let scene = Scene::new();
    let (browser, other) = (demo(&scene), demo(&scene));
    assert_eq!(send(&browser, PATH, &form(&scene.demo.password, NEW)).status, 303);
    assert_eq!(other.get("/account").status, 200);
}

#[test]
fn a_bad_password_is_refused_with_the_reason() {
    let scene = Scene::new();
    let browser = signed_in(&scene, "other@example.com", PASSWORD);
    let long = "x".repeat(1_025);
    for (present, new, status, why) in [
        ("wrong", NEW, 403, "That is not your present password."),
        (PASSWORD, "short", 400, "at least 8 characters"),
        (PASSWORD, &*long, 400, "too long"),
        (PASSWORD, "Password1", 400, "Very many people use this password"),
        (PASSWORD, "other-2026!", 400, "must not be your name"),
    ] {
        let refused = send(&browser, PATH, &form(present, new));
        assert!(refused.status == status && refused.body.contains(why), "{new}: {refused:?}");
        assert!(!refused.body.contains(&format!("value=\"{new}\"")), "not repeated");
    }
    let differ = send(&browser, PATH, &[("present", PASSWORD), ("new", NEW), ("again", "other words 42")]);
    assert!(differ.status == 400 && differ.body.contains("differ"), "{differ:?}");
    signed_in(&scene, "other@example.com", PASSWORD);
}

/// A stolen session is no way to guess the password faster than at the login page.
#[test]
fn guesses_are_limited_as_at_the_login_page() {
    // Every process counts for itself.
    let scene = Scene::with(Options::default().one_node().env("SYMBOLON_RATE_LIMITS", "on"));
    let browser = demo(&scene);
    let statuses: Vec<u16> = (0..30).map(|_| send(&browser, PATH, &form("guess", NEW)).status).collect();
    let limited = statuses.iter().position(|status| *status == 429).expect("limited");
    assert!(statuses[..limited].iter().all(|status| *status == 403), "{statuses:?}");
    assert_eq!(
        send(&browser, PATH, &form(&scene.demo.password, NEW)).status,
        429,
        "the right one waits, too"
    );
    scene.server.clock.advance(Duration::from_secs(590));
    assert_eq!(send(&browser, PATH, &form(&scene.demo.password, NEW)).status, 303);
}

/// An administrator sets another password while somebody has the page open.
#[test]
fn a_page_from_before_another_change_changes_nothing() {
    let scene = Scene::new();
    let browser = signed_in(&scene, "other@example.com", PASSWORD);
    let page = browser.get(PATH);
    let set = serde_json::json!({ "password": "set by an administrator" });
    assert_eq!(scene.server.admin("POST", "/users/other/password", Some(set)).status, 200);
    assert_eq!(send_of(&browser, PATH, &page, &form(PASSWORD, NEW)).status, 409);
    signed_in(&scene, "other@example.com", "set by an administrator");
}

/// Whoever changed it, the owner of the address learns of it: of a change, and of nothing that was refused.
#[test]
fn the_person_is_told_by_mail_that_the_password_was_changed() {
    let mailbox = Mailbox::open();
    let scene = Scene::with(mailbox.options());
    let browser = signed_in(&scene, "other@example.com", PASSWORD);
    let page = browser.get(PATH);
    assert_eq!(send_of(&browser, PATH, &page, &form("wrong", NEW)).status, 403);
    assert_eq!(send_of(&browser, PATH, &page, &form(PASSWORD, "short")).status, 400);
    let told = |mail: &Mail| mail.head.contains("was changed");
    let changed = send_of(&browser, PATH, &page, &form(PASSWORD, NEW));
    assert_eq!(changed.status, 303, "{changed:?}");
    let mail = std::iter::repeat_with(|| mailbox.next()).find(told).expect("a mail");
    assert_eq!(mail.to, "other@example.com");
    assert!(mail.text.contains("The password of your account") && !mail.text.contains(NEW), "{}", mail.text);
    scene.server.settle();
    while mailbox.unread() > 0 {
        assert!(!told(&mailbox.next()), "one mail for one change");
    }
}
