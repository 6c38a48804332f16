//! Pushed authorization requests (RFC 9126).

use std::time::Duration;

use serde_json::json;
use symbolon_testkit::{Answer, AuthorizationRequest, RelyingParty, TestServer, TokenSet};

use crate::login::Scene;

fn push(server: &TestServer, rp: &RelyingParty, request: &AuthorizationRequest) -> Answer {
    let form: Vec<(&str, &str)> =
        request.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let browser = server.browser();
    match rp.client_secret {
        Some(_) => browser.post_with("/par", &form, &[("authorization", &rp.basic())]),
        None => browser.post("/par", &form),
    }
}

/// The authorization request that names a pushed one.
fn pushed(server: &TestServer, rp: &RelyingParty, request: &AuthorizationRequest) -> AuthorizationRequest {
    let answer = push(server, rp, request);
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let body = answer.json();
    assert_eq!(body["expires_in"], 60);
    let uri = body["request_uri"].as_str().expect("a request_uri");
    assert!(uri.starts_with("urn:ietf:params:oauth:request_uri:tx_"), "{uri}");
    let parameters = [("client_id", &*rp.client_id), ("request_uri", uri)];
    AuthorizationRequest {
        parameters: parameters.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        verifier: request.verifier.clone(),
    }
}

fn state(request: &AuthorizationRequest) -> Option<String> {
    request.parameters.iter().find(|(name, _)| name == "state").map(|(_, value)| value.clone())
}

fn assert_unknown(answer: &Answer) {
    assert_eq!((answer.status, &*answer.error()), (400, "invalid_request_uri"), "{answer:?}");
    assert_eq!(answer.header("location"), None);
}

#[test]
fn a_pushed_request_is_answered_once_by_what_was_pushed() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let request = rp.authorization_request().with("prompt", "none");
    let reference = pushed(&server, &rp, &request);
    // RFC 9126 4: what stands beside the reference does not count.
    let sent = reference
        .clone()
        .with("redirect_uri", "https://attacker.example/")
        .with("state", "another")
        .with("prompt", "login")
        .with("response_type", "token");
    let answer = browser.get(&sent.path());
    assert_eq!(answer.status, 302, "{answer:?}");
    assert!(answer.location().starts_with("https://rp.example/callback?code="), "{answer:?}");
    assert_eq!(answer.redirected("state"), state(&request));
    TokenSet::of(&rp.redeem(&answer.redirected("code").unwrap(), &request.verifier));
    assert_unknown(&browser.get(&reference.path()));

    let reference = pushed(&server, &rp, &request);
    let nobody = server.browser().get(&reference.path());
    assert_eq!(nobody.redirected("error").as_deref(), Some("login_required"), "by redirect, as any other");
    assert_unknown(&browser.get(&reference.path()));
    let page = browser.get_with(&reference.path(), &[("accept", "text/html")]);
    assert!(page.header("content-type").unwrap().starts_with("text/html"));
}

#[test]
fn a_person_signs_in_for_a_pushed_request_and_may_reload_the_pages() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let request = scene.rp.authorization_request().with("login_hint", "somebody@example.com");
    let reference = pushed(&scene.server, &scene.rp, &request);
    let sent = browser.get(&reference.path());
    assert_eq!(sent.status, 302, "{sent:?}");
    assert_eq!(browser.get(&sent.location()).status, 200);
    let page = browser.get(&sent.location());
    assert!(page.body.contains("somebody@example.com"), "the seal carries what was pushed: {page:?}");
    assert_unknown(&browser.get(&reference.path()));
    let signed_in = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    let consent = Scene::to_consent(&browser, &signed_in);
    let allowed = Scene::decide(&browser, &consent, "allow");
    assert_eq!(allowed.redirected("state"), state(&request));
    TokenSet::of(&scene.rp.redeem(&allowed.redirected("code").expect("a code"), &request.verifier));
}

#[test]
fn a_reference_is_its_clients_alone_and_ends() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let other = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let request = rp.authorization_request();
    let reference = pushed(&server, &rp, &request);
    assert_unknown(&browser.get(&reference.clone().with("client_id", &other.client_id).path()));
    let unnamed = browser.get(&reference.clone().without("client_id").path());
    assert_eq!((unnamed.status, &*unnamed.error()), (400, "invalid_request"));
    let answer = browser.get(&reference.path());
    assert!(answer.redirected("code").is_some(), "nobody has used it: {answer:?}");

    let reference = pushed(&server, &rp, &request);
    server.clock.advance(Duration::from_secs(60));
    assert_unknown(&browser.get(&reference.path()));
    let invented = reference.with("request_uri", "urn:ietf:params:oauth:request_uri:tx_1_0_AAAAAAAAAAAAAAAA");
    assert_unknown(&browser.get(&invented.path()));
    // A reference of another form is no pushed request.
    let by_address = request.with("request_uri", "https://rp.example/request.jwt");
    let answer = browser.get(&by_address.path());
    assert_eq!(answer.redirected("error").as_deref(), Some("invalid_request_uri"));
}

