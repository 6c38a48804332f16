//! A local list of breached passwords, wherever a password is chosen.

use std::fmt::Write;

use serde_json::json;
use symbolon_crypto::digest::sha1_of_listed_password;
use symbolon_crypto::secret::SecretString;
use symbolon_testkit::{Options, TestServer};
use tempfile::TempDir;

use crate::account::{send, signed_in};
use crate::admin::bulk;
use crate::login::{self, PASSWORD};
use crate::recovery::{asked, choose};
use crate::registration::{ANN, Scene, confirm, submit};

const STOLEN: &str = "tangerine mills 42";
const GOOD: &str = "a word of nobody else";
const WHY: &str = "list of passwords that were stolen from other services";

/// A list with the stolen password among others, in a directory that is to be kept.
fn list() -> (TempDir, String) {
    let hex = |text: &str| {
        let digest = sha1_of_listed_password(&SecretString::new(text.to_owned()));
        digest.iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02X}").unwrap();
            hex
        })
    };
    let others = (0..100).map(|number| hex(&format!("stolen {number}")));
    let mut lines: Vec<String> = others.chain([hex(STOLEN)]).map(|hex| format!("{hex}:7\r\n")).collect();
    lines.sort_unstable();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pwnedpasswords.txt");
    std::fs::write(&path, lines.concat()).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (directory, path)
}

fn with(options: Options, path: &str) -> Options {
    options.env("SYMBOLON_BREACHED_PASSWORDS_FILE", path)
}

/// From now on the server has a list that it cannot read.
fn lose_list(server: &TestServer) {
    let passwords = &server.app.passwords;
    passwords.use_breached(None).unwrap();
    assert!(passwords.use_breached(Some("/nonexistent".as_ref())).is_err());
}

#[test]
fn nobody_registers_or_recovers_with_a_stolen_password() {
    let (_list, path) = list();
    let scene = Scene::with(|options| with(options, &path));
    let browser = scene.server.browser();
    let waiting = scene.apply(&browser, &browser.get("/register"), ANN);
    let code = scene.mailbox.next().code();
    let refused = confirm(&browser, &waiting, &code, STOLEN);
    assert!(refused.status == 400 && refused.body.contains(WHY), "{refused:?}");
    assert_eq!(confirm(&browser, &refused, &code, GOOD).status, 303, "the code was not used up");
    let mail = asked(&scene);
    let page = browser.get(&mail.link());
    let refused = choose(&browser, &page, STOLEN, "");
    assert!(refused.status == 400 && refused.body.contains(WHY), "{refused:?}");
    assert_eq!(choose(&browser, &refused, "another word of nobody", "").status, 200);
}

#[test]
fn neither_the_account_page_nor_an_administrator_sets_one() {
    let (_list, path) = list();
    let scene = login::Scene::with(with(Options::default(), &path));
    let browser = signed_in(&scene, "other@example.com", PASSWORD);
    let change = |new: &str| {
        send(&browser, "/account/password", &[("present", PASSWORD), ("new", new), ("again", new)])
    };
    let refused = change(STOLEN);
    assert!(refused.status == 400 && refused.body.contains(WHY), "{refused:?}");
    assert_eq!(change(GOOD).status, 303);
    let stolen = json!({ "email": "ann@example.com", "password": STOLEN });
    for (path, body) in [("/users", stolen.clone()), ("/users/other/password", json!({ "password": STOLEN }))]
    {
        let refused = scene.server.admin("POST", path, Some(body));
        assert!(refused.status == 400 && refused.body.contains("breached_passwords_file"), "{refused:?}");
        assert!(!refused.body.contains(STOLEN), "{refused:?}");
    }
    for path in ["/users/bulk?dry_run=true", "/users/bulk"] {
        let done = bulk(&scene.server, path, std::slice::from_ref(&stolen));
        assert!(done[0].to_string().contains("breached_passwords_file"), "{path}: {done:?}");
    }
    let good = json!({ "email": "ann@example.com", "password": GOOD });
    assert_eq!(scene.server.admin("POST", "/users", Some(good)).status, 201);
}

/// The list is about what is chosen: nobody is locked out by a password from before.
#[test]
fn who_has_such_a_password_still_signs_in() {
    let (_list, path) = list();
    let scene = login::Scene::with(Options::default().one_node());
    let body = json!({ "password": STOLEN });
    assert_eq!(scene.server.admin("POST", "/users/other/password", Some(body.clone())).status, 200);
    scene.server.app.passwords.use_breached(Some(path.as_ref())).unwrap();
    signed_in(&scene, "other@example.com", STOLEN);
    // A list that cannot be read lets nothing through and is no fault of the caller's.
    lose_list(&scene.server);
    assert_eq!(scene.server.admin("POST", "/users/other/password", Some(body)).status, 503);
}

/// Where the list cannot be read now, each page keeps its form, and what led to it is not used up.
#[test]
fn a_list_that_cannot_be_read_keeps_the_form() {
    let (_list, path) = list();
    let scene = Scene::with(|options| with(options.one_node(), &path));
    let found = || scene.server.app.passwords.use_breached(Some(path.as_ref())).unwrap();
    let browser = scene.server.browser();
    let waiting = scene.apply(&browser, &browser.get("/register"), ANN);
    let code = scene.mailbox.next().code();
    lose_list(&scene.server);
    let busy = confirm(&browser, &waiting, &code, GOOD);
    assert!(busy.status == 503 && busy.field("transaction").is_some(), "{busy:?}");
    found();
    assert_eq!(confirm(&browser, &busy, &code, GOOD).status, 303);

    let page = browser.get(&asked(&scene).link());
    lose_list(&scene.server);
    let busy = choose(&browser, &page, "another word of nobody", "");
    assert!(busy.status == 503 && busy.field("link").is_some(), "{busy:?}");
    found();
    assert_eq!(choose(&browser, &busy, "another word of nobody", "").status, 200);

    let browser = scene.server.browser();
    let invited = scene.server.admin("POST", "/invitations", Some(json!({ "email": "bob@example.com" })));
    assert_eq!(invited.status, 201, "{invited:?}");
    let invitation = loop {
        let mail = scene.mailbox.next();
        if mail.to == "bob@example.com" {
            break mail.link();
        }
    };
    let page = browser.get(&invitation);
    lose_list(&scene.server);
    let fields = [("email", "bob@example.com"), ("given_name", "Bob"), ("password", GOOD)];
    let busy = submit(&browser, &page, &fields);
    assert!(busy.status == 503 && busy.field("transaction").is_some(), "{busy:?}");
    found();
    assert_eq!(submit(&browser, &busy, &fields).status, 303);
}

#[test]
fn the_account_page_keeps_its_form_too() {
    let (_list, path) = list();
    let scene = login::Scene::with(with(Options::default().one_node(), &path));
    let browser = signed_in(&scene, "other@example.com", PASSWORD);
    lose_list(&scene.server);
    let fields = [("present", PASSWORD), ("new", GOOD), ("again", GOOD)];
    let busy = send(&browser, "/account/password", &fields);
    assert!(busy.status == 503 && busy.field("csrf_token").is_some(), "{busy:?}");
}
