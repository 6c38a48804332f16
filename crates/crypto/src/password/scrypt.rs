//! scrypt (RFC 7914) as PHC strings, and as Django and Werkzeug write it.

use ::scrypt::Params;

use super::error::PasswordError;
use super::limits;
use super::text;
use super::work::{HashFunction, Work};
use crate::digest::constant_time_eq;

const PHC: PasswordError = PasswordError::MalformedHash("scrypt hash ($scrypt$ln=...,r=...,p=...$salt$hash)");
const DJANGO: PasswordError = PasswordError::MalformedHash("scrypt hash (scrypt$N$salt$r$p$hash)");
const WERKZEUG: PasswordError = PasswordError::MalformedHash("scrypt hash (scrypt:N:r:p$salt$hash)");

/// The output's bytes in PHC strings and passlib.
const SHORT: usize = 32;
/// The output's bytes in Django and Werkzeug, and the most in PHC strings.
const LONG: usize = 64;

/// The parameters of scrypt (RFC 7914 2), within what this server allows.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Costs {
    /// The logarithm of N to the base of 2.
    log_n: u8,
    r: u32,
    p: u32,
}

impl Costs {
    /// Costs within the bounds.
    pub(super) fn new(log_n: u8, r: u32, p: u32) -> Result<Self, PasswordError> {
        let costs = Self { log_n, r, p };
        // N is at least 2 (RFC 7914 2). Above 2^22 it is over the bounds by itself, and from 2^64 no number any more.
        let within = (1..=22).contains(&log_n)
            && r > 0
            && p > 0
            && costs.memory_kib() <= limits::SCRYPT_MEMORY_KIB
            && costs.blocks() <= limits::SCRYPT_BLOCKS;
        if within { Ok(costs) } else { Err(limits::SCRYPT) }
    }

    /// N, r and p, where N is written as itself: a power of 2 (RFC 7914 2).
    fn of_n(n: u64, r: u32, p: u32) -> Option<Result<Self, PasswordError>> {
        let log_n = u8::try_from(n.trailing_zeros()).ok()?;
        n.is_power_of_two().then(|| Self::new(log_n, r, p))
    }

    fn memory_kib(&self) -> u64 {
        (u64::from(self.r) << self.log_n) / 8
    }

    fn blocks(&self) -> u64 {
        (u64::from(self.r) << self.log_n).saturating_mul(u64::from(self.p))
    }

    pub(super) fn work(&self) -> Work {
        Work { memory_kib: self.memory_kib(), ..HashFunction::Scrypt.times(self.blocks()) }
    }

    /// Fills `out` with the key of a password.
    pub(super) fn derive(&self, password: &[u8], salt: &[u8], out: &mut [u8]) -> Result<(), PasswordError> {
        let params = Params::new(self.log_n, self.r, self.p).map_err(|_| PasswordError::Failed)?;
        ::scrypt::scrypt(password, salt, &params, out).map_err(|_| PasswordError::Failed)
    }
}

/// A hash made by scrypt.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Scrypt {
    costs: Costs,
    salt: Vec<u8>,
    derived: Vec<u8>,
}

impl Scrypt {
    fn new(
        costs: Costs,
        salt: Vec<u8>,
        derived: Vec<u8>,
        malformed: PasswordError,
    ) -> Result<Self, PasswordError> {
        let sound = limits::SALT.contains(&salt.len()) && matches!(derived.len(), SHORT | LONG);
        if sound { Ok(Self { costs, salt, derived }) } else { Err(malformed) }
    }

    /// Reads `$scrypt$ln=16,r=8,p=1$...$...`, which passlib writes too.
    pub(super) fn read_phc(text: &str) -> Result<Self, PasswordError> {
        let [_, _, costs, salt, derived] = text::fields(text).ok_or(PHC)?;
        let (log_n, r, p) = phc_costs(costs).ok_or(PHC)?;
        let salt = text::base64(salt).ok_or(PHC)?;
        let derived = text::base64(derived).ok_or(PHC)?;
        Self::new(Costs::new(log_n, r, p)?, salt, derived, PHC)
    }

    /// Reads Django's `scrypt$16384$salt$8$5$base64`, whose salt is text.
    pub(super) fn read_django(text: &str) -> Result<Self, PasswordError> {
        let [_, n, salt, r, p, derived] = text::fields(text).ok_or(DJANGO)?;
        let costs = costs_of([n, r, p]).ok_or(DJANGO)??;
        let derived = text::base64(derived).filter(|it| it.len() == LONG).ok_or(DJANGO)?;
        Self::new(costs, salt.into(), derived, DJANGO)
    }

    /// Reads Werkzeug's (Flask's) `scrypt:32768:8:1$salt$hexadecimal`, whose salt is text.
    pub(super) fn read_werkzeug(text: &str) -> Result<Self, PasswordError> {
        let [method, salt, derived] = text::fields(text).ok_or(WERKZEUG)?;
        let mut parts = method.split(':').skip(1);
        let (Some(n), Some(r), Some(p), None) = (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(WERKZEUG);
        };
        let costs = costs_of([n, r, p]).ok_or(WERKZEUG)??;
        let derived = text::hexadecimal(derived).filter(|it| it.len() == LONG).ok_or(WERKZEUG)?;
        Self::new(costs, salt.into(), derived, WERKZEUG)
    }

