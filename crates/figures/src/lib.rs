//! What a store counts about itself, at a cost of some tens of nanoseconds per operation.
//!
//! Every back-end owns one [`StoreFigures`] and records into it; the server reads [`StoreFigures::snapshot`]
//! when `/metrics` is scraped or the shard statistics are asked for. Counters and sums are kept per shard,
//! distributions per kind only, so that the exposition stays small however many shards there are.
//!
//! Everything is a relaxed atomic: a snapshot taken under load may show one figure a few operations ahead of
//! another, and no figure is ever lost or counted twice.
//!
//! Record from the task that serves the request, after the operation has been awaited: the request log takes
//! its number of store operations from [`thread_work`].

mod counter;
mod histogram;
mod room;
mod shard;
mod share;
mod stripe;
mod thread;

use std::sync::Arc;

use parking_lot::Mutex;

pub use counter::{
    CacheFigures, CacheSnapshot, CommitFigures, CommitSnapshot, DatabaseFigures, DatabaseSnapshot,
    StripedCounter,
};
pub use histogram::{HistogramSet, HistogramSnapshot};
pub use room::{Room, RoomSnapshot};
pub use shard::{KindSnapshot, MAX_SHARDS, OperationTimer, ShardFigures, ShardSnapshot, machine_now};
pub use share::ShareNumber;
pub use stripe::{Padded, ReservedStripe, reserve_stripe, thread_stripe};
pub use thread::{StoreOperation, ThreadWork, noting_operations, thread_work};

/// The kinds of state that a store keeps. A closed list: metrics and statistics are named by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StoreKind {
    /// Authorization codes.
    Code,
    /// Sessions of signed-in users.
    Session,
    /// Login challenges and other short-lived state of an interaction.
    Challenge,
    /// Refresh-token families.
    Refresh,
    /// Revocation tombstones.
    Revocation,
    /// Used client assertions (replay marks).
    Assertion,
    /// Codes sent by e-mail: to whom, and what became of their tries.
    EmailCode,
    /// Pushed authorization requests.
    PushedRequest,
    /// What devices ask for, and what people decided (RFC 8628).
    DeviceAuthorization,
    /// What clients ask people for elsewhere, and what was decided (CIBA Core 1.0).
    BackchannelAuthentication,
    /// Registered clients.
    Client,
    /// Users and their credentials.
    User,
    /// What users have enrolled to prove who they are.
    Authenticator,
    /// Consents.
    Consent,
    /// Groups, their members, and what users have by groups and roles.
    Group,
    /// Roles, and who was given them.
    Role,
    /// Signing keys.
    Key,
    /// Settings.
    Setting,
    /// What has to reach somebody else: mails, logout tokens.
    Delivery,
    /// Audit log entries.
    Audit,
}

impl StoreKind {
    /// Every kind, in the order of the exposition.
    pub const ALL: [Self; 20] = [
        Self::Code,
        Self::Session,
        Self::Challenge,
        Self::Refresh,
        Self::Revocation,
        Self::Assertion,
        Self::EmailCode,
        Self::PushedRequest,
        Self::DeviceAuthorization,
        Self::BackchannelAuthentication,
        Self::Client,
        Self::User,
        Self::Authenticator,
        Self::Consent,
        Self::Group,
        Self::Role,
        Self::Key,
        Self::Setting,
        Self::Delivery,
        Self::Audit,
    ];

    /// The name used as the `kind` label and in the admin API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Session => "session",
            Self::Challenge => "challenge",
            Self::Refresh => "refresh",
            Self::Revocation => "revocation",
            Self::Assertion => "assertion",
            Self::EmailCode => "email_code",
            Self::PushedRequest => "pushed_request",
            Self::DeviceAuthorization => "device_authorization",
            Self::BackchannelAuthentication => "backchannel_authentication",
            Self::Client => "client",
            Self::User => "user",
            Self::Authenticator => "authenticator",
            Self::Consent => "consent",
            Self::Group => "group",
            Self::Role => "role",
            Self::Key => "key",
            Self::Setting => "setting",
            Self::Delivery => "delivery",
            Self::Audit => "audit",
        }
    }
}

