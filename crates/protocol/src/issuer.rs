//! Issuers: each is one OpenID provider with its own keys, clients, users and settings.

use serde::{Deserialize, Serialize};

use crate::id::IssuerId;
use crate::time::Timestamp;

/// An issuer as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issuer {
    /// Its id, as in paths of the admin API.
    pub id: IssuerId,
    /// Its `iss`: exactly this string, never derived from a request (OpenID Connect Discovery 3).
    pub url: String,
    /// 32 random bytes, sealed under the master key. The keys that authenticate refresh tokens and forms are derived
    /// from them.
    pub sealed_secret: Vec<u8>,
    /// When it was created.
    pub created_at: Timestamp,
}
