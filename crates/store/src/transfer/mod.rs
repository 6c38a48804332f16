//! Moves everything from one back-end to another, record by record.
//!
//! The port works with outcomes and does not disclose secrets' digests, versions or marks. A move needs all of these
//! unchanged, under the keys to which the issued ids lead. So every back-end exports its records in a neutral form
//! ([`Export`]) and imports them ([`Import`]). [`copy`] copies them in pieces, and [`tally`] shows afterwards whether
//! both stores have the same records.
//!
//! Meanwhile the source takes no writes ([`Store::freeze`](crate::Store::freeze)), and nobody uses the target before
//! [`Import::finish`].
//!
//! Authorization codes, login and consent transactions are not moved. They live for a few minutes at most, and the
//! embedded store forgets them at every restart: a user in the middle of signing in has to begin again. A code from
//! before the move, used or not, is unknown afterwards, so none is redeemed twice.

mod copy;
mod tally;

pub use copy::copy;
pub use tally::{Sum, Tally, tally};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::client::Client;
use symbolon_protocol::consent::Consent;
use symbolon_protocol::event::AuditRecord;
use symbolon_protocol::family::Family;
use symbolon_protocol::group::{Group, Membership};
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::identity_provider::Identity;
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::key::KeyRecord;
use symbolon_protocol::logo::Logo;
use symbolon_protocol::revocation::Tombstone;
use symbolon_protocol::role::{GivenRole, Role};
use symbolon_protocol::session::Session;
use symbolon_protocol::session_origin::SessionOrigin;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::sign_in::email_code_use::EmailCodeUse;
use symbolon_protocol::sign_in::invitation::KeptInvitation;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::{PasswordHash, User};

use crate::StoreError;
pub use crate::freeze::{Freeze, FreezeError};
use crate::port::Delivery;
use crate::shard::{Generation, ShardKind};

/// The key of a record of hot state, see [`record_key`](crate::shard::record_key) and
/// [`family_key`](crate::shard::family_key): a digest, for a family behind the time of its birth. No id can be derived
/// from it.
pub type RecordKey = [u8; 16];

/// One record, in a form that every back-end understands.
#[derive(Clone)]
pub enum Record {
    /// All generations of shards of one kind, the current one last: issued ids name them.
    Shards(ShardKind, Vec<Generation>),
    /// Access tokens issued up to this time are refused, because the store was restored from a backup.
    Epoch(Timestamp),
    /// An issuer with its settings and its keys in their order, sealed under the master key.
    Issuer(Box<(Issuer, IssuerSettings, Vec<KeyRecord>)>),
    /// A live session.
    Session {
        /// The session's issuer.
        issuer: IssuerId,
        /// Its key; its `sid` names its shard.
        key: RecordKey,
        /// The session.
        session: Box<Session>,
        /// Its last use that was written.
        used_at: Timestamp,
        /// Where it began, if that was noted.
        origin: Option<SessionOrigin>,
    },
    /// A live refresh-token family.
    Family(RecordKey, Box<Family>),
    /// A tombstone.
    Revocation(IssuerId, Tombstone),
    /// The mark of a used client assertion, and until when it is needed.
    Assertion(RecordKey, Timestamp),
    /// What became of a code sent by e-mail, and until when it is needed.
    EmailCode(RecordKey, Timestamp, EmailCodeUse),
    /// A client with its secrets' digests.
    Client(IssuerId, Box<Client>),
    /// The logo of the issuer, or of a client.
    Logo(IssuerId, Option<ClientId>, Logo),
    /// A user, and the password's hash.
    User(IssuerId, Box<User>, Option<PasswordHash>),
    /// What a user has enrolled to prove who they are, and its revision.
    Authenticators(IssuerId, UserId, u64, Box<AuthenticatorSet>),
    /// Who a user is to another provider.
    Identity(IssuerId, Box<Identity>),
    /// The consent of a user to a client.
    Consent(IssuerId, UserId, ClientId, Consent),
    /// A group of users.
    Group(IssuerId, Box<Group>),
    /// A role.
    Role(IssuerId, Box<Role>),
    /// A user's membership of a group.
    Membership(IssuerId, Membership),
    /// A role that was given to a user or group.
    GivenRole(IssuerId, GivenRole),
    /// An invitation whose time is not over, used or not.
    Invitation(IssuerId, Box<KeptInvitation>),
    /// What has to reach somebody else.
    Delivery(IssuerId, Box<Delivery>),
    /// A line of the audit log.
    Audit(IssuerId, Box<AuditRecord>),
}

