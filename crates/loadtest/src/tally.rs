//! What a run counts: right answers and their latencies, wrong ones by kind, failures by kind.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::client::ClientError;
use crate::scenario::{Right, Wrong};

/// Latencies above this are recorded as this.
const MAX_LATENCY: Duration = Duration::from_secs(600);
/// Significant decimal digits of a recorded latency: within 0.1 %.
const DIGITS: u8 = 3;

/// The counts of a run, or of a part of one.
pub struct Tally {
    /// Requests that were answered as they must be.
    pub right: u64,
    /// Answers that said something else, by kind. Any of them fails the run.
    pub wrong: BTreeMap<&'static str, u64>,
    /// Requests without an answer, by kind ([`ClientError::kind`]).
    pub failures: BTreeMap<&'static str, u64>,
    /// Signed tokens in the right answers.
    pub signatures: u64,
    /// Latencies of all answers, right or wrong, in ns.
    latency: Histogram<u64>,
    /// The first wrong answer, for the report.
    pub first_wrong: Option<String>,
    /// What came since somebody looked last, where somebody looks.
    lately: Option<Lately>,
}

/// The counts of a short time, a second for instance.
#[derive(Clone, Debug)]
pub struct Lately {
    /// Answers, right or wrong.
    pub answered: u64,
    /// Wrong answers and failures.
    pub errors: u64,
    /// Latencies in µs, within 1 %: enough for a line in a plot, and small.
    latency: Histogram<u32>,
}

impl Lately {
    pub(crate) fn new() -> Result<Self, hdrhistogram::CreationError> {
        let latency = Histogram::new_with_bounds(1, nanos(MAX_LATENCY) / 1_000, 2)?;
        Ok(Self { answered: 0, errors: 0, latency })
    }

    /// The latency that `percentile` percent of the answers did not exceed, within 1 %.
    pub fn latency(&self, percentile: f64) -> Duration {
        Duration::from_micros(self.latency.value_at_percentile(percentile))
    }

    /// Moves the counts of another part here.
    fn take(&mut self, other: &mut Self) {
        self.answered += std::mem::take(&mut other.answered);
        self.errors += std::mem::take(&mut other.errors);
        // Both have the same bounds, so this cannot fail.
        let _ = self.latency.add(&other.latency);
        other.latency.reset();
    }
}

impl Tally {
    /// Nothing counted yet.
    ///
    /// # Errors
    /// Never with the bounds of this crate; they are checked by the histogram.
    pub fn new() -> Result<Self, hdrhistogram::CreationError> {
        Ok(Self {
            right: 0,
            wrong: BTreeMap::new(),
            failures: BTreeMap::new(),
            signatures: 0,
            latency: Histogram::new_with_bounds(1, nanos(MAX_LATENCY), DIGITS)?,
            first_wrong: None,
            lately: None,
        })
    }

