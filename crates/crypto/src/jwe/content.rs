//! Authenticated encryption of the content (RFC 7518 5).

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::cipher::{AES_128, EncryptionContext, PaddedBlockEncryptingKey, UnboundCipherKey};
use aws_lc_rs::iv::FixedLength;

use super::{ContentEncryption, JweError};
use crate::digest::HmacKey;
use crate::random::Random;

/// The bytes of AES-CBC's initialization vector.
const IV_LEN: usize = 16;
/// The bytes of A128CBC-HS256's keys and of its tag (RFC 7518 5.2.3).
const HALF: usize = 16;

/// What a JWE has of its content.
pub(super) struct Sealed {
    pub(super) iv: Vec<u8>,
    pub(super) ciphertext: Vec<u8>,
    pub(super) tag: Vec<u8>,
}

/// Encrypts with a key of the length that the algorithm has; `aad` is authenticated too.
pub(super) fn encrypt(
    enc: ContentEncryption,
    key: &[u8],
    aad: &[u8],
    plaintext: &[u8],
    random: &dyn Random,
) -> Result<Sealed, JweError> {
    match enc {
        ContentEncryption::A128CbcHs256 => {
            let mut iv = [0; IV_LEN];
            random.fill(&mut iv);
            cbc_hmac(key, &iv, aad, plaintext)
        }
        ContentEncryption::A128Gcm | ContentEncryption::A256Gcm => {
            let algorithm = if enc == ContentEncryption::A128Gcm { &AES_128_GCM } else { &AES_256_GCM };
            let key = UnboundKey::new(algorithm, key).map_err(|_| JweError::Failed)?;
            // Each key encrypts one JWE alone, so a random nonce never comes a second time under it.
            let mut iv = [0; NONCE_LEN];
            random.fill(&mut iv);
            let mut ciphertext = plaintext.to_vec();
            let tag = LessSafeKey::new(key)
                .seal_in_place_separate_tag(Nonce::assume_unique_for_key(iv), Aad::from(aad), &mut ciphertext)
                .map_err(|_| JweError::Failed)?;
            Ok(Sealed { iv: iv.to_vec(), ciphertext, tag: tag.as_ref().to_vec() })
        }
    }
}

/// RFC 7518 5.2.2.1: the first half of the key authenticates, the second encrypts.
fn cbc_hmac(key: &[u8], iv: &[u8; IV_LEN], aad: &[u8], plaintext: &[u8]) -> Result<Sealed, JweError> {
    let (mac_key, enc_key) = key.split_at_checked(HALF).ok_or(JweError::Failed)?;
    let cipher = UnboundCipherKey::new(&AES_128, enc_key).map_err(|_| JweError::Failed)?;
    let cipher = PaddedBlockEncryptingKey::cbc_pkcs7(cipher).map_err(|_| JweError::Failed)?;
    let mut ciphertext = plaintext.to_vec();
    cipher
        .less_safe_encrypt(&mut ciphertext, EncryptionContext::Iv128(FixedLength::from(iv)))
        .map_err(|_| JweError::Failed)?;
    let aad_bits = (aad.len() as u64) * 8;
    let mac = HmacKey::new(mac_key).sign(&[aad, iv, &ciphertext, &aad_bits.to_be_bytes()]);
    let tag = mac.get(..HALF).ok_or(JweError::Failed)?.to_vec();
    Ok(Sealed { iv: iv.to_vec(), ciphertext, tag })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<char> = text.chars().filter(|digit| !digit.is_whitespace()).collect();
        digits
            .chunks(2)
            .map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap())
            .collect()
    }

    /// The example of RFC 7518 appendix B.1.
    #[test]
    fn cbc_with_hmac_is_that_of_the_rfc() {
        let key: Vec<u8> = (0..32).collect();
        let iv = hex("1af38c2dc2b96ffdd86694092341bc04").try_into().unwrap();
        let plaintext = b"A cipher system must not be required to be secret, and it must be able to fall into the hands of the enemy \
                          without inconvenience";
        let aad = b"The second principle of Auguste Kerckhoffs";
        let sealed = cbc_hmac(&key, &iv, aad, plaintext).unwrap();
        let begins = hex("c80edfa32ddf39d5ef00c0b468834279a2e46a1b8049f792f76bfe54b903a9c9");
        assert_eq!(sealed.ciphertext[..32], begins);
        assert_eq!(sealed.ciphertext.len(), 144);
        assert_eq!(sealed.tag, hex("652c3fa36b0a7c5b3219fab3a30bc1c4"));
    }
}
