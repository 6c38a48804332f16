//! Several accounts that are signed in in one browser: choosing one, using it silently, and signing out.

use std::time::Duration;

use serde_json::json;
use symbolon_crypto::{digest, encoding};
use symbolon_testkit::{
    Answer, AuthorizationRequest, Browser, RelyingParty, TestServer, TokenSet, decode_jwt,
};

use crate::login::{PASSWORD, Scene, hidden, userinfo};

const PAGE: &str = "/select-account";
const OTHER: &str = "other@example.com";
const SESSION: &str = "symbolon_session";
const ACCOUNTS: &str = "symbolon_accounts";

fn select(rp: &RelyingParty) -> AuthorizationRequest {
    rp.authorization_request().with("prompt", "select_account")
}

/// The page on which an account is chosen.
fn at_page(browser: &Browser, request: &AuthorizationRequest) -> Answer {
    let sent = browser.get(&request.path());
    assert!(sent.location().starts_with("/select-account?transaction="), "{sent:?}");
    let page = browser.get(&sent.location());
    assert_eq!(page.status, 200, "{page:?}");
    page
}

/// The `sid` and the whole button of each account on a page, in order.
fn accounts(page: &Answer) -> Vec<(String, String)> {
    let buttons = page.body.split("name=\"account\" value=\"").skip(1);
    let button = |text: &str| {
        let (sid, rest) = text.split_once('"').unwrap();
        (sid.to_owned(), rest.split_once("</button>").unwrap().0.to_owned())
    };
    buttons.map(button).collect()
}

/// The `sid` of the account of a name.
fn sid_of(page: &Answer, name: &str) -> String {
    let found = accounts(page).into_iter().find(|(_, button)| button.contains(name));
    found.unwrap_or_else(|| panic!("{name} is not on the page: {page:?}")).0
}

fn press(browser: &Browser, page: &Answer, button: (&str, &str)) -> Answer {
    let (transaction, csrf) = hidden(page);
    browser.post(PAGE, &[("transaction", &transaction), ("csrf_token", &csrf), button])
}

/// What the application gets after a sign-in, with the person's consent where that is asked for.
fn tokens(scene: &Scene, browser: &Browser, request: &AuthorizationRequest, signed_in: Answer) -> TokenSet {
    assert_eq!(signed_in.status, 303, "{signed_in:?}");
    let answer = match signed_in.location().starts_with("/consent?") {
        true => Scene::decide(browser, &browser.get(&signed_in.location()), "allow"),
        false => signed_in,
    };
    let code = answer.redirected("code").unwrap_or_else(|| panic!("no code: {answer:?}"));
    TokenSet::of(&scene.rp.redeem(&code, &request.verifier))
}

/// A browser in which the demo user has signed in, and the other user after that; the tokens of both.
fn both(scene: &Scene) -> (Browser, TokenSet, TokenSet) {
    let browser = scene.server.browser();
    let request = scene.rp.authorization_request();
    let page = scene.at_login(&browser, &request);
    let signed_in = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    let first = tokens(scene, &browser, &request, signed_in);
    let request = select(&scene.rp);
    let page = at_page(&browser, &request);
    assert_eq!(accounts(&page).len(), 1, "{page:?}");
    let login = press(&browser, &page, ("other", "true"));
    assert!(login.status == 303 && login.location().starts_with("/login?transaction="), "{login:?}");
    let login = browser.get(&login.location());
    let signed_in = Scene::sign_in(&browser, &login, OTHER, PASSWORD);
    let second = tokens(scene, &browser, &request, signed_in);
    (browser, first, second)
}

/// Somebody else in a browser of their own, and an ID token of theirs.
fn stranger(scene: &Scene) -> (Browser, String) {
    let (_, stranger) = scene.server.signed_in("stranger@example.com");
    let id_token = RelyingParty::register(&scene.server, json!({})).sign_in(&stranger).id_token.unwrap();
    (stranger, id_token)
}

fn subject(tokens: &TokenSet) -> String {
    decode_jwt(tokens.id_token.as_deref().unwrap()).1["sub"].as_str().unwrap().to_owned()
}

/// Who a silent request finds.
fn silently(scene: &Scene, browser: &Browser) -> String {
    subject(&scene.rp.sign_in_with(browser, scene.rp.authorization_request().with("prompt", "none")))
}

