//! The part of the port for what users have enrolled to prove who they are, besides the password.

use async_trait::async_trait;
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::id::{IssuerId, UserId};

use crate::StoreError;

/// A user's authenticators as stored. `revision` is 0 where nothing was ever stored, and grows with each change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enrolled {
    /// How often they were changed.
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
