//! A load test is watched: by viewers of its page, by a collector, by a Prometheus, and by none of them that work.

mod collector;
mod page;
mod prometheus;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use symbolon_loadtest::executor::Schedule;
use symbolon_loadtest::results::{Results, Run};
use symbolon_loadtest::run;
use symbolon_loadtest::run::{Plan, Traffic};
use symbolon_loadtest::scenario::Scenario;
use symbolon_loadtest::watch::{Destination, WatchOptions, Watching};

use crate::day;
use crate::fake::Fake;
use crate::fake::front::{Fate, Front};
use crate::verdicts::options;

const SAYS: &str = "The report is <here>.";

/// Metrics leave so often, so that there are several readings of a short run.
const EVERY: Duration = Duration::from_millis(200);

/// A short load, some of whose answers are wrong, and some of which never come.
fn plan(rate: f64) -> Plan {
    let schedule = Schedule::constant(rate, Duration::from_millis(1_200)).unwrap();
    let traffic = Traffic::Open(schedule);
    let (warm_up, timeout) = (Duration::from_millis(300), Duration::from_millis(400));
    Plan { warm_up, timeout, ..Plan::new(Scenario::Userinfo, traffic) }
}

fn faulty() -> (Arc<Fake>, Arc<Front>) {
    let fates = |number: u64| match number % 16 {
        3 => Fate::Wrong,
        7 => Fate::Reset,
        11 => Fate::Hang,
        _ => Fate::Right,
    };
    Fake::behind("/userinfo", Box::new(fates))
}

/// Runs two plans while somebody watches; what came out, and what the terminal was told.
fn watched(watching: Watching) -> (Results, String) {
    let (fake, _front) = faulty();
    let mut options = options(&fake, vec![plan(150.0), plan(100.0)]);
    options.watch = watching.watch();
    let mut said = Vec::new();
    let results = run(&options, &mut said).unwrap();
    let mut said = String::from_utf8(said).unwrap();
    for note in watching.end(Some(&results), SAYS) {
        said.push_str(&note);
        said.push('\n');
    }
    (results, said)
}

/// Several scenarios at once, one of them always answered wrongly.
fn watched_day(watching: &Watching) -> Run {
    let (fake, _front) = Fake::behind("/userinfo", Box::new(|_| Fate::Wrong));
    let text = r#"
        title = "shop"
        duration = "2s"
        peak = 80
        warm_up = "1s"
        curve = [{ at = "00:00", share = 1.0 }, { at = "12:00", share = 1.0 }]
        [mix]
        silent = 4
        userinfo = 3
        client-credentials = 1
        "#;
    day::load_watched(&fake, text, watching.watch()).runs.remove(0)
}

/// Somebody who takes metrics, with a secret.
fn destination(url: &str) -> Destination {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "Authorization: Bearer secret-of-metrics\n").unwrap();
    Destination::at(url).unwrap().with_fields_of(file.path()).unwrap()
}

/// What the metrics of a run's plateau must say in the end, by name and the labels that matter.
fn wanted(run: &Run) -> BTreeMap<String, f64> {
    let right = run.requests - run.wrong - run.failures;
    let ends = [("right", right), ("wrong", run.wrong), ("failed", run.failures), ("missed", run.missed)];
    let mut wanted = BTreeMap::new();
    for (outcome, count) in ends {
        wanted.insert(format!("requests {outcome}"), count as f64);
        if count > 0 {
            wanted.insert(format!("duration {outcome}"), count as f64);
        }
    }
    for (outcome, kinds) in [("wrong", &run.wrong_kinds), ("failed", &run.failure_kinds)] {
        for (kind, count) in kinds {
            wanted.insert(format!("errors {outcome} {kind}"), *count as f64);
        }
    }
    wanted
}

/// The name of what [`wanted`] has, of a series with these labels; none for what it has not.
fn name_of(metric: &str, labels: &BTreeMap<String, String>) -> Option<String> {
    let label = |name: &str| labels.get(name).map(String::as_str).unwrap_or_default();
    let (outcome, error) = (label("outcome"), label("error"));
    match metric.strip_prefix("symbolon_loadtest_")? {
        _ if label("part") != "plateau" => None,
        "requests_total" => Some(format!("requests {outcome}")),
        "request_duration_seconds" => Some(format!("duration {outcome}")),
        "errors_total" => Some(format!("errors {outcome} {error}")),
        _ => None,
    }
}

#[test]
fn who_does_not_take_metrics_is_told_once_and_costs_nothing() {
    // Nobody listens at the one; the other refuses for good.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refusing = collector::Collector::refusing(400);
    let watching = Watching::start(WatchOptions {
        otlp: Some(destination(&format!("http://{gone}"))),
        remote_write: Some(destination(&refusing.url)),
        every: Some(EVERY),
        live: None,
    });
    let (results, said) = watched(watching.unwrap().unwrap());
    assert_eq!(results.runs.len(), 2);
    assert!(results.partial.is_none());
    let told: Vec<_> = said.lines().filter(|line| line.contains("the load goes on without")).collect();
    assert_eq!(told.len(), 2, "{said}");
    assert!(told.iter().any(|line| line.contains(&gone.to_string())), "{said}");
    assert!(told.iter().any(|line| line.contains("it answered 400")), "{said}");
    assert!(said.contains("were lost"), "{said}");
    assert!(!said.contains("secret-of-metrics"), "{said}");
    assert!(refusing.bodies().len() > 2, "every batch is refused for itself");
}

#[test]
fn nothing_is_started_where_nobody_watches() {
    assert!(Watching::start(WatchOptions::default()).unwrap().is_none());
}
