//! Workloads that authenticate as clients by the tokens of their platform.

use std::cell::Cell;
use std::time::Duration;

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_protocol::id::IssuerId;
use symbolon_testkit::{Answer, RelyingParty, Signing, TestServer, decode_jwt};

use crate::upstream::fake::{Fake, ok};
use crate::upstream::identities::connect;
use crate::upstream::{add, options};

const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const SUBJECT: &str = "system:serviceaccount:shop:api";
const HOUR: u64 = 3_600;

fn key() -> Signing {
    Signing::generate(Algorithm::Es256)
}

/// A server, and a platform that it trusts.
struct Scene {
    server: TestServer,
    platform: Fake,
    key: Signing,
    presented: Cell<u32>,
}

impl Scene {
    fn new() -> Self {
        let (server, key) = (TestServer::start_with(options().one_node()), key());
        let platform = Fake::start(&key.jwks());
        // A platform has no endpoints for people.
        let metadata = json!({ "issuer": platform.issuer, "jwks_uri": format!("{}/jwks", platform.issuer) });
        platform.set("/.well-known/openid-configuration", ok(&metadata));
        let scene = Self { server, platform, key, presented: Cell::new(0) };
        scene.trust(json!({}));
        scene
    }

    /// Trusts the platform, with further members.
    fn trust(&self, more: Value) {
        let mut entry = json!({ "issuer": self.platform.issuer, "for": ["client_authentication"] });
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = self.server.admin("PATCH", "/settings", Some(json!({ "trusted_issuers": [entry] })));
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    /// A client that is the workload with this subject.
    fn client(&self, sub: &str, claims: &Value) -> RelyingParty {
        let entry = json!({ "issuer": self.platform.issuer, "sub": sub, "claims": claims });
        let metadata =
            json!({ "token_endpoint_auth_method": "private_key_jwt", "assertion_issuers": [entry] });
        RelyingParty::register(&self.server, metadata)
    }

    /// The claims of a service account's token, which lives an hour, with changes; seconds are counted from now.
    fn claims(&self, changes: &Value) -> Value {
        let now = self.server.now().seconds();
        let mut claims = json!({
            "iss": self.platform.issuer, "sub": SUBJECT, "aud": [self.server.issuer], "iat": now, "nbf": now,
            "exp": now + HOUR, "kubernetes.io": { "namespace": "shop" },
        });
        for (name, value) in changes.as_object().unwrap() {
            claims[name] = match value {
                Value::Number(seconds) => json!(now.saturating_add_signed(seconds.as_i64().unwrap())),
                other => other.clone(),
            };
        }
        claims
    }

    fn token(&self, changes: &Value) -> String {
        self.key.jwt("JWT", &self.claims(changes))
    }

    fn present(&self, rp: &RelyingParty, token: &str) -> Answer {
        let number = self.presented.get() + 1;
        self.presented.set(number);
        let id = format!("workload-{number}");
        let form = [
            ("grant_type", "client_credentials"),
            ("client_id", &*rp.client_id),
            ("client_assertion_type", JWT_BEARER),
            ("client_assertion", token),
        ];
        self.server.browser().post_with("/token", &form, &[("x-request-id", &*id)])
    }

    /// Presents a token that must be refused; returns the reason that the operator is told.
    fn refused(&self, rp: &RelyingParty, token: &str) -> String {
        let answer = self.present(rp, token);
        assert_eq!((answer.status, &*answer.error()), (401, "invalid_client"), "{answer:?}");
        assert!(answer.body.contains("client authentication failed"), "nothing more is told: {answer:?}");
        let path = format!("/failures/workload-{}", self.presented.get());
        let failure = self.server.admin("GET", &path, None).json()["failures"][0].clone();
        failure["reason"].as_str().unwrap_or_default().to_owned()
    }

    /// How often the platform's keys were asked for.
    fn asked(&self) -> usize {
        self.platform.requests("/jwks").len()
    }
}

#[test]
fn a_service_account_is_a_client_for_as_long_as_its_token_lives() {
    let scene = Scene::new();
    let rp = scene.client(SUBJECT, &json!({}));
    assert_eq!(scene.asked(), 0, "not before they are needed");
    let token = scene.token(&json!({ "jti": "one" }));
    for _ in 0..3 {
        let answer = scene.present(&rp, &token);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.json()["access_token"].is_string() && answer.json()["refresh_token"].is_null());
    }
    assert_eq!((scene.asked(), scene.platform.requests("/.well-known/openid-configuration").len()), (1, 1));
    scene.server.clock.advance(Duration::from_secs(HOUR + 29));
    assert_eq!(scene.present(&rp, &token).status, 200, "clocks may differ by 30 seconds");
    scene.server.clock.advance(Duration::from_secs(1));
    assert_eq!(scene.refused(&rp, &token), "assertion_expired");
}

