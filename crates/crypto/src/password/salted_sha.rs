//! The salted digests of LDAP directories (`{SSHA}`, `{SSHA256}`, `{SSHA512}`): base64 of the digest of password and
//! salt, and the salt. One digest is quick to compute and so to guess; these hashes live until the first sign-in.

use aws_lc_rs::digest::{self, Context};

use super::error::PasswordError;
use super::text;
use super::work::{HashFunction, Work};
use crate::digest::constant_time_eq;

const MALFORMED: PasswordError = PasswordError::MalformedHash(
    "salted SHA hash ({SSHA}, {SSHA256} or {SSHA512} and base64 of digest and salt)",
);

/// The bytes of a salt: OpenLDAP's first version had 4; none has more than 64.
const SALT: std::ops::RangeInclusive<usize> = 4..=64;

/// One salted digest.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct SaltedSha {
    algorithm: &'static digest::Algorithm,
    digest: Vec<u8>,
    salt: Vec<u8>,
}

impl SaltedSha {
    /// Reads what follows the scheme, which is in capital letters.
    pub(super) fn read(scheme: &str, encoded: &str) -> Result<Self, PasswordError> {
        let algorithm = match scheme {
            "SSHA" => &digest::SHA1_FOR_LEGACY_USE_ONLY,
            "SSHA256" => &digest::SHA256,
            "SSHA512" => &digest::SHA512,
            "SHA" | "SHA256" | "SHA384" | "SHA512" | "MD5" => return Err(PasswordError::Unsalted),
            _ => return Err(PasswordError::UnsupportedHash),
        };
        let bytes = text::base64(encoded).ok_or(MALFORMED)?;
        match bytes.split_at_checked(algorithm.output_len()) {
            Some((digest, salt)) if SALT.contains(&salt.len()) => {
                Ok(Self { algorithm, digest: digest.into(), salt: salt.into() })
            }
            _ => Err(MALFORMED),
        }
    }

    pub(super) fn work(&self) -> Work {
        HashFunction::SaltedSha.times(1)
    }

    pub(super) fn verify(&self, password: &[u8]) -> bool {
        let mut context = Context::new(self.algorithm);
        context.update(password);
        context.update(&self.salt);
        constant_time_eq(context.finish().as_ref(), &self.digest)
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::super::tests::{PASSWORD, assert_whole};
    use super::super::{PasswordError, PasswordHash};

    /// Made by passlib 1.7.
    const OF_OTHERS: [&str; 3] = [
        "{SSHA}HxiTqTPlJJGaStQy/ZN3NHk9vHONkbK2",
        "{SSHA256}VQYCxsvIvfXpB4x//Bl64+6KFiuNQ672dJQVrdmslsullFLK2RsjJA==",
        "{SSHA512}fIQzr7F3NibaUXoeK4nwNf9l/2ShQ9kvXciPij1IdcHzMRnMBK99GoLY9BOgzBQA6Zt5h/4D9eZf0ewFFY96iSHk/N+bk5LS",
    ];

    #[test]
    fn hashes_of_others_are_verified() {
        OF_OTHERS.iter().for_each(|text| assert_whole(text, PASSWORD));
        assert_whole(&OF_OTHERS[0].replace("SSHA", "ssha"), PASSWORD);
    }

    #[test]
    fn a_digest_without_salt_is_refused_and_says_why() {
        for text in ["{SHA}mN7MYuzjmaIu0w1JDvMzvn/ec4U=", "{sha256}AAAA", "{MD5}AAAA"] {
            assert_eq!(PasswordHash::parse(text).err(), Some(PasswordError::Unsalted), "{text}");
        }
        // The scheme of a salted one, without the salt.
        assert!(matches!(
            PasswordHash::parse("{SSHA}mN7MYuzjmaIu0w1JDvMzvn/ec4U="),
            Err(PasswordError::MalformedHash(_))
        ));
    }

    #[test]
    fn cut_or_malformed_hashes_are_refused() {
        for text in OF_OTHERS {
            let (scheme, encoded) = text.split_at(text.find('}').unwrap() + 1);
            let bytes = STANDARD.decode(encoded).unwrap();
            let of = |bytes: &[u8]| PasswordHash::parse(&format!("{scheme}{}", STANDARD.encode(bytes))).err();
            let digest = match scheme {
                "{SSHA}" => 20,
                "{SSHA256}" => 32,
                _ => 64,
            };
            assert_eq!(of(&bytes[..digest + 4]), None);
            for bad in [&bytes[..digest + 3], &bytes[..digest], &[&bytes[..], &[0; 61]].concat(), &[]] {
                assert!(
                    matches!(of(bad), Some(PasswordError::MalformedHash(form)) if form.contains("SSHA")),
                    "{text}"
                );
            }
        }
        for text in ["{", "{}", "{SSHA", "{SMD5}AAAA", "{CRYPT}", "{CRYPT}ab1234567890.", "{CRYPT}{SSHA}AAAA"]
        {
            assert_eq!(PasswordHash::parse(text).err(), Some(PasswordError::UnsupportedHash), "{text}");
        }
    }
}
