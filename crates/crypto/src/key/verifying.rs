//! Public keys.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::rsa::PublicKeyComponents;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    VerificationAlgorithm,
};
use smol_str::SmolStr;

use super::{BadSignature, KeyError};
use crate::algorithm::Algorithm;
use crate::jwk::{Jwk, KeyParameters};

/// A public key bound to one algorithm, parsed once. Cloning shares it.
#[derive(Clone)]
pub struct VerifyingKey(Arc<Inner>);

struct Inner {
    algorithm: Algorithm,
    kid: SmolStr,
    jwk: Jwk,
    parsed: ParsedPublicKey,
    signature_len: usize,
}

impl VerifyingKey {
    /// Prepares a JWK for one algorithm: the one given, else the JWK's own `alg`, else the first of its type
    /// (RS256 for RSA). Without a `kid` its thumbprint is the id.
    ///
    /// # Errors
    /// [`KeyError::AlgorithmMismatch`] when key type or `alg` forbid the algorithm (RFC 8725 3.1),
    /// [`KeyError::NotForVerifying`], [`KeyError::Public`].
    pub fn from_jwk(jwk: Jwk, algorithm: Option<Algorithm>) -> Result<Self, KeyError> {
        if !jwk.may_verify() {
            return Err(KeyError::NotForVerifying);
        }
        let algorithm = match (algorithm, jwk.alg.as_deref()) {
            // RFC 7517 4.4: `alg` is the algorithm intended for use with the key.
            (Some(algorithm), Some(alg)) if alg.parse() != Ok(algorithm) => {
                return Err(KeyError::AlgorithmMismatch(algorithm));
            }
            (Some(algorithm), _) => algorithm,
            (None, Some(alg)) => alg.parse().map_err(|_| KeyError::NotForVerifying)?,
            (None, None) => match jwk.parameters() {
                KeyParameters::Rsa { .. } => Algorithm::Rs256,
                KeyParameters::P256 { .. } => Algorithm::Es256,
                KeyParameters::Ed25519 { .. } => Algorithm::EdDsa,
            },
        };
        let parsed = parse(jwk.parameters(), algorithm)?;
        let signature_len = match jwk.parameters() {
            KeyParameters::Rsa { n, .. } => n.len(),
            KeyParameters::P256 { .. } | KeyParameters::Ed25519 { .. } => 64,
        };
        let kid = jwk.kid.clone().unwrap_or_else(|| jwk.thumbprint());
        Ok(Self(Arc::new(Inner { algorithm, kid, jwk, parsed, signature_len })))
    }

    /// Verifies a raw JWS signature of `input`.
    ///
    /// # Errors
    /// [`BadSignature`], whatever the reason.
    pub fn verify(&self, input: &[u8], signature: &[u8]) -> Result<(), BadSignature> {
        // RFC 7518 3.3 to 3.5: the length of a signature is fixed by the key. This also refuses ES256 signatures in
        // DER.
        if signature.len() != self.0.signature_len {
            return Err(BadSignature);
        }
        self.0.parsed.verify_sig(input, signature).map_err(|_| BadSignature)
    }

    /// The key's id.
    pub fn kid(&self) -> &str {
        &self.0.kid
    }

    /// The only algorithm whose signatures it verifies (RFC 8725 3.1).
    pub fn algorithm(&self) -> Algorithm {
        self.0.algorithm
    }

    /// The key as a JWK, for publication.
    pub fn jwk(&self) -> &Jwk {
        &self.0.jwk
    }

    /// The length of its signatures in bytes.
    pub fn signature_len(&self) -> usize {
        self.0.signature_len
    }
}

fn parse(parameters: &KeyParameters, algorithm: Algorithm) -> Result<ParsedPublicKey, KeyError> {
    let ec: &'static dyn VerificationAlgorithm = &ECDSA_P256_SHA256_FIXED;
    let parsed = match (parameters, algorithm) {
        (KeyParameters::Rsa { n, e }, Algorithm::Rs256) => {
            PublicKeyComponents { n, e }.to_parsed_public_key(&RSA_PKCS1_2048_8192_SHA256)
        }
        (KeyParameters::Rsa { n, e }, Algorithm::Ps256) => {
            PublicKeyComponents { n, e }.to_parsed_public_key(&RSA_PSS_2048_8192_SHA256)
        }
        (KeyParameters::P256 { x, y }, Algorithm::Es256) => {
            ParsedPublicKey::new(ec, [&[4][..], x, y].concat())
        }
        (KeyParameters::Ed25519 { x }, Algorithm::EdDsa) => ParsedPublicKey::new(&ED25519, x),
        _ => return Err(KeyError::AlgorithmMismatch(algorithm)),
    };
    parsed.map_err(|_| KeyError::Public)
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifyingKey")
            .field("kid", &self.0.kid)
            .field("algorithm", &self.0.algorithm)
            .finish_non_exhaustive()
    }
}
