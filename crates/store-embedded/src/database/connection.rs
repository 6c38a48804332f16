//! How connections are set up, and the migrations.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::error::DatabaseError;
use super::statistics;
use super::stats::count_on;
use crate::directory::{create_private, make_private};

/// One step of the schema. Runs once, in its own transaction.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// 1 for the first, each one more than the one before.
    pub number: u32,
    /// Statements, separated by semicolons: the text of `migrations/NNNN_name.sql`.
    pub sql: &'static str,
    /// What SQL cannot express; runs after the statements, in the same transaction.
    pub then: Option<fn(&Connection) -> rusqlite::Result<()>>,
}

/// Statements kept prepared per connection.
const PREPARED_STATEMENTS: usize = 256;

/// When SQLite starts the write-ahead log anew, it shortens the file to this.
const LOG_KEPT_BYTES: i64 = 16 << 20;

/// How long a statement waits for a lock of SQLite's.
pub(super) const BUSY_TIME: Duration = Duration::from_secs(10);

/// What SQLite appends to the database's name for its write-ahead log.
const LOG: &str = "-wal";

/// The suffix of the log's index, which is in shared memory.
const INDEX_OF_LOG: &str = "-shm";

/// The write-ahead log of the database in the file `path`.
pub(super) fn log_of(path: &Path) -> PathBuf {
    beside(path, LOG)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Opens the connection that writes. Creates the file if need be, readable only for its owner because it contains
/// password hashes. SQLite gives a new log the same mode.
pub(super) fn open_writer(path: &Path, cache_bytes: u64, sync: bool) -> Result<Connection, DatabaseError> {
    if let Err(error) = keep_private(path) {
        // If the file cannot be opened at all, SQLite reports why.
        tracing::warn!(%error, path = %path.display(), "the database's files are not their owner's alone");
    }
    let mut connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // FULL syncs the log at every commit; NORMAL would lose the last ones in a power cut.
    connection.pragma_update(None, "synchronous", if sync { "FULL" } else { "OFF" })?;
    connection.pragma_update(None, "journal_size_limit", LOG_KEPT_BYTES)?;
    set_up(&mut connection, cache_bytes)?;
    Ok(connection)
}

/// Also restricts files that an earlier release left readable for others.
fn keep_private(path: &Path) -> io::Result<()> {
    create_private(path)?;
    make_private(&beside(path, LOG))?;
    make_private(&beside(path, INDEX_OF_LOG))
}

/// Opens a connection that cannot write.
pub(super) fn open_reader(path: &Path, cache_bytes: u64) -> Result<Connection, DatabaseError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    set_up(&mut connection, cache_bytes)?;
    Ok(connection)
}

fn set_up(connection: &mut Connection, cache_bytes: u64) -> Result<(), DatabaseError> {
    connection.busy_timeout(BUSY_TIME)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // Negative: KiB instead of pages.
    connection.pragma_update(None, "cache_size", format!("-{}", cache_bytes / 1024))?;
    connection.set_prepared_statement_cache_capacity(PREPARED_STATEMENTS);
    Ok(count_on(connection)?)
}

/// Migrates the schema to the last of `migrations`. The number reached is stored in SQLite's `user_version`, which is
/// part of the transaction.
pub(super) fn migrate(connection: &mut Connection, migrations: &[Migration]) -> Result<(), DatabaseError> {
    for (expected, migration) in (1..).zip(migrations) {
        if migration.number != expected {
            return Err(DatabaseError::MigrationOrder { expected, found: migration.number });
        }
    }
    let known = migrations.last().map_or(0, |migration| migration.number);
    let found: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found > known {
        return Err(DatabaseError::NewerSchema { found, known });
    }
    for migration in migrations.iter().filter(|migration| migration.number > found) {
        let number = migration.number;
        run(connection, migration, number == known)
            .map_err(|source| DatabaseError::Migration { number, source })?;
        tracing::info!(number, "migrated the database");
    }
    Ok(())
}

/// Runs a migration; after the last one the indexes are described to SQLite.
fn run(connection: &mut Connection, migration: &Migration, is_last: bool) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(migration.sql)?;
    if let Some(then) = migration.then {
        then(&transaction)?;
    }
    if is_last {
        statistics::describe(&transaction)?;
    }
    transaction.pragma_update(None, "user_version", migration.number)?;
    transaction.commit()
}
