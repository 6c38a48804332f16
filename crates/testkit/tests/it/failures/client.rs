//! Who a client is.

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_protocol::refusal::Reason;
use symbolon_testkit::{Answer, RelyingParty, Signing};

use super::{Bench, Case, explained, run};

const CREDENTIALS: (&str, &str) = ("grant_type", "client_credentials");
const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const SECRET: &str = "a-wrong-secret-of-thirty-two-chars";

/// A client with a key of its own.
struct Signer {
    key: Signing,
    client_id: String,
}

impl Signer {
    fn with(bench: &Bench, algorithm: Algorithm, more: Value) -> Self {
        let key = Signing::generate(algorithm);
        let mut metadata = json!({ "token_endpoint_auth_method": "private_key_jwt", "jwks": key.jwks() });
        for (name, value) in more.as_object().unwrap() {
            metadata[name] = value.clone();
        }
        Self { client_id: bench.client(metadata).client_id, key }
    }

    fn new(bench: &Bench) -> Self {
        Self::with(bench, Algorithm::Es256, json!({}))
    }

    fn claims(&self, bench: &Bench, changes: &Value) -> Value {
        let now = bench.server.now().seconds();
        let mut claims = json!({
            "iss": self.client_id, "sub": self.client_id, "aud": bench.server.issuer, "jti": self.client_id, "iat": now,
            "exp": now + 60,
        });
        for (name, value) in changes.as_object().unwrap() {
            match value {
                Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
                // Seconds from now.
                Value::Number(seconds) => {
                    claims[name] = json!(now.saturating_add_signed(seconds.as_i64().unwrap()));
                }
                other => claims[name] = other.clone(),
            }
        }
        claims
    }
}

fn present(bench: &Bench, id: &str, assertion: &str) -> Answer {
    let form = [CREDENTIALS, ("client_assertion_type", JWT_BEARER), ("client_assertion", assertion)];
    bench.bare(id, "/token", &form)
}

/// Presents an assertion with changed claims.
fn claiming(bench: &Bench, id: &str, changes: Value) -> Answer {
    let signer = Signer::new(bench);
    let assertion = signer.key.jwt("JWT", &signer.claims(bench, &changes));
    let answer = present(bench, id, &assertion);
    assert_eq!(explained(&bench.server, "", id)["client_id"], json!(signer.client_id));
    answer
}

const REFUSED: (u16, &str) = (401, "invalid_client");
const INVALID: (u16, &str) = (400, "invalid_request");

