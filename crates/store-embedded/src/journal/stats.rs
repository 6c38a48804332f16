//! The journal's counters.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counters, written by the writer's thread only.
#[derive(Debug, Default)]
pub(super) struct Counters {
    batches: AtomicU64,
    appends: AtomicU64,
    ops: AtomicU64,
    bytes: AtomicU64,
    commit_nanos: AtomicU64,
    commit_nanos_max: AtomicU64,
    queue_nanos: AtomicU64,
}

/// Sums since the journal was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalStats {
    /// Batches made durable, which is the number of fsyncs.
    pub batches: u64,
    /// Calls of `append` in them.
    pub appends: u64,
    /// Changes in them.
    pub ops: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// Time spent writing and syncing.
    pub commit_time: Duration,
    /// The longest commit.
    pub commit_time_max: Duration,
    /// Sum over the batches of the time from the first append to the start of the commit.
    pub queue_wait: Duration,
}

impl Counters {
    pub(super) fn count(&self, appends: usize, ops: usize, bytes: u64, queued: Duration, commit: Duration) {
        let add = |counter: &AtomicU64, by: u64| counter.fetch_add(by, Ordering::Relaxed);
        let commit = nanos(commit);
        add(&self.batches, 1);
        add(&self.appends, appends as u64);
        add(&self.ops, ops as u64);
        add(&self.bytes, bytes);
        add(&self.commit_nanos, commit);
        add(&self.queue_nanos, nanos(queued));
        self.commit_nanos_max.fetch_max(commit, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> JournalStats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        JournalStats {
            batches: get(&self.batches),
            appends: get(&self.appends),
            ops: get(&self.ops),
            bytes: get(&self.bytes),
            commit_time: Duration::from_nanos(get(&self.commit_nanos)),
            commit_time_max: Duration::from_nanos(get(&self.commit_nanos_max)),
            queue_wait: Duration::from_nanos(get(&self.queue_nanos)),
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
