//! bcrypt (Provos and Mazières, "A Future-Adaptable Password Scheme", 1999) as OpenBSD, PHP, Node and Python write it,
//! and in Django's two wrappings.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::error::PasswordError;
use super::limits;
use super::text;
use super::work::{HashFunction, Work};
use crate::digest;
use crate::secret::SecretString;

const FORM: &str = "bcrypt hash ($2a$, $2b$ or $2y$, the cost in two digits, and $ with 53 characters)";
const MALFORMED: PasswordError = PasswordError::MalformedHash(FORM);

/// The salt's last character holds 6 bits, of which 2 are the salt's, and some programs leave the others as they were
/// given. Every implementation ignores them.
static BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::BCRYPT,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// A bcrypt hash.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Bcrypt {
    cost: u32,
    /// The hash as the library reads it: without the bits that nobody reads.
    canonical: String,
    /// Whether bcrypt was given the SHA-256 of the password, in hexadecimal digits: Django's way around the 72 bytes.
    of_digest: bool,
}

impl Bcrypt {
    /// Reads `$2b$12$...`. The letter says which faults an implementation had mended. `x` marks hashes of one that read
    /// characters beyond ASCII wrongly; no right implementation can verify them.
    pub(super) fn read(text: &str) -> Result<Self, PasswordError> {
        let [_, version, cost, salt_and_hash] = text::fields(text).ok_or(MALFORMED)?;
        let lengths = (version.len(), cost.len(), salt_and_hash.len());
        if !matches!(version, "2a" | "2b" | "2y") || lengths != (2, 2, 53) {
            return Err(MALFORMED);
        }
        let cost = text::decimal(cost.strip_prefix('0').unwrap_or(cost)).ok_or(MALFORMED)?;
        if !limits::BCRYPT_COST.contains(&cost) {
            return Err(limits::BCRYPT);
        }
        let (salt, hash) = salt_and_hash.split_at_checked(22).ok_or(MALFORMED)?;
        let recoded =
            |part: &str| BASE64.decode(part).map(|bytes| BASE64.encode(bytes)).map_err(|_| MALFORMED);
        let canonical = format!("$2b${cost:02}${}{}", recoded(salt)?, recoded(hash)?);
        Ok(Self { cost, canonical, of_digest: false })
    }

    /// Reads Django's `bcrypt$$2b$12$...` and `bcrypt_sha256$$2b$12$...`.
    pub(super) fn read_django(text: &str) -> Result<Self, PasswordError> {
        let (algorithm, hash) = text.split_once('$').ok_or(MALFORMED)?;
        Ok(Self { of_digest: algorithm == "bcrypt_sha256", ..Self::read(hash)? })
    }

    pub(super) fn work(&self) -> Work {
        HashFunction::Bcrypt.times(1 << self.cost)
    }

    /// Of a longer password, the first 72 bytes count, as wherever these hashes were made.
    pub(super) fn verify(&self, password: &[u8]) -> Result<bool, PasswordError> {
        let right = if self.of_digest {
            let hexadecimal: String =
                digest::sha256(&[password]).iter().map(|byte| format!("{byte:02x}")).collect();
            ::bcrypt::verify(SecretString::new(hexadecimal).expose(), &self.canonical)
        } else {
            ::bcrypt::verify(password, &self.canonical)
        };
        right.map_err(|_| PasswordError::Failed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{PASSWORD, assert_whole, parse};
    use super::super::{PasswordError, PasswordHash};
    use super::*;

    /// Made by Python's `bcrypt` 4.0 and passlib 1.7.
    const OF_OTHERS: [&str; 5] = [
        "$2a$04$HQAeOAUsyB/mh8DNhjPDSeQeZas52vIh6X712k.Jo0jQW1QG6kekC",
        "$2b$04$GNYcPjgmT/EMJGiKncV6Vu6YoG5lfrbtsV1.YJsLTB1xr2YyeGr8S",
        "$2y$04$7m8h7Rep5/YkiMPfhKyldeHpXK3dA7sedIN5ruLci5HfmLF3UEJh2",
        // By Django 5.2.
        "bcrypt$$2b$04$r9bkFt1dQU9vq1x6sR6NueXnBgfXxY6XPiGedg8XAr/AgPoe.dBX6",
        "bcrypt_sha256$$2b$04$WO2fuDC3K0chONq2/9CHmuQa8LrmDJl5OrtNiGYupZZpfC3nS2rEW",
    ];

    #[test]
    fn hashes_of_others_are_verified() {
        OF_OTHERS.iter().for_each(|text| assert_whole(text, PASSWORD));
        assert_whole("$2b$04$bzG6tD40IKd8HmV9nXsNYuX.4RtfkKHAYCQMgT2mTdzmJmblRNpB6", "paßwörter sind lang");
        let beyond_72 = "lètmein".repeat(20);
        assert_whole(
            "bcrypt_sha256$$2b$04$8C9jKI/IN9PvANnXZGnf8ONHNZ3hxpIhvoVQzmbFLHFkC/7DmY24.",
            &beyond_72,
        );
    }

    /// What the person typed is the password everywhere else too, so it must be right here.
    #[test]
    fn of_a_long_password_the_first_72_bytes_count() {
        let hash = parse("$2b$04$87QtoqX6ve62UnkA9ybbyefYF0cQdiJ0PeiWodkUp.2eJcwGYEXsG");
        assert!(hash.verify(&"x".repeat(100).as_str().into()).unwrap());
        assert!(hash.verify(&"x".repeat(72).as_str().into()).unwrap());
        assert!(!hash.verify(&"x".repeat(71).as_str().into()).unwrap());
    }

    #[test]
    fn bits_that_nobody_reads_change_nothing() {
        // The salt's last character is `u`; `v` has other bits only where none are read.
        let text = "$2b$04$GNYcPjgmT/EMJGiKncV6Vv6YoG5lfrbtsV1.YJsLTB1xr2YyeGr8S";
        assert_ne!(text, OF_OTHERS[1]);
        assert!(parse(text).verify(&PASSWORD.into()).unwrap());
    }

    #[test]
    fn ruinous_or_malformed_hashes_are_refused() {
        let good = OF_OTHERS[1];
        for cost in ["03", "15", "31", "99"] {
            let text = good.replace("$04$", &format!("${cost}$"));
            assert_eq!(PasswordHash::parse(&text).err(), Some(limits::BCRYPT), "{text}");
        }
        for text in [
            &good[..59],
            &format!("{good}S"),
            &good.replace("$2b$", "$2x$"),
            &good.replace("$2b$", "$2$"),
            &good.replace("$04$", "$+4$"),
            &good.replace("$04$", "$4$0"),
            &good.replace('/', "!"),
            "$2b$12$abc",
            "bcrypt$",
            "bcrypt$pbkdf2",
        ] {
            assert!(
                matches!(PasswordHash::parse(text), Err(PasswordError::MalformedHash(form)) if form.contains("bcrypt")),
                "{text}"
            );
        }
    }

    #[test]
    fn each_step_of_the_cost_doubles_the_work() {
        let work = |cost: &str| parse(&OF_OTHERS[0].replace("$04$", &format!("${cost}$"))).work_kib();
        let (ten, eleven) = (work("10"), work("11"));
        assert!(ten > 0 && (eleven == 2 * ten || eleven == 2 * ten + 1), "{ten} {eleven}");
    }
}
