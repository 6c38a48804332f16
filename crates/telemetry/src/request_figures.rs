//! Metrics of requests: histograms of duration and CPU time per endpoint and outcome.

use symbolon_figures::{HistogramSet, HistogramSnapshot, StripedCounter};

use super::endpoint::{Endpoint, RequestOutcome};

/// Upper bounds of the request histograms in nanoseconds: 5 µs to 10 s, finest where answers are expected.
pub static REQUEST_BOUNDS_NS: [u64; 26] = [
    5_000,
    10_000,
    20_000,
    30_000,
    50_000,
    75_000,
    100_000,
    150_000,
    200_000,
    300_000,
    500_000,
    750_000,
    1_000_000,
    2_000_000,
    3_000_000,
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

/// Metrics of all requests. Recording costs four relaxed additions in the thread's own stripe.
#[derive(Debug)]
pub struct RequestFigures {
    durations: HistogramSet,
    cpu: HistogramSet,
    checked_monotonic: StripedCounter,
    checked_thread: StripedCounter,
}

/// The index of an endpoint and outcome in the histograms: computed, so that nothing is looked up.
const fn series(endpoint: Endpoint, outcome: RequestOutcome) -> usize {
    endpoint as usize * RequestOutcome::ALL.len() + outcome as usize
}

impl RequestFigures {
    /// Metrics at zero.
    pub fn new() -> Self {
        Self::of(Endpoint::ALL.len() * RequestOutcome::ALL.len())
    }

    /// Metrics that are switched off: recording returns after one comparison.
    pub fn none() -> Self {
        Self::of(0)
    }

    fn of(series: usize) -> Self {
        Self {
            durations: HistogramSet::new(&REQUEST_BOUNDS_NS, series),
            cpu: HistogramSet::new(&REQUEST_BOUNDS_NS, series),
            checked_monotonic: StripedCounter::new(),
            checked_thread: StripedCounter::new(),
        }
    }

    /// Records a finished request: nanoseconds from arrival to answer, and nanoseconds spent in polls.
    #[inline]
    pub fn record(&self, endpoint: Endpoint, outcome: RequestOutcome, duration_ns: u64, cpu_ns: u64) {
        let series = series(endpoint, outcome);
        self.durations.record(series, duration_ns);
        self.cpu.record(series, cpu_ns);
    }

    /// Records a request that both clocks measured (see [`cpu`](super::cpu)).
    pub fn record_check(&self, monotonic_ns: u64, thread_ns: u64) {
        self.checked_monotonic.add(monotonic_ns);
        self.checked_thread.add(thread_ns);
    }

    /// Sums over the requests that both clocks measured: monotonic time and thread CPU time, in nanoseconds.
    pub fn check_sums(&self) -> (u64, u64) {
        (self.checked_monotonic.value(), self.checked_thread.value())
    }

    /// All endpoints and outcomes that have occurred, merged over all threads.
    pub fn snapshot(&self) -> Vec<RequestSnapshot> {
        let pairs = Endpoint::ALL
            .iter()
            .flat_map(|endpoint| RequestOutcome::ALL.iter().map(move |outcome| (*endpoint, *outcome)));
        pairs
            .map(|(endpoint, outcome)| RequestSnapshot {
                endpoint,
                outcome,
                duration: self.durations.snapshot(series(endpoint, outcome)),
                cpu: self.cpu.snapshot(series(endpoint, outcome)),
            })
            .filter(|snapshot| snapshot.requests() > 0)
            .collect()
    }
}

impl Default for RequestFigures {
    fn default() -> Self {
        Self::new()
    }
}

/// The requests of one endpoint and outcome, at one moment.
#[derive(Debug, Clone)]
pub struct RequestSnapshot {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The outcome.
    pub outcome: RequestOutcome,
    /// Time from arrival to answer.
    pub duration: HistogramSnapshot,
    /// Time spent in polls.
    pub cpu: HistogramSnapshot,
}

impl RequestSnapshot {
    /// The number of requests.
    pub fn requests(&self) -> u64 {
        self.duration.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_has_a_series_of_its_own() {
        let figures = RequestFigures::new();
        let mut expected = Vec::new();
        for (e, endpoint) in Endpoint::ALL.iter().enumerate() {
            for (o, outcome) in RequestOutcome::ALL.iter().enumerate() {
                let times = (e * RequestOutcome::ALL.len() + o + 1) as u64;
                (0..times).for_each(|_| figures.record(*endpoint, *outcome, 6_000, 4_000));
                expected.push((*endpoint, *outcome, times));
            }
        }
        let seen: Vec<_> = figures.snapshot().iter().map(|s| (s.endpoint, s.outcome, s.requests())).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn figures_that_are_switched_off_keep_nothing() {
        let figures = RequestFigures::none();
        figures.record(Endpoint::Discovery, RequestOutcome::Ok, 6_000, 4_000);
        figures.record(Endpoint::Other, RequestOutcome::Abandoned, 6_000, 4_000);
        assert!(figures.snapshot().is_empty());
    }

    #[test]
    fn duration_and_cpu_are_apart_and_silence_has_no_series() {
        let figures = RequestFigures::new();
        figures.record(Endpoint::Userinfo, RequestOutcome::Ok, 40_000, 9_000);
        let snapshot = figures.snapshot();
        assert_eq!(snapshot.len(), 1);
        assert_eq!((snapshot[0].duration.sum_ns, snapshot[0].cpu.sum_ns), (40_000, 9_000));
        assert_eq!(snapshot[0].duration.quantile_ns(0.5), Some(50_000));
        assert_eq!(snapshot[0].cpu.quantile_ns(0.5), Some(10_000));
    }
}
