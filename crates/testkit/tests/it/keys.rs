//! Signing keys in use: rotation, emergency revocation, algorithms by client.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_crypto::jws::Compact;
use symbolon_crypto::key::VerifyingKey;
use symbolon_testkit::{Answer, Browser, RelyingParty, Signing, TestServer, TokenSet, decode_jwt};

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const DAY: Duration = Duration::from_secs(86_400);
/// From when a key is made until it may sign: the cache time of the key set, and half a minute.
const AHEAD: Duration = Duration::from_secs(330);

fn kid(token: &str) -> String {
    decode_jwt(token).0["kid"].as_str().unwrap().to_owned()
}

fn jwks(server: &TestServer) -> Vec<Value> {
    server.browser().get("/.well-known/jwks.json").json()["keys"].as_array().unwrap().clone()
}

fn published(server: &TestServer, kid: &str) -> bool {
    jwks(server).iter().any(|key| key["kid"] == kid)
}

fn state(server: &TestServer, kid: &str) -> Value {
    let keys = server.admin("GET", "/signing-keys", None).json();
    let found = keys["keys"].as_array().unwrap().iter().find(|key| key["kid"] == kid);
    found.map_or(Value::Null, |key| key["state"].clone())
}

fn rotate(server: &TestServer) {
    let answer = server.admin("POST", "/signing-keys/rotate", None);
    assert_eq!(answer.status, 200, "{answer:?}");
}

fn userinfo(server: &TestServer, token: &str) -> Answer {
    server.browser().get_with("/userinfo", &[("authorization", &format!("Bearer {token}"))])
}

fn silent(rp: &RelyingParty, browser: &Browser, hint: &str) -> Answer {
    browser.get(&rp.authorization_request().with("prompt", "none").with("id_token_hint", hint).path())
}

/// The published key of a token verifies it, by the algorithm that the key and the token say.
pub(crate) fn assert_verifies(server: &TestServer, token: &str, algorithm: &str) {
    let (header, _) = decode_jwt(token);
    assert_eq!(header["alg"], algorithm);
    let key = jwks(server).into_iter().find(|key| key["kid"] == header["kid"]).expect("published");
    assert_eq!((&key["alg"], &key["use"]), (&json!(algorithm), &json!("sig")));
    let key = VerifyingKey::from_jwk(serde_json::from_value(key).unwrap(), None).unwrap();
    Compact::parse(token).unwrap().verify(&key).unwrap();
}

#[test]
fn a_key_is_next_then_active_then_retiring_then_gone() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    rotate(&server);
    let old = rp.sign_in(&browser);
    let first = kid(&old.access_token);
    assert_eq!(state(&server, &first), "active");
    let next = |server: &TestServer| {
        let found = server.admin("GET", "/signing-keys/status", None).json();
        found["algorithms"][0]["next"].as_str().expect("a next key").to_owned()
    };
    let second = next(&server);
    assert!(published(&server, &second), "relying parties know a key before it signs");

    server.clock.advance(AHEAD);
    rotate(&server);
    assert_eq!((state(&server, &first), state(&server, &second)), (json!("retiring"), json!("active")));
    let new = rp.sign_in(&browser);
    assert_eq!(kid(&new.access_token), second, "the next key signs, not a new one");
    assert_eq!(kid(new.id_token.as_deref().unwrap()), second);
    for token in [&old, &new] {
        assert_verifies(&server, &token.access_token, "RS256");
        assert_eq!(userinfo(&server, &token.access_token).status, 200);
    }
    server.clock.advance(Duration::from_secs(3_599) - AHEAD);
    assert_eq!(userinfo(&server, &old.access_token).status, 200, "until its own end");
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(userinfo(&server, &old.access_token).status, 401);

    // As a hint an ID token is good beyond its end, while its key is known.
    let hint = old.id_token.as_deref().unwrap();
    assert!(silent(&rp, &browser, hint).redirected("code").is_some());
    server.clock.advance(30 * DAY);
    assert!(published(&server, &first), "as long as the longest token may live");
    server.clock.advance(2 * DAY);
    rotate(&server);
    assert!(!published(&server, &first), "and no longer");
    assert_eq!(state(&server, &first), Value::Null, "its record goes too");
    let (_, browser) = server.signed_in("b@example.com");
    assert_eq!(silent(&rp, &browser, hint).redirected("error").as_deref(), Some("login_required"));
    assert_eq!(state(&server, &second), "retiring");
}

