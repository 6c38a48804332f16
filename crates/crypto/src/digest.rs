//! SHA-256, HMAC-SHA-256, HKDF-SHA-256 and comparison in constant time.

use std::fmt;

use aws_lc_rs::{constant_time, digest as sha, hkdf, hmac};

use crate::secret::{SecretArray, SecretString, overwrite};

/// SHA-256 of the concatenated parts. Nothing separates the parts: where their boundaries matter, the caller must put a
/// separator between them.
pub fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    match parts {
        [whole] => to_array(sha::digest(&sha::SHA256, whole).as_ref()),
        parts => {
            let gathered = gathered(parts, |whole| to_array(sha::digest(&sha::SHA256, whole).as_ref()));
            gathered.unwrap_or_else(|| {
                let mut digest = Sha256::default();
                parts.iter().for_each(|part| digest.update(part));
                digest.finish()
            })
        }
    }
}

/// Bytes of a SHA-1 digest.
pub const SHA1_BYTES: usize = 20;

/// SHA-1 of a password, as published lists of breached passwords have it. Its collisions do not matter: it is only looked up, and
/// nothing rests on it.
pub fn sha1_of_listed_password(password: &SecretString) -> [u8; SHA1_BYTES] {
    let digest = sha::digest(&sha::SHA1_FOR_LEGACY_USE_ONLY, password.expose().as_bytes());
    digest.as_ref().try_into().unwrap_or_default()
}

/// The longest input that is copied into one piece before it is hashed.
const GATHERED: usize = 256;

/// Calls `work` with the concatenation of short parts; `None` if they are too long. To hash one piece, the library
/// needs no context, which it would allocate.
fn gathered<T>(parts: &[&[u8]], work: impl FnOnce(&[u8]) -> T) -> Option<T> {
    let mut room = [0; GATHERED];
    let used = room.get_mut(..parts.iter().map(|part| part.len()).sum())?;
    let mut free = &mut *used;
    for part in parts {
        let (place, rest) = free.split_at_mut_checked(part.len())?;
        place.copy_from_slice(part);
        free = rest;
    }
    let made = work(used);
    // The parts may be secret.
    overwrite(&mut room);
    Some(made)
}

