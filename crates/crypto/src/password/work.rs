//! What verifying a hash takes, in one unit for all functions, so that one bound holds for all of them.
//!
//! The unit is Argon2's: one KiB of memory in one pass. The figures of the other functions were measured beside it on
//! one machine (`cargo run --profile dist -p symbolon-crypto --example cost`). Another machine may be quicker at one
//! and slower at another, above all where the processor has no instructions for SHA; so whoever waits for the time that
//! a hash takes measures each function apart ([`HashFunction::index`]).

/// A function that makes password hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashFunction {
    /// Argon2, whichever of its three kinds (RFC 9106).
    Argon2,
    /// bcrypt.
    Bcrypt,
    /// PBKDF2 with HMAC-SHA-1 (RFC 8018 5.2).
    Pbkdf2Sha1,
    /// PBKDF2 with HMAC-SHA-256.
    Pbkdf2Sha256,
    /// PBKDF2 with HMAC-SHA-512.
    Pbkdf2Sha512,
    /// scrypt (RFC 7914), and Firebase's kind of it.
    Scrypt,
    /// sha-crypt with SHA-256 (`$5$`).
    Sha256Crypt,
    /// sha-crypt with SHA-512 (`$6$`).
    Sha512Crypt,
    /// One salted digest (`{SSHA}` and its kin).
    SaltedSha,
}

impl HashFunction {
    /// How many functions there are.
    pub const COUNT: usize = 9;

    /// Its place in a list of [`COUNT`](Self::COUNT).
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Nanoseconds for one unit of its own: a KiB in a pass, a round of bcrypt's (2 to the cost), an iteration, a block of scrypt.
    const fn nanoseconds(self) -> u64 {
        match self {
            Self::Argon2 => 720,
            Self::Bcrypt => 90_000,
            Self::Pbkdf2Sha1 => 270,
            Self::Pbkdf2Sha256 => 240,
            Self::Pbkdf2Sha512 => 900,
            Self::Scrypt => 330,
            Self::Sha256Crypt => 330,
            Self::Sha512Crypt => 1_600,
            Self::SaltedSha => 1_000,
        }
    }

    /// The work of so many units of its own, in next to no memory.
    pub(super) const fn times(self, units: u64) -> Work {
        let kib = units.saturating_mul(self.nanoseconds()) / Self::Argon2.nanoseconds();
        Work { function: self, kib, memory_kib: 0 }
    }
}

/// What verifying a hash takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The function.
    pub function: HashFunction,
    /// As many KiB of memory, times passes over it, take Argon2 as long.
    pub kib: u64,
    /// The memory that it needs, in KiB.
    pub memory_kib: u64,
}