fn sign_out(browser: &Browser, decision: &str) -> Answer {
    let page = browser.get("/logout");
    let (transaction, csrf) = hidden(&page);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("decision", decision)];
    browser.post("/logout/confirm", &form)
}

#[test]
fn one_click_goes_on_as_another_account_and_everything_follows_it() {
    let scene = Scene::new();
    let (browser, first, second) = both(&scene);
    let parked = browser.cookie(ACCOUNTS).unwrap();
    assert!(scene.session_lives(&parked) && scene.session_lives(&browser.cookie(SESSION).unwrap()));
    assert_ne!(subject(&first), subject(&second));
    assert_eq!([userinfo(&scene, &first).status, userinfo(&scene, &second).status], [200, 200]);
    assert_eq!(silently(&scene, &browser), subject(&second));

    let request = select(&scene.rp);
    let page = at_page(&browser, &request);
    let listed = accounts(&page);
    assert_eq!(listed.len(), 2, "{page:?}");
    assert!(listed[0].1.contains(OTHER) && listed[0].1.contains("in use now"), "{listed:?}");
    assert!(listed[1].1.contains(&scene.demo.email) && !listed[1].1.contains("in use now"), "{listed:?}");
    let chosen = press(&browser, &page, ("account", &listed[1].0));
    assert_eq!(chosen.status, 303, "{chosen:?}");
    let code = chosen.redirected("code").expect("one click, and no second consent");
    let tokens = TokenSet::of(&scene.rp.redeem(&code, &request.verifier));
    assert_eq!(subject(&tokens), subject(&first));
    assert_eq!(browser.cookie(SESSION), Some(parked));
    // Silent and ordinary requests use the account last chosen, until another one is.
    assert_eq!(silently(&scene, &browser), subject(&first));
    assert_eq!(subject(&scene.rp.sign_in(&browser)), subject(&first));
    // A second click, or Back, leads to the same place.
    let again = press(&browser, &page, ("account", &listed[1].0));
    assert!(again.redirected("code").is_some(), "{again:?}");
    let back = press(&browser, &page, ("account", &listed[0].0));
    assert!(back.redirected("code").is_some(), "{back:?}");
    assert_eq!(silently(&scene, &browser), subject(&second));
}

#[test]
fn each_account_has_its_own_time_of_sign_in() {
    let scene = Scene::new();
    let (browser, first) = scene.signed_in();
    scene.server.clock.advance(Duration::from_secs(1_000));
    let page = at_page(&browser, &select(&scene.rp));
    let login = browser.get(&press(&browser, &page, ("other", "true")).location());
    assert_eq!(Scene::sign_in(&browser, &login, OTHER, PASSWORD).status, 303);
    let request = select(&scene.rp).with("max_age", "500");
    let page = at_page(&browser, &request);
    let demo = sid_of(&page, &scene.demo.email);
    let old = press(&browser, &page, ("account", &demo));
    assert!(old.location().starts_with("/login?transaction="), "{old:?}");
    let login = browser.get(&old.location());
    assert!(
        login.body.contains(&format!("value=\"{}\"", scene.demo.email)),
        "the name is filled in: {login:?}"
    );
    let answer = Scene::sign_in(&browser, &login, &scene.demo.email, &scene.demo.password);
    let code = answer.redirected("code").expect("a code");
    let tokens = TokenSet::of(&scene.rp.redeem(&code, &request.verifier));
    assert_eq!(subject(&tokens), subject(&first));
    assert_eq!(userinfo(&scene, &first).status, 200, "the new session stands for the one before");
    assert_eq!(accounts(&at_page(&browser, &select(&scene.rp))).len(), 2, "nobody is listed twice");
}

