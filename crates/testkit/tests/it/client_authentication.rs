//! Who a client is (RFC 6749 2.3, RFC 7523, OpenID Connect Core 9).

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_testkit::{Answer, Browser, Options, RelyingParty, Signing, TestServer};

const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const CREDENTIALS: (&str, &str) = ("grant_type", "client_credentials");

fn assert_refused(answer: &Answer) {
    assert_eq!((answer.status, &*answer.error()), (401, "invalid_client"), "{answer:?}");
    assert_eq!(answer.header("www-authenticate"), Some("Basic realm=\"symbolon\""), "{answer:?}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

#[test]
fn a_secret_comes_in_the_header_or_in_the_form_but_not_in_both() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let (id, secret, basic) = (&*rp.client_id, rp.client_secret.as_deref().unwrap(), rp.basic());
    let post =
        |form: &[(&str, &str)], headers: &[(&str, &str)]| server.browser().post_with("/token", form, headers);
    let authorization = [("authorization", &*basic)];
    assert_eq!(post(&[CREDENTIALS], &authorization).status, 200);
    assert_eq!(
        post(&[CREDENTIALS, ("client_id", id)], &authorization).status,
        200,
        "the same client_id beside it"
    );
    assert_eq!(post(&[CREDENTIALS, ("client_id", id), ("client_secret", secret)], &[]).status, 200);
    let both = post(&[CREDENTIALS, ("client_id", id), ("client_secret", secret)], &authorization);
    assert_eq!((both.status, both.error()), (400, "invalid_request".to_owned()));
    let contradicting = post(&[CREDENTIALS, ("client_id", "another")], &authorization);
    assert_eq!((contradicting.status, contradicting.error()), (400, "invalid_request".to_owned()));
    let twice = post(&[CREDENTIALS], &[("authorization", &basic), ("authorization", &basic)]);
    assert_eq!((twice.status, twice.error()), (400, "invalid_request".to_owned()));
}

#[test]
fn whoever_is_not_the_client_gets_one_and_the_same_answer() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let public = json!({ "token_endpoint_auth_method": "none", "grant_types": ["authorization_code"] });
    let public = RelyingParty::register(&server, public);
    let wrong = RelyingParty::known(&server, &rp.client_id, Some("a-wrong-secret-of-thirty-two-chars"), "");
    let nobody = RelyingParty::known(&server, "nobody", Some("a-wrong-secret-of-thirty-two-chars"), "");
    let silent = RelyingParty::known(&server, &rp.client_id, None, "");
    let talkative =
        RelyingParty::known(&server, &public.client_id, Some("a-secret-that-it-does-not-have-00"), "");
    let answers: Vec<Answer> =
        [wrong, nobody, silent, talkative].iter().map(|posing| posing.token(&[CREDENTIALS])).collect();
    for answer in &answers {
        assert_refused(answer);
        assert_eq!(answer.body, answers[0].body);
    }
    let browser = server.browser();
    for bad in ["Basic", "Basic !!!", "Basic bm9jb2xvbg==", "Bearer x", "Digest x"] {
        assert_refused(&browser.post_with("/token", &[CREDENTIALS], &[("authorization", bad)]));
    }
    assert_refused(&browser.post("/token", &[CREDENTIALS]));
}

#[test]
fn a_new_secret_ends_the_old_one_at_once() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    assert_eq!(rp.token(&[CREDENTIALS]).status, 200);
    let path = format!("/clients/{}/regenerate-secret", rp.client_id);
    let answer = server.admin("POST", &path, None).json();
    let secret = answer["client"]["client_secret"].as_str().unwrap();
    assert_refused(&rp.token(&[CREDENTIALS]));
    assert_eq!(
        RelyingParty::known(&server, &rp.client_id, Some(secret), "").token(&[CREDENTIALS]).status,
        200
    );
    let shown = server.admin("GET", &format!("/clients/{}", rp.client_id), None).body;
    assert!(!shown.contains("client_secret\""), "{shown}");
}

