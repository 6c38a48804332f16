//! The policy and the other headers of every page that somebody can open.

use std::collections::BTreeSet;

use axum::http::Method;
use serde_json::json;
use symbolon_sign_in::demo;
use symbolon_testkit::Options;

use super::head::Places;
use super::{OTHER, World, allows, pages};
use crate::login::hidden;
use crate::safety::assert_guarded;
use crate::second_factor::{after_password, confirm};

/// Pages that others may frame, by what they are for: each has a test of its own.
const FRAMED: [&str; 2] = ["/check-session", "/callback"];

/// What must be among the pages that were looked at. Whoever adds a page that is asked for by its address needs not name it.
const PAGES: [&str; 19] = [
    "/",
    "/account",
    "/account/applications",
    "/account/data",
    "/account/email",
    "/account/password",
    "/account/profile",
    "/account/requests",
    "/account/security",
    "/account/sessions",
    "/consent",
    "/device",
    "/forgot-password",
    "/login/link",
    "/logout",
    "/register",
    "/register/confirm",
    "/reset-password",
    "/verify-email",
];

#[test]
fn every_page_of_the_table_carries_its_security_headers() {
    let world = World::with(Options::one_node);
    let places = Places::new(&world);
    let mut seen = BTreeSet::new();
    for row in pages().filter(|row| allows(row, &Method::GET) && !FRAMED.contains(&row.path)) {
        let answer = places.browser.get_with(&places.of(row, &world.scene.rp), &[("accept", "text/html")]);
        if answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html")) {
            assert_guarded(&answer, row.path);
            if answer.status == 200 {
                seen.insert(row.path);
            }
        }
    }
    let missing: Vec<_> = PAGES.iter().filter(|page| !seen.contains(*page)).collect();
    assert!(missing.is_empty(), "these were not opened: {missing:?} of {seen:?}");
}

/// Pages to which only a form leads.
#[test]
fn pages_behind_forms_carry_them_too() {
    let world = World::with(Options::one_node);
    let (scene, html) = (&world.scene, [("accept", "text/html")]);
    let browser = world.browser();
    let (transaction, csrf) = hidden(&world.at_login(&browser));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", OTHER)];
    let sent = browser.post("/login/email-code", &form);
    assert_guarded(&browser.get_with(&sent.location(), &html), "the code that was mailed");

    let (browser, offered) = world.signed_in(&[("creates_passkeys", "true")]);
    let page = browser.get_with(&offered.location(), &html);
    assert!(page.body.contains("id=\"create-passkey\""), "{page:?}");
    assert_guarded(&page, "a passkey is offered");

    let (browser, _) = world.signed_in(&[]);
    let request = scene.rp.authorization_request().with("prompt", "select_account");
    let page = browser.get_with(&browser.get(&request.path()).location(), &html);
    assert!(page.body.contains("id=\"accounts\""), "{page:?}");
    assert_guarded(&page, "the accounts of the browser");

    let required = json!({ "settings": { "second_factor": "required" } });
    let path = format!("/clients/{}", demo::CLIENT);
    assert_eq!(scene.server.admin("PATCH", &path, Some(required)).status, 200);
    let browser = world.browser();
    let page = after_password(scene, &browser);
    assert!(page.body.contains("qr-code"), "{page:?}");
    assert_guarded(&page, "a second factor is set up");
    let wrong = confirm(&browser, &page, "000000");
    assert_eq!(wrong.status, 403, "{wrong:?}");
    assert_guarded(&wrong, "a wrong code");
}
