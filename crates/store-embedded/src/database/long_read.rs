//! Long reads, during which the write-ahead log cannot be emptied.
//!
//! SQLite starts the log anew only when nobody reads from it. Scans that follow each other without a gap would
//! therefore let it grow without end. So if the log is too long, the next scan waits until the writer has emptied it.

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

/// The long reads: scans, one after another, and snapshots.
pub(super) struct LongReads {
    state: Mutex<State>,
    emptied: Condvar,
    writer: Arc<OpenBatch<Job>>,
}

impl LongReads {
    pub(super) fn new(writer: &Arc<OpenBatch<Job>>) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), emptied: Condvar::new(), writer: Arc::clone(writer) })
    }

    /// Begins a long read. Never waits for the writer, because snapshots begin on the writer's thread.
    pub(super) fn begin(self: &Arc<Self>) -> LongRead {
        self.state.lock().under_way += 1;
        LongRead(Arc::clone(self))
    }

    /// Begins a scan. If the log is too long, first waits until the writer has emptied it.
    pub(super) fn begin_scan(self: &Arc<Self>) -> LongRead {
        let mut state = self.state.lock();
        // While a snapshot is held, the log cannot be emptied, so waiting would be useless.
        if state.under_way == 0 {
            let waited =
                self.emptied.wait_while_for(&mut state, |state| state.log_is_long, PATIENCE).timed_out();
            // If the writer still writes, it sets the flag again.
            state.log_is_long &= !waited;
        }
        state.under_way += 1;
        drop(state);
        LongRead(Arc::clone(self))
    }

    /// Runs `empty`, unless a long read is under way: then the end of that read wakes the writer to try again. For the
    /// writer.
    pub(super) fn between<T>(&self, empty: impl FnOnce() -> T) -> Option<T> {
        let mut state = self.state.lock();
        state.log_is_long = state.under_way > 0;
        if state.log_is_long {
            return None;
        }
        // With the lock held, so that no long read begins meanwhile.
        let emptied = empty();
        self.emptied.notify_all();
        Some(emptied)
    }

    /// Notes that the log is short enough, so that no scan needs to wait. For the writer.
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
            // The writer checks the log after each commit, also after a write that changes nothing.
            self.writer.add([job(|_| Ok::<_, WriteError<Infallible>>(())).0]);
        }
    }
}

/// A long read; it ends when this is dropped.
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