/// A class of records. Records are exported in this order: those that others depend on come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// [`Record::Shards`]
    Shards,
    /// [`Record::Epoch`]
    Epochs,
    /// [`Record::Issuer`]
    Issuers,
    /// [`Record::Session`]
    Sessions,
    /// [`Record::Family`]
    Families,
    /// [`Record::Revocation`]
    Revocations,
    /// [`Record::Assertion`]
    Assertions,
    /// [`Record::EmailCode`]
    EmailCodes,
    /// [`Record::Client`]
    Clients,
    /// [`Record::Logo`]
    Logos,
    /// [`Record::User`]
    Users,
    /// [`Record::Authenticators`]
    Authenticators,
    /// [`Record::Identity`]
    Identities,
    /// [`Record::Consent`]
    Consents,
    /// [`Record::Group`]
    Groups,
    /// [`Record::Role`]
    Roles,
    /// [`Record::Membership`]
    Memberships,
    /// [`Record::GivenRole`]
    GivenRoles,
    /// [`Record::Invitation`]
    Invitations,
    /// [`Record::Delivery`]
    Deliveries,
    /// [`Record::Audit`]
    Audit,
}

impl Class {
    /// Every class, in order.
    pub const ALL: [Self; 21] = [
        Self::Shards,
        Self::Epochs,
        Self::Issuers,
        Self::Sessions,
        Self::Families,
        Self::Revocations,
        Self::Assertions,
        Self::EmailCodes,
        Self::Clients,
        Self::Logos,
        Self::Users,
        Self::Authenticators,
        Self::Identities,
        Self::Consents,
        Self::Groups,
        Self::Roles,
        Self::Memberships,
        Self::GivenRoles,
        Self::Invitations,
        Self::Deliveries,
        Self::Audit,
    ];

    /// The name in output and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shards => "shards",
            Self::Epochs => "epochs",
            Self::Issuers => "issuers",
            Self::Sessions => "sessions",
            Self::Families => "families",
            Self::Revocations => "revocations",
            Self::Assertions => "assertions",
            Self::EmailCodes => "email_codes",
            Self::Clients => "clients",
            Self::Logos => "logos",
            Self::Users => "users",
            Self::Authenticators => "authenticators",
            Self::Identities => "identities",
            Self::Consents => "consents",
            Self::Groups => "groups",
            Self::Roles => "roles",
            Self::Memberships => "memberships",
            Self::GivenRoles => "given_roles",
            Self::Invitations => "invitations",
            Self::Deliveries => "deliveries",
            Self::Audit => "audit",
        }
    }
}

impl Record {
    /// Its class.
    #[must_use]
    pub const fn class(&self) -> Class {
        match self {
            Self::Shards(..) => Class::Shards,
            Self::Epoch(_) => Class::Epochs,
            Self::Issuer(_) => Class::Issuers,
            Self::Session { .. } => Class::Sessions,
            Self::Family(..) => Class::Families,
            Self::Revocation(..) => Class::Revocations,
            Self::Assertion(..) => Class::Assertions,
            Self::EmailCode(..) => Class::EmailCodes,
            Self::Client(..) => Class::Clients,
            Self::Logo(..) => Class::Logos,
            Self::User(..) => Class::Users,
            Self::Authenticators(..) => Class::Authenticators,
            Self::Identity(..) => Class::Identities,
            Self::Consent(..) => Class::Consents,
            Self::Group(..) => Class::Groups,
            Self::Role(..) => Class::Roles,
            Self::Membership(..) => Class::Memberships,
            Self::GivenRole(..) => Class::GivenRoles,
            Self::Invitation(..) => Class::Invitations,
            Self::Delivery(..) => Class::Deliveries,
            Self::Audit(..) => Class::Audit,
        }
    }

    /// When it ends by itself; `None` if it does not.
    #[must_use]
    pub fn ends_at(&self) -> Option<Timestamp> {
        match self {
            Self::Session { session, .. } => Some(session.kept_until()),
            Self::Family(_, family) => Some(family.ends_at()),
            Self::Revocation(_, tombstone) => Some(tombstone.expires_at),
            Self::Assertion(_, until) | Self::EmailCode(_, until, _) => Some(*until),
            Self::Invitation(_, kept) => Some(kept.invitation.expires_at),
            Self::Delivery(_, delivery) => Some(delivery.expires_at),
            _ => None,
        }
    }
}

/// Records of one class, some at a time.
#[async_trait]
pub trait Records: Send {
    /// The next records; `None` at the end.
    async fn next(&mut self) -> Result<Option<Vec<Record>>, StoreError>;
}

/// A store whose records can be read, and do not change meanwhile.
#[async_trait]
pub trait Export: Send + Sync {
    /// Begins to read every record in the order of [`Class`], except those that ended by themselves at `ended` or
    /// before. Clients, users, groups, roles and the audit log come in the order of their listings, the oldest first.
    async fn records(&self, ended: Timestamp) -> Result<Box<dyn Records>, StoreError>;
}

/// A store that is being filled. Nobody uses it before that is finished.
#[async_trait]
pub trait Import: Export {
    /// Adds records of one class behind the earlier ones. They may be lost until [`finish`](Self::finish).
    async fn put(&self, records: Vec<Record>) -> Result<(), StoreError>;
    /// Makes everything durable, makes the store one that servers start on, and closes it.
    async fn finish(self: Box<Self>) -> Result<(), StoreError>;
    /// Closes the store incomplete: no server starts on it, and another attempt begins anew.
    async fn leave(self: Box<Self>) -> Result<(), StoreError>;
}
