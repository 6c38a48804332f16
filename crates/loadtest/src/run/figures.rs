//! From counts to the figures of a report.

use std::collections::BTreeMap;
use std::time::Duration;

use super::plan::{Plan, Traffic};
use crate::LoadtestError;
use crate::client::{Peer, generator_lacks};
use crate::executor::{self, Connections, OpenOutcome};
use crate::latency::{Latencies, millis};
use crate::results::{ConnectionUse, Example, Kind, Latency, Run, Second, ServerFigures, Stage, StepLatency};
use crate::tally::{OfKind, OfStep, Tally};

pub(super) fn run(
    plan: &Plan,
    open: &OpenOutcome,
    timeline: Vec<Second>,
    server: Option<ServerFigures>,
) -> Result<Run, LoadtestError> {
    let (outcome, tally) = (&open.outcome, &open.outcome.tally);
    let counted = |kinds: &BTreeMap<&'static str, u64>| {
        kinds.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect()
    };
    let figures = |latencies: Result<Latencies, _>| match latencies {
        Ok(latencies) => Ok::<_, LoadtestError>(latencies.figures()),
        Err(error) => Err(LoadtestError::Options(format!("a histogram was refused: {error}"))),
    };
    Ok(Run {
        rate: match &plan.traffic {
            Traffic::Open(schedule) => schedule.rate(),
            // With the steps of journeys, which are not fixed in advance.
            Traffic::Closed(_) | Traffic::Mixture(_) => open.offered_rate,
        },
        achieved_rate: open.achieved_rate,
        sent: match plan.traffic {
            Traffic::Open(_) | Traffic::Mixture(_) => {
                Some(tally.exchanges + open.warm_up.exchanges + open.ramps.exchanges)
            }
            // Its warm-up is not counted.
            Traffic::Closed(_) => None,
        },
        requests: tally.requests(),
        failures: tally.failures_total(),
        wrong: tally.wrong_total(),
        missed: tally.missed,
        errors_besides: outcome.warm_up_errors,
        besides_kinds: besides_kinds(open),
        failure_kinds: counted(&tally.failures),
        wrong_kinds: counted(&tally.wrong),
        unasked_kinds: counted(&tally.unasked),
        first_wrong: tally.first_wrong(),
        examples: examples(open),
        latency: figures(tally.whole())?,
        answers: Some(figures(tally.right_latencies())?),
        refusals: (tally.wrong_total() > 0).then(|| figures(tally.wrong_latencies())).transpose()?,
        kinds: kinds(tally),
        steps: steps(tally),
        warm_up: Some(figures(open.warm_up.whole())?).filter(|latency| latency.max_ms.is_some()),
        thirds: thirds(&open.thirds),
        server_cpu_us_per_request: outcome.server_us_per_request(),
        generator_cpu_us_per_request: outcome.generator_us_per_request(),
        connection_use: Some(connection_use(&open.connections)),
        generator_lag_ms: millis(open.worst_lag),
        generator_limit: generator_limit(plan, open),
        limit_besides_connections: limit_besides_connections(plan, open),
        timeline,
        server,
        ..begun(plan)
    })
}

/// What is known of a run before it.
pub(super) fn begun(plan: &Plan) -> Run {
    Run {
        scenario: plan.work.name().into(),
        executor: executor_name(&plan.traffic).into(),
        rate: plan.traffic.rate().unwrap_or_default(),
        seconds: plan.traffic.plateau().as_secs_f64(),
        stages: stages(&plan.traffic),
        warm_up_seconds: plan.warm_up_of_course().as_secs_f64(),
        threads: plan.threads,
        ..Run::default()
    }
}

/// What went wrong in the warm-up and the ramps, by kind.
fn besides_kinds(open: &OpenOutcome) -> BTreeMap<String, u64> {
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for tally in [&open.warm_up, &open.ramps] {
        let counted = tally.wrong.iter().chain(&tally.failures).chain(&tally.unasked);
        let counted = counted.map(|(kind, count)| (*kind, *count)).chain([(NEVER_SENT, tally.missed)]);
        for (kind, count) in counted.filter(|(_, count)| *count > 0) {
            *kinds.entry(kind.to_owned()).or_default() += count;
        }
    }
    kinds
}

