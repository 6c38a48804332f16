use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const RFC_7638_N: &str = "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";

fn parse(value: &Value) -> Result<Jwk, JwkError> {
    Jwk::parse(value.to_string().as_bytes())
}

fn rsa() -> Value {
    json!({"kty": "RSA", "n": RFC_7638_N, "e": "AQAB", "alg": "RS256", "kid": "2011-04-29"})
}

fn p256() -> Value {
    json!({"kty": "EC", "crv": "P-256", "kid": "ec",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"})
}

fn ed25519() -> Value {
    json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})
}

fn with(mut value: Value, name: &str, member: Value) -> Value {
    value[name] = member;
    value
}

fn without(mut value: Value, name: &str) -> Value {
    value.as_object_mut().unwrap().remove(name);
    value
}

#[test]
fn rfc_7638_section_3_1_thumbprint() {
    assert_eq!(parse(&rsa()).unwrap().thumbprint(), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
}

#[test]
fn rfc_8037_appendix_a_3_thumbprint() {
    assert_eq!(parse(&ed25519()).unwrap().thumbprint(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
}

#[test]
fn a_thumbprint_depends_on_the_key_alone() {
    let bare = without(p256(), "kid");
    let dressed = with(with(p256(), "use", json!("sig")), "x5t", json!("whatever"));
    assert_eq!(parse(&bare).unwrap().thumbprint(), parse(&dressed).unwrap().thumbprint());
}

#[test]
fn every_type_is_written_as_it_was_read() {
    for value in
        [rsa(), p256(), ed25519(), with(with(p256(), "use", json!("sig")), "key_ops", json!(["verify"]))]
    {
        let jwk = parse(&value).unwrap();
        assert_eq!(serde_json::to_value(&jwk).unwrap(), value);
        assert_eq!(serde_json::from_value::<Jwk>(value).unwrap(), jwk);
    }
}

#[test]
fn private_members_are_refused_by_name() {
    for name in ["d", "p", "q", "dp", "dq", "qi", "oth"] {
        assert_eq!(parse(&with(rsa(), name, json!("AQAB"))), Err(JwkError::Private(name)));
    }
    assert_eq!(parse(&json!({"kty": "oct", "k": "AQAB"})), Err(JwkError::Private("k")));
}

#[test]
fn errors_name_the_member() {
    let small = encoding::encode(&[0xff; 128]);
    let long_e = encoding::encode(&[2, 0, 0, 0, 1]);
    let padded_n = encoding::encode(&[&[0][..], &encoding::decode(RFC_7638_N).unwrap()].concat());
    for (value, error) in [
        (without(rsa(), "kty"), JwkError::Missing("kty")),
        (without(rsa(), "n"), JwkError::Missing("n")),
        (without(p256(), "y"), JwkError::Missing("y")),
        (without(p256(), "crv"), JwkError::Missing("crv")),
        (with(p256(), "crv", json!("P-384")), JwkError::Unsupported("P-384".into())),
        (with(ed25519(), "crv", json!("X25519")), JwkError::Unsupported("X25519".into())),
        (with(rsa(), "kty", json!("AKP")), JwkError::Unsupported("AKP".into())),
        (with(p256(), "x", json!("AAAA")), JwkError::Invalid("x")),
        (with(rsa(), "n", json!("not base64url")), JwkError::Invalid("n")),
        (with(rsa(), "n", json!(padded_n)), JwkError::Invalid("n")),
        (with(rsa(), "n", json!("")), JwkError::Invalid("n")),
        (with(rsa(), "n", json!(small)), JwkError::RsaSize(1024)),
        (with(rsa(), "e", json!("AQ")), JwkError::Invalid("e")),
        (with(rsa(), "e", json!("AQAA")), JwkError::Invalid("e")),
        (with(rsa(), "e", json!("AAEAAQ")), JwkError::Invalid("e")),
        (with(rsa(), "e", json!(long_e)), JwkError::Invalid("e")),
    ] {
        assert_eq!(parse(&value), Err(error), "{value}");
    }
    for text in ["", "[]", "\"x\"", "{\"kty\":1}", "{\"kty\":\"RSA\",\"kty\":\"EC\"}"] {
        assert!(matches!(Jwk::parse(text.as_bytes()), Err(JwkError::Malformed(_))), "{text}");
    }
}

#[test]
fn use_and_key_ops_decide_who_may_verify() {
    for (name, member, may) in [
        ("use", json!("sig"), true),
        ("use", json!("enc"), false),
        ("key_ops", json!(["sign", "verify"]), true),
        ("key_ops", json!(["sign"]), false),
    ] {
        assert_eq!(parse(&with(ed25519(), name, member)).unwrap().may_verify(), may);
    }
}

#[test]
fn a_set_skips_what_it_cannot_use() {
    let set = json!({"keys": [
        rsa(), {"kty": "AKP", "pub": "x"}, {"kty": "oct", "k": "AQAB"}, {"kty": 7}, "no object",
        with(rsa(), "n", json!("AQAB")), p256(),
    ], "other": 1});
    let set = JwkSet::parse(set.to_string().as_bytes()).unwrap();
    assert_eq!((set.keys.len(), set.skipped), (2, 5));
    assert_eq!(set.find("ec").unwrap().key_type(), "EC");
    assert!(set.find("absent").is_none());
    assert_eq!(serde_json::to_value(&set).unwrap(), json!({"keys": [rsa(), p256()]}));
}

#[test]
fn a_set_that_leaks_a_private_key_is_refused() {
    let set = json!({"keys": [rsa(), with(p256(), "d", json!("AQAB"))]});
    assert_eq!(JwkSet::parse(set.to_string().as_bytes()), Err(JwkError::Private("d")));
    assert!(serde_json::from_value::<JwkSet>(set).is_err());
    assert!(matches!(JwkSet::parse(b"{}"), Err(JwkError::Malformed(_))));
}

proptest! {
    #[test]
    fn no_input_panics(bytes: Vec<u8>, text in "\\{(\"(kty|n|e|crv|x|y|keys)\":(\"(RSA|EC|P-256|A{0,9})\"|1|\\[\\]),?){0,6}\\}") {
        for json in [bytes.as_slice(), text.as_bytes()] {
            let _ = (Jwk::parse(json), JwkSet::parse(json));
        }
    }

    #[test]
    fn any_p256_numbers_round_trip(x: [u8; 32], y: [u8; 32]) {
        let jwk = Jwk::new(KeyParameters::P256 { x, y }).unwrap();
        prop_assert_eq!(Jwk::parse(&serde_json::to_vec(&jwk).unwrap()).unwrap(), jwk);
    }
}
