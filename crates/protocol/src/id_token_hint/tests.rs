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
    IdTokenHint::read(Some(token), ISSUER, |kid| (kid == key.kid()).then_some(key.public()), open)
}

/// Only what was sealed for this very token opens.
fn open(purpose: &str, sealed: &str) -> Option<Veiled> {
    let is_whole = purpose == "id token of rp about alice" && sealed == "good";
    is_whole.then(|| Veiled { user: UserId::trusted("u-1"), sid: Some(Sid::trusted("s9")), gid: None })
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
            pairwise_sub: None,
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
        // RFC 8725 3.12: a signed answer of UserInfo has none.
        ("exp", Value::Null),
    ] {
        let mut claims = claims();
        claims[name] = value.clone();
        let token = sign(&ours, Some("JWT"), &claims);
        assert_eq!(read(&token), IdTokenHint::Unverifiable, "{name} {value}");
    }
    assert_eq!(read("no.jwt"), IdTokenHint::Unverifiable);
    assert_eq!(IdTokenHint::read(None, ISSUER, |_| None, open), IdTokenHint::Absent);
}

#[test]
fn a_pairwise_hint_names_the_user_whom_it_seals_and_serves_its_own_sector_alone() {
    use crate::client::Client;
    use crate::token::fixture;
    use symbolon_crypto::digest::HmacKey;

    let (key, pairwise_key) = (key("k1"), HmacKey::new(&[1; 32]));
    let mut claims = claims();
    claims["pairwise_ref"] = json!("good");
    let hint = read(&sign(&key, Some("JWT"), &claims), &key);
    let named = hint.claims().unwrap();
    assert_eq!((named.sub.as_str(), named.sid.as_ref().map(Sid::as_str)), ("u-1", Some("s9")));
    assert_eq!(named.pairwise_sub.as_ref().map(UserId::as_str), Some("alice"));
    for (name, value) in [("pairwise_ref", "bad"), ("sub", "bob"), ("aud", "other")] {
        let mut moved = claims.clone();
        moved[name] = json!(value);
        assert_eq!(read(&sign(&key, Some("JWT"), &moved), &key), IdTokenHint::Unverifiable, "{name}");
    }
    let client = |sector: &str| Client { sector: Some(sector.to_owned()), ..fixture::client("other") };
    let (a, b) = (client("a.example"), client("b.example"));
    let [a, b] = [&a, &b].map(|client| Pairwise::of(&pairwise_key, client));
    let told = |pairwise: Option<Pairwise<'_>>| {
        let sub = UserId::trusted("u-1");
        let pairwise_sub = pairwise.map(|pairwise| pairwise.sub(&sub));
        IdTokenHint::IdToken(Box::new(IdTokenHintClaims {
            sub,
            sid: None,
            aud: ClientId::trusted("rp"),
            pairwise_sub,
        }))
    };
    for (hinted, asking, serves) in
        [(a, a, true), (a, b, false), (a, None, false), (None, a, false), (None, None, true)]
    {
        let taken = told(hinted).told_to(&ClientId::trusted("other"), asking);
        assert_eq!(taken.claims().is_some(), serves);
        assert!(told(hinted).told_to(&ClientId::trusted("rp"), asking).claims().is_some(), "its own");
    }
}
