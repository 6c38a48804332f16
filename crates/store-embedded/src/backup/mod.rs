//! Backups: both engines as of one moment, in one directory; and restoring them.
//!
//! # Why the two halves fit together
//! The copy is taken at one moment at which neither engine lacks what the other depends on. SQLite's committing thread
//! fixes what the copy sees of the database and, before it commits anything else, takes the journal's snapshot
//! ([`Database::snapshot_with`](crate::database::Database::snapshot_with)):
//!
//! * What is in the database's half was committed before the snapshot of the journal was taken. So the snapshot
//!   contains every journal record that was durable before that commit (a user's tombstone, before the user is
//!   deleted).
//! * If something in the journal's half was written because of a commit in the database (a session, after its user was
//!   created), that commit is in the database's half, because none happened between the two.
//!
//! So the pair is what a crash at that moment would have left, and a start on it is a start after a crash. Both engines
//! show durable changes only: everything acknowledged before the moment is in the copy, and no batch is half in it.
//!
//! # On disk
//! `symbolon.db` (SQLite), `journal.records` (`records`), `backup.json` (`Manifest`) and `SHA256SUMS`, the input of
//! `sha256sum -c`. The backup is written into `<target>.partial` and renamed when everything is synced. `master.key` is
//! not in it, so the backup alone opens no signing key.

mod records;
mod restore;
mod verify;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;

pub(crate) use records::read as read_journal;
pub use restore::{RestoreOptions, Restored, restore};

use crate::database::DatabaseError;
use crate::directory::OpenError;
use crate::free_space::is_full;
use crate::journal::JournalError;

const DATABASE: &str = "symbolon.db";
const JOURNAL: &str = "journal.records";
const MANIFEST: &str = "backup.json";
const SUMS: &str = "SHA256SUMS";

/// The files that `SHA256SUMS` lists.
const FILES: [&str; 3] = [DATABASE, JOURNAL, MANIFEST];

/// The version of the form that this program writes, and the newest one that it reads.
const FORMAT: u32 = 1;

/// The content of `backup.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    /// The release of the program that made it.
    program: String,
    /// Unix time in milliseconds.
    made_at: Timestamp,
    commit: u64,
    records: u64,
}

/// Why a backup could not be made or restored.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BackupFailure {
    #[error("{} is not empty: a backup goes into a directory of its own", .0.display())]
    TargetNotEmpty(PathBuf),
    #[error("{} is left of a backup or a restore that did not end: remove it", .0.display())]
    Leftover(PathBuf),
    #[error("{} needs a name and a directory to stand in", .0.display())]
    NoParent(PathBuf),
    /// The target's name or the directory that it is to be in cannot be used; nothing was written.
    #[error("{}: {source}", path.display())]
    Target { path: PathBuf, source: io::Error },
    #[error("the data directory {} is not empty: a backup is restored into a fresh one", .0.display())]
    DataNotEmpty(PathBuf),
    #[error("{} is no backup, as it has no {SUMS}: name the directory that `symbolon backup` made", .0.display())]
    NoBackup(PathBuf),
    #[error("{}: the backup is damaged: {what}", path.display())]
    Damaged { path: PathBuf, what: String },
    #[error("{}: the backup has format {found}, this program knows formats up to {FORMAT}", path.display())]
    NewerFormat { path: PathBuf, found: u32 },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Directory(#[from] OpenError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BackupFailure {
    /// Whether the caller named a directory that cannot be used as the target.
    fn is_the_callers(&self) -> bool {
        matches!(self, Self::TargetNotEmpty(_) | Self::Leftover(_) | Self::NoParent(_) | Self::Target { .. })
    }

    /// Whether the error means that the disk is full.
    fn is_of_a_full_disk(&self) -> bool {
        match self {
            Self::Io { source, .. } | Self::Directory(OpenError::Io { source, .. }) => is_full(source),
            Self::Database(error) => error.is_of_a_full_disk(),
            _ => false,
        }
    }
}

/// The port does not know the errors of these engines.
impl From<BackupFailure> for symbolon_store::backup::BackupError {
    fn from(failure: BackupFailure) -> Self {
        if failure.is_the_callers() {
            return Self::Target(failure.to_string());
        }
        Self::Store(match failure {
            BackupFailure::Store(error) => error,
            full if full.is_of_a_full_disk() => StoreError::Unavailable(full.to_string()),
            other => crate::failed(other),
        })
    }
}

/// The files of a checked backup.
pub(crate) struct Files {
    pub(crate) database: PathBuf,
    pub(crate) journal: PathBuf,
}

/// Checks a backup; returns the paths of its halves.
pub(crate) fn files(directory: &Path) -> Result<Files, BackupFailure> {
    verify::check(directory)?;
    Ok(Files { database: directory.join(DATABASE), journal: directory.join(JOURNAL) })
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> BackupFailure {
    let path = path.to_owned();
    move |source| BackupFailure::Io { path, source }
}

/// As [`io_error`], but what the path itself does not allow is an error of the target that the caller named.
fn target_error(path: &Path) -> impl FnOnce(io::Error) -> BackupFailure {
    let path = path.to_owned();
    move |source| match source.kind() {
        io::ErrorKind::NotFound
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::InvalidFilename => BackupFailure::Target { path, source },
        _ => BackupFailure::Io { path, source },
    }
}

/// Whether there is something at `path` other than an empty directory.
pub(crate) fn is_taken(path: &Path) -> Result<bool, BackupFailure> {
    match path.read_dir() {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(target_error(path)(error)),
    }
}

/// A directory that gets the name `target` when it is finished, and is removed if it is not.
pub(crate) struct Staging {
    path: PathBuf,
    target: PathBuf,
    finished: bool,
}

impl Staging {
    /// Creates `<target><suffix>`; fails if it exists, so only one process can have it.
    pub(crate) fn begin(target: &Path, suffix: &str) -> Result<Self, BackupFailure> {
        use std::os::unix::fs::DirBuilderExt;
        let path = Self::path_of(target, suffix)?;
        match std::fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => Ok(Self { path, target: target.to_owned(), finished: false }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(BackupFailure::Leftover(path)),
            Err(error) => Err(target_error(&path)(error)),
        }
    }

    /// Its path until it is finished.
    pub(crate) fn path_of(target: &Path, suffix: &str) -> Result<PathBuf, BackupFailure> {
        let name = target.file_name().ok_or_else(|| BackupFailure::NoParent(target.to_owned()))?;
        let mut own = name.to_owned();
        own.push(suffix);
        Ok(target.with_file_name(own))
    }

    /// Its present path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the directory its final name, durably. An empty directory of that name is replaced.
    pub(crate) fn finish(mut self) -> Result<(), BackupFailure> {
        crate::directory::sync_directory(&self.path)?;
        std::fs::rename(&self.path, &self.target).map_err(io_error(&self.target))?;
        self.finished = true;
        let parent = self.target.parent().filter(|parent| !parent.as_os_str().is_empty());
        Ok(crate::directory::sync_directory(parent.unwrap_or_else(|| Path::new(".")))?)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.finished
            && let Err(error) = std::fs::remove_dir_all(&self.path)
        {
            tracing::warn!(%error, path = %self.path.display(), "what was begun could not be removed");
        }
    }
}

#[cfg(test)]
mod tests;