/// The kind of arrivals that found no connection in time.
const NEVER_SENT: &str = "never_sent";

/// The first of each kind: of the plateau, and where it had none, of the warm-up or the ramps.
fn examples(open: &OpenOutcome) -> BTreeMap<String, Example> {
    let mut examples = BTreeMap::new();
    for tally in [&open.outcome.tally, &open.warm_up, &open.ramps] {
        for (kind, example) in &tally.examples {
            examples.entry((*kind).to_owned()).or_insert_with(|| example.clone());
        }
    }
    examples
}

/// The kinds of a scenario that mixes several.
fn kinds(tally: &Tally) -> Vec<Kind> {
    let kind = |of: &OfKind| {
        let (wrong, failures) = (of.wrong.count(), of.failed.count());
        let missed = of.missed.as_ref().map_or(0, Latencies::count);
        Kind {
            name: of.name.into(),
            right: of.right.count(),
            wrong,
            failures,
            missed,
            latency: of.whole().figures(),
            answers: (wrong + failures + missed > 0).then(|| of.right.figures()),
            refusals: (wrong > 0).then(|| of.wrong.figures()),
        }
    };
    let mut kinds: Vec<_> = tally.kinds().iter().filter(|of| !of.name.is_empty()).map(kind).collect();
    kinds.sort_by(|one, other| one.name.cmp(&other.name));
    kinds
}

/// The steps of what counts as one request.
fn steps(tally: &Tally) -> Vec<StepLatency> {
    let step = |of: &OfStep| StepLatency {
        name: of.name.into(),
        count: of.latencies.count(),
        latency: of.latencies.figures(),
    };
    tally.steps().iter().map(step).collect()
}

/// Where all of them say something.
fn thirds(thirds: &[Latencies]) -> Vec<Latency> {
    let figures: Vec<_> = thirds.iter().map(Latencies::figures).collect();
    if figures.iter().all(|latency| latency.p50_ms.is_some()) { figures } else { Vec::new() }
}

fn connection_use(connections: &Connections) -> ConnectionUse {
    ConnectionUse {
        bound: connections.bound,
        most_in_use: connections.most_in_use,
        exhausted_seconds: connections.exhausted.as_secs_f64(),
        refused: connections.refused.clone(),
        lacking: connections.lacking,
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
        Traffic::Open(schedule) if schedule.is_listed() => "replay",
        Traffic::Open(schedule) if schedule.stages().count() > 1 => "ramping-arrival-rate",
        Traffic::Open(_) => "constant-arrival-rate",
        Traffic::Closed(_) => "closed",
        Traffic::Mixture(_) => "mixture",
    }
}

fn stages(traffic: &Traffic) -> Vec<Stage> {
    let stages: Vec<executor::Stage> = match traffic {
        Traffic::Open(schedule) => schedule.stages().collect(),
        Traffic::Mixture(mixture) => mixture.stages(),
        Traffic::Closed(_) => Vec::new(),
    };
    let stage = |stage: executor::Stage| Stage {
        from: stage.from,
        to: stage.to,
        seconds: stage.duration.as_secs_f64(),
    };
    stages.into_iter().map(stage).collect()
}

/// Why the generator was at its limit: it says so itself, lest its own trouble pass for the provider's.
fn generator_limit(plan: &Plan, open: &OpenOutcome) -> Option<String> {
    [threads(plan, open), sockets(open), connections(open), lag(open), seed(open)]
        .into_iter()
        .flatten()
        .next()
}

/// The same where more connections would be of no help: what else was the generator's limit.
fn limit_besides_connections(plan: &Plan, open: &OpenOutcome) -> Option<String> {
    [threads(plan, open), sockets(open), lag(open), seed(open)].into_iter().flatten().next()
}

fn threads(plan: &Plan, open: &OpenOutcome) -> Option<String> {
    /// A thread that is busier has no time left to send when it should.
    const BUSY: f64 = 0.9;
    let threads = plan.threads as f64;
    let busy =
        open.outcome.generator_cpu.as_secs_f64() / open.outcome.elapsed.as_secs_f64().max(0.001) / threads;
    (busy > BUSY).then(|| {
        format!("its {threads} threads were busy {:.0} % of the time (--threads gives it more)", busy * 100.0)
    })
}

