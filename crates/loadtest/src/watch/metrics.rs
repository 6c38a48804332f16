//! A run's metrics, whatever form they leave in.
//!
//! `docs/reference/loadtest-metrics.md` says what each means; a test compares it with this file.

use super::course::Current;
use super::totals::{BOUNDS, Buckets, Part};
use crate::tally::End;

/// A metric and its series.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Metric {
    /// Its name, without what a form adds, such as `_bucket`.
    pub(super) name: &'static str,
    /// What it means.
    pub(super) help: &'static str,
    /// `s` for seconds, and nothing for numbers.
    pub(super) unit: &'static str,
    /// Its series, all of one kind.
    pub(super) series: Vec<Series>,
}

/// Values with the labels that tell them apart.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series {
    /// Labels with their values, none of them empty.
    pub(super) labels: Vec<(&'static str, String)>,
    /// The value.
    pub(super) value: Value,
}

/// What a series says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A sum since the run began.
    Counter(f64),
    /// What is at the moment.
    Gauge(f64),
    /// A distribution since the run began.
    Histogram(Buckets),
}

/// The names, what they mean, and their units.
const REQUESTS: Head = ("symbolon_loadtest_requests_total", "Arrivals, by how they ended.", "");
const ERRORS: Head = ("symbolon_loadtest_errors_total", "What went wrong, by kind.", "");
const DURATION: Head = (
    "symbolon_loadtest_request_duration_seconds",
    "How long arrivals took from when they were due, by how they ended.",
    "s",
);
const RATE_ASKED: Head =
    ("symbolon_loadtest_rate_asked", "Requests per second that the schedule asks for.", "");
const IN_FLIGHT: Head = ("symbolon_loadtest_in_flight", "Requests in flight.", "");
const IN_FLIGHT_MOST: Head =
    ("symbolon_loadtest_in_flight_most", "Requests that may be in flight at most.", "");
const WAITING: Head = ("symbolon_loadtest_waiting", "Arrivals that wait for a connection.", "");
const LAG: Head =
    ("symbolon_loadtest_worst_lag_seconds", "How late the generator itself sent, at worst in the run.", "s");
const GENERATOR_CPU: Head =
    ("symbolon_loadtest_generator_cpu_seconds_total", "CPU time of the generator's process in the run.", "s");
const SERVER_CPU: Head =
    ("symbolon_loadtest_server_cpu_seconds_total", "CPU time of the provider's process in the run.", "s");
const THRESHOLD: Head =
    ("symbolon_loadtest_threshold_held", "Whether a threshold holds, by the figures so far.", "");
const RUNNING: Head = ("symbolon_loadtest_running", "1 while the run goes on, 0 when it has ended.", "");

