//! Devices without a browser of their own (RFC 8628).

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_testkit::{Answer, Browser, Options, RelyingParty, TestServer, TokenSet, decode_jwt};

use crate::login::Scene;

pub(crate) const DEVICE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// The codes that a device was given.
pub(crate) struct Codes {
    pub(crate) device: String,
    pub(crate) user: String,
}

impl Codes {
    /// The page with the code, as a picture on the device would lead to it.
    pub(crate) fn page(&self) -> String {
        format!("/device?user_code={}", self.user)
    }
}

/// A television: a public client without redirect URI.
pub(crate) fn television(server: &TestServer) -> RelyingParty {
    let metadata = json!({
        "client_name": "Television", "redirect_uris": [], "token_endpoint_auth_method": "none",
        "grant_types": [DEVICE, "refresh_token"], "token_exchange_allowed": false,
    });
    RelyingParty::register(server, metadata)
}

pub(crate) fn ask(rp: &RelyingParty, scope: &str) -> Codes {
    let answer = rp.post("/device_authorization", &[("scope", scope)]);
    assert_eq!(answer.status, 200, "{answer:?}");
    let body = answer.json();
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    Codes { device: text("device_code"), user: text("user_code") }
}

pub(crate) fn poll(rp: &RelyingParty, codes: &Codes) -> Answer {
    rp.token(&[("grant_type", DEVICE), ("device_code", &codes.device)])
}

/// Decides on the page that the code leads to.
pub(crate) fn decide(browser: &Browser, codes: &Codes, decision: &str) -> Answer {
    let page = browser.get(&codes.page());
    assert_eq!(page.status, 200, "{page:?}");
    send(browser, &page, decision)
}

fn send(browser: &Browser, page: &Answer, decision: &str) -> Answer {
    let field = |name: &str| page.field(name).expect("a hidden field");
    let (code, csrf) = (field("user_code"), field("csrf_token"));
    browser.post("/device", &[("user_code", &code), ("csrf_token", &csrf), ("decision", decision)])
}

fn told(answer: &Answer) -> (u16, String) {
    (answer.status, answer.error())
}

fn assert_told(answer: &Answer, error: &str) {
    assert_eq!(told(answer), (400, error.to_owned()), "{answer:?}");
}

fn userinfo(server: &TestServer, tokens: &TokenSet) -> Answer {
    let bearer = format!("Bearer {}", tokens.access_token);
    server.browser().get_with("/userinfo", &[("authorization", &bearer)])
}

#[test]
fn a_person_signs_in_compares_the_code_and_allows_the_device() {
    let scene = Scene::new();
    let rp = television(&scene.server);
    let answer = rp.post("/device_authorization", &[("scope", "openid email offline_access")]);
    assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-store")), "{answer:?}");
    let body = answer.json();
    let codes = Codes {
        device: body["device_code"].as_str().unwrap().to_owned(),
        user: body["user_code"].as_str().unwrap().to_owned(),
    };
    let page = format!("{}/device", scene.server.issuer);
    assert_eq!(
        (&body["verification_uri"], &body["expires_in"], &body["interval"]),
        (&json!(page), &json!(600), &json!(5))
    );
    assert_eq!(body["verification_uri_complete"], json!(format!("{page}?user_code={}", codes.user)));
    assert_told(&poll(&rp, &codes), "authorization_pending");

    // The code is typed in another way than it is shown, and the person has to sign in first.
    let browser = scene.server.browser();
    let typed = codes.user.to_lowercase().replace('-', "+");
    let asked = browser.get(&format!("/device?user_code={typed}"));
    assert!(asked.location().starts_with("/login?transaction="), "{asked:?}");
    let login = browser.get(&asked.location());
    let signed_in = Scene::sign_in(&browser, &login, &scene.demo.email, &scene.demo.password);
    assert_eq!((signed_in.status, signed_in.location()), (303, codes.page()), "{signed_in:?}");
    let page = browser.get(&signed_in.location());
    for shown in ["Television", &*codes.user, "offline_access", "Go on only if", "id=\"not-you\""] {
        assert!(page.body.contains(shown), "{shown}: {page:?}");
    }
    assert_told(&poll(&rp, &codes), "slow_down");

    let allowed = send(&browser, &page, "allow");
    assert_eq!((allowed.status, &*allowed.location()), (303, "/device?done=allowed"), "{allowed:?}");
    assert!(browser.get(&allowed.location()).body.contains("Go back to the device"));
    // Sent twice, and opened again: the same page.
    assert_eq!(send(&browser, &page, "deny").location(), "/device?done=allowed");
    assert_eq!(browser.get(&codes.page()).location(), "/device?done=allowed");
    let tokens = TokenSet::of(&poll(&rp, &codes));
    assert_eq!(userinfo(&scene.server, &tokens).json()["email"], json!(scene.demo.email));
    let (_, claims) = decode_jwt(tokens.id_token.as_deref().unwrap());
    assert_eq!((&claims["aud"], claims["sid"].is_string()), (&json!(rp.client_id), true));
    assert_eq!(rp.refresh(tokens.refresh_token.as_deref().unwrap()).status, 200);
}

