//! A copy of the whole database as of one moment, while writes continue.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::Database;
use super::connection::open_reader;
use super::error::{DatabaseError, WriteError};
use super::long_read::LongRead;
use crate::directory::create_private;

/// Copies everything in one step: in several, SQLite would start again after every commit.
const ALL_PAGES: i32 = -1;

/// The database as of one commit, whatever is committed later. While it is held, the write-ahead log cannot be emptied.
#[derive(Debug)]
pub struct DatabaseSnapshot {
    connection: Connection,
    /// Declared after the connection and therefore dropped after it, when the connection can no longer read.
    _held: Option<LongRead>,
}

impl Database {
    /// Fixes a view of what is committed now, and runs `meanwhile` at the same moment: no transaction is committed
    /// between the two, because both run on the thread that commits. `meanwhile` must be short.
    ///
    /// If `meanwhile` takes another engine's snapshot, the two are a consistent cut: what was written there because of
    /// a commit here is contained together with that commit, and the other way round.
    pub fn snapshot_with<T, F>(
        &self,
        meanwhile: F,
    ) -> impl Future<Output = Result<(DatabaseSnapshot, T), DatabaseError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let connection = open_reader(&self.path, 0);
        let held = connection.map(|connection| {
            let long_reads = Arc::clone(&self.long_reads);
            self.write(move |_| {
                hold(&connection)?;
                let snapshot = DatabaseSnapshot { connection, _held: Some(long_reads.begin()) };
                Ok::<_, WriteError<std::convert::Infallible>>((snapshot, meanwhile()))
            })
        });
        async move {
            held?.await.map_err(|error| match error {
                WriteError::Sqlite(error) => error.into(),
                WriteError::Full => io::Error::from(io::ErrorKind::StorageFull).into(),
                WriteError::Rejected(never) => match never {},
                WriteError::Unavailable => DatabaseError::Closed,
            })
        }
    }
}

/// `BEGIN` alone fixes nothing: the first read does. The writer's transaction, within which this runs, is not committed
/// and so not seen.
fn hold(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN")?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", (), |_| Ok(()))
}

impl DatabaseSnapshot {
    /// The database in a file. Each statement sees what is committed when it runs, so all statements see the same
    /// moment only while nobody writes.
    pub(crate) fn of_file(path: &Path) -> Result<Self, DatabaseError> {
        Ok(Self { connection: open_reader(path, 0)?, _held: None })
    }

    /// The connection that reads it.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Copies the database to the file `target`, and syncs the copy. `target` must not exist, or be a database to
    /// overwrite. Reads everything; blocks.
    ///
    /// # Errors
    /// An error of either file.
    pub fn copy_to(&self, target: &Path) -> Result<(), DatabaseError> {
        // Creates the file first: SQLite would create it with the permissions of the umask.
        create_private(target)?;
        let mut copy = Connection::open(target)?;
        // Reads within the transaction that is already open. If a file is busy or locked, the connection retries for
        // its busy time; after that it is an error.
        if Backup::new(&self.connection, &mut copy)?.step(ALL_PAGES)? != StepResult::Done {
            return Err(io::Error::from(io::ErrorKind::ResourceBusy).into());
        }
        // A single file that can be moved: without a log beside it.
        copy.pragma_update(None, "journal_mode", "DELETE")?;
        copy.close().map_err(|(_, error)| error)?;
        File::open(target)?.sync_all()?;
        if let Some(directory) = target.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            File::open(directory)?.sync_all()?;
        }
        Ok(())
    }
}