type Head = (&'static str, &'static str, &'static str);

/// The metrics of a run that goes on, or of one that has just ended.
pub(super) fn of(current: &Current, running: bool) -> Vec<Metric> {
    let labels = Labels(vec![("run", current.run.name.clone()), ("scenario", current.run.what().to_owned())]);
    let (totals, generator) = (&current.totals, &current.generator);
    let gauge = |value: f64| vec![labels.with(&[], Value::Gauge(value))];
    let counter = |value: f64| vec![labels.with(&[], Value::Counter(value))];
    let mut metrics = vec![
        metric(REQUESTS, requests(current, &labels)),
        metric(ERRORS, errors(current, &labels)),
        metric(DURATION, durations(current, &labels)),
        metric(RATE_ASKED, current.rate_now().map(gauge).unwrap_or_default()),
        metric(IN_FLIGHT, gauge(generator.in_flight as f64)),
        metric(IN_FLIGHT_MOST, gauge(generator.bound as f64)),
        metric(WAITING, gauge(generator.waiting as f64)),
        metric(LAG, gauge(generator.worst_lag_ns as f64 / 1e9)),
        metric(GENERATOR_CPU, totals.generator_cpu.map(counter).unwrap_or_default()),
        metric(SERVER_CPU, totals.server_cpu.map(counter).unwrap_or_default()),
        metric(THRESHOLD, thresholds(current, &labels)),
        metric(RUNNING, gauge(f64::from(u8::from(running)))),
    ];
    metrics.retain(|metric| !metric.series.is_empty());
    metrics
}

fn metric((name, help, unit): Head, series: Vec<Series>) -> Metric {
    Metric { name, help, unit, series }
}

/// The labels that all series of a run have.
struct Labels(Vec<(&'static str, String)>);

impl Labels {
    /// A series with further labels; an empty value is no label.
    fn with(&self, more: &[(&'static str, &str)], value: Value) -> Series {
        let more = more.iter().filter(|(_, value)| !value.is_empty());
        let labels = self.0.iter().cloned().chain(more.map(|(name, value)| (*name, (*value).to_owned())));
        Series { labels: labels.collect(), value }
    }
}

fn requests(current: &Current, labels: &Labels) -> Vec<Series> {
    let mut series = Vec::new();
    for part in Part::ALL {
        let counts = &current.totals.of(part).counts;
        let mut add = |kind: &str, end: End, count: u64| {
            let more = [("part", part.name()), ("kind", kind), ("outcome", end.name())];
            series.push(labels.with(&more, Value::Counter(count as f64)));
        };
        for (kind, of) in &counts.kinds {
            for end in End::ALL {
                add(kind, end, of.of(end));
            }
        }
    }
    series
}

fn errors(current: &Current, labels: &Labels) -> Vec<Series> {
    let mut series = Vec::new();
    for part in Part::ALL {
        let counts = &current.totals.of(part).counts;
        for (outcome, kinds) in [
            (End::Wrong.name(), &counts.wrong),
            (End::Failed.name(), &counts.failures),
            ("unasked", &counts.unasked),
        ] {
            series.extend(kinds.iter().map(|(error, count)| {
                let more = [("part", part.name()), ("outcome", outcome), ("error", *error)];
                labels.with(&more, Value::Counter(*count as f64))
            }));
        }
    }
    series
}

fn durations(current: &Current, labels: &Labels) -> Vec<Series> {
    let mut series = Vec::new();
    for part in Part::ALL {
        for end in End::ALL {
            if let Some(buckets) = current.totals.of(part).latencies(end) {
                let more = [("part", part.name()), ("outcome", end.name())];
                series.push(labels.with(&more, Value::Histogram(buckets.clone())));
            }
        }
    }
    series
}

fn thresholds(current: &Current, labels: &Labels) -> Vec<Series> {
    let thresholds = current.thresholds();
    thresholds
        .iter()
        .map(|threshold| {
            let name = format!("{} {}", threshold.name, threshold.limit);
            let held = f64::from(u8::from(threshold.held));
            labels.with(&[("threshold", &name)], Value::Gauge(held))
        })
        .collect()
}

/// What tells this process from others that send the same metrics.
pub(super) fn instance() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = Some(host.trim()).filter(|host| !host.is_empty()).unwrap_or("unknown");
    format!("{host}:{}", std::process::id())
}

/// A bucket's upper bound as a label has it.
pub(super) fn bound(place: usize) -> String {
    BOUNDS.get(place).map_or_else(|| "+Inf".to_owned(), ToString::to_string)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// All metrics, in their order.
    pub(crate) const ALL: [Head; 12] = [
        REQUESTS,
        ERRORS,
        DURATION,
        RATE_ASKED,
        IN_FLIGHT,
        IN_FLIGHT_MOST,
        WAITING,
        LAG,
        GENERATOR_CPU,
        SERVER_CPU,
        THRESHOLD,
        RUNNING,
    ];

    #[test]
    fn the_reference_has_every_metric() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/loadtest-metrics.md");
        let reference = std::fs::read_to_string(path).unwrap();
        let listed = reference.matches("| `symbolon_loadtest_").count();
        assert_eq!(listed, ALL.len(), "{path}");
        for (name, _, _) in ALL {
            assert!(reference.contains(&format!("| `{name}` |")), "{name} is not in {path}");
        }
    }

    #[test]
    fn bounds_are_written_as_prometheus_reads_them() {
        assert_eq!(bound(0), "0.0001");
        assert_eq!(bound(BOUNDS.len()), "+Inf");
    }
}
