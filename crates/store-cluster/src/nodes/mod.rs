//! The nodes of one store. Each holds a lease in PostgreSQL, tells the others which records it changed, and drops its
//! caches when it may have missed a message of another node.
//!
//! Messages go through Redis at once, but may be lost. So each node numbers its messages and writes the last number
//! into its lease; a node that has received fewer drops its caches. A change that every node must know before the
//! caller is answered increments the control version in its own transaction. The answer then waits until every lease
//! says that its node follows that version, or has run out. A node whose lease has run out serves nothing that depends
//! on its caches.

mod heartbeat;
mod peers;
mod word;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use symbolon_crypto::SecretString;
use symbolon_crypto::random::{self, Random};
use symbolon_store::StoreError;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, timeout};

use crate::UnixMillis;
use crate::changes::{Changes, Word};
use crate::freeze::Gate;
use crate::generation::Generations;
use crate::postgres::{Postgres, Transaction, column};
use crate::redis::Redis;
use peers::Peers;

/// How long a node may serve after it has renewed its lease.
pub(crate) const LEASE: Duration = Duration::from_secs(2);

/// How often a lease is renewed.
const RENEW_EVERY: Duration = Duration::from_millis(500);

/// How often a change checks whether every node follows it.
const ASK_EVERY: Duration = Duration::from_millis(5);

/// How long a change waits for that: every lease that is not renewed has run out long before.
const FOLLOWED_WITHIN: Duration = Duration::from_secs(8);

/// How long the first subscription may take, with all seeds together.
const LISTENING_WITHIN: Duration = Duration::from_secs(10);

/// How far this node's clock may be from the database's.
pub(crate) const CLOCK_SKEW: Duration = Duration::from_secs(10);

/// The parts of the store that heartbeats and messages need.
pub(crate) struct Shared {
    pub(crate) postgres: Arc<Postgres>,
    pub(crate) redis: Arc<Redis>,
    pub(crate) changes: Arc<Changes>,
    pub(crate) generations: Arc<Generations>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) now: UnixMillis,
    pub(crate) accept_clock: bool,
}

/// This node as a member of the store.
pub(crate) struct Nodes {
    shared: Shared,
    node: String,
    began: Instant,
    /// Until when this node may serve, in milliseconds after `began`.
    lease: AtomicU64,
    told: AtomicI64,
    seen: AtomicI64,
    /// The database's clock at `began`, in milliseconds since 1970.
    origin: AtomicI64,
    peers: Peers,
    wake: Notify,
    resubscribe: Notify,
    stopping: watch::Sender<bool>,
}

/// Increments the control version, which every node must follow before the change is answered. Locks the control row:
/// other callers wait until this transaction ends.
pub(crate) async fn next_control(transaction: &Transaction<'_>) -> Result<i64, StoreError> {
    let count = "UPDATE control SET version = version + 1 WHERE id = 1 RETURNING version";
    match transaction.change_returning(count, &[]).await?.first() {
        Some(row) => column(row, 0),
        None => Err(StoreError::Failed("the control version is missing".into())),
    }
}

impl Nodes {
    /// Joins: subscribes to the messages of the others, and holds a lease on return.
    pub(crate) async fn join(
        shared: Shared,
        seeds: Vec<SecretString>,
        words: mpsc::UnboundedReceiver<Word>,
        random: &dyn Random,
    ) -> Result<Arc<Self>, StoreError> {
        let nodes = Arc::new(Self {
            shared,
            node: random::token_128(random).to_string(),
            began: Instant::now(),
            lease: AtomicU64::new(0),
            told: AtomicI64::new(0),
            seen: AtomicI64::new(-1),
            origin: AtomicI64::new(0),
            peers: Peers::default(),
            wake: Notify::new(),
            resubscribe: Notify::new(),
            stopping: watch::Sender::new(false),
        });
        let (subscribed, listening) = oneshot::channel();
        tokio::spawn(word::tell(Arc::clone(&nodes), words));
        tokio::spawn(word::listen(Arc::clone(&nodes), seeds, subscribed));
        // Messages before this moment are not needed, because nothing is cached yet. All later ones are received.
        let unheard = || StoreError::Unavailable("Redis: the other nodes cannot be listened to".into());
        timeout(LISTENING_WITHIN, listening).await.map_err(|_| unheard())?.map_err(|_| unheard())?;
        nodes.beat(true).await?;
        tokio::spawn(heartbeat::beats(Arc::clone(&nodes)));
        Ok(nodes)
    }