#[test]
fn what_is_not_the_workloads_own_token_for_this_issuer_is_refused() {
    let scene = Scene::new();
    let rp = scene.client(SUBJECT, &json!({}));
    let other = format!("{}/other", scene.platform.issuer);
    for (changes, reason) in [
        (json!({ "aud": ["https://kubernetes.default.svc"] }), "assertion_audience_wrong"),
        (
            json!({ "aud": [scene.server.issuer, "https://kubernetes.default.svc"] }),
            "assertion_audience_wrong",
        ),
        (json!({ "iat": -7_200, "nbf": -7_200, "exp": -3_600 }), "assertion_expired"),
        (json!({ "exp": 90_000 }), "assertion_lives_too_long"),
        (json!({ "nbf": 60 }), "assertion_not_yet_valid"),
        (json!({ "iss": other }), "assertion_issuer_untrusted"),
        (json!({ "sub": "system:serviceaccount:shop:api2" }), "assertion_condition_unmet"),
        (json!({ "sub": "system:serviceaccount:default:api" }), "assertion_condition_unmet"),
        (json!({ "exp": null }), "assertion_malformed"),
    ] {
        assert_eq!(scene.refused(&rp, &scene.token(&changes)), reason, "{changes}");
    }
    let claims = scene.claims(&json!({}));
    assert_eq!(scene.refused(&rp, &scene.key.jwt("logout+jwt", &claims)), "assertion_typ_wrong");
    assert_eq!(scene.refused(&rp, &key().jwt("JWT", &claims)), "assertion_key_unknown");
    for alg in ["none", "HS256"] {
        let forged = scene.key.jws(&json!({ "alg": alg, "typ": "JWT" }), &claims);
        assert_eq!(scene.refused(&rp, &forged), "assertion_malformed", "{alg}");
    }
    // The token itself is good, and is another client's.
    let good = scene.token(&json!({}));
    let namesake = scene.client("system:serviceaccount:other:*", &json!({}));
    assert_eq!(scene.refused(&namesake, &good), "assertion_condition_unmet");
    let metadata = json!({ "token_endpoint_auth_method": "private_key_jwt", "jwks": scene.key.jwks() });
    let own_key = RelyingParty::register(&scene.server, metadata);
    assert_eq!(scene.refused(&own_key, &good), "assertion_issuer_untrusted");
    assert_eq!(scene.present(&rp, &good).status, 200);
    // RFC 7521 4.2: it does not name the client by itself.
    let form = [
        ("grant_type", "client_credentials"),
        ("client_assertion_type", JWT_BEARER),
        ("client_assertion", &*good),
    ];
    assert_eq!(scene.server.browser().post("/token", &form).status, 401);
}

#[test]
fn a_key_of_the_client_does_not_sign_for_the_platform_nor_the_other_way() {
    let scene = Scene::new();
    let own = key();
    let entry = json!({ "issuer": scene.platform.issuer, "sub": SUBJECT });
    let metadata = json!({
        "token_endpoint_auth_method": "private_key_jwt", "jwks": own.jwks(), "assertion_issuers": [entry],
    });
    let rp = RelyingParty::register(&scene.server, metadata);
    assert_eq!(scene.present(&rp, &scene.token(&json!({}))).status, 200);
    let now = scene.server.now().seconds();
    assert_eq!(
        scene.present(&rp, &own.assertion(&rp.client_id, &scene.server.issuer, "own", now)).status,
        200
    );
    assert_eq!(scene.refused(&rp, &own.jwt("JWT", &scene.claims(&json!({})))), "assertion_key_unknown");
    let as_client = scene.key.assertion(&rp.client_id, &scene.server.issuer, "platform", now);
    assert_eq!(scene.refused(&rp, &as_client), "assertion_key_unknown");
}

#[test]
fn a_short_token_with_a_jti_counts_once_whoever_presents_it() {
    let scene = Scene::new();
    let claims = json!({ "ref": "refs/heads/main" });
    let (rp, twin) = (scene.client("repo:acme/shop:*", &claims), scene.client("repo:acme/*", &json!({})));
    let job = |changes: Value| {
        let mut claims =
            json!({ "sub": "repo:acme/shop:main", "ref": "refs/heads/main", "exp": 300, "jti": "job-1" });
        claims.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        scene.token(&claims)
    };
    let token = job(json!({}));
    assert_eq!(scene.present(&rp, &token).status, 200);
    assert_eq!(scene.refused(&rp, &token), "assertion_replayed");
    assert_eq!(scene.refused(&twin, &token), "assertion_replayed");
    assert_eq!(scene.present(&rp, &job(json!({ "jti": "job-2" }))).status, 200);
    let branch = job(json!({ "ref": "refs/heads/other", "jti": "job-3" }));
    assert_eq!(scene.refused(&rp, &branch), "assertion_condition_unmet");
    assert_eq!(scene.present(&twin, &branch).status, 200, "a refusal does not use it up");
}

