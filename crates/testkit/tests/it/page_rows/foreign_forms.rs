//! Forms that another site submits with this browser's cookies (RFC 6454 7.3, Fetch Metadata 2.3).

use std::collections::BTreeSet;
use std::time::Duration;

use axum::http::Method;
use serde_json::json;
use symbolon_sign_in::demo;
use symbolon_testkit::{Answer, Browser};

use super::{OTHER, World, allows, pages};
use crate::login::{PASSWORD, Scene};
use crate::login_api::second_factor::add_passkey;
use crate::{ciba, device, second_factor};

/// What a form's page hides in it.
const HIDDEN: [&str; 8] =
    ["transaction", "csrf_token", "user_code", "seen", "state", "link", "setup", "puzzle"];

/// The reasons of refusing a form that is not of the issuer's own page.
const REASONS: [&str; 2] = ["page_form_expired", "sign_in_form_expired"];

/// The rows that others' pages may post to, and why nothing is done by that alone.
const FOR_OTHERS: [(&str, &str); 3] = [
    (
        "/authorize",
        "any application's page may send its request so (OpenID Connect Core 3.1.2.1); the person is asked",
    ),
    (
        "/logout",
        "any application's page may send its request so (RP-Initiated Logout 2); the person is asked",
    ),
    (
        "/login/callback/{name}",
        "a provider's page sends its answer so; `state` is sealed and bound to the browser",
    ),
];

/// A form as the issuer's own page sends it.
struct Filled {
    browser: Browser,
    fields: Vec<(String, String)>,
}

impl Filled {
    fn of(browser: Browser, page: &Answer, typed: &[(&str, &str)]) -> Self {
        assert_eq!(page.status, 200, "{page:?}");
        assert!(page.field("csrf_token").is_some(), "a page without a form: {}", page.body);
        let hidden = HIDDEN.into_iter().filter_map(|name| Some((name.to_owned(), page.field(name)?)));
        let typed = typed.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self { browser, fields: hidden.chain(typed).collect() }
    }

    fn send(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let fields: Vec<(&str, &str)> = self.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        self.browser.post_with(path, &fields, headers)
    }
}

type Fill = fn(&World) -> Filled;

/// How the form of each row is reached and filled in. The last one requires a second factor of everybody.
const FORMS: [(&str, Fill); 24] = [
    ("/login", |world| at_login(world, &[("username", OTHER), ("password", PASSWORD)])),
    ("/login/passkey", |world| at_login(world, &[("credential", "{}")])),
    ("/login/provider", |world| at_login(world, &[("provider", "none")])),
    ("/login/email-code", |world| at_login(world, &[("username", OTHER)])),
    ("/login/passkey-offer", |world| {
        let (browser, answer) = world.signed_in(&[("creates_passkeys", "true")]);
        let page = browser.get(&answer.location());
        Filled::of(browser, &page, &[("credential", "{}")])
    }),
    ("/consent", |world| {
        let (browser, answer) = world.signed_in(&[]);
        let page = Scene::to_consent(&browser, &answer);
        Filled::of(browser, &page, &[("decision", "deny")])
    }),
    ("/device", |world| {
        let (browser, _) = world.signed_in(&[]);
        let codes = device::ask(&device::television(&world.scene.server), "openid");
        let page = browser.get(&codes.page());
        Filled::of(browser, &page, &[("decision", "allow")])
    }),
    ("/select-account", |world| {
        let (browser, _) = world.signed_in(&[]);
        let request = world.scene.rp.authorization_request().with("prompt", "select_account");
        let page = browser.get(&browser.get(&request.path()).location());
        Filled::of(browser, &page, &[("other", "true")])
    }),
    ("/logout/confirm", |world| {
        let (browser, _) = world.signed_in(&[]);
        let page = browser.get("/logout");
        Filled::of(browser, &page, &[("decision", "confirm")])
    }),
    ("/account/profile", |world| of_account(world, "/account/profile", &[("nickname", "Ann")])),
    ("/account/password", |world| of_account(world, "/account/password", &[("present", PASSWORD)])),
    ("/account/security", |world| {
        let (browser, _) = world.signed_in(&[]);
        // The page has a form for each passkey, and none without.
        add_passkey(&world.scene, &browser);
        let page = browser.get("/account/security");
        Filled::of(browser, &page, &[("remove", "none")])
    }),
    ("/account/security/generator", |world| {
        of_account(world, "/account/security/generator", &[("code", "000000")])
    }),
    ("/account/security/passkey", |world| {
        of_account(world, "/account/security/passkey", &[("credential", "{}")])
    }),
    ("/account/sessions", |world| of_account(world, "/account/sessions", &[("end_others", "true")])),
    ("/account/applications", |world| {
        let (browser, answer) = world.signed_in(&[]);
        // The page has a form for each application that may do something.
        let consent = Scene::to_consent(&browser, &answer);
        assert_eq!(Scene::decide(&browser, &consent, "allow").status, 303);
        let page = browser.get("/account/applications");
        Filled::of(browser, &page, &[("end_all", "true")])
    }),
    ("/account/requests", |world| {
        let (browser, _) = world.signed_in(&[]);
        // The page has a form for each request that waits.
        let id = ciba::ask(&ciba::till(&world.scene.server, json!({})), OTHER);
        let page = browser.get("/account/requests");
        Filled::of(browser, &page, &[("request", ciba::request_of(&id)), ("decision", "allow")])
    }),
    ("/account/data", |world| of_account(world, "/account/data", &[])),
    ("/account/email", |world| of_account(world, "/account/email", &[("email", "new@example.com")])),
    ("/register", |world| {
        let browser = world.browser();
        let page = browser.get("/register");
        Filled::of(browser, &page, &[("email", "ann@example.com")])
    }),
    ("/register/confirm", |world| {
        let browser = world.browser();
        let page = browser.get("/register");
        let asked = Filled::of(browser, &page, &[("email", "bob@example.com")]);
        let page = asked.browser.get(&asked.send("/register", &[]).location());
        Filled::of(asked.browser, &page, &[("code", "000000"), ("password", PASSWORD)])
    }),
    ("/forgot-password", |world| {
        let browser = world.browser();
        let page = browser.get("/forgot-password");
        Filled::of(browser, &page, &[("username", OTHER)])
    }),
    ("/reset-password", |world| {
        let browser = world.browser();
        let page = browser.get("/forgot-password");
        let asked = Filled::of(browser, &page, &[("username", OTHER)]);
        assert_eq!(asked.send("/forgot-password", &[]).status, 303);
        let page = asked.browser.get(&world.mailed_link("/reset-password"));
        Filled::of(asked.browser, &page, &[("password", "short")])
    }),
    ("/verify-email", |world| {
        let asked = of_account(world, "/account/email", &[("email", "new@example.com")]);
        let page = asked.browser.get(&asked.send("/account/email", &[]).location());
        Filled::of(asked.browser, &page, &[("code", "000000")])
    }),
];

