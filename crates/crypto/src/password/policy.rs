//! How new passwords are hashed.

use ::argon2::password_hash::phc;
use ::argon2::{Algorithm, Argon2, Params, PasswordHasher, Version};

use super::PasswordHash;
use super::argon2::{Argon2Hash, check_costs};
use super::error::PasswordError;
use super::limits;
use crate::random::{self, Random};
use crate::secret::SecretString;

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
            .map(|hash| PasswordHash::of_argon2(Argon2Hash(hash)))
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
        Ok(PasswordHash::of_argon2(Argon2Hash(phc::PasswordHash {
            algorithm: Algorithm::Argon2id.ident(),
            version: Some(Version::V0x13.into()),
            params,
            salt: Some(salt),
            hash: Some(output),
        })))
    }

    /// The work of a hash: its memory in KiB, times the passes over it. The time that it takes grows with this.
    pub fn work_kib(&self) -> u64 {
        u64::from(self.memory_kib) * u64::from(self.iterations)
    }

    /// Whether these are the policy's costs.
    pub(super) fn is_met_by(&self, params: &Params) -> bool {
        (params.m_cost(), params.t_cost(), params.p_cost())
            == (self.memory_kib, self.iterations, self.parallelism)
    }

    fn params(&self) -> Result<Params, PasswordError> {
        Params::new(self.memory_kib, self.iterations, self.parallelism, None).map_err(|_| limits::ARGON2)
    }
}
