//! Reads that last, and the write-ahead log that cannot be emptied while there is one.
//!
//! SQLite begins the log anew only when nobody reads what is in it. Scans that follow each other without a gap would
//! keep it growing for as long as they come: so the next one waits until the writer has emptied a log that is too long.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::error::WriteError;
use super::job::{Job, job};
use crate::group_commit::OpenBatch;

/// How long a scan waits for the log to be emptied, at most.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Default)]
struct State {
    under_way: usize,
    /// The writer wants to empty the log.
    log_is_long: bool,
}

/// The reads that last: scans, one after another, and snapshots.
pub(super) struct LongReads {
    state: Mutex<State>,
    emptied: Condvar,
    writer: Arc<OpenBatch<Job>>,
}

impl LongReads {
    pub(super) fn new(writer: &Arc<OpenBatch<Job>>) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), emptied: Condvar::new(), writer: Arc::clone(writer) })
    }

    /// Begins one. Never waits for the writer, on whose thread snapshots begin.
    pub(super) fn begin(self: &Arc<Self>) -> LongRead {
        self.state.lock().under_way += 1;
        LongRead(Arc::clone(self))
    }

    /// Begins a scan, when the writer has emptied a log that is too long.
    pub(super) fn begin_scan(self: &Arc<Self>) -> LongRead {
        let mut state = self.state.lock();
        // Beside a snapshot there is nothing to wait for.
        if state.under_way == 0 {
            let waited =
                self.emptied.wait_while_for(&mut state, |state| state.log_is_long, PATIENCE).timed_out();
            // The writer asks again, if it still writes.
            state.log_is_long &= !waited;
        }
        state.under_way += 1;
        drop(state);
        LongRead(Arc::clone(self))
    }

    /// Empties the log, unless a read that lasts is under way: then as soon as it has ended. For the writer.
    pub(super) fn between<T>(&self, empty: impl FnOnce() -> T) -> Option<T> {
        let mut state = self.state.lock();
        state.log_is_long = state.under_way > 0;
        if state.log_is_long {
            return None;
        }
        // With the lock held, so that none begins meanwhile.
        let emptied = empty();
        self.emptied.notify_all();
        Some(emptied)
    }

    /// The log is short enough: no scan need wait. For the writer.
    pub(super) fn log_is_short(&self) {
        self.state.lock().log_is_long = false;
        self.emptied.notify_all();
    }

    fn end(&self) {
        let wake = {
            let mut state = self.state.lock();
            state.under_way -= 1;
            state.log_is_long && state.under_way == 0
        };
        if wake {
            // The writer looks at the log after each commit, also of a write that changes nothing.
            self.writer.add([job(|_| Ok::<_, WriteError<Infallible>>(())).0]);
        }
    }
}

/// A read that lasts, until it is dropped.
pub(super) struct LongRead(Arc<LongReads>);

impl Drop for LongRead {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl std::fmt::Debug for LongRead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LongRead")
    }
}
