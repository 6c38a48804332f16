//! Issuers: each is one OpenID provider with keys, clients, users and settings of its own.

use serde::{Deserialize, Serialize};

use crate::id::IssuerId;
use crate::time::Timestamp;

/// An issuer as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issuer {
    /// Its name in paths of the admin API.
    pub id: IssuerId,
    /// Its `iss`: exactly this text, never derived from a request (OpenID Connect Discovery 3).
    pub url: String,
    /// 32 random bytes, sealed under the master key: what authenticates its refresh tokens and forms derives from them.
    pub sealed_secret: Vec<u8>,
    /// When it was created.
    pub created_at: Timestamp,
}