/// The form of which everybody else's sign-in would be asked, too.
const LAST: (&str, Fill) = ("/login/second-factor", |world| {
    let required = json!({ "settings": { "second_factor": "required" } });
    let path = format!("/clients/{}", demo::CLIENT);
    assert_eq!(world.scene.server.admin("PATCH", &path, Some(required)).status, 200);
    let browser = world.browser();
    let page = second_factor::after_password(&world.scene, &browser);
    Filled::of(browser, &page, &[("code", "000000")])
});

fn at_login(world: &World, typed: &[(&str, &str)]) -> Filled {
    let browser = world.browser();
    let page = world.at_login(&browser);
    Filled::of(browser, &page, typed)
}

fn of_account(world: &World, path: &str, typed: &[(&str, &str)]) -> Filled {
    let (browser, _) = world.signed_in(&[]);
    let page = browser.get(path);
    Filled::of(browser, &page, typed)
}

/// Why a request was refused; empty if it was not.
fn reason(world: &World, id: &str) -> String {
    let answer = world.scene.server.admin("GET", &format!("/failures/{id}"), None);
    match answer.status {
        404 => String::new(),
        _ => answer.json()["failures"][0]["reason"].as_str().expect("a reason").to_owned(),
    }
}

#[test]
fn a_form_of_another_origin_does_nothing_on_any_page() {
    let world = World::with(|options| options);
    let own = world.scene.server.url.clone();
    let foreign: [&[(&str, &str)]; 5] = [
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site"), ("origin", &own)],
        &[("origin", "http://127.0.0.1")],
    ];
    for (path, fill) in FORMS.into_iter().chain([LAST]) {
        // Of the refusals of one minute, so many are kept and no more.
        world.scene.server.clock.advance(Duration::from_secs(61));
        let form = fill(&world);
        let send = |number: usize, headers: &[(&str, &str)]| {
            let id = format!("form{}-{number}", path.replace('/', "-"));
            let mut headers = headers.to_vec();
            headers.push(("x-request-id", &id));
            let answer = form.send(path, &headers);
            (reason(&world, &id), answer)
        };
        for (number, headers) in foreign.into_iter().enumerate() {
            let (reason, answer) = send(number, headers);
            assert!(REASONS.contains(&&*reason), "{path} {headers:?}: {reason:?}, {answer:?}");
        }
        // The same form from the issuer's own page is looked at.
        let (reason, answer) = send(foreign.len(), &[("origin", &own), ("sec-fetch-site", "same-origin")]);
        assert!(!REASONS.contains(&&*reason) && answer.status < 500, "{path}: {reason:?}, {answer:?}");
    }
}

#[test]
fn every_page_with_a_form_is_asked() {
    let rows: BTreeSet<&str> =
        pages().filter(|page| allows(page, &Method::POST)).map(|page| page.path).collect();
    let asked = FORMS.iter().chain([&LAST]).map(|(path, _)| *path);
    let covered: BTreeSet<&str> = asked.chain(FOR_OTHERS.iter().map(|(path, _)| *path)).collect();
    assert_eq!(rows, covered, "each row has a form here, or a reason why others' pages may post to it");
}