/// SHA-256 of everything that can be read from `input`.
///
/// # Errors
/// Those of reading `input`.
pub fn sha256_of(mut input: impl std::io::Read) -> std::io::Result<[u8; 32]> {
    let mut digest = Sha256::default();
    let mut piece = vec![0; 64 << 10];
    loop {
        match input.read(&mut piece) {
            Ok(0) => return Ok(digest.finish()),
            Ok(length) => digest.update(piece.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// An incremental SHA-256 (FIPS 180-4), whose digest can also be taken before its end.
pub struct Sha256(sha::Context);

/// The SHA-256 of an input, as it can be [signed](crate::key::SigningKey::sign_input).
pub struct Sha256Digest(pub(crate) sha::Digest);

impl Default for Sha256 {
    fn default() -> Self {
        Self(sha::Context::new(&sha::SHA256))
    }
}

impl Sha256 {
    /// Adds more input.
    pub fn update(&mut self, more: &[u8]) {
        self.0.update(more);
    }

    /// The digest of the input so far. More input may follow.
    pub fn so_far(&self) -> Sha256Digest {
        Sha256Digest(self.0.clone().finish())
    }

    /// The digest of the whole input.
    pub fn finish(self) -> [u8; 32] {
        to_array(self.0.finish().as_ref())
    }
}

/// SHA-512 (FIPS 180-4).
pub fn sha512(whole: &[u8]) -> [u8; 64] {
    let mut out = [0; 64];
    out.copy_from_slice(sha::digest(&sha::SHA512, whole).as_ref());
    out
}

/// Whether both are equal; the time depends on their lengths only.
pub fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    constant_time::verify_slices_are_equal(a, b).is_ok()
}

/// A key for HMAC-SHA-256 (RFC 2104), prepared for repeated use.
#[derive(Clone)]
pub struct HmacKey(hmac::Key);

impl HmacKey {
    /// Prepares a key of any length; 32 random bytes are a good choice.
    pub fn new(key: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// The tag of the concatenated parts.
    pub fn sign(&self, parts: &[&[u8]]) -> [u8; 32] {
        let at_once = gathered(parts, |whole| {
            let mut tag = [0; 32];
            // In one call: a context is a copy of the one in the key, 1.2 KB, and each move copies it again.
            hmac::sign_to_buffer(&self.0, whole, &mut tag).is_ok().then_some(tag)
        });
        at_once.flatten().unwrap_or_else(|| {
            let mut context = hmac::Context::with_key(&self.0);
            for part in parts {
                context.update(part);
            }
            to_array(context.sign().as_ref())
        })
    }

    /// Whether `tag` is the full tag of the parts. Compares in constant time.
    pub fn verify(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        constant_time_eq(&self.sign(parts), tag)
    }
}

impl From<&SecretArray<32>> for HmacKey {
    fn from(key: &SecretArray<32>) -> Self {
        Self::new(key.expose())
    }
}

impl fmt::Debug for HmacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HmacKey(redacted)")
    }
}

/// Derives the sub key named `label` from a master secret by HKDF-SHA-256 (RFC 5869) without salt. The master
/// must be of full entropy (a random key, never a password); different labels give independent keys.
pub fn derive(master: &SecretArray<32>, label: &str) -> SecretArray<32> {
    let prk = hkdf::Salt::none(hkdf::HKDF_SHA256).extract(master.expose());
    SecretArray::filled_by(|out| {
        let filled = prk.expand(&[label.as_bytes()], hkdf::HKDF_SHA256).and_then(|okm| okm.fill(out));
        if filled.is_err() {
            // RFC 5869 2.3 limits the output to 255 blocks, and only one is needed, so this cannot fail. If it did, a
            // key of zeros must not be used.
            std::process::abort();
        }
    })
}

/// The first 32 bytes; every caller passes exactly as many.
fn to_array(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    for (to, from) in out.iter_mut().zip(bytes) {
        *to = *from;
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn sha256_of_abc() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(&sha256(&[b"abc"])), expected);
        assert_eq!(hex(&sha256(&[b"a", b"", b"bc"])), expected);
    }

    #[test]
    fn sha256_of_what_is_read_is_that_of_the_whole() {
        let bytes = vec![7; 200_000];
        assert_eq!(sha256_of(bytes.as_slice()).unwrap(), sha256(&[&bytes]));
        assert_eq!(sha256_of(&[][..]).unwrap(), sha256(&[]));
    }

    #[test]
    fn rfc_4231_test_case_2() {
        let key = HmacKey::new(b"Jefe");
        let tag = key.sign(&[b"what do ya want ", b"for nothing?"]);
        assert_eq!(hex(&tag), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        assert!(key.verify(&[b"what do ya want for nothing?"], &tag));
        assert!(!key.verify(&[b"what do ya want for nothing!"], &tag));
        assert!(!key.verify(&[b"what do ya want for nothing?"], &tag[..31]), "a truncated tag");
    }

    #[test]
    fn derived_keys_are_stable_and_differ() {
        let master = SecretArray::new([7; 32]);
        assert_eq!(derive(&master, "a").expose(), derive(&master, "a").expose());
        assert_ne!(derive(&master, "a").expose(), derive(&master, "b").expose());
        assert_ne!(derive(&master, "a").expose(), derive(&SecretArray::new([8; 32]), "a").expose());
        // RFC 5869 2.2 and 2.3, one block: T(1) = HMAC(HMAC(zeros, master), label | 0x01).
        let prk = HmacKey::new(&[0; 32]).sign(&[&[7; 32]]);
        assert_eq!(derive(&master, "a").expose(), &HmacKey::new(&prk).sign(&[b"a", &[1]]));
    }

    #[test]
    fn comparison() {
        assert!(constant_time_eq(b"", b""));
        assert!(constant_time_eq(b"same", b"same"));
        assert!(!constant_time_eq(b"same", b"sama"));
        assert!(!constant_time_eq(b"same", b"sam"));
    }

    proptest! {
        #[test]
        fn parts_are_concatenated(a: Vec<u8>, b: Vec<u8>) {
            let whole = [a.as_slice(), b.as_slice()].concat();
            prop_assert_eq!(sha256(&[&a, &b]), sha256(&[&whole]));
            let key = HmacKey::new(b"key");
            prop_assert_eq!(key.sign(&[&a, &b]), key.sign(&[&whole]));
        }
    }
}
