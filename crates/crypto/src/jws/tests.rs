use std::future::Future;
use std::pin::pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};

use proptest::prelude::*;

use super::*;
use crate::algorithm::Algorithm;
use crate::digest;
use crate::jwk::Jwk;
use crate::key::VerifyingKey;
use crate::secret::SecretBytes;
use crate::signer::InlineSigner;

static KEYS: LazyLock<[SigningKey; 4]> =
    LazyLock::new(|| Algorithm::ALL.map(|algorithm| SigningKey::generate(algorithm, None).unwrap()));

const RFC_7515_PAYLOAD: &str =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the inline signer is ready at the first poll"),
    }
}

fn sign(key: &SigningKey, payload: &[u8]) -> String {
    ready(sign_compact(&InlineSigner, key, &EncodedHeader::for_key(key, Some("JWT")), payload)).unwrap()
}

fn token(header: &str) -> String {
    format!("{}.e30.AAAA", encoding::encode(header.as_bytes()))
}

fn parse_header(header: &str) -> Result<Header, JwsError> {
    Compact::parse(&token(header)).map(|compact| compact.header().clone())
}

fn verifying(jwk: &str) -> VerifyingKey {
    VerifyingKey::from_jwk(Jwk::parse(jwk.as_bytes()).unwrap(), None).unwrap()
}

#[test]
fn rfc_7515_appendix_a_2() {
    let key = verifying(
        r#"{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}"#,
    );
    let token = format!(
        "eyJhbGciOiJSUzI1NiJ9.{RFC_7515_PAYLOAD}.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
    );
    let payload = Compact::parse(&token).unwrap().verified_payload(&key).unwrap();
    assert_eq!(
        payload,
        b"{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}"
    );
}

#[test]
fn the_digest_of_a_token_is_known_where_its_algorithm_signs_one() {
    for key in KEYS.iter() {
        let header = EncodedHeader::for_key(key, Some("at+jwt"));
        let mut answer = b"before ".to_vec();
        let told = ready(append_compact_digested(&mut answer, &InlineSigner, key, &header, b"{}")).unwrap();
        let token = std::str::from_utf8(&answer).unwrap().strip_prefix("before ").unwrap();
        Compact::parse(token).unwrap().verified_payload(key.public()).unwrap();
        let expected = (key.algorithm() != Algorithm::EdDsa).then(|| digest::sha256(&[token.as_bytes()]));
        assert_eq!(told, expected, "{}", key.algorithm());
        let other = EncodedHeader::new(key.algorithm(), "another", None);
        let refused = ready(append_compact_digested(&mut answer, &InlineSigner, key, &other, b"{}"));
        assert_eq!(refused, Err(SignError::HeaderMismatch));
    }
}

#[test]
fn rfc_7515_appendix_a_3() {
    let key = verifying(
        r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#,
    );
    let token = format!(
        "eyJhbGciOiJFUzI1NiJ9.{RFC_7515_PAYLOAD}.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
    );
    Compact::parse(&token).unwrap().verify(&key).unwrap();
}

