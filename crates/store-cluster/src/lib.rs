//! The store of many nodes: PostgreSQL for what must last, Redis or Valkey Cluster for what is hot and short-lived.
//!
//! Domain-free layers below:
//!
//! * [`postgres`]: pooled connections, prepared statements, migrations;
//! * [`redis`]: connections whose answers say who gave them, durable writes gathered before one `WAIT`, scripts, tags;
//! * [`batch`]: group commit;
//! * [`breaker`]: engines that do not answer are not waited for.
//!
//! On them, one module for each trait of the port.

mod assertion;
mod batch;
mod breaker;
mod changes;
#[cfg(feature = "engines")]
pub mod engines;
mod epoch;
mod open;
mod postgres;
mod redis;
mod refresh_token;
mod revocation;
#[cfg(test)]
mod testing;

pub use open::{ClusterError, ClusterOptions};
pub use postgres::{MigrationError, PostgresError, PostgresOptions};
pub use redis::{RedisOptions, ReplicaPolicy};

use std::sync::Arc;

use symbolon_crypto::random::Random;
use symbolon_protocol::time::Timestamp;
use symbolon_store::figures::StoreFigures;

use crate::changes::Changes;
use crate::epoch::Epochs;
use crate::postgres::Postgres;
use crate::redis::Redis;
use crate::refresh_token::Families;
use crate::revocation::Tombstones;

/// The clock, as milliseconds since 1970.
pub type UnixMillis = Arc<dyn Fn() -> u64 + Send + Sync>;

/// The back-end of the port that any number of nodes share.
pub struct ClusterStore {
    postgres: Arc<Postgres>,
    redis: Arc<Redis>,
    figures: Arc<StoreFigures>,
    changes: Arc<Changes>,
    epochs: Arc<Epochs>,
    tombstones: Arc<Tombstones>,
    families: Families,
    assertions: assertion::Marking,
    /// When the database was restored from a backup.
    restored_at: Option<Timestamp>,
    now: UnixMillis,
    random: Arc<dyn Random>,
}

/// How many figures the 1,024 constant slots share.
const SLOT_FIGURES: u32 = 64;

impl ClusterStore {
    /// The shard under whose number an operation on a constant slot is counted.
    fn counted_under(&self, slot: u32) -> u32 {
        slot % SLOT_FIGURES
    }

    /// The time, where the port gives none.
    fn now(&self) -> Timestamp {
        Timestamp::from_millis((self.now)())
    }
}