#[test]
fn a_restart_does_not_bring_a_gone_key_back() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let first = kid(&rp.sign_in(&browser).access_token);
    rotate(&server);
    assert!(published(&server, &first));
    // Over, while its record is still there.
    let keys = server.admin("GET", "/signing-keys", None).json();
    let gone_at = keys["keys"].as_array().unwrap().iter().find(|key| key["kid"] == first).unwrap()["gone_at"]
        .as_u64()
        .unwrap();
    server.clock.advance(Duration::from_millis(gone_at - server.now().millis()));
    let issuer = server.issuer.clone();
    let server = server.restart(symbolon_testkit::Options::default().issuer(&issuer));
    assert!(!published(&server, &first));
}

#[test]
fn an_emergency_revocation_acts_at_once_on_everything_that_the_key_signed() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (user, browser) = server.signed_in("a@example.com");
    let tokens = rp.sign_in(&browser);
    let stolen = kid(&tokens.access_token);
    let registered = registered_refresh_token(&server, &rp, &user);
    let exchange = |subject: &str| {
        rp.token(&[
            ("grant_type", EXCHANGE),
            ("subject_token", subject),
            ("subject_token_type", ACCESS_TOKEN),
        ])
    };
    let exchanged = TokenSet::of(&exchange(&tokens.access_token)).access_token;
    // Every cache has seen them.
    for token in [&tokens.access_token, &exchanged] {
        assert_eq!(userinfo(&server, token).status, 200);
    }
    assert_eq!(
        server.admin("POST", "/signing-keys/emergency-rotate", Some(json!({}))).status,
        400,
        "a reason is due"
    );
    let answer = server.admin("POST", "/signing-keys/emergency-rotate", Some(json!({ "reason": "lost" })));
    assert_eq!(answer.status, 200, "{answer:?}");

    for token in [&tokens.access_token, &exchanged] {
        let answer = userinfo(&server, token);
        assert_eq!((answer.status, answer.error()), (401, "invalid_token".to_owned()));
        assert_eq!(rp.post("/introspect", &[("token", token)]).json(), json!({ "active": false }));
        assert_eq!(exchange(token).error(), "invalid_grant");
    }
    let hint = tokens.id_token.as_deref().unwrap();
    assert_eq!(silent(&rp, &browser, hint).redirected("error").as_deref(), Some("login_required"));
    assert_eq!(rp.refresh(&registered).error(), "invalid_grant", "a signature is all that a refresh JWT has");
    assert!(!published(&server, &stolen));
    assert_eq!(state(&server, &stolen), "revoked");
    // What rests on no signature goes on, under another key.
    let new = TokenSet::of(&rp.refresh(tokens.refresh_token.as_deref().unwrap()));
    assert_ne!(kid(&new.access_token), stolen);
    assert_verifies(&server, &new.access_token, "RS256");
    assert_eq!(userinfo(&server, &new.access_token).status, 200);
    let again = server.admin("POST", &format!("/signing-keys/{stolen}/revoke"), None);
    assert_eq!(again.status, 404);
    // It stays revoked over rotations and a restart.
    rotate(&server);
    let issuer = server.issuer.clone();
    let server = server.restart(symbolon_testkit::Options::default().issuer(&issuer));
    assert!(!published(&server, &stolen));
    assert_eq!(userinfo(&server, &tokens.access_token).status, 401);
    assert_eq!(userinfo(&server, &new.access_token).status, 200);
}

/// A refresh token as load scripts make them: a JWT that the issuer's key signed, registered.
fn registered_refresh_token(server: &TestServer, rp: &RelyingParty, user: &str) -> String {
    let key = server.admin("GET", "/test/signing-key", None).json();
    let key = Signing::from_pem(key["kid"].as_str().unwrap(), key["privatePEM"].as_str().unwrap());
    let now = server.now().seconds();
    let token = key.jwt(
        "JWT",
        &json!({
            "iss": server.issuer, "sub": user, "aud": rp.client_id, "client_id": rp.client_id, "scope": "openid",
            "iat": now, "exp": now + 2_592_000, "jti": format!("v1_3_{}", "x".repeat(86)), "rtv": 1,
        }),
    );
    let body = json!({
        "token": token, "userId": user, "clientId": rp.client_id, "scope": "openid", "ttl": 2_592_000,
    });
    assert_eq!(server.admin("POST", "/test/tokens", Some(body)).status, 201);
    token
}

