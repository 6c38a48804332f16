//! The language of pages and mail.

use serde_json::json;
use symbolon_testkit::{Answer, Browser};

use crate::account::signed_in;
use crate::login::{Scene, hidden};

/// What the page says of its language: the attributes of its root, `Content-Language` and `Vary`.
fn assert_language(page: &Answer, tag: &str, direction: &str, words: &str) {
    let root = format!("<html lang=\"{tag}\" dir=\"{direction}\">");
    assert!(page.body.contains(&root) && page.body.contains(words), "{tag}: {page:?}");
    assert_eq!(page.header("content-language"), Some(tag), "{page:?}");
    assert_eq!(page.header("vary"), Some("accept-language, cookie"), "{page:?}");
}

fn german(browser: &Browser, path: &str) -> Answer {
    browser.get_with(path, &[("accept-language", "de-AT,de;q=0.9,en;q=0.5"), ("accept", "text/html")])
}

#[test]
fn the_browser_decides_then_the_issuer() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    assert_language(&browser.get("/"), "en", "ltr", "Discovery document");
    assert_language(&german(&browser, "/"), "de", "ltr", "Discovery-Dokument");
    assert_language(&german(&browser, "/no-such-page"), "de", "ltr", "Hier gibt es nichts");
    let refused = german(&browser, "/authorize?client_id=nobody");
    assert_language(&refused, "de", "ltr", "Diese Anfrage kann nicht ausgeführt werden");
    let set = |value| scene.server.admin("PATCH", "/settings", Some(json!({ "default_language": value })));
    assert_eq!(set(json!("ar")).status, 200);
    assert_language(&browser.get("/"), "ar", "rtl", "مستند الاكتشاف");
    assert_language(&german(&browser, "/"), "de", "ltr", "Discovery-Dokument");
    assert_eq!(set(json!("tlh")).status, 400);
    assert_eq!(set(json!(null)).status, 200);
    assert_language(&browser.get("/"), "en", "ltr", "Discovery document");
}

#[test]
fn the_application_decides_before_cookie_and_browser() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    browser.set_cookie("symbolon_language", "fr");
    assert_language(&german(&browser, "/"), "fr", "ltr", "Document de découverte");
    let request = scene.rp.authorization_request().with("ui_locales", "tlh ja-JP de");
    let page = scene.at_login(&browser, &request);
    assert_language(&page, "ja", "ltr", "パスワード");
    let wrong = Scene::sign_in(&browser, &page, "nobody@example.com", "wrong");
    assert_eq!(wrong.status, 403);
    assert_language(&wrong, "ja", "ltr", "ユーザー名またはパスワードが正しくありません。");
    let signed_in = Scene::sign_in(&browser, &wrong, &scene.demo.email, &scene.demo.password);
    assert_language(&Scene::to_consent(&browser, &signed_in), "ja", "ltr", "許可する");
    let refused = browser.get_with("/authorize?client_id=nobody&ui_locales=es", &[("accept", "text/html")]);
    assert_language(&refused, "es", "ltr", "No se puede completar esta solicitud");
    browser.set_cookie("symbolon_language", "../tlh");
    assert_language(&german(&browser, "/"), "de", "ltr", "Discovery-Dokument");
}

#[test]
fn a_choice_holds_for_the_sign_in_and_stays_in_the_browser() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let request = scene.rp.authorization_request().with("ui_locales", "de");
    let page = scene.at_login(&browser, &request);
    assert_language(&page, "de", "ltr", "<span aria-current=\"true\">Deutsch</span>");
    let (transaction, _) = hidden(&page);
    let chosen = browser.get(&format!("/login?transaction={transaction}&language=ar"));
    assert_language(&chosen, "ar", "rtl", "كلمة المرور");
    assert_eq!(browser.cookie("symbolon_language").as_deref(), Some("ar"));
    let signed_in = Scene::sign_in(&browser, &chosen, &scene.demo.email, &scene.demo.password);
    let consent = Scene::to_consent(&browser, &signed_in);
    assert_language(&consent, "ar", "rtl", "سماح");
    let allowed = Scene::decide(&browser, &consent, "allow");
    assert!(allowed.redirected("code").is_some(), "{allowed:?}");
    assert_language(&german(&browser, "/"), "ar", "rtl", "مستند الاكتشاف");
    let logout = browser.get("/logout?ui_locales=fr");
    assert_language(&logout, "fr", "ltr", "Se déconnecter");
    let (transaction, csrf) = hidden(&logout);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("decision", "confirm")];
    let out = browser.post("/logout/confirm", &form);
    assert_language(&out, "fr", "ltr", "Vous êtes déconnecté");
}

