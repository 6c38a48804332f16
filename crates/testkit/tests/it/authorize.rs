//! The authorization endpoint with a session that is there, and without.

use std::time::Duration;

use serde_json::json;
use symbolon_protocol::consent::Consent;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::scope::Scope;
use symbolon_testkit::{RelyingParty, TestServer, TokenSet, decode_jwt, is_clustered};

#[test]
fn silent_authentication_gives_a_code_that_gives_tokens() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (user, browser) = server.signed_in("a@example.com");
    let request = rp.authorization_request().with("prompt", "none");
    let answer = browser.get(&request.path());
    assert_eq!(answer.status, 302);
    assert!(answer.location().starts_with("https://rp.example/callback?code="), "{answer:?}");
    let state = request.parameters.iter().find(|(name, _)| name == "state").unwrap().1.clone();
    assert_eq!(answer.redirected("state"), Some(state));
    assert_eq!(answer.redirected("iss"), Some(server.issuer.clone()));

    let tokens = rp.redeem(&answer.redirected("code").unwrap(), &request.verifier);
    assert_eq!(tokens.status, 200, "{tokens:?}");
    assert_eq!(tokens.header("cache-control"), Some("no-store"));
    let body = tokens.json();
    let (header, claims) = decode_jwt(body["access_token"].as_str().unwrap());
    assert_eq!(header["typ"], "at+jwt");
    assert_eq!((claims["sub"].as_str(), claims["iss"].as_str()), (Some(&*user), Some(&*server.issuer)));
    let (_, id) = decode_jwt(body["id_token"].as_str().unwrap());
    let nonce = request.parameters.iter().find(|(name, _)| name == "nonce").unwrap().1.clone();
    assert_eq!((id["nonce"].as_str(), id["aud"].as_str()), (Some(&*nonce), Some(&*rp.client_id)));
    assert!(body["refresh_token"].as_str().unwrap().starts_with("rt_"));

    let bearer = format!("Bearer {}", body["access_token"].as_str().unwrap());
    let info = server.browser().get_with("/userinfo", &[("authorization", &bearer)]);
    assert_eq!((info.status, info.json()["email"].as_str()), (200, Some("a@example.com")));
}

/// OpenID Connect Core 3.1.2.1: a request may be posted as a form, and its answer is the same (RFC 9700 4.12: by 303).
#[test]
fn a_request_may_be_posted() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let request = rp.authorization_request().with("prompt", "none");
    let form: Vec<(&str, &str)> =
        request.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let answer = browser.post("/authorize", &form);
    assert_eq!(answer.status, 303, "{answer:?}");
    let state = request.parameters.iter().find(|(name, _)| name == "state").unwrap().1.clone();
    assert_eq!(answer.redirected("state"), Some(state));
    TokenSet::of(&rp.redeem(&answer.redirected("code").unwrap(), &request.verifier));
    let nobody = server.browser().post("/authorize", &form);
    assert_eq!(nobody.redirected("error").as_deref(), Some("login_required"));
    // RFC 6749 3.1: what repeats is refused here too.
    let twice = [&form[..], &[("state", "another")]].concat();
    assert_eq!(browser.post("/authorize", &twice).redirected("error").as_deref(), Some("invalid_request"));
}

/// Client, session, user and consent are in memory after the first time, and a code lives nowhere else.
#[test]
fn silent_authentication_asks_the_database_once() {
    // There its heartbeat asks the database as well.
    if is_clustered() {
        return;
    }
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({ "skip_consent": false }));
    let (user, browser) = server.signed_in("a@example.com");
    let silent = || browser.get(&rp.authorization_request().with("prompt", "none").path());
    assert_eq!(silent().redirected("error").as_deref(), Some("consent_required"));
    let consent = Consent::new(Scope::parse("openid profile email").unwrap(), server.now());
    let (issuer, user) = (IssuerId::default_issuer(), UserId::parse(&user).unwrap());
    let client = ClientId::parse(&rp.client_id).unwrap();
    assert!(server.block_on(server.app.store.allow(&issuer, &user, &client, consent.into())).unwrap());
    assert!(silent().redirected("code").is_some(), "the change is seen at once");
    // Beginning the grant is in the audit log: it is to be written before, not meanwhile.
    server.drain_audit();
    let queries = || {
        let database = server.app.store.figures().snapshot().database;
        (database.read_queries, database.write_queries)
    };
    // A job may ask the database meanwhile, above all at the start; whoever asks with every request always does.
    let asks_nothing = |_| {
        let before = queries();
        for _ in 0..3 {
            assert!(silent().redirected("code").is_some());
        }
        queries() == before
    };
    assert!((0..10).any(asks_nothing));
    server.block_on(server.app.store.withdraw(&issuer, &user, &client)).unwrap();
    assert_eq!(silent().redirected("error").as_deref(), Some("consent_required"));
}