    /// Whether this node may serve what depends on its caches and its clock. The clock is compared with the database's
    /// clock at the last heartbeat plus the time elapsed since, so a clock that jumps is noticed at once.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: its lease has run out, or its clock differs too much from the database's.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let passed = self.passed();
        if !self.shared.accept_clock {
            let right = self.origin.load(Ordering::Relaxed).saturating_add(passed);
            let skew = (self.shared.now)().cast_signed().saturating_sub(right);
            if u128::from(skew.unsigned_abs()) > CLOCK_SKEW.as_millis() {
                return Err(wrong_clock(skew));
            }
        }
        if self.holds_lease() {
            return Ok(());
        }
        Err(StoreError::Unavailable("this node could not renew its lease in PostgreSQL".into()))
    }

    fn holds_lease(&self) -> bool {
        self.lease.load(Ordering::Acquire) > self.passed().unsigned_abs()
    }

    /// Milliseconds since `began`.
    fn passed(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX)
    }

    /// Waits until every node with a lease follows a control version. The change must be committed already.
    pub(crate) async fn followed(&self, control: i64) -> Result<(), StoreError> {
        self.shared.changes.tell_others(None);
        let late = "SELECT count(*) FROM leases WHERE until > now() AND NOT closed AND seen < $1";
        let began = Instant::now();
        loop {
            self.wake.notify_one();
            let connection = self.shared.postgres.connection().await?;
            let row = connection.first(late, &[&control]).await?;
            drop(connection);
            let late: i64 = row.map_or(Ok(1), |row| column(&row, 0))?;
            if late == 0 {
                return Ok(());
            }
            if began.elapsed() > FOLLOWED_WITHIN {
                let text =
                    format!("{late} nodes hold a lease but do not follow the change, which is committed");
                return Err(StoreError::Unavailable(text));
            }
            sleep(ASK_EVERY).await;
        }
    }

    /// Whether every message of another node was received.
    #[cfg(feature = "engines")]
    pub(crate) fn has_heard(&self, other: &Self) -> bool {
        other.shared.changes.all_sent() && self.peers.heard(&other.node) >= other.told.load(Ordering::Acquire)
    }

    /// How many other nodes hold a lease. Waits while there are any, for up to two leases, so that those of crashed
    /// nodes run out.
    pub(crate) async fn others_after_a_lease(&self) -> Result<i64, StoreError> {
        let others = "SELECT count(*) FROM leases WHERE until > now() AND node <> $1";
        let began = Instant::now();
        loop {
            let row = self.shared.postgres.connection().await?.first(others, &[&self.node]).await?;
            let others: i64 = row.map_or(Ok(0), |row| column(&row, 0))?;
            if others == 0 || began.elapsed() > LEASE * 2 {
                return Ok(others);
            }
            sleep(RENEW_EVERY).await;
        }
    }

    /// Whether a node lost its lease within the last minute without giving it back: what that node began may still be
    /// running.
    pub(crate) async fn lost_one(&self) -> Result<bool, StoreError> {
        let lost = "SELECT 1 FROM leases WHERE until <= now() AND until > now() - interval '1 minute' AND NOT closed LIMIT 1";
        Ok(self.shared.postgres.connection().await?.first(lost, &[]).await?.is_some())
    }

    /// Deletes leases that ran out long ago.
    pub(crate) async fn forget_the_dead(&self) -> Result<(), StoreError> {
        let connection = self.shared.postgres.connection().await?;
        connection.change("DELETE FROM leases WHERE until < now() - interval '1 minute'", &[]).await?;
        Ok(())
    }

    /// Gives the lease back, once.
    pub(crate) async fn leave(&self) -> Result<(), StoreError> {
        if self.stopping.send_replace(true) {
            return Ok(());
        }
        self.lease.store(0, Ordering::Release);
        // If all messages were sent, the others cannot have missed any, and need not drop their caches.
        let closed = self.shared.changes.all_sent();
        let leave = "UPDATE leases SET until = now(), closed = $2, told = $3 WHERE node = $1";
        let connection = self.shared.postgres.connection().await?;
        connection.change(leave, &[&self.node, &closed, &self.told.load(Ordering::Acquire)]).await?;
        Ok(())
    }
}

/// The error for a clock that differs from the database's by this many milliseconds.
fn wrong_clock(skew: i64) -> StoreError {
    let direction = if skew > 0 { "ahead of" } else { "behind" };
    StoreError::Unavailable(format!(
        "the clock of this node is {:.1} s {direction} the database's: set the clocks by NTP",
        skew.unsigned_abs() as f64 / 1_000.0
    ))
}
