//! Sealed values that leave the server and come back, mostly through a browser.
//!
//! A sealed text is base64url of `version (1) | salt (24) | ciphertext | tag (16)`. Each text has its own AES-256-GCM
//! key, derived from the salt by HMAC-SHA-256 (NIST SP 800-108r1 4.1), so the number of texts is not limited. One key
//! with random nonces may seal only 2^32 times (NIST SP 800-38D 8.3), which a flood of requests reaches within days.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use zeroize::Zeroizing;

use crate::digest::HmacKey;
use crate::encoding;
use crate::random::{self, SystemRandom};
use crate::seal::SealError;
use crate::secret::{SecretArray, SecretBytes};

const VERSION: u8 = 1;
const SALT_LEN: usize = 24;

/// Seals texts and opens them again.
#[derive(Debug)]
pub struct TextSealer(HmacKey);

impl TextSealer {
    /// A sealer with this secret.
    pub fn new(secret: &SecretArray<32>) -> Self {
        Self(HmacKey::from(secret))
    }

    /// Encrypts a value and binds it to its purpose. The salt always comes from the system's randomness, in tests too.
    ///
    /// # Errors
    /// [`SealError::Failed`]
    pub fn seal(&self, purpose: &str, plaintext: &[u8]) -> Result<String, SealError> {
        let salt = random::bytes::<SALT_LEN>(&SystemRandom);
        let mut body = plaintext.to_vec();
        self.key(&salt)?
            .seal_in_place_append_tag(nonce(), bound(purpose), &mut body)
            .map_err(|_| SealError::Failed)?;
        Ok(encoding::encode(&[&[VERSION][..], &salt, &body].concat()))
    }

    /// Decrypts what [`seal`](Self::seal) made for the same purpose.
    ///
    /// # Errors
    /// [`SealError::Corrupt`] for every other text, [`SealError::UnknownVersion`].
    pub fn open(&self, purpose: &str, text: &str) -> Result<SecretBytes, SealError> {
        let sealed = encoding::decode(text).map_err(|_| SealError::Corrupt)?;
        let (version, rest) = sealed.split_first().ok_or(SealError::Corrupt)?;
        if *version != VERSION {
            return Err(SealError::UnknownVersion(*version));
        }
        let (salt, ciphertext) = rest.split_first_chunk::<SALT_LEN>().ok_or(SealError::Corrupt)?;
        let mut body = Zeroizing::new(ciphertext.to_vec());
        let key = self.key(salt)?;
        let opened = key.open_in_place(nonce(), bound(purpose), &mut body).map_err(|_| SealError::Corrupt)?;
        let len = opened.len();
        body.truncate(len);
        Ok(SecretBytes::new(std::mem::take(&mut *body)))
    }

    fn key(&self, salt: &[u8; SALT_LEN]) -> Result<LessSafeKey, SealError> {
        let key = Zeroizing::new(self.0.sign(&[b"sealed text\0", &[VERSION], salt]));
        Ok(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &*key).map_err(|_| SealError::Failed)?))
    }
}

/// Every key seals only one text, so the nonce may be constant.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

fn bound(purpose: &str) -> Aad<Vec<u8>> {
    Aad::from([&[VERSION][..], purpose.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sealer(byte: u8) -> TextSealer {
        TextSealer::new(&SecretArray::new([byte; 32]))
    }

    #[test]
    fn only_the_same_sealer_opens_for_the_same_purpose() {
        let text = sealer(1).seal("login", b"who asks").unwrap();
        assert_eq!(sealer(1).open("login", &text).unwrap().expose(), b"who asks");
        assert_eq!(sealer(1).open("logout", &text).unwrap_err(), SealError::Corrupt);
        assert_eq!(sealer(2).open("login", &text).unwrap_err(), SealError::Corrupt);
        assert_ne!(sealer(1).seal("login", b"who asks").unwrap(), text, "a salt came twice");
    }

    #[test]
    fn another_format_says_so() {
        let text = encoding::encode(&[2; 80]);
        assert_eq!(sealer(1).open("login", &text).unwrap_err(), SealError::UnknownVersion(2));
    }

    proptest! {
        #[test]
        fn what_is_sealed_comes_back_and_is_not_readable(value in proptest::collection::vec(any::<u8>(), 0..300)) {
            let text = sealer(1).seal("p", &value).unwrap();
            let opened = sealer(1).open("p", &text).unwrap();
            prop_assert_eq!(opened.expose(), &value[..]);
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
        }

        #[test]
        fn a_changed_character_is_corrupt(at in 0_usize..80, with in "[A-Za-z0-9_-]") {
            let text = sealer(1).seal("p", &[7; 30]).unwrap();
            let at = at % text.len();
            let mut changed = text.clone();
            changed.replace_range(at..=at, &with);
            prop_assume!(changed != text);
            prop_assert!(sealer(1).open("p", &changed).is_err());
        }

        #[test]
        fn any_text_is_opened_without_panic(text in ".{0,200}") {
            prop_assert!(sealer(1).open("p", &text).is_err());
        }
    }
}
