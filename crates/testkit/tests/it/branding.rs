//! An issuer's name, colours, links and texts on its pages, and what clients say of themselves by language.

use serde_json::json;
use symbolon_sign_in::demo;

use crate::login::Scene;

#[test]
fn branding_is_on_every_page_and_goes_with_null() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    assert_eq!(browser.get("/branding.css").status, 404);
    let set = |branding| scene.server.admin("PATCH", "/settings", Some(json!({ "branding": branding })));
    let set_all = set(json!({
        "name": "Acme <b>", "accent": { "light": "#0A4D8C", "dark": "#8cc4ff" }, "intro": "One account for all",
        "help_uri": "https://acme.example/help", "foot": "Acme Ltd"
    }));
    assert_eq!(set_all.status, 200, "{set_all:?}");
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let wrong = Scene::sign_in(&browser, &page, "nobody@example.com", "wrong");
    let refused = browser.get_with("/authorize?client_id=nobody", &[("accept", "text/html")]);
    for page in [&page, &wrong, &refused, &browser.get("/")] {
        for part in ["Acme &#60;b&#62;", "One account for all", "https://acme.example/help", "Acme Ltd"] {
            assert!(page.body.contains(part), "{part}: {page:?}");
        }
        let style = "href=\"/branding.css?v=0a4d8c8cc4ff\"";
        assert!(page.body.contains(style), "{page:?}");
    }
    let sheet = browser.get("/branding.css?v=0a4d8c8cc4ff");
    assert_eq!((sheet.status, sheet.header("content-type")), (200, Some("text/css; charset=utf-8")));
    assert!(
        sheet.body.contains("--button:#0a4d8c") && sheet.header("x-content-type-options") == Some("nosniff")
    );
    assert!(sheet.header("cache-control").unwrap().contains("immutable"));
    assert_eq!(browser.get("/branding.css?v=1").header("cache-control"), Some("no-cache"));
    let faint = set(json!({ "accent": { "light": "#bbbbbb", "dark": "#8cc4ff" } }));
    assert_eq!(faint.status, 400);
    assert!(faint.body.contains("1.91:1") || faint.body.contains("1.92:1"), "{faint:?}");
    assert_eq!(set(json!(null)).status, 200);
    assert!(!browser.get("/").body.contains("Acme"));
}

#[test]
fn a_client_is_named_and_linked_in_the_language_of_the_page() {
    let scene = Scene::new();
    let metadata = json!({
        "client_name#de": "Töpferatlas", "policy_uri": "https://app.example/privacy",
        "policy_uri#de": "https://app.example/datenschutz", "tos_uri": "https://app.example/terms"
    });
    let path = format!("/clients/{}", demo::CLIENT);
    let answer = scene.server.admin("PATCH", &path, Some(metadata));
    assert_eq!(
        (answer.status, &answer.json()["client"]["client_name#de"]),
        (200, &json!("Töpferatlas")),
        "{answer:?}"
    );
    for (locale, parts) in [
        ("de-CH", ["Töpferatlas", "https://app.example/datenschutz", "Nutzungsbedingungen"]),
        ("fr", ["", "https://app.example/privacy", "Conditions d’utilisation"]),
    ] {
        let browser = scene.server.browser();
        let request = scene.rp.authorization_request().with("ui_locales", locale);
        let page = scene.at_login(&browser, &request);
        let signed_in = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
        let consent = Scene::to_consent(&browser, &signed_in);
        for part in &parts[1..] {
            assert!(consent.body.contains(part), "{locale}: {part}: {consent:?}");
        }
        assert_eq!(consent.body.contains("Töpferatlas"), locale == "de-CH");
    }
}