fn sockets(open: &OpenOutcome) -> Option<String> {
    for (kind, count) in &open.outcome.tally.failures {
        if let Some(words) = generator_lacks(kind) {
            return Some(format!("{words}: {count} requests could not be sent"));
        }
    }
    let Connections { open, refused, .. } = &open.connections;
    refused.as_ref().map(|refused| format!("it could open no more than {open} connections: {refused}"))
}

fn connections(open: &OpenOutcome) -> Option<String> {
    /// A shorter time without a free connection shows in no percentile that is told.
    const SHARE: f64 = 0.001;
    let Connections { bound, exhausted, .. } = &open.connections;
    let share = exhausted.as_secs_f64() / open.outcome.elapsed.as_secs_f64().max(0.001);
    (share > SHARE).then(|| {
        format!(
            "all {bound} requests that may be in flight were, and more waited for {:.1} % of the time \
             (--connections allows more)",
            100.0 * share
        )
    })
}

fn lag(open: &OpenOutcome) -> Option<String> {
    /// More than the system's timer and a busy core explain.
    const LATE: Duration = Duration::from_millis(100);
    let in_the_tail = open.worst_lag > open.outcome.tally.latency(99.0) / 2;
    (open.worst_lag > LATE && in_the_tail)
        .then(|| format!("it sent {:.0} ms late at worst", millis(open.worst_lag)))
}

