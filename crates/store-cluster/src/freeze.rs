//! A frozen store refuses writes, because it is being moved to another back-end or was moved.
//!
//! A row of the table `meta` holds the state. The operation that freezes the store increments the control version too,
//! and returns only when every node follows that version. A node follows once none of its own writes is running: each
//! write holds a [`Pass`] from its first step to its answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deadpool_postgres::GenericClient;
use symbolon_store::StoreError;
use symbolon_store::transfer::{Freeze, FreezeError};
use tokio::time::{sleep, timeout};

use crate::ClusterStore;
use crate::nodes::{LEASE, next_control};
use crate::postgres::{Connection, Statements, column};

/// The key in the table `meta`.
const FROZEN: &str = "frozen";

/// The bit that is set while the store is frozen. The other bits count the running writes.
const CLOSED: u64 = 1 << 63;

/// How often a node that freezes checks whether its running writes have ended.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Admits writes unless the store is frozen, and counts those that are running.
#[derive(Default)]
pub(crate) struct Gate(AtomicU64);

/// Held by a write while it runs.
pub(crate) struct Pass<'a>(&'a Gate);

impl Gate {
    /// Admits a write.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: the store is being moved.
    pub(crate) fn enter(&self) -> Result<Pass<'_>, StoreError> {
        let before = self.0.fetch_add(1, Ordering::AcqRel);
        let pass = Pass(self);
        if before & CLOSED == 0 {
            return Ok(pass);
        }
        drop(pass);
        Err(StoreError::Unavailable(
            "the store takes no writes: it is being moved to another back-end".into(),
        ))
    }

    /// Reads the state from the database and applies it. If the store is frozen, waits until no write of this node
    /// runs.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: a running write takes longer than a lease.
    pub(crate) async fn follow(&self, connection: &Connection) -> Result<(), StoreError> {
        if stored(connection).await? == Freeze::Lifted {
            self.0.fetch_and(!CLOSED, Ordering::AcqRel);
            return Ok(());
        }
        self.0.fetch_or(CLOSED, Ordering::AcqRel);
        let idle = async {
            while self.0.load(Ordering::Acquire) != CLOSED {
                sleep(LOOK_EVERY).await;
            }
        };
        let late =
            |_| StoreError::Unavailable("a write takes longer than the store may wait to be moved".into());
        timeout(LEASE, idle).await.map_err(late)
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The state that the database holds.
pub(crate) async fn stored(database: &Statements<impl GenericClient>) -> Result<Freeze, StoreError> {
    let row = database.first("SELECT value FROM meta WHERE name = $1", &[&FROZEN]).await?;
    let Some(row) = row else { return Ok(Freeze::Lifted) };
    let text: &str = column(&row, 0)?;
    Freeze::parse(text).ok_or_else(|| StoreError::Failed(format!("the table meta says {FROZEN} = {text}")))
}

impl ClusterStore {
    /// Whether writes are refused because the store is being moved, or was.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn frozen(&self) -> Result<Freeze, StoreError> {
        stored(&self.postgres.connection().await?).await
    }

    /// Stores the state and waits until every node follows it. If the store is being frozen and a node lost its lease
    /// within the last minute, also waits until no statement or command of that node can still take effect.
    pub(crate) async fn set_frozen(&self, freeze: Freeze) -> Result<(), FreezeError> {
        let mut connection = self.postgres.connection().await?;
        let transaction = connection.transaction().await?;
        // Locks the control row until the commit, so that no other call freezes or thaws meanwhile.
        let control = next_control(&transaction).await?;
        let found = stored(&transaction).await?;
        if !freeze.may_follow(found) {
            return Err(FreezeError::OutOfOrder { found, wanted: freeze });
        }
        if freeze == Freeze::Lifted {
            transaction.change("DELETE FROM meta WHERE name = $1", &[&FROZEN]).await?;
        } else {
            let put = "INSERT INTO meta (name, value) VALUES ($1, $2)
                       ON CONFLICT (name) DO UPDATE SET value = excluded.value";
            transaction.change(put, &[&FROZEN, &freeze.as_str()]).await?;
        }
        transaction.commit().await?;
        drop(connection);
        self.nodes.followed(control).await?;
        if freeze == Freeze::Migrating && self.nodes.lost_one().await? {
            sleep(self.postgres.settles_within().max(self.redis.timeout())).await;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_gate_lets_nobody_in_and_knows_who_is_inside() {
        let gate = Gate::default();
        let inside = gate.enter().unwrap();
        gate.0.fetch_or(CLOSED, Ordering::AcqRel);
        assert!(matches!(gate.enter(), Err(StoreError::Unavailable(_))));
        assert_eq!(gate.0.load(Ordering::Acquire), CLOSED | 1);
        drop(inside);
        assert_eq!(gate.0.load(Ordering::Acquire), CLOSED);
    }
}
