//! The durable log of hot state: fjall behind one group-commit writer.
//!
//! A caller changes its memory under its shard's lock and calls [`Journal::append`] while it still holds the lock (no
//! I/O happens there). It releases the lock and, before it answers, awaits [`Journal::wait`] for the highest commit
//! number that it wrote *or read*. One thread takes everything that was appended meanwhile, writes it as one atomic
//! batch, syncs once and wakes the callers.
//!
//! * The order of appends is the order on disk; after a crash the disk holds a prefix of it.
//! * [`Journal::get`] and the scans see durable batches only, and so lag behind appends. Therefore a record may leave
//!   the caller's memory only when the commit number of its last change is [durable](Journal::durable).
//! * A failed write or sync ends the process. A full disk does not: ask [`Journal::writable`] *before* changing memory,
//!   and answer 503 while it returns false. What was appended before is still made durable, in the space kept in
//!   reserve.
//! * Reading the disk ([`Journal::recover`]) is a step of its own, because it may take long after a crash. Until it is
//!   done, appends wait in memory, and reads fail.
//! * Records are deleted [some time after their end](expiry), by compaction. The disk usage is bounded by compaction,
//!   which drops overwritten and removed records, and by the cap on fjall's own journals.

mod engine;
pub mod expiry;
mod first_start;
mod listener;
mod options;
mod room;
mod scan;
mod settle;
mod stats;
mod table;
mod torn_tail;
mod watermark;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use fjall::PersistMode;
use parking_lot::Mutex;

pub use options::{BeforeSync, JournalError, JournalOptions, OnCommit, SyncMode, UnixMillis};
pub use scan::{JournalSnapshot, Record, Scan};
pub use stats::JournalStats;
pub use table::{END_BYTES, KeyBytes, NEVER, Op, Table, ValueBytes, split_value};
pub use watermark::{CommitNumber, DurableCommit};

use crate::free_space::FreeSpace;
use crate::group_commit::OpenBatch;
use engine::Engine;
use room::Room;
use stats::Counters;
use watermark::Watermark;
use writer::Writer;

