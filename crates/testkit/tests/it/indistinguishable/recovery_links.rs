//! Nor does a link of recovery that leads nowhere tell of the account that it was for.

use std::time::Duration;

use serde_json::json;

use super::{KNOWN, form, scene, seen};
use crate::registration::PASSWORD;

const GONE: &str = "dan@example.com";
const PATH: &str = "/reset-password";
/// How long a link lives.
const LIVES: Duration = Duration::from_secs(1_800);

#[test]
fn a_link_that_is_over_tells_nothing_of_its_account() {
    let scene = scene();
    let gone = scene.user(json!({ "email": GONE, "email_verified": true, "password": PASSWORD }));
    let browser = scene.server.browser();
    let page = browser.get("/forgot-password");
    let sealed_for = |name: &str| {
        let sent = form(&browser, "/forgot-password", &page, &[("username", name)]);
        assert_eq!(sent.status, 303, "{sent:?}");
        loop {
            let mail = scene.mailbox.next();
            // That a passkey was added is told by mail, too.
            if mail.to == name && mail.text.contains(PATH) {
                break mail.link().split_once("link=").expect("a link").1.to_owned();
            }
        }
    };
    let (of_known, of_gone) = (sealed_for(KNOWN), sealed_for(GONE));
    assert_eq!(browser.get(&format!("{PATH}?link={of_known}")).status, 200, "it leads somewhere now");
    let deleted = scene.server.admin("DELETE", &format!("/users/{gone}"), None);
    assert!(deleted.status < 300, "{deleted:?}");
    let told = |sealed: &str| {
        let browser = scene.server.browser();
        let opened = browser.get(&format!("{PATH}?link={sealed}"));
        let sent = browser.post(PATH, &[("link", sealed), ("password", "quite another password")]);
        assert_eq!((opened.status, sent.status), (410, 410), "{opened:?} {sent:?}");
        (seen(&opened, sealed), seen(&sent, sealed))
    };
    let of_nobody = told(&of_gone);
    assert_eq!(told("never-sealed"), of_nobody, "never sealed");
    assert_eq!(told(&format!("{of_known}A")), of_nobody, "changed");
    scene.server.clock.advance(LIVES);
    assert_eq!(told(&of_known), of_nobody, "too late");
}
