//! Opening the store: engines, schema, generations, this node's lease.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use symbolon_crypto::random::Random;
use symbolon_figures::StoreFigures;
use symbolon_protocol::time::Timestamp;
use symbolon_store::shard::FirstShards;
use symbolon_store::transfer::Freeze;
use symbolon_store::{Store, StoreError};

use crate::changes::Changes;
use crate::check::{Finding, Level, check};
use crate::complete_primary::CompletePrimaries;
use crate::freeze::{self, Gate};
use crate::generation::Generations;
use crate::nodes::{Nodes, Shared};
use crate::postgres::{Migration, MigrationError, Postgres, PostgresError, PostgresOptions, migrate};
use crate::record::Records;
use crate::redis::{Redis, RedisOptions};
use crate::refresh_token::Families;
use crate::revocation::{Marks, Tombstones};
use crate::session::Uses;
use crate::{ClusterStore, UnixMillis, assertion, revocation};

/// The schema, step by step.
const MIGRATIONS: &[Migration] = &[
    Migration { number: 1, oldest: 1, sql: include_str!("../migrations/0001_records.sql") },
    Migration { number: 2, oldest: 1, sql: include_str!("../migrations/0002_tokens.sql") },
    Migration { number: 3, oldest: 1, sql: include_str!("../migrations/0003_nodes.sql") },
    Migration { number: 4, oldest: 1, sql: include_str!("../migrations/0004_families_of_users.sql") },
];

/// How long a step of the schema may take at least, and the wait for another node's.
const MIGRATION: Duration = Duration::from_secs(60);

/// The name under which the table `meta` tells that every login name is in today's form.
const LOGIN_NAMES: &str = "login_names";

/// The name under which the table `meta` tells that the store is being filled.
pub(crate) const FILLING: &str = "filling";

/// What it tells then.
pub(crate) const UNFINISHED: &str = "unfinished";

/// How to open the store.
pub struct ClusterOptions {
    /// What must last.
    pub postgres: PostgresOptions,
    /// What is hot.
    pub redis: RedisOptions,
    /// Shards at the first start.
    pub shards: FirstShards,
    /// The clock.
    pub now: UnixMillis,
    /// Randomness.
    pub random: Arc<dyn Random>,
    /// Take the clock as it is, though it differs from the database's.
    pub accept_clock: bool,
}

