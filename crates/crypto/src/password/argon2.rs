//! Argon2 (RFC 9106) as PHC strings: our own hashes, and those that others made.

use ::argon2::password_hash::{Error, phc};
use ::argon2::{Algorithm, Argon2, Params, PasswordVerifier, Version};

use super::error::PasswordError;
use super::limits;
use super::policy::PasswordPolicy;
use super::work::{HashFunction, Work};

const FORM: &str = "Argon2 hash ($argon2id$v=19$m=...,t=...,p=...$salt$hash)";

/// A hash of Argon2id, Argon2i or Argon2d.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Argon2Hash(pub(super) phc::PasswordHash);

impl Argon2Hash {
    /// Reads a PHC string.
    pub(super) fn read(text: &str) -> Result<Self, PasswordError> {
        const MALFORMED: PasswordError = PasswordError::MalformedHash(FORM);
        let mut hash = phc::PasswordHash::new(text).map_err(|_| MALFORMED)?;
        // The reference implementation wrote no version before 1.3, so a missing version means 1.0.
        hash.version.get_or_insert(Version::V0x10.into());
        Algorithm::try_from(hash.algorithm.as_str()).map_err(|_| MALFORMED)?;
        if hash.salt.is_none() || hash.hash.is_none() {
            return Err(MALFORMED);
        }
        if let Some(version) = hash.version {
            Version::try_from(version).map_err(|_| MALFORMED)?;
        }
        let params = Params::try_from(&hash).map_err(|_| MALFORMED)?;
        check_costs(params.m_cost(), params.t_cost(), params.p_cost())?;
        Ok(Self(hash))
    }

    /// The work of verifying: the memory in KiB, times the passes over it, which all need the whole memory.
    pub(super) fn work(&self) -> Work {
        // Costs that cannot be read were refused by `read`.
        let (memory_kib, passes) = Params::try_from(&self.0)
            .map_or((0, 0), |params| (u64::from(params.m_cost()), u64::from(params.t_cost())));
        Work { memory_kib, ..HashFunction::Argon2.times(memory_kib * passes) }
    }

    pub(super) fn verify(&self, password: &[u8]) -> Result<bool, PasswordError> {
        match Argon2::default().verify_password(password, &self.0) {
            Ok(()) => Ok(true),
            Err(Error::PasswordInvalid) => Ok(false),
            Err(_) => Err(PasswordError::Failed),
        }
    }

    /// Whether it has another function, version or costs than the policy asks for.
    pub(super) fn needs_rehash(&self, policy: &PasswordPolicy) -> bool {
        let Self(hash) = self;
        !Params::try_from(hash).is_ok_and(|params| policy.is_met_by(&params))
            || hash.algorithm.as_str() != Algorithm::Argon2id.as_str()
            || hash.version != Some(Version::V0x13.into())
            || hash.hash.as_ref().is_none_or(|output| output.len() < Params::DEFAULT_OUTPUT_LEN)
    }
}

/// Checks costs against the bounds of this server.
pub(super) fn check_costs(memory_kib: u32, iterations: u32, parallelism: u32) -> Result<(), PasswordError> {
    let within = memory_kib <= limits::ARGON2_MEMORY_KIB
        && iterations <= limits::ARGON2_PASSES
        && parallelism <= limits::ARGON2_LANES;
    if within { Ok(()) } else { Err(limits::ARGON2) }
}
