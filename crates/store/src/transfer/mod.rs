//! Taking everything from one back-end to another, record by record.
//!
//! The port speaks in outcomes and does not tell secrets' digests, versions or marks. A move needs them all, exactly as
//! they are, under the keys that ids in circulation lead to. So every back-end gives its records out in a neutral form
//! ([`Export`]) and takes them in ([`Import`]); [`copy`] takes them across in pieces, and [`tally`] tells afterwards
//! whether both have the same.
//!
//! The source takes no writes meanwhile ([`Store::freeze`](crate::Store::freeze)), and nobody uses the target before
//! [`Import::finish`].
//!
//! Authorization codes, login and consent transactions are not moved. They live a minute or a few, and the embedded
//! store forgets them at every restart: whoever is in the middle of signing in begins again. A code of before, used or
//! not, is unknown afterwards, so that none is redeemed twice.

mod copy;
mod tally;

pub use copy::copy;
pub use tally::{Sum, Tally, tally};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use symbolon_protocol::client::Client;
use symbolon_protocol::consent::Consent;
use symbolon_protocol::event::AuditRecord;
use symbolon_protocol::family::Family;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::key::KeyRecord;
use symbolon_protocol::revocation::Tombstone;
use symbolon_protocol::session::Session;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::{PasswordHash, User};

use crate::StoreError;
use crate::shard::{Generation, ShardKind};

/// Whether a store takes writes, where it is the source of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freeze {
    /// It does.
    Lifted,
    /// It is being moved: reads are answered, also after a restart.
    Migrating,
    /// It was moved: nothing starts on it any more.
    Migrated,
}

impl Freeze {
    /// As back-ends put it down.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lifted => "lifted",
            Self::Migrating => "migrating",
            Self::Migrated => "migrated",
        }
    }

    /// Whether a store may go from the state `found` to this one. Only a frozen store becomes moved, and a moved store is
    /// not frozen again before its freeze was lifted. A freeze may be lifted from any state.
    #[must_use]
    pub const fn may_follow(self, found: Self) -> bool {
        match self {
            Self::Lifted => true,
            Self::Migrating => !matches!(found, Self::Migrated),
            Self::Migrated => !matches!(found, Self::Lifted),
        }
    }

    /// Reads what a back-end put down.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Lifted, Self::Migrating, Self::Migrated].into_iter().find(|freeze| freeze.as_str() == text)
    }
}

/// Why a store was not frozen, or thawed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FreezeError {
    /// The store is in a state from which it cannot go to the wanted one. Nothing was changed.
    #[error("the store is {}, and cannot become {}", found.as_str(), wanted.as_str())]
    OutOfOrder {
        /// The state of the store.
        found: Freeze,
        /// The state that was asked for.
        wanted: Freeze,
    },
    /// The store could not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a record of hot state is kept under, see [`record_key`](crate::shard::record_key) and
/// [`family_key`](crate::shard::family_key): a digest, after a family's birth, from which no id can be told.
pub type RecordKey = [u8; 16];

/// One record, as every back-end understands it.
#[derive(Clone)]
pub enum Record {
    /// All generations of shards of one kind, the current one last: ids that were given out name them.
    Shards(ShardKind, Vec<Generation>),
    /// Access tokens that were issued up to here are refused: the store was restored from a backup.
    Epoch(Timestamp),
    /// An issuer with its settings and its keys in their order, sealed under the master key.
    Issuer(Box<(Issuer, IssuerSettings, Vec<KeyRecord>)>),
    /// A live session.
    Session {
        /// Whose.
        issuer: IssuerId,
        /// What it is kept under; where it lives says its `sid`.
        key: RecordKey,
        /// The session.
        session: Box<Session>,
        /// Its last use that was written.
        used_at: Timestamp,
    },
    /// A live refresh-token family.
    Family(RecordKey, Box<Family>),
    /// Something that ended.
    Revocation(IssuerId, Tombstone),
    /// A client assertion that was used, and until when that must be known.
    Assertion(RecordKey, Timestamp),
    /// A client with its secrets' digests.
    Client(IssuerId, Box<Client>),
    /// A user, and the password's hash.
    User(IssuerId, Box<User>, Option<PasswordHash>),
    /// What a user allowed a client.
    Consent(IssuerId, UserId, ClientId, Consent),
    /// A line of the audit log.
    Audit(IssuerId, Box<AuditRecord>),
}

/// A class of records. They are given out in this order: what others rest on comes first.
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
    /// [`Record::Client`]
    Clients,
    /// [`Record::User`]
    Users,
    /// [`Record::Consent`]
    Consents,
    /// [`Record::Audit`]
    Audit,
}

impl Class {
    /// Every class, in order.
    pub const ALL: [Self; 11] = [
        Self::Shards,
        Self::Epochs,
        Self::Issuers,
        Self::Sessions,
        Self::Families,
        Self::Revocations,
        Self::Assertions,
        Self::Clients,
        Self::Users,
        Self::Consents,
        Self::Audit,
    ];

    /// The name for people and in JSON.
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
            Self::Clients => "clients",
            Self::Users => "users",
            Self::Consents => "consents",
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
            Self::Client(..) => Class::Clients,
            Self::User(..) => Class::Users,
            Self::Consent(..) => Class::Consents,
            Self::Audit(..) => Class::Audit,
        }
    }

    /// When it ends by itself, if it does.
    #[must_use]
    pub fn ends_at(&self) -> Option<Timestamp> {
        match self {
            Self::Session { session, .. } => Some(session.expires_at),
            Self::Family(_, family) => Some(family.ends_at()),
            Self::Revocation(_, tombstone) => Some(tombstone.expires_at),
            Self::Assertion(_, until) => Some(*until),
            _ => None,
        }
    }
}

/// Records of one class, some at a time.
#[async_trait]
pub trait Records: Send {
    /// The next ones; none at the end.
    async fn next(&mut self) -> Result<Option<Vec<Record>>, StoreError>;
}

/// A store whose records can be read. It does not change while they are.
#[async_trait]
pub trait Export: Send + Sync {
    /// Begins to read every record, but what ended by itself at `ended` or before, in the order of [`Class`]. Clients,
    /// users and the audit log come in the order in which they are listed, the oldest first.
    async fn records(&self, ended: Timestamp) -> Result<Box<dyn Records>, StoreError>;
}

/// A store that is being filled, and used by nobody before that is finished.
#[async_trait]
pub trait Import: Export {
    /// Takes records of one class, after those that came before. They may be lost until [`finish`](Self::finish).
    async fn put(&self, records: Vec<Record>) -> Result<(), StoreError>;
    /// Makes everything durable, and the store one that servers start on. Lets go of it.
    async fn finish(self: Box<Self>) -> Result<(), StoreError>;
    /// Lets go of it unfinished: no server starts on it, and another attempt begins anew.
    async fn leave(self: Box<Self>) -> Result<(), StoreError>;
}
