//! Signing and verification keys, parsed once and used often.

mod generator;
mod rsa_der;
mod signing;
mod verifying;

#[cfg(test)]
mod tests;

pub use generator::{KeyGenerator, NewKeys};
pub use signing::{RsaSize, SigningKey};
pub use verifying::VerifyingKey;

use smallvec::SmallVec;

use crate::jwk::JwkError;

/// Why there is no usable key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The library could not make or write the key.
    #[error("the key could not be generated or encoded")]
    Failed,
    /// Not an unencrypted PKCS#8 private key of the algorithm's type (RFC 5958), or not a valid one.
    #[error("not a valid PKCS#8 private key for {0}")]
    Pkcs8(crate::Algorithm),
    /// The key cannot be used with the algorithm (RFC 8725 3.1).
    #[error("the key is not for the algorithm {0}")]
    AlgorithmMismatch(crate::Algorithm),
    /// Its owner does not allow verifying with it (RFC 7517 4.2, 4.3).
    #[error("the key is not meant for verifying signatures")]
    NotForVerifying,
    /// The public numbers do not form a key: a point off the curve, an RSA size out of bounds.
    #[error("not a valid public key")]
    Public,
    /// The JWK is not usable.
    #[error(transparent)]
    Jwk(#[from] JwkError),
}

/// The signature does not belong to this input and key. The reason is withheld on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the signature is not valid")]
pub struct BadSignature;

/// The raw bytes of a JWS signature: for ES256 `r || s` (RFC 7518 3.4), never DER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature(SmallVec<[u8; IN_PLACE]>);

/// The length up to which no allocation is needed: that of a P-256 or Ed25519 signature.
const IN_PLACE: usize = 64;

impl Signature {
    /// Copies the raw bytes of a signature that was not made by [`SigningKey::sign`].
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(SmallVec::from_slice(bytes))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Signature {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
