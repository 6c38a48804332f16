//! The shortest time in which a sign-in attempt is answered: the time of the costliest hash that may be stored.
//!
//! Stored hashes differ in cost, because settings change and hashes are imported. If an attempt were answered as soon
//! as its hash is verified, the time would reveal whether the user exists and where the hash came from. The wait
//! occupies no thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The weight of a new measurement in the moving average: one sixteenth.
const SMOOTHING: u64 = 16;

/// The measured time per KiB of hashing work, and the work of the costliest hash.
pub(super) struct AnswerTimeFloor {
    own_work_kib: u64,
    most_work_kib: u64,
    /// Picoseconds per KiB; 0 before the first measurement.
    per_kib: AtomicU64,
}

impl AnswerTimeFloor {
    /// `own_work_kib` is the work of the server's own hashes, `most_work_kib` that of the costliest hash that may be
    /// imported.
    pub(super) const fn new(own_work_kib: u64, most_work_kib: u64) -> Self {
        Self { own_work_kib, most_work_kib, per_kib: AtomicU64::new(0) }
    }

    /// Whether anything has been measured.
    pub(super) fn is_measured(&self) -> bool {
        self.per_kib.load(Ordering::Relaxed) > 0
    }

    /// Adds a measurement. Hashes smaller than the server's own are ignored: caches make them faster and fixed costs
    /// make them slower per KiB than large ones.
    pub(super) fn note(&self, work_kib: u64, took: Duration) {
        if work_kib < self.own_work_kib || work_kib == 0 {
            return;
        }
        let measured = nanoseconds(took).saturating_mul(1_000) / work_kib;
        let known = self.per_kib.load(Ordering::Relaxed);
        let smoothed = if known == 0 { measured } else { known - known / SMOOTHING + measured / SMOOTHING };
        // If two threads measure at once, one measurement is lost, which does no harm.
        self.per_kib.store(smoothed.max(1), Ordering::Relaxed);
    }

    /// How much longer the answer must wait after verification took `took`. If that was longer than the floor (a busy
    /// machine, or a costlier hash that an earlier version imported), the wait is up to the next multiple of the
    /// floor.
    pub(super) fn rest(&self, took: Duration) -> Duration {
        // A tenth more, so that verifications that take a little longer than usual still end below the floor.
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
        let floor = AnswerTimeFloor::new(100, 500);
        floor.note(100, 20 * MS);
        // One that was imported, one of our own, and one that takes as much as may be.
        for took in [MS, 20 * MS, 100 * MS, 109 * MS] {
            assert_eq!(took + floor.rest(took), 110 * MS, "{took:?}");
        }
    }

    #[test]
    fn beyond_the_floor_it_is_a_multiple() {
        let floor = AnswerTimeFloor::new(100, 500);
        floor.note(100, 20 * MS);
        assert_eq!(floor.rest(130 * MS), 90 * MS);
    }

    #[test]
    fn it_follows_the_machine_and_not_small_hashes() {
        let floor = AnswerTimeFloor::new(100, 100);
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