    /// Nothing counted yet, and watched: see [`move_lately`](Self::move_lately).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn watched() -> Result<Self, hdrhistogram::CreationError> {
        Ok(Self { lately: Some(Lately::new()?), ..Self::new()? })
    }

    /// Moves what was counted since the last call to `into`; nothing unless it is [`watched`](Self::watched).
    pub fn move_lately(&mut self, into: &mut Lately) {
        if let Some(lately) = &mut self.lately {
            into.take(lately);
        }
    }

    /// Counts an answer and the time that it took.
    pub fn answered(&mut self, latency: Duration, verdict: Result<Right, Wrong>) {
        self.latency.saturating_record(nanos(latency).max(1));
        if let Some(lately) = &mut self.lately {
            lately.answered += 1;
            lately.errors += u64::from(verdict.is_err());
            lately.latency.saturating_record((nanos(latency) / 1_000).max(1));
        }
        match verdict {
            Ok(right) => {
                self.right += 1;
                self.signatures += u64::from(right.signatures);
            }
            Err(wrong) => {
                *self.wrong.entry(wrong.kind).or_default() += 1;
                self.first_wrong.get_or_insert_with(|| format!("{}: {}", wrong.kind, wrong.detail));
            }
        }
    }

    /// Counts a request that was not answered.
    pub fn failed(&mut self, error: &ClientError) {
        *self.failures.entry(error.kind()).or_default() += 1;
        if let Some(lately) = &mut self.lately {
            lately.errors += 1;
        }
    }

    /// Adds the counts of another part of the same run.
    pub fn merge(&mut self, other: Self) {
        self.right += other.right;
        self.signatures += other.signatures;
        for (kind, count) in other.wrong {
            *self.wrong.entry(kind).or_default() += count;
        }
        for (kind, count) in other.failures {
            *self.failures.entry(kind).or_default() += count;
        }
        self.first_wrong = self.first_wrong.take().or(other.first_wrong);
        // Both have the same bounds, so this cannot fail.
        let _ = self.latency.add(&other.latency);
    }

    /// All wrong answers.
    pub fn wrong_total(&self) -> u64 {
        self.wrong.values().sum()
    }

    /// All requests without an answer.
    pub fn failures_total(&self) -> u64 {
        self.failures.values().sum()
    }

    /// All requests that were sent, or tried to be.
    pub fn requests(&self) -> u64 {
        self.right + self.wrong_total() + self.failures_total()
    }

    /// Whether every request was answered as it must be, and there was one at all.
    pub fn is_clean(&self) -> bool {
        self.right > 0 && self.right == self.requests()
    }

    /// The latency that `percentile` percent of the answers did not exceed, within 0.1 %.
    pub fn latency(&self, percentile: f64) -> Duration {
        Duration::from_nanos(self.latency.value_at_percentile(percentile))
    }

    /// The shortest latency, within 0.1 %.
    pub fn min_latency(&self) -> Duration {
        Duration::from_nanos(if self.latency.is_empty() { 0 } else { self.latency.min() })
    }

    /// The longest latency, within 0.1 %.
    pub fn max_latency(&self) -> Duration {
        Duration::from_nanos(self.latency.max())
    }

    /// The mean latency.
    pub fn mean_latency(&self) -> Duration {
        Duration::from_secs_f64(self.latency.mean() / 1e9)
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A skewed sequence that repeats: xorshift, squared towards long tails.
    fn latencies(count: u64) -> Vec<u64> {
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
        let mut tallies = [Tally::new().unwrap(), Tally::new().unwrap()];
        let mut values = latencies(100_000);
        for (position, value) in values.iter().enumerate() {
            tallies[position % 2].answered(Duration::from_nanos(*value), Ok(Right::default()));
        }
        let [mut tally, other] = tallies;
        tally.merge(other);
        values.sort_unstable();
        for percentile in [1.0, 25.0, 50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 100.0_f64] {
            let rank = ((percentile / 100.0 * values.len() as f64).ceil() as usize).max(1);
            let expected = values[rank - 1] as f64;
            let got = tally.latency(percentile).as_nanos() as f64;
            assert!((got - expected).abs() <= expected * 0.001 + 1.0, "P{percentile}: {got} for {expected}");
        }
        let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
        assert!((tally.mean_latency().as_nanos() as f64 - mean).abs() < mean * 0.001);
        assert_eq!(tally.right, 100_000);
    }

    #[test]
    fn clean_means_that_all_was_right() {
        let mut tally = Tally::new().unwrap();
        assert!(!tally.is_clean(), "nothing was asked");
        tally.answered(Duration::from_millis(1), Ok(Right { signatures: 2 }));
        assert!(tally.is_clean());
        assert_eq!(tally.signatures, 2);
        tally.failed(&ClientError::Timeout);
        assert!(!tally.is_clean());
        tally.answered(Duration::ZERO, Err(Wrong::new("sub", "another user")));
        assert_eq!((tally.requests(), tally.wrong_total(), tally.failures_total()), (3, 1, 1));
        assert_eq!(tally.first_wrong.as_deref(), Some("sub: another user"));
    }
}
