use std::time::Duration;

use serde_json::{Value, json};
use smol_str::SmolStr;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::digest::{HmacKey, sha256};
use symbolon_crypto::jws::{finish, signing_input};
use symbolon_crypto::key::SigningKey;

use super::*;
use crate::id::IssuerId;
use crate::time::Timestamp;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const URI: &str = "https://op.example/userinfo";
const TOKEN: &str = "a.b.c";

fn nonces() -> HmacKey {
    HmacKey::new(b"nonces")
}

/// A nonce that is handed out now.
fn drawn(since: Option<Timestamp>) -> SmolStr {
    let key = nonces();
    Nonces { key: &key, since }.draw(NOW)
}

fn key(algorithm: Algorithm) -> SigningKey {
    SigningKey::generate(algorithm, None).unwrap()
}

/// Signs any header and claims.
fn signed(key: &SigningKey, header: &Value, claims: &Value) -> String {
    let header = encoding::encode(header.to_string().as_bytes());
    let input = signing_input(&header, claims.to_string().as_bytes());
    let signature = key.sign(input.as_bytes()).unwrap();
    finish(input, &signature)
}

fn header(key: &SigningKey) -> Value {
    json!({ "typ": "dpop+jwt", "alg": key.algorithm(), "jwk": key.public().jwk() })
}

fn claims() -> Value {
    let ath = encoding::encode(&sha256(&[TOKEN.as_bytes()]));
    json!({ "jti": "j-1", "htm": "GET", "htu": URI, "iat": NOW.seconds(), "ath": ath })
}

/// The document with members changed; `null` takes one away.
fn with(mut document: Value, changes: &Value) -> Value {
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(document.as_object_mut().unwrap().remove(name)),
            value => document[name] = value.clone(),
        }
    }
    document
}

fn checked(proof: &str, nonce: DpopNonce) -> Result<Proof, OAuthError> {
    checked_since(proof, nonce, None)
}

/// `since`: up to when it is not known which proofs were used.
fn checked_since(proof: &str, nonce: DpopNonce, since: Option<Timestamp>) -> Result<Proof, OAuthError> {
    let nonce_key = nonces();
    let expected = Expected {
        method: "GET",
        uri: URI,
        access_token: Some(TOKEN),
        nonce,
        nonces: Nonces { key: &nonce_key, since },
        profile: None,
        now: NOW,
    };
    Proof::check([Some(proof)].into_iter(), &expected)
}

fn reason(result: Result<Proof, OAuthError>) -> Option<Reason> {
    let error = result.err()?;
    let is_of_nonce = matches!(error.reason, Reason::DpopNonceMissing | Reason::DpopNonceWrong);
    let code = if is_of_nonce { ErrorCode::UseDpopNonce } else { ErrorCode::InvalidDpopProof };
    assert_eq!(error.code, code, "{error}");
    Some(error.reason)
}

#[test]
fn a_good_proof_of_each_algorithm_names_its_key() {
    for algorithm in [Algorithm::Es256, Algorithm::EdDsa] {
        let key = key(algorithm);
        let proof = checked(&signed(&key, &header(&key), &claims()), DpopNonce::Off).unwrap();
        assert_eq!(proof.thumbprint, key.public().jwk().thumbprint());
        assert!(is_thumbprint(&proof.thumbprint) && !is_thumbprint("short"));
        assert!(proof.expires_at > NOW);
    }
    let listed = Algorithm::ALL.map(Algorithm::as_str).join(" ");
    assert_eq!(ALGORITHMS, format!("{listed} Ed25519"));
}

#[test]
fn headers_that_are_no_proof() {
    let key = key(Algorithm::Es256);
    let other = self::key(Algorithm::Es256);
    let private = {
        let mut jwk = serde_json::to_value(key.public().jwk()).unwrap();
        jwk["d"] = "AQAB".into();
        jwk
    };
    for (changes, expected) in [
        (json!({ "typ": "JWT" }), Reason::DpopProofTypWrong),
        (json!({ "typ": null }), Reason::DpopProofTypWrong),
        (json!({ "alg": "none" }), Reason::DpopProofMalformed),
        (json!({ "alg": "HS256" }), Reason::DpopProofMalformed),
        (json!({ "alg": "EdDSA" }), Reason::DpopProofKeyInvalid),
        (json!({ "crit": ["x"], "x": 1 }), Reason::DpopProofMalformed),
        (json!({ "jwk": null }), Reason::DpopProofKeyInvalid),
        (json!({ "jwk": private }), Reason::DpopProofKeyInvalid),
        (json!({ "jwk": { "kty": "oct", "k": "AQAB" } }), Reason::DpopProofKeyInvalid),
        (json!({ "jwk": "text" }), Reason::DpopProofKeyInvalid),
        (json!({ "jwk": other.public().jwk() }), Reason::DpopProofSignatureWrong),
    ] {
        let proof = signed(&key, &with(header(&key), &changes), &claims());
        assert_eq!(reason(checked(&proof, DpopNonce::Off)), Some(expected), "{changes}");
    }
    let long = "a".repeat(MAX_PROOF + 1);
    for text in ["", "x", "a.b.c", long.as_str()] {
        assert_eq!(reason(checked(text, DpopNonce::Off)), Some(Reason::DpopProofMalformed));
    }
}

