//! The part of the port for what users have enrolled to prove who they are, besides the password.

use async_trait::async_trait;
use symbolon_protocol::authenticator::{AuthenticatorSet, MOST_PASSKEYS, MOST_RECOVERY_CODES};
use symbolon_protocol::id::{IssuerId, UserId};

use crate::StoreError;

/// The most bytes of one user's authenticators, as JSON.
const MOST_BYTES: usize = 64 << 10;

/// A user's authenticators as stored. `revision` is 0 where nothing was ever stored, and grows with each change. It begins at
/// the time of the user's creation in milliseconds, so that who read those of an earlier user of the same id changes
/// nothing of the later one's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enrolled {
    /// The state that was read.
    pub revision: u64,
    /// The authenticators.
    pub set: AuthenticatorSet,
}

/// The result of replacing a user's authenticators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum AuthenticatorUpdate {
    /// They are replaced.
    Written,
    /// Their revision is another: somebody else was faster. Nothing was written.
    Overtaken,
    /// There is no such user; nothing was written.
    UserUnknown,
}

/// The JSON document of a user's authenticators, for back-ends to store.
///
/// # Errors
/// [`StoreError::Failed`]: there are more than [`MOST_PASSKEYS`] or [`MOST_RECOVERY_CODES`], or the document is longer than
/// 64 KiB. Whoever adds one checks that before.
pub fn authenticators_document(set: &AuthenticatorSet) -> Result<String, StoreError> {
    if set.passkeys.len() > MOST_PASSKEYS || set.recovery_codes.len() > MOST_RECOVERY_CODES {
        return Err(StoreError::Failed("a user has more authenticators than are kept".into()));
    }
    let document = serde_json::to_string(set).map_err(|error| StoreError::Failed(error.to_string()))?;
    if document.len() > MOST_BYTES {
        return Err(StoreError::Failed("a user's authenticators take more than 64 KiB".into()));
    }
    Ok(document)
}

/// Users' authenticators. They are deleted with their user: a later user of the same id does not inherit them.
#[async_trait]
pub trait Authenticators: Send + Sync {
    /// Reads them; empty for an unknown user. Not cached: a used code must be seen as used by every node at once.
    async fn authenticators(&self, issuer: &IssuerId, user: &UserId) -> Result<Enrolled, StoreError>;
    /// Replaces them if their revision is still `seen`; durable when it returns. This is how a TOTP step and a recovery
    /// code are used once: of many that write, one wins.
    async fn put_authenticators(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        seen: u64,
        set: &AuthenticatorSet,
    ) -> Result<AuthenticatorUpdate, StoreError>;
}
