//! Latencies as they are recorded, and the percentiles that there are enough of them for.

use std::time::Duration;

use hdrhistogram::iterators::IterationValue;
use hdrhistogram::{CreationError, Histogram};
use serde::{Deserialize, Serialize};

use crate::{LoadtestError, results};

/// Latencies above this are recorded as this.
const MAX: Duration = Duration::from_secs(600);
/// Significant decimal digits of a recorded latency: within 0.1 %.
const DIGITS: u8 = 3;

/// How long requests took. One that got no answer in time belongs here too, with the time for which it was waited: it
/// would have taken longer.
#[derive(Clone)]
pub struct Latencies {
    /// In ns.
    histogram: Histogram<u64>,
    /// The shortest wait that was given up. From here on, percentiles are lower bounds.
    shortest_given_up: Option<u64>,
}

impl Latencies {
    /// None yet.
    ///
    /// # Errors
    /// Never with the bounds of this module; they are checked by the histogram.
    pub fn new() -> Result<Self, CreationError> {
        Ok(Self { histogram: Histogram::new_with_bounds(1, nanos(MAX), DIGITS)?, shortest_given_up: None })
    }

    /// What a request took, whatever its end.
    pub fn record(&mut self, took: Duration) {
        self.histogram.saturating_record(nanos(took).max(1));
    }

    /// How long somebody waited for an answer that never came.
    pub fn record_given_up(&mut self, waited: Duration) {
        self.record(waited);
        let waited = nanos(waited).max(1);
        self.shortest_given_up = Some(self.shortest_given_up.map_or(waited, |least| least.min(waited)));
    }

    /// Adds others.
    pub fn merge(&mut self, other: &Self) {
        // Both have the same bounds, so this cannot fail.
        let _ = self.histogram.add(&other.histogram);
        self.shortest_given_up =
            self.shortest_given_up.into_iter().chain(other.shortest_given_up).reduce(u64::min);
    }

    /// Adds those of a second, which are within 1 %.
    pub(crate) fn add_second(&mut self, second: &LatenciesOfASecond) {
        for (took, count) in second.each() {
            // The bounds are those of the second, so this cannot fail.
            let _ = self.histogram.record_n(nanos(took).min(nanos(MAX)), count);
        }
        let given_up = second.shortest_given_up.map(|micros| micros * 1_000);
        self.shortest_given_up = self.shortest_given_up.into_iter().chain(given_up).reduce(u64::min);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The latency that `percentile` percent did not exceed, within 0.1 %; 0 of none. Whether there are enough for it is
    /// not looked at: see [`percentile`](Self::percentile).
    pub fn at(&self, percentile: f64) -> Duration {
        Duration::from_nanos(self.histogram.value_at_percentile(percentile))
    }

    /// The same, unless there are fewer than [`needed`] for it.
    pub fn percentile(&self, percentile: f64) -> Option<Duration> {
        (self.count() >= needed(percentile)).then(|| self.at(percentile))
    }

    /// The figures of a report.
    pub fn figures(&self) -> results::Latency {
        let ms = |percentile| self.percentile(percentile).map(millis);
        let of_any = |value: Duration| (self.count() > 0).then(|| millis(value));
        results::Latency {
            min_ms: of_any(Duration::from_nanos(self.histogram.min())),
            mean_ms: of_any(Duration::from_secs_f64(self.histogram.mean() / 1e9)),
            p50_ms: ms(50.0),
            p75_ms: ms(75.0),
            p90_ms: ms(90.0),
            p95_ms: ms(95.0),
            p99_ms: ms(99.0),
            p999_ms: ms(99.9),
            max_ms: ms(100.0),
            at_least_from_ms: self.shortest_given_up.map(|nanos| {
                // As the histogram rounds it down: a percentile in the same step is not known to be below it.
                millis(Duration::from_nanos(self.histogram.lowest_equivalent(nanos)))
            }),
        }
    }
}

/// Latencies that can be written down: every bucket of the histogram, so that nothing is lost.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LatencyCounts {
    /// For each bucket that is not empty, in their order: how far its highest value in ns is above the one before, and its
    /// count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    buckets: Vec<(u64, u64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shortest_given_up: Option<u64>,
}

