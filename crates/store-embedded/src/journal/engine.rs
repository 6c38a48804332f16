//! fjall, opened: what an accident left is mended before, and what was made is durable after.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use fjall::compaction::Leveled;
use fjall::{Keyspace, KeyspaceCreateOptions, PersistMode};

use super::expiry::ExpiryFactory;
use super::options::{JournalError, JournalOptions, SyncMode, UnixMillis};
use super::table::Table;
use super::{first_start, torn_tail};

/// fjall's own journals together; its least. Beyond it the tables that hold the oldest one back are written out.
const JOURNALS_MAX_BYTES: u64 = 64 << 20;

/// fjall's first worker leaves compactions to the others, by sending itself the order again and again: with two
/// workers it spins on one core for as long as the other one compacts. Alone it does both in turn; a flush then
/// waits for a compaction, which small tables keep short (writes stall when four memtables wait).
const WORKER_THREADS: usize = 1;

/// How many memtables are written out before they are merged with what is older. Records are looked up by their key, and
/// the filter of each table says nearly always whether it is there, so a few more cost little; but what is rewritten all
/// the time is spread over the whole table, which a merge then reads and writes: half as often as by fjall's default.
const GATHERED_TABLES: u8 = 8;

/// The engine and its tables.
#[derive(Clone)]
pub(super) struct Engine {
    pub(super) database: fjall::Database,
    pub(super) tables: Tables,
}

impl Engine {
    /// Opens or creates the engine in the directory `path`; it replays its journals.
    ///
    /// # Errors
    /// [`JournalError`] if it cannot read what is there.
    pub(super) fn open(path: &Path, now: UnixMillis, options: &JournalOptions) -> Result<Self, JournalError> {
        heal(path)?;
        let database = fjall::Database::builder(path)
            .cache_size(options.cache_bytes)
            .max_journaling_size(JOURNALS_MAX_BYTES)
            .manual_journal_persist(true)
            .worker_threads(WORKER_THREADS)
            .with_compaction_filter_factories(Arc::new(move |_| Some(ExpiryFactory::shared(now.clone()))))
            .open()?;
        let tables = Tables::open(&database, options.memtable_bytes)?;
        database.persist(PersistMode::SyncAll)?;
        if options.sync != SyncMode::Off {
            sync_directories(path).map_err(JournalError::Directory)?;
        }
        Ok(Self { database, tables })
    }
}

/// The tables of an open journal.
#[derive(Clone)]
pub(super) struct Tables {
    pub(super) sessions: Keyspace,
    pub(super) sessions_of_user: Keyspace,
    pub(super) families: Keyspace,
    pub(super) families_of_user: Keyspace,
    pub(super) revocations: Keyspace,
    pub(super) assertion_marks: Keyspace,
    pub(super) meta: Keyspace,
}

impl Tables {
    fn open(engine: &fjall::Database, memtable_bytes: u64) -> Result<Self, fjall::Error> {
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
        Ok(Self {
            sessions: open(Table::Sessions)?,
            sessions_of_user: open(Table::SessionsOfUser)?,
            families: open(Table::Families)?,
            families_of_user: open(Table::FamiliesOfUser)?,
            revocations: open(Table::Revocations)?,
            assertion_marks: open(Table::AssertionMarks)?,
            meta: open(Table::Meta)?,
        })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Keyspace> {
        Table::ALL.into_iter().map(|table| self.get(table))
    }

    pub(super) fn get(&self, table: Table) -> &Keyspace {
        match table {
            Table::Sessions => &self.sessions,
            Table::SessionsOfUser => &self.sessions_of_user,
            Table::Families => &self.families,
            Table::FamiliesOfUser => &self.families_of_user,
            Table::Revocations => &self.revocations,
            Table::AssertionMarks => &self.assertion_marks,
            Table::Meta => &self.meta,
        }
    }
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
