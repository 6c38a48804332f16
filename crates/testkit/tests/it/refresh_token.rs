//! Refresh tokens over HTTP: rotation, retry, theft, restart.

use std::time::Duration;

use serde_json::json;
use symbolon_testkit::{Options, RelyingParty, TestServer, TokenSet, is_clustered};

#[test]
fn a_refresh_rotates_and_a_lost_answer_is_given_again() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let first = rp.sign_in(&browser).refresh_token.unwrap();
    let second = TokenSet::of(&rp.refresh(&first)).refresh_token.unwrap();
    assert_ne!(first, second);
    let again = TokenSet::of(&rp.refresh(&first)).refresh_token.unwrap();
    assert_eq!(second, again);
    let third = TokenSet::of(&rp.refresh(&second));
    assert_eq!(third.body["token_type"], "Bearer");
}

#[test]
fn an_old_token_ends_the_family_and_everything_of_its_grant() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let first = rp.sign_in(&browser).refresh_token.unwrap();
    let second = TokenSet::of(&rp.refresh(&first));
    server.clock.advance(Duration::from_secs(11));
    assert_eq!(rp.refresh(&first).error(), "invalid_grant");
    assert_eq!(rp.refresh(second.refresh_token.as_deref().unwrap()).error(), "invalid_grant");
    let bearer = format!("Bearer {}", second.access_token);
    assert_eq!(server.browser().get_with("/userinfo", &[("authorization", &bearer)]).status, 401);
}

#[test]
fn families_sessions_and_revocations_survive_a_restart_and_codes_do_not() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let kept = rp.sign_in(&browser);
    let revoked = rp.sign_in(&browser);
    assert_eq!(rp.post("/revoke", &[("token", &revoked.access_token)]).status, 200);
    let request = rp.authorization_request();
    let code = browser.get(&request.path()).redirected("code").unwrap();
    let session = browser.cookie("symbolon_session").unwrap();

    let issuer = server.issuer.clone();
    let server = server.restart(Options { seed: 2, ..Options::default() }.issuer(&issuer));
    let rp = rp.at(&server);
    // A node that is started again is no restart of the cluster: codes are lost with Redis alone.
    let redeemed = rp.redeem(&code, &request.verifier);
    assert_eq!(redeemed.status, if is_clustered() { 200 } else { 400 }, "{redeemed:?}");
    TokenSet::of(&rp.refresh(kept.refresh_token.as_deref().unwrap()));
    let bearer = format!("Bearer {}", revoked.access_token);
    assert_eq!(server.browser().get_with("/userinfo", &[("authorization", &bearer)]).status, 401);
    let browser = server.browser();
    browser.set_cookie("symbolon_session", &session);
    let silent = browser.get(&rp.authorization_request().with("prompt", "none").path());
    assert!(silent.redirected("code").is_some(), "{silent:?}");
}

#[test]
fn another_client_and_a_wider_scope_are_refused_and_change_nothing() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let other = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let token =
        rp.sign_in_with(&browser, rp.authorization_request().with("scope", "openid")).refresh_token.unwrap();
    assert_eq!(other.refresh(&token).error(), "invalid_grant");
    let wider = [("grant_type", "refresh_token"), ("refresh_token", &*token), ("scope", "openid email")];
    assert_eq!(rp.token(&wider).error(), "invalid_scope");
    TokenSet::of(&rp.refresh(&token));
}

/// RFC 6749 6: a new refresh token has the scope of the one before.
#[test]
fn less_for_once_is_not_less_for_good() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let first = rp.sign_in(&browser).refresh_token.unwrap();
    let less = [("grant_type", "refresh_token"), ("refresh_token", &*first), ("scope", "openid")];
    let narrow = TokenSet::of(&rp.token(&less));
    assert_eq!(narrow.body["scope"], "openid");
    let all = TokenSet::of(&rp.refresh(narrow.refresh_token.as_deref().unwrap()));
    assert_eq!(all.body["scope"], "openid profile email");
}

/// RFC 6749 6: what the client may not have any more it gets no longer; a grant of which nothing is left waits.
#[test]
fn a_client_whose_scope_was_narrowed_gets_narrower_tokens() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let register = |scope: &str| {
        let path = format!("/clients/{}", rp.client_id);
        assert_eq!(server.admin("PATCH", &path, Some(json!({ "scope": scope }))).status, 200);
    };
    let scope_of = |tokens: &TokenSet| tokens.body["scope"].as_str().unwrap().to_owned();
    let first = rp.sign_in_with(&browser, rp.authorization_request().with("scope", "openid profile email"));
    let request = rp.authorization_request().with("scope", "openid email");
    let code = browser.get(&request.path()).redirected("code").unwrap();

    register("openid email");
    let second = TokenSet::of(&rp.refresh(first.refresh_token.as_deref().unwrap()));
    assert_eq!(scope_of(&second), "openid email");
    register("email");
    let third = TokenSet::of(&rp.refresh(second.refresh_token.as_deref().unwrap()));
    assert_eq!((scope_of(&third), third.id_token), ("email".to_owned(), None));
    let redeemed = TokenSet::of(&rp.redeem(&code, &request.verifier));
    assert_eq!((scope_of(&redeemed), redeemed.id_token), ("email".to_owned(), None), "a code of before");

    register("api");
    let token = third.refresh_token.unwrap();
    let nothing = rp.refresh(&token);
    assert_eq!((nothing.status, nothing.error()), (400, "invalid_scope".to_owned()));
    register("openid profile email");
    let again = TokenSet::of(&rp.refresh(&token));
    assert_eq!(
        scope_of(&again),
        "openid profile email",
        "the grant is whole, only the registration was narrower"
    );
}
