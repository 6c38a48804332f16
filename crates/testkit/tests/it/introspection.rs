//! Token introspection (RFC 7662).

use std::time::Duration;

use serde_json::json;
use symbolon_testkit::{RelyingParty, TestServer, TokenSet};

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

#[test]
fn a_client_learns_what_is_its_own_or_meant_for_it() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let stranger = RelyingParty::register(&server, json!({}));
    let resource = RelyingParty::register(&server, json!({ "audiences": [server.issuer] }));
    let (user, browser) = server.signed_in("a@example.com");
    let tokens = rp.sign_in(&browser);
    let token = [("token", &*tokens.access_token)];
    let own = rp.post("/introspect", &token);
    assert_eq!((own.status, own.header("cache-control")), (200, Some("no-store")));
    assert_eq!(own.header("content-type"), Some("application/json"));
    let own = own.json();
    for (member, value) in [
        ("active", json!(true)),
        ("sub", json!(user)),
        ("iss", json!(server.issuer)),
        ("client_id", json!(rp.client_id)),
        ("scope", json!("openid profile email")),
        ("token_type", json!("Bearer")),
        ("username", json!("a@example.com")),
        ("aud", json!(server.issuer)),
    ] {
        assert_eq!(own[member], value, "{member}");
    }
    assert_eq!(own["exp"].as_u64().unwrap() - own["iat"].as_u64().unwrap(), 3600);
    assert_eq!(resource.post("/introspect", &token).json(), own, "a resource server sees the same");
    assert_eq!(
        stranger.post("/introspect", &token).json(),
        json!({ "active": false }),
        "and a stranger nothing"
    );
    // A hint is only a hint (2.1).
    for hint in ["access_token", "refresh_token", "something_else"] {
        let form = [("token", &*tokens.access_token), ("token_type_hint", hint)];
        assert_eq!(rp.post("/introspect", &form).json()["active"], true, "{hint}");
    }
    for unknown in ["x", "rt_1_1_x_1_x", "a.b.c", tokens.id_token.as_deref().unwrap()] {
        assert_eq!(
            rp.post("/introspect", &[("token", unknown)]).json(),
            json!({ "active": false }),
            "{unknown}"
        );
    }
}

/// A signature that was verified once says nothing about other claims or another header.
#[test]
fn a_known_signature_makes_no_other_token_good() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let (good, other) = (rp.sign_in(&browser).access_token, rp.sign_in(&browser).access_token);
    let is_active = |token: &str| rp.post("/introspect", &[("token", token)]).json()["active"] == true;
    assert!(is_active(&good) && is_active(&other), "both signatures are known now");
    let parts = |token: &str| token.split('.').map(str::to_owned).collect::<Vec<_>>();
    let (parts, others) = (parts(&good), parts(&other));
    let forged = [
        [&*parts[0], &*others[1], &*parts[2]].join("."),
        [&*others[0], &*parts[1], &*others[2]].join("."),
        ["", &*parts[1], &*parts[2]].join("."),
        [&*parts[1], &*parts[2]].join("."),
        format!(".{}", parts[2]),
        parts[2].clone(),
    ];
    for token in &forged {
        assert!(!is_active(token), "{token}");
        let bearer = format!("Bearer {token}");
        assert_eq!(browser.get_with("/userinfo", &[("authorization", &bearer)]).status, 401, "{token}");
    }
    assert!(is_active(&good), "and the good one stays good");
}

#[test]
fn a_refresh_token_is_active_until_it_is_rotated_away() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let stranger = RelyingParty::register(&server, json!({ "audiences": [server.issuer] }));
    let (user, browser) = server.signed_in("a@example.com");
    let first = rp.sign_in(&browser).refresh_token.unwrap();
    let seen = rp.post("/introspect", &[("token", &first)]).json();
    assert_eq!(
        (&seen["active"], &seen["sub"], &seen["client_id"]),
        (&json!(true), &json!(user), &json!(rp.client_id))
    );
    assert!(
        seen.get("token_type").is_none() || seen["token_type"] != "Bearer",
        "it is no bearer token: {seen}"
    );
    // RFC 7662 2.1: a hint at another type hides nothing.
    for hint in ["access_token", "refresh_token", "something_else"] {
        let form = [("token", &*first), ("token_type_hint", hint)];
        assert_eq!(rp.post("/introspect", &form).json(), seen, "{hint}");
    }
    assert_eq!(stranger.post("/introspect", &[("token", &first)]).json(), json!({ "active": false }));
    let second = TokenSet::of(&rp.refresh(&first)).refresh_token.unwrap();
    server.clock.advance(Duration::from_secs(11));
    assert_eq!(rp.post("/introspect", &[("token", &first)]).json(), json!({ "active": false }));
    assert_eq!(
        rp.post("/introspect", &[("token", &second)]).json()["active"],
        true,
        "asking uses nothing up"
    );
    TokenSet::of(&rp.refresh(&second));
}

#[test]
fn an_exchanged_token_shows_actor_and_target() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let service = RelyingParty::register(&server, json!({ "allowed_subject_token_clients": [rp.client_id] }));
    let (_, browser) = server.signed_in("a@example.com");
    let subject = rp.sign_in(&browser).access_token;
    let form = [
        ("grant_type", EXCHANGE),
        ("subject_token", &*subject),
        ("subject_token_type", ACCESS_TOKEN),
        ("resource", "https://api.example/users"),
    ];
    let token = TokenSet::of(&service.token(&form)).access_token;
    let seen = service.post("/introspect", &[("token", &token)]).json();
    assert_eq!(seen["act"]["sub"], json!(format!("client:{}", service.client_id)));
    assert_eq!(seen["resource"], "https://api.example/users");
    assert_eq!(seen["client_id"], json!(service.client_id));
}

#[test]
fn nobody_asks_without_authentication() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let public = RelyingParty::register(
        &server,
        json!({ "token_endpoint_auth_method": "none", "grant_types": ["authorization_code"] }),
    );
    let (_, browser) = server.signed_in("a@example.com");
    let token = rp.sign_in(&browser).access_token;
    let form = [("token", &*token)];
    let nobody = server.browser().post("/introspect", &form);
    assert_eq!((nobody.status, nobody.error()), (401, "invalid_client".to_owned()));
    assert!(nobody.header("www-authenticate").is_some(), "RFC 9110 15.5.2: {nobody:?}");
    // RFC 7662 2.1: a bearer of a token is not a client, here.
    let bearer =
        server.browser().post_with("/introspect", &form, &[("authorization", &format!("Bearer {token}"))]);
    assert_eq!(bearer.status, 401);
    let anyone = public.post("/introspect", &form);
    assert_eq!((anyone.status, anyone.error()), (400, "unauthorized_client".to_owned()));
    for (form, what) in [
        (&[][..], "missing"),
        (&[("token", ""), ("x", "")], "empty"),
        (&[("token", "a"), ("token", "b")], "twice"),
    ] {
        let answer = rp.post("/introspect", form);
        assert_eq!((answer.status, answer.error()), (400, "invalid_request".to_owned()), "{what}");
    }
    let basic = rp.basic();
    let json = [("authorization", &*basic), ("content-type", "application/json")];
    assert_eq!(server.browser().send("POST", "/introspect", &json, b"{}").status, 415);
    for method in ["GET", "PUT", "DELETE"] {
        assert_eq!(
            server.browser().send(method, "/introspect", &[("authorization", &basic)], b"").status,
            405
        );
    }
}