/// All figures of one store. Cheap to share: put it into an [`Arc`] and hand clones to whoever records.
pub struct StoreFigures {
    code: ShardFigures,
    session: ShardFigures,
    challenge: ShardFigures,
    refresh: ShardFigures,
    revocation: ShardFigures,
    assertion: ShardFigures,
    email_code: ShardFigures,
    pushed_request: ShardFigures,
    device_authorization: ShardFigures,
    backchannel_authentication: ShardFigures,
    client: ShardFigures,
    user: ShardFigures,
    authenticator: ShardFigures,
    consent: ShardFigures,
    group: ShardFigures,
    role: ShardFigures,
    key: ShardFigures,
    setting: ShardFigures,
    delivery: ShardFigures,
    audit: ShardFigures,
    code_room: Room,
    challenge_room: Room,
    assertion_room: Room,
    email_code_room: Room,
    pushed_request_room: Room,
    device_authorization_room: Room,
    backchannel_authentication_room: Room,
    database: DatabaseFigures,
    commit: CommitFigures,
    caches: Mutex<Vec<Arc<CacheFigures>>>,
}

impl StoreFigures {
    /// Figures at zero, one shard per kind; a sharded kind says its number with [`ShardFigures::set_shards`].
    pub fn new() -> Self {
        Self {
            code: ShardFigures::new(StoreKind::Code, 1),
            session: ShardFigures::new(StoreKind::Session, 1),
            challenge: ShardFigures::new(StoreKind::Challenge, 1),
            refresh: ShardFigures::new(StoreKind::Refresh, 1),
            revocation: ShardFigures::new(StoreKind::Revocation, 1),
            assertion: ShardFigures::new(StoreKind::Assertion, 1),
            email_code: ShardFigures::new(StoreKind::EmailCode, 1),
            pushed_request: ShardFigures::new(StoreKind::PushedRequest, 1),
            device_authorization: ShardFigures::new(StoreKind::DeviceAuthorization, 1),
            backchannel_authentication: ShardFigures::new(StoreKind::BackchannelAuthentication, 1),
            client: ShardFigures::new(StoreKind::Client, 1),
            user: ShardFigures::new(StoreKind::User, 1),
            authenticator: ShardFigures::new(StoreKind::Authenticator, 1),
            consent: ShardFigures::new(StoreKind::Consent, 1),
            group: ShardFigures::new(StoreKind::Group, 1),
            role: ShardFigures::new(StoreKind::Role, 1),
            key: ShardFigures::new(StoreKind::Key, 1),
            setting: ShardFigures::new(StoreKind::Setting, 1),
            delivery: ShardFigures::new(StoreKind::Delivery, 1),
            audit: ShardFigures::new(StoreKind::Audit, 1),
            code_room: Room::new(),
            challenge_room: Room::new(),
            assertion_room: Room::new(),
            email_code_room: Room::new(),
            pushed_request_room: Room::new(),
            device_authorization_room: Room::new(),
            backchannel_authentication_room: Room::new(),
            database: DatabaseFigures::new(),
            commit: CommitFigures::new(),
            caches: Mutex::new(Vec::new()),
        }
    }

    /// The figures of one kind.
    pub const fn kind(&self, kind: StoreKind) -> &ShardFigures {
        match kind {
            StoreKind::Code => &self.code,
            StoreKind::Session => &self.session,
            StoreKind::Challenge => &self.challenge,
            StoreKind::Refresh => &self.refresh,
            StoreKind::Revocation => &self.revocation,
            StoreKind::Assertion => &self.assertion,
            StoreKind::EmailCode => &self.email_code,
            StoreKind::PushedRequest => &self.pushed_request,
            StoreKind::DeviceAuthorization => &self.device_authorization,
            StoreKind::BackchannelAuthentication => &self.backchannel_authentication,
            StoreKind::Client => &self.client,
            StoreKind::User => &self.user,
            StoreKind::Authenticator => &self.authenticator,
            StoreKind::Consent => &self.consent,
            StoreKind::Group => &self.group,
            StoreKind::Role => &self.role,
            StoreKind::Key => &self.key,
            StoreKind::Setting => &self.setting,
            StoreKind::Delivery => &self.delivery,
            StoreKind::Audit => &self.audit,
        }
    }

    /// The room for authorization codes.
    pub const fn code_room(&self) -> &Room {
        &self.code_room
    }

    /// The room for login challenges.
    pub const fn challenge_room(&self) -> &Room {
        &self.challenge_room
    }

    /// The room for marks of client assertions.
    pub const fn assertion_room(&self) -> &Room {
        &self.assertion_room
    }

    /// The room for codes sent by e-mail.
    pub const fn email_code_room(&self) -> &Room {
        &self.email_code_room
    }

    /// The room for pushed authorization requests.
    pub const fn pushed_request_room(&self) -> &Room {
        &self.pushed_request_room
    }

