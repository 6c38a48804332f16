//! The shortest time in which a sign-in attempt is answered: the time of the costliest hash that may be stored.
//!
//! Stored hashes differ in cost, because settings change and hashes are imported. If an attempt were answered as soon
//! as its hash is verified, the time would reveal whether the user exists and where the hash came from. The wait
//! occupies no thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use symbolon_crypto::password::{HashFunction, Work};

/// The weight of a new measurement in the moving average: one sixteenth.
const SMOOTHING: u64 = 16;

/// How many times slower than at its own function the machine is believed to be at another. Processors without
/// instructions for SHA come near it. A measurement beyond it was disturbed, and as the function may not be measured again
/// for long, everybody would wait for that.
const MOST_TIMES_SLOWER: u64 = 4;

/// The measured time per KiB of hashing work.
pub(super) struct AnswerTimeFloor {
    own_work_kib: u64,
    /// Picoseconds per KiB, for each function; 0 before its first measurement. The work of each is told in KiB of Argon2
    /// by the figures of one machine, and this one may be slower at some of them.
    per_kib: [AtomicU64; HashFunction::COUNT],
}

impl AnswerTimeFloor {
    /// `own_work_kib` is the work of the server's own hashes.
    pub(super) const fn new(own_work_kib: u64) -> Self {
        Self { own_work_kib, per_kib: [const { AtomicU64::new(0) }; HashFunction::COUNT] }
    }

    /// Whether the server's own function has been measured.
    pub(super) fn is_measured(&self) -> bool {
        self.of(HashFunction::Argon2).is_some_and(|per_kib| per_kib.load(Ordering::Relaxed) > 0)
    }

    fn of(&self, function: HashFunction) -> Option<&AtomicU64> {
        self.per_kib.get(function.index())
    }

    /// Adds a measurement. Hashes smaller than the server's own are ignored: caches make them faster and fixed costs
    /// make them slower per KiB than large ones.
    pub(super) fn note(&self, work: Work, took: Duration) {
        if work.kib < self.own_work_kib || work.kib == 0 {
            return;
        }
        let Some(per_kib) = self.of(work.function) else { return };
        let measured = nanoseconds(took).saturating_mul(1_000) / work.kib;
        let known = per_kib.load(Ordering::Relaxed);
        let smoothed = if known == 0 { measured } else { known - known / SMOOTHING + measured / SMOOTHING };
        // If two threads measure at once, one measurement is lost, which does no harm.
        per_kib.store(smoothed.max(1), Ordering::Relaxed);
    }

    /// How much longer the answer must wait after verification took `took`, where the costliest hash takes
    /// `most_work_kib`, of whichever function that is slowest here. If verification was longer than the floor (a busy
    /// machine, or a costlier hash that an earlier version imported), the wait is up to the next multiple of the floor.
    pub(super) fn rest(&self, took: Duration, most_work_kib: u64) -> Duration {
        let own = self.of(HashFunction::Argon2).map_or(0, |per_kib| per_kib.load(Ordering::Relaxed));
        let slowest = self.per_kib.iter().map(|it| it.load(Ordering::Relaxed)).max().unwrap_or_default();
        let per_kib = slowest.min(own.saturating_mul(MOST_TIMES_SLOWER));
        // A tenth more, so that verifications that take a little longer than usual still end below the floor.
        let floor = per_kib.saturating_mul(most_work_kib) / 1_000 * 11 / 10;
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

    fn argon2(kib: u64) -> Work {
        Work { function: HashFunction::Argon2, kib, memory_kib: kib }
    }

    #[test]
    fn whatever_a_hash_costs_the_answer_comes_at_one_time() {
        let floor = AnswerTimeFloor::new(100);
        floor.note(argon2(100), 20 * MS);
        // One that was imported, one of our own, and one that takes as much as may be.
        for took in [MS, 20 * MS, 100 * MS, 109 * MS] {
            assert_eq!(took + floor.rest(took, 500), 110 * MS, "{took:?}");
        }
    }

    #[test]
    fn beyond_the_floor_it_is_a_multiple() {
        let floor = AnswerTimeFloor::new(100);
        floor.note(argon2(100), 20 * MS);
        assert_eq!(floor.rest(130 * MS, 500), 90 * MS);
    }

    #[test]
    fn it_follows_the_machine_and_not_small_hashes() {
        let floor = AnswerTimeFloor::new(100);
        floor.note(argon2(100), 20 * MS);
        for _ in 0..200 {
            floor.note(argon2(10), MS / 2);
        }
        assert_eq!(floor.rest(22 * MS, 100), Duration::ZERO);
        for _ in 0..200 {
            floor.note(argon2(100), 40 * MS);
        }
        assert!(floor.rest(22 * MS, 100) > 20 * MS);
    }

    /// A processor without instructions for SHA: what was told as 100 KiB of Argon2 takes four times as long.
    #[test]
    fn a_function_at_which_the_machine_is_slow_makes_every_answer_later() {
        let floor = AnswerTimeFloor::new(100);
        floor.note(argon2(100), 20 * MS);
        assert_eq!(floor.rest(Duration::ZERO, 100), 22 * MS);
        floor.note(Work { function: HashFunction::Pbkdf2Sha256, ..argon2(100) }, 80 * MS);
        for took in [MS, 20 * MS, 80 * MS] {
            assert_eq!(took + floor.rest(took, 100), 88 * MS, "{took:?}");
        }
        assert!(floor.is_measured() && !AnswerTimeFloor::new(100).is_measured());
        floor.note(Work { function: HashFunction::Bcrypt, ..argon2(100) }, 1_000 * MS);
        assert_eq!(floor.rest(Duration::ZERO, 100), 88 * MS, "the thread was interrupted");
    }
}
