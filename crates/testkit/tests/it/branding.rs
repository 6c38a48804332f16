//! An issuer's name, logo, colours, links and texts on its pages, and what clients say of themselves by language.

mod logo;
mod mail;

use serde_json::json;
use symbolon_sign_in::demo;
use symbolon_testkit::{Answer, Options};

use crate::login::Scene;

/// The address of the style sheet that a page loads after that of all pages.
fn style_of(page: &Answer) -> String {
    let at = page.body.find("href=\"/branding").unwrap_or_else(|| panic!("no style: {page:?}"));
    page.body[at..].split('"').nth(1).unwrap().to_owned()
}

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
        assert!(page.body.contains("href=\"/branding.css?v="), "{page:?}");
    }
    let sheet = browser.get(&style_of(&page));
    assert_eq!((sheet.status, sheet.header("content-type")), (200, Some("text/css; charset=utf-8")));
    assert!(
        sheet.body.contains("--button:#0a4d8c") && sheet.header("x-content-type-options") == Some("nosniff")
    );
    assert!(sheet.header("cache-control").unwrap().contains("immutable"));
    assert_eq!(browser.get("/branding.css?v=1").header("cache-control"), Some("no-cache"));
    let faint = set(json!({ "accent": { "light": "#bbbbbb", "dark": "#8cc4ff" } }));
    assert_eq!(faint.status, 400);
    assert!(faint.body.contains("branding.accent.light has a contrast of 1.74:1 with #f6f4f0"), "{faint:?}");
    assert_eq!(set(json!(null)).status, 200);
    assert!(!browser.get("/").body.contains("Acme"));
}

#[test]
fn variables_are_served_checked_and_change_the_address() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let set = |branding| scene.server.admin("PATCH", "/settings", Some(json!({ "branding": branding })));
    let variables =
        json!({ "ground": { "light": "#FFFFFF" }, "radius": "4px", "sans": ["Inter", "sans-serif"] });
    let answer = set(json!({ "variables": variables }));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["settings"]["branding"]["variables"]["ground"], json!({ "light": "#ffffff" }));
    let first = style_of(&browser.get("/"));
    let sheet = browser.get(&first);
    assert_eq!(
        sheet.body,
        ":root{--ground:#ffffff;--radius:4px;--sans:\"Inter\",sans-serif;}\
         @media (prefers-color-scheme:dark){:root{--ground:#111615;}}\n"
    );
    assert!(sheet.header("cache-control").unwrap().contains("immutable"));
    for (variables, told) in [
        (json!({ "radius": "99px" }), "branding is not valid: variables.radius: a length is written"),
        (json!({ "grund": "x" }), "did you mean ground?"),
        (json!({ "sans": ["x;}", "serif"] }), "is no font"),
        (json!({ "surface": { "dark": "#ffffff" } }), "branding.variables.surface.dark has a contrast of"),
    ] {
        let refused = set(json!({ "variables": variables }));
        assert!(refused.status == 400 && refused.body.contains(told), "{refused:?}");
    }
    assert_eq!(style_of(&browser.get("/")), first, "what was refused changed nothing");
    assert_eq!(set(json!({ "variables": { "radius": "5px" } })).status, 200);
    let second = style_of(&browser.get("/"));
    assert_ne!(second, first);
    assert_eq!(browser.get(&second).body, ":root{--radius:5px;}\n");
    assert_eq!(set(json!({ "variables": null })).status, 200);
    assert!(!browser.get("/").body.contains("/branding.css"));
    assert_eq!(browser.get("/branding.css").status, 404);
}

