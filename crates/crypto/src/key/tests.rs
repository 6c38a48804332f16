use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;
use crate::algorithm::Algorithm;
use crate::jwk::{Jwk, KeyParameters};
use crate::secret::{SecretBytes, SecretString};

static KEYS: LazyLock<[SigningKey; 4]> =
    LazyLock::new(|| Algorithm::ALL.map(|algorithm| SigningKey::generate(algorithm, None).unwrap()));

/// RSA of 1024 bits, made for this test.
const RSA_1024: &str = "-----BEGIN PRIVATE KEY-----\n\
MIICeQIBADANBgkqhkiG9w0BAQEFAASCAmMwggJfAgEAAoGBAM9D6hAIxVewCkK3\n\
xZg5cmj8rzscodMmcc+uUHOtpCw8g7EoMg8FDsuTe2q+O4BgF8NWQh1FQ9XHRGY6\n\
vvpcJ0XFvK2JrJ3ktvyGI+gKzlXI78SVz/edepwIlUodnIxpQAr6EsnkFLknn3iS\n\
GXFKIAHf3yKl8b/1spBb5wVUgOnnAgMBAAECgYEAlWF7VucbZCGqo39T2Gy++s/z\n\
c4UlVMuGh4o4zca+ZmuO9qXjvlOE4FCBSOOmetXHCrAmonYDeBZQQ+XfMw4r9p+E\n\
hNSnOfMAokD2dznhd3bo218yy6Flt+i1S92iTAkGTOjBw4ncaev9HiVA/+KK7Xeb\n\
FvePYWhl0h8XHjUwuyECQQDpvjw/DBLznPPqu02ISJlG1mwqzIlemPnZDQWv8avc\n\
oIw2n3XNC3ZeeE6S5L0q13q47r/qyjeRN08TdBji42+fAkEA4wBAOZN3hBLGbB9F\n\
tZsdnlsx2ankAaxkl6xRHdfq7TEPqYS2s0d1wGkcm6Br/2ZFmhMibT97sIwmtcgg\n\
htLAuQJBAJGEPT2C5smDDNc1hC80Azh2hSCf9WVPFzxpPwEqEzRnPuNCorPkTuzB\n\
OSl5/cqOG3jGKfShr7ZYGIKj5Fpb/UECQQDcxtWwKdjHv2r0pcWqx16bMZ7eT/nO\n\
FtkPGy0ZlXKLlnfhK4519z5zEMgeJHxlPhbbr1iAYInwP582lZntBvUhAkEA0Kdx\n\
1KYMUxNw8N690HxJ5jnCOo5g1JvfFo00VCKbugMCmjSod7iymts0vvjZiFvJ/94g\n\
o7/IqAIXQu7BFRfskQ==\n\
-----END PRIVATE KEY-----";

#[test]
fn every_algorithm_signs_and_verifies() {
    for key in KEYS.iter() {
        let signature = key.sign(b"input").unwrap();
        let public = key.public();
        assert_eq!(signature.as_bytes().len(), public.signature_len());
        assert_eq!(public.signature_len(), key.algorithm().signature_len().unwrap_or(256));
        public.verify(b"input", signature.as_bytes()).unwrap();
        assert_eq!(public.verify(b"inpuT", signature.as_bytes()), Err(BadSignature));
        for other in KEYS.iter().filter(|other| other.algorithm() != key.algorithm()) {
            assert!(other.public().verify(b"input", signature.as_bytes()).is_err());
        }
    }
}

#[test]
fn es256_signatures_are_64_bytes_always() {
    // DER would drop leading zeros; among 600 signatures some have them in r or s.
    let key = &KEYS[2];
    for round in 0..600_u32 {
        let input = round.to_be_bytes();
        let signature = key.sign(&input).unwrap();
        assert_eq!(signature.as_bytes().len(), 64);
        key.public().verify(&input, signature.as_bytes()).unwrap();
    }
}

#[test]
fn signatures_of_another_length_are_refused() {
    for key in KEYS.iter() {
        let signature = key.sign(b"x").unwrap();
        let bytes = signature.as_bytes();
        for wrong in [
            &[][..],
            &bytes[1..],
            &bytes[..bytes.len() - 1],
            &[bytes, &[0]].concat(),
            &[&[0], bytes].concat(),
        ] {
            assert_eq!(key.public().verify(b"x", wrong), Err(BadSignature));
        }
        assert_eq!(key.public().verify(b"x", &vec![0; bytes.len()]), Err(BadSignature), "all zeros");
    }
}

#[test]
fn pkcs8_round_trip_in_der_and_pem() {
    for key in KEYS.iter() {
        let again = SigningKey::from_pkcs8(key.algorithm(), None, &key.to_pkcs8().unwrap()).unwrap();
        assert_eq!(again.kid(), key.kid());
        assert_eq!(again.public().jwk(), key.public().jwk());
        key.public().verify(b"x", again.sign(b"x").unwrap().as_bytes()).unwrap();
        let pem = key.to_pkcs8_pem().unwrap();
        assert!(pem.expose().starts_with("-----BEGIN PRIVATE KEY-----\n"));
        assert!(pem.expose().lines().all(|line| line.len() <= 64));
        let again = SigningKey::from_pkcs8_pem(key.algorithm(), Some("named"), &pem).unwrap();
        assert_eq!((again.kid(), again.public().kid()), ("named", "named"));
        assert_eq!(again.public().jwk().thumbprint(), key.public().jwk().thumbprint());
    }
}