/// Why the store could not be opened.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ClusterError {
    #[error("the engines of the store do not keep what it promises:{}", listed(.0))]
    Refused(Vec<Finding>),
    #[error(
        "a move into this store was begun and not finished: run `symbolon store migrate` again, or drop the database and \
         create it anew"
    )]
    Unfinished,
    #[error(
        "this store was moved to another one and is as it was then: start on that one, or take this one back with \
         `symbolon store thaw --force`, without anything that happened there"
    )]
    Migrated,
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    #[error(transparent)]
    Migration(#[from] MigrationError),
    #[error("Redis cannot be reached: {0}")]
    Redis(#[from] ::redis::RedisError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ClusterStore {
    /// Examines both engines, connects to them and brings the schema up to date. Needs a tokio runtime, on which its tasks go on.
    ///
    /// # Errors
    /// [`ClusterError`]: an engine is out of reach or wrongly set, the schema is of a newer program, or the store is
    /// being filled.
    pub async fn open(options: ClusterOptions) -> Result<Self, ClusterError> {
        let store = Self::open_whatever_moves(options).await?;
        let ready = match store.check_moves().await {
            Ok(()) => store.bring_up_records().await.map_err(ClusterError::from),
            Err(error) => Err(error),
        };
        match ready {
            Ok(()) => Ok(store),
            Err(error) => {
                drop(Store::close(&store).await);
                Err(error)
            }
        }
    }

    /// Brings records of earlier versions up to date.
    async fn bring_up_records(&self) -> Result<(), StoreError> {
        self.once(LOGIN_NAMES, self.records.normalize_login_names()).await?;
        self.list_families().await
    }

    /// Refuses a store that is not whole.
    async fn check_moves(&self) -> Result<(), ClusterError> {
        let connection = self.postgres.connection().await?;
        let said = connection.first("SELECT value FROM meta WHERE name = $1", &[&FILLING]).await?;
        if said.is_some() {
            return Err(ClusterError::Unfinished);
        }
        match freeze::stored(&connection).await? {
            Freeze::Migrated => Err(ClusterError::Migrated),
            Freeze::Migrating => {
                tracing::warn!(
                    target: "symbolon::store",
                    "this store is being moved to another one: reads are answered, writes are refused \
                     (`symbolon store thaw` ends that)"
                );
                Ok(())
            }
            Freeze::Lifted => Ok(()),
        }
    }

    /// As [`open`](Self::open), also where the store is being moved: for whoever moves it.
    ///
    /// # Errors
    /// [`ClusterError`].
    pub async fn open_whatever_moves(options: ClusterOptions) -> Result<Self, ClusterError> {
        heed(check(&options).await)?;
        let figures = Arc::new(StoreFigures::new());
        let postgres = Arc::new(Postgres::new(&options.postgres, &figures)?);
        migrate(&Postgres::new(&patient(&options.postgres), &figures)?, MIGRATIONS).await?;
        let redis = Arc::new(Redis::connect(&options.redis).await?);
        let (changes, words) = Changes::new();
        let changes = Arc::new(changes);
        let gate = Arc::new(Gate::default());
        let records = Records::new(&postgres, &figures, &changes, &gate);
        let now = Timestamp::from_millis((options.now)());
        let connection = postgres.connection().await?;
        let generations = Arc::new(Generations::load(&connection, options.shards, now, &figures).await?);
        drop(connection);
        let shared = Shared {
            postgres: Arc::clone(&postgres),
            redis: Arc::clone(&redis),
            changes: Arc::clone(&changes),
            generations: Arc::clone(&generations),
            gate: Arc::clone(&gate),
            now: Arc::clone(&options.now),
            accept_clock: options.accept_clock,
        };
        let nodes = Nodes::join(shared, options.redis.urls, words, &*options.random).await?;
        let restored_at = revocation::restored_at(&postgres).await?;
        let complete_primaries = CompletePrimaries::new(&postgres, Marks::new(&redis, &options.now));
        let tombstones = Tombstones::start(&postgres, &complete_primaries);
        let families = Families::start(&postgres, &tombstones);
        let assertions = assertion::start(&postgres);
        crate::room::set_bounds(figures.assertion_room());
        Ok(Self {
            postgres,
            redis,
            figures,
            changes,
            generations,
            nodes,
            gate,
            uses: Uses::new(),
            swept: AtomicU32::new(0),
            redis_room: crate::room::RedisRoom::default(),
            complete_primaries,
            tombstones,
            families,
            assertions,
            restored_at,
            records,
            now: options.now,
            random: options.random,
        })
    }
}

/// For the schema: many tables at a time, and nodes that start together wait for the one that makes them.
fn patient(options: &PostgresOptions) -> PostgresOptions {
    PostgresOptions { connections: 1, timeout: options.timeout.max(MIGRATION), ..options.clone() }
}

/// Refuses what no waiting mends, and tells the rest: a node that starts while a replica is away goes on when it is back.
fn heed(findings: Vec<Finding>) -> Result<(), ClusterError> {
    let (refused, told): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| finding.level == Level::Refused);
    for Finding { what, mend, .. } in told.iter().filter(|finding| finding.level > Level::Fine) {
        tracing::warn!(target: "symbolon::store", mend, "{what}");
    }
    if refused.is_empty() { Ok(()) } else { Err(ClusterError::Refused(refused)) }
}

/// A line for each.
fn listed(findings: &[Finding]) -> String {
    findings.iter().map(|finding| format!("\n- {}. Mend: {}", finding.what, finding.mend)).collect()
}