/// Ed25519 is deterministic, so the signature itself is compared.
#[test]
fn rfc_8037_appendix_a_4() {
    let seed = encoding::decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").unwrap();
    // RFC 8410 7: the fixed beginning of a PKCS#8 v1 Ed25519 key.
    let prefix = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    let pkcs8 = SecretBytes::new([&prefix[..], &seed].concat());
    let key = SigningKey::from_pkcs8(Algorithm::EdDsa, None, &pkcs8).unwrap();
    assert_eq!(key.public().jwk().thumbprint(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    assert_eq!(key.kid(), "kPrK_qmxVWaY");
    let input = signing_input("eyJhbGciOiJFZERTQSJ9", b"Example of Ed25519 signing");
    let signature = key.sign(input.as_bytes()).unwrap();
    let expected = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    assert_eq!(finish(input, &signature), expected);
    Compact::parse(expected).unwrap().verify(key.public()).unwrap();
}

#[test]
fn headers_are_written_in_a_fixed_order() {
    let header = EncodedHeader::new(Algorithm::Es256, "a\"b", Some("at+jwt"));
    assert_eq!(encoding::decode(header.as_str()).unwrap(), br#"{"alg":"ES256","typ":"at+jwt","kid":"a\"b"}"#);
    let header = EncodedHeader::new(Algorithm::Rs256, "k", None);
    assert_eq!(encoding::decode(header.as_str()).unwrap(), br#"{"alg":"RS256","kid":"k"}"#);
}

#[test]
fn tokens_round_trip_for_every_algorithm() {
    for key in KEYS.iter() {
        let token = sign(key, br#"{"sub":"alice"}"#);
        let compact = Compact::parse(&token).unwrap();
        assert_eq!(compact.header().alg, key.algorithm());
        assert_eq!(compact.header().kid.as_deref(), Some(key.kid()));
        assert!(compact.header().is_type("jwt"));
        assert_eq!(compact.verified_payload(key.public()).unwrap(), br#"{"sub":"alice"}"#);
        assert!(token.starts_with(compact.signing_input()));
        assert_eq!(compact.signature().len(), key.public().signature_len());
    }
}

#[test]
fn a_header_of_another_key_is_not_signed() {
    let [rs256, ps256, ..] = &*KEYS;
    for header in [EncodedHeader::for_key(ps256, None), EncodedHeader::new(Algorithm::Rs256, "other", None)] {
        let result = ready(sign_compact(&InlineSigner, rs256, &header, b"{}"));
        assert_eq!(result, Err(SignError::HeaderMismatch));
    }
}

#[test]
fn unsecured_and_hmac_tokens_are_refused() {
    for name in ["none", "None", "NONE", "nOnE"] {
        assert_eq!(parse_header(&format!(r#"{{"alg":"{name}"}}"#)), Err(JwsError::Unsecured));
    }
    for name in ["HS256", "RS512", "rs256", "", "ES256K"] {
        let expected = Err(JwsError::UnsupportedAlgorithm(name.into()));
        assert_eq!(parse_header(&format!(r#"{{"alg":"{name}"}}"#)), expected);
    }
    let unsigned = format!("{}.e30.", encoding::encode(br#"{"alg":"RS256"}"#));
    let unsigned = Compact::parse(&unsigned).unwrap();
    assert_eq!(unsigned.verify(KEYS[0].public()), Err(JwsError::BadSignature));
}

/// RFC 8725 2.1 and 3.1: the public key as an HMAC secret, and headers that name another algorithm.
#[test]
fn algorithm_confusion_is_refused() {
    let [rs256, ps256, es256, eddsa] = &*KEYS;
    let public = serde_json::to_vec(rs256.public().jwk()).unwrap();
    let input = signing_input(&encoding::encode(br#"{"alg":"HS256"}"#), b"{}");
    let tag = crate::digest::HmacKey::new(&public).sign(&[input.as_bytes()]);
    let forged = finish(input, &Signature::from_bytes(&tag));
    assert_eq!(Compact::parse(&forged).err(), Some(JwsError::UnsupportedAlgorithm("HS256".into())));

    let token = sign(rs256, b"{}");
    for other in [ps256, es256, eddsa] {
        let compact = Compact::parse(&token).unwrap();
        assert_eq!(compact.verify(other.public()), Err(JwsError::AlgorithmMismatch));
    }
    // A true RS256 signature over a header that claims PS256.
    let input = signing_input(EncodedHeader::new(Algorithm::Ps256, rs256.kid(), None).as_str(), b"{}");
    let signature = rs256.sign(input.as_bytes()).unwrap();
    let token = finish(input, &signature);
    let mut jwk = rs256.public().jwk().clone();
    jwk.alg = None;
    let as_ps256 = VerifyingKey::from_jwk(jwk, Some(Algorithm::Ps256)).unwrap();
    let compact = Compact::parse(&token).unwrap();
    assert_eq!(compact.verify(rs256.public()), Err(JwsError::AlgorithmMismatch));
    assert_eq!(compact.verify(&as_ps256), Err(JwsError::BadSignature));
}

#[test]
fn duplicate_members_are_refused_known_or_not() {
    for (header, name) in [
        (r#"{"alg":"RS256","alg":"RS256"}"#, "alg"),
        (r#"{"alg":"RS256","kid":"a","kid":"b"}"#, "kid"),
        (r#"{"alg":"RS256","x":1,"x":{}}"#, "x"),
        (r#"{"alg":"RS256","\u0061lg":"none"}"#, "alg"),
    ] {
        assert_eq!(parse_header(header), Err(JwsError::DuplicateMember(name.into())), "{header}");
    }
}

#[test]
fn critical_extensions_are_refused() {
    let refused = |name: &str| Err(JwsError::Critical(name.into()));
    assert_eq!(parse_header(r#"{"alg":"RS256","crit":["exp"],"exp":1}"#), refused("exp"));
    assert_eq!(parse_header(r#"{"alg":"RS256","crit":["b64"],"b64":false}"#), refused("b64"));
    assert_eq!(parse_header(r#"{"alg":"RS256","b64":false}"#), Err(JwsError::UnencodedPayload));
    for header in
        [r#"{"alg":"RS256","crit":[]}"#, r#"{"alg":"RS256","crit":"exp"}"#, r#"{"alg":"RS256","crit":[1]}"#]
    {
        assert!(matches!(parse_header(header), Err(JwsError::Header(_))), "{header}");
    }
}

#[test]
fn unknown_members_are_ignored() {
    let header =
        parse_header(r#"{"typ":"JWT","jku":"https://evil.example","x5c":["x"],"alg":"EdDSA"}"#).unwrap();
    assert_eq!(header, Header { alg: Algorithm::EdDsa, kid: None, typ: Some("JWT".into()), cty: None });
}

#[test]
fn malformed_headers_are_refused() {
    for header in [
        "",
        "{}",
        "[]",
        "1",
        r#"{"alg":1}"#,
        r#"{"alg":"RS256"} x"#,
        r#"{"alg":"RS256","kid":7}"#,
        "{\"alg\":",
    ] {
        assert!(matches!(parse_header(header), Err(JwsError::Header(_))), "{header}");
    }
    let many: String = (0..100).map(|i| format!(",\"m{i}\":1")).collect();
    assert!(matches!(parse_header(&format!("{{\"alg\":\"RS256\"{many}}}")), Err(JwsError::Header(_))));
}

#[test]
fn only_three_parts_of_base64url_are_a_token() {
    let good = token(r#"{"alg":"RS256"}"#);
    assert!(Compact::parse(&good).is_ok());
    for text in [
        "",
        ".",
        "..",
        "...",
        "a.b",
        &format!("{good}.AAAA"),
        &format!("{good}.AAAA.AAAA"),
        &format!("{good}="),
        &format!("{good} "),
        &good.replace(".e30", ""),
    ] {
        assert!(Compact::parse(text).is_err(), "{text:?}");
    }
    assert_eq!(Compact::parse(&format!("{good}{}", "A".repeat(MAX_LEN))).err(), Some(JwsError::TooLong));
    let bad_payload = good.replace("e30", "e3*");
    assert_eq!(Compact::parse(&bad_payload).unwrap().payload(), Err(JwsError::NotCompact));
}

#[test]
fn types_are_compared_as_media_types() {
    for (typ, media_type, same) in [
        ("at+jwt", "at+jwt", true),
        ("application/at+jwt", "at+jwt", true),
        ("APPLICATION/AT+JWT", "at+jwt", true),
        ("application/x/at+jwt", "at+jwt", false),
        ("JWT", "at+jwt", false),
    ] {
        let header = parse_header(&format!(r#"{{"alg":"RS256","typ":"{typ}"}}"#)).unwrap();
        assert_eq!(header.is_type(media_type), same, "{typ}");
    }
    assert!(!parse_header(r#"{"alg":"RS256"}"#).unwrap().is_type("at+jwt"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_changed_character_is_noticed(payload: Vec<u8>, which in 0_usize..4, at: prop::sample::Index, to in "[A-Za-z0-9_.-]") {
        let key = &KEYS[which];
        let token = sign(key, &payload);
        prop_assert_eq!(Compact::parse(&token).unwrap().verified_payload(key.public()).unwrap(), payload);
        let at = at.index(token.len());
        let mut changed = token.clone();
        changed.replace_range(at..=at, &to);
        prop_assume!(changed != token);
        let accepted = Compact::parse(&changed).is_ok_and(|compact| compact.verify(key.public()).is_ok());
        prop_assert!(!accepted);
    }

    #[test]
    fn no_input_panics(text: String, parts in "[A-Za-z0-9_-]{0,30}(\\.[A-Za-z0-9_-]{0,30}){0,5}", header: Vec<u8>) {
        let _ = (Compact::parse(&text), Compact::parse(&parts), Header::parse(&header));
    }
}
