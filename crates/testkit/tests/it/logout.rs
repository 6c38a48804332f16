//! RP-initiated logout.

use serde_json::json;
use symbolon_testkit::{Answer, RelyingParty, TestServer, TokenSet, decode_jwt};

use crate::login::{Scene, hidden, userinfo};

fn path(parameters: &[(&str, &str)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    format!("/logout?{query}")
}

#[test]
fn with_the_sessions_own_id_token_nobody_is_asked() {
    let scene = Scene::new();
    let (browser, tokens) = scene.signed_in();
    let session = browser.cookie("symbolon_session").unwrap();
    let root = format!("{}/", scene.server.issuer);
    let hint = tokens.id_token.clone().unwrap();
    let parameters = [("id_token_hint", &*hint), ("post_logout_redirect_uri", &*root), ("state", "s 1")];
    let out = browser.get(&path(&parameters));
    assert_eq!((out.status, out.location()), (302, format!("{root}?state=s%201")));
    assert!(browser.cookie("symbolon_session").is_none() && !scene.session_lives(&session));
    assert_eq!(userinfo(&scene, &tokens).status, 401);
    assert_ne!(scene.rp.refresh(tokens.refresh_token.as_deref().unwrap()).status, 200);
    // Again, by POST, with nothing left to end.
    let out = browser.post("/logout", &parameters);
    assert_eq!((out.status, out.location()), (303, format!("{root}?state=s%201")));
}

/// Another site's form brings no cookie. The hint says which session is meant: it ends, with what hangs on it.
#[test]
fn a_hint_without_a_cookie_ends_its_session() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, other) = server.signed_in("other@example.com");
    let others = rp.sign_in(&other);
    let userinfo = |tokens: &TokenSet| {
        let bearer = format!("Bearer {}", tokens.access_token);
        server.browser().get_with("/userinfo", &[("authorization", &bearer)]).status
    };
    for is_post in [true, false] {
        let (_, browser) = server.signed_in(&format!("person-{is_post}@example.com"));
        let tokens = rp.sign_in(&browser);
        let asked = [("id_token_hint", tokens.id_token.as_deref().unwrap())];
        let bare = server.browser();
        let out = if is_post { bare.post("/logout", &asked) } else { bare.get(&path(&asked)) };
        assert_eq!(out.status, 200, "{out:?}");
        assert_eq!(userinfo(&tokens), 401, "by POST: {is_post}");
        assert_ne!(rp.refresh(tokens.refresh_token.as_deref().unwrap()).status, 200);
        let silent = browser.get(&rp.authorization_request().with("prompt", "none").path());
        assert_eq!(silent.redirected("error").as_deref(), Some("login_required"), "{silent:?}");
        // Again, with nothing left to end.
        assert_eq!(bare.post("/logout", &asked).status, 200);
    }
    assert_eq!(userinfo(&others), 200, "another session goes on");
}

/// The ID token of a refresh is a hint too, also of a grant that outlives its session; it names no session that has ended.
#[test]
fn a_refreshed_id_token_names_its_session_while_it_lives() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("person@example.com");
    let sid_of = |tokens: &TokenSet| decode_jwt(tokens.id_token.as_deref().unwrap()).1.get("sid").cloned();
    for scope in ["openid", "openid offline_access"] {
        let (_, browser) = server.signed_in(&format!("{}@example.com", scope.replace(' ', "-")));
        let first = rp.sign_in_with(&browser, rp.authorization_request().with("scope", scope));
        let second = TokenSet::of(&rp.refresh(first.refresh_token.as_deref().unwrap()));
        assert!(sid_of(&first).is_some(), "{scope}");
        assert_eq!(sid_of(&second), sid_of(&first), "{scope}");
        // Nobody is asked: the hint is about the browser's own session.
        let hint = second.id_token.as_deref().unwrap();
        let out = browser.get(&path(&[("id_token_hint", hint)]));
        assert!(out.status == 200 && out.field("csrf_token").is_none(), "{scope}: {out:?}");
        let after = rp.refresh(second.refresh_token.as_deref().unwrap());
        if scope == "openid" {
            assert_eq!((after.status, after.error()), (400, "invalid_grant".to_owned()));
        } else {
            let third = TokenSet::of(&after);
            assert_eq!(sid_of(&third), None, "the session has ended, the grant goes on");
        }
    }
    let lives = browser.get(&rp.authorization_request().with("prompt", "none").path());
    assert!(lives.redirected("code").is_some(), "somebody else's session goes on: {lives:?}");
}