pub(super) const CASES: [Case<Bench>; 24] = [
    Case::new(Reason::ClientUnknown, REFUSED, &[], |bench, id| {
        let nobody = RelyingParty::known(&bench.server, "nobody", Some(SECRET), "");
        let answer = bench.post(id, &nobody, "/token", &[CREDENTIALS]);
        assert_eq!(explained(&bench.server, "", id)["client_id"], "nobody");
        answer
    }),
    Case::new(Reason::ClientNotNamed, REFUSED, &[], |bench, id| bench.bare(id, "/token", &[CREDENTIALS])),
    Case::new(Reason::ClientSecretWrong, REFUSED, &[], |bench, id| {
        let wrong = RelyingParty::known(&bench.server, &bench.rp.client_id, Some(SECRET), "");
        let answer = bench.post(id, &wrong, "/token", &[CREDENTIALS]);
        let failure = explained(&bench.server, "", id);
        assert_eq!(failure["client_id"], json!(bench.rp.client_id));
        assert!(!failure.to_string().contains(SECRET), "{failure}");
        answer
    }),
    Case::new(
        Reason::ClientAuthenticationMissing,
        REFUSED,
        &["`token_endpoint_auth_method` was none, registered is client_secret_basic"],
        |bench, id| bench.bare(id, "/token", &[CREDENTIALS, ("client_id", &bench.rp.client_id)]),
    ),
    Case::new(
        Reason::ClientAuthenticationMethodOther,
        REFUSED,
        &["`token_endpoint_auth_method` was client_secret_post, registered is none"],
        |bench, id| {
            let public = bench.public();
            bench.bare(
                id,
                "/token",
                &[CREDENTIALS, ("client_id", &public.client_id), ("client_secret", SECRET)],
            )
        },
    ),
    Case::new(Reason::ClientCredentialsMalformed, REFUSED, &[], |bench, id| {
        let headers = [("x-request-id", id), ("authorization", "Basic !!!")];
        bench.server.browser().post_with("/token", &[CREDENTIALS], &headers)
    }),
    Case::new(Reason::ClientAuthenticatedTwice, INVALID, &[], |bench, id| {
        bench.post(id, &bench.rp, "/token", &[CREDENTIALS, ("client_secret", SECRET)])
    }),
    Case::new(Reason::ClientIdContradicts, INVALID, &["`client_id` was another"], |bench, id| {
        bench.post(id, &bench.rp, "/token", &[CREDENTIALS, ("client_id", "another")])
    }),
    Case::new(Reason::AssertionMalformed, REFUSED, &[], |bench, id| present(bench, id, "a.b.c")),
    Case::new(Reason::AssertionTypeWrong, INVALID, &["was saml", JWT_BEARER], |bench, id| {
        let form = [CREDENTIALS, ("client_assertion_type", "saml"), ("client_assertion", "a.b.c")];
        bench.bare(id, "/token", &form)
    }),
    Case::new(Reason::AssertionKeyUnknown, REFUSED, &["(ES256)"], |bench, id| {
        let (own, other) = (Signer::new(bench), Signing::generate(Algorithm::Es256));
        present(bench, id, &other.jwt("JWT", &own.claims(bench, &json!({}))))
    }),
    Case::new(Reason::AssertionAlgorithmOther, REFUSED, &["was EdDSA, registered is ES256"], |bench, id| {
        let only = json!({ "token_endpoint_auth_signing_alg": "ES256" });
        let signer = Signer::with(bench, Algorithm::EdDsa, only);
        present(bench, id, &signer.key.jwt("JWT", &signer.claims(bench, &json!({}))))
    }),
    Case::new(Reason::AssertionSignatureWrong, REFUSED, &["(ES256)"], |bench, id| {
        let signer = Signer::new(bench);
        let good = signer.key.jwt("JWT", &signer.claims(bench, &json!({})));
        let (input, signature) = good.rsplit_once('.').unwrap();
        let reversed: String = signature.chars().rev().collect();
        // The last character of 64 bytes has four bits that must be zero.
        let wrong = format!("{}{}", &reversed[..85], &signature[85..]);
        present(bench, id, &format!("{input}.{wrong}"))
    }),
    Case::new(Reason::AssertionTypWrong, REFUSED, &["`typ` was at+jwt"], |bench, id| {
        let signer = Signer::new(bench);
        present(bench, id, &signer.key.jwt("at+jwt", &signer.claims(bench, &json!({}))))
    }),
    Case::new(Reason::AssertionSubjectWrong, REFUSED, &["iss somebody"], |bench, id| {
        claiming(bench, id, json!({ "iss": "somebody" }))
    }),
    Case::new(Reason::AssertionAudienceWrong, REFUSED, &["`aud` was https://other.example"], |bench, id| {
        claiming(bench, id, json!({ "aud": "https://other.example" }))
    }),
    Case::new(Reason::AssertionExpired, REFUSED, &["on the provider's clock"], |bench, id| {
        claiming(bench, id, json!({ "iat": -120, "exp": -60 }))
    }),
    Case::new(Reason::AssertionLivesTooLong, REFUSED, &["`exp` was"], |bench, id| {
        claiming(bench, id, json!({ "iat": null, "exp": 3_600 }))
    }),
    Case::new(Reason::AssertionNotYetValid, REFUSED, &["`nbf` was"], |bench, id| {
        claiming(bench, id, json!({ "nbf": 40 }))
    }),
    Case::new(Reason::AssertionJtiMissing, REFUSED, &[], |bench, id| {
        claiming(bench, id, json!({ "jti": null }))
    }),
    Case::new(Reason::AssertionReplayed, REFUSED, &["`jti` was"], |bench, id| {
        let signer = Signer::new(bench);
        let assertion = signer.key.jwt("JWT", &signer.claims(bench, &json!({})));
        assert_eq!(present(bench, "the-first-use", &assertion).status, 200);
        present(bench, id, &assertion)
    }),
    Case::new(
        Reason::ClientKeysUnreachable,
        REFUSED,
        &["registered is https://127.0.0.1:1/jwks", "which is not public"],
        |bench, id| {
            let at = json!({ "token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "https://127.0.0.1:1/jwks" });
            let key = Signing::generate(Algorithm::Es256);
            let signer = Signer { client_id: bench.client(at).client_id, key };
            present(bench, id, &signer.key.jwt("JWT", &signer.claims(bench, &json!({}))))
        },
    ),
    Case::new(Reason::PublicClientRefused, (400, "unauthorized_client"), &[], |bench, id| {
        let public = bench.public();
        bench.bare(id, "/introspect", &[("token", "x"), ("client_id", &public.client_id)])
    }),
    Case::new(
        Reason::GrantTypeNotRegistered,
        (400, "unauthorized_client"),
        &["`grant_type` was client_credentials, registered is authorization_code"],
        |bench, id| {
            let rp = bench.client(json!({ "grant_types": ["authorization_code"] }));
            bench.post(id, &rp, "/token", &[CREDENTIALS])
        },
    ),
];

#[test]
fn client_authentication() {
    let bench = Bench::new();
    run(&bench, &bench.server, &CASES);
}
