//! Demonstrating proof of possession (RFC 9449): a client signs a JWT for each request, and tokens are bound to the key
//! that it proves to have. A stolen token is then of no use without the key.

mod nonce;
mod proof;
mod target;

pub use nonce::{NONCE_LIFE, Nonces};
pub use proof::{Expected, MAX_PROOF, Proof};

use serde::{Deserialize, Serialize};
use symbolon_crypto::encoding;

use crate::error::{ErrorCode, OAuthError};
use crate::refusal::Reason;

/// The name of the header with the proof (RFC 9449 4.1), in lower case.
pub const HEADER: &str = "dpop";
/// The name of the header with a nonce for the next proof (RFC 9449 8), in lower case.
pub const NONCE_HEADER: &str = "dpop-nonce";
/// `token_type` of bound tokens, and the scheme by which they are presented (RFC 9449 5, 7.1).
pub const DPOP: &str = "DPoP";
/// The algorithms of proofs, as challenges list them in `algs` (RFC 9449 7.1). Discovery has the same.
pub const ALGORITHMS: &str = "RS256 PS256 ES256 EdDSA Ed25519";

/// Whether proofs must carry a nonce of this server (RFC 9449 8, 9). A nonce that is sent must be good in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DpopNonce {
    /// They need none.
    #[default]
    Off,
    /// They must.
    Required,
}

impl DpopNonce {
    /// Every value, as settings have it.
    pub const NAMES: [&'static str; 2] = ["off", "required"];

    pub(crate) fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

/// Whether a text is a SHA-256 thumbprint of a key (RFC 7638 3.1) as `jkt` and `dpop_jkt` carry it.
pub fn is_thumbprint(text: &str) -> bool {
    encoding::decode_array::<32>(text).is_ok()
}

/// `invalid_dpop_proof` (RFC 9449 5, 7.1).
pub(crate) const fn invalid(reason: Reason, description: &'static str) -> OAuthError {
    OAuthError::new(ErrorCode::InvalidDpopProof, reason, description)
}

/// Whether a token may be used with what its request proved: a bound token with a proof by its own key alone, another
/// one with none. `bound` and `proven` are thumbprints; `proven` is `None` for a bearer token.
///
/// # Errors
/// `invalid_token` (RFC 9449 7.1).
pub fn check_binding(bound: Option<&str>, proven: Option<&str>) -> Result<(), OAuthError> {
    let (reason, description) = match (bound, proven) {
        (None, None) => return Ok(()),
        (Some(bound), Some(proven)) if bound == proven => return Ok(()),
        // RFC 9449 7.1: MUST match the key to which the token is bound.
        (Some(_), Some(_)) => (Reason::TokenKeyOther, "the access token is bound to another key"),
        // RFC 9449 7.2: a bound token that comes as a bearer token MUST be rejected.
        (Some(_), None) => (Reason::TokenIsBound, "the access token is bound to a key: use the scheme DPoP"),
        (None, Some(_)) => (Reason::TokenNotBound, "the access token is not bound to a key"),
    };
    Err(OAuthError::new(ErrorCode::InvalidToken, reason, description))
}

/// The error where a proof is needed and none came (RFC 9449 5.2, 7.1).
pub const fn missing() -> OAuthError {
    invalid(Reason::DpopProofMissing, "a DPoP proof is needed")
}

/// The error for a proof that was used before (RFC 9449 11.1).
pub const fn replayed() -> OAuthError {
    invalid(Reason::DpopProofReplayed, "the DPoP proof was used before")
}

#[cfg(test)]
mod tests;