#[test]
fn a_device_learns_what_became_of_its_codes() {
    let server = TestServer::start();
    let (rp, other) = (television(&server), television(&server));
    let (_, browser) = server.signed_in("a@example.com");
    let codes = ask(&rp, "openid");
    let after = |seconds| server.clock.advance(Duration::from_secs(seconds));
    assert_told(&poll(&rp, &codes), "authorization_pending");
    after(5);
    assert_told(&poll(&rp, &codes), "authorization_pending");
    after(2);
    assert_told(&poll(&rp, &codes), "slow_down");
    after(6);
    assert_told(&poll(&rp, &codes), "slow_down");
    after(15);
    assert_told(&poll(&rp, &codes), "authorization_pending");
    // Another client's request tells nothing and changes nothing.
    assert_told(&poll(&other, &codes), "invalid_grant");
    assert_eq!(decide(&browser, &codes, "deny").location(), "/device?done=denied");
    for _ in 0..2 {
        assert_told(&poll(&rp, &codes), "access_denied");
    }
    let late = ask(&rp, "openid");
    after(600);
    assert_told(&poll(&rp, &late), "expired_token");
    assert_eq!(browser.get(&late.page()).status, 400, "the page says so too");
    let not_ours = Codes { device: late.user.clone(), user: late.user };
    assert_told(&poll(&rp, &not_ours), "invalid_grant");
    assert_told(&rp.token(&[("grant_type", DEVICE)]), "invalid_request");
}

#[test]
fn a_code_is_redeemed_once_and_a_second_use_ends_what_came_of_it() {
    let server = TestServer::start();
    let rp = television(&server);
    let (_, browser) = server.signed_in("a@example.com");
    let codes = ask(&rp, "openid offline_access");
    decide(&browser, &codes, "allow");
    let tokens = TokenSet::of(&poll(&rp, &codes));
    assert_eq!(userinfo(&server, &tokens).status, 200);
    assert_told(&poll(&rp, &codes), "invalid_grant");
    assert_eq!(userinfo(&server, &tokens).status, 401);
    assert_told(&rp.refresh(tokens.refresh_token.as_deref().unwrap()), "invalid_grant");
}

#[test]
fn what_a_device_has_ends_with_the_session_unless_it_asked_for_more() {
    let server = TestServer::start();
    let rp = television(&server);
    let (_, browser) = server.signed_in("a@example.com");
    let tokens_for = |scope: &str| {
        let codes = ask(&rp, scope);
        decide(&browser, &codes, "allow");
        TokenSet::of(&poll(&rp, &codes))
    };
    let (bound, outliving) = (tokens_for("openid"), tokens_for("openid offline_access"));
    let late = ask(&rp, "openid");
    decide(&browser, &late, "allow");
    let (_, claims) = decode_jwt(bound.id_token.as_deref().unwrap());
    let session = format!("/sessions/{}", claims["sid"].as_str().unwrap());
    assert_eq!(server.admin("DELETE", &session, None).status, 204);
    assert_told(&rp.refresh(bound.refresh_token.as_deref().unwrap()), "invalid_grant");
    assert_eq!(rp.refresh(outliving.refresh_token.as_deref().unwrap()).status, 200);
    assert_told(&poll(&rp, &late), "invalid_grant");
}

#[test]
fn an_address_alone_allows_nothing_and_a_form_is_for_one_device_and_browser() {
    let server = TestServer::start();
    let rp = television(&server);
    let (_, browser) = server.signed_in("a@example.com");
    let (codes, other) = (ask(&rp, "openid"), ask(&rp, "openid"));
    let page = browser.get(&codes.page());
    let csrf = page.field("csrf_token").unwrap();
    let (_, stranger) = server.signed_in("b@example.com");
    let form = |code: &str, csrf: &str| -> Vec<(String, String)> {
        [("user_code", code), ("csrf_token", csrf), ("decision", "allow")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec()
    };
    let post = |browser: &Browser, form: &[(String, String)], headers: &[(&str, &str)]| {
        let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (&**name, &**value)).collect();
        browser.post_with("/device", &form, headers)
    };
    for (who, form, is_foreign) in [
        (&browser, form(&codes.user, ""), false),
        (&browser, form(&other.user, &csrf), false),
        (&stranger, form(&codes.user, &csrf), false),
        (&browser, form(&codes.user, &csrf), true),
    ] {
        let headers: &[(&str, &str)] = if is_foreign { &[("sec-fetch-site", "cross-site")] } else { &[] };
        let answer = post(who, &form, headers);
        // Another site's form is not looked at: it could use up the person's tries.
        assert_eq!(answer.status, if is_foreign { 200 } else { 403 }, "{answer:?}");
        let is_asked = answer.body.contains("id=\"device-consent\"");
        assert_eq!(is_asked, !is_foreign, "the person is asked anew: {answer:?}");
    }
    for codes in [&codes, &other] {
        assert_told(&poll(&rp, codes), "authorization_pending");
    }
    // Somebody who sends another person the address gets nothing by that person's decision.
    assert_eq!(send(&browser, &page, "allow").location(), "/device?done=allowed");
    assert_eq!(stranger.get(&codes.page()).status, 400, "the code is over for anybody else");
    let switched = decide(&browser, &other, "switch");
    assert!(switched.location().starts_with("/select-account?transaction="), "{switched:?}");
}