impl LatencyCounts {
    /// The latencies that were written down.
    ///
    /// # Errors
    /// [`LoadtestError::Options`] where they are not of such a histogram.
    pub(crate) fn latencies(&self) -> Result<Latencies, LoadtestError> {
        let refused = || LoadtestError::Options("a histogram is damaged".into());
        let mut latencies = Latencies::new().map_err(|_| refused())?;
        let (mut highest, mut all) = (0_u64, 0_u64);
        for (gap, count) in &self.buckets {
            highest = highest.checked_add(*gap).filter(|_| *gap > 0 && *count > 0).ok_or_else(refused)?;
            all = all.checked_add(*count).ok_or_else(refused)?;
            latencies.histogram.record_n(highest, *count).map_err(|_| refused())?;
        }
        latencies.shortest_given_up = self.shortest_given_up;
        Ok(latencies)
    }
}

impl Latencies {
    /// All of them, to be written down.
    pub(crate) fn counts(&self) -> LatencyCounts {
        let mut before = 0;
        let bucket = |bucket: IterationValue<u64>| {
            let gap = bucket.value_iterated_to() - before;
            before = bucket.value_iterated_to();
            (gap, bucket.count_at_value())
        };
        LatencyCounts {
            buckets: self.histogram.iter_recorded().map(bucket).collect(),
            shortest_given_up: self.shortest_given_up,
        }
    }
}

/// How many latencies a percentile needs, so that at least one lies above it: a hundred for P99, two for the median.
pub fn needed(percentile: f64) -> u64 {
    let above = (100.0 - percentile) / 100.0;
    // Rounded to what the percentile's own digits mean: 1 / 0.001 is 1000.0000000001.
    if above <= 0.0 { 1 } else { (1.0 / above - 1e-6).ceil() as u64 }
}

/// The latencies of a short time, a second for instance: small, and within 1 %.
#[derive(Clone, Debug)]
pub struct LatenciesOfASecond {
    /// In µs.
    histogram: Histogram<u32>,
    /// The shortest wait that was given up, in µs.
    shortest_given_up: Option<u64>,
}

impl LatenciesOfASecond {
    /// None yet.
    ///
    /// # Errors
    /// As [`Latencies::new`].
    pub fn new() -> Result<Self, CreationError> {
        let histogram = Histogram::new_with_bounds(1, nanos(MAX) / 1_000, 2)?;
        Ok(Self { histogram, shortest_given_up: None })
    }

    /// What a request took.
    pub fn record(&mut self, took: Duration) {
        self.histogram.saturating_record((nanos(took) / 1_000).max(1));
    }

    /// How long somebody waited for an answer that never came.
    pub fn record_given_up(&mut self, waited: Duration) {
        self.record(waited);
        let waited = (nanos(waited) / 1_000).max(1);
        self.shortest_given_up = Some(self.shortest_given_up.map_or(waited, |least| least.min(waited)));
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.histogram.is_empty()
    }

    /// The latency that `percentile` percent did not exceed, within 1 %; none where there are fewer than [`needed`].
    pub fn percentile(&self, percentile: f64) -> Option<Duration> {
        (self.count() >= needed(percentile))
            .then(|| Duration::from_micros(self.histogram.value_at_percentile(percentile)))
    }

    /// The latencies that there are, each with their number. Those within 1 % of each other count as the longest of them.
    pub fn each(&self) -> impl Iterator<Item = (Duration, u64)> {
        self.histogram
            .iter_recorded()
            .map(|step| (Duration::from_micros(step.value_iterated_to()), step.count_since_last_iteration()))
    }

    /// Adds others.
    pub fn add(&mut self, other: &Self) {
        // Both have the same bounds, so this cannot fail.
        let _ = self.histogram.add(&other.histogram);
        self.shortest_given_up =
            self.shortest_given_up.into_iter().chain(other.shortest_given_up).reduce(u64::min);
    }

