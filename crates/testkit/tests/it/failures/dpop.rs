//! DPoP proofs, and tokens that are bound to a key.

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::{digest, encoding};
use symbolon_protocol::refusal::Reason;
use symbolon_testkit::{Answer, RelyingParty, Signing, TokenSet};

use super::{Bench, Case, run};

const INVALID: (u16, &str) = (400, "invalid_dpop_proof");
const CHALLENGE: (u16, &str) = (401, "invalid_token");
const CREDENTIALS: [(&str, &str); 1] = [("grant_type", "client_credentials")];

fn key() -> Signing {
    Signing::generate(Algorithm::Es256)
}

/// A proof for a token request, named by the request's id; changes of header and claims, of which `null` takes one away.
fn proof(bench: &Bench, id: &str, key: &Signing, (header, claims): (Value, Value)) -> String {
    let own = json!({
        "jti": id, "htm": "POST", "htu": format!("{}/token", bench.server.issuer),
        "iat": bench.server.now().seconds(),
    });
    key.jws(&changed(key.dpop_header(), &header), &changed(own, &claims))
}

fn changed(mut document: Value, changes: &Value) -> Value {
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(document.as_object_mut().unwrap().remove(name)),
            value => document[name] = value.clone(),
        }
    }
    document
}

fn post(bench: &Bench, id: &str, rp: &RelyingParty, form: &[(&str, &str)], proof: &str) -> Answer {
    let basic = rp.basic();
    let mut headers = vec![("x-request-id", id), ("dpop", proof)];
    let mut form = form.to_vec();
    match rp.client_secret {
        Some(_) => headers.push(("authorization", &basic)),
        None => form.push(("client_id", &rp.client_id)),
    }
    bench.server.browser().post_with("/token", &form, &headers)
}

/// A token request of the client with a changed proof.
fn refused(bench: &Bench, id: &str, header: Value, claims: Value) -> Answer {
    post(bench, id, &bench.rp, &CREDENTIALS, &proof(bench, id, &key(), (header, claims)))
}

/// A code grant of a client with a proof by this key.
fn signed_in(bench: &Bench, id: &str, rp: &RelyingParty, key: &Signing) -> TokenSet {
    let request = rp.authorization_request();
    let (code, verifier) = bench.code_of(&request);
    let form = [
        ("grant_type", "authorization_code"),
        ("code", &*code),
        ("redirect_uri", &*rp.redirect_uri),
        ("code_verifier", &*verifier),
    ];
    let (id, none) = (format!("{id}-sign-in"), (json!({}), json!({})));
    TokenSet::of(&post(bench, &id, rp, &form, &proof(bench, &id, key, none)))
}

/// A call of UserInfo by the scheme DPoP, with a proof for it.
fn userinfo(bench: &Bench, id: &str, key: &Signing, token: &str, claims: Value) -> Answer {
    let ath = encoding::encode(&digest::sha256(&[token.as_bytes()]));
    let own = json!({ "htm": "GET", "htu": format!("{}/userinfo", bench.server.issuer), "ath": ath });
    let proof = proof(bench, id, key, (json!({}), changed(own, &claims)));
    let headers = [("x-request-id", id), ("authorization", &format!("DPoP {token}")), ("dpop", &proof)];
    bench.server.browser().get_with("/userinfo", &headers)
}

/// A pushed request that names a key, with a proof of another one.
fn pushed(bench: &Bench, id: &str, jkt: &str) -> Answer {
    let request = bench.rp.authorization_request().with("dpop_jkt", jkt);
    let form: Vec<(&str, &str)> =
        request.parameters.iter().map(|(name, value)| (&**name, &**value)).collect();
    let to = json!({ "htu": format!("{}/par", bench.server.issuer) });
    let proof = proof(bench, id, &key(), (json!({}), to));
    let headers = [("x-request-id", id), ("dpop", &*proof), ("authorization", &*bench.rp.basic())];
    bench.server.browser().post_with("/par", &form, &headers)
}

