//! Encryption of private keys and other secrets at rest, under a master key (AES-256-GCM, NIST SP 800-38D).
//!
//! A sealed value is `version (1) | key id (8) | nonce (12) | ciphertext | tag (16)`. Version and key id are
//! authenticated together with the caller's additional data, which should name the record: then a sealed key
//! cannot be moved to another record.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use zeroize::Zeroizing;

use crate::random::{self, SystemRandom};
use crate::secret::{SecretArray, SecretBytes, SecretString};
use crate::{digest, encoding};

const VERSION: u8 = 1;
const ID_LEN: usize = 8;
const HEADER_LEN: usize = 1 + ID_LEN;

/// Why a text is not a master key, or a value could not be sealed or opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// Not 32 bytes in hexadecimal or base64.
    #[error("a master key is 32 bytes, as 64 hexadecimal digits or 43 (44 with padding) base64 characters")]
    MasterKey,
    /// Sealed under another master key.
    #[error("sealed under the master key {sealed_by}, opened with {given}")]
    WrongKey {
        /// The id of the key that it was sealed under.
        sealed_by: String,
        /// The id of the key that was tried.
        given: String,
    },
    /// The value, or the record that it is bound to, was changed.
    #[error("the sealed value is corrupt or belongs to another record")]
    Corrupt,
    /// Sealed by a newer release.
    #[error("the sealed value has the unknown format version {0}")]
    UnknownVersion(u8),
    /// The library failed.
    #[error("the value could not be sealed")]
    Failed,
}

/// The key under which other keys and secrets are sealed. `Debug` shows its id only; wiped on drop.
pub struct MasterKey {
    secret: SecretArray<32>,
    id: [u8; ID_LEN],
    cipher: LessSafeKey,
}

impl MasterKey {
    /// Makes a new key from the system's randomness.
    ///
    /// # Errors
    /// [`SealError::Failed`]
    pub fn generate() -> Result<Self, SealError> {
        Self::from_bytes(SecretArray::filled_by(|out| random::Random::fill(&SystemRandom, out)))
    }

    /// Takes ownership of 32 raw bytes, which must have full entropy.
    ///
    /// # Errors
    /// [`SealError::Failed`]
    pub fn from_bytes(secret: SecretArray<32>) -> Result<Self, SealError> {
        let mut id = [0; ID_LEN];
        for (to, from) in id.iter_mut().zip(digest::derive(&secret, "symbolon master key id").expose()) {
            *to = *from;
        }
        let key = digest::derive(&secret, "symbolon seal");
        let key = UnboundKey::new(&AES_256_GCM, key.expose()).map_err(|_| SealError::Failed)?;
        Ok(Self { secret, id, cipher: LessSafeKey::new(key) })
    }

