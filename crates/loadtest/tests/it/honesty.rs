//! Whole runs against providers that are slow or wrong now and then: the results say so.

use std::sync::Arc;
use std::time::Duration;

use symbolon_loadtest::executor::Schedule;
use symbolon_loadtest::results::Results;
use symbolon_loadtest::run::{Plan, Traffic};
use symbolon_loadtest::scenario::Scenario;
use symbolon_loadtest::{report, run};

use crate::fake::{Fake, Fault, STALL};
use crate::verdicts::options;

/// UserInfo at 1,000 requests per second.
fn userinfo(fake: &Arc<Fake>, seconds: u64) -> Results {
    let schedule = Schedule::constant(1_000.0, Duration::from_secs(seconds)).unwrap();
    let plan = Plan { warm_up: Duration::ZERO, ..Plan::new(Scenario::Userinfo, Traffic::Open(schedule)) };
    run(&options(fake, vec![plan]), &mut Vec::new()).unwrap()
}

#[test]
fn a_stall_of_a_fifth_of_every_second_stands_in_the_percentiles() {
    let fake = Fake::start(true);
    fake.set_fault(Fault::Stall);
    let results = userinfo(&fake, 5);
    let run = &results.runs[0];
    assert_eq!((run.requests + run.missed, run.wrong, run.failures), (5_000, 0, 0));
    // A fifth of the arrivals fall into a stall and wait for its end, evenly from all of it to nothing: one in a
    // hundred waits 190 ms or more, one in ten 100 ms. A slow machine makes it longer.
    let stall = STALL.as_secs_f64() * 1e3;
    assert!(
        run.latency.p99_ms >= Some(0.93 * stall) && run.latency.p90_ms >= Some(0.45 * stall),
        "{:?}",
        run.latency
    );
    assert!(run.latency.max_ms >= Some(0.97 * stall), "{:?}", run.latency);
}

#[test]
fn one_wrong_answer_in_ten_thousand_fails_the_run() {
    let fake = Fake::start(true);
    fake.set_fault(Fault::SubjectOnceIn(10_000));
    let before = fake.requests();
    let results = userinfo(&fake, 12);
    let run = &results.runs[0];
    // Seeding asked too, but never for UserInfo.
    let met = fake.requests() / 10_000 - before / 10_000;
    assert!(met >= 1 && run.requests + run.missed == 12_000, "{met}");
    assert_eq!((run.wrong, run.wrong_kinds.get("sub"), run.failures), (met, Some(&met), 0));
    assert!(run.thresholds.iter().all(|threshold| threshold.held || threshold.name == "achieved_share"));
    assert!(!results.passed(), "no share of wrong answers is small enough");
    assert!(report::markdown(&results, None).contains("1 wrong answer (sub 1)"));
}
