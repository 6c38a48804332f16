//! Long-lived records, in the database: issuers, keys, settings, clients, users, consents, groups, roles and the audit
//! log.
//!
//! Records are JSON documents, with a column for each value that is looked up, compared or unique. Clients, users,
//! consents, and the groups and roles of users are read through [caches](symbolon_store::cache). While a write is under
//! way, its entries are held out of the caches until the change is announced.

mod audit;
mod authenticators;
mod client;
mod consent;
mod delivery;
mod entitlement;
mod group;
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
mod statement;
mod user;
mod user_attribute;

#[cfg(test)]
mod plan;
#[cfg(test)]
mod tests;

pub(crate) use audit::each_document as each_audit_document;
pub(crate) use delivery::{ALL as DELIVERIES, delivery};
pub(crate) use identity::{ALL as IDENTITIES, identity};
pub(crate) use invitation::ALL as INVITATIONS;
pub(crate) use issuer::{issuers, keys_and_settings};
pub(crate) use logo::{ALL as LOGOS, logo};

use std::future::Future;
use std::sync::Arc;

use parking_lot::RwLock;
use rusqlite::Connection;
use serde::Serialize;
use serde::de::DeserializeOwned;
use symbolon_figures::{StoreFigures, StoreKind};
use symbolon_protocol::precis::login_key;
use symbolon_store::StoreError;
use symbolon_store::cache::RecordCaches;
use symbolon_store::columns::{TextForm, millis};
use symbolon_store::port::{ChangeListener, Changed};

use crate::database::{Database, Migration, ReadError, WriteError};
use crate::failed;
use crate::freeze::frozen;
use crate::journal::Journal;
use statement::Statements;

/// The steps of the schema.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { number: 1, sql: include_str!("../../migrations/0001_init.sql"), then: None },
    Migration { number: 2, sql: include_str!("../../migrations/0002_audit_sizes.sql"), then: None },
    Migration { number: 3, sql: include_str!("../../migrations/0003_audit_blocks.sql"), then: None },
    Migration { number: 4, sql: include_str!("../../migrations/0004_audit_packed.sql"), then: None },
    Migration { number: 5, sql: "", then: Some(login_name::normalize) },
    Migration { number: 6, sql: include_str!("../../migrations/0006_groups.sql"), then: None },
    Migration { number: 7, sql: include_str!("../../migrations/0007_user_attributes.sql"), then: None },
    Migration { number: 8, sql: include_str!("../../migrations/0008_authenticators.sql"), then: None },
    Migration { number: 9, sql: include_str!("../../migrations/0009_deliveries.sql"), then: None },
    Migration { number: 10, sql: include_str!("../../migrations/0010_identities.sql"), then: None },
    Migration { number: 11, sql: include_str!("../../migrations/0011_indexes.sql"), then: None },
    Migration { number: 12, sql: include_str!("../../migrations/0012_logos.sql"), then: None },
    Migration { number: 13, sql: include_str!("../../migrations/0013_invitations.sql"), then: None },
    Migration { number: 14, sql: include_str!("../../migrations/0014_audit_marks.sql"), then: None },
];

/// SQLite stores any text.
const TEXT_FORM: TextForm =
    TextForm { looked_up: login_key, looked_up_before: str::to_lowercase, searched: str::to_lowercase };

/// How many rows one closure of a bulk creation writes: all other writes wait for it.
const ROWS_PER_WRITE: usize = 500;

/// The result of a closure that writes: a refusal by the port's own error rolls its changes back.
type Written<T> = Result<T, WriteError<StoreError>>;

/// The database with the caches in front of it.
pub(crate) struct Records {
    database: Arc<Database>,
    /// Knows whether the disk has room, and whether the store is frozen.
    journal: Arc<Journal>,
    figures: Arc<StoreFigures>,
    caches: RecordCaches,
    listeners: RwLock<Vec<ChangeListener>>,
}

impl Records {
    pub(crate) fn new(
        database: Arc<Database>,
        journal: Arc<Journal>,
        figures: &Arc<StoreFigures>,
    ) -> Arc<Self> {
        Arc::new(Self {
            database,
            journal,
            figures: Arc::clone(figures),
            caches: RecordCaches::new(figures),
            listeners: RwLock::default(),
        })
    }

    pub(crate) fn on_change(&self, listener: ChangeListener) {
        self.listeners.write().push(listener);
    }

