//! Settings of the journal, and why it could not be opened or read.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::fatal::OnFatal;
use crate::free_space::FreeBytes;

/// Unix time in milliseconds, from the injected clock.
pub type UnixMillis = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Called by the writer before each batch is written; an error counts as an error of the disk.
pub type BeforeSync = Arc<dyn Fn() -> io::Result<()> + Send + Sync>;

/// How a batch is made durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// `fdatasync`. It flushes the data and every piece of metadata that is needed to read the data back, block
    /// allocation and file length included; only time stamps are left out. The journal file has its length from
    /// its creation on (64 MiB, sparse), and creation itself is fsynced together with its directory.
    #[default]
    Data,
    /// `fsync`, for file systems whose `fdatasync` cannot be trusted.
    All,
    /// No sync: acknowledged changes survive a crash of the process, but not of the machine.
    Off,
}

/// Called after each durable batch, on the writer's thread.
pub type OnCommit = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// Settings of the [`Journal`](super::Journal).
#[derive(Clone)]
pub struct JournalOptions {
    /// How long the writer may keep a batch open while more callers are expected; zero to never wait.
    pub hold: Duration,
    /// How a batch is made durable.
    pub sync: SyncMode,
    /// Size in bytes at which a table's memtable is flushed, and of the files that compaction writes. Whether a smaller
    /// size shortens the longest commits, beside which these files are synced, is not known.
    pub memtable_bytes: u64,
    /// Bytes of the cache of blocks read from disk.
    pub cache_bytes: u64,
    /// Bytes to be left free on the disk. More than a batch needs, because flushes and compactions need room too, and
    /// fjall does not survive a write that fails for lack of room.
    pub reserve_bytes: u64,
    /// What to do when the disk fails.
    pub on_fatal: OnFatal,
    /// Replaces the question to the file system how much is free.
    pub free_bytes: Option<FreeBytes>,
    /// Runs before each sync; for tests and fault drills.
    pub before_sync: Option<BeforeSync>,
    /// Called after each durable batch with the number of its operations and the nanoseconds of write and sync.
    pub on_commit: Option<OnCommit>,
}

impl Default for JournalOptions {
    fn default() -> Self {
        Self {
            hold: Duration::from_millis(1),
            sync: SyncMode::default(),
            memtable_bytes: 8 << 20,
            cache_bytes: 8 << 20,
            reserve_bytes: 256 << 20,
            on_fatal: OnFatal::default(),
            free_bytes: None,
            before_sync: None,
            on_commit: None,
        }
    }
}

impl fmt::Debug for JournalOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalOptions")
            .field("hold", &self.hold)
            .field("sync", &self.sync)
            .field("memtable_bytes", &self.memtable_bytes)
            .field("cache_bytes", &self.cache_bytes)
            .field("reserve_bytes", &self.reserve_bytes)
            .finish_non_exhaustive()
    }
}

/// Why the journal could not be opened or read. There is no error for writes: they become durable, or the process ends.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The engine.
    #[error("the journal: {0}")]
    Engine(#[from] fjall::Error),
    /// Durable data is damaged or cannot be read.
    #[error("the journal: {0}: restore a backup")]
    Damaged(io::Error),
    /// Its directories could not be made durable.
    #[error("the journal's directories: {0}")]
    Directory(io::Error),
    /// It was used before it was recovered.
    #[error("the journal is not recovered yet")]
    NotRecovered,
    /// The writer's thread could not be started.
    #[error("the journal's writer: {0}")]
    Thread(io::Error),
}