#[test]
fn without_a_session_prompt_none_is_login_required() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let answer = server.browser().get(&rp.authorization_request().with("prompt", "none").path());
    assert_eq!(answer.redirected("error"), Some("login_required".into()));
    assert_eq!(answer.redirected("iss"), Some(server.issuer.clone()));
}

#[test]
fn an_unknown_client_or_redirect_uri_goes_nowhere() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    for request in [
        rp.authorization_request().with("client_id", "nobody"),
        rp.authorization_request().with("redirect_uri", "https://rp.example/callback/"),
        rp.authorization_request().without("redirect_uri"),
    ] {
        let answer = browser.get(&request.path());
        assert_eq!((answer.status, answer.header("location")), (400, None), "{request:?}");
    }
    let page = browser
        .get_with(&rp.authorization_request().with("client_id", "nobody").path(), &[("accept", "text/html")]);
    assert!(page.header("content-type").unwrap().starts_with("text/html"));
    assert!(page.header("content-security-policy").unwrap().contains("default-src 'none'"));
}

#[test]
fn a_session_ends_when_its_time_is_over_and_takes_its_codes_along() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let request = rp.authorization_request();
    let code = browser.get(&request.path()).redirected("code").unwrap();
    server.clock.advance(Duration::from_secs(61));
    assert_eq!(rp.redeem(&code, &request.verifier).error(), "invalid_grant");
    server.clock.advance(Duration::from_secs(7200));
    let answer = browser.get(&rp.authorization_request().with("prompt", "none").path());
    assert_eq!(answer.redirected("error"), Some("login_required".into()));
}

#[test]
fn a_replayed_code_ends_its_grant() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let request = rp.authorization_request();
    let code = browser.get(&request.path()).redirected("code").unwrap();
    let other = rp.sign_in(&browser);
    let first = rp.redeem(&code, &request.verifier).json();
    let bearer = format!("Bearer {}", first["access_token"].as_str().unwrap());
    assert_eq!(server.browser().get_with("/userinfo", &[("authorization", &bearer)]).status, 200);

    // Without the verifier nobody can burn the grant.
    let stolen = rp.redeem(&code, "not-the-verifier-not-the-verifier-not-the-verifier");
    assert_eq!(stolen.error(), "invalid_grant");
    assert_eq!(server.browser().get_with("/userinfo", &[("authorization", &bearer)]).status, 200);

    assert_eq!(rp.redeem(&code, &request.verifier).error(), "invalid_grant");
    assert_eq!(server.browser().get_with("/userinfo", &[("authorization", &bearer)]).status, 401);
    assert_eq!(rp.refresh(first["refresh_token"].as_str().unwrap()).error(), "invalid_grant");
    // The other grant of the same session lives on.
    let bearer = format!("Bearer {}", other.access_token);
    assert_eq!(server.browser().get_with("/userinfo", &[("authorization", &bearer)]).status, 200);
}

#[test]
fn a_code_that_comes_again_after_its_end_ends_its_grant_too() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let request = rp.authorization_request();
    let code = browser.get(&request.path()).redirected("code").unwrap();
    let tokens = rp.redeem(&code, &request.verifier).json();
    server.clock.advance(Duration::from_secs(600));
    assert_eq!(rp.redeem(&code, &request.verifier).error(), "invalid_grant");
    let bearer = format!("Bearer {}", tokens["access_token"].as_str().unwrap());
    assert_eq!(server.browser().get_with("/userinfo", &[("authorization", &bearer)]).status, 401);
}

#[test]
fn form_post_answers_with_a_form() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let answer = browser.get(&rp.authorization_request().with("response_mode", "form_post").path());
    assert_eq!(answer.status, 200);
    assert!(answer.field("code").unwrap().starts_with("ac_"), "{answer:?}");
    let policy = answer.header("content-security-policy").unwrap();
    assert!(
        !policy.contains("form-action"),
        "browsers would hold it against the client's own redirects: {policy}"
    );
    // Silent authentication happens in a frame of the client's page.
    assert!(
        policy.ends_with("frame-ancestors *") && answer.header("x-frame-options").is_none(),
        "{answer:?}"
    );
}

