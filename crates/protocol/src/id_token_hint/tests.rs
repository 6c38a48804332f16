use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::jws::{EncodedHeader, finish, signing_input};
use symbolon_crypto::key::SigningKey;

use super::*;

const ISSUER: &str = "https://op.example";

fn key(kid: &str) -> SigningKey {
    SigningKey::generate(Algorithm::EdDsa, Some(kid)).unwrap()
}

fn sign(key: &SigningKey, typ: Option<&str>, claims: &Value) -> String {
    let header = EncodedHeader::for_key(key, typ);
    let input = signing_input(header.as_str(), &serde_json::to_vec(claims).unwrap());
    let signature = key.sign(input.as_bytes()).unwrap();
    finish(input, &signature)
}

fn read(token: &str, key: &SigningKey) -> IdTokenHint {
    IdTokenHint::read(Some(token), ISSUER, |kid| (kid == key.kid()).then_some(key.public()))
}

fn claims() -> Value {
    json!({"iss": ISSUER, "sub": "alice", "sid": "s1", "aud": "rp", "exp": 1, "iat": 0})
}

#[test]
fn an_id_token_of_ours_names_user_session_and_client_though_it_has_expired() {
    let key = key("k1");
    let mut claims = claims();
    let expected = |sid: Option<&str>| {
        IdTokenHint::IdToken(Box::new(IdTokenHintClaims {
            sub: UserId::trusted("alice"),
            sid: sid.map(Sid::trusted),
            aud: ClientId::trusted("rp"),
        }))
    };
    for typ in [Some("JWT"), None] {
        assert_eq!(read(&sign(&key, typ, &claims), &key), expected(Some("s1")), "{typ:?}");
    }
    claims.as_object_mut().unwrap().remove("sid");
    assert_eq!(read(&sign(&key, Some("JWT"), &claims), &key), expected(None));
}

#[test]
fn everything_else_names_nobody() {
    let (ours, forged) = (key("k1"), key("k1"));
    let read = |token: &str| read(token, &ours);
    assert_eq!(read(&sign(&forged, Some("JWT"), &claims())), IdTokenHint::Unverifiable, "forged");
    assert_eq!(read(&sign(&key("k2"), Some("JWT"), &claims())), IdTokenHint::Unverifiable, "unknown key");
    assert_eq!(read(&sign(&ours, Some("at+jwt"), &claims())), IdTokenHint::Unverifiable, "RFC 8725 3.11");
    for (name, value) in [
        // RFC 8725 3.12: an access token of the type JWT.
        ("client_id", json!("rp")),
        ("iss", json!("https://other.example")),
        ("iss", Value::Null),
        ("sub", Value::Null),
        ("sub", json!("a b")),
        // OpenID Connect Core 2: required in every ID token.
        ("aud", Value::Null),
        ("aud", json!(["rp", "other"])),
    ] {
        let mut claims = claims();
        claims[name] = value.clone();
        let token = sign(&ours, Some("JWT"), &claims);
        assert_eq!(read(&token), IdTokenHint::Unverifiable, "{name} {value}");
    }
    assert_eq!(read("no.jwt"), IdTokenHint::Unverifiable);
    assert_eq!(IdTokenHint::read(None, ISSUER, |_| None), IdTokenHint::Absent);
}
