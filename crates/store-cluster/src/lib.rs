//! The back-end that any number of nodes share: PostgreSQL for durable state, Redis Cluster or Valkey Cluster for
//! short-lived state that is read and written often.
//!
//! Lower layers, free of domain rules:
//!
//! * `postgres`: pooled connections, prepared statements, migrations;
//! * `redis`: connections whose answers name the process that gave them, durable writes batched under one `WAIT`,
//!   scripts, hash tags;
//! * `batch`: group commit;
//! * `breaker`: a circuit breaker, which refuses requests at once while an engine does not answer;
//! * [`check`]: examines the settings of both engines before the store is opened.
//!
//! On top of them, one module for each trait of the storage port.

mod assertion;
mod backchannel_authentication;
mod batch;
mod breaker;
mod challenge;
mod changes;
mod check;
mod code;
mod complete_primary;
mod device_authorization;
mod earlier;
mod email_code;
#[cfg(feature = "engines")]
pub mod engines;
mod freeze;
mod generation;
mod nodes;
mod one_time;
mod open;
mod postgres;
mod pushed_request;
mod record;
mod redis;
mod refresh_token;
mod revocation;
mod room;
mod session;
mod share;
mod store;
#[cfg(test)]
mod testing;
pub mod transfer;
mod undecided;

pub use check::{Finding, Level, check};
pub use open::{ClusterError, ClusterOptions};
pub use postgres::{MigrationError, PostgresError, PostgresOptions};
pub use redis::{RedisOptions, ReplicaPolicy};
pub use revocation::{EpochError, open_epoch};

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use serde::Serialize;
use serde::de::DeserializeOwned;
use symbolon_crypto::encoding;
use symbolon_crypto::random::Random;
use symbolon_figures::{StoreFigures, StoreKind};
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;

use crate::changes::Changes;
use crate::complete_primary::CompletePrimaries;
use crate::freeze::Gate;
use crate::generation::Generations;
use crate::nodes::Nodes;
use crate::postgres::Postgres;
use crate::record::Records;
use crate::redis::Redis;
use crate::refresh_token::Families;
use crate::revocation::Tombstones;
use crate::room::RedisRoom;
use crate::session::Uses;
use crate::share::ShareCounts;

/// The clock, as milliseconds since 1970.
pub type UnixMillis = Arc<dyn Fn() -> u64 + Send + Sync>;

/// The implementation of the storage port that any number of nodes share.
pub struct ClusterStore {
    postgres: Arc<Postgres>,
    redis: Arc<Redis>,
    figures: Arc<StoreFigures>,
    changes: Arc<Changes>,
    generations: Arc<Generations>,
    nodes: Arc<Nodes>,
    /// Closed, so that writes are refused, while the store is being moved to another back-end.
    gate: Arc<Gate>,
    /// When each session was last used on this node.
    uses: Uses,
    /// The part of the issuers' session lists that the next sweep looks through.
    swept: AtomicU32,
    redis_room: RedisRoom,
    shares: Arc<ShareCounts>,
    complete_primaries: Arc<CompletePrimaries>,
    tombstones: Arc<Tombstones>,
    families: Families,
    assertions: assertion::Marking,
    email_codes: email_code::Changing,
    /// When the database was restored from a backup.
    restored_at: Option<Timestamp>,
    records: Arc<Records>,
    now: UnixMillis,
    random: Arc<dyn Random>,
}

/// The number of metric series that the 1,024 constant slots share.
const SLOT_FIGURES: u32 = 64;

impl ClusterStore {
    /// The shard number under which metrics count an operation on a constant slot.
    fn counted_under(&self, slot: u32) -> u32 {
        slot % SLOT_FIGURES
    }

    /// The current time, for operations whose caller passes none.
    fn now(&self) -> Timestamp {
        Timestamp::from_millis((self.now)())
    }

    /// Whether this node has received every message that the other node has sent so far. Tests wait for this instead of
    /// for the longest time that a message may take.
    #[cfg(feature = "engines")]
    pub fn has_heard(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.nodes, &other.nodes) || self.nodes.has_heard(&other.nodes)
    }

    /// Counts an operation on a shard of a kind and measures its duration.
    async fn measured<T>(
        &self,
        kind: StoreKind,
        shard: u32,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let timer = self.figures.kind(kind).start(shard);
        let result = work.await;
        timer.finish(matches!(result, Ok(_) | Err(StoreError::Conflict)));
        result
    }
}

fn failed(error: impl std::fmt::Display) -> StoreError {
    StoreError::Failed(error.to_string())
}

/// A record as stored: JSON, so that adjacent releases can read each other's records, and people can read them too.
fn to_document<T: Serialize>(record: &T) -> Result<String, StoreError> {
    serde_json::to_string(record).map_err(failed)
}

fn from_document<T: DeserializeOwned>(document: impl AsRef<[u8]>) -> Result<T, StoreError> {
    serde_json::from_slice(document.as_ref()).map_err(failed)
}

/// A record's key as text, for use in a Redis key.
fn key_text(key: &[u8; 16]) -> String {
    encoding::encode(key)
}
