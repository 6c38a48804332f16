//! Reading a token.

use super::{Header, JwsError, MAX_LEN};
use crate::encoding::{self, EncodingError};
use crate::key::VerifyingKey;

/// A token split into its parts: the header is parsed, the payload is not decoded, and nothing is verified yet.
#[derive(Clone, Debug)]
pub struct Compact<'a> {
    header: Header,
    signing_input: &'a str,
    payload: &'a str,
    signature: Vec<u8>,
}

impl<'a> Compact<'a> {
    /// Splits a token into its parts.
    ///
    /// # Errors
    /// [`JwsError`], all but `AlgorithmMismatch` and `BadSignature`.
    pub fn parse(token: &'a str) -> Result<Self, JwsError> {
        if token.len() > MAX_LEN {
            return Err(JwsError::TooLong);
        }
        // RFC 7515 7.1: three parts, exactly two dots.
        let (signing_input, signature) = token.rsplit_once('.').ok_or(JwsError::NotCompact)?;
        let (header, payload) = signing_input.split_once('.').ok_or(JwsError::NotCompact)?;
        if payload.contains('.') {
            return Err(JwsError::NotCompact);
        }
        let header = encoding::decode(header).map_err(|_| JwsError::NotCompact)?;
        let header = Header::parse(&header)?;
        let signature = encoding::decode(signature).map_err(|_| JwsError::NotCompact)?;
        Ok(Self { header, signing_input, payload, signature })
    }

    /// The header, not yet verified.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The text that is signed (RFC 7515 5.2).
    pub fn signing_input(&self) -> &'a str {
        self.signing_input
    }

    /// The raw signature.
    pub fn signature(&self) -> &[u8] {
        &self.signature
    }

    /// Decodes the payload. Verify the signature first, unless the payload is needed to choose the key.
    ///
    /// # Errors
    /// [`JwsError::NotCompact`] when it is not base64url.
    pub fn payload(&self) -> Result<Vec<u8>, JwsError> {
        encoding::decode(self.payload).map_err(|_: EncodingError| JwsError::NotCompact)
    }

    /// Verifies the signature by a key that the caller chose.
    ///
    /// # Errors
    /// [`JwsError::AlgorithmMismatch`], [`JwsError::BadSignature`]
    pub fn verify(&self, key: &VerifyingKey) -> Result<(), JwsError> {
        // RFC 8725 3.1: the key determines the algorithm; a header with another one is an attack or a mistake.
        if self.header.alg != key.algorithm() {
            return Err(JwsError::AlgorithmMismatch);
        }
        key.verify(self.signing_input.as_bytes(), &self.signature).map_err(|_| JwsError::BadSignature)
    }

    /// Verifies, then decodes the payload.
    ///
    /// # Errors
    /// As [`Self::verify`] and [`Self::payload`].
    pub fn verified_payload(&self, key: &VerifyingKey) -> Result<Vec<u8>, JwsError> {
        self.verify(key)?;
        self.payload()
    }
}
