//! The claim `cnf` of bound tokens (RFC 7800 3.1).

use serde::{Deserialize, Deserializer, Serialize};
use smol_str::SmolStr;

/// To what a token is bound; to nothing in a bearer token. Other methods of confirmation are not known here, and ignored
/// (RFC 7800 3.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmation {
    /// The thumbprint of the key whose possession DPoP proofs show (RFC 9449 6.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jkt: Option<SmolStr>,
    /// The thumbprint of the client's TLS certificate (RFC 8705 3.1).
    #[serde(default, rename = "x5t#S256", skip_serializing_if = "Option::is_none")]
    pub x5t_s256: Option<SmolStr>,
}

impl Confirmation {
    /// The claim; `None` for a bearer token.
    pub fn claim(&self) -> Option<&Self> {
        (self.jkt.is_some() || self.x5t_s256.is_some()).then_some(self)
    }

    /// Reads the claim. `null` is none.
    pub(crate) fn deserialize_claim<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::<Self>::deserialize(deserializer)?.unwrap_or_default())
    }
}
