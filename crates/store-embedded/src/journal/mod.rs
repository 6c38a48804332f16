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
//! * Records vanish [some time after their end](expiry), when compaction meets them. The disk is bounded by
//!   compaction (what was overwritten or removed goes) and by the cap on fjall's own journals.

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
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use fjall::compaction::Leveled;
use fjall::{KeyspaceCreateOptions, PersistMode};
use parking_lot::Mutex;

pub use options::{BeforeSync, JournalError, JournalOptions, OnCommit, SyncMode, UnixMillis};
pub use scan::{JournalSnapshot, Record, Scan};
pub use stats::JournalStats;
pub use table::{END_BYTES, KeyBytes, NEVER, Op, Table, ValueBytes, split_value};
pub use watermark::{CommitNumber, Durable};

use crate::free_space::FreeSpace;
use crate::group_commit::OpenBatch;
use expiry::ExpiryFactory;
use room::Room;
use stats::Counters;
use watermark::Watermark;
use writer::{Tables, Writer};

/// fjall's own journals together; its least. Beyond it the tables that hold the oldest one back are written out.
const JOURNALS_MAX_BYTES: u64 = 64 << 20;

/// fjall's first worker leaves compactions to the others, by sending itself the order again and again: with two
/// workers it spins on one core for as long as the other one compacts. Alone it does both in turn; a flush then
/// waits for a compaction, which small tables keep short (writes stall when four memtables wait).
const WORKER_THREADS: usize = 1;

/// The open journal. Cheap to share behind an [`Arc`]; dropping it drains it.
pub struct Journal {
    path: PathBuf,
    engine: fjall::Database,
    tables: Tables,
    open: Arc<OpenBatch<Op>>,
    watermark: Arc<Watermark>,
    counters: Arc<Counters>,
    failed: Arc<AtomicBool>,
    sealed: AtomicBool,
    space: FreeSpace,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Journal {
    /// Opens or creates the journal in the directory `path`. `now` decides what has expired.
    ///
    /// # Errors
    /// [`JournalError`] if the engine cannot read what is there, or a thread cannot be started.
    pub fn open(path: &Path, now: UnixMillis, options: JournalOptions) -> Result<Self, JournalError> {
        heal(path)?;
        let engine = fjall::Database::builder(path)
            .cache_size(options.cache_bytes)
            .max_journaling_size(JOURNALS_MAX_BYTES)
            .manual_journal_persist(true)
            .worker_threads(WORKER_THREADS)
            .with_compaction_filter_factories(Arc::new(move |_| Some(ExpiryFactory::shared(now.clone()))))
            .open()?;
        let tables = open_tables(&engine, options.memtable_bytes)?;
        engine.persist(PersistMode::SyncAll)?;
        if options.sync != SyncMode::Off {
            sync_directories(path).map_err(JournalError::Directory)?;
        }
        let space = match options.free_bytes {
            Some(free_bytes) => FreeSpace::from_probe(free_bytes, options.reserve_bytes),
            None => FreeSpace::of(path, options.reserve_bytes),
        };
        let journal = Self {
            path: path.to_owned(),
            engine,
            tables,
            open: Arc::new(OpenBatch::new(options.hold)),
            watermark: Arc::default(),
            counters: Arc::default(),
            failed: Arc::default(),
            sealed: AtomicBool::new(false),
            space,
            writer: Mutex::new(None),
        };
        let writer = Writer {
            engine: journal.engine.clone(),
            tables: journal.tables.clone(),
            open: Arc::clone(&journal.open),
            watermark: Arc::clone(&journal.watermark),
            counters: Arc::clone(&journal.counters),
            failed: Arc::clone(&journal.failed),
            sync: options.sync,
            room: (options.sync != SyncMode::Off).then(|| Room::new(path)),
            before_sync: options.before_sync,
            on_commit: options.on_commit,
            on_fatal: options.on_fatal,
        };
        let thread = std::thread::Builder::new()
            .name("journal".into())
            .spawn(move || writer.run())
            .map_err(JournalError::Thread)?;
        *journal.writer.lock() = Some(thread);
        Ok(journal)
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
    pub fn wait(&self, commit: CommitNumber) -> Durable {
        Durable::new(Arc::clone(&self.watermark), commit)
    }

    /// The youngest commit number given out.
    pub fn youngest(&self) -> CommitNumber {
        CommitNumber(self.open.youngest())
    }

    /// Resolves when everything that was appended before this call is on disk.
    pub fn flush(&self) -> Durable {
        self.wait(self.youngest())
    }

    /// Sums since it was opened.
    pub fn stats(&self) -> JournalStats {
        self.counters.read()
    }

    /// Bytes on disk, of tables and of fjall's own journals (which are sparse files of 64 MiB).
    ///
    /// # Errors
    /// [`JournalError::Engine`] if the file system does not answer.
    pub fn disk_bytes(&self) -> Result<u64, JournalError> {
        Ok(self.engine.disk_space()?)
    }

    /// Rewrites a whole table, so that expired records which no compaction has met for long leave the disk.
    /// Reads and writes all of it: for a rare background job, on a thread that may block.
    ///
    /// # Errors
    /// [`JournalError::Engine`].
    pub fn compact(&self, table: Table) -> Result<(), JournalError> {
        Ok(self.tables.get(table).major_compact()?)
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
        match settle::settle(&self.tables, &self.path) {
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
        self.engine.persist(PersistMode::SyncAll)?;
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

/// How many memtables are written out before they are merged with what is older. Records are looked up by their key, and
/// the filter of each table says nearly always whether it is there, so a few more cost little; but what is rewritten all
/// the time is spread over the whole table, which a merge then reads and writes: half as often as by fjall's default.
const GATHERED_TABLES: u8 = 8;

fn open_tables(engine: &fjall::Database, memtable_bytes: u64) -> Result<Tables, fjall::Error> {
    let compaction =
        Leveled::default().with_table_target_size(memtable_bytes).with_l0_threshold(GATHERED_TABLES);
    let open = |table: Table| {
        engine.keyspace(table.name(), || {
            KeyspaceCreateOptions::default()
                .max_memtable_size(memtable_bytes)
                .manual_journal_persist(true)
                .compaction_strategy(Arc::new(compaction.clone()))
        })
    };
    Ok(Tables {
        sessions: open(Table::Sessions)?,
        sessions_of_user: open(Table::SessionsOfUser)?,
        families: open(Table::Families)?,
        revocations: open(Table::Revocations)?,
        assertion_marks: open(Table::AssertionMarks)?,
        meta: open(Table::Meta)?,
    })
}

/// Takes back what an accident left of a first start, or of a batch that nobody was told of.
fn heal(path: &Path) -> Result<(), JournalError> {
    if !path.is_dir() {
        return Ok(());
    }
    if first_start::clear_unfinished(path).map_err(JournalError::Directory)? {
        tracing::warn!("began again with a first start that had not been finished");
    }
    let bytes = torn_tail::heal(path).map_err(JournalError::Damaged)?;
    if bytes > 0 {
        tracing::warn!(bytes, "took back a batch that was being written when the machine stopped");
    }
    Ok(())
}

/// fjall syncs what it puts into a new table's directory, but not the directory that holds those of all tables: after
/// a power cut a file system that promises no more than POSIX has none of them, and whatever was acknowledged since
/// the first start is gone with them.
fn sync_directories(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            File::open(entry.path())?.sync_all()?;
        }
    }
    File::open(path)?.sync_all()
}

#[cfg(test)]
mod tests;
