//! The only thread that writes: takes a batch, syncs it once, raises the watermark.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fjall::PersistMode;

use super::engine::Engine;
use super::options::{BeforeSync, OnCommit, SyncMode};
use super::room::Room;
use super::stats::Counters;
use super::table::Op;
use super::watermark::Watermark;
use crate::fatal::OnFatal;
use crate::free_space::monotonic_now;
use crate::group_commit::{Batch, OpenBatch, Pace};

/// Most bytes that fjall writes around a change, and around a batch.
const FRAME: u64 = 64;

/// What the writer's thread owns or shares.
pub(super) struct Writer {
    pub(super) engine: Engine,
    pub(super) open: Arc<OpenBatch<Op>>,
    pub(super) watermark: Arc<Watermark>,
    pub(super) counters: Arc<Counters>,
    pub(super) failed: Arc<AtomicBool>,
    pub(super) sync: SyncMode,
    pub(super) room: Option<Room>,
    pub(super) before_sync: Option<BeforeSync>,
    pub(super) on_commit: Option<OnCommit>,
    pub(super) on_fatal: OnFatal,
}

impl Writer {
    /// Runs until the open batch is closed and drained, or the disk fails. A panic, perhaps of the engine, counts as a
    /// failure: otherwise callers would wait for ever, while the server seems to be well.
    pub(super) fn run(self) {
        let (open, failed, on_fatal) =
            (Arc::clone(&self.open), Arc::clone(&self.failed), self.on_fatal.clone());
        if catch_unwind(AssertUnwindSafe(|| self.write_batches())).is_err() {
            failed.store(true, Ordering::Release);
            open.close();
            on_fatal.call("the journal's thread panicked");
        }
    }

    fn write_batches(mut self) {
        let mut pace = Pace::default();
        let mut spare = Vec::new();
        let mut woken = Vec::new();
        while let Some(mut batch) = self.open.next(&mut pace, std::mem::take(&mut spare)) {
            let written = match self.commit(&mut batch) {
                Ok(written) => written,
                Err(error) => {
                    // Before `on_fatal`, which returns only in tests: the batch must not be acknowledged.
                    self.failed.store(true, Ordering::Release);
                    self.open.close();
                    self.on_fatal.call(&format!("a batch of the journal could not be made durable: {error}"));
                    return;
                }
            };
            self.watermark.raise(batch.number, &mut woken);
            // After the waiters were woken, so that none of them waits for this.
            if let Some(room) = &mut self.room {
                room.written(written);
            }
            spare = batch.entries;
        }
    }

    /// Makes a batch durable; returns an upper bound of the bytes that it takes in fjall's journal.
    fn commit(&self, batch: &mut Batch<Op>) -> Result<u64, fjall::Error> {
        let started = monotonic_now();
        let queued = started.saturating_duration_since(batch.opened);
        let ops = batch.entries.len();
        let mut bytes = 0;
        // Readers see the batch only after its sync, so that all that is read is durable.
        let mut write = self.engine.database.batch().durability(Some(match self.sync {
            SyncMode::Data => PersistMode::SyncData,
            SyncMode::All => PersistMode::SyncAll,
            // The operating system has the data, so the end of the process loses nothing.
            SyncMode::Off => PersistMode::Buffer,
        }));
        for op in batch.entries.drain(..) {
            bytes += op.bytes();
            let table = self.engine.tables.get(op.table);
            match op.value {
                Some(value) => write.insert(table, &*op.key, &*value),
                None => write.remove(table, &*op.key),
            }
        }
        if let Some(before_sync) = &self.before_sync {
            before_sync()?;
        }
        write.commit()?;
        let took = monotonic_now().duration_since(started);
        self.counters.count(batch.appends, ops, bytes, queued, took);
        if let Some(on_commit) = &self.on_commit {
            on_commit(ops as u64, u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        }
        Ok(bytes + FRAME * (ops as u64 + 1))
    }
}
