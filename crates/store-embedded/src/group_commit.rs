//! The open batch: what callers add to while the writer is busy with the batch before.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::free_space::monotonic_now;

/// Nobody needs to be told of new entries: the writer is at work and will look by itself.
const BUSY: usize = usize::MAX;

/// Room for entries that is used again for another batch; what a burst took beyond that is given back.
const KEPT_BYTES: usize = 256 << 10;

/// A batch handed to the writer.
#[derive(Debug)]
pub(crate) struct Batch<T> {
    /// Batches are numbered from 1 upwards, without gaps.
    pub(crate) number: u64,
    /// In the order of their arrival.
    pub(crate) entries: Vec<T>,
    /// How many callers contributed.
    pub(crate) appends: usize,
    /// When the first of them did.
    pub(crate) opened: Instant,
}

struct Open<T> {
    batch: Batch<T>,
    /// The writer is woken when this many have contributed: to wake it for each would cost a system call each. An idle
    /// writer asks for the first contribution; one that holds a batch open asks for the last one that it expects.
    wake_at: usize,
    closed: bool,
    /// Takes no more, and its writer waits.
    sealed: bool,
}

/// Collects entries of many callers for one writer.
pub(crate) struct OpenBatch<T> {
    open: Mutex<Open<T>>,
    wake: Condvar,
    hold: Duration,
}

/// The writer's memory of how many contributed lately.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    peak: f32,
}

impl Pace {
    /// How many contributors are worth waiting for: as many as lately came together. One means no waiting, so
    /// a lone caller never pays for the hold.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
    fn expected(&self) -> usize {
        self.peak.round() as usize
    }

    /// The decay is slow enough to survive a few thin batches and quick enough to forget a burst within some
    /// dozens of batches.
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    fn saw(&mut self, appends: usize) {
        self.peak = (appends as f32).max(self.peak * 0.875);
    }
}

impl<T> OpenBatch<T> {
    pub(crate) fn new(hold: Duration) -> Self {
        let batch = Batch { number: 1, entries: Vec::new(), appends: 0, opened: monotonic_now() };
        Self {
            open: Mutex::new(Open { batch, wake_at: 1, closed: false, sealed: false }),
            wake: Condvar::new(),
            hold,
        }
    }

    /// Adds what one caller brings and answers the number of the batch that carries it; nothing if closed.
    pub(crate) fn add(&self, entries: impl IntoIterator<Item = T>) -> Option<u64> {
        let mut open = self.open.lock();
        if open.closed || open.sealed {
            return None;
        }
        if open.batch.appends == 0 {
            open.batch.opened = monotonic_now();
        }
        open.batch.entries.extend(entries);
        open.batch.appends += 1;
        let number = open.batch.number;
        let wake = open.batch.appends >= open.wake_at;
        if wake {
            open.wake_at = BUSY;
        }
        drop(open);
        if wake {
            self.wake.notify_one();
        }
        Some(number)
    }

    /// The number of the youngest batch that somebody has contributed to; 0 if none.
    pub(crate) fn youngest(&self) -> u64 {
        let open = self.open.lock();
        if open.batch.appends == 0 { open.batch.number - 1 } else { open.batch.number }
    }

    /// Takes the batch when it has something, after waiting for as many contributors as lately came together, at
    /// most for the hold. Nothing when closed and drained. For the writer's thread only; `spare` is an empty batch of
    /// before, whose room is used again.
    pub(crate) fn next(&self, pace: &mut Pace, mut spare: Vec<T>) -> Option<Batch<T>> {
        // Before the lock, which every caller takes.
        spare.shrink_to(KEPT_BYTES / size_of::<T>().max(1));
        let mut open = self.open.lock();
        let expected = pace.expected();
        if expected > 1 {
            // Counted from now, not from the first contribution: so a steady crowd wakes the writer once per
            // batch instead of twice, and nobody waits longer than the hold.
            let until = monotonic_now() + self.hold;
            while open.batch.appends < expected && !open.closed {
                open.wake_at = expected;
                if self.wake.wait_until(&mut open, until).timed_out() {
                    break;
                }
            }
        }
        while open.batch.appends == 0 {
            if open.closed {
                return None;
            }
            open.wake_at = 1;
            self.wake.wait(&mut open);
        }
        open.wake_at = BUSY;
        let next =
            Batch { number: open.batch.number + 1, entries: spare, appends: 0, opened: open.batch.opened };
        let batch = std::mem::replace(&mut open.batch, next);
        pace.saw(batch.appends);
        Some(batch)
    }

    /// Takes no more; the writer drains what is there and waits.
    pub(crate) fn seal(&self) {
        self.open.lock().sealed = true;
    }

    /// Takes no more; the writer drains what is there and stops.
    pub(crate) fn close(&self) {
        self.open.lock().closed = true;
        self.wake.notify_one();
    }
}

impl<T> OpenBatch<T> {
    /// Takes no more, and drops what is there: its writer has gone.
    pub(crate) fn abandon(&self) {
        self.close();
        let left = std::mem::take(&mut self.open.lock().batch.entries);
        // Outside the lock: somebody may hear of it.
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_order_and_share_a_number_until_taken() {
        let open = OpenBatch::new(Duration::ZERO);
        assert_eq!(open.youngest(), 0);
        assert_eq!((open.add([1, 2]), open.add([3]), open.youngest()), (Some(1), Some(1), 1));
        let batch = open.next(&mut Pace::default(), Vec::new()).unwrap();
        assert_eq!((batch.number, batch.appends, batch.entries), (1, 2, vec![1, 2, 3]));
        assert_eq!(open.youngest(), 1);
        assert_eq!(open.add([4]), Some(2));
    }

    #[test]
    fn a_closed_batch_is_drained_and_then_ends() {
        let open = OpenBatch::new(Duration::ZERO);
        open.add([1]);
        open.close();
        assert_eq!(open.add([2]), None);
        let mut pace = Pace::default();
        assert_eq!(open.next(&mut pace, Vec::new()).unwrap().entries, [1]);
        assert!(open.next(&mut pace, Vec::new()).is_none());
    }

    /// A burst is seldom, and what it took would be kept for ever.
    #[test]
    fn room_is_used_again_and_that_of_a_burst_is_given_back() {
        let open = OpenBatch::<u64>::new(Duration::ZERO);
        let mut pace = Pace::default();
        let mut room = |entries: u64, spare| {
            open.add(0..entries);
            let mut batch = open.next(&mut pace, spare).unwrap();
            batch.entries.clear();
            batch.entries
        };
        let burst = room(1_000_000, Vec::new());
        assert!(burst.capacity() >= 1_000_000);
        let first = room(1, burst);
        let second = room(1, first);
        assert!(second.capacity() * size_of::<u64>() <= KEPT_BYTES, "{}", second.capacity());
        let usual = room(100, Vec::with_capacity(500));
        let kept = room(100, usual);
        assert_eq!(kept.capacity(), 500);
    }

    #[test]
    fn a_lone_caller_is_never_waited_for_and_a_crowd_is() {
        let mut pace = Pace::default();
        assert_eq!(pace.expected(), 0);
        pace.saw(1);
        assert_eq!(pace.expected(), 1);
        pace.saw(8);
        assert_eq!(pace.expected(), 8);
        pace.saw(4);
        assert_eq!(pace.expected(), 7);
        for _ in 0..40 {
            pace.saw(1);
        }
        assert_eq!(pace.expected(), 1);
    }
}
