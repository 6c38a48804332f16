//! The page of passkeys, generator and recovery codes.

use std::time::Duration;

use data_encoding::BASE32_NOPAD;
use serde_json::{Value, json};
use symbolon_crypto::one_time_password::hotp;
use symbolon_crypto::secret::SecretBytes;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_testkit::{Answer, Authenticator, Browser};

use super::{audited, demo, demo_id, fill_in, mails, send, send_of, signed_in};
use crate::login::{PASSWORD, Scene};
use crate::second_factor::{self, between};

const PATH: &str = "/account/security";
const GENERATOR: &str = "/account/security/generator";
const PASSKEY: &str = "/account/security/passkey";

/// The options on the page that adds a passkey.
fn options(page: &Answer) -> Value {
    let text = between(&page.body, "data-options=\"", "\"").replace("&#34;", "\"").replace("&quot;", "\"");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Adds a passkey; the answer.
fn add(browser: &Browser, authenticator: &mut Authenticator, name: &str) -> Answer {
    let page = browser.get(PASSKEY);
    assert_eq!(page.status, 200, "{page:?}");
    let credential = authenticator.create(&options(&page)).to_string();
    send_of(browser, PASSKEY, &page, &[("credential", &credential), ("name", name)])
}

fn authenticators(scene: &Scene, user: &str) -> Value {
    scene.server.admin("GET", &format!("/users/{user}/authenticators"), None).json()["authenticators"].clone()
}

fn secret(page: &Answer) -> SecretBytes {
    let typed = between(&page.body, "<code id=\"secret\" dir=\"ltr\">", "</code>").replace(' ', "");
    SecretBytes::new(BASE32_NOPAD.decode(typed.as_bytes()).unwrap())
}

fn code(scene: &Scene, secret: &SecretBytes) -> String {
    format!("{:06}", hotp(secret, scene.server.now().millis() / 30_000, 6))
}

fn require(scene: &Scene, word: &str) {
    let set = scene.server.admin("PATCH", "/settings", Some(json!({ "second_factor": word })));
    assert_eq!(set.status, 200, "{set:?}");
}

/// Sets a generator up; its secret, and the answer with the recovery codes.
fn set_up(scene: &Scene, browser: &Browser) -> (SecretBytes, Answer) {
    let page = browser.get(GENERATOR);
    assert!(page.status == 200 && page.body.contains("qr-code"), "{page:?}");
    let secret = secret(&page);
    let answer = set_up_with(browser, &page, &code(scene, &secret));
    assert_eq!(answer.status, 200, "{answer:?}");
    (secret, answer)
}

fn set_up_with(browser: &Browser, page: &Answer, code: &str) -> Answer {
    let setup = page.field("setup").expect("a sealed secret");
    send_of(browser, GENERATOR, page, &[("setup", &setup), ("code", code)])
}

#[test]
fn a_passkey_is_added_renamed_and_removed() {
    let scene = Scene::new();
    let browser = demo(&scene);
    let mut authenticator = Authenticator::new(&scene.server.issuer);
    let added = add(&browser, &mut authenticator, "Work <laptop>");
    assert_eq!((added.status, &*added.location()), (303, "/account/security?done=passkey_added"));
    let page = browser.get(&added.location());
    assert!(
        page.body.contains("Work &#60;laptop&#62;") || page.body.contains("Work &lt;laptop&gt;"),
        "{page:?}"
    );
    let id = page.body.split("data-credentials=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    // The browser's own sign-in by it works.
    let other = scene.server.browser();
    let api = |path: &str, body: &Value| {
        let headers = [("origin", &*scene.server.issuer), ("content-type", "application/json")];
        other.send("POST", &format!("/api/auth/passkey/login/{path}"), &headers, body.to_string().as_bytes())
    };
    let asked = api("options", &json!({})).json();
    let credential = authenticator.get(&asked["options"]);
    let body = json!({ "challengeId": asked["challengeId"], "credential": credential });
    assert_eq!(api("verify", &body).status, 200);
    assert_eq!(other.get(PATH).status, 200, "a passkey is enough");

    let renamed = send(&browser, PATH, &[("rename", &id), ("name", "Key\u{0} of Ann")]);
    assert_eq!((renamed.status, &*renamed.location()), (303, "/account/security?done=saved"));
    assert!(browser.get(PATH).body.contains("value=\"Key of Ann\""));

    let page = browser.get(PATH);
    for _ in 0..2 {
        let removed = send_of(&browser, PATH, &page, &[("remove", &id)]);
        assert_eq!((removed.status, &*removed.location()), (303, "/account/security?done=passkey_removed"));
    }
    assert!(browser.get(PATH).body.contains("You have no passkey yet."));
    assert_eq!(mails(&scene, 2), ["new-passkey", "passkey-removed"], "one of each");
    assert_eq!(
        audited(&scene, "passkey.added")["detail"],
        json!({ "passkey": "Work <laptop>", "self": true })
    );
    let changes =
        json!({ "changes": { "name": { "from": "Work <laptop>", "to": "Key of Ann" } }, "self": true });
    assert_eq!(audited(&scene, "passkey.renamed")["detail"], changes);
    assert_eq!(audited(&scene, "passkey.removed")["actor"], "user");
}

#[test]
fn a_passkey_that_does_not_answer_this_page_is_refused() {
    let scene = Scene::new();
    let (browser, stranger) = (demo(&scene), signed_in(&scene, "other@example.com", PASSWORD));
    let (page, foreign) = (browser.get(PASSKEY), stranger.get(PASSKEY));
    let origin = scene.server.issuer.clone();
    let make = |page: &Answer, origin: &str| Authenticator::new(origin).create(&options(page)).to_string();
    let mut unverified = Authenticator::new(&origin);
    unverified.flaw = symbolon_testkit::Flaw::Unverified;
    let mut swapped = options(&page);
    swapped["challenge"] = "AAAAAAAAAAAAAAAAAAAAAA".into();
    for credential in [
        String::new(),
        "{}".into(),
        make(&foreign, &origin),
        make(&page, "https://evil.example"),
        unverified.create(&options(&page)).to_string(),
        Authenticator::new(&origin).create(&swapped).to_string(),
    ] {
        let refused = send_of(&browser, PASSKEY, &page, &[("credential", &credential)]);
        assert!(refused.status == 400 && refused.body.contains("No passkey was added"), "{refused:?}");
    }
    let late = make(&page, &origin);
    scene.server.clock.advance(Duration::from_secs(301));
    assert_eq!(send_of(&browser, PASSKEY, &page, &[("credential", &late)]).status, 400);
    assert_eq!(authenticators(&scene, &demo_id(&scene))["passkeys"], json!([]));
    // Twice is once.
    let page = browser.get(PASSKEY);
    let credential = make(&page, &origin);
    for _ in 0..2 {
        assert_eq!(send_of(&browser, PASSKEY, &page, &[("credential", &credential)]).status, 303);
    }
    assert_eq!(authenticators(&scene, &demo_id(&scene))["passkeys"].as_array().map(Vec::len), Some(1));
}

#[test]
fn there_are_at_most_twenty_passkeys_and_the_last_way_in_stays() {
    let scene = Scene::new();
    let ways = json!({ "sign_in_methods": ["password", "passkey"] });
    assert_eq!(scene.server.admin("PATCH", "/settings", Some(ways)).status, 200);
    let browser = signed_in(&scene, "other@example.com", PASSWORD);
    for number in 0..20 {
        let mut authenticator = Authenticator::new(&scene.server.issuer);
        assert_eq!(add(&browser, &mut authenticator, &number.to_string()).status, 303);
    }
    let full = browser.get(PASSKEY);
    assert!(full.status == 409 && full.body.contains("can have no more passkeys"), "{full:?}");
    let page = browser.get(PATH);
    let (issuer, other) = (IssuerId::default_issuer(), UserId::parse("other").unwrap());
    let store = &scene.server.app.store;
    assert!(scene.server.block_on(store.set_password(&issuer, &other, None)).unwrap());
    let all = between(&page.body, "data-credentials=\"", "\"").to_owned();
    let ids: Vec<&str> = all.split(' ').collect();
    let statuses: Vec<u16> =
        ids.iter().map(|id| send_of(&browser, PATH, &page, &[("remove", id)]).status).collect();
    assert_eq!(statuses[..19], [303; 19], "{statuses:?}");
    assert_eq!(statuses[19], 409);
    // Unless a code by mail lets the person in.
    let ways = json!({ "sign_in_methods": ["passkey", "email_code"] });
    assert_eq!(scene.server.admin("PATCH", "/settings", Some(ways)).status, 200);
    assert_eq!(send_of(&browser, PATH, &page, &[("remove", ids[19])]).status, 303);
}

#[test]
fn a_generator_is_set_up_and_the_session_goes_on_with_both_factors() {
    let scene = Scene::new();
    let browser = signed_in(&scene, "other@example.com", PASSWORD);
    let early = signed_in(&scene, "other@example.com", PASSWORD);
    let before = browser.cookie("symbolon_session").unwrap();
    let page = browser.get(GENERATOR);
    let own = secret(&page);
    let wrong = set_up_with(&browser, &page, "000000");
    assert!(wrong.status == 403 && wrong.body.contains("not the code"), "{wrong:?}");
    assert!(secret(&wrong).expose() == own.expose(), "the same picture again");
    let shown = set_up_with(&browser, &wrong, &code(&scene, &own));
    assert_eq!(shown.status, 200, "{shown:?}");
    assert_eq!(shown.body.matches("<li><code dir=\"ltr\">").count(), 10, "{shown:?}");
    assert_ne!(browser.cookie("symbolon_session").unwrap(), before, "a new id");
    assert!(!scene.session_lives(&before));
    let twice = set_up_with(&browser, &browser.get(GENERATOR), "000000");
    assert_eq!(twice.status, 403, "another secret");
    let page = browser.get("/account/security?done=generator");
    assert!(page.body.contains("Your authenticator app is set up."), "{page:?}");
    assert_eq!(between(&page.body, "id=\"codes-left\">", "<"), "10");
    assert_eq!(browser.get(PATH).status, 200, "signed in with both factors");
    assert!(browser.get("/account/sessions").body.contains("several factors"));
    // Sessions of the password alone change nothing any more.
    for path in [PATH, GENERATOR, PASSKEY, "/account/password"] {
        assert!(early.get(path).location().starts_with("/login?"), "{path}");
    }
    let refused = early.post(PATH, &[("generator", "remove")]);
    assert!(refused.location().starts_with("/login?"), "{refused:?}");
    assert_eq!(mails(&scene, 1), ["new-generator"]);
    assert_eq!(audited(&scene, "totp.added")["detail"]["self"], true);
}

#[test]
fn recovery_codes_are_drawn_anew_and_the_generator_is_removed_unless_it_is_required() {
    let scene = Scene::new();
    let browser = signed_in(&scene, "other@example.com", PASSWORD);
    let (_, shown) = set_up(&scene, &browser);
    let again = send(&browser, PATH, &[("recovery_codes", "new")]);
    assert_eq!(again.status, 200, "{again:?}");
    let first = between(&shown.body, "<li><code dir=\"ltr\">", "<").to_owned();
    let other = between(&again.body, "<li><code dir=\"ltr\">", "<").to_owned();
    scene.server.clock.advance(Duration::from_secs(60));
    let phone = scene.server.browser();
    let page = second_factor::after_password(&scene, &phone);
    assert_eq!(second_factor::confirm(&phone, &page, &first).status, 403, "the old codes are gone");
    assert_eq!(second_factor::confirm(&phone, &page, &other).status, 303);
    assert_eq!(between(&browser.get(PATH).body, "id=\"codes-left\">", "<"), "9");
    require(&scene, "required");
    assert!(browser.get(PATH).body.contains("generator-required"));
    assert_eq!(send(&browser, PATH, &[("generator", "remove")]).status, 403);
    set_up(&scene, &browser);
    require(&scene, "optional");
    let removed = send(&browser, PATH, &[("generator", "remove")]);
    assert_eq!(removed.location(), "/account/security?done=generator_removed");
    let kept = authenticators(&scene, "other");
    assert_eq!((&kept["totp"], &kept["recovery_codes"]), (&Value::Null, &0.into()), "{kept}");
    signed_in(&scene, "other@example.com", PASSWORD);
    let told = ["generator-removed", "new-generator", "new-generator", "new-recovery-codes"];
    assert_eq!(mails(&scene, 4), told);
    assert_eq!(audited(&scene, "totp.removed")["actor"], "user");
    assert_eq!(audited(&scene, "recovery_code.drawn")["actor"], "user");
}

/// What one browser's page has sealed is of no use in another's session, nor after ten minutes.
#[test]
fn a_sealed_secret_is_bound_to_its_session_and_time() {
    let scene = Scene::new();
    let (browser, other) = (signed_in(&scene, "other@example.com", PASSWORD), demo(&scene));
    let (page, foreign) = (browser.get(GENERATOR), other.get(GENERATOR));
    let setup = page.field("setup").unwrap();
    let stolen = [("setup", &*setup), ("code", &code(&scene, &secret(&page)))];
    assert_eq!(send_of(&other, GENERATOR, &foreign, &stolen).status, 403);
    scene.server.clock.advance(Duration::from_secs(601));
    let late = set_up_with(&browser, &page, &code(&scene, &secret(&page)));
    assert!(late.location().starts_with("/login?"), "{late:?}");
    let page = browser.get(&late.location());
    assert_eq!(fill_in(&browser, &page, "other@example.com", PASSWORD).location(), PATH);
    for user in ["other".to_owned(), demo_id(&scene)] {
        assert_eq!(authenticators(&scene, &user)["totp"], Value::Null);
    }
}

#[test]
fn forms_of_other_sites_change_nothing() {
    let scene = Scene::new();
    let browser = signed_in(&scene, "other@example.com", PASSWORD);
    set_up(&scene, &browser);
    let page = browser.get(PATH);
    let token = page.field("csrf_token").unwrap();
    for (csrf, headers) in [
        ("", vec![]),
        (&*token, vec![("origin", "https://evil.example")]),
        (&*token, vec![("sec-fetch-site", "cross-site")]),
    ] {
        let form = [("csrf_token", csrf), ("generator", "remove")];
        assert_eq!(browser.post_with(PATH, &form, &headers).status, 403, "{headers:?}");
    }
    assert!(authenticators(&scene, "other")["totp"].is_object());
}
