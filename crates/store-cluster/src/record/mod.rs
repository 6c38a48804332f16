//! Durable records in PostgreSQL: issuers, keys, settings, clients, users, consents, groups, roles and the audit log.
//!
//! Records are JSON documents with a column for whatever is looked up, compared or unique. Clients, users, consents,
//! and the groups and roles of users are read through [caches](symbolon_store::cache). A write holds the entries that
//! it changes until it is announced, on this node and, by a [message](crate::changes), on the others.

mod audit;
mod audit_size;
mod authenticators;
mod client;
mod consent;
mod delivery;
mod entitlement;
mod entitlement_count;
mod group;
mod group_creation;
mod identity;
mod import;
mod invitation;
mod issuer;
mod link;
mod link_listing;
mod listing;
mod login_name;
mod logo;
mod reseal;
mod role;
mod role_creation;
mod text;
mod user;
mod user_attribute;
mod user_creation;
mod user_row;

pub(crate) use delivery::delivery;
pub(crate) use identity::identity;
pub(crate) use logo::logo;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use symbolon_figures::{StoreFigures, StoreKind};
use symbolon_store::StoreError;
use symbolon_store::cache::RecordCaches;
use symbolon_store::columns::millis;
use symbolon_store::port::Changed;
use tokio_postgres::Row;

use crate::changes::Changes;
use crate::failed;
use crate::freeze::Gate;
use crate::postgres::{Connection, Parameter, Postgres};

/// How often a write that conflicts with another transaction is repeated.
const TRIES: u32 = 5;

/// The pause before the first repetition; each later pause is twice as long.
const PAUSE: Duration = Duration::from_millis(5);

/// The result of a write. `None`: nothing was written, because the record is not as the caller had read it.
type Written<T> = Result<Option<T>, StoreError>;

/// Why a write failed.
enum Failure {
    /// Nothing was written.
    Refused(StoreError),
    /// It may have been written, or may still be.
    Unknown(StoreError),
}

impl Failure {
    /// The error for the caller, who may try again in either case.
    fn into_error(self) -> StoreError {
        match self {
            Self::Refused(error) | Self::Unknown(error) => error,
        }
    }
}

/// The database and its caches.
pub(crate) struct Records {
    postgres: Arc<Postgres>,
    figures: Arc<StoreFigures>,
    changes: Arc<Changes>,
    caches: Arc<RecordCaches>,
    gate: Arc<Gate>,
}

impl Records {
    /// Starts with empty caches. Every change that `changes` announces from now on removes its entries.
    pub(crate) fn new(
        postgres: &Arc<Postgres>,
        figures: &Arc<StoreFigures>,
        changes: &Arc<Changes>,
        gate: &Arc<Gate>,
    ) -> Arc<Self> {
        let caches = Arc::new(RecordCaches::new(figures));
        let dropped = Arc::clone(&caches);
        changes.listen(Box::new(move |changed| {
            dropped.forget(changed);
            Box::pin(std::future::ready(()))
        }));
        let (postgres, figures, changes) = (Arc::clone(postgres), Arc::clone(figures), Arc::clone(changes));
        Arc::new(Self { postgres, figures, changes, caches, gate: Arc::clone(gate) })
    }

    /// Counts an operation of a kind and its time.
    async fn measured<T>(
        &self,
        kind: StoreKind,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let timer = self.figures.kind(kind).start(0);
        let result = work.await;
        timer.finish(matches!(result, Ok(_) | Err(StoreError::Conflict)));
        result
    }

    /// Reads one row.
    async fn first(
        &self,
        kind: StoreKind,
        sql: &str,
        values: &[Parameter<'_>],
    ) -> Result<Option<Row>, StoreError> {
        self.measured(kind, async { self.postgres.connection().await?.first(sql, values).await }).await
    }

    /// Reads rows.
    async fn all(
        &self,
        kind: StoreKind,
        sql: &str,
        values: &[Parameter<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        self.measured(kind, async { self.postgres.connection().await?.all(sql, values).await }).await
    }

    /// Writes records that are not cached. Durable on return.
    async fn write<T, F>(&self, kind: StoreKind, work: impl Fn(Connection) -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Written<T>>,
    {
        // Audit records are written even while the store is being moved, because nodes still answer requests.
        let _pass = (kind != StoreKind::Audit).then(|| self.gate.enter()).transpose()?;
        self.measured(kind, async {
            let connection = self.postgres.connection().await?;
            self.attempt(connection, work).await.map_err(Failure::into_error)
        })
        .await
    }

    /// Writes, and announces the change once it is durable, even if the caller is gone by then: the caches must drop
    /// the old record whether or not a caller waits.
    async fn change<T, F>(
        self: &Arc<Self>,
        kind: StoreKind,
        changed: Changed,
        work: impl Fn(Connection) -> F + Send + Sync + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Written<T>> + Send + 'static,
    {
        self.change_all(kind, vec![changed], work).await
    }

    /// Like [`change`](Self::change), for a write that changes more than one thing.
    async fn change_all<T, F>(
        self: &Arc<Self>,
        kind: StoreKind,
        changed: Vec<Changed>,
        work: impl Fn(Connection) -> F + Send + Sync + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Written<T>> + Send + 'static,
    {
        let _pass = self.gate.enter()?;
        let records = Arc::clone(self);
        let task = tokio::spawn(async move {
            let connection = records.postgres.connection().await?;
            let _held: Vec<_> = changed.iter().map(|changed| records.caches.hold(changed)).collect();
            let result = records.attempt(connection, work).await;
            match &result {
                Ok(_) => changed.iter().for_each(|changed| records.changes.announce(changed)),
                // Another node may have changed the record, and its message may not have arrived yet.
                Err(Failure::Refused(StoreError::Conflict)) => {
                    changed.iter().for_each(|changed| records.caches.forget(changed));
                }
                Err(Failure::Refused(_)) => {}
                Err(Failure::Unknown(_)) => {
                    changed.iter().cloned().for_each(|changed| records.announce_in_doubt(changed));
                }
            }
            result.map_err(Failure::into_error)
        });
        self.measured(kind, async { task.await.map_err(failed)? }).await
    }

    /// Repeats a write while it conflicts with other transactions, each time on a new connection.
    async fn attempt<T, F>(
        &self,
        mut connection: Connection,
        work: impl Fn(Connection) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Written<T>>,
    {
        let mut tries = 0;
        loop {
            match work(connection).await {
                Ok(Some(value)) => return Ok(value),
                Err(StoreError::Conflict) if tries < TRIES => {
                    tokio::time::sleep(PAUSE * 2_u32.pow(tries)).await;
                    tries += 1;
                    connection = self.postgres.connection().await.map_err(Failure::Refused)?;
                }
                Ok(None) | Err(StoreError::Conflict) => return Err(Failure::Refused(StoreError::Conflict)),
                Err(error) => return Err(Failure::Unknown(error)),
            }
        }
    }

    /// Announces a change that may have been written, at once and again when the database must have finished or given up.
    /// Without the second time, a reader between the first announcement and a late commit would keep the older record in its
    /// cache.
    fn announce_in_doubt(&self, changed: Changed) {
        self.changes.announce(&changed);
        let (changes, settled) = (Arc::clone(&self.changes), self.postgres.settles_within());
        tokio::spawn(async move {
            tokio::time::sleep(settled).await;
            changes.announce(&changed);
        });
    }
}

/// One column of many rows, for `unnest`.
fn each<'a, R, T>(rows: &'a [R], of: impl Fn(&'a R) -> T) -> Vec<T> {
    rows.iter().map(of).collect()
}