    /// The steps that are used, by rising latency: the upper end of each in µs, and how many requests are in it.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let upper_end = |micros: u64| u32::try_from(micros).unwrap_or(u32::MAX);
        self.histogram
            .iter_recorded()
            .map(move |step| (upper_end(step.value_iterated_to()), step.count_at_value()))
    }

    /// Adds others, which were recorded more exactly.
    pub(crate) fn add_exact(&mut self, exact: &Latencies) {
        for bucket in exact.histogram.iter_recorded() {
            let value = (bucket.value_iterated_to() / 1_000).max(1);
            let count = u32::try_from(bucket.count_at_value()).unwrap_or(u32::MAX);
            self.histogram.saturating_record_n(value, count);
        }
        let given_up = exact.shortest_given_up.map(|nanos| (nanos / 1_000).max(1));
        self.shortest_given_up = self.shortest_given_up.into_iter().chain(given_up).reduce(u64::min);
    }

    /// Moves others here.
    pub fn take(&mut self, other: &mut Self) {
        self.add(other);
        other.histogram.reset();
        other.shortest_given_up = None;
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A skewed sequence that repeats: xorshift, squared towards long tails.
    fn sample(count: u64) -> Vec<u64> {
        let mut x = 0x9E37_79B9_7F4A_7C15_u64;
        (0..count)
            .map(|_| {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                let unit = (x >> 40) as f64 / f64::from(1 << 24);
                1_000 + (unit.powi(8) * 2e9) as u64
            })
            .collect()
    }

    #[test]
    fn percentiles_agree_with_sorting() {
        let mut parts = [Latencies::new().unwrap(), Latencies::new().unwrap()];
        let mut values = sample(100_000);
        for (position, value) in values.iter().enumerate() {
            parts[position % 2].record(Duration::from_nanos(*value));
        }
        let [mut latencies, other] = parts;
        latencies.merge(&other);
        values.sort_unstable();
        for percentile in [1.0, 25.0, 50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 100.0_f64] {
            let rank = ((percentile / 100.0 * values.len() as f64).ceil() as usize).max(1);
            let expected = values[rank - 1] as f64;
            let got = latencies.at(percentile).as_nanos() as f64;
            assert!((got - expected).abs() <= expected * 0.001 + 1.0, "P{percentile}: {got} for {expected}");
        }
        let mean = values.iter().sum::<u64>() as f64 / values.len() as f64 / 1e6;
        assert!((latencies.figures().mean_ms.unwrap() - mean).abs() < mean * 0.001);
    }

    #[test]
    fn no_percentile_is_told_of_fewer_than_it_needs() {
        assert_eq!([50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 100.0].map(needed), [2, 4, 10, 20, 100, 1_000, 1]);
        let mut latencies = Latencies::new().unwrap();
        let none = latencies.figures();
        assert_eq!((none.min_ms, none.mean_ms, none.max_ms), (None, None, None));
        (0..99).for_each(|_| latencies.record(MS));
        let figures = latencies.figures();
        assert!(figures.p95_ms.is_some() && figures.p99_ms.is_none(), "{figures:?}");
        latencies.record(MS);
        assert!(latencies.figures().p99_ms.is_some() && latencies.figures().p999_ms.is_none());
    }

    #[test]
    fn what_was_given_up_is_in_the_percentiles_as_a_lower_bound() {
        let mut latencies = Latencies::new().unwrap();
        (0..950).for_each(|_| latencies.record(MS));
        (0..50).for_each(|_| latencies.record_given_up(2_000 * MS));
        let figures = latencies.figures();
        assert!(!figures.is_at_least(figures.p95_ms.unwrap()), "{figures:?}");
        assert!((figures.p99_ms.unwrap() - 2_000.0).abs() < 2.0, "{figures:?}");
        for value in [figures.p99_ms, figures.max_ms] {
            assert!(figures.is_at_least(value.unwrap()), "{figures:?}");
        }
        let mut whole = Latencies::new().unwrap();
        whole.merge(&latencies);
        assert_eq!(whole.figures(), figures);
    }
}
