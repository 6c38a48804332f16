//! The part of the port for who users are to other providers.

use async_trait::async_trait;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::identity_provider::Identity;
use symbolon_protocol::identity_provider::way_left::OfferedWays;
use symbolon_protocol::user::User;

use crate::StoreError;

/// The result of connecting a user with an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum IdentityLink {
    /// They are connected now.
    Linked,
    /// The identity is this user's already; nothing was written.
    AlreadyLinked,
    /// The identity is another user's; nothing was written.
    OfAnother,
    /// The user has another identity of this provider; nothing was written.
    HasOther,
    /// There is no such user; nothing was written.
    UserUnknown,
}

/// The result of making a user for an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum IdentityCreation {
    /// The user is made and connected.
    Created,
    /// Another user has the id, the address or the value of a unique attribute; nothing was written.
    UserExists,
    /// The identity is somebody's; nothing was written.
    OfAnother,
}

/// The result of disconnecting a user from a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum IdentityUnlink {
    /// They are disconnected now.
    Unlinked,
    /// They were not connected; nothing was written.
    NotLinked,
    /// Nothing that is offered would be left to sign in with; nothing was written.
    LastWay,
}

/// Who users are to other providers. An identity, which is a provider's key and a subject, has one user at most; a user has one
/// identity of each provider at most. Identities are deleted with their user: a later user of the same id does not inherit
/// them. Not cached: they are read when somebody signs in.
#[async_trait]
pub trait Identities: Send + Sync {
    /// The identity of a provider's subject.
    async fn identity(
        &self,
        issuer: &IssuerId,
        provider: &str,
        subject: &str,
    ) -> Result<Option<Identity>, StoreError>;
    /// The identities of a user, in the order of the providers' keys.
    async fn identities_of(&self, issuer: &IssuerId, user: &UserId) -> Result<Vec<Identity>, StoreError>;
    /// The next identities in the order of the providers' keys and the subjects, at most `limit` (1 to 1,000), after those of
    /// a provider and a subject; fewer at the end only. An identity that exists during the whole listing comes exactly once,
    /// even if others are made or deleted.
    async fn next_identities(
        &self,
        issuer: &IssuerId,
        after: Option<(&str, &str)>,
        limit: u32,
    ) -> Result<Vec<Identity>, StoreError>;
    /// Connects a user with an identity; durable when it returns. Of many users who are connected with one identity at the
    /// same time, one wins.
    async fn link_identity(&self, issuer: &IssuerId, identity: Identity) -> Result<IdentityLink, StoreError>;
    /// Makes a user who has no password, and connects the identity: both or neither.
    async fn create_user_with_identity(
        &self,
        issuer: &IssuerId,
        user: User,
        identity: Identity,
    ) -> Result<IdentityCreation, StoreError>;
    /// Disconnects a user from a provider; durable when it returns. With `offered`, only if the user can still sign in
    /// afterwards, by what is stored at that moment: of two that take the last two ways at the same time, one does. The revision of
    /// the user's authenticators grows, so that whoever takes a passkey away because of this identity looks again.
    async fn unlink_identity(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        provider: &str,
        offered: Option<&OfferedWays>,
    ) -> Result<IdentityUnlink, StoreError>;
    /// Disconnects everybody from a provider that is no more; returns how many.
    async fn unlink_provider(&self, issuer: &IssuerId, provider: &str) -> Result<u64, StoreError>;
}
