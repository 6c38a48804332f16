//! Request objects.

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_protocol::refusal::Reason;
use symbolon_testkit::{Answer, RelyingParty, Signing};

use super::{Bench, Case, run};

const REFUSED: (u16, &str) = (302, "invalid_request_object");

/// Sends a request object of a client with this metadata, whose claims have these changes: numbers are seconds from now.
fn sending(bench: &Bench, id: &str, (metadata, typ): (Value, &str), changes: &Value) -> Answer {
    let key = Signing::generate(Algorithm::Es256);
    let rp = client(bench, &key, &metadata);
    let now = bench.server.now().seconds();
    let mut claims = json!({
        "iss": rp.client_id, "aud": bench.server.issuer, "nbf": now, "exp": now + 60, "client_id": rp.client_id,
        "response_type": "code", "redirect_uri": rp.redirect_uri, "scope": "openid", "nonce": "n",
    });
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            Value::Number(seconds) => {
                claims[name] = json!(now.saturating_add_signed(seconds.as_i64().unwrap()))
            }
            other => claims[name] = other.clone(),
        }
    }
    send(bench, id, &rp, &key.jwt(typ, &claims))
}

fn client(bench: &Bench, key: &Signing, metadata: &Value) -> RelyingParty {
    let mut all = json!({ "jwks": key.jwks() });
    all.as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    bench.client(all)
}

fn send(bench: &Bench, id: &str, rp: &RelyingParty, object: &str) -> Answer {
    bench.authorize(id, &rp.authorization_request().with("request", object))
}

fn plain(bench: &Bench, id: &str, changes: &Value) -> Answer {
    sending(bench, id, (json!({}), "JWT"), changes)
}

pub(super) const CASES: [Case<Bench>; 9] = [
    Case::new(Reason::RequestObjectMissing, (302, "invalid_request"), &["`request`"], |bench, id| {
        let key = Signing::generate(Algorithm::Es256);
        let rp = client(bench, &key, &json!({ "require_signed_request_object": true }));
        bench.authorize(id, &rp.authorization_request())
    }),
    Case::new(Reason::RequestObjectMalformed, REFUSED, &["`request`"], |bench, id| {
        send(bench, id, &bench.rp, "eyJhbGciOiJub25lIn0.e30.")
    }),
    Case::new(Reason::RequestObjectTypWrong, REFUSED, &["`typ` was at+jwt"], |bench, id| {
        sending(bench, id, (json!({}), "at+jwt"), &json!({}))
    }),
    Case::new(
        Reason::RequestObjectAlgorithmOther,
        REFUSED,
        &["was ES256, registered is PS256"],
        |bench, id| sending(bench, id, (json!({ "request_object_signing_alg": "PS256" }), "JWT"), &json!({})),
    ),
    Case::new(Reason::RequestObjectNotSigned, REFUSED, &["(ES256)"], |bench, id| {
        let (own, other) = (Signing::generate(Algorithm::Es256), Signing::generate(Algorithm::Es256));
        send(bench, id, &client(bench, &own, &json!({})), &other.jwt("JWT", &json!({})))
    }),
    Case::new(Reason::RequestObjectOfOther, REFUSED, &["`iss` was somebody"], |bench, id| {
        plain(bench, id, &json!({ "iss": "somebody" }))
    }),
    Case::new(
        Reason::RequestObjectAudienceWrong,
        REFUSED,
        &["`aud` was https://other.example"],
        |bench, id| plain(bench, id, &json!({ "aud": "https://other.example" })),
    ),
    Case::new(Reason::RequestObjectExpired, REFUSED, &["on the provider's clock"], |bench, id| {
        plain(bench, id, &json!({ "exp": -60 }))
    }),
    Case::new(Reason::RequestObjectTimeWrong, REFUSED, &["`nbf` was missing"], |bench, id| {
        let required = json!({ "require_signed_request_object": true });
        sending(bench, id, (required, "oauth-authz-req+jwt"), &json!({ "nbf": null }))
    }),
];

#[test]
fn a_refused_request_object_is_explained() {
    let bench = Bench::new();
    run(&bench, &bench.server, &CASES);
}
