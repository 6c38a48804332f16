//! Signing as an asynchronous port, so that signatures in flight may be gathered and made together.

use std::future::Future;
use std::pin::Pin;

use crate::key::{Signature, SigningKey};

/// Why there is no signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// The cryptographic library failed.
    #[error("the signature could not be made")]
    Failed,
    /// The encoded header names another algorithm or key than the signing key (RFC 7515 4.1.1, 4.1.4).
    #[error("the header belongs to another key")]
    HeaderMismatch,
}

/// A signature under way.
pub type SignFuture<'a> = Pin<Box<dyn Future<Output = Result<Signature, SignError>> + Send + 'a>>;

/// Signs, now or together with others.
pub trait Signer: Send + Sync {
    /// The raw JWS signature of `input` by `key`.
    ///
    /// # Errors
    /// [`SignError::Failed`], in the future's output.
    fn sign<'a>(&'a self, key: &'a SigningKey, input: &'a [u8]) -> SignFuture<'a>;
}

/// Signs at once on the calling thread, before the future is polled.
#[derive(Clone, Copy, Debug, Default)]
pub struct InlineSigner;

impl Signer for InlineSigner {
    fn sign<'a>(&'a self, key: &'a SigningKey, input: &'a [u8]) -> SignFuture<'a> {
        Box::pin(std::future::ready(key.sign(input)))
    }
}
