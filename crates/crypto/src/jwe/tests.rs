//! Decrypts what was encrypted, as the holder of the private key does: by the library's other half.

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{ECDH_P256, PrivateKey, UnparsedPublicKey, agree};
use aws_lc_rs::cipher::{AES_128, DecryptionContext, PaddedBlockDecryptingKey, UnboundCipherKey};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::rsa::{KeySize, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use serde_json::{Value, json};

use super::*;
use crate::digest::HmacKey;
use crate::random::SystemRandom;

/// Somebody who receives.
enum Recipient {
    Rsa(PrivateDecryptingKey),
    Ec(PrivateKey),
}

impl Recipient {
    fn rsa() -> (Self, Jwk) {
        use aws_lc_rs::encoding::AsDer as _;
        let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
        // The two numbers are the last elements of the SubjectPublicKeyInfo.
        let der = private.public_key().as_der().unwrap();
        let der = der.as_ref();
        let e = &der[der.len() - 3..];
        let n = &der[der.len() - 5 - 256..der.len() - 5];
        let jwk = json!({ "kty": "RSA", "kid": "r", "use": "enc", "n": encoding::encode(n), "e": encoding::encode(e) });
        (Self::Rsa(private), Jwk::parse(jwk.to_string().as_bytes()).unwrap())
    }

    fn ec() -> (Self, Jwk) {
        let private = PrivateKey::generate(&ECDH_P256).unwrap();
        let public = private.compute_public_key().unwrap();
        let (x, y) = public.as_ref()[1..].split_at(32);
        let jwk = json!({ "kty": "EC", "crv": "P-256", "x": encoding::encode(x), "y": encoding::encode(y) });
        (Self::Ec(private), Jwk::parse(jwk.to_string().as_bytes()).unwrap())
    }

    fn content_key(&self, header: &Value, encrypted: &[u8], enc: ContentEncryption) -> Vec<u8> {
        match self {
            Self::Rsa(private) => {
                let private = OaepPrivateDecryptingKey::new(private.clone()).unwrap();
                let mut out = vec![0; private.min_output_size()];
                private.decrypt(&OAEP_SHA256_MGF1SHA256, encrypted, &mut out, None).unwrap().to_vec()
            }
            Self::Ec(private) => {
                assert_eq!(encrypted, b"", "direct key agreement has no encrypted key (RFC 7518 4.6)");
                let part = |name: &str| encoding::decode(header["epk"][name].as_str().unwrap()).unwrap();
                let point = [&[4][..], &part("x"), &part("y")].concat();
                let theirs = UnparsedPublicKey::new(&ECDH_P256, point);
                agree(private, theirs, (), |z| {
                    agreement::derive(z, enc.as_str(), enc.key_bytes())
                        .map(|key| key.expose().to_vec())
                        .map_err(drop)
                })
                .unwrap()
            }
        }
    }

    fn decrypt(&self, jwe: &str) -> (Value, Vec<u8>) {
        let parts: Vec<&str> = jwe.split('.').collect();
        assert_eq!(parts.len(), 5, "{jwe}");
        let decoded: Vec<Vec<u8>> = parts.iter().map(|part| encoding::decode(part).unwrap()).collect();
        let header: Value = serde_json::from_slice(&decoded[0]).unwrap();
        let enc: ContentEncryption = serde_json::from_value(header["enc"].clone()).unwrap();
        let key = self.content_key(&header, &decoded[1], enc);
        let (aad, iv, ciphertext, tag) = (parts[0].as_bytes(), &decoded[2], &decoded[3], &decoded[4]);
        if enc == ContentEncryption::A128CbcHs256 {
            let bits = (aad.len() as u64 * 8).to_be_bytes();
            let mac = HmacKey::new(&key[..16]).sign(&[aad, iv, ciphertext, &bits]);
            assert_eq!(mac[..16], **tag);
            let cipher = UnboundCipherKey::new(&AES_128, &key[16..]).unwrap();
            let cipher = PaddedBlockDecryptingKey::cbc_pkcs7(cipher).unwrap();
            let iv = DecryptionContext::Iv128(FixedLength::try_from(&**iv).unwrap());
            let mut text = ciphertext.clone();
            return (header, cipher.decrypt(&mut text, iv).unwrap().to_vec());
        }
        let algorithm = if enc == ContentEncryption::A128Gcm { &AES_128_GCM } else { &AES_256_GCM };
        let key = LessSafeKey::new(UnboundKey::new(algorithm, &key).unwrap());
        let mut text = [&**ciphertext, tag].concat();
        let nonce = Nonce::try_assume_unique_for_key(iv).unwrap();
        (header, key.open_in_place(nonce, Aad::from(aad), &mut text).unwrap().to_vec())
    }
}

#[test]
fn the_recipient_reads_it_by_every_pair_of_algorithms() {
    for (alg, (recipient, jwk)) in
        [(KeyManagement::RsaOaep256, Recipient::rsa()), (KeyManagement::EcdhEs, Recipient::ec())]
    {
        for enc in ContentEncryption::ALL {
            for text in [&b"a.b.c"[..], b"", &[7; 16], &[7; 5_000]] {
                let jwe = encrypt(&jwk, (alg, enc), Some("JWT"), text, &SystemRandom).unwrap();
                let (header, read) = recipient.decrypt(&jwe);
                assert_eq!(read, text, "{alg} {enc}");
                assert_eq!((&header["alg"], &header["cty"]), (&json!(alg), &json!("JWT")));
                assert_eq!(header["kid"], json!(jwk.kid), "{header}");
                assert!(header.get("zip").is_none());
            }
        }
    }
}

#[test]
fn nothing_is_encrypted_twice_alike() {
    let (_, jwk) = Recipient::ec();
    let once = || {
        encrypt(&jwk, (KeyManagement::EcdhEs, ContentEncryption::A128Gcm), None, b"text", &SystemRandom)
            .unwrap()
    };
    assert_ne!(once(), once());
}

#[test]
fn keys_of_another_type_and_points_off_the_curve_are_refused() {
    let ((_, rsa), (_, ec)) = (Recipient::rsa(), Recipient::ec());
    let both = |alg| (alg, ContentEncryption::A128Gcm);
    for (key, alg) in [(&rsa, KeyManagement::EcdhEs), (&ec, KeyManagement::RsaOaep256)] {
        assert_eq!(encrypt(key, both(alg), None, b"", &SystemRandom), Err(JweError::Key(alg)));
        assert!(!may_encrypt(key, alg));
    }
    let off = Jwk::new(KeyParameters::P256 { x: [1; 32], y: [1; 32] }).unwrap();
    let alg = KeyManagement::EcdhEs;
    assert!(!may_encrypt(&off, alg));
    assert_eq!(encrypt(&off, both(alg), None, b"", &SystemRandom), Err(JweError::Key(alg)));
}

#[test]
fn a_key_serves_what_its_owner_says() {
    let (_, plain) = Recipient::ec();
    let with = |change: &dyn Fn(&mut Jwk)| {
        let mut key = plain.clone();
        change(&mut key);
        may_encrypt(&key, KeyManagement::EcdhEs)
    };
    assert!(with(&|_| {}));
    assert!(with(&|key| key.key_use = Some("enc".into())));
    assert!(!with(&|key| key.key_use = Some("sig".into())));
    assert!(with(&|key| key.alg = Some("ECDH-ES".into())));
    assert!(!with(&|key| key.alg = Some("ES256".into())));
    assert!(!with(&|key| key.alg = Some("ECDH-ES+A128KW".into())));
    assert!(with(&|key| key.key_ops = Some(vec!["deriveKey".to_owned()])));
    assert!(!with(&|key| key.key_ops = Some(vec!["verify".to_owned()])));
}
