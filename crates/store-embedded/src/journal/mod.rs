//! The durable log of hot state: fjall behind one group-commit writer.
//!
//! A caller changes its memory under its shard's lock, calls [`Journal::append`] while it still holds it (no I/O
//! happens there), lets go, and awaits [`Journal::wait`] for the highest commit number that it wrote *or read*
//! before it answers. One thread takes all that was appended meanwhile, writes it as one atomic batch, syncs once
//! and wakes everybody.
//!
//! * The order of appends is the order on disk; after a crash the disk holds a prefix of it.
//! * [`Journal::get`] and the scans see durable batches only, and lag behind appends. So a record may leave the
//!   caller's memory only when the commit number of its last change is [durable](Journal::durable).
//! * A failed write or sync ends the process. A full disk does not: ask [`Journal::writable`] *before* changing
//!   memory and answer 503 while it says no. What was appended before is still made durable, out of the reserve.
//! * What is on the disk is [recovered](Journal::recover) apart from the journal's making, because it takes its time after
//!   a crash. Until then appends wait in memory, and reads are an error.
//! * Records vanish [some time after their end](expiry), when compaction meets them. The disk is bounded by
//!   compaction (what was overwritten or removed goes) and by the cap on fjall's own journals.

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

/// The journal. Cheap to share behind an [`Arc`]; dropping it drains it.
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

    /// The journal in the directory `path`, which nobody has read yet.
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

    /// Reads what is on the disk, and begins to write what was appended; once. Blocks: fjall takes some ten milliseconds
    /// for a megabyte of its own journals, of which there are 64 at most after a crash, and none after a clean stop.
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

    /// Adds changes, to be made durable together, to the open batch, and answers its number. No I/O: call it
    /// while holding the lock under which memory was changed. Without any change it still takes a number.
    ///
    /// After [`close`](Self::close) or [`seal`](Self::seal), or after the disk failed where that does not end the process, the answer is
    /// a number that never becomes durable.
    pub fn append(&self, ops: impl IntoIterator<Item = Op>) -> CommitNumber {
        CommitNumber(self.open.add(ops).unwrap_or(u64::MAX))
    }

    /// Whether writes are taken: there is more disk than the reserve, the disk has not failed, and nobody has
    /// [sealed](Self::seal) it. To be asked before memory is changed; costs an atomic load or three.
    pub fn writable(&self) -> bool {
        !self.is_sealed() && self.has_room()
    }

    /// Whether there is more disk than the reserve, and it has not failed.
    pub(crate) fn has_room(&self) -> bool {
        !self.failed.load(Ordering::Acquire) && self.space.is_enough()
    }

    /// Takes no appends any more: they get a number that never becomes durable. What was appended before still does.
    pub fn seal(&self) {
        self.sealed.store(true, Ordering::Release);
        self.open.seal();
    }

    /// Whether it takes no appends any more.
    pub fn is_sealed(&self) -> bool {
        self.sealed.load(Ordering::Acquire)
    }

    /// Looks at the free space now, instead of within a tenth of a second.
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

    /// The youngest commit number given out.
    pub fn youngest(&self) -> CommitNumber {
        CommitNumber(self.open.youngest())
    }

    /// Resolves when everything that was appended before this call is on disk.
    pub fn flush(&self) -> DurableCommit {
        self.wait(self.youngest())
    }

    /// Sums since it was opened.
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

    /// Rewrites a whole table, so that expired records which no compaction has met for long leave the disk.
    /// Reads and writes all of it: for a rare background job, on a thread that may block.
    ///
    /// # Errors
    /// [`JournalError`] of the engine, or that the journal is not recovered.
    pub fn compact(&self, table: Table) -> Result<(), JournalError> {
        Ok(self.engine()?.tables.get(table).major_compact()?)
    }

    /// Drains what was appended, syncs, stops the writer and writes the tables out, so that the next start has
    /// nothing to replay. Blocks. Dropping only drains and syncs.
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
            // Nothing is lost: the journal has it all.
            Err(error) => {
                tracing::warn!(%error, "the tables were not written out: the next start replays them")
            }
        }
        Ok(())
    }

    /// Drains what was appended, syncs and stops the writer; whether it was this call that did.
    fn drain(&self) -> Result<bool, JournalError> {
        self.open.close();
        let Some(writer) = self.writer.lock().take() else { return Ok(false) };
        // A panic of the writer has been reported by its thread; there is nothing to drain any more.
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
