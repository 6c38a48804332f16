//! The JWS signature algorithms that are supported (RFC 7518 3.1, RFC 8037 3.1).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A signature algorithm by its JOSE name. There is no `none` and no HMAC (RFC 8725 3.1, 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518 3.3).
    #[serde(rename = "RS256")]
    Rs256,
    /// RSASSA-PSS with SHA-256 (RFC 7518 3.5).
    #[serde(rename = "PS256")]
    Ps256,
    /// ECDSA with P-256 and SHA-256 (RFC 7518 3.4).
    #[serde(rename = "ES256")]
    Es256,
    /// EdDSA with Ed25519 (RFC 8037 3.1).
    #[serde(rename = "EdDSA")]
    EdDsa,
}

/// The name does not belong to a supported algorithm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unsupported signature algorithm")]
pub struct UnsupportedAlgorithm;

impl Algorithm {
    /// Every supported algorithm, the default one first.
    pub const ALL: [Self; 4] = [Self::Rs256, Self::Ps256, Self::Es256, Self::EdDsa];

    /// The JOSE name, as in a header's `alg`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }

    /// The `kty` of its keys (RFC 7518 6.1, RFC 8037 2).
    pub const fn key_type(self) -> &'static str {
        match self {
            Self::Rs256 | Self::Ps256 => "RSA",
            Self::Es256 => "EC",
            Self::EdDsa => "OKP",
        }
    }

    /// Whether the algorithm signs the SHA-256 of the input (RFC 7518 3.3 to 3.5), and not the input itself
    /// (RFC 8032 5.1.6).
    pub const fn signs_sha256(self) -> bool {
        match self {
            Self::Rs256 | Self::Ps256 | Self::Es256 => true,
            Self::EdDsa => false,
        }
    }

    /// The length of a signature in bytes, if the algorithm alone determines it (RFC 7518 3.4, RFC 8037 3.1). An RSA
    /// signature is as long as the modulus of its key.
    pub const fn signature_len(self) -> Option<usize> {
        match self {
            Self::Rs256 | Self::Ps256 => None,
            Self::Es256 | Self::EdDsa => Some(64),
        }
    }
}

impl FromStr for Algorithm {
    type Err = UnsupportedAlgorithm;

    fn from_str(name: &str) -> Result<Self, UnsupportedAlgorithm> {
        // RFC 9864 2.2 gives EdDSA with Ed25519 its own name, which newer clients use in signatures.
        if name == "Ed25519" {
            return Ok(Self::EdDsa);
        }
        // Names are compared as they are: RFC 7515 4.1.1 makes `alg` case-sensitive.
        Self::ALL.into_iter().find(|algorithm| algorithm.as_str() == name).ok_or(UnsupportedAlgorithm)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newer_name_of_ed25519_is_understood() {
        assert_eq!("Ed25519".parse(), Ok(Algorithm::EdDsa));
        assert_eq!(Algorithm::EdDsa.as_str(), "EdDSA");
        assert!("ed25519".parse::<Algorithm>().is_err());
    }

    #[test]
    fn names_round_trip_everywhere() {
        for algorithm in Algorithm::ALL {
            assert_eq!(algorithm.as_str().parse(), Ok(algorithm));
            let json = serde_json::to_string(&algorithm).unwrap();
            assert_eq!(json, format!("\"{algorithm}\""));
            assert_eq!(serde_json::from_str::<Algorithm>(&json).unwrap(), algorithm);
        }
    }

    #[test]
    fn other_names_are_refused() {
        for name in ["none", "HS256", "rs256", "RS512", "", "ES256 "] {
            assert_eq!(name.parse::<Algorithm>(), Err(UnsupportedAlgorithm), "{name:?}");
        }
    }
}
