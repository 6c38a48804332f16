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

/// RFC 8693 2.2.1: a token of before the client's registration was narrowed is exchanged for no more than what it says now.
#[test]
fn a_client_whose_scope_was_narrowed_exchanges_for_the_narrower_scope() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let service = RelyingParty::register(&server, json!({ "allowed_subject_token_clients": [rp.client_id] }));
    let narrow = |client: &RelyingParty, scope: &str| {
        let path = format!("/clients/{}", client.client_id);
        assert_eq!(server.admin("PATCH", &path, Some(json!({ "scope": scope }))).status, 200);
    };
    let (_, browser) = server.signed_in("a@example.com");
    let request = rp.authorization_request().with("scope", "openid profile email");
    let subject = rp.sign_in_with(&browser, request).access_token;
    let scope_of = |client: &RelyingParty| {
        let tokens = TokenSet::of(&exchange(client, &subject, &[]));
        let claimed = decode_jwt(&tokens.access_token).1["scope"].clone();
        assert_eq!(tokens.body["scope"], claimed, "what is said and what the token has");
        claimed
    };
    for client in [&rp, &service] {
        assert_eq!(scope_of(client), "openid profile email");
        narrow(client, "openid email");
        assert_eq!(scope_of(client), "openid email");
        let asked = exchange(client, &subject, &[("scope", "profile")]);
        assert_eq!((asked.status, asked.error()), (400, "invalid_scope".to_owned()));
        narrow(client, "api");
        let nothing = exchange(client, &subject, &[]);
        assert_eq!((nothing.status, nothing.error()), (400, "invalid_scope".to_owned()), "nothing is left");
        narrow(client, "openid profile email");
        assert_eq!(scope_of(client), "openid profile email", "only the registration was narrower");
    }
}

/// Whoever is called with a token holds it, and must not be able to say that its client acts (RFC 8693 2.1).
#[test]
fn an_actor_token_is_valid_and_the_callers_to_present() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let caller = |mode: &str, listed: &[&str]| {
        let policy = json!({ "delegation_mode": mode, "allowed_subject_token_clients": listed });
        RelyingParty::register(&server, policy)
    };
    let (_, browser) = server.signed_in("a@example.com");
    let subject = rp.sign_in(&browser).access_token;
    let service = RelyingParty::register(&server, json!({}));
    let credentials = |client: &RelyingParty| {
        TokenSet::of(&client.token(&[("grant_type", "client_credentials")])).access_token
    };
    let received = credentials(&service);
    for mode in ["delegation", "impersonation"] {
        let (open, known) =
            (caller(mode, &[&rp.client_id]), caller(mode, &[&rp.client_id, &service.client_id]));
        let revoked = credentials(&open);
        assert_eq!(open.post("/revoke", &[("token", &revoked)]).status, 200);
        for (client, actor, good) in [
            (&open, &credentials(&open), true),
            (&known, &received, true),
            (&open, &received, false),
            (&open, &"x".to_owned(), false),
            (&open, &revoked, false),
        ] {
            let more = [("actor_token", actor.as_str()), ("actor_token_type", ACCESS_TOKEN)];
            let answer = exchange(client, &subject, &more);
            let expected = if good { (200, String::new()) } else { (400, "invalid_grant".to_owned()) };
            let error = if good { String::new() } else { answer.error() };
            assert_eq!((answer.status, error), expected, "{mode} {}", answer.body);
        }
    }
}

/// A token without a named target is the issuer's own: a list of targets must hold for it too.
#[test]
fn a_list_of_targets_holds_where_none_is_named() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let subject = rp.sign_in(&browser).access_token;
    let restricted = |targets: &[&str]| {
        let policy = json!({
            "allowed_subject_token_clients": [rp.client_id], "allowed_token_exchange_resources": targets,
        });
        RelyingParty::register(&server, policy)
    };
    let elsewhere = restricted(&["https://api.example"]);
    assert_eq!(exchange(&elsewhere, &subject, &[]).error(), "invalid_target");
    assert_eq!(exchange(&elsewhere, &subject, &[("audience", "https://api.example")]).status, 200);
    assert_eq!(exchange(&restricted(&[&server.issuer]), &subject, &[]).status, 200);
}