#[test]
fn registering_and_recovering_are_in_the_language_that_was_asked_for() {
    let scene = Scene::new();
    let set = scene.server.admin("PATCH", "/settings", Some(json!({ "registration": "open" })));
    assert_eq!(set.status, 200, "{set:?}");
    let browser = scene.server.browser();
    browser.set_cookie("symbolon_language", "fr");
    for (path, german) in [("/register", "Konto"), ("/forgot-password", "Passwort")] {
        assert_language(&browser.get(&format!("{path}?ui_locales=tlh%20de")), "de", "ltr", german);
    }
    // The form's answer, and what follows it, are in that language too.
    let page = browser.get("/forgot-password?ui_locales=ar");
    let (transaction, csrf) = hidden(&page);
    let form = |name| [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", name)];
    assert_language(&browser.post("/forgot-password", &form("")), "ar", "rtl", "");
    let sent = browser.post("/forgot-password", &form("nobody@example.com"));
    assert_language(&browser.get(&sent.location()), "ar", "rtl", "");
    let page = browser.get("/register?ui_locales=es");
    let (transaction, csrf) = hidden(&page);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("email", "ann@example.com")];
    let waiting = browser.get(&browser.post("/register", &form).location());
    assert_language(&waiting, "es", "ltr", "");
    // From the sign-in page it goes on in that page's language, chosen there or asked for by the application.
    let request = scene.rp.authorization_request().with("ui_locales", "ja");
    let login = scene.at_login(&browser, &request);
    let (transaction, _) = hidden(&login);
    for path in ["/register", "/forgot-password"] {
        assert_language(&browser.get(&format!("{path}?transaction={transaction}")), "ja", "ltr", "");
        let chosen = browser.get(&format!("{path}?transaction={transaction}&language=de"));
        assert_language(&chosen, "de", "ltr", "");
    }
}

/// At the foot of pages that no application leads to: it holds for what follows, and stays in the browser.
#[test]
fn registration_recovery_and_the_account_offer_the_choice() {
    let scene = Scene::new();
    let set = scene.server.admin("PATCH", "/settings", Some(json!({ "registration": "open" })));
    assert_eq!(set.status, 200, "{set:?}");
    for (path, field) in [("/register", "email"), ("/forgot-password", "username")] {
        let browser = scene.server.browser();
        let page = browser.get(&format!("{path}?ui_locales=de"));
        assert_language(&page, "de", "ltr", "<span aria-current=\"true\">Deutsch</span>");
        assert!(
            page.body.contains(&format!("id=\"languages\" method=\"get\" action=\"{path}\"")),
            "{page:?}"
        );
        let (transaction, _) = hidden(&page);
        let chosen = browser.get(&format!("{path}?transaction={transaction}&language=ar"));
        assert_language(&chosen, "ar", "rtl", "<span aria-current=\"true\">العربية</span>");
        assert_eq!(browser.cookie("symbolon_language").as_deref(), Some("ar"), "{path}");
        let (transaction, csrf) = hidden(&chosen);
        let form = [("transaction", &*transaction), ("csrf_token", &*csrf), (field, "ann@example.com")];
        let sent = browser.post(path, &form);
        assert_eq!(sent.status, 303, "{path}: {sent:?}");
        assert_language(&browser.get(&sent.location()), "ar", "rtl", "");
        // Another browser's page is none of this one's, and a choice of what is no language none.
        let other = scene.server.browser();
        let stranger = other.get(&format!("{path}?transaction={transaction}&language=tlh"));
        assert!(stranger.status == 200 && other.cookie("symbolon_language").is_none(), "{stranger:?}");
    }
    let browser = signed_in(&scene, &scene.demo.email, &scene.demo.password);
    let page = browser.get("/account/sessions");
    assert!(page.body.contains("id=\"languages\" method=\"get\" action=\"/account/sessions\""), "{page:?}");
    assert_language(&browser.get("/account/sessions?language=ja"), "ja", "ltr", "日本語</span>");
    assert_eq!(browser.cookie("symbolon_language").as_deref(), Some("ja"));
    assert_language(&browser.get("/account"), "ja", "ltr", "日本語</span>");
    assert_language(&browser.get("/account?language=tlh"), "ja", "ltr", "");
}

/// The invitation goes along with the choice.
#[test]
fn an_invitation_is_read_in_another_language() {
    let scene = Scene::new();
    let set = scene.server.admin("PATCH", "/settings", Some(json!({ "registration": "invited" })));
    assert_eq!(set.status, 200, "{set:?}");
    let invited = scene.server.admin(
        "POST",
        "/invitations",
        Some(json!({ "email": "ann@example.com", "send_mail": false })),
    );
    assert_eq!(invited.status, 201, "{invited:?}");
    let url = invited.json()["link"].as_str().expect("a link").to_owned();
    let browser = scene.server.browser();
    let page = browser.get(url.strip_prefix(&*scene.server.issuer).expect("the issuer's"));
    let (transaction, _) = hidden(&page);
    let chosen = browser.get(&format!("/register?transaction={transaction}&language=fr"));
    assert_language(&chosen, "fr", "ltr", "ann@example.com");
}

#[test]
fn what_is_no_language_is_ignored_and_a_repeated_choice_refused() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let (transaction, _) = hidden(&page);
    let ignored = browser.get(&format!("/login?transaction={transaction}&language=%3Cscript%3E"));
    assert_language(&ignored, "en", "ltr", "Password");
    assert!(browser.cookie("symbolon_language").is_none());
    let twice = browser.get(&format!("/login?transaction={transaction}&language=de&language=fr"));
    assert_eq!(twice.status, 400);
}

#[test]
fn discovery_lists_the_languages() {
    let scene = Scene::new();
    let document = scene.server.browser().get("/.well-known/openid-configuration").json();
    assert_eq!(document["ui_locales_supported"], json!(["en", "de", "es", "fr", "ja", "ar"]));
}
