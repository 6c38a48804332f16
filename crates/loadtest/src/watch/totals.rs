//! What metrics say of a run: sums that only grow.

use crate::latency::LatenciesOfASecond;
use crate::tally::{Counts, End, Ends, Lately};

/// Upper bounds of the buckets of latencies, in seconds. A bucket more holds what is longer.
pub(crate) const BOUNDS: [f64; 22] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5,
    0.75, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// What is measured.
    Plateau,
    /// Warm-up and ramps.
    Besides,
}

impl Part {
    pub(crate) const ALL: [Self; 2] = [Self::Plateau, Self::Besides];

    /// As metrics call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Plateau => "plateau",
            Self::Besides => "besides",
        }
    }
}

/// Latencies in buckets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Buckets {
    /// How many lie in each, not counting those before it.
    pub(crate) counts: [u64; BOUNDS.len() + 1],
    /// All of them together in seconds, within 1 %.
    pub(crate) sum: f64,
}

impl Default for Buckets {
    fn default() -> Self {
        Self { counts: [0; BOUNDS.len() + 1], sum: 0.0 }
    }
}

impl Buckets {
    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn add(&mut self, latencies: &LatenciesOfASecond) {
        for (took, count) in latencies.each() {
            let seconds = took.as_secs_f64();
            let place = BOUNDS.partition_point(|bound| *bound < seconds);
            if let Some(bucket) = self.counts.get_mut(place) {
                *bucket += count;
            }
            self.sum += seconds * count as f64;
        }
    }
}

/// The sums of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    plateau: OfPart,
    besides: OfPart,
    /// CPU time of the generator's process since the run began, in seconds.
    pub(crate) generator_cpu: Option<f64>,
    /// That of the provider's.
    pub(crate) server_cpu: Option<f64>,
}

/// The sums of a part of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfPart {
    pub(crate) counts: Counts,
    latencies: [Buckets; 4],
}

impl OfPart {
    /// How long those took that ended so; none where there was none.
    pub(crate) fn latencies(&self, end: End) -> Option<&Buckets> {
        let own = End::ALL.into_iter().position(|other| other == end)?;
        self.latencies.get(own).filter(|buckets| buckets.count() > 0)
    }

    fn add(&mut self, ends: &Ends, so_far: &Counts) {
        self.counts.clone_from(so_far);
        for (end, buckets) in End::ALL.into_iter().zip(&mut self.latencies) {
            if let Some(latencies) = ends.of(end) {
                buckets.add(latencies);
            }
        }
    }
}

impl Totals {
    pub(crate) fn of(&self, part: Part) -> &OfPart {
        match part {
            Part::Plateau => &self.plateau,
            Part::Besides => &self.besides,
        }
    }

    /// Adds what came lately; the CPU times are the generator's so far and the provider's since the last call.
    pub(crate) fn add(&mut self, lately: &Lately, generator_cpu: Option<f64>, server_cpu: Option<f64>) {
        self.plateau.add(&lately.plateau, &lately.plateau_so_far);
        self.besides.add(&lately.besides, &lately.besides_so_far);
        self.generator_cpu = generator_cpu.or(self.generator_cpu);
        if let Some(more) = server_cpu {
            *self.server_cpu.get_or_insert(0.0) += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn latencies_fall_into_the_bucket_of_the_bound_that_they_do_not_exceed() {
        let mut second = LatenciesOfASecond::new().unwrap();
        for micros in [50, 900, 100_000, 700_000_000] {
            second.record(Duration::from_micros(micros));
        }
        let mut buckets = Buckets::default();
        buckets.add(&second);
        buckets.add(&second);
        assert_eq!(buckets.count(), 8);
        let of = |seconds: f64| buckets.counts[BOUNDS.partition_point(|bound| *bound < seconds)];
        // 100 ms may count as up to 1 % more, and then it lies above that bound.
        assert_eq!((of(0.000_1), of(0.001), of(0.1) + of(0.15), of(700.0)), (2, 2, 2, 2));
        assert!((buckets.sum - 2.0 * (700.0 + 0.1 + 0.000_95)).abs() < 15.0, "{}", buckets.sum);
    }
}
