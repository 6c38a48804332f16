//! Password hashing by Argon2id (RFC 9106), stored as PHC strings.
//!
//! Hashing and verifying block the thread for some ten milliseconds, so call them on a bounded pool of threads.

use std::fmt;

use argon2::password_hash::phc;
use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};

use crate::random::{self, Random};
use crate::secret::SecretString;

/// The highest costs of a hash, so that an imported hash cannot stall the server: 1 GiB, 64 passes, 64 lanes.
const MAX_MEMORY_KIB: u32 = 1024 * 1024;
const MAX_ITERATIONS: u32 = 64;
const MAX_PARALLELISM: u32 = 64;

/// Why a password could not be hashed or a hash not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// A hash of another function (bcrypt, PBKDF2, scrypt and others); only Argon2 is verified.
    #[error("unsupported password hash: only Argon2 PHC strings ($argon2id$...) can be imported")]
    UnsupportedHash,
    /// It begins like an Argon2 PHC string, but is not one.
    #[error("malformed Argon2 PHC string")]
    MalformedHash,
    /// The costs are outside what Argon2 or this server allows.
    #[error("password hashing costs are out of bounds (at most 1 GiB, 64 passes, 64 lanes)")]
    Costs,
    /// The library failed, for lack of memory for example.
    #[error("the password could not be hashed")]
    Failed,
}

/// How new passwords are hashed. The default is OWASP's first choice: 19 MiB, two passes, one lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordPolicy {
    memory_kib: u32,
    iterations: u32,
    parallelism: u32,
}

impl Default for PasswordPolicy {
    fn default() -> Self {
        Self { memory_kib: 19_456, iterations: 2, parallelism: 1 }
    }
}

impl PasswordPolicy {
    /// Memory in KiB, passes over it, and lanes.
    ///
    /// # Errors
    /// [`PasswordError::Costs`]
    pub fn new(memory_kib: u32, iterations: u32, parallelism: u32) -> Result<Self, PasswordError> {
        check_costs(memory_kib, iterations, parallelism)?;
        let policy = Self { memory_kib, iterations, parallelism };
        policy.params()?;
        Ok(policy)
    }

    /// Hashes a password with a fresh salt of 16 bytes (RFC 9106 3.1). Blocks.
    ///
    /// # Errors
    /// [`PasswordError::Failed`]
    pub fn hash(&self, password: &SecretString, random: &dyn Random) -> Result<PasswordHash, PasswordError> {
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, self.params()?);
        let salt = random::bytes::<16>(random);
        argon2
            .hash_password_with_salt(password.expose().as_bytes(), &salt)
            .map(PasswordHash)
            .map_err(|_| PasswordError::Failed)
    }

    /// A hash that no password matches. Verify against it when the user does not exist, so that the answer takes as
    /// long as for an existing user. Salt and output are random bytes, so no hash need be computed.
    ///
    /// # Errors
    /// [`PasswordError::Failed`] for costs that the library cannot encode.
    pub fn dummy_hash(&self, random: &dyn Random) -> Result<PasswordHash, PasswordError> {
        let salt = phc::Salt::new(&random::bytes::<16>(random)).map_err(|_| PasswordError::Failed)?;
        let output = random::bytes::<{ Params::DEFAULT_OUTPUT_LEN }>(random);
        let output = phc::Output::new(&output).map_err(|_| PasswordError::Failed)?;
        let params = phc::ParamsString::try_from(&self.params()?).map_err(|_| PasswordError::Failed)?;
        Ok(PasswordHash(phc::PasswordHash {
            algorithm: Algorithm::Argon2id.ident(),
            version: Some(Version::V0x13.into()),
            params,
            salt: Some(salt),
            hash: Some(output),
        }))
    }

    /// The work of a hash: its memory in KiB, times the passes over it. The time that it takes grows with this.
    pub fn work_kib(&self) -> u64 {
        u64::from(self.memory_kib) * u64::from(self.iterations)
    }

    fn params(&self) -> Result<Params, PasswordError> {
        Params::new(self.memory_kib, self.iterations, self.parallelism, None)
            .map_err(|_| PasswordError::Costs)
    }
}