#[test]
fn a_hint_of_before_the_person_signed_in_again_means_the_same_session() {
    let scene = Scene::new();
    let (browser, tokens) = scene.signed_in();
    let page = scene.at_login(&browser, &scene.rp.authorization_request().with("prompt", "login"));
    let signed_in = Scene::sign_in(&browser, &page, &scene.demo.email, &scene.demo.password);
    assert_eq!(signed_in.status, 303, "{signed_in:?}");
    let session = browser.cookie("symbolon_session").unwrap();
    assert!(scene.session_lives(&session));
    let hint = tokens.id_token.as_deref().unwrap();
    assert_eq!(scene.server.browser().post("/logout", &[("id_token_hint", hint)]).status, 200);
    assert!(!scene.session_lives(&session));
}

/// Nothing but an ID token of this issuer ends a session without its cookie.
#[test]
fn what_is_no_hint_ends_nothing_without_a_cookie() {
    let scene = Scene::new();
    let (browser, tokens) = scene.signed_in();
    let session = browser.cookie("symbolon_session").unwrap();
    let hint = tokens.id_token.clone().unwrap();
    let (signed, _) = hint.rsplit_once('.').unwrap();
    let unsigned = format!("{signed}.AAAA");
    for bad in [&*unsigned, &tokens.access_token, "x", ""] {
        assert_eq!(scene.server.browser().post("/logout", &[("id_token_hint", bad)]).status, 200, "{bad}");
    }
    let foreign = [("id_token_hint", &*hint), ("client_id", "demo-service")];
    assert_eq!(scene.server.browser().post("/logout", &foreign).status, 400);
    assert!(scene.session_lives(&session));
}

#[test]
fn without_a_hint_the_person_is_asked() {
    let scene = Scene::new();
    let (browser, tokens) = scene.signed_in();
    let root = format!("{}/", scene.server.issuer);
    let asked = path(&[("client_id", "demo"), ("post_logout_redirect_uri", &root)]);
    for decision in ["cancel", "confirm"] {
        let page = browser.get(&asked);
        assert_eq!(page.status, 200);
        assert!(browser.cookie("symbolon_session").is_some(), "nothing has ended yet");
        let (transaction, csrf) = hidden(&page);
        let forged = [("transaction", &*transaction), ("csrf_token", "x"), ("decision", decision)];
        let asked_again = browser.post("/logout/confirm", &forged);
        assert!(asked_again.field("csrf_token").is_some(), "{asked_again:?}");
        let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("decision", decision)];
        let answer = browser.post("/logout/confirm", &form);
        assert_eq!(answer.status, 303);
        let ended = browser.cookie("symbolon_session").is_none();
        assert_eq!(ended, decision == "confirm");
        assert_eq!(userinfo(&scene, &tokens).status, if ended { 401 } else { 200 });
        // A second click leads to the same place.
        let again = browser.post("/logout/confirm", &form);
        assert_eq!((again.status, again.location()), (303, answer.location()));
    }
}

#[test]
fn nobody_is_sent_where_the_client_did_not_register() {
    let scene = Scene::new();
    let (browser, tokens) = scene.signed_in();
    let hint = tokens.id_token.clone().unwrap();
    let out = browser
        .get(&path(&[("id_token_hint", &hint), ("post_logout_redirect_uri", "https://evil.example/")]));
    assert_eq!(out.status, 200);
    assert!(out.header("location").is_none());
    assert!(
        out.field("csrf_token").is_some() && browser.cookie("symbolon_session").is_some(),
        "they are asked"
    );
    let refused = browser.get(&path(&[("id_token_hint", &hint), ("client_id", "demo-service")]));
    assert_eq!(refused.status, 400);
}

#[test]
fn an_access_token_is_no_hint() {
    let scene = Scene::new();
    let (browser, tokens) = scene.signed_in();
    let out = browser.get(&path(&[("id_token_hint", &tokens.access_token)]));
    assert_eq!(out.status, 200);
    assert!(
        out.field("csrf_token").is_some() && browser.cookie("symbolon_session").is_some(),
        "the person is asked"
    );
}

/// Another site's form brings no Lax cookie, and another provider on the host may have one of the same name: their
/// answers must not take it away.
#[test]
fn only_the_cookie_of_a_session_that_ended_is_taken_away() {
    let server = TestServer::start();
    let (_, browser) = server.signed_in("person@example.com");
    let removed =
        |answer: &Answer| answer.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=0"));
    assert!(!removed(&server.browser().post("/logout", &[])));
    let brought = [("cookie", "symbolon_session=of-a-session-of-somebody-else")];
    assert!(!removed(&server.browser().post_with("/logout", &[], &brought)));
    assert!(!removed(&server.browser().get_with("/logout", &brought)));
    let page = browser.get("/logout");
    assert!(!removed(&page), "it asks first: {page:?}");
}
