//! Settings of issuers and clients, changed while running.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_testkit::{Browser, RelyingParty, Signing, TestServer, TokenSet, decode_jwt};

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn set(server: &TestServer, settings: Value) {
    let answer = server.admin("PATCH", "/settings", Some(settings));
    assert_eq!(answer.status, 200, "{answer:?}");
}

fn public(server: &TestServer) -> RelyingParty {
    RelyingParty::register(
        server,
        json!({ "token_endpoint_auth_method": "none", "grant_types": ["authorization_code", "refresh_token"] }),
    )
}

fn life(token: &str) -> u64 {
    let claims = decode_jwt(token).1;
    claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap()
}

#[test]
fn lifetimes_act_on_what_is_issued_next() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let own = RelyingParty::register(
        &server,
        json!({ "settings": { "access_token_lifetime": 30, "id_token_lifetime": 40, "code_lifetime": 5 } }),
    );
    let (_, browser) = server.signed_in("a@example.com");
    let before = rp.sign_in(&browser);
    assert_eq!(before.body["expires_in"], 3600);
    set(&server, json!({ "lifetimes": { "access_token": 120, "id_token": 60, "code": 10 } }));
    let after = rp.sign_in(&browser);
    assert_eq!((&after.body["expires_in"], life(&after.access_token)), (&json!(120), 120));
    assert_eq!(life(after.id_token.as_deref().unwrap()), 60);
    let other = own.sign_in(&browser);
    assert_eq!((life(&other.access_token), life(other.id_token.as_deref().unwrap())), (30, 40));
    // What was issued keeps its own end.
    server.clock.advance(seconds(121));
    let active = |token: &str| rp.post("/introspect", &[("token", token)]).json()["active"] == true;
    assert!(active(&before.access_token) && !active(&after.access_token));
    for (rp, lives) in [(&rp, 10), (&own, 5)] {
        for (wait, good) in [(lives - 1, true), (lives, false)] {
            let request = rp.authorization_request();
            let code = browser.get(&request.path()).redirected("code").unwrap();
            server.clock.advance(seconds(wait));
            assert_eq!(rp.redeem(&code, &request.verifier).status == 200, good, "{wait} of {lives}");
        }
    }
    // Back to the defaults.
    assert_eq!(server.admin("PUT", "/settings", Some(json!({}))).status, 200);
    assert_eq!(rp.sign_in(&browser).body["expires_in"], 3600);
}

#[test]
fn bad_settings_are_refused_by_name_and_change_nothing() {
    let server = TestServer::start();
    for (bad, name) in [
        (json!({ "lifetimes": { "code": 601 } }), "lifetimes.code"),
        (json!({ "lifetimes": { "access_token": 0 } }), "lifetimes.access_token"),
        (json!({ "no_such": true }), "no_such"),
        (json!({ "refresh_retry_window": 61 }), "refresh_retry_window"),
        (json!({ "signing_algorithm": "HS256" }), "signing_algorithm"),
    ] {
        let answer = server.admin("PATCH", "/settings", Some(bad));
        assert_eq!(answer.status, 400, "{answer:?}");
        assert!(answer.json()["error_description"].as_str().unwrap().contains(name), "{answer:?}");
    }
    assert_eq!(server.admin("GET", "/settings", None).json()["settings"]["lifetimes"]["code"], 60);
}

#[test]
fn refresh_families_end_idle_and_absolutely() {
    let server = TestServer::start();
    set(&server, json!({ "lifetimes": { "refresh_token_idle": 100, "refresh_token_absolute": 250 } }));
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let idle = rp.sign_in(&browser).refresh_token.unwrap();
    let mut used = rp.sign_in(&browser).refresh_token.unwrap();
    for _ in 0..4 {
        server.clock.advance(seconds(60));
        used = TokenSet::of(&rp.refresh(&used)).refresh_token.unwrap();
    }
    assert_eq!(rp.refresh(&idle).error(), "invalid_grant", "unused for too long");
    server.clock.advance(seconds(11));
    assert_eq!(rp.refresh(&used).error(), "invalid_grant", "over, however much it was used");
}