fn check_costs(memory_kib: u32, iterations: u32, parallelism: u32) -> Result<(), PasswordError> {
    if memory_kib > MAX_MEMORY_KIB || iterations > MAX_ITERATIONS || parallelism > MAX_PARALLELISM {
        return Err(PasswordError::Costs);
    }
    Ok(())
}

/// A stored Argon2 hash that can be verified. `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(phc::PasswordHash);

impl PasswordHash {
    /// Reads a PHC string of Argon2id, Argon2i or Argon2d.
    ///
    /// # Errors
    /// [`PasswordError::UnsupportedHash`], [`PasswordError::MalformedHash`], [`PasswordError::Costs`]
    pub fn parse(text: &str) -> Result<Self, PasswordError> {
        if !text.starts_with("$argon2") {
            return Err(PasswordError::UnsupportedHash);
        }
        let mut hash = phc::PasswordHash::new(text).map_err(|_| PasswordError::MalformedHash)?;
        // The reference implementation wrote no version before 1.3, so a missing version means 1.0.
        hash.version.get_or_insert(Version::V0x10.into());
        Algorithm::try_from(hash.algorithm.as_str()).map_err(|_| PasswordError::UnsupportedHash)?;
        if hash.salt.is_none() || hash.hash.is_none() {
            return Err(PasswordError::MalformedHash);
        }
        if let Some(version) = hash.version {
            Version::try_from(version).map_err(|_| PasswordError::MalformedHash)?;
        }
        let params = Params::try_from(&hash).map_err(|_| PasswordError::MalformedHash)?;
        check_costs(params.m_cost(), params.t_cost(), params.p_cost())?;
        Ok(Self(hash))
    }

    /// The PHC string, for the store.
    pub fn to_phc(&self) -> String {
        self.0.to_string()
    }

    /// The work of verifying: the memory in KiB, times the passes over it. The time that it takes grows with this.
    pub fn work_kib(&self) -> u64 {
        // Costs that cannot be read were refused by `parse`.
        Params::try_from(&self.0).map_or(0, |params| u64::from(params.m_cost()) * u64::from(params.t_cost()))
    }

    /// Whether this is the password. Blocks.
    ///
    /// # Errors
    /// [`PasswordError::Failed`] if this could not be determined, for lack of memory for example.
    pub fn verify(&self, password: &SecretString) -> Result<bool, PasswordError> {
        match Argon2::default().verify_password(password.expose().as_bytes(), &self.0) {
            Ok(()) => Ok(true),
            Err(argon2::password_hash::Error::PasswordInvalid) => Ok(false),
            Err(_) => Err(PasswordError::Failed),
        }
    }