/// Session fixation, and a choice that somebody else makes for the person.
#[test]
fn only_a_session_of_this_browser_can_be_chosen_and_only_on_its_page() {
    let scene = Scene::new();
    let (browser, _, second) = both(&scene);
    let (stranger, id_token) = stranger(&scene);
    let foreign = decode_jwt(&id_token).1["sid"].as_str().unwrap().to_owned();
    let before = (browser.cookie(SESSION), browser.cookie(ACCOUNTS));
    let page = at_page(&browser, &select(&scene.rp));
    let id = stranger.cookie(SESSION).unwrap();
    for sid in [&*foreign, &*id, "", "x"] {
        let answer = press(&browser, &page, ("account", sid));
        assert!(answer.location().starts_with("/select-account?"), "{answer:?}");
    }
    let (transaction, csrf) = hidden(&page);
    let demo = sid_of(&page, &scene.demo.email);
    let form = |csrf| [("transaction", &*transaction), ("csrf_token", csrf), ("account", &*demo)];
    let forged = browser.post(PAGE, &form("x"));
    assert!(forged.location().starts_with("/select-account?"), "{forged:?}");
    let cross_site = browser.post_with(PAGE, &form(&csrf), &[("sec-fetch-site", "cross-site")]);
    assert!(cross_site.location().starts_with("/select-account?"), "{cross_site:?}");
    let elsewhere = stranger.post(PAGE, &form(&csrf));
    assert!(elsewhere.location().starts_with("/select-account?"), "{elsewhere:?}");
    assert_eq!((browser.cookie(SESSION), browser.cookie(ACCOUNTS)), before);
    assert_eq!(silently(&scene, &browser), subject(&second));
    let cancelled = press(&browser, &page, ("cancel", "true"));
    assert_eq!(cancelled.redirected("error").as_deref(), Some("access_denied"));
}

/// OpenID Connect Core 3.1.2.1, 3.1.2.6.
#[test]
fn where_the_account_in_use_was_signed_out_silent_requests_say_that_one_must_be_selected() {
    let scene = Scene::new();
    let (browser, first, second) = both(&scene);
    let out = sign_out(&browser, "confirm");
    assert!(out.status == 200 && out.body.contains(&scene.demo.email), "who is still signed in: {out:?}");
    assert_eq!([userinfo(&scene, &first).status, userinfo(&scene, &second).status], [200, 401]);
    let silent = scene.rp.authorization_request().with("prompt", "none");
    let error = |request: &AuthorizationRequest| browser.get(&request.path()).redirected("error");
    assert_eq!(error(&silent).as_deref(), Some("account_selection_required"));
    let hint = |tokens: &TokenSet| silent.clone().with("id_token_hint", tokens.id_token.as_deref().unwrap());
    assert_eq!(subject(&scene.rp.sign_in_with(&browser, hint(&first))), subject(&first));
    assert_eq!(error(&hint(&second)).as_deref(), Some("account_selection_required"));
    // Whoever asks with pages lets the person choose; so do the account pages.
    let account = browser.get("/account");
    assert!(account.location().starts_with("/select-account?"), "{account:?}");
    let page = at_page(&browser, &scene.rp.authorization_request());
    let chosen = press(&browser, &page, ("account", &sid_of(&page, &scene.demo.email)));
    assert!(chosen.redirected("code").is_some(), "{chosen:?}");
    assert_eq!(silently(&scene, &browser), subject(&first));
    assert_eq!(browser.cookie(ACCOUNTS), None);
}

/// OpenID Connect Core 3.1.2.1: a positive response if the user whom the hint names is logged in.
#[test]
fn a_hint_names_an_account_that_is_not_in_use_and_changes_nothing_in_the_browser() {
    let scene = Scene::new();
    let (browser, first, second) = both(&scene);
    let hint = first.id_token.as_deref().unwrap();
    let before = (browser.cookie(SESSION), browser.cookie(ACCOUNTS));
    for prompt in ["none", ""] {
        let request = scene.rp.authorization_request().with("prompt", prompt).with("id_token_hint", hint);
        assert_eq!(subject(&scene.rp.sign_in_with(&browser, request)), subject(&first), "{prompt}");
    }
    assert_eq!((browser.cookie(SESSION), browser.cookie(ACCOUNTS)), before);
    assert_eq!(silently(&scene, &browser), subject(&second));
    // What needs a page about the account is chosen first; the hinted one is the first on the page.
    let asks = scene.rp.authorization_request().with("prompt", "consent").with("id_token_hint", hint);
    let page = at_page(&browser, &asks);
    assert!(accounts(&page)[0].1.contains(&scene.demo.email), "{page:?}");
    let chosen = press(&browser, &page, ("account", &accounts(&page)[0].0));
    let consent = Scene::to_consent(&browser, &chosen);
    assert!(consent.body.contains(&scene.demo.email), "{consent:?}");
    assert!(Scene::decide(&browser, &consent, "allow").redirected("code").is_some());
    // A name in `login_hint` comes first, too.
    let page = at_page(&browser, &select(&scene.rp).with("login_hint", "OTHER@example.com"));
    assert!(accounts(&page)[0].1.contains(OTHER), "{page:?}");
    // A hint at somebody who is not signed in here stays what it was.
    let (_, hint) = stranger(&scene);
    let silent = scene.rp.authorization_request().with("prompt", "none").with("id_token_hint", &hint);
    assert_eq!(browser.get(&silent.path()).redirected("error").as_deref(), Some("login_required"));
}

