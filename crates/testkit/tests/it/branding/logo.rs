//! Uploaded logos, and that pages load nothing from anybody else.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_sign_in::demo;
use symbolon_testkit::{Answer, Browser, Options, TestServer};

use crate::login::Scene;

const SVG: &str =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 8 8\"><path d=\"M0 0h8v8H0z\"/></svg>";
const OTHER: &str =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 9 9\"><path d=\"M0 0h9v9H0z\"/></svg>";
/// What a WebP begins with; all of it is text.
const WEBP: &str = "RIFF\u{10}\0\0\0WEBPVP8 ";

/// Puts a logo; its path on the issuer's origin.
fn put(server: &TestServer, path: &str, svg: &str) -> String {
    let answer = server.admin_sending("PUT", path, ("image/svg+xml", svg.as_bytes()));
    assert_eq!(answer.status, 200, "{answer:?}");
    let logo = &answer.json()["logo"];
    assert_eq!((&logo["media_type"], &logo["bytes"]), (&json!("image/svg+xml"), &json!(svg.len())), "{logo}");
    logo["path"].as_str().unwrap().to_owned()
}

/// Asks until answers are as they should be, whichever node gives them: another one may hear of a change of a client a moment
/// later.
fn until(ask: impl Fn() -> Answer, is_so: impl Fn(&Answer) -> bool) {
    let mut in_a_row = 0;
    for _ in 0..500 {
        in_a_row = if is_so(&ask()) { in_a_row + 1 } else { 0 };
        if in_a_row == 6 {
            return;
        }
        std::thread::sleep(Duration::from_millis(if in_a_row > 0 { 0 } else { 10 }));
    }
    panic!("{:?}", ask())
}

fn assert_served(browser: &Browser, path: &str, svg: &str) {
    let image = browser.get(path);
    assert_eq!((image.status, &*image.body, image.header("content-type")), (200, svg, Some("image/svg+xml")));
    assert_eq!(image.header("cache-control"), Some("public, max-age=31536000, immutable"), "{path}");
    assert_eq!(image.header("x-content-type-options"), Some("nosniff"), "{path}");
    assert_eq!(image.header("cross-origin-resource-policy"), Some("same-origin"), "{path}");
    let policy = image.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("sandbox"), "{policy}");
    assert!(!policy.contains("script-src") && !policy.contains("http"), "{policy}");
    // An older address leads to today's logo, which is asked for again.
    let older = format!("{}?v=older", path.split('?').next().unwrap());
    assert_eq!(browser.get(&older).header("cache-control"), Some("no-cache"), "{older}");
    assert_eq!(browser.send("HEAD", path, &[], b"").status, 200, "{path}");
}

#[test]
fn the_issuers_logo_stands_in_the_head_of_every_page() {
    let scene = Scene::new();
    let (browser, _) = scene.signed_in();
    let stranger = scene.server.browser();
    assert_eq!(stranger.get("/branding/logo").status, 404);
    let path = put(&scene.server, "/branding/logo", SVG);
    assert_served(&stranger, &path, SVG);
    let shown = format!("<img class=\"logo\" src=\"{path}\" alt=\"\"");
    let wrong = stranger.get_with("/authorize?client_id=nobody", &[("accept", "text/html")]);
    let login = scene.at_login(&stranger, &scene.rp.authorization_request());
    for page in [&login, &wrong, &stranger.get("/"), &browser.get("/account"), &browser.get("/logout")] {
        assert!(page.body.contains(&shown) && !page.body.contains("class=\"mark\""), "{page:?}");
    }
    // The setting has nothing to do with it, and another logo has another address.
    assert_eq!(scene.server.admin("PATCH", "/settings", Some(json!({ "branding": null }))).status, 200);
    let other = put(&scene.server, "/branding/logo", OTHER);
    assert!(other != path && stranger.get("/").body.contains(&other));
    assert_served(&stranger, &other, OTHER);
    let image = scene.server.admin("GET", "/branding/logo", None);
    assert_eq!((&*image.body, image.header("content-type")), (OTHER, Some("image/svg+xml")));
    assert_eq!(image.header("cache-control"), Some("no-store"));
    assert_eq!(scene.server.admin("DELETE", "/branding/logo", None).status, 204);
    assert_eq!(scene.server.admin("DELETE", "/branding/logo", None).status, 404);
    assert_eq!(scene.server.admin("GET", "/branding/logo", None).status, 404);
    assert_eq!(stranger.get(&other).status, 404);
    assert!(stranger.get("/").body.contains("class=\"mark\""));
}