#[test]
fn a_clients_branding_goes_before_the_issuers_on_the_pages_of_its_requests() {
    let mail = [("SYMBOLON_SMTP_URL", "smtp://127.0.0.1:9"), ("SYMBOLON_MAIL_FROM", "op@example.com")];
    let options =
        mail.into_iter().fold(Options::default(), |options, (name, value)| options.env(name, value));
    let scene = Scene::with(options);
    let own = json!({
        "name": "Acme", "accent": { "light": "#0a4d8c", "dark": "#8cc4ff" }, "variables": { "radius": "1px" },
        "intro": "Acme's intro", "foot": "Acme's foot", "help_uri": "https://acme.example/help",
    });
    let settings = json!({ "branding": own, "registration": "open" });
    assert_eq!(scene.server.admin("PATCH", "/settings", Some(settings)).status, 200);
    let path = format!("/clients/{}", demo::CLIENT);
    let theirs = json!({
        "name": "Shop <b>", "variables": { "radius": "2px" }, "intro": "The shop's intro",
        "help_uri": "https://shop.example/help",
    });
    let patched = scene.server.admin("PATCH", &path, Some(json!({ "branding": theirs })));
    assert_eq!(patched.json()["client"]["branding"], theirs, "{patched:?}");
    let browser = scene.server.browser();
    let login = scene.at_login(&browser, &scene.rp.authorization_request());
    let linked = |id: &str| {
        let at = login.body.find(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}: {login:?}"));
        login.body[at..].split('"').nth(3).unwrap().replace("&#38;", "&")
    };
    let (register, forgot) = (browser.get(&linked("register")), browser.get(&linked("forgot")));
    let wrong = Scene::sign_in(&browser, &login, "nobody@example.com", "wrong");
    let signed_in = Scene::sign_in(&browser, &login, &scene.demo.email, &scene.demo.password);
    let consent = Scene::to_consent(&browser, &signed_in);
    let choosing = scene.rp.authorization_request().with("prompt", "select_account");
    let choice = browser.get(&browser.get(&choosing.path()).location());
    for page in [&login, &wrong, &consent, &register, &forgot, &choice] {
        for part in
            ["Shop &#60;b&#62;", "The shop&#39;s intro", "https://shop.example/help", "Acme&#39;s foot"]
        {
            assert!(page.body.contains(part), "{part}: {page:?}");
        }
        assert!(!page.body.contains("https://acme.example/help") && !page.body.contains("Acme&#39;s intro"));
    }
    // Accent and variables go together: the client's sheet has nothing of the issuer's.
    let style = style_of(&login);
    assert!(style.starts_with(&format!("/branding/clients/{}/style.css?v=", demo::CLIENT)), "{style}");
    let sheet = browser.get(&style);
    assert_eq!(
        (&*sheet.body, sheet.header("content-type")),
        (":root{--radius:2px;}\n", Some("text/css; charset=utf-8"))
    );
    assert!(sheet.header("cache-control").unwrap().contains("immutable"));
    // Pages that no client asks for are the issuer's.
    let page = browser.get("/logout");
    assert!(page.body.contains("Acme&#39;s intro") && !page.body.contains("Shop"), "{page:?}");
    assert!(browser.get(&style_of(&page)).body.contains("--radius:1px"));
    for (branding, told) in [
        (json!({ "nam": "x" }), "unknown member \"branding.nam\"; did you mean \"branding.name\"?"),
        (json!({ "help_uri": "javascript:x" }), "branding.help_uri must be an http or https URL"),
        (
            json!({ "accent": { "light": "#bbbbbb", "dark": "#8cc4ff" } }),
            "branding.accent.light has a contrast of",
        ),
    ] {
        let refused = scene.server.admin("PATCH", &path, Some(json!({ "branding": branding })));
        let description = refused.json()["error_description"].as_str().unwrap().to_owned();
        assert!(refused.status == 400 && description.contains(told), "{refused:?}");
    }
    let removed = scene.server.admin("PATCH", &path, Some(json!({ "branding": null })));
    assert!(removed.json()["client"].get("branding").is_none(), "{removed:?}");
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

#[test]
fn texts_and_links_are_in_the_language_of_the_page() {
    let scene = Scene::new();
    let set = |branding| scene.server.admin("PATCH", "/settings", Some(json!({ "branding": branding })));
    let answer = set(json!({
        "intro": "One account", "intro#de": "Ein Konto", "foot#fr": "Bonjour",
        "help_uri": "https://acme.example/help", "help_uri#de": "https://acme.example/hilfe",
    }));
    assert_eq!(
        (answer.status, &answer.json()["settings"]["branding"]["intro#de"]),
        (200, &json!("Ein Konto")),
        "{answer:?}"
    );
    let login = |locale: &str| {
        let request = scene.rp.authorization_request().with("ui_locales", locale);
        scene.at_login(&scene.server.browser(), &request)
    };
    let all =
        ["One account", "Ein Konto", "Bonjour", "https://acme.example/help", "https://acme.example/hilfe"];
    let shows = |locale: &str, shown: &[&str]| {
        let page = login(locale);
        for part in all {
            // As an attribute or as the text of an element.
            let is_there =
                [format!("\"{part}\""), format!(">{part}<")].iter().any(|own| page.body.contains(own));
            assert_eq!(is_there, shown.contains(&part), "{locale}: {part}: {page:?}");
        }
    };
    shows("de-AT", &["Ein Konto", "https://acme.example/hilfe"]);
    shows("fr", &["One account", "Bonjour", "https://acme.example/help"]);
    shows("ja", &["One account", "https://acme.example/help"]);
    // A client's goes before its issuer's only in the languages that it is given in.
    let path = format!("/clients/{}", demo::CLIENT);
    let theirs = json!({ "branding": { "intro#de": "Der Laden", "foot#ja": "店" } });
    let patched = scene.server.admin("PATCH", &path, Some(theirs));
    assert_eq!(patched.json()["client"]["branding"], json!({ "intro#de": "Der Laden", "foot#ja": "店" }));
    assert!(login("de").body.contains(">Der Laden<"));
    assert!(login("ja").body.contains(">店<"));
    shows("fr", &["One account", "Bonjour", "https://acme.example/help"]);
    assert_eq!(
        scene.server.admin("PATCH", &path, Some(json!({ "branding": { "intro#de": null } }))).status,
        200
    );
    // A change keeps the others, `null` removes, and what is no language or no member is refused.
    assert_eq!(set(json!({ "intro#de": null, "foot": "Acme Ltd" })).status, 200);
    shows("de", &["One account", "https://acme.example/hilfe"]);
    assert!(login("fr").body.contains(">Bonjour<") && login("de").body.contains(">Acme Ltd<"));
    for (branding, told) in [
        (
            json!({ "intro#d_e": "x" }),
            "branding.intro has a translation whose language is no tag of RFC 5646",
        ),
        (json!({ "foot#de": "a\nb" }), "branding.foot#de must be 1 to 500 characters on one line"),
        (json!({ "help_uri#de": "javascript:x" }), "branding.help_uri#de must be an http or https URL"),
        (json!({ "name#de": "x" }), "unknown member"),
    ] {
        let refused = set(branding.clone());
        assert!(refused.status == 400 && refused.body.contains(told), "{branding}: {refused:?}");
        let refused = scene.server.admin("PATCH", &path, Some(json!({ "branding": branding })));
        assert_eq!(refused.status, 400, "{refused:?}");
    }
}