#[test]
fn signing_out_ends_one_account_or_all_as_the_page_says() {
    let scene = Scene::new();
    let (browser, first, second) = both(&scene);
    let page = browser.get("/logout");
    assert!(page.body.contains("Signed in as <strong><bdi>other@example.com"), "{page:?}");
    assert!(page.body.contains(&scene.demo.email) && page.body.contains("value=\"all\""), "{page:?}");
    // The ID token of an account that is not in use ends that one, without a question.
    let hint = first.id_token.as_deref().unwrap();
    let out = browser.get(&format!("/logout?id_token_hint={hint}"));
    assert!(out.status == 200 && out.field("csrf_token").is_none(), "{out:?}");
    assert_eq!([userinfo(&scene, &first).status, userinfo(&scene, &second).status], [401, 200]);
    assert_eq!(silently(&scene, &browser), subject(&second));
    assert_eq!(browser.cookie(ACCOUNTS), None);

    let (browser, first, second) = both(&scene);
    let out = sign_out(&browser, "all");
    assert!(out.status == 200 && !out.body.contains("id=\"others\""), "{out:?}");
    assert_eq!([userinfo(&scene, &first).status, userinfo(&scene, &second).status], [401, 401]);
    assert_eq!((browser.cookie(SESSION), browser.cookie(ACCOUNTS)), (None, None));
}

#[test]
fn beyond_as_many_as_the_issuer_allows_the_one_not_used_for_longest_ends() {
    let scene = Scene::new();
    for (wrong, name) in [(0, "1 to 10"), (11, "1 to 10")] {
        let refused =
            scene.server.admin("PATCH", "/settings", Some(json!({ "accounts_per_browser": wrong })));
        assert!(refused.status == 400 && refused.body.contains(name), "{refused:?}");
    }
    let set = scene.server.admin("PATCH", "/settings", Some(json!({ "accounts_per_browser": 2 })));
    assert_eq!(set.json()["settings"]["accounts_per_browser"], 2, "{set:?}");
    let third = json!({ "email": "third@example.com", "email_verified": true, "password": PASSWORD });
    assert_eq!(scene.server.admin("POST", "/users", Some(third)).status, 201);
    let (browser, first, second) = both(&scene);
    // The first one is used again, so the second one goes.
    let page = at_page(&browser, &select(&scene.rp));
    press(&browser, &page, ("account", &sid_of(&page, &scene.demo.email)));
    let login = press(&browser, &at_page(&browser, &select(&scene.rp)), ("other", "true"));
    let login = browser.get(&login.location());
    assert_eq!(Scene::sign_in(&browser, &login, "third@example.com", PASSWORD).status, 303);
    assert_eq!([userinfo(&scene, &first).status, userinfo(&scene, &second).status], [200, 401]);
    let page = at_page(&browser, &select(&scene.rp));
    assert_eq!(accounts(&page).len(), 2, "{page:?}");
    assert!(accounts(&page)[1].1.contains(&scene.demo.email), "{page:?}");
}