#[test]
fn new_keys_of_the_platform_are_found_and_old_ones_forgotten() {
    let scene = Scene::new();
    let rp = scene.client(SUBJECT, &json!({}));
    assert_eq!(scene.present(&rp, &scene.token(&json!({}))).status, 200);
    let new = key();
    scene.platform.set("/jwks", ok(&new.jwks()));
    let by_new = || new.jwt("JWT", &scene.claims(&json!({})));
    assert_eq!(scene.refused(&rp, &by_new()), "assertion_key_unknown", "they were read a moment ago");
    scene.server.clock.advance(Duration::from_secs(60));
    assert_eq!((scene.present(&rp, &by_new()).status, scene.asked()), (200, 2));
    assert_eq!(scene.refused(&rp, &scene.token(&json!({}))), "assertion_key_unknown");
    // A platform that is down for a while keeps no workload out.
    scene
        .platform
        .set("/.well-known/openid-configuration", ("503 Service Unavailable".to_owned(), String::new()));
    scene.server.clock.advance(Duration::from_secs(HOUR));
    assert_eq!((scene.present(&rp, &by_new()).status, scene.asked()), (200, 2));
    scene.server.clock.advance(Duration::from_secs(4 * HOUR));
    assert_eq!(scene.refused(&rp, &by_new()), "trusted_issuer_keys_unreachable");
}

#[test]
fn the_metadata_must_be_those_of_the_issuer() {
    let scene = Scene::new();
    let lie =
        json!({ "issuer": "https://other.example", "jwks_uri": format!("{}/jwks", scene.platform.issuer) });
    scene.platform.set("/.well-known/openid-configuration", ok(&lie));
    let rp = scene.client(SUBJECT, &json!({}));
    assert_eq!(scene.refused(&rp, &scene.token(&json!({}))), "trusted_issuer_keys_unreachable");
    assert_eq!(scene.asked(), 0);
    scene.trust(json!({ "jwks_uri": format!("{}/jwks", scene.platform.issuer), "audience": "urn:op" }));
    let named = scene.token(&json!({ "aud": "urn:op" }));
    assert_eq!(scene.present(&rp, &named).status, 200, "the keys are where the setting says");
}

#[test]
fn who_is_no_longer_trusted_authenticates_nobody_and_is_not_asked() {
    let scene = Scene::new();
    let rp = scene.client(SUBJECT, &json!({}));
    let token = scene.token(&json!({}));
    for list in [json!([]), json!([{ "issuer": scene.platform.issuer, "for": ["jwt_bearer"] }])] {
        let answer = scene.server.admin("PATCH", "/settings", Some(json!({ "trusted_issuers": list })));
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(scene.refused(&rp, &token), "assertion_issuer_untrusted");
    }
    assert_eq!(scene.asked(), 0);
    let own = json!([{ "issuer": scene.server.issuer, "for": ["client_authentication"] }]);
    let itself = scene.server.admin("PATCH", "/settings", Some(json!({ "trusted_issuers": own })));
    assert_eq!(itself.status, 400, "{itself:?}");
    assert!(itself.body.contains("this issuer itself"), "{itself:?}");
}

/// Asks for a token by the grant, with changes to an assertion that is good for this user.
fn ask(scene: &Scene, rp: &RelyingParty, user: &str, changes: &Value) -> Answer {
    let mut all = json!({ "sub": user, "exp": 600 });
    all.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    rp.token(&[("grant_type", GRANT), ("assertion", &*scene.token(&all))])
}