/// The journal. Cheap to share behind an [`Arc`]. Dropping it writes and syncs what was appended.
pub struct Journal {
    path: PathBuf,
    options: JournalOptions,
    engine: OnceLock<Engine>,
    open: Arc<OpenBatch<Op>>,
    watermark: Arc<Watermark>,
    counters: Arc<Counters>,
    failed: Arc<AtomicBool>,
    sealed: AtomicBool,
    space: FreeSpace,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Journal {
    /// Opens or creates the journal in the directory `path`, and recovers it. `now` decides what has expired.
    ///
    /// # Errors
    /// As [`recover`](Self::recover).
    pub fn open(path: &Path, now: UnixMillis, options: JournalOptions) -> Result<Self, JournalError> {
        let journal = Self::new(path, options);
        journal.recover(now)?;
        Ok(journal)
    }

    /// A journal in the directory `path` that has not read the disk yet.
    #[must_use]
    pub fn new(path: &Path, options: JournalOptions) -> Self {
        let space = match options.free_bytes.clone() {
            Some(free_bytes) => FreeSpace::from_probe(free_bytes, options.reserve_bytes),
            None => FreeSpace::of(path, options.reserve_bytes),
        };
        Self {
            path: path.to_owned(),
            engine: OnceLock::new(),
            open: Arc::new(OpenBatch::new(options.hold)),
            watermark: Arc::default(),
            counters: Arc::default(),
            failed: Arc::default(),
            sealed: AtomicBool::new(false),
            space,
            writer: Mutex::new(None),
            options,
        }
    }

    /// Reads the disk, and starts to write what was appended. To be called once. Blocks: fjall takes some ten
    /// milliseconds per megabyte of its own journals. They are at most 64 MB after a crash, and empty after a clean
    /// stop.
    ///
    /// # Errors
    /// [`JournalError`] if the engine cannot read what is there, or a thread cannot be started.
    pub fn recover(&self, now: UnixMillis) -> Result<(), JournalError> {
        let mut writer = self.writer.lock();
        if self.engine.get().is_some() {
            return Ok(());
        }
        let engine = Engine::open(&self.path, now, &self.options)?;
        let thread = std::thread::Builder::new().name("journal".into());
        let of_thread = self.writer(engine.clone());
        *writer = Some(thread.spawn(move || of_thread.run()).map_err(JournalError::Thread)?);
        self.engine.get_or_init(|| engine);
        Ok(())
    }

    fn writer(&self, engine: Engine) -> Writer {
        let sync = self.options.sync;
        Writer {
            engine,
            open: Arc::clone(&self.open),
            watermark: Arc::clone(&self.watermark),
            counters: Arc::clone(&self.counters),
            failed: Arc::clone(&self.failed),
            sync,
            room: (sync != SyncMode::Off).then(|| Room::new(&self.path)),
            before_sync: self.options.before_sync.clone(),
            on_commit: self.options.on_commit.clone(),
            on_fatal: self.options.on_fatal.clone(),
        }
    }

    fn engine(&self) -> Result<&Engine, JournalError> {
        self.engine.get().ok_or(JournalError::NotRecovered)
    }

    /// Adds changes to the open batch, to be made durable together, and returns the batch's number. Does no I/O, so it
    /// may be called under the lock under which memory was changed. Without any change it still takes a number.
    ///
    /// After [`close`](Self::close) or [`seal`](Self::seal), or after a failure of the disk that did not end the
    /// process, it returns a number that never becomes durable.
    pub fn append(&self, ops: impl IntoIterator<Item = Op>) -> CommitNumber {
        CommitNumber(self.open.add(ops).unwrap_or(u64::MAX))
    }

    /// Whether writes are taken: there is more free space than the reserve, the disk has not failed, and the journal is
    /// not [sealed](Self::seal). To be asked before memory is changed; costs one to three atomic loads.
    pub fn writable(&self) -> bool {
        !self.is_sealed() && self.has_room()
    }

    /// Whether there is more free space than the reserve, and the disk has not failed.
    pub(crate) fn has_room(&self) -> bool {
        !self.failed.load(Ordering::Acquire) && self.space.is_enough()
    }

    /// Accepts no more appends: they get a number that never becomes durable. What was appended before still becomes
    /// durable.
    pub fn seal(&self) {
        self.sealed.store(true, Ordering::Release);
        self.open.seal();
    }

    /// Whether it is sealed.
    pub fn is_sealed(&self) -> bool {
        self.sealed.load(Ordering::Acquire)
    }

    /// Checks the free space now, instead of within 100 ms.
    #[cfg(test)]
    pub(crate) fn look_at_the_disk(&self) {
        self.space.look();
    }

    /// Whether everything up to `commit` is on disk. One atomic load.
    pub fn durable(&self, commit: CommitNumber) -> bool {
        self.watermark.has_reached(commit)
    }

    /// Resolves when everything up to `commit` is on disk.
    pub fn wait(&self, commit: CommitNumber) -> DurableCommit {
        DurableCommit::new(Arc::clone(&self.watermark), commit)
    }

    /// The latest commit number given out.
    pub fn youngest(&self) -> CommitNumber {
        CommitNumber(self.open.youngest())
    }

    /// Resolves when everything that was appended before this call is on disk.
    pub fn flush(&self) -> DurableCommit {
        self.wait(self.youngest())
    }

    /// Sums since the journal was made.
    pub fn stats(&self) -> JournalStats {
        self.counters.read()
    }

    /// Bytes on disk, of tables and of fjall's own journals (which are sparse files of 64 MiB).
    ///
    /// # Errors
    /// [`JournalError`] if the file system does not answer, or the journal is not recovered.
    pub fn disk_bytes(&self) -> Result<u64, JournalError> {
        Ok(self.engine()?.database.disk_space()?)
    }

    /// Rewrites a whole table, so that expired records leave the disk that no compaction has reached for long. Reads
    /// and writes all of the table: for a rare background job, on a thread that may block.
    ///
    /// # Errors
    /// [`JournalError`] of the engine, or that the journal is not recovered.
    pub fn compact(&self, table: Table) -> Result<(), JournalError> {
        Ok(self.engine()?.tables.get(table).major_compact()?)
    }

    /// Writes and syncs what was appended, stops the writer and flushes the tables, so that the next start has nothing
    /// to replay. Blocks. Dropping the journal does the same without flushing the tables.
    ///
    /// # Errors
    /// [`JournalError::Engine`] if the last sync failed.
    pub fn close(&self) -> Result<(), JournalError> {
        if !self.drain()? || !self.writable() {
            return Ok(());
        }
        match settle::settle(&self.engine()?.tables, &self.path) {
            Ok(true) => {}
            Ok(false) => {
                tracing::warn!("the tables were not written out in time: the next start replays them")
            }
            // No data is lost: the journal has all of it.
            Err(error) => {
                tracing::warn!(%error, "the tables were not written out: the next start replays them")
            }
        }
        Ok(())
    }

    /// Writes and syncs what was appended, and stops the writer; returns whether this call did so.
    fn drain(&self) -> Result<bool, JournalError> {
        self.open.close();
        let Some(writer) = self.writer.lock().take() else { return Ok(false) };
        // If the writer panicked, its thread has reported that, and there is nothing left to write.
        drop(writer.join());
        self.engine()?.database.persist(PersistMode::SyncAll)?;
        Ok(true)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if let Err(error) = self.drain() {
            tracing::error!(%error, "the journal was not closed cleanly");
        }
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("watermark", &self.watermark).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