#[test]
fn the_account_pages_switch() {
    let scene = Scene::new();
    let (browser, _, _) = both(&scene);
    let account = browser.get("/account");
    assert!(account.body.contains(OTHER) && account.body.contains("href=\"/select-account\""), "{account:?}");
    let page = browser.get(PAGE);
    assert_eq!(page.status, 200, "{page:?}");
    let chosen = press(&browser, &page, ("account", &sid_of(&page, &scene.demo.email)));
    assert_eq!((chosen.status, chosen.location()), (303, "/account".to_owned()));
    let account = browser.get("/account");
    assert!(account.body.contains("Demo User"), "{account:?}");
    let one = json!({ "accounts_per_browser": 1 });
    assert_eq!(scene.server.admin("PATCH", "/settings", Some(one)).status, 200);
    assert!(!browser.get("/account").body.contains("/select-account"));
    let nobody = scene.server.browser().get(PAGE);
    assert!(nobody.location().starts_with("/login?transaction="), "{nobody:?}");
}

/// The sign-in of another person has several pages, while somebody is signed in all along.
#[test]
fn whoever_is_somebody_else_signs_in_over_several_pages() {
    let scene = Scene::new();
    let two_pages = json!({ "sign_in_page": "identifier_first" });
    assert_eq!(scene.server.admin("PATCH", "/settings", Some(two_pages)).status, 200);
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let signed_in = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    let consent = Scene::to_consent(&browser, &signed_in);
    let login = Scene::decide(&browser, &consent, "switch");
    let (transaction, csrf) = hidden(&login);
    let named =
        browser.post("/login", &[("transaction", &transaction), ("csrf_token", &csrf), ("username", OTHER)]);
    assert!(named.location().starts_with("/login?transaction="), "{named:?}");
    let proof = browser.get(&named.location());
    assert!(proof.body.contains(OTHER) && proof.body.contains("name=\"password\""), "{proof:?}");
    let signed_in = Scene::sign_in(&browser, &proof, OTHER, PASSWORD);
    let consent = Scene::to_consent(&browser, &signed_in);
    assert!(consent.body.contains(OTHER), "{consent:?}");
    // Now there are two to choose from.
    let chooser = Scene::decide(&browser, &consent, "switch");
    assert!(chooser.location().starts_with("/select-account?"), "{chooser:?}");
    let page = browser.get(&chooser.location());
    let chosen = press(&browser, &page, ("account", &sid_of(&page, &scene.demo.email)));
    assert!(Scene::to_consent(&browser, &chosen).body.contains(&scene.demo.email));
}

/// Session Management 1.0: the state is the browser's, whichever account an answer is about.
#[test]
fn the_browsers_state_changes_when_the_account_does_or_one_of_them_ends() {
    let server = TestServer::start();
    assert_eq!(server.admin("PATCH", "/settings", Some(json!({ "session_management": true }))).status, 200);
    let rp = RelyingParty::register(&server, json!({}));
    let ((_, first), (_, browser)) =
        (server.signed_in("ann@example.com"), server.signed_in("bob@example.com"));
    let hint = rp.sign_in(&first).id_token.unwrap();
    browser.set_cookie(ACCOUNTS, &first.cookie(SESSION).unwrap());
    let state = |request: AuthorizationRequest| {
        browser.get(&request.with("prompt", "none").path()).redirected("session_state").unwrap()
    };
    let is_unchanged = |session_state: &str| {
        let (found, salt) = session_state.split_once('.').unwrap();
        let here = browser.cookie("symbolon_browser_state").unwrap_or_default();
        let text = format!("{} https://rp.example {here} {salt}", rp.client_id);
        encoding::encode(&digest::sha256(&[text.as_bytes()])) == found
    };
    let of_bob = state(rp.authorization_request());
    let of_ann = state(rp.authorization_request().with("id_token_hint", &hint));
    assert!(is_unchanged(&of_bob) && is_unchanged(&of_ann));
    // Ann signs out at her application: both applications ask again, and Bob's is told that nothing has changed for it.
    assert_eq!(browser.get(&format!("/logout?id_token_hint={hint}")).status, 200);
    assert!(!is_unchanged(&of_bob) && !is_unchanged(&of_ann));
    let of_bob = state(rp.authorization_request());
    assert!(is_unchanged(&of_bob));
    assert!(is_unchanged(&state(rp.authorization_request())) && is_unchanged(&of_bob));
    let ann = rp.authorization_request().with("prompt", "none").with("id_token_hint", &hint);
    assert_eq!(browser.get(&ann.path()).redirected("error").as_deref(), Some("login_required"));
}