/// A client with a key of its own, at a server.
struct Signer {
    server: TestServer,
    client_id: String,
    key: Signing,
}

impl Signer {
    fn new(algorithm: Algorithm) -> Self {
        Self::at(TestServer::start(), algorithm)
    }

    fn at(server: TestServer, algorithm: Algorithm) -> Self {
        let key = Signing::generate(algorithm);
        let metadata = json!({ "token_endpoint_auth_method": "private_key_jwt", "jwks": key.jwks() });
        let client_id = RelyingParty::register(&server, metadata).client_id;
        Self { server, client_id, key }
    }

    fn claims(&self, jti: &str, changes: Value) -> Value {
        let now = self.server.now().seconds();
        let mut claims = json!({
            "iss": self.client_id, "sub": self.client_id, "aud": self.server.issuer, "jti": jti, "iat": now,
            "exp": now + 60,
        });
        for (name, value) in changes.as_object().unwrap() {
            if value.is_null() {
                claims.as_object_mut().unwrap().remove(name);
            } else {
                claims[name] = value.clone();
            }
        }
        claims
    }

    fn present(&self, path: &str, assertion: &str) -> Answer {
        let form = [
            CREDENTIALS,
            ("client_assertion_type", ASSERTION),
            ("client_assertion", assertion),
            ("token", "x"),
        ];
        self.server.browser().post(path, &form)
    }
}

/// RFC 7522: assertions of SAML, which are optional, are taken neither as a grant nor as proof of a client, and discovery names none.
#[test]
fn assertions_of_saml_are_not_taken() {
    let server = TestServer::start();
    let rp = RelyingParty::register(&server, json!({}));
    let saml = ("assertion", "PHNhbWw6QXNzZXJ0aW9uLz4");
    let grant = rp.token(&[("grant_type", "urn:ietf:params:oauth:grant-type:saml2-bearer"), saml]);
    assert_eq!((grant.status, &*grant.error()), (400, "unsupported_grant_type"), "{grant:?}");
    let form = [
        CREDENTIALS,
        ("client_id", &*rp.client_id),
        ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:saml2-bearer"),
        ("client_assertion", saml.1),
    ];
    let proof = server.browser().post("/token", &form);
    assert_eq!((proof.status, &*proof.error()), (400, "invalid_request"), "{proof:?}");
    let metadata = server.browser().get("/.well-known/openid-configuration");
    assert!(!metadata.body.contains("saml"), "{metadata:?}");
}

#[test]
fn an_assertion_is_used_once_wherever_it_goes() {
    for algorithm in [Algorithm::Es256, Algorithm::EdDsa, Algorithm::Rs256, Algorithm::Ps256] {
        let signer = Signer::new(algorithm);
        let assertion = signer.key.jwt("JWT", &signer.claims("first", json!({})));
        assert_eq!(signer.present("/token", &assertion).status, 200, "{algorithm}");
        for path in ["/token", "/introspect", "/revoke"] {
            assert_refused(&signer.present(path, &assertion));
        }
    }
}

#[test]
fn an_assertion_is_for_this_provider_alone() {
    let signer = Signer::new(Algorithm::Es256);
    let issuer = &*signer.server.issuer;
    let endpoint = format!("{issuer}/token");
    let paths = ["/token", "/introspect", "/revoke"];
    let presented = |aud: &Value, path: &str| {
        let claims = signer.claims(&format!("{aud} {path}").replace([' ', '"'], "."), json!({ "aud": aud }));
        signer.present(path, &signer.key.jwt("JWT", &claims))
    };
    // RFC 7523 3, item 3; OpenID Connect Core 9: the issuer or the token endpoint, or both.
    let good =
        [json!(issuer), json!([issuer]), json!(endpoint), json!([endpoint]), json!([issuer, endpoint])];
    // CVE-2025-27370: whoever else is named could present it here.
    let bad = [
        json!(["https://other.example", issuer]),
        json!([issuer, "https://other.example"]),
        json!(["https://other.example", endpoint]),
        json!([issuer, endpoint, "https://other.example"]),
        json!([]),
        json!(format!("{issuer}/introspect")),
        json!(format!("{issuer}/")),
    ];
    for path in paths {
        for aud in &good {
            assert_eq!(presented(aud, path).status, 200, "{aud} at {path}");
        }
        for aud in &bad {
            let answer = presented(aud, path);
            assert_eq!(
                (answer.status, &*answer.error()),
                (401, "invalid_client"),
                "{aud} at {path}: {answer:?}"
            );
        }
    }
}