/// RFC 8707: a client says whom its tokens are for, at the authorization request and, narrower, at the token request.
#[test]
fn resources_are_named_at_the_request_and_narrowed_at_the_token() {
    const A: &str = "https://a.example/api";
    const B: &str = "https://b.example";
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({ "access_token_audiences": [A, B] }));
    let (_, browser) = server.signed_in("a@example.com");
    let aud = |token: &str| decode_jwt(token).1["aud"].clone();
    let code = |resources: &[&str]| {
        let mut request = rp.authorization_request();
        request.parameters.extend(resources.iter().map(|own| ("resource".to_owned(), (*own).to_owned())));
        let answer = browser.get(&request.path());
        (answer.redirected("code").ok_or_else(|| answer.redirected("error")), request.verifier)
    };
    let redeem = |(code, verifier): (Result<String, Option<String>>, String), resources: &[&str]| {
        let code = code.expect("a code");
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", &*code),
            ("redirect_uri", &rp.redirect_uri),
            ("code_verifier", &*verifier),
        ];
        form.extend(resources.iter().map(|own| ("resource", *own)));
        rp.token(&form)
    };
    let refresh = |token: &str, resources: &[&str]| {
        let mut form = vec![("grant_type", "refresh_token"), ("refresh_token", token)];
        form.extend(resources.iter().map(|own| ("resource", *own)));
        rp.token(&form)
    };
    for (bad, error) in [("https://evil.example", "invalid_target"), ("no-uri", "invalid_request")] {
        assert_eq!(code(&[A, bad]).0, Err(Some(error.to_owned())));
    }
    // All that was granted, unless the token request says less.
    let both = TokenSet::of(&redeem(code(&[A, B]), &[]));
    assert_eq!(aud(&both.access_token), json!([A, B]));
    assert_eq!(decode_jwt(&both.access_token).1["resource"], json!([A, B]));
    let one = TokenSet::of(&redeem(code(&[A, B]), &[B]));
    assert_eq!(aud(&one.access_token), json!(B));
    let again = TokenSet::of(&refresh(one.refresh_token.as_deref().unwrap(), &[A]));
    assert_eq!(
        aud(&again.access_token),
        json!(A),
        "a refresh narrows what was granted, not what was issued last"
    );
    let all = TokenSet::of(&refresh(again.refresh_token.as_deref().unwrap(), &[]));
    assert_eq!(aud(&all.access_token), json!([A, B]));
    // Beyond the grant nothing is to be had, and the code is still its owner's.
    let of_a = code(&[A]);
    assert_eq!(redeem(of_a.clone(), &[B]).error(), "invalid_target");
    let of_a = TokenSet::of(&redeem(of_a, &[]));
    assert_eq!(aud(&of_a.access_token), json!(A));
    let token = of_a.refresh_token.as_deref().unwrap();
    assert_eq!(refresh(token, &[B]).error(), "invalid_target");
    assert_eq!(aud(&TokenSet::of(&refresh(token, &[])).access_token), json!(A));
    // Who names none may narrow later.
    let none = TokenSet::of(&redeem(code(&[]), &[B]));
    assert_eq!(aud(&none.access_token), json!(B));
}

/// RFC 6749 3.3: a pre-defined default; an OpenID login needs `openid` among the registered scopes.
#[test]
fn without_scope_the_client_gets_its_registered_ones_but_no_offline_access() {
    let server = TestServer::start();
    let (_, browser) = server.signed_in("a@example.com");
    for (registered, granted, has_id_token) in
        [("openid email offline_access", "openid email", true), ("email read", "email read", false)]
    {
        let rp = RelyingParty::register(&server, json!({ "scope": registered }));
        let tokens = rp.sign_in_with(&browser, rp.authorization_request().without("scope"));
        assert_eq!(tokens.body["scope"], granted);
        assert_eq!(tokens.id_token.is_some(), has_id_token, "{registered}");
    }
}

#[test]
fn a_scope_that_is_not_registered_is_refused_by_what_may_be_asked_for() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({ "scope": "openid read write" }));
    let (_, browser) = server.signed_in("a@example.com");
    let answer = browser.get(&rp.authorization_request().with("scope", "admin").path());
    assert_eq!(answer.redirected("error").as_deref(), Some("invalid_scope"));
    let told = |body: &serde_json::Value| body["error_description"].as_str().unwrap().to_owned();
    let may_ask = "the client may ask for: openid read write";
    assert!(answer.redirected("error_description").unwrap().ends_with(may_ask), "{answer:?}");
    // At the token endpoint, each grant names what it can give.
    let own = rp.token(&[("grant_type", "client_credentials"), ("scope", "read admin")]);
    assert!(told(&own.json()).ends_with("the client may ask for: read write"), "{own:?}");
    let tokens = rp.sign_in_with(&browser, rp.authorization_request().with("scope", "openid read"));
    let refresh_token = tokens.refresh_token.unwrap();
    let form = [("grant_type", "refresh_token"), ("refresh_token", &*refresh_token), ("scope", "write")];
    let wider = rp.token(&form);
    assert!(told(&wider.json()).ends_with("the client may ask for: openid read"), "{wider:?}");
    let exchanged = rp.token(&[
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("subject_token", &*tokens.access_token),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ("scope", "write"),
    ]);
    assert!(told(&exchanged.json()).ends_with("the client may ask for: openid read"), "{exchanged:?}");
}