    /// Whether the hash has another function, version or costs than the policy asks for, so that the password should be
    /// hashed again at the next login.
    pub fn needs_rehash(&self, policy: &PasswordPolicy) -> bool {
        let current = Params::try_from(&self.0).is_ok_and(|params| {
            (params.m_cost(), params.t_cost(), params.p_cost())
                == (policy.memory_kib, policy.iterations, policy.parallelism)
        });
        !current
            || self.0.algorithm.as_str() != Algorithm::Argon2id.as_str()
            || self.0.version != Some(Version::V0x13.into())
            || self.0.hash.as_ref().is_none_or(|output| output.len() < Params::DEFAULT_OUTPUT_LEN)
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{SeededRandom, SystemRandom};

    /// The lowest costs that Argon2 allows.
    fn cheap() -> PasswordPolicy {
        PasswordPolicy::new(8, 1, 1).unwrap()
    }

    /// The reference implementation's test vector (argon2id, v=19, t=2, m=64 MiB, p=1).
    const REFERENCE: &str =
        "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";

    #[test]
    fn round_trip() {
        let hash = cheap().hash(&"correct horse".into(), &SystemRandom).unwrap();
        let stored = PasswordHash::parse(&hash.to_phc()).unwrap();
        assert!(stored.to_phc().starts_with("$argon2id$v=19$m=8,t=1,p=1$"));
        assert!(stored.verify(&"correct horse".into()).unwrap());
        assert!(!stored.verify(&"correct horsf".into()).unwrap());
        assert!(!stored.verify(&"".into()).unwrap());
        assert_eq!(format!("{stored:?}"), "PasswordHash(redacted)");
    }

    #[test]
    fn salts_differ() {
        let random = SeededRandom::new(1);
        let (a, b) =
            (cheap().hash(&"x".into(), &random).unwrap(), cheap().hash(&"x".into(), &random).unwrap());
        assert_ne!(a.to_phc(), b.to_phc());
    }

    #[test]
    fn verifies_what_the_reference_implementation_made() {
        let hash = PasswordHash::parse(REFERENCE).unwrap();
        assert!(hash.verify(&"password".into()).unwrap());
        assert!(!hash.verify(&"Password".into()).unwrap());
    }

    /// The reference implementation's vector from before versions were written (argon2i, v=16).
    #[test]
    fn a_hash_without_version_is_of_version_1_0() {
        let phc = "$argon2i$m=65536,t=2,p=1$c29tZXNhbHQ$9sTbSlTio3Biev89thdrlKKiCaYsjjYVJxGAL3swxpQ";
        assert!(PasswordHash::parse(phc).unwrap().verify(&"password".into()).unwrap());
    }

    #[test]
    fn rehash_follows_the_policy() {
        let hash = cheap().hash(&"x".into(), &SystemRandom).unwrap();
        assert!(!hash.needs_rehash(&cheap()));
        assert!(hash.needs_rehash(&PasswordPolicy::default()));
        let phc = hash.to_phc();
        for old in [phc.replace("argon2id", "argon2i"), phc.replace("v=19", "v=16")] {
            assert!(PasswordHash::parse(&old).unwrap().needs_rehash(&cheap()), "{old}");
        }
    }

    #[test]
    fn other_functions_are_named_as_unsupported() {
        for text in [
            "$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW",
            "$pbkdf2-sha256$i=600000,l=32$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g",
            "$scrypt$ln=17,r=8,p=1$c2FsdHNhbHQ$aGFzaA",
            "plain",
            "",
        ] {
            assert_eq!(PasswordHash::parse(text).err(), Some(PasswordError::UnsupportedHash), "{text}");
        }
    }

    #[test]
    fn malformed_or_ruinous_hashes_are_refused() {
        for text in ["$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ", "$argon2id$", "$argon2id$v=19$m=8,t=1,p=1$%$%"]
        {
            assert_eq!(PasswordHash::parse(text).err(), Some(PasswordError::MalformedHash), "{text}");
        }
        let ruinous = REFERENCE.replace("m=65536", "m=4194304");
        assert_eq!(PasswordHash::parse(&ruinous).err(), Some(PasswordError::Costs));
        assert_eq!(PasswordHash::parse(REFERENCE).unwrap().work_kib(), 2 * 65_536);
        assert_eq!(PasswordPolicy::default().work_kib(), 2 * 19_456);
        assert_eq!(PasswordPolicy::new(8, 1000, 1), Err(PasswordError::Costs));
        assert_eq!(PasswordPolicy::new(1, 1, 1), Err(PasswordError::Costs));
    }

    #[test]
    fn the_dummy_hash_costs_what_a_real_one_does() {
        let dummy = cheap().dummy_hash(&SystemRandom).unwrap();
        let real = cheap().hash(&"".into(), &SystemRandom).unwrap();
        assert_eq!(dummy.to_phc().len(), real.to_phc().len());
        assert_eq!(PasswordHash::parse(&dummy.to_phc()), Ok(dummy.clone()));
        assert!(!dummy.needs_rehash(&cheap()));
        assert!(!dummy.verify(&"".into()).unwrap());
    }
}
