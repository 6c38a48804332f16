//! PBKDF2 (RFC 8018 5.2) as PHC strings, and as passlib, Django, Werkzeug and ASP.NET Identity write it. Keycloak's
//! credentials are PHC strings once their parts are put together.

use std::num::NonZeroU32;

use aws_lc_rs::pbkdf2;

use super::error::PasswordError;
use super::limits;
use super::text;
use super::work::{HashFunction, Work};

const PHC: PasswordError = PasswordError::MalformedHash(
    "PBKDF2 hash ($pbkdf2-sha256$i=...,l=...$salt$hash, or passlib's $pbkdf2-sha256$iterations$salt$hash)",
);
const DJANGO: PasswordError =
    PasswordError::MalformedHash("PBKDF2 hash (pbkdf2_sha256$iterations$salt$hash)");
const WERKZEUG: PasswordError =
    PasswordError::MalformedHash("PBKDF2 hash (pbkdf2:sha256:iterations$salt$hash)");

/// The digest under PBKDF2's HMAC.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Digest {
    Sha1,
    Sha256,
    Sha512,
}

impl Digest {
    fn named(name: &str) -> Option<Self> {
        match name {
            "sha1" => Some(Self::Sha1),
            "sha256" => Some(Self::Sha256),
            "sha512" => Some(Self::Sha512),
            _ => None,
        }
    }

    /// The bytes of one block.
    const fn len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }

    fn algorithm(self) -> pbkdf2::Algorithm {
        match self {
            Self::Sha1 => pbkdf2::PBKDF2_HMAC_SHA1,
            Self::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            Self::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        }
    }

    const fn function(self) -> HashFunction {
        match self {
            Self::Sha1 => HashFunction::Pbkdf2Sha1,
            Self::Sha256 => HashFunction::Pbkdf2Sha256,
            Self::Sha512 => HashFunction::Pbkdf2Sha512,
        }
    }
}

/// A hash made by PBKDF2.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Pbkdf2 {
    digest: Digest,
    iterations: NonZeroU32,
    salt: Vec<u8>,
    /// The first block of the output. It has as many bits as the digest; each further block (Keycloak always writes 64
    /// bytes) would cost all iterations again, which whoever guesses passwords would not pay either.
    first_block: Vec<u8>,
}

impl Pbkdf2 {
    /// A hash of these parts; `malformed` if there can be none.
    pub(super) fn new(
        (digest, iterations): (Digest, u32),
        salt: Vec<u8>,
        mut derived: Vec<u8>,
        malformed: PasswordError,
    ) -> Result<Self, PasswordError> {
        let iterations = NonZeroU32::new(iterations).ok_or(malformed)?;
        if !limits::SALT.contains(&salt.len()) || !limits::PBKDF2_OUTPUT.contains(&derived.len()) {
            return Err(malformed);
        }
        if iterations.get() > limits::PBKDF2_ITERATIONS {
            return Err(limits::PBKDF2);
        }
        derived.truncate(digest.len());
        Ok(Self { digest, iterations, salt, first_block: derived })
    }

    /// Reads `$pbkdf2-sha256$i=600000,l=32$...$...`, in which the length may be missing, and passlib's
    /// `$pbkdf2-sha256$29000$...$...`. Passlib calls PBKDF2 with SHA-1 just `pbkdf2`.
    pub(super) fn read_phc(text: &str) -> Result<Self, PasswordError> {
        let [_, name, costs, salt, derived] = text::fields(text).ok_or(PHC)?;
        let digest = name.strip_prefix("pbkdf2").and_then(|digest| match digest.strip_prefix('-') {
            Some(digest) => Digest::named(digest),
            None => digest.is_empty().then_some(Digest::Sha1),
        });
        let digest = digest.ok_or(PHC)?;
        let (iterations, length) = match text::decimal(costs) {
            Some(iterations) => (iterations, None),
            None => phc_costs(costs).ok_or(PHC)?,
        };
        let salt = text::adapted_base64(salt).ok_or(PHC)?;
        let derived = text::adapted_base64(derived).ok_or(PHC)?;
        // A hash that was cut off would be easier to guess.
        if derived.len() != length.unwrap_or(digest.len()) {
            return Err(PHC);
        }
        Self::new((digest, iterations), salt, derived, PHC)
    }