#[test]
fn each_client_gets_the_algorithms_that_it_asked_for() {
    let server = TestServer::start();
    let (_, browser) = server.signed_in("a@example.com");
    for (access, id) in [("ES256", "EdDSA"), ("EdDSA", "PS256"), ("PS256", "ES256"), ("RS256", "RS256")] {
        let metadata =
            json!({ "access_token_signed_response_alg": access, "id_token_signed_response_alg": id });
        let rp = RelyingParty::register(&server, metadata);
        let tokens = rp.sign_in(&browser);
        assert_verifies(&server, &tokens.access_token, access);
        assert_verifies(&server, tokens.id_token.as_deref().unwrap(), id);
        assert_eq!(userinfo(&server, &tokens.access_token).status, 200, "{access}");
        assert_eq!(
            rp.post("/introspect", &[("token", &tokens.access_token)]).json()["active"],
            true,
            "{access}"
        );
        let refreshed = TokenSet::of(&rp.refresh(tokens.refresh_token.as_deref().unwrap()));
        assert_verifies(&server, &refreshed.access_token, access);
    }
    let answer = server.admin("POST", "/clients", Some(json!({
        "client_name": "x", "redirect_uris": ["https://x.example/"], "id_token_signed_response_alg": "none",
    })));
    assert_eq!(answer.status, 400);
}

/// A relying party may keep the key set for five minutes: nothing that it gets meanwhile is signed by a key that the set
/// lacks.
#[test]
fn a_key_signs_when_relying_parties_know_it() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    let seen = jwks(&server);
    assert_eq!(seen.len(), 2, "a new issuer has its next key at once");
    let began = server.now().millis();
    let ahead = u64::try_from(AHEAD.as_millis()).unwrap();
    let changed = server.admin("PATCH", "/settings", Some(json!({ "signing_algorithm": "ES256" }))).json();
    assert_eq!(changed["settings"]["signing_algorithm"], "ES256");
    assert_eq!(changed["signs_from"], began + ahead);
    let keys = server.admin("GET", "/signing-keys", None).json();
    let es256 =
        keys["keys"].as_array().unwrap().iter().find(|key| key["algorithm"] == "ES256").unwrap().clone();
    assert_eq!((&es256["state"], &es256["signs_from"]), (&json!("next"), &json!(began + ahead)));
    assert!(published(&server, es256["kid"].as_str().unwrap()));
    let status = server.admin("GET", "/signing-keys/status", None).json();
    assert_eq!((&status["default_algorithm"], &status["signs_with"]), (&json!("ES256"), &json!("RS256")));

    server.clock.advance(AHEAD - Duration::from_millis(1));
    let tokens = rp.sign_in(&browser);
    for token in [&tokens.access_token, tokens.id_token.as_ref().unwrap()] {
        assert!(seen.iter().any(|key| key["kid"] == kid(token)), "not by an unknown key");
        assert_verifies(&server, token, "RS256");
    }
    // A client that names the algorithm would refuse any other.
    let named = RelyingParty::register(&server, json!({ "id_token_signed_response_alg": "ES256" }));
    let tokens = named.sign_in(&browser);
    assert_verifies(&server, tokens.id_token.as_ref().unwrap(), "ES256");
    assert_verifies(&server, &tokens.access_token, "RS256");

    server.clock.advance(Duration::from_millis(1));
    let tokens = rp.sign_in(&browser);
    assert_verifies(&server, &tokens.access_token, "ES256");
    assert_verifies(&server, tokens.id_token.as_ref().unwrap(), "ES256");
    let status = server.admin("GET", "/signing-keys/status", None).json();
    assert_eq!((&status["signs_with"], &status["signs_from"]), (&json!("ES256"), &Value::Null));
    assert_eq!(state(&server, es256["kid"].as_str().unwrap()), "active");
}

#[test]
fn an_issuer_that_is_made_while_running_has_its_next_key_at_once() {
    let server = TestServer::start();
    let url = format!("{}/side", server.url);
    let made = server.admin("POST", "/issuers", Some(json!({ "id": "side", "url": url })));
    assert_eq!(made.status, 201, "{made:?}");
    let began = server.now().millis();
    let keys = server.admin("GET", "/issuers/side/signing-keys", None).json();
    let keys = keys["keys"].as_array().unwrap();
    let in_state = |state: &str| {
        let found: Vec<&Value> = keys.iter().filter(|key| key["state"] == state).collect();
        assert_eq!(found.len(), 1, "{state}: {keys:?}");
        found[0]
    };
    let (active, next) = (in_state("active"), in_state("next"));
    assert_eq!((keys.len(), &active["algorithm"]), (2, &next["algorithm"]), "{keys:?}");
    assert!(next["signs_from"].as_u64().unwrap_or(began) >= began, "{next}");
    let key_set = server.browser().get("/side/.well-known/jwks.json").json();
    let published: Vec<&Value> = key_set["keys"].as_array().unwrap().iter().map(|key| &key["kid"]).collect();
    for key in [active, next] {
        assert!(published.contains(&&key["kid"]), "{key}: {key_set}");
    }
    // It signs after a rotation, and nobody has to fetch the key set again.
    server.clock.advance(AHEAD);
    assert_eq!(server.admin("POST", "/issuers/side/signing-keys/rotate", None).status, 200);
    let status = server.admin("GET", "/issuers/side/signing-keys/status", None).json();
    assert_eq!(status["algorithms"][0]["active"], next["kid"], "{status}");
}

