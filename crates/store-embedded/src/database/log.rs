//! Keeps the write-ahead log short.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::connection::{BUSY_TIME, log_of};
use super::error::is_lost_sync;
use super::long_read::LongReads;
use super::stats::Counters;
use crate::free_space::monotonic_now;

/// Called after each commit with the size of the write-ahead log on disk, in bytes.
pub type OnLog = Arc<dyn Fn(u64) + Send + Sync>;

/// How long the writer waits for a look-up to end before it can empty the log: all writes wait with it.
const WAIT_FOR_LOOK_UPS: Duration = Duration::from_millis(50);

/// How long the writer makes no attempt after a reader of another process kept it from emptying the log.
const PAUSE: Duration = Duration::from_secs(1);

/// The log as the writer sees it.
pub(super) struct Log {
    path: PathBuf,
    most: u64,
    long_reads: Arc<LongReads>,
    on_log: Option<OnLog>,
    /// No attempt is made before this time.
    pause_until: Option<Instant>,
}

impl Log {
    /// The log of the database in the file `database`, which is to be emptied beyond `most` bytes.
    pub(super) fn of(database: &Path, most: u64, long_reads: &Arc<LongReads>, on_log: Option<OnLog>) -> Self {
        let path = log_of(database);
        Self { path, most, long_reads: Arc::clone(long_reads), on_log, pause_until: None }
    }

    /// Empties the log if it is too long. To be called between transactions, when no caller waits for the last one.
    ///
    /// # Errors
    /// Only a failed sync, after which the content of the disk is unknown; after any other error, the log is emptied
    /// later.
    pub(super) fn keep_short(
        &mut self,
        connection: &Connection,
        counters: &Counters,
    ) -> rusqlite::Result<()> {
        if self.measure(counters) <= self.most {
            self.long_reads.log_is_short();
            return Ok(());
        }
        let now = monotonic_now();
        if self.pause_until.is_some_and(|until| now < until) {
            return Ok(());
        }
        let Some(emptied) = self.long_reads.between(|| empty(connection)) else { return Ok(()) };
        self.pause_until = (self.measure(counters) > self.most).then(|| now + PAUSE);
        match emptied {
            Err(error) if is_lost_sync(&error) => Err(error),
            Err(error) => {
                tracing::warn!(%error, "the database's log could not be emptied");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// The size of the file, which SQLite does not shorten before it starts the log anew.
    fn measure(&self, counters: &Counters) -> u64 {
        let bytes = fs::metadata(&self.path).map_or(0, |file| file.len());
        counters.log_bytes.store(bytes, Ordering::Relaxed);
        if let Some(on_log) = &self.on_log {
            on_log(bytes);
        }
        bytes
    }
}

/// Copies everything from the log into the database's file, and truncates the log to nothing. If a reader prevents
/// that, the log stays until the next attempt.
fn empty(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(WAIT_FOR_LOOK_UPS)?;
    let emptied = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()));
    connection.busy_timeout(BUSY_TIME)?;
    emptied
}

#[cfg(test)]
mod tests;