#[test]
fn a_clients_logo_is_uploaded_and_its_logo_uri_is_not_loaded() {
    let scene = Scene::new();
    let client = format!("/clients/{}", demo::CLIENT);
    let named = json!({ "logo_uri": "https://tracker.example/logo.png" });
    let patched = scene.server.admin("PATCH", &client, Some(named));
    assert_eq!(patched.json()["client"]["logo_uri"], "https://tracker.example/logo.png", "it is registered");
    let at = format!("{client}/logo");
    let browser = scene.server.browser();
    let pages = |browser: &Browser| {
        let login = scene.at_login(browser, &scene.rp.authorization_request());
        let signed_in = Scene::sign_in(browser, &login, &scene.demo.email, &scene.demo.password);
        let consent = Scene::to_consent(browser, &signed_in);
        [login, consent]
    };
    for page in pages(&browser) {
        assert!(!page.body.contains("tracker.example") && !page.body.contains("<img"), "{page:?}");
    }
    let path = put(&scene.server, &at, SVG);
    assert_eq!(path.split('?').next(), Some(&*format!("/branding/clients/{}/logo", demo::CLIENT)));
    until(|| browser.get(&path), |image| image.status == 200);
    assert_served(&browser, &path, SVG);
    let shown = format!("<img class=\"client-logo\" src=\"{path}\" alt=\"\"");
    let login = || scene.at_login(&scene.server.browser(), &scene.rp.authorization_request());
    until(login, |page| page.body.contains(&shown));
    let (browser, _) = scene.signed_in();
    until(|| browser.get("/account/applications"), |page| page.body.contains(&path));
    let asked = scene.rp.authorization_request().with("prompt", "consent");
    let consent = browser.get(&browser.get(&asked.path()).location());
    assert!(consent.body.contains(&shown), "{consent:?}");
    // A later client of the same id has another logo, or none.
    let metadata = scene.server.admin("GET", &client, None).json()["client"].clone();
    assert_eq!(scene.server.admin("DELETE", &client, None).status, 204);
    assert_eq!(scene.server.admin("GET", &at, None).status, 404);
    let again = json!({
        "client_id": demo::CLIENT, "client_name": metadata["client_name"],
        "redirect_uris": metadata["redirect_uris"], "token_endpoint_auth_method": "none",
    });
    assert_eq!(scene.server.admin("POST", "/clients", Some(again)).status, 201);
    until(|| browser.get(&path), |image| image.status == 404);
    assert_eq!(scene.server.admin("DELETE", &at, None).status, 404);
}

#[test]
fn what_is_no_logo_is_refused_with_the_mend() {
    let server = TestServer::start();
    let send = |media_type, body: &[u8]| {
        let answer = server.admin_sending("PUT", "/branding/logo", (media_type, body));
        let told = answer.json()["error_description"].as_str().unwrap_or_default().to_owned();
        (answer.status, told)
    };
    for (media_type, body, status, mend) in [
        ("image/gif", "GIF89a".to_owned(), 415, "image/png"),
        ("application/json", "{}".to_owned(), 415, "image/png"),
        ("image/png", SVG.to_owned(), 400, "send it with content-type image/svg+xml"),
        ("image/png", "hello".to_owned(), 400, "convert it"),
        ("image/svg+xml", SVG.replace("<path", "<script>x</script><path"), 400, "take it out"),
        ("image/webp", format!("{WEBP}{}", "x".repeat(64 << 10)), 413, "make it smaller"),
        ("image/webp", String::new(), 400, "convert it"),
    ] {
        let (got, told) = send(media_type, body.as_bytes());
        assert!(got == status && told.contains(mend), "{media_type}: {got} {told}");
    }
    let accepted = server.admin_sending("PUT", "/branding/logo", ("Image/WebP; x=y", WEBP.as_bytes()));
    assert_eq!(accepted.status, 200, "{accepted:?}");
    assert_eq!(server.browser().get("/branding/logo").header("content-type"), Some("image/webp"));
    let nobodys = server.admin_sending("PUT", "/clients/nobody/logo", ("image/svg+xml", SVG.as_bytes()));
    assert_eq!(nobodys.status, 404);
    for path in ["/branding/clients/nobody/logo", "/branding/clients//logo", "/branding/clients/a/b/logo"] {
        assert_eq!(server.browser().get(path).status, 404, "{path}");
    }
}

