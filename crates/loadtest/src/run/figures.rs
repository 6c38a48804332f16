//! From counts to the figures of a report.

use std::collections::BTreeMap;
use std::time::Duration;

use super::live::millis;
use super::plan::{Plan, Traffic};
use crate::client::Peer;
use crate::executor::{self, OpenOutcome};
use crate::results::{Run, Second, ServerFigures, Stage};

pub(super) fn run(
    plan: &Plan,
    open: &OpenOutcome,
    timeline: Vec<Second>,
    server: Option<ServerFigures>,
) -> Run {
    let (outcome, tally) = (&open.outcome, &open.outcome.tally);
    let counted = |kinds: &BTreeMap<&'static str, u64>| {
        kinds.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect()
    };
    let stages = stages(&plan.traffic);
    let latency = |percentile: f64| millis(tally.latency(percentile));
    Run {
        scenario: plan.scenario.name().into(),
        executor: executor_name(&plan.traffic).into(),
        rate: plan.traffic.rate().unwrap_or(open.achieved_rate),
        achieved_rate: open.achieved_rate,
        seconds: plan.traffic.plateau().as_secs_f64(),
        stages,
        requests: tally.requests(),
        failures: tally.failures_total(),
        wrong: tally.wrong_total(),
        missed: open.missed,
        errors_besides: outcome.warm_up_errors,
        failure_kinds: counted(&tally.failures),
        wrong_kinds: counted(&tally.wrong),
        first_wrong: tally.first_wrong.clone(),
        min_ms: millis(tally.min_latency()),
        mean_ms: millis(tally.mean_latency()),
        p50_ms: latency(50.0),
        p75_ms: latency(75.0),
        p90_ms: latency(90.0),
        p95_ms: latency(95.0),
        p99_ms: latency(99.0),
        p999_ms: latency(99.9),
        max_ms: millis(tally.max_latency()),
        server_cpu_us_per_request: outcome.server_us_per_request(),
        generator_cpu_us_per_request: outcome.generator_us_per_request(),
        generator_lag_ms: millis(open.worst_lag),
        generator_limit: generator_limit(plan, open),
        timeline,
        server,
        ..Run::default()
    }
}

/// What carried the requests.
pub(super) fn carried(run: &mut Run, peer: &Peer, connections: usize) {
    run.connections = connections;
    run.streams = peer.protocol().streams();
    run.protocol = peer.protocol().to_string();
    run.tls = peer.is_tls();
}

fn executor_name(traffic: &Traffic) -> &'static str {
    match traffic {
        Traffic::Open(schedule) if schedule.stages().count() > 1 => "ramping-arrival-rate",
        Traffic::Open(_) => "constant-arrival-rate",
        Traffic::Closed(_) => "closed",
    }
}

fn stages(traffic: &Traffic) -> Vec<Stage> {
    let Traffic::Open(schedule) = traffic else { return Vec::new() };
    let stage = |stage: executor::Stage| Stage {
        from: stage.from,
        to: stage.to,
        seconds: stage.duration.as_secs_f64(),
    };
    schedule.stages().map(stage).collect()
}

/// Why the generator was the limit: it says so itself, lest its own trouble pass for the provider's.
fn generator_limit(plan: &Plan, open: &OpenOutcome) -> Option<String> {
    /// A thread that is busier has no time left to send when it should.
    const BUSY: f64 = 0.9;
    /// More than the system's timer and a busy core explain.
    const LATE: Duration = Duration::from_millis(100);
    let threads = plan.threads as f64;
    let busy =
        open.outcome.generator_cpu.as_secs_f64() / open.outcome.elapsed.as_secs_f64().max(0.001) / threads;
    if busy > BUSY {
        return Some(format!("its {threads} threads were busy {:.0} % of the time", busy * 100.0));
    }
    let in_the_tail = open.worst_lag > open.outcome.tally.latency(99.0) / 2;
    (open.worst_lag > LATE && in_the_tail)
        .then(|| format!("it sent {:.0} ms late at worst", millis(open.worst_lag)))
}
