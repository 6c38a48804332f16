//! Stripes: each thread counts in its own part of a figure, so that cores do not fight over a cache line.

use std::cell::Cell;
use std::marker::PhantomData;
use std::num::NonZero;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const MAX_STRIPES: usize = 64;
const UNASSIGNED: usize = usize::MAX;

static NEXT: AtomicUsize = AtomicUsize::new(0);
static COUNT: OnceLock<usize> = OnceLock::new();
/// Which of the first half of the stripes have an owner, as bits.
static OWNED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static STRIPE: Cell<usize> = const { Cell::new(UNASSIGNED) };
    static CURRENT: Cell<usize> = const { Cell::new(UNASSIGNED) };
}

/// The number of stripes of every figure in this process: a power of two, twice the cores at least. The first half is
/// for threads that [own](reserve_stripe) one, the others share the second.
pub(crate) fn count() -> usize {
    *COUNT.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        cores.saturating_mul(2).next_power_of_two().min(MAX_STRIPES)
    })
}

/// A stripe that is reserved for one thread, until this is dropped on that thread.
#[derive(Debug)]
#[must_use = "the stripe is given back when this is dropped"]
pub struct ReservedStripe {
    stripe: usize,
    /// Not to be sent to another thread.
    thread: PhantomData<*const ()>,
}

/// Reserves a stripe for the calling thread, which then counts by a plain load and store. An atomic addition takes several
/// times as long, and waits for every earlier write of the thread. For threads that count all the time: all others share the
/// remaining stripes. None where every stripe is reserved, or this thread has one already.
pub fn reserve_stripe() -> Option<ReservedStripe> {
    let half = count() / 2;
    if CURRENT.get() < half {
        return None;
    }
    let mut owned = OWNED.load(Ordering::Relaxed);
    loop {
        let stripe = owned.trailing_ones();
        if stripe as usize >= half {
            return None;
        }
        // Acquire and release: the next owner goes on from what the last one wrote.
        match OWNED.compare_exchange_weak(owned, owned | 1 << stripe, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => {
                CURRENT.set(stripe as usize);
                return Some(ReservedStripe { stripe: stripe as usize, thread: PhantomData });
            }
            Err(changed) => owned = changed,
        }
    }
}

impl Drop for ReservedStripe {
    fn drop(&mut self) {
        CURRENT.set(UNASSIGNED);
        OWNED.fetch_and(!(1 << self.stripe), Ordering::Release);
    }
}

/// Where the calling thread counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CurrentStripe {
    /// The stripe, of so many as were asked for.
    pub(crate) stripe: usize,
    alone: bool,
}

impl CurrentStripe {
    /// Of a figure with so many stripes, a power of two. With fewer than [`count`] they are shared by all.
    #[inline]
    pub(crate) fn of(stripes: usize) -> Self {
        let here = CURRENT.get();
        let here = if here == UNASSIGNED { assign_shared() } else { here };
        Self { stripe: here & (stripes - 1), alone: stripes == count() && here < stripes / 2 }
    }

    /// Adds to a cell of that stripe.
    #[inline]
    pub(crate) fn add(self, cell: &AtomicU64, amount: u64) {
        if self.alone {
            cell.store(cell.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
        } else {
            cell.fetch_add(amount, Ordering::Relaxed);
        }
    }
}

#[cold]
fn assign_shared() -> usize {
    let half = count() / 2;
    let shared = half + (thread_stripe() & (half - 1));
    CURRENT.set(shared);
    shared
}

/// The calling thread's number: given on its first call, in order, from 0. Reduce it modulo your number of
/// stripes; two threads may share a stripe, so a stripe's counters must be atomic.
pub fn thread_stripe() -> usize {
    STRIPE.with(|stripe| match stripe.get() {
        UNASSIGNED => {
            let assigned = NEXT.fetch_add(1, Ordering::Relaxed);
            stripe.set(assigned);
            assigned
        }
        assigned => assigned,
    })
}

/// A value on cache lines of its own (two lines: processors fetch neighbours in pairs).
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Padded<T>(pub T);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_stripe_and_threads_differ() {
        let mine = thread_stripe();
        assert_eq!(mine, thread_stripe());
        let other = std::thread::spawn(thread_stripe).join().unwrap();
        assert_ne!(mine, other);
    }

    #[test]
    fn a_stripe_has_one_owner_at_a_time() {
        let others = || CurrentStripe::of(count()).stripe >= count() / 2;
        assert!(others(), "without one of its own, a thread counts among others");
        let everybody_has_asked = std::sync::Barrier::new(count());
        let owners = std::thread::scope(|scope| {
            let (sender, owners) = std::sync::mpsc::channel();
            for _ in 0..count() {
                let (sender, everybody_has_asked) = (sender.clone(), &everybody_has_asked);
                scope.spawn(move || {
                    let own = reserve_stripe();
                    assert!(reserve_stripe().is_none(), "one is enough");
                    let here = CurrentStripe::of(count());
                    assert_eq!(own.as_ref().map(|own| own.stripe), here.alone.then_some(here.stripe));
                    if here.alone {
                        sender.send(here.stripe).unwrap();
                    }
                    everybody_has_asked.wait();
                    drop(own);
                    assert!(others());
                });
            }
            drop(sender);
            owners.into_iter().collect::<Vec<_>>()
        });
        let distinct: std::collections::HashSet<_> = owners.iter().collect();
        assert_eq!((distinct.len(), owners.len()), (count() / 2, count() / 2));
        assert!(reserve_stripe().is_some(), "all were given back");
        owners_and_others_lose_nothing();
    }

    /// In the same test, or there might be no stripe left for the other.
    fn owners_and_others_lose_nothing() {
        let cells: Vec<AtomicU64> = (0..count()).map(|_| AtomicU64::new(0)).collect();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let cells = &cells;
                scope.spawn(move || {
                    for _ in 0..100 {
                        let _own = (thread % 2 == 0).then(reserve_stripe);
                        let here = CurrentStripe::of(cells.len());
                        (0..1_000).for_each(|_| here.add(&cells[here.stripe], 1));
                    }
                });
            }
        });
        let sum: u64 = cells.iter().map(|cell| cell.load(Ordering::Relaxed)).sum();
        assert_eq!(sum, 800_000);
    }

    #[test]
    fn the_number_of_stripes_is_a_power_of_two() {
        assert!(count().is_power_of_two());
        assert!(count() <= MAX_STRIPES);
    }

    #[test]
    fn padded_values_do_not_share_a_line() {
        assert_eq!(size_of::<Padded<u64>>(), 128);
    }
}
