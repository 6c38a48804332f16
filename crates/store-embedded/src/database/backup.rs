//! A copy of the whole database as of one moment, while writes go on.

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

/// Everything in one step; in several, SQLite would start anew whenever somebody commits.
const ALL_PAGES: i32 = -1;

/// The database as of one commit, however many follow. Holding it keeps the write-ahead log from being cut back.
#[derive(Debug)]
pub struct DatabaseSnapshot {
    connection: Connection,
    /// Dropped after the connection, which may read no more then.
    _held: Option<LongRead>,
}

impl Database {
    /// Holds on to what is committed now, and runs `meanwhile` at that very moment: no transaction is committed
    /// between the two, because both happen on the thread that commits. `meanwhile` must be short.
    ///
    /// So another engine's snapshot taken there and this one are a consistent cut: whatever was written there
    /// because of a commit here finds that commit here, and the other way round.
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

/// A transaction alone holds nothing yet: the first read fixes what it sees. The open batch of the writer, in the
/// middle of which this runs, is not committed and so not seen.
fn hold(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN")?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", (), |_| Ok(()))
}

impl DatabaseSnapshot {
    /// The database of a file. Each statement sees what is committed then, so whoever needs one moment asks where nobody
    /// writes.
    pub(crate) fn of_file(path: &Path) -> Result<Self, DatabaseError> {
        Ok(Self { connection: open_reader(path, 0)?, _held: None })
    }

    /// What reads it.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Copies it to the file `target`, which must not exist or be a database to overwrite, and syncs the copy.
    /// Reads everything; blocks.
    ///
    /// # Errors
    /// [`DatabaseError`]: either file fails.
    pub fn copy_to(&self, target: &Path) -> Result<(), DatabaseError> {
        // Before SQLite makes it as everybody's umask says.
        create_private(target)?;
        let mut copy = Connection::open(target)?;
        // Under the read transaction that is open already. Busy or locked is retried inside, by the connection's
        // busy time; what is left of it is an error.
        if Backup::new(&self.connection, &mut copy)?.step(ALL_PAGES)? != StepResult::Done {
            return Err(io::Error::from(io::ErrorKind::ResourceBusy).into());
        }
        // A single file that can be carried away: without a log beside it.
        copy.pragma_update(None, "journal_mode", "DELETE")?;
        copy.close().map_err(|(_, error)| error)?;
        File::open(target)?.sync_all()?;
        if let Some(directory) = target.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            File::open(directory)?.sync_all()?;
        }
        Ok(())
    }
}