#[test]
fn rotation_can_be_switched_off_but_not_for_public_clients() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let stays = RelyingParty::register(&server, json!({ "settings": { "refresh_token_rotation": true } }));
    let public = public(&server);
    let (_, browser) = server.signed_in("a@example.com");
    set(&server, json!({ "refresh_token_rotation": false }));
    let token = rp.sign_in(&browser).refresh_token.unwrap();
    for _ in 0..3 {
        let again = TokenSet::of(&rp.refresh(&token));
        assert!(again.refresh_token.is_none_or(|same| same == token));
        server.clock.advance(seconds(20));
    }
    for rotating in [&public, &stays] {
        let first = rotating.sign_in(&browser).refresh_token.unwrap();
        let second = TokenSet::of(&rotating.refresh(&first)).refresh_token.unwrap();
        assert_ne!(first, second);
        server.clock.advance(seconds(11));
        assert_eq!(rotating.refresh(&first).error(), "invalid_grant");
        assert_eq!(rotating.refresh(&second).error(), "invalid_grant", "the family ended");
    }
    // On again: the one that stayed rotates from now on.
    set(&server, json!({ "refresh_token_rotation": true }));
    let next = TokenSet::of(&rp.refresh(&token)).refresh_token.unwrap();
    assert_ne!(next, token);
    server.clock.advance(seconds(11));
    assert_eq!(rp.refresh(&token).error(), "invalid_grant");
}

#[test]
fn the_retry_window_is_as_wide_as_it_is_set() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let own = RelyingParty::register(&server, json!({ "settings": { "refresh_retry_window": 30 } }));
    let (_, browser) = server.signed_in("a@example.com");
    set(&server, json!({ "refresh_retry_window": 5 }));
    for (rp, wait, forgiven) in [(&rp, 4, true), (&rp, 6, false), (&own, 29, true), (&own, 31, false)] {
        let first = rp.sign_in(&browser).refresh_token.unwrap();
        let second = TokenSet::of(&rp.refresh(&first)).refresh_token.unwrap();
        server.clock.advance(seconds(wait));
        let again = rp.refresh(&first);
        assert_eq!(again.status == 200, forgiven, "{wait}: {again:?}");
        assert_eq!(rp.refresh(&second).status == 200, forgiven, "{wait}");
    }
    set(&server, json!({ "refresh_retry_window": 0 }));
    let first = rp.sign_in(&browser).refresh_token.unwrap();
    TokenSet::of(&rp.refresh(&first));
    server.clock.advance(Duration::from_millis(1));
    assert_eq!(rp.refresh(&first).error(), "invalid_grant");
}

