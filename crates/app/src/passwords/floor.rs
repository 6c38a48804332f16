//! The least time after which an attempt is answered: as long as the costliest hash takes that may be stored.
//!
//! Hashes are of different costs: old settings, imports. Were an attempt answered as soon as its hash is checked, the time
//! would tell whether there is a user of that name, and where the hash came from. Waiting takes no thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A measurement counts for one sixteenth.
const SMOOTHING: u64 = 16;

/// How long it takes to work through a KiB, and what the costliest hash takes.
pub(super) struct Floor {
    own_work_kib: u64,
    most_work_kib: u64,
    /// Picoseconds; 0 before anything was measured.
    per_kib: AtomicU64,
}

impl Floor {
    /// Works by the costs of the server's own hashes, and of the costliest one that may be imported; in KiB.
    pub(super) const fn new(own_work_kib: u64, most_work_kib: u64) -> Self {
        Self { own_work_kib, most_work_kib, per_kib: AtomicU64::new(0) }
    }

    /// Whether anything was measured.
    pub(super) fn is_measured(&self) -> bool {
        self.per_kib.load(Ordering::Relaxed) > 0
    }

    /// Takes a measurement into account. Small work says little of large work: caches make it faster, what it begins with
    /// makes it slower.
    pub(super) fn note(&self, work_kib: u64, took: Duration) {
        if work_kib < self.own_work_kib || work_kib == 0 {
            return;
        }
        let measured = nanoseconds(took).saturating_mul(1_000) / work_kib;
        let known = self.per_kib.load(Ordering::Relaxed);
        let smoothed = if known == 0 { measured } else { known - known / SMOOTHING + measured / SMOOTHING };
        // Of two threads that measure at once, one is forgotten.
        self.per_kib.store(smoothed.max(1), Ordering::Relaxed);
    }

    /// How long the answer to an attempt still waits, whose hash took so long to check. Where that is longer than the
    /// floor, because the machine is busy or an earlier version imported a costlier hash, it waits for a multiple.
    pub(super) fn rest(&self, took: Duration) -> Duration {
        // A tenth more, so that what takes longer than usual is below it too.
        let floor = self.per_kib.load(Ordering::Relaxed).saturating_mul(self.most_work_kib) / 1_000 * 11 / 10;
        let took = nanoseconds(took);
        let times = took.div_ceil(floor.max(1)).max(1);
        Duration::from_nanos(floor.saturating_mul(times).saturating_sub(took))
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn whatever_a_hash_costs_the_answer_comes_at_one_time() {
        let floor = Floor::new(100, 500);
        floor.note(100, 20 * MS);
        // One that was imported, one of our own, and one that takes as much as may be.
        for took in [MS, 20 * MS, 100 * MS, 109 * MS] {
            assert_eq!(took + floor.rest(took), 110 * MS, "{took:?}");
        }
    }

    #[test]
    fn beyond_the_floor_it_is_a_multiple() {
        let floor = Floor::new(100, 500);
        floor.note(100, 20 * MS);
        assert_eq!(floor.rest(130 * MS), 90 * MS);
    }

    #[test]
    fn it_follows_the_machine_and_not_small_hashes() {
        let floor = Floor::new(100, 100);
        floor.note(100, 20 * MS);
        for _ in 0..200 {
            floor.note(10, MS / 2);
        }
        assert_eq!(floor.rest(22 * MS), Duration::ZERO);
        for _ in 0..200 {
            floor.note(100, 40 * MS);
        }
        assert!(floor.rest(22 * MS) > 20 * MS);
    }
}
