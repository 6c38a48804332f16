//! Consent: what a user once allowed a client (OpenID Connect Core 3.1.2.4).

use serde::{Deserialize, Serialize};

use crate::scope::Scope;
use crate::time::Timestamp;

/// A remembered consent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// Everything that was ever allowed and not taken back.
    pub scope: Scope,
    /// When it was last given.
    pub granted_at: Timestamp,
}