    /// Reads Django's `pbkdf2_sha256$1000000$salt$base64`, whose salt is text.
    pub(super) fn read_django(text: &str) -> Result<Self, PasswordError> {
        let [algorithm, iterations, salt, derived] = text::fields(text).ok_or(DJANGO)?;
        let digest = algorithm.strip_prefix("pbkdf2_").and_then(Digest::named).ok_or(DJANGO)?;
        let iterations = text::decimal(iterations).ok_or(DJANGO)?;
        let derived = text::base64(derived).filter(|it| it.len() == digest.len()).ok_or(DJANGO)?;
        Self::new((digest, iterations), salt.into(), derived, DJANGO)
    }

    /// Reads Werkzeug's (Flask's) `pbkdf2:sha256:1000000$salt$hexadecimal`, whose salt is text.
    pub(super) fn read_werkzeug(text: &str) -> Result<Self, PasswordError> {
        let [method, salt, derived] = text::fields(text).ok_or(WERKZEUG)?;
        let (digest, iterations) =
            method.strip_prefix("pbkdf2:").and_then(|it| it.split_once(':')).ok_or(WERKZEUG)?;
        let digest = Digest::named(digest).ok_or(WERKZEUG)?;
        let iterations = text::decimal(iterations).ok_or(WERKZEUG)?;
        let derived = text::hexadecimal(derived).filter(|it| it.len() == digest.len()).ok_or(WERKZEUG)?;
        Self::new((digest, iterations), salt.into(), derived, WERKZEUG)
    }

    pub(super) fn work(&self) -> Work {
        self.digest.function().times(self.iterations.get().into())
    }

    pub(super) fn verify(&self, password: &[u8]) -> bool {
        let Self { digest, iterations, salt, first_block } = self;
        pbkdf2::verify(digest.algorithm(), *iterations, salt, password, first_block).is_ok()
    }
}