#[test]
fn what_the_authorization_endpoint_refuses_is_refused_as_json() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let good = || rp.authorization_request();
    let mut twice = good();
    twice.parameters.push(("scope".to_owned(), "openid".to_owned()));
    for (request, error) in [
        (good().without("redirect_uri"), "invalid_request"),
        (good().with("redirect_uri", "https://rp.example/callback/"), "invalid_request"),
        (good().with("response_type", "token"), "unsupported_response_type"),
        (good().with("scope", "nothing"), "invalid_scope"),
        (good().with("prompt", "none login"), "invalid_request"),
        (good().with("request", "eyJ"), "invalid_request_object"),
        (good().with("request_uri", "urn:ietf:params:oauth:request_uri:tx_1_0_A"), "invalid_request"),
        (good().with("client_id", "another"), "invalid_request"),
        (good().without("client_id"), "invalid_request"),
        (good().with("login_hint", &"x".repeat(9_000)), "invalid_request"),
        (twice, "invalid_request"),
    ] {
        let answer = push(&server, &rp, &request);
        assert_eq!((answer.status, &*answer.error()), (400, error), "{answer:?}");
        assert_eq!((answer.header("location"), answer.header("cache-control")), (None, Some("no-store")));
    }
    let posing = RelyingParty::known(&server, &rp.client_id, Some("a-wrong-secret-of-thirty-two-chars"), "");
    for answer in [
        push(&server, &posing, &good()),
        push(&server, &RelyingParty::known(&server, &rp.client_id, None, ""), &good()),
    ] {
        assert_eq!((answer.status, &*answer.error()), (401, "invalid_client"), "{answer:?}");
    }
    assert_eq!(server.browser().get("/par").status, 405);
}

#[test]
fn a_public_client_pushes_by_its_name() {
    let server = TestServer::start();
    let public = json!({ "token_endpoint_auth_method": "none", "grant_types": ["authorization_code"] });
    let rp = RelyingParty::register(&server, public);
    let (_, browser) = server.signed_in("a@example.com");
    let request = rp.authorization_request();
    let code = browser.get(&pushed(&server, &rp, &request).path()).redirected("code").expect("a code");
    TokenSet::of(&rp.redeem(&code, &request.verifier));
    let answer = push(&server, &rp, &request.without("code_challenge").without("code_challenge_method"));
    assert_eq!(
        (answer.status, &*answer.error()),
        (400, "invalid_request"),
        "PKCE is for pushed requests too"
    );
}

#[test]
fn client_or_issuer_may_take_pushed_requests_only() {
    let server = TestServer::start();
    let strict = RelyingParty::register(&server, json!({ "require_pushed_authorization_requests": true }));
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let direct = |rp: &RelyingParty| browser.get(&rp.authorization_request().path());
    let refused = direct(&strict);
    assert_eq!(refused.redirected("error").as_deref(), Some("invalid_request"), "{refused:?}");
    assert!(direct(&rp).redirected("code").is_some());
    let through = |rp: &RelyingParty| {
        let reference = pushed(&server, rp, &rp.authorization_request());
        browser.get(&reference.path()).redirected("code").is_some()
    };
    assert!(through(&strict) && through(&rp));

    let discovery = || server.browser().get("/.well-known/openid-configuration").json();
    assert_eq!(discovery()["require_pushed_authorization_requests"], false);
    let endpoint = format!("{}/par", server.issuer);
    assert_eq!(discovery()["pushed_authorization_request_endpoint"].as_str(), Some(&*endpoint));
    let body = json!({ "require_pushed_authorization_requests": true });
    assert_eq!(server.admin("PATCH", "/settings", Some(body)).status, 200);
    assert_eq!(discovery()["require_pushed_authorization_requests"], true);
    assert_eq!(direct(&rp).redirected("error").as_deref(), Some("invalid_request"));
    assert!(through(&strict) && through(&rp));
}
