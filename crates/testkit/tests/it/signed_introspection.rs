//! Introspection with a signed answer (RFC 9701).

use serde_json::{Value, json};
use symbolon_testkit::{Answer, RelyingParty, TestServer, decode_jwt};

use crate::keys::assert_verifies;

const JWT: &str = "application/token-introspection+jwt";

fn introspect(server: &TestServer, rp: &RelyingParty, token: &str, accept: &str) -> Answer {
    let basic = rp.basic();
    let headers = [("authorization", &*basic), ("accept", accept)];
    server.browser().post_with("/introspect", &[("token", token)], &headers)
}

#[test]
fn who_accepts_a_jwt_gets_one() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let resource = RelyingParty::register(
        &server,
        json!({ "audiences": [server.issuer], "introspection_signed_response_alg": "ES256" }),
    );
    let (user, browser) = server.signed_in("a@example.com");
    let token = rp.sign_in(&browser).access_token;
    let plain = introspect(&server, &resource, &token, "application/json, */*");
    assert_eq!((plain.status, plain.header("content-type")), (200, Some("application/json")));
    assert_eq!(plain.json()["sub"], json!(user));
    for (caller, algorithm) in [(&resource, "ES256"), (&rp, "RS256")] {
        let answer = introspect(&server, caller, &token, JWT);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(JWT)), "{answer:?}");
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_verifies(&server, &answer.body, algorithm);
        let (header, claims) = decode_jwt(&answer.body);
        assert_eq!(header["typ"], "token-introspection+jwt");
        let expected = json!({
            "iss": server.issuer, "aud": caller.client_id, "iat": server.now().seconds(),
            "token_introspection": plain.json(),
        });
        assert_eq!(claims, expected, "and no sub and no exp beside these");
    }
}

/// RFC 9701 5: of a token that is not active, or not for the caller, nothing else is said.
#[test]
fn what_is_not_active_is_told_in_a_jwt_too_and_errors_are_json() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let stranger = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let token = rp.sign_in(&browser).access_token;
    for (caller, token) in [(&rp, "nonsense"), (&stranger, &*token)] {
        let answer = introspect(&server, caller, token, JWT);
        let told: Value = decode_jwt(&answer.body).1["token_introspection"].clone();
        assert_eq!(told, json!({ "active": false }));
    }
    let headers = [("authorization", "Basic eDp5"), ("accept", JWT)];
    let refused = server.browser().post_with("/introspect", &[("token", &token)], &headers);
    assert_eq!((refused.status, &*refused.error()), (401, "invalid_client"));
}

/// RFC 9701 8.1: it is not taken for a token.
#[test]
fn a_signed_answer_is_no_token_and_no_hint() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let token = rp.sign_in(&browser).access_token;
    let signed = introspect(&server, &rp, &token, JWT).body;
    let bearer = format!("Bearer {signed}");
    assert_eq!(server.browser().get_with("/userinfo", &[("authorization", &bearer)]).status, 401);
    assert_eq!(rp.post("/introspect", &[("token", &signed)]).json(), json!({ "active": false }));
    let request = rp.authorization_request().with("prompt", "none").with("id_token_hint", &signed);
    assert_eq!(browser.get(&request.path()).redirected("error").as_deref(), Some("login_required"));
}
