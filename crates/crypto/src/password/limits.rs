//! The most that a stored hash may cost, whatever the settings. A hash beyond it is neither saved nor ever computed, so
//! that one hostile or careless line of an import cannot stall a thread or exhaust the memory. At these bounds a hash
//! takes one to five seconds, but for Argon2, whose bounds are those of the server's own settings; `argon2.import_work`
//! bounds what is saved more tightly.
//!
//! `docs/reference/password-hashes.md` has them as a table.

use std::ops::RangeInclusive;

use super::error::PasswordError;

/// The longest text of a hash, in bytes. The longest that is made is Firebase's, of some 300; PBKDF2 with a salt and an
/// output of the greatest lengths takes 800.
pub(super) const TEXT: usize = 1024;

/// The bytes of a salt. Every salt is hashed at least once, and none that is made has more than 64.
pub(super) const SALT: RangeInclusive<usize> = 1..=512;

/// The bytes of the output of PBKDF2. Less than 16 could be guessed without the password, and 64 is the most that any
/// known system writes (Keycloak).
pub(super) const PBKDF2_OUTPUT: RangeInclusive<usize> = 16..=64;

/// Argon2 (RFC 9106 3.1): memory in KiB, passes, lanes. 1 GiB, because each thread of the pool may need as much at once.
pub(super) const ARGON2_MEMORY_KIB: u32 = 1024 * 1024;
pub(super) const ARGON2_PASSES: u32 = 64;
pub(super) const ARGON2_LANES: u32 = 64;
/// What an error says of them.
pub(super) const ARGON2: PasswordError =
    PasswordError::Costs("Argon2 is taken with at most 1 GiB of memory, 64 passes and 64 lanes");

/// The cost of bcrypt: each step doubles the time. 14 takes a second and a half, 31, the most of the format, two days.
/// Below 4 the function is not defined.
pub(super) const BCRYPT_COST: RangeInclusive<u32> = 4..=14;
/// What an error says of it.
pub(super) const BCRYPT: PasswordError =
    PasswordError::Costs("bcrypt is taken with a cost of at least 4 and at most 14");

/// The iterations of PBKDF2 (RFC 8018 5.2, c). Django's default grows by a quarter a year and is 1.2 million now.
pub(super) const PBKDF2_ITERATIONS: u32 = 5_000_000;
/// What an error says of them.
pub(super) const PBKDF2: PasswordError =
    PasswordError::Costs("PBKDF2 is taken with at most 5,000,000 iterations");

/// The memory of scrypt (RFC 7914 2: 128 times r times N). The crate aborts the process if the memory cannot be had, so
/// this is less than Argon2 may have; OWASP recommends 128 MiB.
pub(super) const SCRYPT_MEMORY_KIB: u64 = 256 * 1024;
/// The blocks that scrypt mixes: N times r times p. Four times what OWASP recommends.
pub(super) const SCRYPT_BLOCKS: u64 = 1 << 22;
/// What an error says of them.
pub(super) const SCRYPT: PasswordError = PasswordError::Costs(
    "scrypt is taken with at most 256 MiB of memory, and N times r times p of at most 4,194,304",
);

/// The rounds of sha-crypt. The specification's least, and three times passlib's default, which is the highest known;
/// the specification's most is 999,999,999.
pub(super) const SHA_CRYPT_ROUNDS: RangeInclusive<u32> = 1_000..=2_000_000;
/// What an error says of them.
pub(super) const SHA_CRYPT: PasswordError =
    PasswordError::Costs("sha-crypt is taken with at least 1,000 and at most 2,000,000 rounds");
/// The longest password, in bytes, that is tried against a sha-crypt hash. Each round hashes the whole password twice, so
/// that the time grows with its length, and whoever signs in chooses that. No longer one is ever right.
pub(super) const SHA_CRYPT_PASSWORD: usize = 128;
