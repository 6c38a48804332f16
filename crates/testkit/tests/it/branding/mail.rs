//! Mail looks like the pages that led to it.

use serde_json::json;
use symbolon_testkit::RelyingParty;

use crate::login::hidden;
use crate::mailbox::Mail;
use crate::recovery::choose;
use crate::registration::{ANN, PASSWORD, Scene, link};

const ISSUERS_PNG: &[u8] = b"\x89PNG\r\n\x1a\n of the issuer";
const CLIENTS_PNG: &[u8] = b"\x89PNG\r\n\x1a\n of the client";

/// A mail with a code that is asked for on the login page of a client's request.
fn code_for(scene: &Scene, rp: &RelyingParty, language: &str) -> Mail {
    let browser = scene.server.browser();
    let request = rp.authorization_request().with("ui_locales", language);
    let page = browser.get(&browser.get(&request.path()).location());
    let (transaction, csrf) = hidden(&page);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", ANN)];
    let sent = browser.post("/login/email-code", &form);
    assert_eq!(sent.status, 303, "{sent:?}");
    scene.mailbox.next()
}

fn has(mail: &Mail, image: &[u8]) -> bool {
    // Its last character may be taken for a soft line break.
    let encoded = data_encoding::BASE64_NOPAD.encode(image);
    mail.raw.contains(&encoded) && mail.raw.contains("Content-ID: <logo>")
}

/// Nothing is fetched when a mail is opened, whoever's it is.
fn loads_nothing(mail: &Mail) {
    let raw = mail.raw.replace("=3D", "=");
    assert!(raw.contains(" src=\"cid:logo\""), "{raw}");
    for loaded in raw.split(" src=\"").skip(1) {
        assert!(loaded.starts_with("cid:"), "{raw}");
    }
    assert!(!raw.contains("url(") && !raw.contains("<link"), "{raw}");
}

#[test]
fn mail_is_branded_by_the_issuer_and_by_the_client_that_asked() {
    let scene = Scene::new();
    scene.set(json!({ "sign_in_methods": ["password", "email_code"], "branding": {
        "name": "Acme", "accent": { "light": "#0a4d8c", "dark": "#8cc4ff" },
        "help_uri": "https://acme.example/help", "foot": "Acme Ltd, Example Street 1",
        "foot#de": "Acme GmbH, Beispielstraße 1",
    } }));
    let logo = |path: &str, image| {
        let put = scene.server.admin_sending("PUT", path, ("image/png", image));
        assert!(put.status < 300, "{put:?}");
    };
    logo("/branding/logo", ISSUERS_PNG);
    let branded = RelyingParty::register(
        &scene.server,
        json!({ "skip_consent": true, "branding": {
            "name": "Shop", "accent": { "light": "#7a1f5c", "dark": "#e59ccb" }, "policy_uri": "https://shop.example/privacy",
        } }),
    );
    logo(&format!("/clients/{}/logo", branded.client_id), CLIENTS_PNG);
    scene.user(json!({ "email": ANN, "email_verified": true, "password": PASSWORD }));

    let mail = code_for(&scene, &scene.rp, "de");
    assert!(mail.text.contains("Acme GmbH, Beispielstraße 1"), "{}", mail.text);
    assert!(!mail.text.contains("Acme Ltd"), "{}", mail.text);
    assert!(mail.text.contains("Hilfe: https://acme.example/help"), "{}", mail.text);
    assert!(mail.raw.contains("background:#8cc4ff!important"), "{}", mail.raw);
    assert!(has(&mail, ISSUERS_PNG) && !has(&mail, CLIENTS_PNG), "{}", mail.raw);
    loads_nothing(&mail);

    let mail = code_for(&scene, &branded, "en");
    assert!(mail.head.contains("Subject: Your code for Shop"), "{}", mail.head);
    assert!(mail.text.contains("Privacy policy: https://shop.example/privacy"), "{}", mail.text);
    assert!(mail.text.contains("https://acme.example/help"), "what the client leaves out is the issuer's");
    assert!(mail.text.contains("Acme Ltd, Example Street 1"), "{}", mail.text);
    assert!(mail.raw.contains("background:#e59ccb!important"), "{}", mail.raw);
    assert!(has(&mail, CLIENTS_PNG) && !has(&mail, ISSUERS_PNG), "{}", mail.raw);
    loads_nothing(&mail);
    // It waits in the queue without its looks: what is shown is how the client looks when it leaves.
    let path = format!("/clients/{}", branded.client_id);
    assert_eq!(scene.server.admin("PATCH", &path, Some(json!({ "branding": null }))).status, 200);
    let mail = code_for(&scene, &branded, "en");
    assert!(mail.head.contains("Subject: Your code for Acme") && has(&mail, ISSUERS_PNG), "{}", mail.raw);
}

/// What somebody registers or recovers with carries the looks of the application that sent them, and news of the account the
/// issuer's.
#[test]
fn registration_and_recovery_are_the_clients_and_news_the_issuers() {
    let scene = Scene::new();
    scene.set(json!({ "branding": { "name": "Acme" } }));
    let path = format!("/clients/{}", scene.rp.client_id);
    let shop = json!({ "branding": { "name": "Shop" } });
    assert_eq!(scene.server.admin("PATCH", &path, Some(shop)).status, 200);
    let browser = scene.server.browser();
    let page = scene.at_form(&browser, &scene.rp.authorization_request());
    scene.apply(&browser, &page, ANN);
    let mail = scene.mailbox.next();
    assert!(mail.head.contains("Shop") && !mail.head.contains("Acme"), "{}", mail.head);
    let (_, mail) = scene.registered("bob@example.com");
    assert!(mail.head.contains("Acme"), "{}", mail.head);

    let browser = scene.server.browser();
    let login = browser.get(&browser.get(&scene.rp.authorization_request().path()).location());
    let (transaction, csrf) = hidden(&browser.get(&link(&login, "forgot")));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", "bob@example.com")];
    assert_eq!(browser.post("/forgot-password", &form).status, 303);
    let mail = scene.mailbox.next();
    assert!(mail.head.contains("Shop") && !mail.head.contains("Acme"), "{}", mail.head);
    let changed = choose(&browser, &browser.get(&mail.link()), "quite another password", "");
    assert_eq!(changed.status, 200, "{changed:?}");
    let news = scene.mailbox.next();
    assert!(news.head.contains("Acme") && !news.head.contains("Shop"), "{}", news.head);
}