#[test]
fn the_issuer_alone_is_the_audience_where_a_setting_demands_it() {
    let signer = Signer::new(Algorithm::Es256);
    let server = &signer.server;
    let endpoint = format!("{}/token", server.issuer);
    let mut number = 0;
    let mut accepted = |aud: Value| {
        number += 1;
        let claims = signer.claims(&format!("n{number}"), json!({ "aud": aud }));
        signer.present("/token", &signer.key.jwt("JWT", &claims)).status == 200
    };
    let set = |path: &str, settings: Value| {
        let answer = server.admin("PATCH", path, Some(settings));
        assert_eq!(answer.status, 200, "{answer:?}");
    };
    let client = format!("/clients/{}", signer.client_id);
    assert!(accepted(json!(endpoint)));
    set("/settings", json!({ "audience_is_issuer": true }));
    assert!(!accepted(json!(endpoint)) && !accepted(json!([endpoint])));
    assert!(accepted(json!(server.issuer)) && accepted(json!([server.issuer])));
    set(&client, json!({ "settings": { "audience_is_issuer": false } }));
    assert!(accepted(json!(endpoint)), "the client's own setting goes before its issuer's");
    set("/settings", json!({ "audience_is_issuer": null }));
    set(&client, json!({ "settings": { "audience_is_issuer": true } }));
    assert!(!accepted(json!(endpoint)));
    assert!(accepted(json!(server.issuer)));
}

/// A `jti` of a client counts for the installation. Two issuers may know different clients by one `client_id`: their
/// keys differ, and neither uses up what the other's client signs.
#[test]
fn a_jti_that_was_used_at_one_issuer_is_used_at_all() {
    let Signer { server, client_id, key } = Signer::new(Algorithm::Es256);
    let url = format!("{}/acme", server.issuer);
    assert_eq!(server.admin("POST", "/issuers", Some(json!({ "id": "acme", "url": url }))).status, 201);
    let namesake = Signing::generate(Algorithm::Es256);
    let both = [key.jwks(), namesake.jwks()].map(|set| set["keys"][0].clone());
    let metadata = json!({
        "client_id": client_id, "token_endpoint_auth_method": "private_key_jwt", "jwks": { "keys": both },
    });
    RelyingParty::register_at(&server, "/issuers/acme", metadata);
    let now = server.now().seconds();
    let status = |url: &str, key: &Signing, jti: &str| {
        let assertion = key.assertion(&client_id, url, jti, now);
        let form = [CREDENTIALS, ("client_assertion_type", ASSERTION), ("client_assertion", &*assertion)];
        Browser::new(url).post("/token", &form).status
    };
    assert_eq!(status(&server.issuer, &key, "shared"), 200);
    assert_eq!(status(&url, &key, "shared"), 401, "used at the first issuer");
    assert_eq!(status(&url, &key, "fresh"), 200);
    assert_eq!(status(&server.issuer, &key, "fresh"), 401, "used at the second issuer");
    assert_eq!(status(&url, &namesake, "shared"), 200, "another client's, by its key");
}

