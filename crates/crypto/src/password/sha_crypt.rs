//! sha-crypt with SHA-256 (`$5$`) and SHA-512 (`$6$`), as glibc's `crypt(3)` makes it (Drepper, "Unix crypt using SHA-256
//! and SHA-512").

use ::sha_crypt::password_hash::Error;
use ::sha_crypt::{PasswordVerifier, ShaCrypt as Library};

use super::error::PasswordError;
use super::limits;
use super::text;
use super::work::{HashFunction, Work};

const MALFORMED: PasswordError = PasswordError::MalformedHash(
    "sha-crypt hash ($5$ or $6$, perhaps rounds=...$, a salt, $ and 43 or 86 characters)",
);

/// The rounds where the text names none.
const DEFAULT_ROUNDS: u32 = 5_000;

/// A hash of sha-crypt.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ShaCrypt {
    function: HashFunction,
    rounds: u32,
    /// The whole text, as the library reads it.
    text: String,
}

impl ShaCrypt {
    pub(super) fn read(text: &str) -> Result<Self, PasswordError> {
        let (function, rest) = match (text.strip_prefix("$5$"), text.strip_prefix("$6$")) {
            (Some(rest), _) => (HashFunction::Sha256Crypt, rest),
            (_, Some(rest)) => (HashFunction::Sha512Crypt, rest),
            _ => return Err(MALFORMED),
        };
        let (rounds, rest) = match rest.strip_prefix("rounds=") {
            Some(rest) => {
                let (rounds, rest) = rest.split_once('$').ok_or(MALFORMED)?;
                (text::decimal(rounds).ok_or(MALFORMED)?, rest)
            }
            None => (DEFAULT_ROUNDS, rest),
        };
        let [salt, hash] = text::fields(rest).ok_or(MALFORMED)?;
        if !is_salt(salt) || !is_hash(function, hash) {
            return Err(MALFORMED);
        }
        if !limits::SHA_CRYPT_ROUNDS.contains(&rounds) {
            return Err(limits::SHA_CRYPT);
        }
        Ok(Self { function, rounds, text: text.to_owned() })
    }

    /// Counted for the longest password that is tried: whoever signs in chooses the length.
    pub(super) fn work(&self) -> Work {
        self.function.times(self.rounds.into())
    }

    pub(super) fn verify(&self, password: &[u8]) -> Result<bool, PasswordError> {
        if password.len() > limits::SHA_CRYPT_PASSWORD {
            return Ok(false);
        }
        match Library::SHA512.verify_password(password, self.text.as_str()) {
            Ok(()) => Ok(true),
            Err(Error::PasswordInvalid) => Ok(false),
            Err(_) => Err(PasswordError::Failed),
        }
    }
}

/// One to sixteen characters. The format would have any but `$`, `:` and a line's end; these are what the library takes,
/// and more than any program makes.
fn is_salt(text: &str) -> bool {
    (1..=16).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"./+=,-".contains(&byte))
}

/// The digest in crypt's base64, which has its lowest bits first: the last character has only so many values as bits are
/// left.
fn is_hash(function: HashFunction, text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/');
    let (length, most) = match function {
        HashFunction::Sha256Crypt => (43, b'D'),
        _ => (86, b'1'),
    };
    text.len() == length && text.bytes().all(is_digit) && text.bytes().last().is_some_and(|last| last <= most)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{PASSWORD, assert_whole, parse};
    use super::super::{PasswordError, PasswordHash};
    use super::*;

    /// Made by passlib 1.7.
    const OF_OTHERS: [&str; 4] = [
        "$5$jRU34hQvVuy4R9.K$3Ov/qhOCnYU7ektxqVKCeOmjbH3bEb6H8SVyUzsBZr6",
        "$5$rounds=1234$Nf700kNeZKVYBXui$Sq2TbKoS0NnxgULte2UyVTxX1l0zE8jwjScPfZtcWZ8",
        "$6$edfPTo.kU.7ME4AQ$iHowCc1bSC4aLB8iyolJeb4X.4sVGY0yxf.7uHW7H.2o3FIFdLVnxEE5zZ.xJvG6d1mxqOoU9H/T9olM74myR.",
        "$6$rounds=1234$C4x0i7aB3CdXLvaf$T5n44sqXnrpN/4q1FWMUonQ/o0L3PbdN3i95ezylHNawcE4msQ6yUB7Tq/Ichilt/WkJ5AWXMnd8TU1dslAzZ/",
    ];

    #[test]
    fn hashes_of_others_are_verified() {
        OF_OTHERS.iter().for_each(|text| assert_whole(text, PASSWORD));
        assert_whole(&format!("{{CRYPT}}{}", OF_OTHERS[2]), PASSWORD);
    }

    /// The vectors of the specification.
    #[test]
    fn vectors_of_the_specification_are_verified() {
        for (text, password) in [
            ("$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5", "Hello world!"),
            (
                "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1",
                "Hello world!",
            ),
            (
                "$6$rounds=10000$saltstringsaltst$OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v.",
                "Hello world!",
            ),
        ] {
            assert_whole(text, password);
        }
    }

    /// Were it tried, the time would be the caller's to choose.
    #[test]
    fn a_password_beyond_the_bound_is_wrong() {
        let hash = parse(OF_OTHERS[0]);
        assert!(!hash.verify(&"x".repeat(60_000).as_str().into()).unwrap());
        assert!(!hash.verify(&"".into()).unwrap());
    }

    #[test]
    fn cut_malformed_or_ruinous_hashes_are_refused() {
        let assert_malformed = |text: &str| {
            let refused = PasswordHash::parse(text).err();
            assert!(
                matches!(refused, Some(PasswordError::MalformedHash(form)) if form.contains("sha-crypt")),
                "{text}: {refused:?}"
            );
        };
        for text in OF_OTHERS {
            (3..text.len()).for_each(|length| assert_malformed(&text[..length]));
            assert_malformed(&format!("{text}."));
            assert_malformed(&format!("{text}$"));
            assert_malformed(&format!("{}z", &text[..text.len() - 1]));
            assert_malformed(
                &text.replace("rounds=1234", "rounds=").replace("$5$j", "$5$_").replace("$6$e", "$6$_"),
            );
        }
        for text in ["$5$$3Ov/qhOCnYU7ektxqVKCeOmjbH3bEb6H8SVyUzsBZr6", "$6$rounds=1e9$C4x0i7aB3CdXLvaf$"] {
            assert_malformed(text);
        }
        for rounds in ["0", "999", "2000001", "999999999", "4294967295"] {
            let text = OF_OTHERS[3].replace("1234", rounds);
            assert_eq!(PasswordHash::parse(&text).err(), Some(limits::SHA_CRYPT), "{text}");
        }
        assert!(parse(OF_OTHERS[2]).work_kib() > parse(OF_OTHERS[0]).work_kib());
    }
}
