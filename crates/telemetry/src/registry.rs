//! All metrics of the process, and the page that shows them.

use std::sync::Arc;

use parking_lot::RwLock;
use symbolon_figures::StripedCounter;

use super::cpu::thread_clock_overhead;
use super::log_writer::dropped_lines;
use super::process::ProcessSource;
use super::prometheus::{Exposition, MetricSource, MetricType};
use super::request_figures::RequestFigures;

/// Counters of one family, distinguished by one label from a closed set of values.
#[derive(Debug)]
pub struct CounterFamily {
    name: &'static str,
    help: &'static str,
    label: &'static str,
    counters: Box<[(&'static str, StripedCounter)]>,
}

impl CounterFamily {
    /// Counters at zero, one per value. Use an enum whose discriminants are the indexes of `values`.
    pub fn new(name: &'static str, help: &'static str, label: &'static str, values: &[&'static str]) -> Self {
        let counters = values.iter().map(|value| (*value, StripedCounter::new())).collect();
        Self { name, help, label, counters }
    }

    /// Increments the counter at an index; an index out of range is ignored.
    #[inline]
    pub fn increment(&self, place: usize) {
        if let Some((_, counter)) = self.counters.get(place) {
            counter.add(1);
        }
    }

    /// The value of the counter at an index.
    pub fn value(&self, place: usize) -> Option<u64> {
        self.counters.get(place).map(|(_, counter)| counter.value())
    }
}

impl MetricSource for CounterFamily {
    fn expose(&self, page: &mut Exposition) {
        page.family(self.name, MetricType::Counter, self.help);
        for (value, counter) in &self.counters {
            page.count(&[(self.label, value)], counter.value());
        }
    }
}

/// All metrics: of requests, of registered sources, and of the process.
pub struct Registry {
    version: &'static str,
    revision: &'static str,
    requests: RequestFigures,
    sources: RwLock<Vec<Arc<dyn MetricSource>>>,
}

impl Registry {
    /// A registry at zero. `version` and `revision` are the build's.
    pub fn new(version: &'static str, revision: &'static str) -> Self {
        // Measured here once, so that no request pays for it.
        let _ = thread_clock_overhead();
        Self { version, revision, requests: RequestFigures::new(), sources: RwLock::new(Vec::new()) }
    }

    /// Switches metrics of requests on or off. Other metrics are unaffected.
    #[must_use]
    pub fn keeping_requests(self, kept: bool) -> Self {
        let requests = if kept { self.requests } else { RequestFigures::none() };
        Self { requests, ..self }
    }

    /// The build's version.
    pub const fn version(&self) -> &'static str {
        self.version
    }

    /// Metrics of requests.
    pub const fn requests(&self) -> &RequestFigures {
        &self.requests
    }

    /// Adds a source to the page. Its family names must be unique on the page.
    pub fn register(&self, source: Arc<dyn MetricSource>) {
        self.sources.write().push(source);
    }

