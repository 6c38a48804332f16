//! Where new signing keys come from.

use super::{KeyError, SigningKey};
use crate::algorithm::Algorithm;

/// Makes signing keys. Tests have their own, because a new RSA key takes some 50 ms of a processor.
pub trait KeyGenerator: Send + Sync {
    /// Makes a key that nobody else has; its id is the beginning of its RFC 7638 thumbprint. Call it on a blocking thread.
    ///
    /// # Errors
    /// [`KeyError::Failed`]
    fn generate(&self, algorithm: Algorithm) -> Result<SigningKey, KeyError>;
}

/// Draws every key anew, by the cryptographic library.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewKeys;

impl KeyGenerator for NewKeys {
    fn generate(&self, algorithm: Algorithm) -> Result<SigningKey, KeyError> {
        SigningKey::generate(algorithm, None)
    }
}
