//! What lasts, in the database: issuers, keys, settings, clients, users, consents and the audit log.
//!
//! Records are JSON documents with a column for whatever is looked up, compared or unique. Clients, users and
//! consents are read through [caches](symbolon_store::cache). A write holds the entries that it changes until it is
//! announced.

mod audit;
mod client;
mod consent;
mod import;
mod issuer;
mod listing;
mod login_name;
mod reseal;
mod statement;
mod user;

#[cfg(test)]
mod tests;

pub(crate) use audit::each_document as each_audit_document;
pub(crate) use issuer::{issuers, keys_and_settings};

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

/// The schema, step by step.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { number: 1, sql: include_str!("../../migrations/0001_init.sql"), then: None },
    Migration { number: 2, sql: include_str!("../../migrations/0002_audit_sizes.sql"), then: None },
    Migration { number: 3, sql: include_str!("../../migrations/0003_audit_blocks.sql"), then: None },
    Migration { number: 4, sql: include_str!("../../migrations/0004_audit_packed.sql"), then: None },
    Migration { number: 5, sql: "", then: Some(login_name::normalize) },
];

/// SQLite takes every text.
const TEXT_FORM: TextForm =
    TextForm { looked_up: login_key, looked_up_before: str::to_lowercase, searched: str::to_lowercase };

/// Rows that one closure of a bulk creation writes: every other write stands behind it.
const ROWS_PER_WRITE: usize = 500;

/// The result of a closure that writes: a refusal by the port's own error rolls its changes back.
type Written<T> = Result<T, WriteError<StoreError>>;

/// The database with the caches before it.
pub(crate) struct Records {
    database: Arc<Database>,
    /// Knows how much room there is on the disk.
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

    /// Tells the listeners.
    fn announce(&self, changed: &Changed) {
        for listener in self.listeners.read().iter() {
            // Nobody else has a copy: there is nothing to wait for.
            drop(listener(changed));
        }
    }

    /// Counts an operation of a kind and its time, whatever the caller does meanwhile.
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

    /// Work on a reader's connection whose statements and rows are counted.
    fn counted<T>(
        &self,
        work: impl FnOnce(&Statements<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static {
        let figures = Arc::clone(&self.figures);
        move |connection| work(&Statements::new(connection, figures.database()))
    }

    /// Looks a few rows up.
    async fn read<T: Send + 'static>(
        &self,
        kind: StoreKind,
        work: impl FnOnce(&Statements<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let read = self.database.read(self.counted(work));
        self.measured(kind, async { read.await.map_err(read_error) }).await
    }

    /// Reads what may be many rows, behind other such reads and never before a look-up.
    async fn scan<T: Send + 'static>(
        &self,
        kind: StoreKind,
        work: impl FnOnce(&Statements<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let scan = self.database.scan(self.counted(work));
        self.measured(kind, async { scan.await.map_err(read_error) }).await
    }

    /// Writes what no cache knows of. Durable when it answers.
    async fn write<T: Send + 'static>(
        &self,
        kind: StoreKind,
        work: impl FnOnce(&Statements<'_>) -> Written<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.written(kind, self.hand_over(kind, work)).await
    }

    /// Waits for a write that was handed over.
    async fn written<T>(
        &self,
        kind: StoreKind,
        write: impl Future<Output = Written<T>>,
    ) -> Result<T, StoreError> {
        self.measured(kind, async { write.await.map_err(write_error) }).await
    }

    /// Writes, and announces the change once it is durable, even if the caller is gone by then: the change is in the database
    /// whether or not anybody waits for it, so the caches must drop what it made old.
    async fn change<T: Send + 'static>(
        self: &Arc<Self>,
        kind: StoreKind,
        changed: Changed,
        work: impl FnOnce(&Statements<'_>) -> Written<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let records = Arc::clone(self);
        let write = async move { records.hand_over(kind, work).await };
        self.announced(kind, changed, write).await
    }

    /// Like [`change`](Self::change), in as many transactions as it takes: `work` is run until it has an answer. Other
    /// writes come between, and a crash may.
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
        self.announced(kind, changed, write).await
    }

    /// Waits for a write in a task of its own, and announces what it changed.
    async fn announced<T: Send + 'static>(
        self: &Arc<Self>,
        kind: StoreKind,
        changed: Changed,
        write: impl Future<Output = Written<T>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let records = Arc::clone(self);
        let task = tokio::spawn(async move {
            let _held = records.caches.hold(&changed);
            let result = write.await;
            if !matches!(result, Err(WriteError::Rejected(_))) {
                records.announce(&changed);
            }
            result.map_err(write_error)
        });
        self.measured(kind, async { task.await.map_err(failed)? }).await
    }

    /// Gives a closure to the writer, at once; the future ends when its commit is durable.
    ///
    /// Not on a full disk: SQLite would cope with it, but what it wrote would come out of the journal's reserve. And
    /// not on a store that is being moved, but for the audit log.
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
                // Here, on the thread that writes: nothing that did not see the seal follows what made it.
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

/// A refusal that rolls the closure's changes back.
fn refuse<T>(error: StoreError) -> Written<T> {
    Err(WriteError::Rejected(error))
}

fn to_document<T: Serialize>(record: &T) -> Result<String, StoreError> {
    serde_json::to_string(record).map_err(failed)
}

pub(crate) fn from_document<T: DeserializeOwned>(document: &str) -> Result<T, StoreError> {
    serde_json::from_str(document).map_err(failed)
}