/// Each leaves a mark that is kept for a while: no client is to leave more than its share. What somebody else replays uses
/// up nothing.
#[test]
fn a_clients_assertions_are_limited() {
    let options = Options::default()
        .one_node()
        .env("SYMBOLON_RATE_LIMITS", "on")
        .env("SYMBOLON_RATE_LIMIT_ASSERTION_CLIENT", "2/m");
    let signer = Signer::at(TestServer::start_with(options), Algorithm::EdDsa);
    let assertion = |jti: &str| signer.key.jwt("JWT", &signer.claims(jti, json!({})));
    let first = assertion("first");
    assert_eq!(signer.present("/token", &first).status, 200);
    (0..5).for_each(|_| assert_refused(&signer.present("/introspect", &first)));
    assert_eq!(signer.present("/introspect", &assertion("second")).status, 200);
    let third = assertion("third");
    let refused = signer.present("/token", &third);
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("30")), "{refused:?}");
    signer.server.clock.advance(Duration::from_secs(30));
    assert_eq!(signer.present("/token", &third).status, 200, "what was refused was not used up");
}

#[test]
fn of_many_that_use_one_assertion_at_once_one_wins() {
    let signer = Signer::new(Algorithm::EdDsa);
    for round in 0..10 {
        let assertion = signer.key.jwt("JWT", &signer.claims(&format!("round-{round}"), json!({})));
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let tasks: Vec<_> =
                (0..8).map(|_| scope.spawn(|| signer.present("/token", &assertion).status)).collect();
            tasks.into_iter().map(|task| task.join().unwrap()).collect()
        });
        assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
        assert!(statuses.iter().all(|status| matches!(status, 200 | 401)), "{statuses:?}");
    }
}

#[test]
fn an_assertion_that_is_not_exact_is_refused_and_not_used_up() {
    let signer = Signer::new(Algorithm::Es256);
    let now = signer.server.now().seconds();
    let changes = [
        json!({ "aud": "https://other.example" }),
        json!({ "aud": null }),
        json!({ "iss": "another" }),
        json!({ "sub": "another" }),
        json!({ "exp": now - 31 }),
        json!({ "exp": now + 331, "iat": null }),
        json!({ "exp": now + 3_600, "iat": now - 331 }),
        json!({ "exp": null }),
        json!({ "nbf": now + 31 }),
        json!({ "iat": now + 31 }),
        json!({ "jti": null }),
        json!({ "jti": "" }),
        json!({ "jti": "x".repeat(513) }),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let told = change.to_string();
        let assertion = signer.key.jwt("JWT", &signer.claims(&format!("n{number}"), change));
        let answer = signer.present("/token", &assertion);
        assert_eq!((answer.status, &*answer.error()), (401, "invalid_client"), "{told}: {answer:?}");
    }
    let claims = signer.claims("good", json!({}));
    let thief = Signing::generate(Algorithm::Es256).jwt("JWT", &claims);
    let retyped = signer.key.jwt("at+jwt", &claims);
    let good = signer.key.jwt("JWT", &claims);
    let (_, rest) = good.split_once('.').unwrap();
    // {"alg":"none"}
    let unsigned = format!("eyJhbGciOiJub25lIn0.{}.", rest.split_once('.').unwrap().0);
    for bad in [&*thief, &retyped, &unsigned, "x", "a.b.c", ""] {
        assert!(matches!(signer.present("/token", bad).status, 400 | 401), "{bad}");
    }
    let untyped = signer.server.browser().post("/token", &[CREDENTIALS, ("client_assertion", &good)]);
    assert_eq!((untyped.status, untyped.error()), (400, "invalid_request".to_owned()));
    assert_eq!(signer.present("/token", &good).status, 200, "nothing of this used the good one up");
    let secret =
        RelyingParty::known(&signer.server, &signer.client_id, Some("a-secret-that-it-does-not-have-00"), "");
    assert_refused(&secret.token(&[CREDENTIALS]));
}

#[test]
fn a_used_assertion_stays_used_over_a_restart() {
    let Signer { server, client_id, key } = Signer::new(Algorithm::Es256);
    let assertion = key.assertion(&client_id, &server.issuer, "once", server.now().seconds());
    let form = [CREDENTIALS, ("client_assertion_type", ASSERTION), ("client_assertion", &*assertion)];
    assert_eq!(server.browser().post("/token", &form).status, 200);
    let issuer = server.issuer.clone();
    let server = server.restart(symbolon_testkit::Options::default().issuer(&issuer));
    assert_refused(&server.browser().post("/token", &form));
}
