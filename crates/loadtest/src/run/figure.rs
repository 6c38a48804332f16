//! The figures of a run that can be limited, and compared, by name.

use crate::results::Run;

/// The figures that can be limited, by name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    /// As it is written.
    pub(crate) name: &'static str,
    /// None where it was not measured.
    pub(crate) of: fn(&Run) -> Option<f64>,
}

pub(super) const P99_MS: Figure = Figure { name: "p99_ms", of: |run| run.latency.p99_ms };
pub(super) const FAILURE_SHARE: Figure = Figure { name: "failure_share", of: failure_share };
pub(super) const ACHIEVED_SHARE: Figure = Figure {
    name: "achieved_share",
    of: |run| Some(run.achieved_rate / run.rate).filter(|_| run.rate > 0.0),
};
pub(super) const SERVER_CPU: &str = "server_cpu_us_per_request";
const FIGURES: [Figure; 12] = [
    Figure { name: "mean_ms", of: |run| run.latency.mean_ms },
    Figure { name: "p50_ms", of: |run| run.latency.p50_ms },
    Figure { name: "p75_ms", of: |run| run.latency.p75_ms },
    Figure { name: "p90_ms", of: |run| run.latency.p90_ms },
    Figure { name: "p95_ms", of: |run| run.latency.p95_ms },
    P99_MS,
    Figure { name: "p999_ms", of: |run| run.latency.p999_ms },
    Figure { name: "max_ms", of: |run| run.latency.max_ms },
    FAILURE_SHARE,
    Figure { name: "success_share", of: |run| failure_share(run).map(|share| 1.0 - share) },
    ACHIEVED_SHARE,
    Figure { name: SERVER_CPU, of: |run| run.server_cpu_us_per_request },
];

/// What was not answered as it must be, was never sent, or is not known, of all arrivals.
fn failure_share(run: &Run) -> Option<f64> {
    let unsent = run.missed + run.arrivals_lost;
    let bad = run.failures + run.wrong + unsent;
    let all = run.requests + unsent;
    (all > 0).then(|| bad as f64 / all as f64)
}

/// The names of all of them.
pub(crate) fn names() -> Vec<&'static str> {
    FIGURES.iter().map(|figure| figure.name).collect()
}

/// One of them.
pub(crate) fn named(name: &str) -> Option<Figure> {
    FIGURES.into_iter().find(|figure| figure.name == name)
}

impl Figure {
    /// Whether more of it is better than less.
    pub(crate) fn more_is_better(&self) -> bool {
        matches!(self.name, "success_share" | "achieved_share")
    }

    /// Whether it is a latency.
    pub(super) fn is_latency(&self) -> bool {
        self.name.ends_with("_ms")
    }
}
