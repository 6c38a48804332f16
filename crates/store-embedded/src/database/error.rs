//! Why a read, a write or opening failed.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why a write was not made.
#[derive(Debug, thiserror::Error)]
pub enum WriteError<E> {
    /// The closure's own refusal; only the closure's changes are rolled back.
    #[error("rejected")]
    Rejected(E),
    /// There is no room on the disk. Nothing of the write is stored; writes work again when there is room.
    #[error("the disk is full")]
    Full,
    /// SQLite refused: a constraint, a wrong statement, a broken file.
    #[error("the database: {0}")]
    Sqlite(rusqlite::Error),
    /// The database is closed, the closure panicked, or the transaction that it shared with other writes was rolled
    /// back. Nothing of the write is stored.
    #[error("the database took no write")]
    Unavailable,
}

/// `?` on SQLite's errors inside a write. A domain refusal is written `Err(WriteError::Rejected(...))`.
impl<E> From<rusqlite::Error> for WriteError<E> {
    fn from(error: rusqlite::Error) -> Self {
        if is_full(&error) { Self::Full } else { Self::Sqlite(error) }
    }
}

/// Why a read failed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// SQLite refused.
    #[error("the database: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The database is closed, or the closure panicked.
    #[error("the database took no read")]
    Closed,
}

/// Why the database could not be opened or backed up.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// SQLite refused.
    #[error("the database: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The file is not a SQLite database.
    #[error("{} is no database: put the right file there, or restore a backup into a fresh directory", .0.display())]
    NoDatabase(PathBuf),
    /// A newer program has migrated it.
    #[error(
        "the database has schema {found}, this program knows schemas up to {known}: start the newer program \
         again, or restore a backup made before the upgrade"
    )]
    NewerSchema {
        /// The number of its last migration.
        found: u32,
        /// The number of this program's last migration.
        known: u32,
    },
    /// The list of migrations is not 1, 2, 3 and so on.
    #[error("migration {found} stands where {expected} is due")]
    MigrationOrder {
        /// The number due.
        expected: u32,
        /// The number found.
        found: u32,
    },
    /// A migration failed; nothing of it is stored.
    #[error("migration {number}: {source}")]
    Migration {
        /// Its number.
        number: u32,
        /// SQLite's error.
        source: rusqlite::Error,
    },
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The database was closed meanwhile.
    #[error("the database is closed")]
    Closed,
}

impl DatabaseError {
    /// Whether the error means that the disk is full.
    pub(crate) fn is_of_a_full_disk(&self) -> bool {
        match self {
            Self::Sqlite(error) => is_full(error),
            Self::Io(error) => crate::free_space::is_full(error),
            _ => false,
        }
    }

    /// Adds the file's name if the file is not a database.
    pub(super) fn of_file(self, path: &Path) -> Self {
        match self {
            Self::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) => {
                Self::NoDatabase(path.to_owned())
            }
            other => other,
        }
    }
}

/// SQLite reports `SQLITE_FULL` when a write fails with `ENOSPC`.
pub(super) fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DiskFull)
}

/// Whether a sync failed: what is on disk is then unknown.
pub(super) fn is_lost_sync(error: &rusqlite::Error) -> bool {
    const LOST: [i32; 3] = [
        rusqlite::ffi::SQLITE_IOERR_FSYNC,
        rusqlite::ffi::SQLITE_IOERR_DIR_FSYNC,
        rusqlite::ffi::SQLITE_IOERR_CLOSE,
    ];
    error.sqlite_error().is_some_and(|error| LOST.contains(&error.extended_code))
}