    /// Calls the listeners.
    fn announce(&self, changed: &Changed) {
        for listener in self.listeners.read().iter() {
            // Only this process has copies, so there is nothing to wait for.
            drop(listener(changed));
        }
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

    /// Makes work for a reader's connection that counts its statements and rows.
    fn counted<T>(
        &self,
        work: impl FnOnce(&Statements<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static {
        let figures = Arc::clone(&self.figures);
        move |connection| work(&Statements::new(connection, figures.database()))
    }

    /// Reads a few rows.
    async fn read<T: Send + 'static>(
        &self,
        kind: StoreKind,
        work: impl FnOnce(&Statements<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let read = self.database.read(self.counted(work));
        self.measured(kind, async { read.await.map_err(read_error) }).await
    }

    /// Reads what may be many rows: waits for other such reads, and never delays a look-up.
    async fn scan<T: Send + 'static>(
        &self,
        kind: StoreKind,
        work: impl FnOnce(&Statements<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let scan = self.database.scan(self.counted(work));
        self.measured(kind, async { scan.await.map_err(read_error) }).await
    }

    /// Writes records that are not cached. Durable on return.
    async fn write<T: Send + 'static>(
        &self,
        kind: StoreKind,
        work: impl FnOnce(&Statements<'_>) -> Written<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.written(kind, self.hand_over(kind, work)).await
    }

    /// Waits for a write that [`hand_over`](Self::hand_over) queued.
    async fn written<T>(
        &self,
        kind: StoreKind,
        write: impl Future<Output = Written<T>>,
    ) -> Result<T, StoreError> {
        self.measured(kind, async { write.await.map_err(write_error) }).await
    }

    /// Writes, and announces the change once it is durable. The announcement is made even if the caller has been
    /// dropped: the change is in the database either way, so the caches must drop the records that it replaced.
    async fn change<T: Send + 'static>(
        self: &Arc<Self>,
        kind: StoreKind,
        changed: Changed,
        work: impl FnOnce(&Statements<'_>) -> Written<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.change_all(kind, vec![changed], work).await
    }

    /// Like [`change`](Self::change), for a write that changes more than one thing.
    async fn change_all<T: Send + 'static>(
        self: &Arc<Self>,
        kind: StoreKind,
        changed: Vec<Changed>,
        work: impl FnOnce(&Statements<'_>) -> Written<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let records = Arc::clone(self);
        let write = async move { records.hand_over(kind, work).await };
        self.announced(kind, changed, write).await
    }

    /// Like [`change`](Self::change), in as many transactions as are needed: runs `work` until it returns a result.
    /// Other writes may come between two transactions, and a crash may leave some of them undone.
    async fn change_in_pieces<T: Send + 'static>(
        self: &Arc<Self>,
        kind: StoreKind,
        changed: Changed,
        work: impl Fn(&Statements<'_>) -> Written<Option<T>> + Send + Sync + 'static,
    ) -> Result<T, StoreError> {
        let (records, work) = (Arc::clone(self), Arc::new(work));
        let write = async move {
            loop {
                let piece = Arc::clone(&work);
                if let Some(answer) = records.hand_over(kind, move |statements| piece(statements)).await? {
                    return Ok(answer);
                }
            }
        };
        self.announced(kind, vec![changed], write).await
    }

    /// Runs a write in a task of its own, and announces what it changed.
    async fn announced<T: Send + 'static>(
        self: &Arc<Self>,
        kind: StoreKind,
        changed: Vec<Changed>,
        write: impl Future<Output = Written<T>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let records = Arc::clone(self);
        let task = tokio::spawn(async move {
            let _held: Vec<_> = changed.iter().map(|changed| records.caches.hold(changed)).collect();
            let result = write.await;
            if !matches!(result, Err(WriteError::Rejected(_))) {
                changed.iter().for_each(|changed| records.announce(changed));
            }
            result.map_err(write_error)
        });
        self.measured(kind, async { task.await.map_err(failed)? }).await
    }

    /// Queues a closure for the writer at once; the future resolves when its commit is durable.
    ///
    /// Refused while free disk space is below the reserve: SQLite could cope with that, but would use up the space kept
    /// for the journal. Also refused on a store that is being moved, except for the audit log.
    fn hand_over<T: Send + 'static, F>(
        &self,
        kind: StoreKind,
        work: F,
    ) -> impl Future<Output = Written<T>> + Send + use<T, F>
    where
        F: FnOnce(&Statements<'_>) -> Written<T> + Send + 'static,
    {
        let figures = Arc::clone(&self.figures);
        let journal = Arc::clone(&self.journal);
        let write = self.journal.has_room().then(|| {
            self.database.write(move |transaction| {
                // Checked on the writer's thread: once one write has seen the seal, all later ones see it too.
                if journal.is_sealed() && kind != StoreKind::Audit {
                    return refuse(frozen());
                }
                work(&Statements::new(transaction, figures.database()))
            })
        });
        async move {
            match write {
                Some(write) => write.await,
                None => Err(WriteError::Full),
            }
        }
    }
}

fn read_error(error: ReadError) -> StoreError {
    match error {
        ReadError::Closed => StoreError::Unavailable(error.to_string()),
        ReadError::Sqlite(_) => failed(error),
    }
}

fn write_error(error: WriteError<StoreError>) -> StoreError {
    match error {
        WriteError::Rejected(refusal) => refusal,
        WriteError::Full | WriteError::Unavailable => StoreError::Unavailable(error.to_string()),
        WriteError::Sqlite(_) => failed(error),
    }
}

/// Refuses, and rolls the closure's changes back.
fn refuse<T>(error: StoreError) -> Written<T> {
    Err(WriteError::Rejected(error))
}

fn to_document<T: Serialize>(record: &T) -> Result<String, StoreError> {
    serde_json::to_string(record).map_err(failed)
}

pub(crate) fn from_document<T: DeserializeOwned>(document: &str) -> Result<T, StoreError> {
    serde_json::from_str(document).map_err(failed)
}
