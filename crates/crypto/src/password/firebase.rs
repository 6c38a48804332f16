//! The passwords of Firebase Authentication: scrypt (RFC 7914) of the password makes a key, and what is stored is the
//! project's *signer key*, encrypted with it by AES-256 in counter mode from a block of zeros.
//!
//! Firebase exports a user's salt and hash, and shows the project's parameters apart. Here they are one text, so that a
//! hash says all that its verification needs:
//!
//! `$firebase-scrypt$mem_cost=14,rounds=8,salt_separator=Bw==,signer_key=...$salt$hash`
//!
//! The names are Firebase's. `mem_cost` is the logarithm of scrypt's N, `rounds` its r; p is 1. All else is base64.

use aws_lc_rs::cipher::{AES_256, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::iv::FixedLength;

use super::error::PasswordError;
use super::limits;
use super::scrypt::Costs;
use super::text;
use super::work::Work;
use crate::digest::constant_time_eq;
use crate::secret::SecretArray;

const MALFORMED: PasswordError = PasswordError::MalformedHash(
    "Firebase hash ($firebase-scrypt$mem_cost=...,rounds=...,salt_separator=...,signer_key=...$salt$hash)",
);

/// The bytes of a signer key; Firebase's have 64. Fewer than 16 could be guessed without the password.
const SIGNER_KEY: std::ops::RangeInclusive<usize> = 16..=128;

/// A hash of Firebase Authentication.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Firebase {
    costs: Costs,
    /// The user's salt and the project's separator.
    salt: Vec<u8>,
    signer_key: Vec<u8>,
    /// The signer key encrypted under the password.
    encrypted: Vec<u8>,
}

impl Firebase {
    pub(super) fn read(text: &str) -> Result<Self, PasswordError> {
        let [_, _, project, salt, encrypted] = text::fields(text).ok_or(MALFORMED)?;
        let (mem_cost, rounds, separator, signer_key) = parameters(project).ok_or(MALFORMED)?;
        let bytes = |text: &str| text::url_or_standard_base64(text).ok_or(MALFORMED);
        let (salt, signer_key, encrypted) = (bytes(salt)?, bytes(signer_key)?, bytes(encrypted)?);
        let lengths = SIGNER_KEY.contains(&signer_key.len()) && encrypted.len() == signer_key.len();
        let salt = [salt, bytes(separator)?].concat();
        if !lengths || !limits::SALT.contains(&salt.len()) {
            return Err(MALFORMED);
        }
        Ok(Self { costs: Costs::new(mem_cost, rounds, 1)?, salt, signer_key, encrypted })
    }

    pub(super) fn work(&self) -> Work {
        self.costs.work()
    }

    pub(super) fn verify(&self, password: &[u8]) -> Result<bool, PasswordError> {
        let mut derived = Ok(());
        let key = SecretArray::<32>::filled_by(|key| derived = self.costs.derive(password, &self.salt, key));
        derived?;
        let mut encrypted = self.signer_key.clone();
        encrypt(key.expose(), &mut encrypted).map_err(|_| PasswordError::Failed)?;
        Ok(constant_time_eq(&encrypted, &self.encrypted))
    }
}

/// Encrypts in place. The counter begins at zero for every user: each has a key of its own, which encrypts this alone.
fn encrypt(key: &[u8], in_out: &mut [u8]) -> Result<(), aws_lc_rs::error::Unspecified> {
    let key = EncryptingKey::ctr(UnboundCipherKey::new(&AES_256, key)?)?;
    let from_zero = EncryptionContext::Iv128(FixedLength::from([0; 16]));
    key.less_safe_encrypt(in_out, from_zero).map(|_| ())
}

/// The project's parameters: memory cost, rounds, salt separator, signer key.
fn parameters(text: &str) -> Option<(u8, u32, &str, &str)> {
    let (mem_cost, rest) = text.strip_prefix("mem_cost=")?.split_once(",rounds=")?;
    let (rounds, rest) = rest.split_once(",salt_separator=")?;
    let (separator, signer_key) = rest.split_once(",signer_key=")?;
    Some((text::decimal(mem_cost)?, text::decimal(rounds)?, separator, signer_key))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{PASSWORD, assert_whole};
    use super::super::{PasswordError, PasswordHash};
    use super::*;

    const SIGNER: &str =
        "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==";

    fn hash(mem_cost: &str, hash: &str) -> String {
        format!(
            "$firebase-scrypt$mem_cost={mem_cost},rounds=8,salt_separator=Bw==,signer_key={SIGNER}$42xEC+ixf3L2lw==${hash}"
        )
    }

    const OWN: &str =
        "ibs9huSHr0fFYD4PLTsikxBnkIXlLRQynAeI/geb0SmdMbEgVIiHq3qlwOEwuyW14MMdJfh2DzU9WUV1oOmHqA==";

    /// From the documentation of Firebase's own program, and made by Python's hashlib and cryptography.
    #[test]
    fn documented_hashes_are_verified() {
        let documented =
            "lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==";
        assert_whole(&hash("14", documented), "user1password");
        assert_whole(&hash("10", OWN), PASSWORD);
        // As the interfaces answer that write base64 for URLs.
        let for_urls = OWN.replace('+', "-").replace('/', "_").replace('=', "");
        assert_whole(&hash("10", &for_urls), PASSWORD);
    }

    #[test]
    fn cut_malformed_or_ruinous_hashes_are_refused() {
        let good = hash("10", OWN);
        let assert_malformed = |text: &str| {
            let refused = PasswordHash::parse(text).err();
            assert!(
                matches!(refused, Some(PasswordError::MalformedHash(form)) if form.contains("Firebase")),
                "{text}"
            );
        };
        (17..good.len() - 2).step_by(3).for_each(|length| assert_malformed(&good[..length]));
        for (from, to) in [
            ("mem_cost=10", "mem_cost=x"),
            ("mem_cost", "memcost"),
            (",rounds=8", ""),
            ("rounds=8", "rounds=-8"),
            ("Bw==", "B"),
            (SIGNER, "AAAA"),
            ("42xEC+ixf3L2lw==", "%"),
            (OWN, ""),
        ] {
            assert_malformed(&good.replace(from, to));
        }
        for (from, to) in
            [("mem_cost=10", "mem_cost=31"), ("rounds=8", "rounds=4294967295"), ("rounds=8", "rounds=0")]
        {
            assert_eq!(PasswordHash::parse(&good.replace(from, to)).err(), Some(limits::SCRYPT), "{to}");
        }
    }
}
