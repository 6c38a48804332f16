//! The heartbeat: follows the control version, renews this node's lease, and reads the leases of the others.

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

/// Runs a heartbeat at intervals, and at once when there is a change to follow, until the node stops.
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
    /// One heartbeat. At the `start` nothing is cached yet that could be out of date.
    pub(super) async fn beat(&self, start: bool) -> Result<(), StoreError> {
        let connection = self.shared.postgres.connection().await?;
        let mut control = self.control(&connection).await?;
        loop {
            if control > self.seen.load(Ordering::Acquire) {
                self.follow(&connection, control, start).await?;
            }
            let asked = self.renew(&connection).await?;
            // Changes that were made while this node had no lease did not wait for it. So the version is read again
            // after the renewal, and the node serves only once it follows it.
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

    /// Reads the control version. The same query returns the database's clock, which is stored too.
    async fn control(&self, connection: &Connection) -> Result<i64, StoreError> {
        let asked = self.passed();
        let Some(row) = connection.first(CONTROL, &[]).await? else {
            return Err(StoreError::Failed("the control version is missing".into()));
        };
        let (control, database_clock): (i64, i64) = (column(&row, 0)?, column(&row, 1)?);
        // The database read its clock at some moment between query and answer; the middle is assumed.
        let read_at = i64::midpoint(asked, self.passed());
        self.origin.store(database_clock.saturating_sub(read_at), Ordering::Relaxed);
        Ok(control)
    }

    /// Applies the changes that every node must know. A node that has not applied them does not renew its lease.
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

    /// Renews the lease in the database. Returns the time just before the query was sent.
    async fn renew(&self, connection: &Connection) -> Result<Instant, StoreError> {
        let asked = Instant::now();
        let (told, seen) = (self.told.load(Ordering::Acquire), self.seen.load(Ordering::Acquire));
        // The word `schema` shows newer nodes that this one writes the table `families_of_users`: see `earlier.rs`.
        let version = concat!(env!("CARGO_PKG_VERSION"), " schema 4");
        connection.change(RENEW, &[&self.node, &told, &seen, &version]).await?;
        Ok(asked)
    }

    /// Lets this node serve until the lease runs out. The lease is counted from before the query was sent, because the
    /// database cannot have started it earlier.
    fn hold_lease(&self, asked: Instant) {
        if *self.stopping.borrow() {
            return;
        }
        let until = asked.duration_since(self.began) + LEASE;
        self.lease.fetch_max(u64::try_from(until.as_millis()).unwrap_or(0), Ordering::AcqRel);
    }

    /// Drops all cached records of this node.
    pub(super) fn missed(&self, why: &str) {
        tracing::info!(target: "symbolon::store", why, "the caches were dropped");
        self.shared.changes.apply(&Changed::Everything);
    }
}