#[test]
fn claims_of_another_request_or_time() {
    let key = key(Algorithm::Es256);
    let at = |seconds: i64| json!({ "iat": NOW.seconds().checked_add_signed(seconds).unwrap() });
    let ath = encoding::encode(&sha256(&[b"another"]));
    for (changes, expected) in [
        (json!({ "htm": "POST" }), Some(Reason::DpopProofMethodOther)),
        (json!({ "htm": "get" }), Some(Reason::DpopProofMethodOther)),
        (json!({ "htm": null }), Some(Reason::DpopProofMalformed)),
        (json!({ "htu": "https://OP.example:443/userinfo?a=b" }), None),
        (json!({ "htu": "https://op.example/token" }), Some(Reason::DpopProofUriOther)),
        (json!({ "htu": "/userinfo" }), Some(Reason::DpopProofUriOther)),
        (json!({ "ath": null }), Some(Reason::DpopProofTokenOther)),
        (json!({ "ath": ath }), Some(Reason::DpopProofTokenOther)),
        (at(-329), None),
        (at(-330), Some(Reason::DpopProofTimeWrong)),
        (at(30), None),
        (at(31), Some(Reason::DpopProofTimeWrong)),
        (json!({ "iat": "now" }), Some(Reason::DpopProofMalformed)),
        (json!({ "exp": NOW.seconds() - 30 }), Some(Reason::DpopProofTimeWrong)),
        (json!({ "nbf": NOW.seconds() + 31 }), Some(Reason::DpopProofTimeWrong)),
        (json!({ "jti": null }), Some(Reason::DpopProofJtiMissing)),
        (json!({ "jti": "" }), Some(Reason::DpopProofJtiMissing)),
        (json!({ "jti": "j".repeat(512) }), None),
        (json!({ "jti": "j".repeat(513) }), Some(Reason::DpopProofJtiMissing)),
        (json!({ "nonce": "made up" }), Some(Reason::DpopNonceWrong)),
        (json!({ "nonce": drawn(None) }), None),
    ] {
        let proof = signed(&key, &header(&key), &with(claims(), &changes));
        assert_eq!(reason(checked(&proof, DpopNonce::Off)), expected, "{changes}");
    }
}

/// RFC 7519 2.
#[test]
fn claims_are_an_object_and_no_list_of_values() {
    let key = key(Algorithm::Es256);
    let ath = encoding::encode(&sha256(&[TOKEN.as_bytes()]));
    let list = json!(["j-1", "GET", URI, NOW.seconds(), ath, null, null, null]);
    let proof = signed(&key, &header(&key), &list);
    assert_eq!(reason(checked(&proof, DpopNonce::Off)), Some(Reason::DpopProofMalformed));
}

#[test]
fn a_nonce_that_is_needed_must_be_there_and_one_header_only() {
    let key = key(Algorithm::Es256);
    let plain = signed(&key, &header(&key), &claims());
    assert_eq!(reason(checked(&plain, DpopNonce::Required)), Some(Reason::DpopNonceMissing));
    let nonce = json!({ "nonce": drawn(None) });
    let proof = signed(&key, &header(&key), &with(claims(), &nonce));
    assert_eq!(reason(checked(&proof, DpopNonce::Required)), None);

    let nonce_key = nonces();
    let expected = Expected {
        method: "GET",
        uri: URI,
        access_token: Some(TOKEN),
        nonce: DpopNonce::Off,
        nonces: Nonces { key: &nonce_key, since: None },
        profile: None,
        now: NOW,
    };
    let sent = |values: &[Option<&str>]| reason(Proof::check(values.iter().copied(), &expected));
    assert_eq!(sent(&[]), Some(Reason::DpopProofMissing));
    assert_eq!(sent(&[None]), Some(Reason::DpopProofMalformed));
    assert_eq!(sent(&[Some(&*plain), Some(&*plain)]), Some(Reason::DpopProofMalformed));
    assert_eq!(sent(&[Some(&*plain)]), None);
}

#[test]
fn only_a_new_nonce_shows_that_a_proof_is_new_where_used_ones_were_forgotten() {
    let key = key(Algorithm::Es256);
    let since = NOW - Duration::from_secs(30);
    let sent = |iat: Timestamp, nonce: Option<SmolStr>| {
        let more = json!({ "iat": iat.seconds(), "nonce": nonce });
        let proof = signed(&key, &header(&key), &with(claims(), &more));
        reason(checked_since(&proof, DpopNonce::Off, Some(since)))
    };
    let second = Duration::from_secs(1);
    assert_eq!(sent(NOW, None), Some(Reason::DpopNonceMissing), "its client's clock may be ahead");
    assert_eq!(sent(NOW - 60 * second, None), Some(Reason::DpopNonceMissing));
    assert_eq!(sent(NOW + second, None), None);
    assert_eq!(sent(NOW, Some(drawn(None))), Some(Reason::DpopNonceWrong), "handed out before");
    assert_eq!(sent(NOW, Some(drawn(Some(since)))), None);
}

#[test]
fn a_mark_is_of_key_and_jti() {
    let (one, other) = (key(Algorithm::Es256), key(Algorithm::Es256));
    let mark = |key: &SigningKey, jti: &str| {
        let proof = signed(key, &header(key), &with(claims(), &json!({ "jti": jti })));
        checked(&proof, DpopNonce::Off).unwrap().mark(&IssuerId::default_issuer())
    };
    assert_eq!(mark(&one, "a"), mark(&one, "a"));
    assert_ne!(mark(&one, "a"), mark(&one, "b"));
    assert_ne!(mark(&one, "a"), mark(&other, "a"));
}

#[test]
fn a_bound_token_goes_with_its_own_key_alone() {
    for (bound, proven, expected) in [
        (None, None, None),
        (Some("a"), Some("a"), None),
        (Some("a"), Some("b"), Some(Reason::TokenKeyOther)),
        (Some("a"), None, Some(Reason::TokenIsBound)),
        (None, Some("a"), Some(Reason::TokenNotBound)),
    ] {
        let refused = check_binding(bound, proven).err().map(|error| error.reason);
        assert_eq!(refused, expected, "{bound:?} {proven:?}");
    }
}
