//! The client credentials grant (RFC 6749 4.4).

use serde_json::json;
use symbolon_testkit::{Answer, RelyingParty, TestServer, TokenSet, decode_jwt};

fn grant(rp: &RelyingParty, more: &[(&str, &str)]) -> Answer {
    let mut form = vec![("grant_type", "client_credentials")];
    form.extend_from_slice(more);
    rp.token(&form)
}

#[test]
fn a_client_gets_a_token_for_itself() {
    let server = TestServer::start();
    let rp =
        RelyingParty::register(&server, json!({ "scope": "openid profile email offline_access read write" }));
    let answer = grant(&rp, &[]);
    assert_eq!(
        (answer.header("cache-control"), answer.header("pragma")),
        (Some("no-store"), Some("no-cache"))
    );
    let tokens = TokenSet::of(&answer);
    assert!(tokens.id_token.is_none() && tokens.refresh_token.is_none(), "RFC 6749 4.4.3");
    assert_eq!((&tokens.body["scope"], &tokens.body["token_type"]), (&json!("read write"), &json!("Bearer")));
    let (header, claims) = decode_jwt(&tokens.access_token);
    assert_eq!(header["typ"], "at+jwt");
    assert_eq!(claims["sub"], json!(format!("client:{}", rp.client_id)));
    assert_eq!((&claims["aud"], &claims["client_id"]), (&json!(server.issuer), &json!(rp.client_id)));
    assert_eq!(rp.post("/introspect", &[("token", &tokens.access_token)]).json()["active"], true);
    assert_eq!(TokenSet::of(&grant(&rp, &[("scope", "read")])).body["scope"], "read");
    // What needs a user is dropped, and an empty scope still gets a token.
    let none = TokenSet::of(&grant(&rp, &[("scope", "openid offline_access")]));
    assert_eq!(none.body["scope"], "", "RFC 6749 5.1: it is not what was asked for");
}

#[test]
fn scope_audience_and_client_are_held_to_what_is_registered() {
    let server = TestServer::start();
    let rp = RelyingParty::register(
        &server,
        json!({ "scope": "read", "access_token_audiences": ["https://api.example", "https://two.example"] }),
    );
    let refused = |answer: Answer, error: &str| {
        assert_eq!((answer.status, &*answer.error()), (400, error), "{answer:?}")
    };
    refused(grant(&rp, &[("scope", "read write")]), "invalid_scope");
    refused(grant(&rp, &[("scope", "a\"b")]), "invalid_scope");
    refused(grant(&rp, &[("audience", "https://evil.example")]), "invalid_target");
    let both = [("audience", "https://api.example"), ("audience", "https://two.example")];
    let claims = decode_jwt(&TokenSet::of(&grant(&rp, &both)).access_token).1;
    assert_eq!(claims["aud"], json!(["https://api.example", "https://two.example"]));
    // RFC 8707 2: a resource is held to the same list, and named in the token as at token exchange.
    refused(grant(&rp, &[("resource", "https://evil.example")]), "invalid_target");
    refused(grant(&rp, &[("resource", "no-uri")]), "invalid_request");
    let both = [("resource", "https://two.example"), ("audience", "https://api.example")];
    let claims = decode_jwt(&TokenSet::of(&grant(&rp, &both)).access_token).1;
    assert_eq!(claims["aud"], json!(["https://api.example", "https://two.example"]));
    assert_eq!(claims["resource"], "https://two.example");
    let codes_only = RelyingParty::register(&server, json!({ "grant_types": ["authorization_code"] }));
    refused(grant(&codes_only, &[]), "unauthorized_client");
    let public = json!({ "token_endpoint_auth_method": "none", "grant_types": ["authorization_code"] });
    refused(grant(&RelyingParty::register(&server, public), &[]), "unauthorized_client");
    // RFC 6749 5.2.
    refused(rp.token(&[]), "invalid_request");
    refused(rp.token(&[("grant_type", "password")]), "unsupported_grant_type");
    refused(grant(&rp, &[("grant_type", "client_credentials")]), "invalid_request");
    refused(grant(&rp, &[("scope", "read"), ("scope", "read")]), "invalid_request");
    for method in ["GET", "PUT", "DELETE"] {
        assert_eq!(
            server.browser().send(method, "/token", &[("authorization", &rp.basic())], b"").status,
            405
        );
    }
    let json = [("authorization", &*rp.basic()), ("content-type", "application/json")];
    assert_eq!(server.browser().send("POST", "/token", &json, b"{}").status, 415);
}

#[test]
fn a_clients_subject_can_be_no_users() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let posing = json!({ "id": format!("client:{}", rp.client_id), "email": "a@example.com" });
    assert_eq!(server.admin("POST", "/users", Some(posing)).status, 400);
}
