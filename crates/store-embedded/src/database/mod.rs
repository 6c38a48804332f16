//! The database of long-lived records: SQLite behind one group-commit writer and a few readers.
//!
//! [`Database::write`] passes a closure to the writer's thread. All closures in flight share one transaction and one
//! sync. Each runs in a savepoint of its own, so that a failing one is rolled back alone. Every future resolves when
//! the transaction is durable. Closures of one batch see each other's changes in their order. So a caller that was
//! refused may have seen changes that are not durable yet; therefore refusals wait for the commit too.
//!
//! [`Database::read`] runs on a reader's connection and sees committed transactions only: a caller that has awaited its
//! write sees the change. Several statements see one state only inside a transaction: use
//! [`rusqlite::Connection::unchecked_transaction`]. A read of possibly many rows is a [`Database::scan`]. Scans have
//! their own reader, so that no look-up waits behind them, and they never overlap, so that the log can be emptied
//! between two of them.
//!
//! If the disk is full, a write fails with [`WriteError::Full`] and the database stays usable; a failed sync ends the
//! process. Closures must not do I/O of their own and must be short, because each write waits for those before it. Use
//! `prepare_cached` in them. To import, write some hundred rows per closure.

mod backup;
mod connection;
mod error;
mod job;
mod log;
mod long_read;
mod readers;
mod statistics;
mod stats;
mod writer;

use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, Transaction};
use tokio::sync::oneshot;

pub use backup::DatabaseSnapshot;
pub use connection::Migration;
pub use error::{DatabaseError, ReadError, WriteError};
pub use log::OnLog;
pub use stats::DatabaseStats;

use crate::fatal::OnFatal;
use crate::group_commit::OpenBatch;
use job::{Job, job};
use log::Log;
use long_read::LongReads;
use readers::Queries;
use stats::Counters;
use writer::Writer;

/// Called by the writer before each commit; an error counts as an error of the commit.
pub type BeforeCommit = Arc<dyn Fn() -> rusqlite::Result<()> + Send + Sync>;

/// Settings of the [`Database`].
#[derive(Clone)]
pub struct DatabaseOptions {
    /// How long the writer may keep a transaction open while more callers are expected; zero to never wait.
    pub hold: Duration,
    /// Connections for look-ups, each with a thread; at least one is opened, and one more for scans.
    pub readers: usize,
    /// Bytes of the page cache of each connection.
    pub cache_bytes: u64,
    /// Whether a commit waits for the disk. If not, acknowledged changes survive a crash of the process, but not of the
    /// machine.
    pub sync: bool,
    /// What to do when the disk fails.
    pub on_fatal: OnFatal,
    /// Bytes of the write-ahead log beyond which it is emptied as soon as no scan reads it.
    pub log_bytes: u64,
    /// Called with the length of the log.
    pub on_log: Option<OnLog>,
    /// Runs before each commit; for tests and fault drills.
    pub before_commit: Option<BeforeCommit>,
}

impl Default for DatabaseOptions {
    fn default() -> Self {
        Self {
            hold: Duration::from_millis(1),
            readers: 1,
            cache_bytes: 2 << 20,
            sync: true,
            on_fatal: OnFatal::default(),
            log_bytes: 64 << 20,
            on_log: None,
            before_commit: None,
        }
    }
}

impl fmt::Debug for DatabaseOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseOptions")
            .field("hold", &self.hold)
            .field("readers", &self.readers)
            .field("cache_bytes", &self.cache_bytes)
            .field("sync", &self.sync)
            .field("log_bytes", &self.log_bytes)
            .finish_non_exhaustive()
    }
}

