//! Fixed-bucket histograms of durations, striped per thread and merged when read.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::stripe::{self, CurrentStripe};

/// Upper bounds of a store's histograms, in nanoseconds: 500 ns to 10 s.
pub(crate) static BOUNDS: [u64; 23] = [
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// Unused words between two stripes, so that the end of one and the start of the next share no cache line.
const GUARD_WORDS: usize = 16;

/// Several histograms over the same bounds: one per *series*, found by number.
///
/// Recording is two additions in the calling thread's stripe, without a lock and without allocating.
/// Memory: 8 bytes × series × (bounds + 2) × stripes.
#[derive(Debug)]
pub struct HistogramSet {
    bounds: &'static [u64],
    series: usize,
    stripes: Box<[Box<[AtomicU64]>]>,
}

impl HistogramSet {
    /// Empty histograms. `bounds` are inclusive upper bounds in nanoseconds, ascending; what exceeds the last
    /// one falls into one more bucket.
    pub fn new(bounds: &'static [u64], series: usize) -> Self {
        debug_assert!(bounds.is_sorted(), "bounds must ascend");
        let words = series * (bounds.len() + 2) + GUARD_WORDS;
        let stripes = (0..stripe::count()).map(|_| (0..words).map(|_| AtomicU64::new(0)).collect()).collect();
        Self { bounds, series, stripes }
    }

    /// Adds one duration to a series. A series that does not exist is ignored.
    #[inline]
    pub fn record(&self, series: usize, nanoseconds: u64) {
        if series >= self.series {
            return;
        }
        let width = self.bounds.len() + 2;
        let first = series * width;
        let here = CurrentStripe::of(self.stripes.len());
        let Some(cells) = self.stripes.get(here.stripe).and_then(|cells| cells.get(first..first + width))
        else {
            return;
        };
        let bucket = self.bounds.partition_point(|bound| *bound < nanoseconds);
        if let (Some(bucket), Some(sum)) = (cells.get(bucket), cells.last()) {
            here.add(bucket, 1);
            here.add(sum, nanoseconds);
        }
    }

    /// The number of series.
    pub const fn series(&self) -> usize {
        self.series
    }

    /// One series, merged over all threads. A series that does not exist is empty.
    pub fn snapshot(&self, series: usize) -> HistogramSnapshot {
        let width = self.bounds.len() + 2;
        let first = series * width;
        let mut buckets = vec![0_u64; self.bounds.len() + 1];
        let mut sum_ns = 0_u64;
        if series < self.series {
            for cells in self.stripes.iter().filter_map(|cells| cells.get(first..first + width)) {
                for (merged, cell) in buckets.iter_mut().zip(cells) {
                    *merged = merged.wrapping_add(cell.load(Ordering::Relaxed));
                }
                sum_ns = sum_ns.wrapping_add(cells.last().map_or(0, |sum| sum.load(Ordering::Relaxed)));
            }
        }
        HistogramSnapshot { bounds: self.bounds, buckets, sum_ns }
    }
}

/// A histogram at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistogramSnapshot {
    /// Inclusive upper bounds in nanoseconds.
    pub bounds: &'static [u64],
    /// Entries per bucket, *not* cumulative; one more than `bounds`, the last is what exceeds them all.
    pub buckets: Vec<u64>,
    /// Sum of all entries in nanoseconds.
    pub sum_ns: u64,
}

impl HistogramSnapshot {
    /// The number of entries.
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(0, |count, bucket| count.wrapping_add(*bucket))
    }

    /// Upper bound, in nanoseconds, of the bucket that holds the given quantile (0 to 1); `None` when empty.
    /// Beyond the last bound the last bound is given.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of the count: never negative nor beyond it, and off by one where it is beyond 2^53"
        )]
        let rank = ((count as f64 * quantile.clamp(0.0, 1.0)).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, bound) in self.buckets.iter().zip(self.bounds) {
            seen += bucket;
            if seen >= rank {
                return Some(*bound);
            }
        }
        self.bounds.last().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static BOUNDS: [u64; 3] = [10, 100, 1_000];

    #[test]
    fn bounds_are_inclusive_and_the_rest_overflows() {
        let set = HistogramSet::new(&BOUNDS, 2);
        for value in [0, 10, 11, 100, 1_000, 1_001, u64::from(u32::MAX)] {
            set.record(1, value);
        }
        let snapshot = set.snapshot(1);
        assert_eq!(snapshot.buckets, [2, 2, 1, 2]);
        assert_eq!(snapshot.sum_ns, 10 + 11 + 100 + 1_000 + 1_001 + u64::from(u32::MAX));
        assert_eq!(snapshot.count(), 7);
        assert_eq!(set.snapshot(0).count(), 0, "neighbours are untouched");
    }

    #[test]
    fn an_unknown_series_is_ignored() {
        let set = HistogramSet::new(&BOUNDS, 2);
        set.record(2, 5);
        set.record(usize::MAX, 5);
        assert_eq!(set.snapshot(0).count() + set.snapshot(1).count() + set.snapshot(2).count(), 0);
    }

    #[test]
    fn threads_lose_nothing() {
        let set = HistogramSet::new(&BOUNDS, 1);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..10_000).for_each(|value| set.record(0, value % 20)));
            }
        });
        let snapshot = set.snapshot(0);
        assert_eq!(snapshot.count(), 80_000);
        assert_eq!(snapshot.sum_ns, 8 * 500 * 190);
        assert_eq!(snapshot.buckets[0], 8 * 500 * 11);
    }

    #[test]
    fn quantiles_name_the_bucket() {
        let set = HistogramSet::new(&BOUNDS, 1);
        assert_eq!(set.snapshot(0).quantile_ns(0.5), None);
        (0..99).for_each(|_| set.record(0, 5));
        set.record(0, 500);
        assert_eq!(set.snapshot(0).quantile_ns(0.5), Some(10));
        assert_eq!(set.snapshot(0).quantile_ns(0.99), Some(10));
        assert_eq!(set.snapshot(0).quantile_ns(1.0), Some(1_000));
    }
}