    /// Counters of signatures made, `symbolon_signatures_total{algorithm}`; the list is JWS algorithm names
    /// (RFC 7518 section 3.1, RFC 8037 section 3.1). Call once.
    pub fn signatures(&self, algorithms: &[&'static str]) -> Arc<CounterFamily> {
        let help = "Signatures made, by JWS algorithm.";
        self.counters("symbolon_signatures_total", help, "algorithm", algorithms)
    }

    /// Counters of claims that were left out because their expression failed, `symbolon_claim_failures_total{destination}`.
    /// Call once.
    pub fn claim_failures(&self, destinations: &[&'static str]) -> Arc<CounterFamily> {
        let help = "Claims that were left out because their expression failed, by destination.";
        self.counters("symbolon_claim_failures_total", help, "destination", destinations)
    }

    /// Counters of domain events, `symbolon_events_total{event}`. Call once.
    pub fn events(&self, names: &[&'static str]) -> Arc<CounterFamily> {
        self.counters("symbolon_events_total", "Domain events.", "event", names)
    }

    /// Registers a family of counters and returns it.
    pub fn counters(
        &self,
        name: &'static str,
        help: &'static str,
        label: &'static str,
        values: &[&'static str],
    ) -> Arc<CounterFamily> {
        let family = Arc::new(CounterFamily::new(name, help, label, values));
        self.register(Arc::clone(&family) as Arc<dyn MetricSource>);
        family
    }

    /// Renders the page of `/metrics`: all registered sources, and `extra` ones for this page only.
    pub fn render(&self, extra: &[&dyn MetricSource]) -> String {
        let mut page = Exposition::new();
        page.family("symbolon_build_info", MetricType::Gauge, "The running build; always 1.");
        page.count(&[("version", self.version), ("revision", self.revision)], 1);
        self.requests.expose(&mut page);
        for source in self.sources.read().iter() {
            source.expose(&mut page);
        }
        for source in extra {
            source.expose(&mut page);
        }
        let help = "Log lines dropped because the log's reader was too slow.";
        page.family("symbolon_log_lines_dropped_total", MetricType::Counter, help);
        page.count(&[], dropped_lines());
        ProcessSource.expose(&mut page);
        page.finish()
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").field("version", &self.version).finish_non_exhaustive()
    }
}

impl MetricSource for RequestFigures {
    fn expose(&self, page: &mut Exposition) {
        let seen = self.snapshot();
        let labelled: Vec<_> = seen
            .iter()
            .map(|request| {
                ([("endpoint", request.endpoint.name()), ("outcome", request.outcome.name())], request)
            })
            .collect();
        page.family("symbolon_requests_total", MetricType::Counter, "Requests.");
        for (labels, request) in &labelled {
            page.count(labels, request.requests());
        }
        let help = "Time from a request's arrival to its answer.";
        page.family("symbolon_request_duration_seconds", MetricType::Histogram, help);
        for (labels, request) in &labelled {
            page.histogram(labels, &request.duration);
        }
        let help = "Time that a request was computed on: the sum of its polls.";
        page.family("symbolon_request_cpu_seconds", MetricType::Histogram, help);
        for (labels, request) in &labelled {
            page.histogram(labels, &request.cpu);
        }
        let (monotonic, thread) = self.check_sums();
        let help = "The same requests' CPU time by both clocks; their ratio is the error of the histogram.";
        page.family("symbolon_request_cpu_check_seconds_total", MetricType::Counter, help);
        page.seconds(&[("clock", "monotonic")], monotonic);
        page.seconds(&[("clock", "thread")], thread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::{Endpoint, RequestOutcome};
    use crate::prometheus::tests::parse;

    #[test]
    fn the_whole_page_is_valid_and_complete() {
        let registry = Registry::new("1.2.3", "abc\"def");
        let signatures = registry.signatures(&["RS256", "ES256"]);
        let events = registry.events(&["session_started", "code_replayed"]);
        signatures.increment(1);
        signatures.increment(1);
        events.increment(0);
        events.increment(9);
        registry.requests().record(Endpoint::Authorize, RequestOutcome::Redirect, 300_000, 240_000);
        registry.requests().record(Endpoint::Authorize, RequestOutcome::LoginRequired, 30_000, 20_000);
        registry.requests().record_check(100, 90);
        let extra = CounterFamily::new("symbolon_extra_total", "Extra.", "name", &["one"]);
        let page = parse(&registry.render(&[&extra]));

        let authorize = [("endpoint", "authorize"), ("outcome", "redirect")];
        assert_eq!(page.value("symbolon_requests_total", &authorize), Some(1.0));
        assert_eq!(page.value("symbolon_request_duration_seconds_sum", &authorize), Some(0.0003));
        assert_eq!(page.value("symbolon_request_cpu_seconds_sum", &authorize), Some(0.00024));
        let bucket = [("endpoint", "authorize"), ("outcome", "redirect"), ("le", "0.0003")];
        assert_eq!(page.value("symbolon_request_cpu_seconds_bucket", &bucket), Some(1.0));
        assert_eq!(page.value("symbolon_signatures_total", &[("algorithm", "ES256")]), Some(2.0));
        assert_eq!(page.value("symbolon_signatures_total", &[("algorithm", "RS256")]), Some(0.0));
        assert_eq!(page.value("symbolon_events_total", &[("event", "session_started")]), Some(1.0));
        assert_eq!(page.value("symbolon_extra_total", &[("name", "one")]), Some(0.0));
        let build = [("version", "1.2.3"), ("revision", "abc\"def")];
        assert_eq!(page.value("symbolon_build_info", &build), Some(1.0));
        assert!(page.value("process_cpu_seconds_total", &[]).unwrap() > 0.0);
        assert_eq!(page.type_of("symbolon_request_cpu_seconds"), Some("histogram"));
        assert!(page.value("symbolon_log_lines_dropped_total", &[]).is_some());
        if cfg!(target_os = "linux") {
            assert!(page.value("process_resident_memory_bytes", &[]).unwrap() > 0.0);
            assert!(page.value("process_open_fds", &[]).unwrap() > 0.0);
            assert!(page.value("process_start_time_seconds", &[]).unwrap() > 1.0e9);
        }
    }
}