    /// Reads 64 hexadecimal digits. White space around them is ignored.
    ///
    /// # Errors
    /// [`SealError::MasterKey`]
    pub fn from_hex(text: &SecretString) -> Result<Self, SealError> {
        let text = text.expose().trim().as_bytes();
        if text.len() != 64 {
            return Err(SealError::MasterKey);
        }
        let mut valid = true;
        let secret = SecretArray::filled_by(|out| {
            for (to, pair) in out.iter_mut().zip(text.chunks_exact(2)) {
                for digit in pair {
                    let value = char::from(*digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
                    valid &= value.is_some();
                    *to = *to << 4 | value.unwrap_or(0);
                }
            }
        });
        if valid { Self::from_bytes(secret) } else { Err(SealError::MasterKey) }
    }

    /// Reads base64 or base64url, with or without padding. White space around it is ignored.
    ///
    /// # Errors
    /// [`SealError::MasterKey`]
    pub fn from_base64(text: &SecretString) -> Result<Self, SealError> {
        let text = text.expose().trim().trim_end_matches('=');
        let decoded = encoding::decode(text).ok().or_else(|| STANDARD_NO_PAD.decode(text).ok());
        let decoded = SecretBytes::new(decoded.ok_or(SealError::MasterKey)?);
        let bytes: &[u8; 32] = decoded.expose().try_into().map_err(|_| SealError::MasterKey)?;
        Self::from_bytes(SecretArray::filled_by(|out| out.copy_from_slice(bytes)))
    }

    /// Reads either form: 64 hexadecimal digits, else base64.
    ///
    /// # Errors
    /// [`SealError::MasterKey`]
    pub fn parse(text: &SecretString) -> Result<Self, SealError> {
        if text.expose().trim().len() == 64 { Self::from_hex(text) } else { Self::from_base64(text) }
    }

    /// The key in base64, as a key file holds it.
    pub fn to_base64(&self) -> SecretString {
        SecretString::new(STANDARD.encode(self.secret.expose()))
    }

    /// The key's id, in hexadecimal. It distinguishes keys and reveals nothing about them.
    pub fn id(&self) -> String {
        hex(&self.id)
    }

    /// Checks that a value was sealed under this key, without opening it.
    ///
    /// # Errors
    /// [`SealError::WrongKey`], [`SealError::Corrupt`], [`SealError::UnknownVersion`]
    pub fn check(&self, sealed: &[u8]) -> Result<(), SealError> {
        let (header, _) = sealed.split_first_chunk::<HEADER_LEN>().ok_or(SealError::Corrupt)?;
        let [version, id @ ..] = header;
        match *version {
            VERSION if *id == self.id => Ok(()),
            VERSION => Err(SealError::WrongKey { sealed_by: hex(id), given: self.id() }),
            other => Err(SealError::UnknownVersion(other)),
        }
    }

    /// Derives a secret for another purpose (HKDF, [`digest::derive`]).
    pub fn derive(&self, label: &str) -> SecretArray<32> {
        digest::derive(&self.secret, label)
    }

    /// Encrypts and binds to `aad`. The nonce always comes from the system's randomness, in tests too: a repeated nonce
    /// would break secrecy and authenticity (SP 800-38D 8).
    ///
    /// # Errors
    /// [`SealError::Failed`]
    pub fn seal(&self, aad: &[u8], plaintext: &[u8]) -> Result<Vec<u8>, SealError> {
        let nonce = random::bytes::<NONCE_LEN>(&SystemRandom);
        let mut body = Vec::with_capacity(plaintext.len() + AES_256_GCM.tag_len());
        body.extend_from_slice(plaintext);
        let header = self.header();
        let bound = Aad::from([&header[..], aad].concat());
        self.cipher
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), bound, &mut body)
            .map_err(|_| SealError::Failed)?;
        Ok([&header[..], &nonce, &body].concat())
    }

    /// Decrypts what [`Self::seal`] made with the same `aad`.
    ///
    /// # Errors
    /// [`SealError::WrongKey`], [`SealError::Corrupt`], [`SealError::UnknownVersion`]
    pub fn open(&self, aad: &[u8], sealed: &[u8]) -> Result<SecretBytes, SealError> {
        self.check(sealed)?;
        let (header, rest) = sealed.split_first_chunk::<HEADER_LEN>().ok_or(SealError::Corrupt)?;
        let (nonce, ciphertext) = rest.split_first_chunk::<NONCE_LEN>().ok_or(SealError::Corrupt)?;
        let bound = Aad::from([header, aad].concat());
        let mut body = Zeroizing::new(ciphertext.to_vec());
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let len = self.cipher.open_in_place(nonce, bound, &mut body).map_err(|_| SealError::Corrupt)?.len();
        body.truncate(len);
        Ok(SecretBytes::new(std::mem::take(&mut *body)))
    }

    fn header(&self) -> [u8; HEADER_LEN] {
        let mut header = [VERSION; HEADER_LEN];
        for (to, from) in header.iter_mut().skip(1).zip(self.id) {
            *to = from;
        }
        header
    }
}

