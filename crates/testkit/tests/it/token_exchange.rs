//! Token exchange over HTTP.

use serde_json::json;
use symbolon_testkit::{Answer, RelyingParty, TestServer, TokenSet, decode_jwt};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

fn exchange(rp: &RelyingParty, subject: &str, more: &[(&str, &str)]) -> Answer {
    let mut form =
        vec![("grant_type", GRANT), ("subject_token", subject), ("subject_token_type", ACCESS_TOKEN)];
    form.extend_from_slice(more);
    rp.token(&form)
}

#[test]
fn a_result_names_subject_actor_and_targets_and_dies_with_its_subject() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let service = RelyingParty::register(&server, json!({ "allowed_subject_token_clients": [rp.client_id] }));
    let (user, browser) = server.signed_in("a@example.com");
    let subject = rp.sign_in(&browser).access_token;
    let answer = exchange(
        &service,
        &subject,
        &[
            ("audience", "https://api.example"),
            ("resource", "https://api.example/users"),
            ("scope", "openid"),
        ],
    );
    let tokens = TokenSet::of(&answer);
    assert_eq!(tokens.body["issued_token_type"], ACCESS_TOKEN);
    let jwt = "urn:ietf:params:oauth:token-type:jwt";
    let called = exchange(&service, &subject, &[("requested_token_type", jwt)]).json();
    assert_eq!(called["issued_token_type"], jwt);
    let (_, claims) = decode_jwt(&tokens.access_token);
    assert_eq!(claims["sub"], json!(user));
    assert_eq!(claims["aud"], json!(["https://api.example", "https://api.example/users"]));
    assert_eq!(claims["act"]["sub"], json!(format!("client:{}", service.client_id)));
    assert_eq!(claims["scope"], "openid");

    let active = |token: &str| service.post("/introspect", &[("token", token)]).json()["active"] == true;
    assert!(active(&tokens.access_token));
    assert_eq!(rp.post("/revoke", &[("token", &subject)]).status, 200);
    assert!(!active(&tokens.access_token));
    assert_eq!(exchange(&service, &subject, &[]).error(), "invalid_grant");
}

#[test]
fn bad_subjects_are_invalid_grant_and_a_foreign_one_is_refused() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let stranger = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let subject = rp.sign_in(&browser).access_token;
    let mut forged = subject.clone();
    forged.truncate(forged.len() - 6);
    forged.push_str("AAAAAA");
    for bad in ["x", "a.b.c", &forged] {
        let answer = exchange(&rp, bad, &[]);
        assert_eq!((answer.status, answer.error()), (400, "invalid_grant".to_owned()), "{bad}");
    }
    assert_eq!(exchange(&stranger, &subject, &[]).error(), "invalid_grant");
    assert_eq!(exchange(&rp, &subject, &[("scope", "payments")]).error(), "invalid_scope");
}
