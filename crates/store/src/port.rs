//! The port: what a back-end must be able to do.

mod audit;
mod authenticators;
mod backchannel_authentication;
mod clients;
mod decision;
mod deliveries;
mod device_authorization;
mod groups;
mod identities;
mod invitations;
mod issuers;
mod logos;
mod one_time;
mod roles;
mod sessions;
mod users;

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::key::KeyRecord;
use symbolon_protocol::time::Timestamp;

use crate::StoreError;
use crate::backup::{BackupError, BackupReport};
use crate::freeze::{Freeze, FreezeError};
pub use crate::listing::{
    COUNTED, FamilyCursor, InvalidCursor, ListedSession, NextFamilies, NextSessions, Page, PageRequest,
    SessionCursor,
};
use crate::shard::{Generation, Route, ShardKind};
pub use audit::{Audit, AuditFilter};
pub use authenticators::{AuthenticatorUpdate, Authenticators, Enrolled, authenticators_document};
pub use backchannel_authentication::{BackchannelAuthentications, KeptBackchannelAuthentication};
pub use clients::Clients;
pub use decision::{Decided, Deciding, Polled};
pub use deliveries::{
    Deliveries, Delivery, DeliveryKind, MOST_CLAIMED, MOST_PAYLOAD, Queued, fairly, ids_of_recipient,
    most_of_recipient,
};
pub use device_authorization::{DeviceAuthorizations, DeviceCodes, KeptDeviceAuthorization};
pub use groups::{
    GroupCreation, GroupDeletion, GroupFilter, GroupUpdate, Groups, MemberAddition, MemberRemoval,
};
pub use identities::{Identities, IdentityCreation, IdentityLink, IdentityUnlink};
pub use invitations::{InvitationKeeping, Invitations};
pub use issuers::{Issuers, SettingsUpdate};
pub use logos::Logos;
pub use one_time::{
    Assertions, Challenges, CodePlace, Codes, EmailCodes, KeptCode, PushedBy, PushedRequests, Redemption, Use,
};
pub use roles::{RoleCreation, RoleFilter, RoleGrant, RoleHolders, RoleRemoval, RoleUpdate, Roles};
pub use sessions::{EndedSessions, RefreshTokens, Revocations, Sessions, oldest_sign_ins_beyond};
use symbolon_figures::StoreFigures;
pub use users::{Consents, Given, UserFilter, Users, given_to};

/// Whether a record that must be unique was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// Written.
    Created,
    /// Another record has the same id, e-mail address or value of a unique attribute; nothing was written.
    Exists,
}

/// The shard map.
#[async_trait]
pub trait Shards: Send + Sync {
    /// Where a new id of a kind should live.
    fn place(&self, kind: ShardKind) -> Route;
    /// Where an id lives: in the shard that it names if that generation exists, else in the slot of its hash.
    fn route(&self, issuer: &IssuerId, kind: ShardKind, id: &str) -> Route;
    /// The live generations of a kind, the current one last.
    fn generations(&self, kind: ShardKind) -> Vec<Generation>;
    /// Opens a new generation with `shards` shards (1 to 1,024). Durable.
    async fn set_shards(
        &self,
        kind: ShardKind,
        shards: u32,
        now: Timestamp,
    ) -> Result<Generation, StoreError>;
}

/// What was dropped from a cache, for those who keep copies of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Changed {
    /// A client or its logo was changed.
    Client(IssuerId, ClientId),
    /// A client was deleted, and with it its logo, the consents to it and its roles.
    ClientDeleted(IssuerId, ClientId),
    /// A user was changed or deleted.
    User(IssuerId, UserId),
    /// A user's consents were changed.
    Consents(IssuerId, UserId),
    /// A user's memberships of groups, or the roles given to the user, were changed.
    Entitlements(IssuerId, UserId),
    /// A group or role was changed, or what a group was given: the groups and roles of any user may be others.
    Groups(IssuerId),
    /// Keys were changed.
    Keys(IssuerId),
    /// Settings or the logo of the issuer were changed.
    Settings(IssuerId),
    /// An issuer was created or changed.
    Issuers,
    /// Anything may have changed.
    Everything,
}

/// Resolves when a listener has applied a change to its copies.
pub type Following = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A holder of copies. It is called at once and does not wait; the future that it returns need not be awaited.
pub type ChangeListener = Box<dyn Fn(&Changed) -> Following + Send + Sync>;

/// Everything that keeps an issuer's state.
#[async_trait]
pub trait Store:
    Codes
    + Sessions
    + RefreshTokens
    + Revocations
    + Assertions
    + EmailCodes
    + Challenges
    + PushedRequests
    + DeviceAuthorizations
    + BackchannelAuthentications
    + Clients
    + Logos
    + Users
    + Consents
    + Authenticators
    + Identities
    + Invitations
    + Deliveries
    + Groups
    + Roles
    + Issuers
    + Audit
    + Shards
{
    /// Calls `listener` after every change that a cache in a layer above must apply.
    fn on_change(&self, listener: ChangeListener);
    /// Whether this process's copies of keys, clients and settings are known to be current, so that it may judge tokens
    /// and requests by them.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: this node has received nothing from the others for so long that it may have missed
    /// a change.
    fn check_lease(&self) -> Result<(), StoreError> {
        Ok(())
    }
    /// Counts and times of every operation so far, for `/metrics`.
    fn figures(&self) -> &Arc<StoreFigures>;
    /// Whether the state from before the start is loaded. Until then only issuers, keys, settings, clients and users
    /// may be read.
    fn is_recovered(&self) -> bool {
        true
    }
    /// The moment up to which it is not known which proofs were [used](Assertions::use_proof), because this store keeps their marks in
    /// memory, and has once ended without writing them down; `None` if that never happened.
    fn forgets_proofs_until(&self) -> Option<Timestamp> {
        None
    }
    /// Whether the store can answer: its tombstones are loaded, and its engines answer.
    async fn ready(&self) -> Result<(), StoreError>;
    /// Deletes what ended more than 15 minutes ago, in bounded pieces; returns how many records.
    async fn sweep(&self, now: Timestamp) -> Result<u64, StoreError>;
    /// Replaces what was sealed under another master key, of every issuer at once. `seen` and `sealed` have the same
    /// order. [`StoreError::Conflict`], and nothing is written, unless `seen` is still exactly what is stored.
    async fn reseal(
        &self,
        seen: &[(Issuer, Vec<KeyRecord>)],
        sealed: &[(Issuer, Vec<KeyRecord>)],
    ) -> Result<(), StoreError>;
    /// Checks, as far as is possible in advance, whether a backup can be written to the directory `target`.
    async fn check_backup_target(&self, target: &Path) -> Result<(), BackupError>;
    /// Copies everything that is durable now into the new directory `target`, while requests are served. The copy is
    /// what a crash at one moment would have left: everything acknowledged before that moment is in it.
    async fn backup(&self, target: &Path, now: Timestamp) -> Result<BackupReport, BackupError>;
    /// Refuses every write but the audit log's from now on (503), on every node and after every restart, so that the
    /// store can be moved. When it returns, no write is under way that could still be acknowledged. [`Freeze::Lifted`]
    /// allows writes again: on the embedded store from its next start on. Nothing is changed if the present state [may
    /// not be followed](Freeze::may_follow) by this one.
    async fn freeze(&self, freeze: Freeze) -> Result<(), FreezeError>;
    /// Makes everything durable that is under way, and closes the store.
    async fn close(&self) -> Result<(), StoreError>;
}
