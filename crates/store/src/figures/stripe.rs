//! Stripes: each thread counts in its own part of a figure, so that cores do not fight over a cache line.

use std::cell::Cell;
use std::num::NonZero;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

const MAX_STRIPES: usize = 64;
const UNASSIGNED: usize = usize::MAX;

static NEXT: AtomicUsize = AtomicUsize::new(0);
static COUNT: OnceLock<usize> = OnceLock::new();

thread_local! {
    static STRIPE: Cell<usize> = const { Cell::new(UNASSIGNED) };
}

/// The number of stripes of every figure in this process: a power of two, twice the cores, so that the
/// runtime's workers rarely share one even when other threads count too.
pub(super) fn count() -> usize {
    *COUNT.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        cores.saturating_mul(2).next_power_of_two().min(MAX_STRIPES)
    })
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
pub(crate) struct Padded<T>(pub(crate) T);

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
    fn the_number_of_stripes_is_a_power_of_two() {
        assert!(count().is_power_of_two());
        assert!(count() <= MAX_STRIPES);
    }

    #[test]
    fn padded_values_do_not_share_a_line() {
        assert_eq!(size_of::<Padded<u64>>(), 128);
    }
}