    pub(super) fn work(&self) -> Work {
        self.costs.work()
    }

    pub(super) fn verify(&self, password: &[u8]) -> Result<bool, PasswordError> {
        let mut out = vec![0; self.derived.len()];
        self.costs.derive(password, &self.salt, &mut out)?;
        Ok(constant_time_eq(&out, &self.derived))
    }
}

/// `ln=16,r=8,p=1`.
fn phc_costs(text: &str) -> Option<(u8, u32, u32)> {
    let (log_n, rest) = text.strip_prefix("ln=")?.split_once(",r=")?;
    let (r, p) = rest.split_once(",p=")?;
    Some((text::decimal(log_n)?, text::decimal(r)?, text::decimal(p)?))
}

/// The costs of N, r and p as decimal numbers.
fn costs_of([n, r, p]: [&str; 3]) -> Option<Result<Costs, PasswordError>> {
    Costs::of_n(text::decimal(n)?, text::decimal(r)?, text::decimal(p)?)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{PASSWORD, assert_whole, parse};
    use super::super::{PasswordError, PasswordHash};
    use super::*;

    /// Made by passlib 1.7, Django 5.2 and Werkzeug 3.
    const OF_OTHERS: [&str; 4] = [
        "$scrypt$ln=10,r=8,p=1$/j/H2Ns7Z+xdK6XUuhciZA$qCe7z9EtjUyaqmbSMBSJZCGLwNK8RcMEkoYKLOXxn5M",
        "$scrypt$ln=8,r=4,p=2$J2QMIQSgFILwXmttTel9rw$cdFjJ+WFOaHcfFeXsRHuDElsSp1pBBq8NS52C6tz+3A",
        "scrypt$1024$seasalt$8$5$ZPrjhuL1dTuhxIFFj1avSf7m1XRGd92Yd0HHF99NCBMJo39ZS0qduEMDnlPUmD0+/G7SHDkbPZrz62u7VtT6Xg==",
        "scrypt:1024:8:1$GhaR72KHo3ggzzm6$48c506feec363e4a893b4a059a3e977a1f1a357198a5e0d5e5d4aa12ca1d70d288a3d8574627163c0c90f5b5ef129933b9011a731e6715df00e36f2f52526fba",
    ];

    #[test]
    fn hashes_of_others_are_verified() {
        OF_OTHERS.iter().for_each(|text| assert_whole(text, PASSWORD));
    }

    /// RFC 7914 12, the third vector.
    #[test]
    fn the_vector_of_the_rfc_is_verified() {
        let derived = "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887";
        assert_whole(&format!("scrypt:16384:8:1$SodiumChloride${derived}"), "pleaseletmein");
    }

    #[test]
    fn cut_or_malformed_hashes_are_refused() {
        let assert_malformed = |text: &str| {
            let refused = PasswordHash::parse(text).err();
            assert!(
                matches!(refused, Some(PasswordError::MalformedHash(form)) if form.contains("scrypt")),
                "{text}"
            );
        };
        for text in OF_OTHERS {
            (8..text.len() - 2).step_by(3).for_each(|length| assert_malformed(&text[..length]));
            assert_malformed(&format!("{text}$"));
        }
        for (from, to) in
            [("1024", "1023"), ("1024", "0"), ("1024", "x"), ("$8$5$", "$8$$"), (":8:1", ":8:1:1")]
        {
            OF_OTHERS[2..].iter().filter(|text| text.contains(from)).for_each(|text| {
                assert_malformed(&text.replace(from, to));
            });
        }
        for costs in ["", "ln=10", "ln=10,r=8", "r=8,p=1,ln=10", "ln=+1,r=8,p=1", "ln=256,r=8,p=1"] {
            assert_malformed(&OF_OTHERS[0].replace("ln=10,r=8,p=1", costs));
        }
    }

    #[test]
    fn ruinous_costs_are_refused() {
        let with = |costs: &str| PasswordHash::parse(&OF_OTHERS[0].replace("ln=10,r=8,p=1", costs)).err();
        for costs in ["ln=17,r=16,p=1", "ln=18,r=8,p=1", "ln=17,r=8,p=4"] {
            assert_eq!(with(costs), None, "{costs}");
        }
        for costs in [
            "ln=0,r=8,p=1",
            "ln=10,r=0,p=1",
            "ln=10,r=8,p=0",
            "ln=19,r=8,p=1",
            "ln=22,r=1,p=1",
            "ln=255,r=8,p=1",
            "ln=17,r=8,p=5",
            "ln=1,r=4294967295,p=4294967295",
        ] {
            assert_eq!(with(costs), Some(limits::SCRYPT), "{costs}");
        }
        let huge = OF_OTHERS[2].replace("1024", "9223372036854775808");
        assert_eq!(PasswordHash::parse(&huge).err(), Some(limits::SCRYPT));
        assert!(parse(OF_OTHERS[2]).work_kib() > 4 * parse(OF_OTHERS[0]).work_kib());
    }
}