#[test]
fn the_number_of_shards_changes_under_what_is_in_flight() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let key = Signing::generate(Algorithm::Es256);
    let metadata = json!({ "token_endpoint_auth_method": "private_key_jwt", "jwks": key.jwks() });
    let signer = RelyingParty::register(&server, metadata).client_id;
    let (_, browser) = server.signed_in("a@example.com");
    let family = rp.sign_in(&browser).refresh_token.unwrap();
    let revoked = rp.sign_in(&browser).access_token;
    assert_eq!(rp.post("/revoke", &[("token", &revoked)]).status, 200);
    let assertion = key.assertion(&signer, &server.issuer, "once", server.now().seconds());
    let form = [
        ("grant_type", "client_credentials"),
        ("client_assertion_type", ASSERTION),
        ("client_assertion", &*assertion),
    ];
    assert_eq!(server.browser().post("/token", &form).status, 200);
    let mut family = family;
    for shards in [8, 128, 1, 1024] {
        let request = rp.authorization_request();
        let code = browser.get(&request.path()).redirected("code").unwrap();
        let waiting = server.browser();
        let login = waiting.get(&rp.authorization_request().path()).location();
        for kind in ["code", "session", "challenge", "refresh", "revocation", "assertion"] {
            let path = format!("/settings/{kind}-shards");
            let answer = server.admin("PUT", &path, Some(json!({ "shards": shards })));
            assert_eq!((answer.status, &answer.json()["shards"]), (200, &json!(shards)), "{answer:?}");
        }
        let tokens = TokenSet::of(&rp.redeem(&code, &request.verifier));
        assert_eq!(rp.redeem(&code, &request.verifier).error(), "invalid_grant", "still once only");
        assert_eq!(
            rp.post("/introspect", &[("token", &tokens.access_token)]).json()["active"],
            false,
            "a replay ends the grant"
        );
        assert_eq!(waiting.get(&login).status, 200, "a login goes on");
        family = TokenSet::of(&rp.refresh(&family)).refresh_token.unwrap();
        assert_eq!(rp.post("/introspect", &[("token", &revoked)]).json()["active"], false);
        assert_eq!(server.browser().post("/token", &form).status, 401, "an assertion stays used");
        assert!(rp.sign_in(&browser).refresh_token.is_some(), "the session goes on");
    }
    // And all of it through a restart.
    let cookie = browser.cookie("symbolon_session").unwrap();
    let issuer = server.issuer.clone();
    let server = server.restart(symbolon_testkit::Options { seed: 2, ..Default::default() }.issuer(&issuer));
    let rp = rp.at(&server);
    TokenSet::of(&rp.refresh(&family));
    assert_eq!(rp.post("/introspect", &[("token", &revoked)]).json()["active"], false);
    let browser = server.browser();
    browser.set_cookie("symbolon_session", &cookie);
    assert!(rp.sign_in(&browser).refresh_token.is_some());
    assert_eq!(server.admin("GET", "/settings/session-shards", None).json()["shards"], 1024);
    for bad in [json!(0), json!(1025), json!("x"), Value::Null] {
        assert_eq!(
            server.admin("PUT", "/settings/code-shards", Some(json!({ "shards": bad }))).status,
            400,
            "{bad}"
        );
    }
}

/// Tokens as load scripts sign them: with the issuer's key, whatever they say.
fn forged(server: &TestServer, rp: &RelyingParty, user: &str, changes: Value) -> String {
    let key = server.admin("GET", "/test/signing-key", None).json();
    let key = Signing::from_pem(key["kid"].as_str().unwrap(), key["privatePEM"].as_str().unwrap());
    let now = server.now().seconds();
    let mut claims = json!({
        "iss": server.issuer, "sub": user, "aud": server.issuer, "client_id": rp.client_id, "scope": "openid profile email",
        "iat": now, "exp": now + 3600, "jti": format!("g2:wnam:7:at_{}", symbolon_crypto::random::base64url::<32>(&symbolon_crypto::random::SystemRandom)),
    });
    for (name, value) in changes.as_object().unwrap() {
        claims[name] = value.clone();
    }
    key.jwt("at+jwt", &claims)
}

#[test]
fn strict_introspection_looks_at_audience_and_client() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (user, _) = server.signed_in("a@example.com");
    let valid = forged(&server, &rp, &user, json!({}));
    let elsewhere = forged(&server, &rp, &user, json!({ "aud": "https://other-service.example.com" }));
    let nobodys = forged(&server, &rp, &user, json!({ "client_id": "non-existent-client-id" }));
    let expired = forged(&server, &rp, &user, json!({ "exp": server.now().seconds() - 3600 }));
    let active = |token: &str| rp.post("/introspect", &[("token", token)]).json()["active"] == true;
    let path = "/settings/introspection-validation";
    assert_eq!(
        server.admin("GET", path, None).json(),
        json!({ "strictValidation": false, "expectedAudience": null })
    );
    assert!(active(&valid) && active(&elsewhere) && !active(&nobodys) && !active(&expired));
    let strict = json!({ "strictValidation": true, "expectedAudience": null });
    assert_eq!(server.admin("PUT", path, Some(strict)).status, 200);
    assert!(active(&valid) && !active(&elsewhere) && !active(&nobodys) && !active(&expired));
    let other = json!({ "strictValidation": true, "expectedAudience": "https://other-service.example.com" });
    assert_eq!(server.admin("PUT", path, Some(other)).status, 200);
    assert!(!active(&valid) && active(&elsewhere));
    assert_eq!(server.admin("DELETE", path, None).status, 200);
    assert!(active(&valid) && active(&elsewhere));
}

