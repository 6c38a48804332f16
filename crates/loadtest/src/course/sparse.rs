//! Latencies of a row of a course: few of the steps of a histogram are used in it, and only these are kept.

use std::time::Duration;

use crate::latency::{LatenciesOfASecond, needed};

/// How many requests took how long, by rising latency, in the steps of [`LatenciesOfASecond`].
#[derive(Clone, Debug, Default)]
pub(crate) struct SparseLatencies {
    /// In µs, the upper end of a step, and the requests in it. A step of a row has room for four thousand million of them.
    steps: Vec<(u32, u32)>,
    count: u64,
}

impl SparseLatencies {
    /// What a histogram holds.
    pub(crate) fn of(latencies: &LatenciesOfASecond) -> Self {
        let steps: Vec<_> = latencies.steps().collect();
        Self { count: steps.iter().map(|(_, count)| u64::from(*count)).sum(), steps }
    }

    /// Adds others.
    pub(crate) fn merge(&mut self, other: &Self) {
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(self.steps.len().max(other.steps.len()));
        let (mut own, mut others) = (self.steps.iter().peekable(), other.steps.iter().peekable());
        while let Some((step, count)) = next_of(&mut own, &mut others) {
            match merged.last_mut() {
                Some((last, sum)) if *last == step => *sum = sum.saturating_add(count),
                _ => merged.push((step, count)),
            }
        }
        merged.shrink_to_fit();
        (self.steps, self.count) = (merged, self.count + other.count);
    }

    /// The latency that `percentile` percent did not exceed; none where there are fewer than it needs.
    pub(crate) fn percentile(&self, percentile: f64) -> Option<Duration> {
        if self.count < needed(percentile) {
            return None;
        }
        let rank = ((percentile / 100.0 * self.count as f64).ceil() as u64).max(1);
        let mut before = 0;
        let step = self.steps.iter().find(|(_, count)| {
            before += u64::from(*count);
            before >= rank
        });
        step.or(self.steps.last()).map(|(micros, _)| Duration::from_micros(u64::from(*micros)))
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The mean, within 1 %.
    pub(crate) fn mean(&self) -> Option<Duration> {
        let micros: f64 =
            self.steps.iter().map(|(micros, count)| f64::from(*micros) * f64::from(*count)).sum();
        (self.count > 0).then(|| Duration::from_secs_f64(micros / 1e6 / self.count as f64))
    }

    /// The longest.
    pub(crate) fn longest(&self) -> Option<Duration> {
        self.steps.last().map(|(micros, _)| Duration::from_micros(u64::from(*micros)))
    }
}

type Steps<'a> = std::iter::Peekable<std::slice::Iter<'a, (u32, u32)>>;

/// The lower of two next steps.
fn next_of(own: &mut Steps<'_>, others: &mut Steps<'_>) -> Option<(u32, u32)> {
    let own_first = match (own.peek(), others.peek()) {
        (Some(own), Some(other)) => own.0 <= other.0,
        (own, _) => own.is_some(),
    };
    if own_first { own.next().copied() } else { others.next().copied() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Latencies that are spread over five decades, the same each time.
    fn latencies(seed: u64, count: u64) -> LatenciesOfASecond {
        let mut latencies = LatenciesOfASecond::new().unwrap();
        let mut x = seed;
        for _ in 0..count {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let unit = (x >> 40) as f64 / f64::from(1 << 24);
            latencies.record(Duration::from_secs_f64(1e-4 * 10f64.powf(5.0 * unit)));
        }
        latencies
    }

    #[test]
    fn percentiles_are_those_of_one_histogram_over_all() {
        let (mut one, mut other) = (latencies(1, 5_000), latencies(2, 77));
        let mut sparse = SparseLatencies::of(&one);
        sparse.merge(&SparseLatencies::of(&other));
        one.take(&mut other);
        assert_eq!(sparse.count, 5_077);
        for percentile in [1.0, 50.0, 90.0, 99.0, 99.9, 100.0] {
            assert_eq!(sparse.percentile(percentile), one.percentile(percentile), "P{percentile}");
        }
        assert_eq!(sparse.longest(), one.percentile(100.0));
        // Five decades from 0.1 ms on: 10,000 over ln 100,000.
        assert!((sparse.mean().unwrap().as_secs_f64() - 0.868).abs() < 0.15, "{:?}", sparse.mean());
    }

    #[test]
    fn few_have_no_percentile_and_none_has_no_longest() {
        let sparse = SparseLatencies::of(&latencies(1, 99));
        assert!(sparse.percentile(95.0).is_some() && sparse.percentile(99.0).is_none());
        let mut none = SparseLatencies::default();
        assert_eq!((none.percentile(50.0), none.longest()), (None, None));
        none.merge(&sparse);
        assert_eq!(none.percentile(50.0), sparse.percentile(50.0));
    }
}
