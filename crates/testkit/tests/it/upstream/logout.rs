//! Logouts that are passed on to another provider.

use data_encoding::BASE32_NOPAD;
use serde_json::json;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::one_time_password::hotp;
use symbolon_crypto::secret::SecretBytes;
use symbolon_testkit::{Answer, Browser, RelyingParty, Signing, TestServer, TokenSet};

use super::fake::{Fake, ok};
use super::{ANN, Scene, add, at_login, local, options, parameter};
use crate::login::hidden;
use crate::second_factor::{between, confirm};

const AFTER: &str = "https://app.example/bye";

/// A server that passes logouts on, and a person who is signed in at the provider.
fn scene(logout: &str) -> (Scene, Browser) {
    let scene = Scene::new(json!({ "sign_up": true, "logout": logout }));
    let registered = json!({ "post_logout_redirect_uris": [AFTER] });
    let path = format!("/clients/{}", scene.rp.client_id);
    assert_eq!(scene.server.admin("PATCH", &path, Some(registered)).status, 200);
    let shown = scene.server.admin("GET", "/identity-providers/acme", None).json();
    let shown = &shown["identity_provider"];
    let registered = json!({ "post_logout_redirect_uris": [shown["logout_callback"]] });
    let path = format!("/clients/{}", shown["client_id"].as_str().unwrap());
    assert_eq!(scene.upstream.admin("PATCH", &path, Some(registered)).status, 200);
    let (_, person) = scene.upstream.signed_in(ANN);
    (scene, person)
}

/// Signs in by the provider; the browser and the tokens.
fn signed_in(scene: &Scene, person: &Browser) -> (Browser, TokenSet) {
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    let done = scene.through(&browser, person, &request);
    let code = done.redirected("code").unwrap_or_else(|| panic!("no code: {done:?}"));
    (browser, TokenSet::of(&scene.rp.redeem(&code, &request.verifier)))
}

/// The application's logout request.
fn asked(tokens: &TokenSet) -> String {
    let hint = tokens.id_token.as_deref().unwrap();
    let parameters = [("id_token_hint", hint), ("post_logout_redirect_uri", AFTER), ("state", "s 1")];
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    format!("/logout?{query}")
}

/// Signs out at the provider, whose page asks; where it leads.
fn confirmed(person: &Browser, to: &str) -> String {
    let page = person.get(&local(to));
    let (transaction, csrf) = hidden(&page);
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("decision", "confirm")];
    person.post("/logout/confirm", &form).location()
}

fn is_signed_in(rp: &RelyingParty, browser: &Browser) -> bool {
    let silent = browser.get(&rp.authorization_request().with("prompt", "none").path());
    silent.redirected("code").is_some()
}

/// Whether an answer is the page that says that the person is signed out, which leads nowhere.
fn ends_here(answer: &Answer) -> bool {
    answer.status == 200 && answer.header("location").is_none() && answer.header("refresh").is_none()
}

#[test]
fn a_logout_is_passed_on_and_comes_back() {
    let (scene, person) = scene("passed_on");
    let (browser, tokens) = signed_in(&scene, &person);
    let led = browser.get(&asked(&tokens));
    let to = led.location();
    assert!(to.starts_with(&format!("{}/logout?", scene.upstream.issuer)), "{led:?}");
    let callback = format!("{}/logout/callback", scene.server.issuer);
    assert_eq!(parameter(&to, "post_logout_redirect_uri").as_deref(), Some(&*callback));
    assert_eq!(parameter(&to, "id_token_hint"), None);
    assert!(!is_signed_in(&scene.rp, &browser), "the session here has ended before");
    assert_eq!(browser.cookie("symbolon_provider"), None);

    let theirs = person.cookie("symbolon_session");
    let back = confirmed(&person, &to);
    assert!(back.starts_with(&format!("{callback}?state=")), "{back}");
    assert!(theirs.is_some() && person.cookie("symbolon_session").is_none());
    let done = browser.get(&local(&back));
    assert_eq!((done.status, done.location()), (302, format!("{AFTER}?state=s%201")), "{done:?}");
}

#[test]
fn nobody_who_is_signed_in_is_told_otherwise() {
    let (scene, person) = scene("passed_on");
    let (browser, _) = signed_in(&scene, &person);
    for path in ["/logout/callback", "/logout/callback?state=x"] {
        let answer = browser.get(path);
        assert_eq!((answer.status, answer.location().as_str()), (302, "/"), "{answer:?}");
    }
    assert!(is_signed_in(&scene.rp, &browser));
}

/// The way back is sealed, for one browser, and for a while. Nobody makes an address that leads elsewhere.
#[test]
fn who_comes_back_in_another_browser_is_led_nowhere() {
    let (scene, person) = scene("passed_on");
    let (browser, tokens) = signed_in(&scene, &person);
    let to = browser.get(&asked(&tokens)).location();
    let state = parameter(&to, "state").unwrap();
    let callback = format!("/logout/callback?state={state}");
    let other = scene.server.browser();
    at_login(&other, &scene.rp.authorization_request());
    for stranger in [&other, &scene.server.browser()] {
        let answer = stranger.get(&callback);
        assert!(ends_here(&answer), "{answer:?}");
    }
    let flipped = format!("{}A{}", &state[..20], &state[21..]);
    let other_letter = format!("{}B{}", &state[..20], &state[21..]);
    let tampered = if flipped == state { other_letter } else { flipped };
    // What is sealed for the way in, or for a page, is no way out.
    let page = at_login(&browser, &scene.rp.authorization_request());
    for wrong in [&*tampered, "", "https://evil.example", &hidden(&page).0] {
        let answer = browser.get(&format!("/logout/callback?state={wrong}"));
        assert!(ends_here(&answer), "{wrong}: {answer:?}");
    }
    assert!(ends_here(&browser.get(&format!("/logout/callback?to={AFTER}"))));
    assert!(browser.get(&callback).location().starts_with(AFTER), "the state itself is good");
    scene.server.clock.advance(std::time::Duration::from_secs(601));
    assert!(ends_here(&browser.get(&callback)), "too late");
}

