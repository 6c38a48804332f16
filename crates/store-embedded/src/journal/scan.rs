//! Reads durable data: one record, a range, or everything as of one moment.

use std::ops::RangeBounds;

use fjall::{Readable, Slice, Snapshot};

use super::engine::Tables;
use super::options::JournalError;
use super::table::Table;
use super::{CommitNumber, Journal};

/// A record of a scan: its key and its value, which starts with the end time (see
/// [`split_value`](super::split_value)).
pub type Record = (Slice, Slice);

/// Records in the order of their keys. May read the disk: not to be advanced under a lock or on a runtime's thread.
pub struct Scan(fjall::Iter);

impl Iterator for Scan {
    type Item = Result<Record, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.into_inner().map_err(JournalError::from))
    }
}

/// Everything as of one commit, for backups, while writes continue. While it is held, overwritten versions stay on
/// disk.
pub struct JournalSnapshot {
    snapshot: Snapshot,
    tables: Tables,
    commit: CommitNumber,
}

impl JournalSnapshot {
    /// Every commit up to this one is contained. A later commit may be contained too, but only as a whole.
    #[must_use]
    pub fn commit(&self) -> CommitNumber {
        self.commit
    }

    /// All records of one table.
    #[must_use]
    pub fn table(&self, table: Table) -> Scan {
        Scan(self.snapshot.iter(self.tables.get(table)))
    }

    /// All records of all tables.
    pub fn records(&self) -> impl Iterator<Item = Result<(Table, Record), JournalError>> + '_ {
        Table::ALL
            .into_iter()
            .flat_map(|table| self.table(table).map(move |record| record.map(|record| (table, record))))
    }
}

impl Journal {
    /// The durable value under `key`, which starts with the end time. Sees durable batches only. May read the
    /// disk: not to be called under a lock or, where latency counts, on a runtime's thread.
    ///
    /// # Errors
    /// [`JournalError`] if the disk cannot be read or its data is damaged, or the journal is not recovered.
    pub fn get(&self, table: Table, key: &[u8]) -> Result<Option<Slice>, JournalError> {
        let engine = self.engine()?;
        Ok(engine.database.snapshot().get(engine.tables.get(table), key)?)
    }

    /// Durable records whose key starts with `prefix`, in order.
    ///
    /// # Errors
    /// [`JournalError::NotRecovered`].
    pub fn scan_prefix(&self, table: Table, prefix: &[u8]) -> Result<Scan, JournalError> {
        let engine = self.engine()?;
        Ok(Scan(engine.database.snapshot().prefix(engine.tables.get(table), prefix)))
    }

    /// Durable records with keys in `range`, in order.
    ///
    /// # Errors
    /// [`JournalError::NotRecovered`].
    pub fn scan(&self, table: Table, range: impl RangeBounds<Vec<u8>>) -> Result<Scan, JournalError> {
        let engine = self.engine()?;
        Ok(Scan(engine.database.snapshot().range(engine.tables.get(table), range)))
    }

    /// Everything that is durable now, as of one commit.
    ///
    /// # Errors
    /// [`JournalError::NotRecovered`].
    pub fn snapshot(&self) -> Result<JournalSnapshot, JournalError> {
        let engine = self.engine()?;
        // The watermark is read first: a commit is in the engine before the watermark is raised to it, so the snapshot
        // contains it.
        let commit = CommitNumber(self.watermark.durable());
        Ok(JournalSnapshot { snapshot: engine.database.snapshot(), tables: engine.tables.clone(), commit })
    }
}