pub(super) const CASES: [Case<Bench>; 20] = [
    Case::new(Reason::DpopJktOther, INVALID, &["`dpop_jkt` was"], |bench, id| {
        pushed(bench, id, &key().thumbprint())
    }),
    Case::new(Reason::DpopProofMissing, INVALID, &[], |bench, id| {
        let rp = bench.client(json!({ "dpop_bound_access_tokens": true }));
        bench.post(id, &rp, "/token", &CREDENTIALS)
    }),
    Case::new(Reason::DpopProofMalformed, INVALID, &[], |bench, id| {
        refused(bench, id, json!({ "alg": "HS256" }), json!({}))
    }),
    Case::new(Reason::DpopProofTypWrong, INVALID, &["`typ` was JWT"], |bench, id| {
        refused(bench, id, json!({ "typ": "JWT" }), json!({}))
    }),
    Case::new(Reason::DpopProofKeyInvalid, INVALID, &["`jwk` was missing"], |bench, id| {
        refused(bench, id, json!({ "jwk": null }), json!({}))
    }),
    Case::new(Reason::DpopProofSignatureWrong, INVALID, &[], |bench, id| {
        refused(bench, id, json!({ "jwk": key().jwks()["keys"][0] }), json!({}))
    }),
    Case::new(Reason::DpopProofMethodOther, INVALID, &["`htm` was GET, expected is POST"], |bench, id| {
        refused(bench, id, json!({}), json!({ "htm": "GET" }))
    }),
    Case::new(Reason::DpopProofUriOther, INVALID, &["`htu` was https://other.example/token"], |bench, id| {
        refused(bench, id, json!({}), json!({ "htu": "https://other.example/token" }))
    }),
    Case::new(Reason::DpopProofTimeWrong, INVALID, &["`iat` was 1,"], |bench, id| {
        refused(bench, id, json!({}), json!({ "iat": 1 }))
    }),
    Case::new(Reason::DpopProofJtiMissing, INVALID, &[], |bench, id| {
        refused(bench, id, json!({}), json!({ "jti": null }))
    }),
    Case::new(
        Reason::DpopProofTokenOther,
        (401, "invalid_dpop_proof"),
        &["`ath` was another"],
        |bench, id| {
            let key = key();
            let token = signed_in(bench, id, &bench.rp, &key).access_token;
            userinfo(bench, id, &key, &token, json!({ "ath": "another" }))
        },
    ),
    Case::new(Reason::DpopProofReplayed, INVALID, &[], |bench, id| {
        let proof = proof(bench, id, &key(), (json!({}), json!({})));
        assert_eq!(post(bench, "the-first-use", &bench.rp, &CREDENTIALS, &proof).status, 200);
        post(bench, id, &bench.rp, &CREDENTIALS, &proof)
    }),
    Case::new(Reason::DpopNonceMissing, (400, "use_dpop_nonce"), &[], |bench, id| {
        let rp = bench.client(json!({ "settings": { "dpop_nonce": "required" } }));
        post(bench, id, &rp, &CREDENTIALS, &proof(bench, id, &key(), (json!({}), json!({}))))
    }),
    Case::new(Reason::DpopNonceWrong, (400, "use_dpop_nonce"), &[], |bench, id| {
        refused(bench, id, json!({}), json!({ "nonce": "made-up" }))
    }),
    Case::new(Reason::DpopJktMalformed, (302, "invalid_request"), &["`dpop_jkt` was short"], |bench, id| {
        bench.authorize(id, &bench.rp.authorization_request().with("dpop_jkt", "short"))
    }),
    Case::new(Reason::CodeKeyOther, (400, "invalid_grant"), &["`dpop_jkt` was missing"], |bench, id| {
        let request = bench.rp.authorization_request().with("dpop_jkt", &key().thumbprint());
        let (code, verifier) = bench.code_of(&request);
        let redirect_uri = ("redirect_uri", &*bench.rp.redirect_uri);
        bench.redeem(id, &bench.rp, &code, &[redirect_uri, ("code_verifier", &verifier)])
    }),
    Case::new(Reason::RefreshTokenKeyOther, (400, "invalid_grant"), &[], |bench, id| {
        let rp = bench.public();
        let token = signed_in(bench, id, &rp, &key()).refresh_token.unwrap();
        let form = [("grant_type", "refresh_token"), ("refresh_token", &*token)];
        post(bench, id, &rp, &form, &proof(bench, id, &key(), (json!({}), json!({}))))
    }),
    Case::new(Reason::TokenIsBound, CHALLENGE, &[], |bench, id| {
        bench.userinfo(id, &signed_in(bench, id, &bench.rp, &key()).access_token)
    }),
    Case::new(Reason::TokenNotBound, CHALLENGE, &[], |bench, id| {
        let token = bench.rp.sign_in(&bench.session).access_token;
        userinfo(bench, id, &key(), &token, json!({}))
    }),
    Case::new(Reason::TokenKeyOther, CHALLENGE, &[], |bench, id| {
        let token = signed_in(bench, id, &bench.rp, &key()).access_token;
        userinfo(bench, id, &key(), &token, json!({}))
    }),
];

#[test]
fn proofs_and_bound_tokens() {
    let bench = Bench::new();
    run(&bench, &bench.server, &CASES);
}