/// A client whose id has characters that an address has not, of an issuer below a path.
#[test]
fn a_logo_is_found_below_a_prefix_and_by_any_client_id() {
    let server = TestServer::start_with(Options::default().issuer("https://login.example/acme"));
    let client = json!({
        "client_id": "https://app.example/a?b", "client_name": "A", "token_endpoint_auth_method": "none",
        "redirect_uris": ["https://app.example/cb"],
    });
    assert_eq!(server.admin("POST", "/clients", Some(client)).status, 201);
    let own = put(&server, "/branding/logo", SVG);
    let path = put(&server, "/clients/https%3A%2F%2Fapp.example%2Fa%3Fb/logo", OTHER);
    assert!(own.starts_with("/acme/branding/logo?v="), "{own}");
    assert!(path.starts_with("/acme/branding/clients/https%3A%2F%2Fapp.example%2Fa%3Fb/logo?v="), "{path}");
    let browser = server.browser();
    assert_served(&browser, &own, SVG);
    until(|| browser.get(&path), |image| image.status == 200);
    assert_served(&browser, &path, OTHER);
    assert!(browser.get("/acme/logout").body.contains(&format!("src=\"{own}\"")));
    // Neither is another issuer's.
    assert_eq!(browser.get("/branding/logo").status, 404);
}

/// What a page makes a browser load by itself.
fn loads(page: &Answer) -> Vec<String> {
    let mut found = Vec::new();
    for tag in page.body.split('<').skip(1) {
        let name = tag.split([' ', '>', '\n']).next().unwrap_or_default();
        let attribute = match name {
            "img" | "script" | "iframe" | "source" | "video" | "audio" | "embed" => "src=\"",
            "link" => "href=\"",
            "object" => "data=\"",
            _ => continue,
        };
        found.extend(tag.split(attribute).nth(1).and_then(|rest| rest.split('"').next()).map(str::to_owned));
    }
    found
}

/// Each page is asked what it loads and what its policy allows: nothing from another origin, whatever issuer and client name.
#[test]
fn no_page_loads_anything_from_elsewhere() {
    let scene = Scene::new();
    let elsewhere = |path: &str| Value::from(format!("https://elsewhere.example/{path}"));
    let branding = json!({
        "name": "Acme", "accent": { "light": "#0a4d8c", "dark": "#8cc4ff" }, "help_uri": elsewhere("help"),
        "policy_uri": elsewhere("policy"), "tos_uri": elsewhere("tos"), "intro": "https://elsewhere.example/intro",
    });
    assert_eq!(scene.server.admin("PATCH", "/settings", Some(json!({ "branding": branding }))).status, 200);
    let client = json!({
        "logo_uri": elsewhere("logo.png"), "client_uri": elsewhere(""), "policy_uri": elsewhere("p"),
        "logo_uri#de": elsewhere("logo-de.png"),
    });
    let path = format!("/clients/{}", demo::CLIENT);
    assert_eq!(scene.server.admin("PATCH", &path, Some(client)).status, 200);
    put(&scene.server, "/branding/logo", SVG);
    put(&scene.server, &format!("{path}/logo"), SVG);
    let stranger = scene.server.browser();
    let login = scene.at_login(&stranger, &scene.rp.authorization_request().with("ui_locales", "de"));
    let wrong = Scene::sign_in(&stranger, &login, "nobody@example.com", "wrong");
    let signed_in = Scene::sign_in(&stranger, &login, &scene.demo.email, &scene.demo.password);
    let mut pages = vec![Scene::to_consent(&stranger, &signed_in), login, wrong];
    let (browser, _) = scene.signed_in();
    let html = [("accept", "text/html")];
    let public = [
        "/",
        "/nothing",
        "/authorize?client_id=nobody",
        "/register",
        "/forgot-password",
        "/login?transaction=x",
    ];
    pages.extend(public.map(|path| scene.server.browser().get_with(path, &html)));
    let account = [
        "",
        "/profile",
        "/email",
        "/password",
        "/security",
        "/security/generator",
        "/security/passkey",
        "/sessions",
        "/applications",
        "/data",
    ];
    pages.extend(account.map(|path| browser.get(&format!("/account{path}"))));
    pages.push(browser.get("/logout"));
    let mut files = 0;
    for page in &pages {
        assert!(page.header("content-type").is_some_and(|kind| kind.starts_with("text/html")), "{page:?}");
        let policy = page.header("content-security-policy").unwrap_or_else(|| panic!("no policy: {page:?}"));
        for directive in policy.split(';').map(str::trim) {
            let mut sources = directive.split(' ').skip(1);
            let own = |source: &str| matches!(source, "'self'" | "'none'");
            assert!(sources.all(own), "{directive}: {}", page.body);
        }
        for file in loads(page) {
            assert!(file.starts_with('/') && !file.starts_with("//"), "{file}: {}", page.body);
            assert_eq!(stranger.get(&file).status, 200, "{file}");
            files += 1;
        }
        assert!(!page.body.contains("url("), "{}", page.body);
    }
    assert!(files > 3 * pages.len(), "{files}");
}
