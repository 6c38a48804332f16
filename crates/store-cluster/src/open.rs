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
use crate::share::Shares;
use crate::{ClusterStore, UnixMillis, assertion, email_code, revocation};

/// The migrations that make up the schema.
const MIGRATIONS: &[Migration] = &[
    Migration { number: 1, oldest: 1, sql: include_str!("../migrations/0001_records.sql") },
    Migration { number: 2, oldest: 1, sql: include_str!("../migrations/0002_tokens.sql") },
    Migration { number: 3, oldest: 1, sql: include_str!("../migrations/0003_nodes.sql") },
    Migration { number: 4, oldest: 1, sql: include_str!("../migrations/0004_families_of_users.sql") },
    Migration { number: 5, oldest: 1, sql: include_str!("../migrations/0005_groups.sql") },
    Migration { number: 6, oldest: 1, sql: include_str!("../migrations/0006_user_attributes.sql") },
    Migration { number: 7, oldest: 1, sql: include_str!("../migrations/0007_refusals.sql") },
    Migration { number: 8, oldest: 1, sql: include_str!("../migrations/0008_authenticators.sql") },
    Migration { number: 9, oldest: 1, sql: include_str!("../migrations/0009_deliveries.sql") },
    Migration { number: 10, oldest: 1, sql: include_str!("../migrations/0010_identities.sql") },
    Migration { number: 11, oldest: 1, sql: include_str!("../migrations/0011_logos.sql") },
    Migration { number: 12, oldest: 1, sql: include_str!("../migrations/0012_invitations.sql") },
    Migration { number: 13, oldest: 1, sql: include_str!("../migrations/0013_email_codes.sql") },
];

/// The shortest timeout during migrations, for a statement and for the wait for another node that migrates.
const MIGRATION: Duration = Duration::from_secs(60);

/// The key in the table `meta` which says that every login name is in its current normalized form.
const LOGIN_NAMES: &str = "login_names";

/// The key in the table `meta` which says that an import into this store is not finished.
pub(crate) const FILLING: &str = "filling";

/// The value of [`FILLING`].
pub(crate) const UNFINISHED: &str = "unfinished";

/// How to open the store.
pub struct ClusterOptions {
    /// Where durable state is kept.
    pub postgres: PostgresOptions,
    /// Where short-lived state is kept.
    pub redis: RedisOptions,
    /// How many shards each kind gets at the first start.
    pub shards: FirstShards,
    /// The clock.
    pub now: UnixMillis,
    /// Randomness.
    pub random: Arc<dyn Random>,
    /// Whether to run even if this node's clock differs from the database's.
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

/// Brings the schema of a database up to date, with `most_partitions` of a table at most.
pub(crate) async fn migrate_schema(
    options: &PostgresOptions,
    most_partitions: u32,
) -> Result<(), ClusterError> {
    let postgres = Postgres::new(options, &Arc::new(StoreFigures::new()))?;
    Ok(migrate(&postgres, MIGRATIONS, most_partitions).await?)
}

impl ClusterStore {
    /// Checks both engines, connects to them and migrates the schema. Needs a tokio runtime, on which the store's
    /// background tasks run.
    ///
    /// # Errors
    /// [`ClusterError`]: an engine cannot be reached or has an unsuitable setting, the schema belongs to a newer
    /// release, an import into this store is not finished, or the store was moved to another back-end.
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

    /// Brings records that earlier releases wrote up to date: login names, and the lists of users' refresh-token
    /// families.
    async fn bring_up_records(&self) -> Result<(), StoreError> {
        self.once(LOGIN_NAMES, self.records.normalize_login_names()).await?;
        self.list_families().await
    }

    /// Refuses a store whose import is not finished, and one that was moved to another back-end.
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

    /// As [`open`](Self::open), but accepts a store whose import is not finished or that was moved, and does not update
    /// older records: for the commands that move a store.
    ///
    /// # Errors
    /// [`ClusterError`].
    pub async fn open_whatever_moves(options: ClusterOptions) -> Result<Self, ClusterError> {
        heed(check(&options).await)?;
        let figures = Arc::new(StoreFigures::new());
        let postgres = Arc::new(Postgres::new(&options.postgres, &figures)?);
        migrate_schema(&patient(&options.postgres), u32::MAX).await?;
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
        let email_codes = email_code::start(&postgres);
        crate::room::set_bounds(&figures);
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
            shares: Shares::new(),
            complete_primaries,
            tombstones,
            families,
            assertions,
            email_codes,
            restored_at,
            records,
            now: options.now,
            random: options.random,
        })
    }
}

/// Options for migrations: a long timeout, because they create many tables, and because nodes that start together wait
/// for the one that runs them.
fn patient(options: &PostgresOptions) -> PostgresOptions {
    PostgresOptions { connections: 1, timeout: options.timeout.max(MIGRATION), ..options.clone() }
}

/// Fails on findings that only an operator can mend, and logs the other ones. A node may start while a replica is away,
/// because the replica can come back by itself.
fn heed(findings: Vec<Finding>) -> Result<(), ClusterError> {
    let (refused, told): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| finding.level == Level::Refused);
    for Finding { what, mend, .. } in told.iter().filter(|finding| finding.level > Level::Fine) {
        tracing::warn!(target: "symbolon::store", mend, "{what}");
    }
    if refused.is_empty() { Ok(()) } else { Err(ClusterError::Refused(refused)) }
}

/// One line for each finding.
fn listed(findings: &[Finding]) -> String {
    findings.iter().map(|finding| format!("\n- {}. Mend: {}", finding.what, finding.mend)).collect()
}