#[test]
fn a_trusted_issuer_says_for_whom_a_client_gets_a_token() {
    let scene = Scene::new();
    scene.trust(json!({ "for": ["jwt_bearer"], "subject": "user_id" }));
    let discovered = scene.server.browser().get("/.well-known/openid-configuration").json();
    assert!(discovered["grant_types_supported"].as_array().unwrap().contains(&json!(GRANT)), "{discovered}");
    let (user, _) = scene.server.signed_in("ann@example.com");
    let metadata = json!({ "grant_types": [GRANT], "scope": "openid email offline_access" });
    let rp = RelyingParty::register(&scene.server, metadata);
    let good = ask(&scene, &rp, &user, &json!({ "jti": "a" }));
    assert_eq!(good.status, 200, "{good:?}");
    let answer = good.json();
    assert!(answer["refresh_token"].is_null() && answer["id_token"].is_null(), "{answer}");
    let (_, claims) = decode_jwt(answer["access_token"].as_str().unwrap());
    assert_eq!((&claims["sub"], &claims["client_id"]), (&json!(user), &json!(rp.client_id)));
    assert_eq!(claims["scope"], "openid email");

    for (name, changes) in [
        ("used", json!({ "jti": "a" })),
        ("without jti", json!({})),
        ("too long", json!({ "jti": "b", "exp": 3_700 })),
        ("over", json!({ "jti": "c", "iat": -700, "nbf": -700, "exp": -60 })),
        ("for others", json!({ "jti": "d", "aud": "https://other.example" })),
        ("of others", json!({ "jti": "e", "iss": "https://other.example" })),
        ("nobody", json!({ "jti": "f", "sub": "nobody" })),
    ] {
        let refused = ask(&scene, &rp, &user, &changes);
        assert_eq!((refused.status, &*refused.error()), (400, "invalid_grant"), "{name}: {refused:?}");
    }
    let forged = key().jwt("JWT", &scene.claims(&json!({ "sub": user, "exp": 600, "jti": "g" })));
    let refused = rp.token(&[("grant_type", GRANT), ("assertion", &*forged)]);
    assert_eq!((refused.status, &*refused.error()), (400, "invalid_grant"), "{refused:?}");
    // What is wrong with the request alone does not use the assertion up.
    let assertion = scene.token(&json!({ "sub": user, "exp": 600, "jti": "h" }));
    let with = |scope| rp.token(&[("grant_type", GRANT), ("assertion", &*assertion), ("scope", scope)]);
    assert_eq!(with("phone").error(), "invalid_scope");
    assert_eq!(with("email").status, 200);
    // Somebody else's client cannot use it a second time either.
    let other = RelyingParty::register(&scene.server, json!({ "grant_types": [GRANT], "scope": "openid" }));
    assert_eq!(other.token(&[("grant_type", GRANT), ("assertion", &*assertion)]).error(), "invalid_grant");

    let without = RelyingParty::register(&scene.server, json!({ "grant_types": ["client_credentials"] }));
    assert_eq!(ask(&scene, &without, &user, &json!({ "jti": "i" })).error(), "unauthorized_client");
    scene.trust(json!({ "for": ["jwt_bearer"] }));
    assert_eq!(
        ask(&scene, &rp, &user, &json!({ "jti": "j" })).error(),
        "invalid_grant",
        "no identity is connected"
    );
    scene.trust(json!({ "for": ["client_authentication"] }));
    assert_eq!(
        ask(&scene, &rp, &user, &json!({ "jti": "k" })).error(),
        "invalid_grant",
        "not trusted for this"
    );
    scene.trust(json!({ "for": ["jwt_bearer"], "subject": "user_id" }));
    let inactive = scene.server.admin("PATCH", &format!("/users/{user}"), Some(json!({ "active": false })));
    assert_eq!(inactive.status, 200, "{inactive:?}");
    assert_eq!(ask(&scene, &rp, &user, &json!({ "jti": "l" })).error(), "invalid_grant");
}

#[test]
fn the_subject_is_the_identity_that_a_person_has_connected() {
    let scene = Scene::new();
    let server = &scene.server;
    scene.trust(json!({ "for": ["jwt_bearer"], "subject": "user_id" }));
    let ((ann, _), (bob, _)) = (server.signed_in("ann@example.com"), server.signed_in("bob@example.com"));
    add(server, "platform", json!({ "issuer": scene.platform.issuer }));
    let settings = server.block_on(server.app.store.settings(&IssuerId::default_issuer())).unwrap();
    connect(server, &ann, &settings.identity_providers[0].key);
    let rp = RelyingParty::register(server, json!({ "grant_types": [GRANT] }));
    let there = format!("{ann} there");
    let told = |subject: &str, jti: &str| {
        let answer = ask(&scene, &rp, subject, &json!({ "jti": jti }));
        let token = answer.json()["access_token"].as_str().map(str::to_owned);
        token.map_or_else(|| json!(answer.error()), |token| decode_jwt(&token).1["sub"].clone())
    };
    assert_eq!(told(&there, "a"), json!(ann));
    assert_eq!(
        told(&bob, "b"),
        json!(bob),
        "nobody has such an identity, and the setting says that it may be an id"
    );
    scene.trust(json!({ "for": ["jwt_bearer"] }));
    assert_eq!((told(&there, "c"), told(&bob, "d")), (json!(ann), json!("invalid_grant")));
    let off = server.admin("PATCH", "/identity-providers/platform", Some(json!({ "enabled": false })));
    assert_eq!(off.status, 200, "{off:?}");
    assert_eq!(told(&there, "e"), json!("invalid_grant"));
}
