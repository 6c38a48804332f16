//! UserInfo as a signed JWT (OpenID Connect Core 5.3.2).

use serde_json::{Value, json};
use symbolon_testkit::{Answer, RelyingParty, TestServer, decode_jwt};

use crate::keys::assert_verifies;

fn userinfo(server: &TestServer, token: &str) -> Answer {
    server.browser().get_with("/userinfo", &[("authorization", &format!("Bearer {token}"))])
}

#[test]
fn a_client_gets_signed_answers_once_it_has_an_algorithm_for_them() {
    let server = TestServer::start();
    let (plain, rp) =
        (RelyingParty::register(&server, json!({})), RelyingParty::register(&server, json!({})));
    let (user, browser) = server.signed_in("a@example.com");
    let (others, token) = (plain.sign_in(&browser).access_token, rp.sign_in(&browser).access_token);
    let before = userinfo(&server, &token);
    assert_eq!(before.header("content-type"), Some("application/json"));

    let path = format!("/clients/{}", rp.client_id);
    let set = |algorithm: Value| {
        let change = json!({ "userinfo_signed_response_alg": algorithm });
        let answer = server.admin("PATCH", &path, Some(change));
        assert_eq!(answer.status, 200, "{answer:?}");
    };
    for algorithm in ["ES256", "RS256", "EdDSA"] {
        set(json!(algorithm));
        let answer = userinfo(&server, &token);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/jwt"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_verifies(&server, &answer.body, algorithm);
        let (header, claims) = decode_jwt(&answer.body);
        assert_eq!((&header["typ"], &claims["sub"]), (&json!("JWT"), &json!(user)));
        let mut expected = before.json();
        expected["iss"] = json!(server.issuer);
        expected["aud"] = json!(rp.client_id);
        assert_eq!(claims, expected, "the same claims, for this client by this issuer");
    }
    assert_eq!(
        userinfo(&server, &others).header("content-type"),
        Some("application/json"),
        "of another client"
    );
    set(Value::Null);
    assert_eq!(userinfo(&server, &token).json(), before.json());
    // OpenID Connect Registration 2 has `none` for answers that are not signed.
    set(json!("none"));
    assert_eq!(userinfo(&server, &token).json(), before.json());
}

/// An error is told as before, and nobody sets by hand what the server records.
#[test]
fn errors_are_not_signed() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({ "userinfo_signed_response_alg": "RS256" }));
    let (user, browser) = server.signed_in("a@example.com");
    let token = rp.sign_in(&browser).access_token;
    assert_eq!(userinfo(&server, &token).header("content-type"), Some("application/jwt"));
    assert_eq!(server.admin("DELETE", &format!("/users/{user}/sessions"), None).status / 100, 2);
    let refused = userinfo(&server, &token);
    assert_eq!((refused.status, &*refused.error()), (401, "invalid_token"));
    let put = server.admin("PUT", "/settings", Some(json!({})));
    assert_eq!(put.status, 200, "{put:?}");
    let again = rp.sign_in(&server.signed_in("b@example.com").1).access_token;
    assert_eq!(userinfo(&server, &again).header("content-type"), Some("application/jwt"), "it is kept");
    let by_hand = server.admin("PATCH", "/settings", Some(json!({ "clients_sign_userinfo": false })));
    assert_eq!(by_hand.status, 400);
}

/// RFC 8725 3.12: it has the type of ID tokens, and of access tokens of a client that has that type.
#[test]
fn a_signed_answer_is_no_access_token_no_subject_token_and_no_hint() {
    const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
    let server = TestServer::start();
    let rp = RelyingParty::register(
        &server,
        json!({ "userinfo_signed_response_alg": "RS256", "settings": { "access_token_typ": "JWT" } }),
    );
    let (_, browser) = server.signed_in("a@example.com");
    let tokens = rp.sign_in(&browser);
    let signed = userinfo(&server, &tokens.access_token).body;
    assert_eq!(decode_jwt(&signed).0["typ"], decode_jwt(&tokens.access_token).0["typ"]);
    assert_eq!(userinfo(&server, &signed).status, 401);
    assert_eq!(rp.post("/introspect", &[("token", &signed)]).json(), json!({ "active": false }));
    for kind in ["access_token", "jwt"] {
        let kind = format!("urn:ietf:params:oauth:token-type:{kind}");
        let form = [("grant_type", EXCHANGE), ("subject_token", &*signed), ("subject_token_type", &*kind)];
        assert_eq!(rp.token(&form).error(), "invalid_grant", "{kind}");
    }
    let silent = |hint: &str| {
        let request = rp.authorization_request().with("prompt", "none").with("id_token_hint", hint);
        browser.get(&request.path()).redirected("error")
    };
    assert_eq!(silent(tokens.id_token.as_deref().unwrap()), None);
    assert_eq!(silent(&signed).as_deref(), Some("login_required"));
}
