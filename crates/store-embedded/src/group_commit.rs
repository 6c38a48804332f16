//! The open batch: callers add entries to it while the writer works on the batch before.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::free_space::monotonic_now;

/// The value of `wake_at` while the writer works: callers need not wake it, because it looks for entries by itself
/// afterwards.
const BUSY: usize = usize::MAX;

/// How many bytes of a vector's capacity are kept for another batch; capacity beyond that, left by a burst, is freed.
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
    /// When the first of them added entries.
    pub(crate) opened: Instant,
}

struct Open<T> {
    batch: Batch<T>,
    /// The writer is woken when this many callers have contributed, because a wake for each would cost a system call
    /// each. An idle writer asks for the first contribution; one that holds a batch open asks for the number that it
    /// expects.
    wake_at: usize,
    closed: bool,
    /// No more entries are accepted, and the writer keeps waiting.
    sealed: bool,
}

/// Collects entries of many callers for one writer.
pub(crate) struct OpenBatch<T> {
    open: Mutex<Open<T>>,
    wake: Condvar,
    hold: Duration,
}

/// The writer's estimate of how many callers contribute to a batch.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    peak: f32,
}

impl Pace {
    /// How many contributors are worth waiting for: about as many as recent batches had. With one the writer does not
    /// wait, so a lone caller never pays for the hold.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
    fn expected(&self) -> usize {
        self.peak.round() as usize
    }

    /// Raises the estimate at once, and lowers it by at most an eighth per batch: slowly enough to survive a few small
    /// batches, quickly enough to forget a burst within some dozens of batches.
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

    /// Adds one caller's entries and returns the number of their batch; `None` if the batch is closed or sealed.
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

    /// The number of the latest batch that anything was added to; 0 if there is none.
    pub(crate) fn youngest(&self) -> u64 {
        let open = self.open.lock();
        if open.batch.appends == 0 { open.batch.number - 1 } else { open.batch.number }
    }

    /// Takes the batch once it has a contribution. If recent batches had several contributors, it first waits for as
    /// many, at most for the hold. `None` when closed and drained. Only for the writer's thread. `spare` is the emptied
    /// vector of an earlier batch, whose capacity is used again.
    pub(crate) fn next(&self, pace: &mut Pace, mut spare: Vec<T>) -> Option<Batch<T>> {
        // Outside the lock, which every caller takes.
        spare.shrink_to(KEPT_BYTES / size_of::<T>().max(1));
        let mut open = self.open.lock();
        let expected = pace.expected();
        if expected > 1 {
            // The hold counts from now, not from the first contribution: under steady load the writer then wakes once
            // per batch instead of twice, and no caller waits longer than the hold.
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

    /// Accepts no more entries; the writer takes those that are there, and waits.
    pub(crate) fn seal(&self) {
        self.open.lock().sealed = true;
    }

    /// Accepts no more entries; the writer takes those that are there, and ends.
    pub(crate) fn close(&self) {
        self.open.lock().closed = true;
        self.wake.notify_one();
    }
}

impl<T> OpenBatch<T> {
    /// Accepts no more entries and drops those that are there, because the writer has ended.
    pub(crate) fn abandon(&self) {
        self.close();
        let left = std::mem::take(&mut self.open.lock().batch.entries);
        // Outside the lock, because dropping an entry may wake its caller.
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

    /// Otherwise the memory of one rare burst would be kept for ever.
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
