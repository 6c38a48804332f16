//! Opens fjall: repairs what a crash left, and makes what was created durable.

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

/// Most bytes of all of fjall's journals together; fjall allows no less. Beyond it fjall flushes the tables whose data
/// is in the oldest journal, so that it can be removed.
const JOURNALS_MAX_BYTES: u64 = 64 << 20;

/// The first worker of fjall leaves compactions to the other workers by queueing the order again and again. With two
/// workers it therefore spins on one core while the other compacts. A single worker does both in turn. A flush then
/// waits for a compaction; small tables keep that short (writes stall when four memtables wait).
const WORKER_THREADS: usize = 1;

/// How many flushed memtables gather before they are merged with older tables. Records are looked up by key, and each
/// table's filter nearly always tells whether it has the key, so a few more tables cost little. But the records that
/// change all the time are spread over the whole table, so that a merge reads and writes all of it: with this number
/// half as often as by fjall's default.
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

/// Removes what a crash left of an unfinished first start, or of a batch that was not acknowledged.
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

/// fjall syncs the files in a new table's directory, but not the directory that holds the tables' directories. On a
/// file system that promises no more than POSIX, a power cut could remove all tables, and with them everything that was
/// acknowledged since the first start.
fn sync_directories(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            File::open(entry.path())?.sync_all()?;
        }
    }
    File::open(path)?.sync_all()
}
