//! How busy a run kept what carried it, and for what its requests waited: worked out from the figures that are written down.

use super::{Percentiles, Run, ServerFigures};

/// From this share of the requests on all of them count as having waited: the others are too few to move a P99.
const EVERY: f64 = 0.99;

/// A wait inside of the provider, beside the time of the requests that had it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Waited {
    /// Which figure of both it is: `P99`, or `mean` over all requests, also those that did not wait.
    pub(crate) figure: &'static str,
    /// That of the wait, in milliseconds.
    pub(crate) wait_ms: f64,
    /// That of the requests, which is no less.
    pub(crate) whole_ms: f64,
    /// How often a request had it, in the mean and at most.
    pub(crate) per_request: f64,
}

impl Waited {
    /// The part of a request's time that it is.
    pub(crate) fn part(&self) -> f64 {
        self.wait_ms / self.whole_ms
    }
}

impl Run {
    /// Cores that the generator kept busy in the plateau, with whatever came of its requests.
    pub(crate) fn generator_cores(&self) -> Option<f64> {
        let busy = self.generator_cpu_us_per_request * self.requests as f64 / 1e6;
        self.measured_seconds().map(|seconds| busy / seconds).filter(|cores| *cores > 0.0)
    }

    /// Cores that the provider kept busy in the plateau, where its CPU time is known.
    pub(crate) fn server_cores(&self) -> Option<f64> {
        let busy = self.server_cpu_us_per_request? * self.right() as f64 / 1e6;
        self.measured_seconds().map(|seconds| busy / seconds)
    }

    /// Cores of the generator's machine that were busy with anything. What it counts is in ticks and has the ramps in it, so
    /// that it may lie below what both sides say of their own time, which is a part of it.
    pub(crate) fn machine_cores(&self) -> Option<f64> {
        let own = self.generator_cores().unwrap_or(0.0) + self.server_cores().unwrap_or(0.0);
        self.machine_busy_cores.map(|all| all.max(own))
    }

    /// The wait for durable commits. Their number and how long they took is known, not who waited: a request over HTTP waits
    /// for one at most, and all of them together for no more than were made durable.
    pub(crate) fn commit_wait(&self) -> Option<Waited> {
        let server = self.server.as_ref().filter(|server| server.commits > 0)?;
        let each = (server.commit_operations as f64 / self.exchanges(server)?).min(1.0);
        self.waited(each * self.exchanges_each(), &server.commit_duration)
    }

    /// The longest wait for shards of one kind, and the kind.
    pub(crate) fn shard_wait(&self) -> Option<(&str, Waited)> {
        let server = self.server.as_ref()?;
        let exchanges = self.exchanges(server)?;
        let waits = server.stores.iter().filter_map(|store| {
            let each = store.queue_wait.count as f64 / exchanges;
            let waited = self.waited(each * self.exchanges_each(), &store.queue_wait)?;
            Some((store.kind.as_str(), waited))
        });
        waits.max_by(|one, other| one.1.part().total_cmp(&other.1.part()))
    }

    /// The figure of which a wait explains most. A P99 can be compared where every request had the wait; of the mean, also
    /// a wait of few requests is a known part. A figure of the wait that is above that of the requests is none of theirs.
    fn waited(&self, per_request: f64, wait: &Percentiles) -> Option<Waited> {
        let of = |figure, wait: Option<f64>, whole: Option<f64>| {
            let (wait_ms, whole_ms) = wait.zip(whole)?;
            let known = whole_ms > 0.0 && wait_ms <= whole_ms;
            known.then_some(Waited { figure, wait_ms, whole_ms, per_request })
        };
        let mean = wait.mean_ms.map(|ms| ms * per_request);
        let p99 = wait.p99_ms.filter(|_| per_request >= EVERY);
        let known = [of("mean", mean, self.latency.mean_ms), of("P99", p99, self.latency.p99_ms)];
        known.into_iter().flatten().max_by(|one, other| one.part().total_cmp(&other.part()))
    }

    /// Requests over HTTP in the time of the provider's figures.
    fn exchanges(&self, server: &ServerFigures) -> Option<f64> {
        let counted = [Some(server.request_duration.count), self.sent, Some(self.requests)];
        counted.into_iter().flatten().find(|count| *count > 0).map(|count| count as f64)
    }

    /// Requests over HTTP in what counts as one request.
    fn exchanges_each(&self) -> f64 {
        let steps: u64 = self.steps.iter().map(|step| step.count).sum();
        (steps as f64 / self.requests.max(1) as f64).max(1.0)
    }

    fn right(&self) -> u64 {
        self.requests.saturating_sub(self.failures).saturating_sub(self.wrong)
    }

