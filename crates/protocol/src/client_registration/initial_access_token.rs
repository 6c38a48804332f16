//! Initial access tokens (RFC 7591 1.2, 3): with one an application may register itself where not everybody may.
//!
//! The token is its content, sealed by the issuer, so none are kept. It ends by its time, by its uses, of which marks are kept, or
//! by the issuer's setting `client_registration_tokens_from`, which ends all that were made before.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use symbolon_crypto::random::{self, Random};

use crate::time::Timestamp;

/// How long a token lives that says nothing else.
pub const LIVES: Duration = Duration::from_secs(86_400);
/// The longest that one may live.
pub const LONGEST_LIFE: Duration = Duration::from_secs(30 * 86_400);
/// The most uses that one may have, unless it has no bound: each use is looked for among as many marks.
pub const MOST_USES: u8 = 20;

/// The content of an initial access token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InitialAccessToken {
    /// Its id: for the audit log, and for the marks of its uses.
    pub id: SmolStr,
    /// When it was made.
    pub made_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// How many clients may register with it; without it any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<u8>,
}

impl InitialAccessToken {
    /// A new token.
    pub fn new(life: Duration, uses: Option<u8>, now: Timestamp, random: &dyn Random) -> Self {
        let id = SmolStr::from(format!("i{}", random::token_128(random)));
        Self { id, made_at: now, expires_at: now + life, uses }
    }

    /// Whether it may still be used, as far as it tells itself. `from`: those that were made before are refused.
    pub fn is_live(&self, from: Option<Timestamp>, now: Timestamp) -> bool {
        now < self.expires_at && from.is_none_or(|from| self.made_at >= from)
    }

    /// The names of the marks of its uses, in their order; none if their number has no bound.
    pub fn marks(&self) -> impl Iterator<Item = String> {
        (0..self.uses.unwrap_or_default()).map(|number| format!("{}.{number}", self.id))
    }
}
