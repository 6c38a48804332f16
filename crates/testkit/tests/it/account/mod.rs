//! The account pages over HTTP.

mod applications;
mod data;
mod password;
mod profile;
mod security;
mod sessions;
mod sign_in;

use std::time::Duration;

use symbolon_testkit::{Answer, Browser};

use crate::login::{Scene, hidden};

/// A browser in which a person has signed in on the way to an account page.
pub(crate) fn signed_in(scene: &Scene, username: &str, password: &str) -> Browser {
    let browser = scene.server.browser();
    let sent = browser.get("/account");
    let answer = fill_in(&browser, &browser.get(&sent.location()), username, password);
    assert_eq!((answer.status, &*answer.location()), (303, "/account"), "{answer:?}");
    browser
}

fn demo(scene: &Scene) -> Browser {
    signed_in(scene, &scene.demo.email, &scene.demo.password)
}

/// Fills the sign-in page in.
fn fill_in(browser: &Browser, page: &Answer, username: &str, password: &str) -> Answer {
    let (transaction, csrf) = hidden(page);
    let form = [
        ("transaction", &*transaction),
        ("csrf_token", &*csrf),
        ("username", username),
        ("password", password),
    ];
    browser.post("/login", &form)
}

/// Sends the form of a page that is opened now.
pub(crate) fn send(browser: &Browser, path: &str, fields: &[(&str, &str)]) -> Answer {
    let page = browser.get(path);
    assert_eq!(page.status, 200, "{page:?}");
    send_of(browser, path, &page, fields)
}

/// Sends the form of a page that was opened before.
fn send_of(browser: &Browser, path: &str, page: &Answer, fields: &[(&str, &str)]) -> Answer {
    let hidden: Vec<(&str, String)> = ["csrf_token", "seen", "state"]
        .into_iter()
        .filter_map(|name| Some((name, page.field(name)?)))
        .collect();
    let mut form: Vec<(&str, &str)> = hidden.iter().map(|(name, value)| (*name, value.as_str())).collect();
    form.extend_from_slice(fields);
    browser.post(path, &form)
}

/// The newest audit record of an event. Afterwards nothing more is written to the audit log.
fn audited(scene: &Scene, event: &str) -> serde_json::Value {
    scene.server.drain_audit();
    let found = scene.server.admin("GET", &format!("/audit-logs?event={event}"), None).json();
    found["audit_logs"][0].clone()
}

/// The mails that were sent, by their templates in alphabetical order, once there are so many. News of sign-ins in new browsers are
/// left out. Afterwards nothing more is written to the audit log.
fn mails(scene: &Scene, count: usize) -> Vec<String> {
    let sent = || {
        let found = scene.server.admin("GET", "/audit-logs?event=mail.sent", None).json();
        let sent = found["audit_logs"].as_array().expect("records").iter();
        let templates = sent.map(|mail| mail["detail"]["template"].as_str().unwrap().to_owned());
        templates.filter(|template| template != "new-device").collect::<Vec<String>>()
    };
    for _ in 0..600 {
        if sent().len() >= count {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    scene.server.drain_audit();
    let mut names = sent();
    names.sort();
    names
}

/// The id of the demo's user.
fn demo_id(scene: &Scene) -> String {
    let found = scene.server.admin("GET", &format!("/users?search={}", scene.demo.email), None).json();
    found["users"][0]["id"].as_str().expect("an id").to_owned()
}