/// The open database, to be shared behind an [`Arc`]. Dropping it completes the queued work and closes it.
pub struct Database {
    path: PathBuf,
    open: Arc<OpenBatch<Job>>,
    look_ups: Arc<Queries>,
    scans: Arc<Queries>,
    long_reads: Arc<LongReads>,
    counters: Arc<Counters>,
    failed: Arc<AtomicBool>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Database {
    /// Opens or creates the database in the file `path` and brings its schema up to the last of `migrations`.
    ///
    /// # Errors
    /// [`DatabaseError::NewerSchema`] if a newer program has migrated it, [`DatabaseError::Migration`] if a
    /// migration failed, and the rest of [`DatabaseError`].
    pub fn open(
        path: &Path,
        migrations: &[Migration],
        options: DatabaseOptions,
    ) -> Result<Self, DatabaseError> {
        let opened = connection::open_writer(path, options.cache_bytes, options.sync);
        let mut connection = opened.map_err(|error| error.of_file(path))?;
        connection::migrate(&mut connection, migrations)?;
        let open = Arc::new(OpenBatch::new(options.hold));
        let database = Self {
            path: path.to_owned(),
            look_ups: Arc::default(),
            scans: Arc::default(),
            long_reads: LongReads::new(&open),
            open,
            counters: Arc::default(),
            failed: Arc::default(),
            threads: Mutex::default(),
        };
        let writer = Writer {
            connection,
            open: Arc::clone(&database.open),
            counters: Arc::clone(&database.counters),
            failed: Arc::clone(&database.failed),
            on_fatal: options.on_fatal,
            before_commit: options.before_commit,
            log: Log::of(path, options.log_bytes, &database.long_reads, options.on_log),
        };
        database.spawn("database-write", move || writer.run())?;
        for _ in 0..options.readers.max(1) {
            database.spawn_reader("database-read", &database.look_ups, options.cache_bytes, || ())?;
        }
        let long_reads = Arc::clone(&database.long_reads);
        let begin = move || long_reads.begin_scan();
        database.spawn_reader("database-scan", &database.scans, options.cache_bytes, begin)?;
        Ok(database)
    }

    /// Runs `write` in the writer's transaction. The future resolves when its commit is durable, or when it was rolled
    /// back. The closure is queued at the call, not at the first poll, and runs even if the future is dropped.
    pub fn write<T, E, F>(
        &self,
        write: F,
    ) -> impl Future<Output = Result<T, WriteError<E>>> + Send + use<T, E, F>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: FnOnce(&Transaction<'_>) -> Result<T, WriteError<E>> + Send + 'static,
    {
        let (job, answer) = job(write);
        // After closing, the job is dropped, and with it the sender: the caller gets an error.
        self.open.add([job]);
        async move { answer.await.unwrap_or(Err(WriteError::Unavailable)) }
    }

    /// Runs `read`, a look-up of a few rows, on a reader's connection, which sees what is committed.
    pub fn read<T, F>(&self, read: F) -> impl Future<Output = Result<T, ReadError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let answer = query(&self.look_ups, read);
        async move { Ok(answer.await.map_err(|_| ReadError::Closed)??) }
    }

    /// Like [`read`](Self::read), for a read of possibly many rows: it runs after all scans that were queued before.
    pub fn scan<T, F>(&self, read: F) -> impl Future<Output = Result<T, ReadError>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let answer = query(&self.scans, read);
        async move { Ok(answer.await.map_err(|_| ReadError::Closed)??) }
    }

    /// Like [`read`](Self::read), but blocks: for start-up and the command line, never on a runtime's thread.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn read_blocking<T, F>(&self, read: F) -> Result<T, ReadError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        Ok(query(&self.look_ups, read).blocking_recv().map_err(|_| ReadError::Closed)??)
    }

    /// Like [`write`](Self::write), but blocks: for start-up and the command line, never on a runtime's thread.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn write_blocking<T, E, F>(&self, write: F) -> Result<T, WriteError<E>>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: FnOnce(&Transaction<'_>) -> Result<T, WriteError<E>> + Send + 'static,
    {
        let (job, answer) = job(write);
        self.open.add([job]);
        answer.blocking_recv().unwrap_or(Err(WriteError::Unavailable))
    }

    /// Whether the writer runs. It ends when the disk fails or it panics; every write is then refused.
    pub fn is_writable(&self) -> bool {
        !self.failed.load(Ordering::Acquire)
    }

    /// Sums since the database was opened.
    pub fn stats(&self) -> DatabaseStats {
        self.counters.read()
    }

    /// Accepts no more work, completes what is queued and closes the connections. Blocks. Dropping does the same.
    pub fn close(&self) {
        self.open.close();
        self.look_ups.close();
        self.scans.close();
        for thread in self.threads.lock().drain(..) {
            // A panic has been reported by its thread; its connection is closed either way.
            drop(thread.join());
        }
    }

    fn spawn_reader<Held>(
        &self,
        name: &str,
        queries: &Arc<Queries>,
        cache_bytes: u64,
        begin: impl Fn() -> Held + Send + 'static,
    ) -> Result<(), DatabaseError> {
        let connection = connection::open_reader(&self.path, cache_bytes)?;
        let (queries, counters) = (Arc::clone(queries), Arc::clone(&self.counters));
        self.spawn(name, move || readers::run(&connection, &queries, &counters, begin))
    }

    fn spawn(&self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), DatabaseError> {
        let thread = std::thread::Builder::new().name(name.into()).spawn(run)?;
        self.threads.lock().push(thread);
        Ok(())
    }
}

fn query<T, F>(queries: &Queries, read: F) -> oneshot::Receiver<rusqlite::Result<T>>
where
    T: Send + 'static,
    F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
{
    let (sender, receiver) = oneshot::channel();
    queries.push(Box::new(move |connection| {
        let result = read(connection);
        let refused = result.as_ref().is_err_and(|error| *error != rusqlite::Error::QueryReturnedNoRows);
        drop(sender.send(result));
        refused
    }));
    receiver
}

impl Drop for Database {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("path", &self.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