/// A page of another site leads a browser to wrong codes: nothing is looked up, so nobody's tries are used up.
#[test]
fn another_site_uses_up_nobodys_tries() {
    let options = Options::default().one_node().env("SYMBOLON_RATE_LIMITS", "on");
    let server = TestServer::start_with(options);
    let rp = television(&server);
    let (_, browser) = server.signed_in("a@example.com");
    let codes = ask(&rp, "openid");
    for _ in 0..30 {
        let page = browser.get_with("/device?user_code=BCDF-GHJK", &[("sec-fetch-site", "cross-site")]);
        assert_eq!(page.status, 200, "{page:?}");
        assert!(page.body.contains("BCDF-GHJK"), "it is filled in: {page:?}");
    }
    let page = browser.get(&codes.page());
    assert!(page.body.contains("id=\"device-consent\""), "{page:?}");
}

#[test]
fn of_many_guesses_few_are_looked_up() {
    let options = Options::default()
        .one_node()
        .env("SYMBOLON_RATE_LIMITS", "on")
        .env("SYMBOLON_RATE_LIMIT_LOGIN_ACCOUNT", "3/m");
    let server = TestServer::start_with(options);
    let rp = television(&server);
    let (_, guesser) = server.signed_in("a@example.com");
    let codes = ask(&rp, "openid");
    assert_eq!(guesser.get("/device?user_code=12").status, 400, "what cannot be a code is no guess");
    let guess = |code: &str| guesser.get(&format!("/device?user_code={code}")).status;
    let told: Vec<u16> = ["BBBB-BBBB", "CCCC-CCCC", "DDDD-DDDD", "FFFF-FFFF"].map(guess).to_vec();
    assert_eq!(told, [400, 400, 400, 429]);
    assert_eq!(guess(&codes.user), 429, "the right one is not looked up either");
    let (_, person) = server.signed_in("b@example.com");
    assert_eq!(decide(&person, &codes, "allow").status, 303, "who does not guess is not kept out");
    server.clock.advance(Duration::from_secs(20));
    assert_eq!(guess("GGGG-GGGG"), 400);
}

#[test]
fn what_a_device_may_not_ask_for_is_refused() {
    let server = TestServer::start();
    let rp = television(&server);
    let without = RelyingParty::register(&server, json!({}));
    let asked = |rp: &RelyingParty, form: &[(&str, &str)]| told(&rp.post("/device_authorization", form));
    assert_eq!(asked(&without, &[("scope", "openid")]), (400, "unauthorized_client".to_owned()));
    assert_eq!(asked(&rp, &[("scope", "nothing")]), (400, "invalid_scope".to_owned()));
    let repeated = [("scope", "openid"), ("scope", "email")];
    assert_eq!(asked(&rp, &repeated), (400, "invalid_request".to_owned()));
    let nobody = RelyingParty::known(&server, "nobody", None, "");
    assert_eq!(asked(&nobody, &[]), (401, "invalid_client".to_owned()));
    let codes = ask(&rp, "openid");
    assert_eq!(told(&poll(&without, &codes)), (400, "unauthorized_client".to_owned()));
    assert_eq!(server.browser().get("/device_authorization").status, 405);
    // A confidential client authenticates here too.
    let confidential =
        json!({ "grant_types": [DEVICE], "redirect_uris": [], "token_exchange_allowed": false });
    let confidential = RelyingParty::register(&server, confidential);
    assert!(!ask(&confidential, "openid").user.is_empty());
    let posing = RelyingParty::known(&server, &confidential.client_id, None, "");
    assert_eq!(asked(&posing, &[]), (401, "invalid_client".to_owned()));

    let discovery: Value = server.browser().get("/.well-known/openid-configuration").json();
    let endpoint = json!(format!("{}/device_authorization", server.issuer));
    assert_eq!(discovery["device_authorization_endpoint"], endpoint);
    assert!(discovery["grant_types_supported"].as_array().unwrap().contains(&json!(DEVICE)));
}

#[test]
fn a_client_that_demands_a_second_factor_gets_nothing_without_one() {
    let server = TestServer::start();
    let metadata = json!({
        "redirect_uris": [], "grant_types": [DEVICE], "token_endpoint_auth_method": "none",
        "token_exchange_allowed": false, "settings": { "second_factor": "required" },
    });
    let rp = RelyingParty::register(&server, metadata);
    let (_, browser) = server.signed_in("a@example.com");
    let codes = ask(&rp, "openid");
    let answer = browser.get(&codes.page());
    assert!(answer.status == 403 || answer.location().starts_with("/login?transaction="), "{answer:?}");
    assert_eq!(answer.field("csrf_token").filter(|_| answer.status == 200), None);
    assert_told(&poll(&rp, &codes), "authorization_pending");
}