/// Seals a value of the key `old` again under the key `new`. A value that is already under `new` is sealed again too,
/// so an interrupted rewrap can be repeated.
///
/// # Errors
/// As [`MasterKey::open`], naming the old key.
pub fn rewrap(old: &MasterKey, new: &MasterKey, aad: &[u8], sealed: &[u8]) -> Result<Vec<u8>, SealError> {
    let plaintext = match old.open(aad, sealed) {
        Err(wrong_key @ SealError::WrongKey { .. }) => {
            new.open(aad, sealed).map_err(|error| match error {
                SealError::WrongKey { .. } => wrong_key,
                other => other,
            })?
        }
        opened => opened?,
    };
    new.seal(aad, plaintext.expose())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MasterKey").field("id", &self.id()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(byte: u8) -> MasterKey {
        MasterKey::from_bytes(SecretArray::new([byte; 32])).unwrap()
    }

    #[test]
    fn every_form_reads_the_same_key() {
        let base64 = key(0xfb).to_base64();
        let url = base64.expose().replace('+', "-").replace('/', "_");
        for text in [base64.expose(), &url, url.trim_end_matches('='), &"fb".repeat(32), &"FB".repeat(32)] {
            assert_eq!(
                MasterKey::parse(&format!(" {text}\n").into()).unwrap().id(),
                key(0xfb).id(),
                "{text}"
            );
        }
        assert_ne!(key(1).id(), key(2).id());
    }

    #[test]
    fn other_texts_are_no_key() {
        for text in ["", "short", &"fg".repeat(32), &"fb".repeat(33), &"AA".repeat(22)] {
            assert_eq!(MasterKey::parse(&text.into()).err(), Some(SealError::MasterKey), "{text}");
        }
    }

    #[test]
    fn wrong_key_and_corruption_are_told_apart() {
        let sealed = key(1).seal(b"record", b"secret").unwrap();
        assert_eq!(
            key(2).open(b"record", &sealed).err(),
            Some(SealError::WrongKey { sealed_by: key(1).id(), given: key(2).id() })
        );
        assert_eq!(key(2).check(&sealed), key(2).open(b"record", &sealed).map(drop));
        assert_eq!((key(1).check(&sealed), key(1).check(&sealed[..5])), (Ok(()), Err(SealError::Corrupt)));
        assert_eq!(key(1).open(b"other record", &sealed).err(), Some(SealError::Corrupt));
        assert_eq!(key(1).open(b"record", &sealed[..sealed.len() - 1]).err(), Some(SealError::Corrupt));
        assert_eq!(key(1).open(b"record", &sealed[..20]).err(), Some(SealError::Corrupt));
        assert_eq!(key(1).open(b"record", &[]).err(), Some(SealError::Corrupt));
    }

    #[test]
    fn rewrap_moves_to_the_new_key_and_can_be_repeated() {
        let (old, new, other) = (key(1), key(2), key(3));
        let sealed = old.seal(b"a", b"secret").unwrap();
        let once = rewrap(&old, &new, b"a", &sealed).unwrap();
        let twice = rewrap(&old, &new, b"a", &once).unwrap();
        assert_eq!(new.open(b"a", &twice).unwrap().expose(), b"secret");
        assert!(matches!(old.open(b"a", &twice), Err(SealError::WrongKey { .. })));
        let wrong = SealError::WrongKey { sealed_by: other.id(), given: old.id() };
        assert_eq!(rewrap(&old, &new, b"a", &other.seal(b"a", b"x").unwrap()).err(), Some(wrong));
        assert_eq!(rewrap(&old, &new, b"b", &sealed).err(), Some(SealError::Corrupt));
    }

    #[test]
    fn debug_shows_the_id_only() {
        assert_eq!(format!("{:?}", key(1)), format!("MasterKey {{ id: {:?}, .. }}", key(1).id()));
    }

    proptest! {
        #[test]
        fn round_trip_and_any_flipped_bit_is_noticed(plaintext: Vec<u8>, aad: Vec<u8>, at: prop::sample::Index, bit in 0u8..8) {
            let key = key(9);
            let mut sealed = key.seal(&aad, &plaintext).unwrap();
            let opened = key.open(&aad, &sealed).unwrap();
            prop_assert_eq!(opened.expose(), plaintext.as_slice());
            prop_assert_ne!(&sealed, &key.seal(&aad, &plaintext).unwrap(), "nonces differ");
            let at = at.index(sealed.len());
            sealed[at] ^= 1 << bit;
            prop_assert!(key.open(&aad, &sealed).is_err());
        }
    }
}
