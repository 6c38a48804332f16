//! A store that takes no writes, because it is being moved to another back-end or was.
//!
//! The table `meta` says so, and the control version makes every node follow before whoever froze it is answered. A node
//! follows when none of its own writes is under way any more: each holds a pass from its first step to its answer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deadpool_postgres::GenericClient;
use symbolon_store::StoreError;
use symbolon_store::transfer::{Freeze, FreezeError};
use tokio::time::{sleep, timeout};

use crate::ClusterStore;
use crate::nodes::{LEASE, next_control};
use crate::postgres::{Connection, Statements, column};

/// The name in the table `meta`.
const FROZEN: &str = "frozen";

/// The bit that stands for a frozen store; the others count the writes that are under way.
const CLOSED: u64 = 1 << 63;

/// How often it is looked whether one is.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// What writes pass through.
#[derive(Default)]
pub(crate) struct Gate(AtomicU64);

/// A write under way.
pub(crate) struct Pass<'a>(&'a Gate);

impl Gate {
    /// Begins a write.
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

    /// Takes over what the database says; returns when no write is under way that it does not allow.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: one takes longer than a lease.
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

/// What the database says.
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

    /// Puts it down and waits until every node follows, and until nothing of a node that lost its lease meanwhile can be
    /// under way in the database.
    pub(crate) async fn set_frozen(&self, freeze: Freeze) -> Result<(), FreezeError> {
        let mut connection = self.postgres.connection().await?;
        let transaction = connection.transaction().await?;
        // Held to the end: nobody else freezes or thaws meanwhile.
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
