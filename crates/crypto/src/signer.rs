//! Signing as an asynchronous port, so that an implementation can make several pending signatures together.

use std::future::{Future, Ready, ready};
use std::pin::Pin;

use futures_util::future::Either;

use crate::digest::Sha256Digest;
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

/// The input to be signed.
#[derive(Clone, Copy)]
pub struct SigningInput<'a> {
    /// The whole input.
    pub bytes: &'a [u8],
    /// Its SHA-256, if it is known.
    pub sha256: Option<&'a Sha256Digest>,
}

impl<'a> From<&'a [u8]> for SigningInput<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self { bytes, sha256: None }
    }
}

/// A signature that is made already, or will be.
pub type SignFuture<'a> = Either<
    Ready<Result<Signature, SignError>>,
    Pin<Box<dyn Future<Output = Result<Signature, SignError>> + Send + 'a>>,
>;

/// Signs, at once or several inputs together.
pub trait Signer: Send + Sync {
    /// The raw JWS signature of `input` by `key`.
    ///
    /// # Errors
    /// [`SignError::Failed`], in the future's output.
    fn sign<'a>(&'a self, key: &'a SigningKey, input: SigningInput<'a>) -> SignFuture<'a>;
}

/// Signs at once on the calling thread, before the future is polled.
#[derive(Clone, Copy, Debug, Default)]
pub struct InlineSigner;

impl Signer for InlineSigner {
    fn sign<'a>(&'a self, key: &'a SigningKey, input: SigningInput<'a>) -> SignFuture<'a> {
        Either::Left(ready(key.sign_input(input)))
    }
}