/// Nothing is passed on without the setting, nor for a session that began otherwise in the same browser.
#[test]
fn a_logout_ends_here_where_it_is_not_passed_on() {
    let (scene, person) = scene("here");
    let (browser, tokens) = signed_in(&scene, &person);
    assert_eq!(browser.cookie("symbolon_provider"), None);
    assert!(browser.get(&asked(&tokens)).location().starts_with(AFTER));

    let on = json!({ "logout": "passed_on" });
    assert_eq!(scene.server.admin("PATCH", "/identity-providers/acme", Some(on)).status, 200);
    let (browser, _) = signed_in(&scene, &person);
    let kept = browser.cookie("symbolon_provider").unwrap();
    // Another session in a browser that still has the cookie.
    let (_, other) = scene.server.signed_in("bea@example.com");
    other.set_cookie("symbolon_provider", &kept);
    let tokens = scene.rp.sign_in(&other);
    assert!(other.get(&asked(&tokens)).location().starts_with(AFTER));

    let github = json!({ "id": "github", "preset": "github", "client_id": "us", "logout": "passed_on" });
    let refused = scene.server.admin("POST", "/identity-providers", Some(github));
    assert!(refused.status == 400 && refused.body.contains("end_session_endpoint"), "{refused:?}");
}

/// A provider without the endpoint, or whose metadata cannot be read, keeps nobody from signing out.
#[test]
fn a_provider_that_takes_no_logout_is_left_out() {
    let key = Signing::generate(Algorithm::EdDsa);
    let fake = Fake::start(&key.jwks());
    let server = TestServer::start_with(options());
    add(&server, "acme", json!({ "issuer": fake.issuer, "sign_up": true, "logout": "passed_on" }));
    let rp = RelyingParty::register(&server, json!({ "post_logout_redirect_uris": [AFTER] }));
    let out = |browser: &Browser| {
        let request = rp.authorization_request();
        let to = super::press(browser, &at_login(browser, &request), "acme");
        let (nonce, now) = (parameter(&to, "nonce").unwrap(), server.now().seconds());
        let truth = json!({
            "iss": fake.issuer, "aud": "us", "sub": "s1", "nonce": nonce, "iat": now, "exp": now + 300,
        });
        fake.say(&key.jwt("JWT", &truth));
        let state = parameter(&to, "state").unwrap();
        let done = browser.get(&format!("/login/callback/acme?code=c&state={state}"));
        TokenSet::of(&rp.redeem(&done.redirected("code").unwrap(), &request.verifier))
    };
    let browser = server.browser();
    let tokens = out(&browser);
    assert!(browser.get(&asked(&tokens)).location().starts_with(AFTER), "it has no end_session_endpoint");
    let mut metadata = fake.metadata();
    metadata["end_session_endpoint"] = json!(format!("{}/bye?tenant=1", fake.issuer));
    fake.set("/.well-known/openid-configuration", ok(&metadata));
    server.clock.advance(std::time::Duration::from_secs(3_601));
    let browser = server.browser();
    let tokens = out(&browser);
    let led = browser.get(&asked(&tokens)).location();
    assert!(led.starts_with(&format!("{}/bye?tenant=1&client_id=us&", fake.issuer)), "{led}");
    fake.set("/.well-known/openid-configuration", ("500 No".to_owned(), String::new()));
    let browser = server.browser();
    let tokens = out(&browser);
    server.clock.advance(std::time::Duration::from_secs(3_601));
    assert!(browser.get(&asked(&tokens)).location().starts_with(AFTER), "its metadata cannot be read");
}

/// A second factor after the provider changes nothing of it: neither where it is set up on the way, nor where it is asked for.
#[test]
fn a_logout_is_passed_on_after_a_second_factor_too() {
    let (scene, person) = scene("passed_on");
    let required = json!({ "second_factor": "required" });
    assert_eq!(scene.server.admin("PATCH", "/settings", Some(required)).status, 200);
    let asked_for = |browser: &Browser| {
        let led = scene.through(browser, &person, &scene.rp.authorization_request());
        assert!(led.location().starts_with("/login/second-factor?"), "{led:?}");
        browser.get(&led.location())
    };
    let out = |browser: &Browser| browser.get(&asked(&scene.rp.sign_in(browser))).location();
    let browser = scene.server.browser();
    let page = asked_for(&browser);
    let typed = between(&page.body, "<code id=\"secret\" dir=\"ltr\">", "</code>").replace(' ', "");
    let secret = SecretBytes::new(BASE32_NOPAD.decode(typed.as_bytes()).unwrap());
    let code = || format!("{:06}", hotp(&secret, scene.server.now().millis() / 30_000, 6));
    assert_eq!(confirm(&browser, &page, &code()).status, 200);
    let to = out(&browser);
    assert!(to.starts_with(&format!("{}/logout?", scene.upstream.issuer)), "{to}");
    scene.server.clock.advance(std::time::Duration::from_secs(60));
    let browser = scene.server.browser();
    let page = asked_for(&browser);
    assert!(confirm(&browser, &page, &code()).redirected("code").is_some());
    let to = out(&browser);
    assert!(to.starts_with(&format!("{}/logout?", scene.upstream.issuer)), "{to}");
}