#[test]
fn keys_of_another_type_are_refused() {
    for key in KEYS.iter() {
        let der = key.to_pkcs8().unwrap();
        for algorithm in Algorithm::ALL.into_iter().filter(|a| a.key_type() != key.algorithm().key_type()) {
            assert_eq!(
                SigningKey::from_pkcs8(algorithm, None, &der).err(),
                Some(KeyError::Pkcs8(algorithm)),
                "{algorithm}"
            );
        }
    }
    assert!(SigningKey::from_pkcs8(Algorithm::Rs256, None, &SecretBytes::new(vec![])).is_err());
    for pem in
        ["", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n*\n-----END PRIVATE KEY-----"]
    {
        assert!(SigningKey::from_pkcs8_pem(Algorithm::Es256, None, &pem.into()).is_err());
    }
    assert!(SigningKey::generate_rsa(Algorithm::Es256, RsaSize::Bits2048, None).is_err());
}

#[test]
fn rsa_under_2048_bits_is_refused() {
    let pem = SecretString::from(RSA_1024);
    assert!(SigningKey::from_pkcs8_pem(Algorithm::Rs256, None, &pem).is_err());
    assert!(SigningKey::from_pkcs8_pem(Algorithm::Ps256, None, &pem).is_err());
}

#[test]
fn the_default_kid_begins_the_thumbprint_and_the_jwk_is_public() {
    for key in KEYS.iter() {
        let jwk = key.public().jwk();
        assert_eq!(key.kid().len(), 12);
        assert!(jwk.thumbprint().starts_with(key.kid()));
        assert_eq!(
            (jwk.alg.as_deref(), jwk.key_use.as_deref()),
            (Some(key.algorithm().as_str()), Some("sig"))
        );
        let json = serde_json::to_vec(jwk).unwrap();
        let public = VerifyingKey::from_jwk(Jwk::parse(&json).unwrap(), None).unwrap();
        assert_eq!(public.algorithm(), key.algorithm());
        public.verify(b"x", key.sign(b"x").unwrap().as_bytes()).unwrap();
        assert!(!format!("{key:?}{public:?}").contains("pair"));
    }
}

#[test]
fn a_jwk_serves_only_its_own_algorithms() {
    let [rsa, _, p256, ed25519] = &*KEYS;
    let mut jwk = rsa.public().jwk().clone();
    let mismatch = |algorithm| Some(KeyError::AlgorithmMismatch(algorithm));
    // `alg` says RS256.
    assert_eq!(VerifyingKey::from_jwk(jwk.clone(), Some(Algorithm::Ps256)).err(), mismatch(Algorithm::Ps256));
    jwk.alg = None;
    assert_eq!(
        VerifyingKey::from_jwk(jwk.clone(), Some(Algorithm::Ps256)).unwrap().algorithm(),
        Algorithm::Ps256
    );
    assert_eq!(VerifyingKey::from_jwk(jwk.clone(), None).unwrap().algorithm(), Algorithm::Rs256);
    assert_eq!(VerifyingKey::from_jwk(jwk.clone(), Some(Algorithm::EdDsa)).err(), mismatch(Algorithm::EdDsa));
    jwk.alg = Some("RSA-OAEP".into());
    assert_eq!(VerifyingKey::from_jwk(jwk, None).err(), Some(KeyError::NotForVerifying));
    for key in [p256, ed25519] {
        let mut jwk = key.public().jwk().clone();
        jwk.alg = None;
        assert_eq!(VerifyingKey::from_jwk(jwk.clone(), None).unwrap().algorithm(), key.algorithm());
        assert!(VerifyingKey::from_jwk(jwk.clone(), Some(Algorithm::Rs256)).is_err());
        jwk.key_use = Some("enc".into());
        assert_eq!(VerifyingKey::from_jwk(jwk, None).err(), Some(KeyError::NotForVerifying));
    }
}

#[test]
fn a_point_off_the_curve_is_refused() {
    let jwk = Jwk::new(KeyParameters::P256 { x: [1; 32], y: [2; 32] }).unwrap();
    assert_eq!(VerifyingKey::from_jwk(jwk, None).err(), Some(KeyError::Public));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_change_is_noticed(input: Vec<u8>, which in 0_usize..4, at: prop::sample::Index, bit in 0_u8..8) {
        let key = &KEYS[which];
        let mut signature = key.sign(&input).unwrap().as_bytes().to_vec();
        prop_assert!(key.public().verify(&input, &signature).is_ok());
        let at = at.index(signature.len());
        signature[at] ^= 1 << bit;
        prop_assert!(key.public().verify(&input, &signature).is_err());
    }
}
