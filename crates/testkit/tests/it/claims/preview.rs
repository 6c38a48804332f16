//! The preview of the tokens that a client would get for a user.

use serde_json::{Value, json};
use symbolon_testkit::{Answer, RelyingParty, TestServer, TokenSet, decode_jwt, is_clustered};

use super::{ACCESS_TOKEN, ALL, EXCHANGE, alice, change, id_token, sign_in, userinfo};

fn previewed(server: &TestServer, rp: &RelyingParty, query: &[(&str, &str)]) -> Answer {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    server.admin("GET", &format!("/clients/{}/preview-tokens?{query}", rp.client_id), None)
}

/// The claims without those that only a sign-in or the moment of issue determines.
fn lasting(mut claims: Value) -> Value {
    let object = claims.as_object_mut().unwrap();
    for name in ["jti", "gid", "sid", "auth_time", "amr", "nonce", "at_hash", "iat", "exp"] {
        object.remove(name);
    }
    claims
}

#[test]
fn a_preview_is_what_a_sign_in_brings() {
    let server = TestServer::start();
    let rp = RelyingParty::register(
        &server,
        json!({ "scope": ALL, "access_token_audiences": ["https://api.example"] }),
    );
    let browser = alice(&server);
    for (settings, scope) in [
        (json!({}), ALL),
        (json!({}), "openid email roles"),
        (json!({ "settings": { "id_token_claims": "minimal" } }), ALL),
    ] {
        change(&server, "PATCH", &format!("/clients/{}", rp.client_id), settings);
        let tokens = sign_in(&rp, &browser, scope);
        let answer = previewed(&server, &rp, &[("user", "alice"), ("scope", scope)]);
        assert_eq!(answer.status, 200, "{answer:?}");
        let preview = answer.json()["preview"].clone();
        assert_eq!(lasting(preview["id_token"].clone()), lasting(id_token(&tokens)));
        // Without `offline_access` the access token names its session, which a preview has not.
        let access = decode_jwt(&tokens.access_token).1;
        assert_eq!(lasting(preview["access_token"].clone()), lasting(access));
        assert_eq!(preview["userinfo"], userinfo(&server, &tokens));
        assert_eq!((&preview["scope"], &preview["is_cut"]), (&tokens.body["scope"], &json!(false)));
        assert!(preview["access_token"].get("jti").is_none(), "there is no such token: {preview}");
    }
    // All that the client registered, where no scope is named.
    let all = previewed(&server, &rp, &[("user", "alice")]).json();
    assert_eq!(all["preview"]["scope"], ALL);
}

#[test]
fn a_preview_leaves_nothing_behind() {
    if is_clustered() {
        return;
    }
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({ "scope": ALL }));
    drop(alice(&server));
    let records = || server.admin("GET", "/audit-logs", None).json()["pagination"]["total"].clone();
    server.drain_audit();
    let before = records();
    assert_eq!(previewed(&server, &rp, &[("user", "alice")]).status, 200);
    server.drain_audit();
    assert_eq!(records(), before);
    let grants = server.admin("GET", "/users/alice/grants", None).json();
    assert_eq!(grants["grants"], json!([]), "{grants}");
}

#[test]
fn what_no_token_would_be_issued_for_is_refused_or_null() {
    let server = TestServer::start();
    let rp = RelyingParty::register(
        &server,
        json!({ "scope": "openid email", "access_token_audiences": ["https://api.example"] }),
    );
    let machine = json!({ "grant_types": ["client_credentials"], "redirect_uris": [] });
    let machine = RelyingParty::register(&server, machine);
    drop(alice(&server));
    for (rp, query, status) in [
        (&rp, &[][..], 400),
        (&rp, &[("user", "nobody")], 404),
        (&rp, &[("user", "alice"), ("scope", "profile")], 400),
        (&rp, &[("user", "alice"), ("scope", "\\")], 400),
        (&rp, &[("user", "alice"), ("resource", "https://other.example")], 400),
        (&rp, &[("user", "alice"), ("user", "alice")], 400),
        (&rp, &[("user", "alice"), ("client", "x")], 400),
        (&machine, &[("user", "alice")], 400),
    ] {
        let answer = previewed(&server, rp, query);
        assert_eq!(answer.status, status, "{query:?}: {answer:?}");
    }
    let preview = |query: &[(&str, &str)]| previewed(&server, &rp, query).json()["preview"].clone();
    // Without `openid` there is no ID token, and UserInfo refuses the access token.
    let bare = preview(&[("user", "alice"), ("scope", "email")]);
    assert_eq!((&bare["id_token"], &bare["userinfo"]), (&Value::Null, &Value::Null));
    // So it does with one that is for an API alone.
    let narrowed = preview(&[("user", "alice"), ("resource", "https://api.example")]);
    assert_eq!(narrowed["access_token"]["aud"], "https://api.example");
    assert_eq!(
        (&narrowed["id_token"]["email"], &narrowed["userinfo"]),
        (&json!("alice@example.com"), &Value::Null)
    );
    change(&server, "PATCH", "/users/alice", json!({ "active": false }));
    assert_eq!(previewed(&server, &rp, &[("user", "alice")]).status, 400);
}

#[test]
fn a_client_that_only_exchanges_tokens_gets_access_tokens_alone() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({ "scope": ALL }));
    let service = RelyingParty::register(
        &server,
        json!({
            "scope": ALL, "redirect_uris": [], "grant_types": [EXCHANGE], "allowed_subject_token_clients": [rp.client_id],
        }),
    );
    let subject = sign_in(&rp, &alice(&server), ALL).access_token;
    let form = [("grant_type", EXCHANGE), ("subject_token", &*subject), ("subject_token_type", ACCESS_TOKEN)];
    let exchanged = decode_jwt(&TokenSet::of(&service.token(&form)).access_token).1;
    let preview = previewed(&server, &service, &[("user", "alice")]).json()["preview"].clone();
    assert_eq!(preview["id_token"], Value::Null);
    for claim in ["iss", "sub", "client_id", "scope", "groups", "roles"] {
        assert_eq!(preview["access_token"][claim], exchanged[claim], "{claim} of {preview} and {exchanged}");
    }
}