    /// The room for what devices ask for.
    pub const fn device_authorization_room(&self) -> &Room {
        &self.device_authorization_room
    }

    /// The room for what clients ask people for elsewhere.
    pub const fn backchannel_authentication_room(&self) -> &Room {
        &self.backchannel_authentication_room
    }

    /// Says how many issuers there are, and which part of each room one of them may take where there are several, in
    /// percent.
    pub fn share_rooms(&self, issuers: usize, percent: u64) {
        let share = if issuers > 1 { percent } else { 100 };
        for room in [
            &self.code_room,
            &self.challenge_room,
            &self.assertion_room,
            &self.email_code_room,
            &self.pushed_request_room,
            &self.device_authorization_room,
            &self.backchannel_authentication_room,
        ] {
            room.set_share(share);
        }
    }

    /// The figures of the SQL database.
    pub const fn database(&self) -> &DatabaseFigures {
        &self.database
    }

    /// The figures of the group commit.
    pub const fn commit(&self) -> &CommitFigures {
        &self.commit
    }

    /// The figures of the cache called `name`: made on the first call, the same ones on every later call.
    /// Ask once, when the cache is built, and keep the handle.
    pub fn cache(&self, name: &'static str) -> Arc<CacheFigures> {
        let mut caches = self.caches.lock();
        if let Some(known) = caches.iter().find(|cache| cache.name() == name) {
            return Arc::clone(known);
        }
        let cache = Arc::new(CacheFigures::new(name));
        caches.push(Arc::clone(&cache));
        cache
    }

    /// Everything as of now. Kinds that never saw an operation are included with zeros.
    pub fn snapshot(&self) -> StoreSnapshot {
        StoreSnapshot {
            kinds: StoreKind::ALL.iter().map(|kind| self.kind(*kind).snapshot()).collect(),
            rooms: [
                (StoreKind::Code, self.code_room.snapshot()),
                (StoreKind::Challenge, self.challenge_room.snapshot()),
                (StoreKind::Assertion, self.assertion_room.snapshot()),
                (StoreKind::EmailCode, self.email_code_room.snapshot()),
                (StoreKind::PushedRequest, self.pushed_request_room.snapshot()),
                (StoreKind::DeviceAuthorization, self.device_authorization_room.snapshot()),
                (StoreKind::BackchannelAuthentication, self.backchannel_authentication_room.snapshot()),
            ],
            database: self.database.snapshot(),
            commit: self.commit.snapshot(),
            caches: self.caches.lock().iter().map(|cache| cache.snapshot()).collect(),
        }
    }
}

impl Default for StoreFigures {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for StoreFigures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreFigures").finish_non_exhaustive()
    }
}

/// [`StoreFigures`] at one moment.
#[derive(Debug, Clone)]
pub struct StoreSnapshot {
    /// One entry per kind, in the order of [`StoreKind::ALL`].
    pub kinds: Vec<KindSnapshot>,
    /// The rooms of those kinds that have one.
    pub rooms: [(StoreKind, RoomSnapshot); 7],
    /// The SQL database.
    pub database: DatabaseSnapshot,
    /// The group commit.
    pub commit: CommitSnapshot,
    /// One entry per cache, in the order in which they were made.
    pub caches: Vec<CacheSnapshot>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_figures_and_name() {
        let figures = StoreFigures::new();
        for (index, kind) in StoreKind::ALL.iter().enumerate() {
            for _ in 0..=index {
                figures.kind(*kind).record(0, 0, 10, true);
            }
        }
        let snapshot = figures.snapshot();
        for (index, kind) in snapshot.kinds.iter().enumerate() {
            assert_eq!(kind.kind, StoreKind::ALL[index]);
            assert_eq!(kind.shards[0].operations, index as u64 + 1, "{}", kind.kind.name());
        }
        let mut names: Vec<_> = StoreKind::ALL.iter().map(|kind| kind.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), StoreKind::ALL.len());
    }

    #[test]
    fn a_cache_is_made_once_per_name() {
        let figures = StoreFigures::new();
        figures.cache("client").hit();
        figures.cache("client").hit();
        figures.cache("user").miss();
        let caches = figures.snapshot().caches;
        assert_eq!(caches.len(), 2);
        assert_eq!((caches[0].name, caches[0].hits, caches[0].misses), ("client", 2, 0));
        assert_eq!((caches[1].name, caches[1].hits, caches[1].misses), ("user", 0, 1));
    }
}
