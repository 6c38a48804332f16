//! The store of many nodes: PostgreSQL for what must last, Redis or Valkey Cluster for what is hot and short-lived.
//!
//! Domain-free layers below:
//!
//! * [`postgres`]: pooled connections, prepared statements, migrations;
//! * [`redis`]: connections whose answers say who gave them, durable writes gathered before one `WAIT`, scripts, tags;
//! * [`batch`]: group commit;
//! * [`breaker`]: engines that do not answer are not waited for;
//! * [`check`]: whether they keep what the store promises, before it is opened.
//!
//! On them, one module for each trait of the port.

mod batch;
mod breaker;
mod changes;
mod check;
#[cfg(feature = "engines")]
pub mod engines;
mod open;
mod postgres;
mod redis;

pub use check::{Finding, Level, check};
pub use open::{ClusterError, ClusterOptions};
pub use postgres::{MigrationError, PostgresError, PostgresOptions};
pub use redis::{RedisOptions, ReplicaPolicy};

use std::sync::Arc;

use symbolon_crypto::random::Random;
use symbolon_protocol::time::Timestamp;
use symbolon_store::figures::StoreFigures;

use crate::changes::Changes;
use crate::postgres::Postgres;
use crate::redis::Redis;

/// The clock, as milliseconds since 1970.
pub type UnixMillis = Arc<dyn Fn() -> u64 + Send + Sync>;

/// The back-end of the port that any number of nodes share.
pub struct ClusterStore {
    postgres: Arc<Postgres>,
    redis: Arc<Redis>,
    figures: Arc<StoreFigures>,
    changes: Arc<Changes>,
    now: UnixMillis,
    random: Arc<dyn Random>,
}

impl ClusterStore {
    /// The time, where the port gives none.
    fn now(&self) -> Timestamp {
        Timestamp::from_millis((self.now)())
    }
}