#[test]
fn a_rotation_by_hand_waits_for_the_cache_time_and_a_revocation_does_not() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (_, browser) = server.signed_in("a@example.com");
    rotate(&server);
    let (seen, first) = (jwks(&server), kid(&rp.sign_in(&browser).access_token));
    let keys = server.admin("POST", "/signing-keys/rotate", None).json();
    let next = keys["keys"].as_array().unwrap().iter().find(|key| key["state"] == "next").unwrap().clone();
    let from = next["signs_from"].as_u64().expect("it says when it will sign");
    assert_eq!(from, server.now().millis() + u64::try_from(AHEAD.as_millis()).unwrap());
    server.clock.advance(AHEAD - Duration::from_millis(1));
    assert_eq!(kid(&rp.sign_in(&browser).access_token), first);
    assert!(seen.iter().any(|key| key["kid"] == first));
    server.clock.advance(Duration::from_millis(1));
    assert_eq!(kid(&rp.sign_in(&browser).access_token), next["kid"]);
    assert_eq!(
        (state(&server, &first), state(&server, next["kid"].as_str().unwrap())),
        (json!("retiring"), json!("active"))
    );

    // A key that leaked does not go on because its successor is young.
    let body = json!({ "reason": "lost" });
    for _ in 0..2 {
        let before = kid(&rp.sign_in(&browser).access_token);
        assert_eq!(server.admin("POST", "/signing-keys/emergency-rotate", Some(body.clone())).status, 200);
        let after = kid(&rp.sign_in(&browser).access_token);
        assert_ne!(after, before);
        assert!(published(&server, &after) && !published(&server, &before));
    }
}

#[test]
fn the_key_set_shows_public_halves_only() {
    let server = TestServer::start();
    for algorithm in ["PS256", "ES256", "EdDSA"] {
        let answer = server.admin("POST", "/signing-keys/rotate", Some(json!({ "algorithm": algorithm })));
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let document = server.browser().get("/.well-known/jwks.json");
    assert_eq!(document.header("access-control-allow-origin"), Some("*"));
    assert!(document.header("cache-control").unwrap().contains("max-age=300"));
    let keys = jwks(&server);
    for key in &keys {
        for member in ["kid", "kty", "alg", "use"] {
            assert!(key[member].is_string(), "{key}");
        }
        for secret in ["d", "p", "q", "dp", "dq", "qi", "k"] {
            assert!(key.get(secret).is_none(), "{key}");
        }
    }
    for (algorithm, kty) in [("RS256", "RSA"), ("PS256", "RSA"), ("ES256", "EC"), ("EdDSA", "OKP")] {
        assert!(keys.iter().any(|key| key["alg"] == algorithm && key["kty"] == kty), "{algorithm}");
    }
    let listed = server.admin("GET", "/signing-keys", None).body;
    assert!(!listed.contains("sealed") && !listed.contains("PRIVATE"));
}

/// Changes that several make at once are all in effect when the last of them is answered.
#[test]
fn memory_follows_the_store_however_many_change_it_at_once() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({ "access_token_signed_response_alg": "ES256" }));
    let (_, browser) = server.signed_in("a@example.com");
    for round in 0..5_u64 {
        std::thread::scope(|scope| {
            for task in 0..4_u64 {
                let server = &server;
                scope.spawn(move || {
                    let lifetime = 100 + 10 * round + task;
                    let body = json!({ "lifetimes": { "access_token": lifetime } });
                    let answer = server.admin("PATCH", "/settings", Some(body));
                    assert!(matches!(answer.status, 200 | 503), "{answer:?}");
                    let answer =
                        server.admin("POST", "/signing-keys/rotate", Some(json!({ "algorithm": "ES256" })));
                    assert!(matches!(answer.status, 200 | 503), "{answer:?}");
                });
            }
        });
        let stored =
            server.admin("GET", "/settings", None).json()["settings"]["lifetimes"]["access_token"].clone();
        let status = server.admin("GET", "/signing-keys/status", None).json();
        let active =
            status["algorithms"].as_array().unwrap().iter().find(|key| key["algorithm"] == "ES256").unwrap();
        let tokens = rp.sign_in(&browser);
        assert_eq!(tokens.body["expires_in"], stored);
        assert_eq!(active["active"], kid(&tokens.access_token));
    }
}
