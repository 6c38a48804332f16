//! Token revocation (RFC 7009).

use serde_json::json;
use symbolon_testkit::{RelyingParty, Signing, TestServer, TokenSet};

fn active(rp: &RelyingParty, token: &str) -> bool {
    rp.post("/introspect", &[("token", token)]).json()["active"] == true
}

#[test]
fn an_access_token_ends_alone_and_a_refresh_token_takes_its_grant() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let tokens = rp.sign_in(&browser);
    let (access, refresh) = (&*tokens.access_token, tokens.refresh_token.as_deref().unwrap());
    for _ in 0..2 {
        let done = rp.post("/revoke", &[("token", access)]);
        assert_eq!((done.status, &*done.body), (200, ""), "and again, with the same answer");
    }
    assert!(!active(&rp, access) && active(&rp, refresh));
    let second = TokenSet::of(&rp.refresh(refresh));
    // 2.1: the authorization server SHOULD also invalidate the access tokens of the same grant.
    let old = [("token", refresh), ("token_type_hint", "access_token")];
    assert_eq!(rp.post("/revoke", &old).status, 200, "an older version names its family too");
    assert!(!active(&rp, &second.access_token) && !active(&rp, second.refresh_token.as_deref().unwrap()));
    assert_eq!(rp.refresh(second.refresh_token.as_deref().unwrap()).error(), "invalid_grant");
    // Another login of the same client and user goes on.
    let other = rp.sign_in(&browser);
    assert!(active(&rp, &other.access_token));
}

#[test]
fn another_clients_token_is_refused_and_lives_on() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let stranger = RelyingParty::register(&server, json!({ "audiences": [server.issuer] }));
    let public = RelyingParty::register(
        &server,
        json!({ "token_endpoint_auth_method": "none", "grant_types": ["authorization_code", "refresh_token"] }),
    );
    let (_, browser) = server.signed_in("a@example.com");
    let tokens = rp.sign_in(&browser);
    for token in [&*tokens.access_token, tokens.refresh_token.as_deref().unwrap()] {
        for thief in [&stranger, &public] {
            let refused = thief.post("/revoke", &[("token", token)]);
            assert_eq!((refused.status, refused.error()), (400, "invalid_grant".to_owned()));
        }
        assert!(active(&rp, token));
    }
    let own = public.sign_in(&browser);
    assert_eq!(public.post("/revoke", &[("token", own.refresh_token.as_deref().unwrap())]).status, 200);
    assert_ne!(public.refresh(own.refresh_token.as_deref().unwrap()).status, 200);
    assert!(!active(&stranger, &own.access_token));
}

#[test]
fn unknown_tokens_are_as_good_as_revoked_and_bad_requests_are_told() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let tokens = rp.sign_in(&browser);
    let expired = tokens.access_token.clone();
    server.clock.advance(std::time::Duration::from_secs(3_600));
    for unknown in ["x", "a.b.c", "rt_1_1_x_1_y", &*expired, tokens.id_token.as_deref().unwrap()] {
        let answer = rp.post("/revoke", &[("token", unknown), ("token_type_hint", "unheard_of")]);
        assert_eq!(answer.status, 200, "{unknown}: {answer:?}");
    }
    let answer = rp.post("/revoke", &[]);
    assert_eq!((answer.status, answer.error()), (400, "invalid_request".to_owned()));
    let nobody = server.browser().post("/revoke", &[("token", &expired)]);
    assert_eq!((nobody.status, nobody.error()), (401, "invalid_client".to_owned()));
    assert!(nobody.header("www-authenticate").is_some());
    assert_eq!(nobody.header("cache-control"), Some("no-store"));
    for method in ["GET", "PUT", "DELETE"] {
        assert_eq!(
            server.browser().send(method, "/revoke", &[("authorization", &rp.basic())], b"").status,
            405
        );
    }
}

fn userinfo(server: &TestServer, token: &str) -> u16 {
    server.browser().get_with("/userinfo", &[("authorization", &format!("Bearer {token}"))]).status
}

/// RFC 7009 2: what is revoked is told by the token, not by the type in its header, which load scripts write as they like.
#[test]
fn an_access_token_of_either_type_ends() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let stranger = RelyingParty::register(&server, json!({}));
    let (user, _) = server.signed_in("a@example.com");
    let key = server.admin("GET", "/test/signing-key", None).json();
    let key = Signing::from_pem(key["kid"].as_str().unwrap(), key["privatePEM"].as_str().unwrap());
    let now = server.now().seconds();
    for (typ, hint) in [("JWT", "access_token"), ("JWT", "refresh_token"), ("at+jwt", "access_token")] {
        let claims = json!({
            "iss": server.issuer, "sub": user, "aud": server.issuer, "client_id": rp.client_id,
            "scope": "openid", "iat": now, "exp": now + 600, "jti": format!("g2:enam:3:at_{typ}{hint}"),
        });
        let token = key.jwt(typ, &claims);
        assert!(active(&rp, &token), "{typ}");
        assert_eq!(stranger.post("/revoke", &[("token", &token)]).error(), "invalid_grant");
        assert_eq!(rp.post("/revoke", &[("token", &token), ("token_type_hint", hint)]).status, 200);
        assert!(!active(&rp, &token), "{typ}");
        assert_eq!(userinfo(&server, &token), 401);
    }
}