#[test]
fn token_exchange_can_be_switched_off() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let subject = rp.sign_in(&browser).access_token;
    let exchange = || {
        rp.token(&[
            ("grant_type", EXCHANGE),
            ("subject_token", &subject),
            ("subject_token_type", ACCESS_TOKEN),
        ])
    };
    let advertised = || {
        let document = server.browser().get("/.well-known/openid-configuration").json();
        document["grant_types_supported"].as_array().unwrap().contains(&json!(EXCHANGE))
    };
    assert!(advertised() && exchange().status == 200);
    assert_eq!(
        server.admin("PUT", "/settings/token-exchange", Some(json!({ "enabled": false }))).status,
        200
    );
    let refused = exchange();
    assert_eq!((refused.status, refused.error()), (400, "unsupported_grant_type".to_owned()));
    assert!(refused.json()["error_description"].as_str().unwrap().contains("not enabled"), "{refused:?}");
    assert!(!advertised());
    let set = |body| server.admin("PUT", "/settings/token-exchange", Some(body));
    assert_eq!(set(json!({ "enabled": true })).status, 200);
    assert_eq!(exchange().status, 200);
    let jwt_alone = json!(["urn:ietf:params:oauth:token-type:jwt"]);
    let narrowed = set(json!({ "allowedSubjectTokenTypes": jwt_alone }));
    assert_eq!((narrowed.status, &narrowed.json()["allowedSubjectTokenTypes"]), (200, &jwt_alone));
    assert_eq!(exchange().error(), "invalid_request");
    for bad in [json!([]), json!(["urn:ietf:params:oauth:token-type:refresh_token"])] {
        assert_eq!(set(json!({ "allowedSubjectTokenTypes": bad })).status, 400);
    }
}

/// A change of one issuer's settings is no other's.
#[test]
fn settings_are_each_issuers_own() {
    let server = TestServer::start();
    let url = format!("{}/acme", server.url);
    assert_eq!(server.admin("POST", "/issuers", Some(json!({ "id": "acme", "url": url }))).status, 201);
    let changed =
        server.admin("PATCH", "/issuers/acme/settings", Some(json!({ "lifetimes": { "access_token": 77 } })));
    assert_eq!(changed.status, 200);
    let credentials = [("grant_type", "client_credentials")];
    let here = RelyingParty::register(&server, json!({}));
    let there = RelyingParty::register_at(&server, "/issuers/acme", json!({})).served_at(&url);
    assert_eq!(here.token(&credentials).json()["expires_in"], 3600);
    assert_eq!(there.token(&credentials).json()["expires_in"], 77);
    assert_eq!(Browser::new(&url).get("/.well-known/jwks.json").status, 200);
}

/// What was issued while things lived longer must stay ended for as long as it would have lived.
#[test]
fn an_end_outlasts_what_was_issued_under_longer_lifetimes() {
    const DAY: u64 = 86_400;
    let server = TestServer::start();
    let own = json!({ "settings": { "access_token_lifetime": 365 * DAY } });
    let rp = RelyingParty::register(&server, own);
    let (user, browser) = server.signed_in("a@example.com");
    let (_, other) = server.signed_in("b@example.com");
    let (ended, lives) = (rp.sign_in(&browser).access_token, rp.sign_in(&other).access_token);
    let path = format!("/clients/{}", rp.client_id);
    assert_eq!(
        server.admin("PATCH", &path, Some(json!({ "settings": { "access_token_lifetime": 3600 } }))).status,
        200
    );
    assert_eq!(life(&rp.sign_in(&browser).access_token), 3600);
    assert_eq!(server.admin("DELETE", &format!("/users/{user}"), None).status, 204);
    server.clock.advance(seconds(60 * DAY));
    server.block_on(server.app.store.sweep(server.now())).unwrap();
    let active = |token: &str| rp.post("/introspect", &[("token", token)]).json()["active"] == true;
    assert!(!active(&ended));
    assert!(active(&lives), "else this would show nothing");
    // It is nobody's to see or to set.
    assert!(server.admin("GET", "/settings", None).json()["settings"]["outlived"].is_null());
    let set = json!({ "outlived": { "life": 1, "until": 1 } });
    assert_eq!(server.admin("PATCH", "/settings", Some(set)).status, 400);
}