fn seed(open: &OpenOutcome) -> Option<String> {
    let count = open.connections.nothing_to_ask;
    (count > 0).then(|| format!("its seed was used up: {count} arrivals found nothing left to ask"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ClientError;
    use crate::executor::{Outcome, Schedule};
    use crate::scenario::{Right, Scenario, Wrong};

    fn plan(threads: usize) -> Plan {
        let schedule = Schedule::constant(10.0, Duration::from_secs(10)).unwrap();
        Plan { threads, ..Plan::new(Scenario::Userinfo, Traffic::Open(schedule)) }
    }

    /// Ten seconds, of which the generator was busy for one; a hundred answers of so many milliseconds.
    fn easy(ms: u64) -> OpenOutcome {
        let mut tally = Tally::new().unwrap();
        for _ in 0..100 {
            tally.right("", Duration::from_millis(ms), Right { signatures: 0 });
        }
        let outcome = Outcome {
            tally,
            warm_up_errors: 0,
            warm_up: Tally::new().unwrap(),
            elapsed: Duration::from_secs(10),
            generator_cpu: Duration::from_secs(1),
            server_cpu: None,
            visitors: Vec::new(),
        };
        OpenOutcome::closed(outcome, (8, 8)).unwrap()
    }

    fn not_sent(open: &mut OpenOutcome, errno: rustix::io::Errno) {
        let source = std::io::Error::from_raw_os_error(errno.raw_os_error());
        let error = ClientError::Connect { address: ([127, 0, 0, 1], 1).into(), source };
        open.outcome.tally.failed("", Duration::ZERO, &error, Example::default);
    }

    fn told(open: &OpenOutcome) -> String {
        generator_limit(&plan(1), open).unwrap()
    }

    #[test]
    fn who_has_room_is_at_no_limit() {
        let mut open = easy(10);
        open.outcome.generator_cpu = Duration::from_secs(9);
        // A thousandth of the time shows in no percentile that is told.
        open.connections.exhausted = Duration::from_millis(10);
        open.worst_lag = Duration::from_millis(100);
        assert_eq!(generator_limit(&plan(1), &open), None);
    }

    #[test]
    fn each_limit_is_named_where_it_is_the_only_one() {
        let mut busy = easy(10);
        busy.outcome.generator_cpu = Duration::from_millis(9_100);
        assert!(told(&busy).contains("its 1 threads were busy 91 % of the time"), "{}", told(&busy));
        assert_eq!(generator_limit(&plan(2), &busy), None, "two threads have as much again");

        let mut full = easy(10);
        not_sent(&mut full, rustix::io::Errno::MFILE);
        assert!(
            told(&full).contains("(ulimit -n says how many): 1 requests could not be sent"),
            "{}",
            told(&full)
        );
        let mut full = easy(10);
        not_sent(&mut full, rustix::io::Errno::ADDRNOTAVAIL);
        assert!(told(&full).contains("no port was free"), "{}", told(&full));
        let mut full = easy(10);
        not_sent(&mut full, rustix::io::Errno::CONNREFUSED);
        assert_eq!(generator_limit(&plan(1), &full), None, "who refuses is the target");
        full.connections.refused = Some("as it was told".into());
        assert_eq!(told(&full), "it could open no more than 8 connections: as it was told");

        let mut short = easy(10);
        short.connections.exhausted = Duration::from_millis(11);
        assert!(
            told(&short).contains("all 8 requests that may be in flight were, and more waited for 0.1 %")
        );

        let mut late = easy(10);
        late.worst_lag = Duration::from_millis(101);
        assert!(told(&late).contains("it sent 101 ms late at worst"), "{}", told(&late));
        let mut late = easy(300);
        late.worst_lag = Duration::from_millis(140);
        assert_eq!(generator_limit(&plan(1), &late), None, "answers took twice as long");

        let mut used_up = easy(10);
        used_up.connections.nothing_to_ask = 3;
        assert!(told(&used_up).contains("its seed was used up: 3 arrivals"), "{}", told(&used_up));
    }

    #[test]
    fn each_kind_has_percentiles_of_its_answers_and_refusals_apart() {
        let mut tally = Tally::new().unwrap();
        for _ in 0..100 {
            tally.right("valid", Duration::from_millis(2), Right::default());
            tally.right("revoked", Duration::from_millis(2), Right::default());
            tally.wrong("revoked", Duration::from_millis(40), &Wrong::new("sub", ""), Example::default);
        }
        let kinds = kinds(&tally);
        let [revoked, valid] = kinds.as_slice() else { panic!("{kinds:?}") };
        assert_eq!((valid.answers, valid.refusals), (None, None), "all of it is answers");
        let p99 = |latency: Option<Latency>| latency.unwrap().p99_ms.unwrap();
        assert!((p99(revoked.answers) - 2.0).abs() < 0.05, "{revoked:?}");
        assert!((p99(revoked.refusals) - 40.0).abs() < 0.5, "{revoked:?}");
        assert!((revoked.latency.p99_ms.unwrap() - 40.0).abs() < 0.5, "{revoked:?}");
    }

    /// Takes a limit away.
    type Relieve = fn(&mut OpenOutcome);

    #[test]
    fn of_several_the_one_that_explains_the_others_is_named() {
        let mut all = easy(10);
        all.outcome.generator_cpu = Duration::from_secs(10);
        not_sent(&mut all, rustix::io::Errno::ADDRNOTAVAIL);
        all.connections.refused = Some("as it was told".into());
        all.connections.exhausted = Duration::from_secs(5);
        all.worst_lag = Duration::from_secs(1);
        all.connections.nothing_to_ask = 3;
        let relieve: [(&str, Relieve); 6] = [
            ("threads were busy", |open| open.outcome.generator_cpu = Duration::ZERO),
            ("no port", |open| open.outcome.tally.failures.clear()),
            ("could open no more than", |open| open.connections.refused = None),
            ("requests that may be in flight", |open| open.connections.exhausted = Duration::ZERO),
            ("late at worst", |open| open.worst_lag = Duration::ZERO),
            ("seed was used up", |open| open.connections.nothing_to_ask = 0),
        ];
        for (named, relieved) in relieve {
            assert!(told(&all).contains(named), "{named}: {}", told(&all));
            relieved(&mut all);
        }
        assert_eq!(generator_limit(&plan(1), &all), None);
    }

    #[test]
    fn what_more_connections_would_not_mend_is_known_apart() {
        let mut short = easy(10);
        short.connections.exhausted = Duration::from_secs(5);
        let besides = |open: &OpenOutcome| limit_besides_connections(&plan(1), open);
        assert_eq!(besides(&short), None);
        short.worst_lag = Duration::from_millis(400);
        assert!(told(&short).contains("requests that may be in flight"), "{}", told(&short));
        assert_eq!(besides(&short).as_deref(), Some("it sent 400 ms late at worst"));
        short.outcome.generator_cpu = Duration::from_millis(9_700);
        assert!(besides(&short).unwrap().contains("busy 97 %"), "{:?}", besides(&short));
    }
}