/// `i=600000` or `i=600000,l=32`: the iterations, and the bytes of the output.
fn phc_costs(text: &str) -> Option<(u32, Option<usize>)> {
    let (iterations, length) = match text.split_once(',') {
        Some((iterations, length)) => (iterations, Some(text::decimal(length.strip_prefix("l=")?)?)),
        None => (text, None),
    };
    Some((text::decimal(iterations.strip_prefix("i=")?)?, length))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{PASSWORD, assert_whole, parse};
    use super::super::{PasswordError, PasswordHash};
    use super::*;

    /// Made by passlib 1.7, Python's hashlib, Django 5.2 and Werkzeug 3.
    const OF_OTHERS: [&str; 10] = [
        "$pbkdf2$1000$O.dcq9U6h1AKwXhvTUmpNQ$P3Qu57tT2hwtsWOtdK.DBqrUtYU",
        "$pbkdf2-sha256$1000$HeOcEwKAMMZ4D6F0TslZSw$izf17AajGgPnltFxUHim5fkwYhwz2U0wEsK12GUbXTo",
        "$pbkdf2-sha512$1000$h1AKoVTqfY9RitHau7c2Rg$pq.oE.tI1TMIGX0NFgiwupref.LDF.MiOxCoOKWFP6CWxAtmoa2LcmU/WKIDsw0vc2TLwR/WCXLhhBn8zPY30Q",
        "$pbkdf2-sha1$i=1000,l=20$AAECAwQFBgcICQoLDA0ODw$yr+bZKkEnTtGf3f18VjXM5CIxT8",
        "$pbkdf2-sha256$i=1000,l=32$AAECAwQFBgcICQoLDA0ODw$AhaeZ02AwPxykuhhDI8XvhQN8GKvmqM+qF6qvs/98I0",
        "$pbkdf2-sha512$i=1000$AAECAwQFBgcICQoLDA0ODw$ToxFUi5y3fprZRW/V6CupR2uIDYfuy5rlsF9Z4E648lE68lw5lzmucru/HdPvmBJDSLroVh1Q2xCvjqd8NI/6Q",
        // As Keycloak has it: 64 bytes, whichever the digest.
        "$pbkdf2-sha256$i=1000,l=64$AAECAwQFBgcICQoLDA0ODw==$AhaeZ02AwPxykuhhDI8XvhQN8GKvmqM+qF6qvs/98I3oPrOafEIqFGOq0+8aVYIT/+xVcPChXj+A8gpxtbBrFQ==",
        "pbkdf2_sha256$1000$seasalt0123456789abcd$HY62XieXM90MMTi5ATfPxiZ8Bhvfx2LAiP5A5cP2kdE=",
        "pbkdf2_sha1$1000$seasalt0123456789abcd$zqu22f9VWoLstie/8kBpTRDBmPQ=",
        "pbkdf2:sha256:1000$53q1p4KCjOWfTt8t$6ea9bc4189de1b10519bbddfbd512ad93d81b4f946b48a6fdfe608024659852e",
    ];

    #[test]
    fn hashes_of_others_are_verified() {
        OF_OTHERS.iter().for_each(|text| assert_whole(text, PASSWORD));
    }

    #[test]
    fn cut_or_malformed_hashes_are_refused() {
        let assert_malformed = |text: &str| {
            let refused = PasswordHash::parse(text).err();
            assert!(
                matches!(refused, Some(PasswordError::MalformedHash(form)) if form.contains("PBKDF2")),
                "{text}"
            );
        };
        for text in OF_OTHERS {
            // Every cut leaves fewer bytes than the digest or `l` has.
            (20..text.len() - 2).step_by(3).for_each(|length| assert_malformed(&text[..length]));
            assert_malformed(&format!("{text}$"));
            assert_malformed(&text.replace("1000", "0"));
            assert_malformed(&text.replace("1000", "+1000"));
            assert_malformed(&text.replace("1000", "4294967296"));
            let other_digest = if text.starts_with('$') {
                text.replacen("pbkdf2", "pbkdf2-md5", 1)
            } else {
                text.replacen("sha", "md", 1)
            };
            assert_malformed(&other_digest);
        }
        for text in [
            "$pbkdf2-sha256$l=32,i=1000$AAECAwQFBgcICQoLDA0ODw$AhaeZ02AwPxykuhhDI8XvhQN8GKvmqM+qF6qvs/98I0",
            "$pbkdf2-sha256$i=1000,l=8$AAECAwQFBgcICQoLDA0ODw$AhaeZ02AwPw",
            "$pbkdf2-sha256$i=1000,l=32$$AhaeZ02AwPxykuhhDI8XvhQN8GKvmqM+qF6qvs/98I0",
            "pbkdf2_sha256$1000$seasalt$",
            "pbkdf2_",
            "$pbkdf2",
        ] {
            assert_malformed(text);
        }
    }

    #[test]
    fn ruinous_costs_are_refused_and_one_block_is_computed() {
        let with =
            |text: &str, iterations: &str| PasswordHash::parse(&text.replace("1000", iterations)).err();
        for text in OF_OTHERS {
            assert_eq!(with(text, "5000000"), None, "{text}");
            assert_eq!(with(text, "5000001"), Some(limits::PBKDF2), "{text}");
            assert_eq!(with(text, "4294967295"), Some(limits::PBKDF2), "{text}");
        }
        let work = |text: &str| parse(text).work_kib();
        assert!(
            work(OF_OTHERS[4]) > 0 && work(OF_OTHERS[6]) == work(OF_OTHERS[4]),
            "64 bytes of SHA-256, and 32"
        );
    }
}