    /// How long the plateau took: less than was planned where the run was ended before its time, which its rate tells.
    fn measured_seconds(&self) -> Option<f64> {
        let answering = self.right() as f64 / self.achieved_rate;
        [self.seconds, answering]
            .into_iter()
            .filter(|seconds| seconds.is_finite() && *seconds > 0.0)
            .reduce(f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Latency, StepLatency, StoreFigures};

    /// A thousand requests a second for ten seconds, with commits of 0.5 ms in the mean and 2 ms in P99.
    fn run() -> Run {
        let times = Percentiles { mean_ms: Some(0.5), p99_ms: Some(2.0), ..Percentiles::default() };
        let server = ServerFigures {
            request_duration: Percentiles { count: 20_000, ..Percentiles::default() },
            commits: 400,
            commit_operations: 500,
            commit_duration: times,
            ..ServerFigures::default()
        };
        Run {
            requests: 10_000,
            achieved_rate: 1_000.0,
            seconds: 10.0,
            latency: Latency { mean_ms: Some(0.25), p99_ms: Some(0.75), ..Latency::default() },
            generator_cpu_us_per_request: 20.0,
            server_cpu_us_per_request: Some(50.0),
            machine_busy_cores: Some(0.06),
            server: Some(server),
            ..Run::default()
        }
    }

    fn close(one: Option<f64>, other: f64) {
        assert!(one.is_some_and(|one| (one - other).abs() < 1e-9), "{one:?} for {other}");
    }

    #[test]
    fn who_is_busy_is_so_whatever_becomes_of_the_requests() {
        close(run().generator_cores(), 0.02);
        close(run().server_cores(), 0.05);
        close(run().machine_cores(), 0.07);
        // Half of them fail: the generator sends as many, and the provider's time is of those that it answered rightly.
        let failing = Run { failures: 4_000, wrong: 1_000, achieved_rate: 500.0, ..run() };
        close(failing.generator_cores(), 0.02);
        close(failing.server_cores(), 0.025);
        // All of them come too late to count for the rate.
        close(Run { achieved_rate: 0.0, ..run() }.generator_cores(), 0.02);
        // It was stopped in the middle.
        close(Run { requests: 5_000, ..run() }.generator_cores(), 0.02);
        let nothing = Run::default();
        assert_eq!(
            (nothing.generator_cores(), nothing.server_cores(), nothing.machine_cores()),
            (None, None, None)
        );
    }

    #[test]
    fn commits_count_as_far_as_requests_waited_for_them() {
        let waited = run().commit_wait().unwrap();
        assert_eq!((waited.figure, waited.per_request), ("mean", 0.025));
        close(Some(waited.part()), 0.05);
        // One for each request: the P99 of both can be compared, where the wait is not above it.
        let mut each = run();
        each.server.as_mut().unwrap().commit_operations = 40_000;
        each.latency = Latency { mean_ms: Some(1.0), p99_ms: Some(2.5), ..Latency::default() };
        let waited = each.commit_wait().unwrap();
        assert_eq!((waited.figure, waited.wait_ms, waited.per_request), ("P99", 2.0, 1.0));
        each.latency.p99_ms = Some(1.9);
        assert_eq!(each.commit_wait().unwrap().figure, "mean");
        each.latency.mean_ms = Some(0.4);
        assert_eq!(each.commit_wait(), None, "nobody waits for longer than it took");
        // A login of four requests may wait four times.
        let step = StepLatency { count: 10_000, ..StepLatency::default() };
        let login = Run {
            steps: vec![step; 4],
            latency: Latency { mean_ms: Some(2.0), ..Latency::default() },
            ..each
        };
        close(login.commit_wait().map(|waited| waited.per_request), 4.0);
    }

    #[test]
    fn a_kind_of_state_that_few_requests_need_explains_no_p99() {
        let mut run = run();
        let store = |kind: &str, count, mean_ms| StoreFigures {
            kind: kind.into(),
            queue_wait: Percentiles {
                count,
                mean_ms: Some(mean_ms),
                p99_ms: Some(0.7),
                ..Percentiles::default()
            },
            ..StoreFigures::default()
        };
        run.server.as_mut().unwrap().stores = vec![store("audit", 200, 0.6), store("session", 20_000, 0.01)];
        let (kind, waited) = run.shard_wait().unwrap();
        assert_eq!((kind, waited.figure, waited.wait_ms), ("session", "P99", 0.7));
        run.server.as_mut().unwrap().stores.truncate(1);
        let (_, waited) = run.shard_wait().unwrap();
        assert_eq!(waited.figure, "mean");
        close(Some(waited.part()), 0.024);
    }
}
