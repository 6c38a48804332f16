//! Signs tokens with the keys of an issuer.

use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::jws::sign_compact;
use symbolon_crypto::signer::SignError;
use symbolon_protocol::time::Timestamp;

use crate::app::App;
use crate::http::Failure;
use crate::issuer::{IssuerState, TokenType};

/// Why a token could not be signed.
#[derive(Debug, thiserror::Error)]
pub enum TokenSignError {
    /// The issuer has no key of the algorithm that may sign now.
    #[error("no active signing key for {0}")]
    NoKey(Algorithm),
    /// The signer failed.
    #[error(transparent)]
    Signer(#[from] SignError),
}

impl From<TokenSignError> for Failure {
    fn from(error: TokenSignError) -> Self {
        Self::Internal(error.to_string())
    }
}

impl App {
    /// A JWS in its compact form, signed by the issuer's key for the algorithm. Counts the signature.
    ///
    /// # Errors
    /// [`TokenSignError`].
    pub async fn sign(
        &self,
        issuer: &IssuerState,
        (algorithm, typ): (Algorithm, TokenType),
        payload_json: &[u8],
        now: Timestamp,
    ) -> Result<String, TokenSignError> {
        let keys = issuer.keys.load_full();
        let key = keys.signing(algorithm, now).ok_or(TokenSignError::NoKey(algorithm))?;
        self.signatures.increment(algorithm as usize);
        Ok(sign_compact(&*self.signer, &key.key, key.header(typ), payload_json).await?)
    }
}
