//! The heartbeat: follows the control version, renews the lease, looks at the others.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use symbolon_store::StoreError;
use symbolon_store::port::Changed;
use tokio::time::{Instant, sleep, timeout};

use super::peers::Lease;
use super::{LEASE, Nodes, RENEW_EVERY};
use crate::postgres::{Connection, column};

const CONTROL: &str = "SELECT version, CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)
                       FROM control WHERE id = 1";
const RENEW: &str = "INSERT INTO leases (node, until, closed, told, seen, version)
                     VALUES ($1, now() + interval '2 seconds', false, $2, $3, $4)
                     ON CONFLICT (node) DO UPDATE
                     SET until = excluded.until, told = excluded.told, seen = excluded.seen";
const OTHERS: &str = "SELECT node, told, closed, until > now() FROM leases WHERE node <> $1";

/// Renews the lease until told to stop: in time, and at once when there is something to follow.
pub(super) async fn beats(nodes: Arc<Nodes>) {
    let mut stopping = nodes.stopping.subscribe();
    loop {
        tokio::select! {
            biased;
            _ = stopping.wait_for(|stop| *stop) => return,
            () = nodes.wake.notified() => {}
            () = sleep(RENEW_EVERY) => {}
        }
        if let Err(error) = nodes.beat(false).await {
            tracing::warn!(target: "symbolon::store", %error, "the lease was not renewed");
        }
    }
}

impl Nodes {
    /// One beat. At the `start` nothing is remembered that could be out of date.
    pub(super) async fn beat(&self, start: bool) -> Result<(), StoreError> {
        let connection = self.shared.postgres.connection().await?;
        let mut control = self.control(&connection).await?;
        loop {
            if control > self.seen.load(Ordering::Acquire) {
                self.follow(&connection, control, start).await?;
            }
            let asked = self.renew(&connection).await?;
            // Where this node had no lease, whoever changed something meanwhile did not wait for it.
            control = self.control(&connection).await?;
            if self.holds_lease() || control <= self.seen.load(Ordering::Acquire) {
                self.hold_lease(asked);
                break;
            }
        }
        let rows = connection.all(OTHERS, &[&self.node]).await?;
        let lease = |row: &tokio_postgres::Row| {
            Ok(Lease {
                node: column(row, 0)?,
                told: column(row, 1)?,
                closed: column(row, 2)?,
                live: column(row, 3)?,
            })
        };
        let leases = rows.iter().map(lease).collect::<Result<Vec<_>, StoreError>>()?;
        if self.peers.compare(&leases, start) {
            self.missed("a message of another node was lost");
            self.resubscribe.notify_one();
        }
        Ok(())
    }

    /// The control version, and the database's clock by the way.
    async fn control(&self, connection: &Connection) -> Result<i64, StoreError> {
        let asked = self.passed();
        let Some(row) = connection.first(CONTROL, &[]).await? else {
            return Err(StoreError::Failed("the control version is missing".into()));
        };
        let (control, database_clock): (i64, i64) = (column(&row, 0)?, column(&row, 1)?);
        // It was read at some moment between question and answer.
        let read_at = i64::midpoint(asked, self.passed());
        self.origin.store(database_clock.saturating_sub(read_at), Ordering::Relaxed);
        Ok(control)
    }

    /// Takes over what every node must know. A lease is only renewed by those who do.
    async fn follow(&self, connection: &Connection, control: i64, start: bool) -> Result<(), StoreError> {
        self.shared.generations.reload(connection).await?;
        self.shared.gate.follow(connection).await?;
        if !start {
            let following = self.shared.changes.apply_and_follow(&Changed::Issuers);
            let late =
                |_| StoreError::Unavailable("keys and settings could not be read again in time".into());
            timeout(LEASE, following).await.map_err(late)?;
        }
        self.seen.fetch_max(control, Ordering::AcqRel);
        Ok(())
    }

    /// Renews the lease in the database; when that was asked for.
    async fn renew(&self, connection: &Connection) -> Result<Instant, StoreError> {
        let asked = Instant::now();
        let (told, seen) = (self.told.load(Ordering::Acquire), self.seen.load(Ordering::Acquire));
        // `families_of_users` tells by the second word which nodes know that table.
        let version = concat!(env!("CARGO_PKG_VERSION"), " schema 4");
        connection.change(RENEW, &[&self.node, &told, &seen, &version]).await?;
        Ok(asked)
    }

    /// Serves from now on. Counted from before the database was asked: it cannot have begun to count earlier.
    fn hold_lease(&self, asked: Instant) {
        if *self.stopping.borrow() {
            return;
        }
        let until = asked.duration_since(self.began) + LEASE;
        self.lease.fetch_max(u64::try_from(until.as_millis()).unwrap_or(0), Ordering::AcqRel);
    }

    /// Drops everything that this node remembers.
    pub(super) fn missed(&self, why: &str) {
        tracing::info!(target: "symbolon::store", why, "the caches were dropped");
        self.shared.changes.apply(&Changed::Everything);
    }
}
