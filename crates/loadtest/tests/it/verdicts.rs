//! A verdict is never better than the run: providers that hang, refuse, reset and answer twice, with counts on both sides.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use symbolon_crypto::Algorithm;
use symbolon_loadtest::capacity::{CapacityOptions, Pattern, capacity};
use symbolon_loadtest::executor::Schedule;
use symbolon_loadtest::results::{Bottleneck, Results, Run};
use symbolon_loadtest::run::{Group, Plan, Reshard, Rule, Traffic};
use symbolon_loadtest::scenario::Scenario;
use symbolon_loadtest::{RunOptions, RunningTarget, report, run};

use crate::fake::front::{Fate, Fates, Front};
use crate::fake::{Fake, Fault};

/// UserInfo at a rate, with 400 ms for each request.
pub(crate) fn plan(rate: f64, duration: Duration) -> Plan {
    let schedule = Schedule::constant(rate, duration).unwrap();
    Plan {
        warm_up: Duration::ZERO,
        timeout: Duration::from_millis(400),
        ..Plan::new(Scenario::Userinfo, Traffic::Open(schedule))
    }
}

pub(crate) fn options(fake: &Arc<Fake>, plans: Vec<Plan>) -> RunOptions {
    options_for(fake.target(None), plans)
}

pub(crate) fn options_for(target: RunningTarget, plans: Vec<Plan>) -> RunOptions {
    let group = Group { shards: None, plans };
    let mut options = RunOptions::new(PathBuf::new(), "verdicts", vec![group]);
    options.algorithm = Algorithm::Es256;
    options.provider.notes = std::env::temp_dir().join("symbolon-loadtest-notes-of-tests");
    options.provider.target = Some(target);
    options
}

/// UserInfo behind a front, and what the front saw.
pub(crate) fn load(plan: Plan, fates: impl Fn(u64) -> Fate + Send + Sync + 'static) -> (Results, Arc<Front>) {
    let (fake, front) = Fake::behind("/userinfo", Box::new(fates));
    let results = run(&options(&fake, vec![plan]), &mut Vec::new()).unwrap();
    (results, front)
}

fn rules(rules: &[&str]) -> Vec<Rule> {
    Rule::with_usual(rules.iter().map(|rule| rule.parse().unwrap()))
}

/// Every request that the front saw is in a count, and so is every arrival.
fn assert_counts(run: &Run, front: &Front, arrivals: u64) {
    assert_eq!(run.requests, front.counts().requests, "{run:?}");
    assert_eq!(run.requests + run.missed, arrivals, "{run:?}");
}

#[test]
fn nothing_answered_passes_no_threshold() {
    let plan = Plan { thresholds: rules(&["p99_ms<100"]), ..plan(100.0, Duration::from_secs(1)) };
    let (results, front) = load(plan, |_| Fate::Hang);
    let run = &results.runs[0];
    assert_counts(run, &front, 100);
    assert_eq!(run.failure_kinds["timeout"], run.requests);
    assert!(!results.passed() && run.thresholds.iter().all(|threshold| !threshold.held), "{run:?}");
    assert!(run.latency.p99_ms >= Some(400.0), "{:?}", run.latency);
}

#[test]
fn a_third_that_is_reset_passes_no_run() {
    let plan = Plan { thresholds: rules(&["p99_ms<1000"]), ..plan(300.0, Duration::from_secs(1)) };
    let (results, front) =
        load(plan, |number| if number.is_multiple_of(3) { Fate::Reset } else { Fate::Right });
    let run = &results.runs[0];
    assert_counts(run, &front, 300);
    assert_eq!(run.failures, front.of(Fate::Reset));
    assert!(!results.passed(), "{run:?}");
    // Whether the reset is met while sending or reading, it is called so.
    let told = report::markdown(&results, None);
    assert!(told.contains("connection reset") && !told.contains("(io"), "{told}");
}

#[test]
fn thresholds_alone_are_for_who_means_them_and_are_no_clean_pass() {
    let lenient = || "p50_ms<10000".parse::<Rule>().unwrap();
    let of = |thresholds| Plan { thresholds, ..plan(300.0, Duration::from_secs(1)) };
    let reset = |number: u64| if number.is_multiple_of(3) { Fate::Reset } else { Fate::Right };
    let (added, _) = load(of(Rule::with_usual([lenient()])), reset);
    let (alone, _) = load(of(vec![lenient()]), reset);
    assert_eq!((added.passed(), alone.passed()), (false, true), "{:?}", alone.runs[0].thresholds);
    assert_eq!(report::of_run(&alone.runs[0]), report::WARN, "failures are told all the same");
}

#[test]
fn what_was_not_measured_passes_no_threshold() {
    let thresholds = rules(&["server_cpu_us_per_request<1000", "p99_ms<1000"]);
    let plan = Plan { thresholds, ..plan(50.0, Duration::from_secs(1)) };
    let (results, _) = load(plan, |_| Fate::Right);
    let run = &results.runs[0];
    let broken: Vec<_> =
        run.thresholds.iter().filter(|of| !of.held).map(|of| (&*of.name, of.value)).collect();
    // Fifty answers are too few for a P99, and the provider's process is not known.
    assert_eq!(broken, [("server_cpu_us_per_request", None), ("p99_ms", None)]);
    assert!(run.latency.p95_ms.is_some() && run.latency.p99_ms.is_none());
    let told = report::markdown(&results, None);
    assert!(told.contains("p99_ms was not measured, must be"), "{told}");
}

#[test]
fn requests_that_time_out_stand_in_the_percentiles_as_lower_bounds() {
    let (results, front) =
        load(
            plan(400.0, Duration::from_secs(2)),
            |number| if number % 20 == 0 { Fate::Hang } else { Fate::Right },
        );
    let run = &results.runs[0];
    assert_counts(run, &front, 800);
    assert_eq!(run.failures, front.of(Fate::Hang));
    let p99 = run.latency.p99_ms.unwrap();
    assert!(p99 >= 400.0 && run.latency.is_at_least(p99), "{:?}", run.latency);
    assert!(run.answers.unwrap().max_ms.unwrap() < p99, "answers have percentiles of their own: {run:?}");
    assert!(report::markdown(&results, None).contains("≥ 4"), "{}", report::markdown(&results, None));
}

#[test]
fn refusals_are_no_throughput() {
    let (results, front) = load(plan(200.0, Duration::from_secs(1)), |_| Fate::Refused);
    let run = &results.runs[0];
    assert_counts(run, &front, 200);
    assert_eq!((run.achieved_rate, run.wrong_kinds["status_503"]), (0.0, 200));
    assert!(run.refusals.unwrap().p99_ms.is_some() && run.answers.unwrap().p50_ms.is_none(), "{run:?}");
    assert!(!results.passed());
}

#[test]
fn connections_grow_by_need() {
    // A hundred are in flight: more than there are at first.
    let (results, front) = load(plan(1_000.0, Duration::from_secs(2)), |_| Fate::Late(100));
    let run = &results.runs[0];
    assert_counts(run, &front, 2_000);
    assert_eq!((run.failures, run.missed, run.generator_limit.as_deref()), (0, 0, None), "{run:?}");
    let most = front.counts().most_connections;
    assert!((90..500).contains(&most), "{most}");
}

#[test]
fn connections_that_do_not_suffice_are_the_generators_limit() {
    let plan = Plan { connections: 8, ..plan(400.0, Duration::from_secs(1)) };
    let (results, _) = load(plan, |_| Fate::Late(100));
    let limit = results.runs[0].generator_limit.as_ref().unwrap();
    assert!(limit.contains("all 8 requests that may be in flight"), "{limit}");
    assert!(!results.passed());
}

pub(crate) fn search_options(target: RunningTarget, connections: usize) -> CapacityOptions {
    CapacityOptions {
        run: options_for(target, Vec::new()),
        scenarios: vec![Scenario::Userinfo],
        shards: Vec::new(),
        from: 100.0,
        probe: Duration::from_millis(600),
        precision: 0.5,
        thresholds: vec!["p90_ms<300".parse().unwrap()],
        only_thresholds: false,
        connections,
        threads: 1,
        timeout: Duration::from_millis(500),
        pattern: Pattern { requests_per_day: None, daily_share: 0.3, busiest_hour: 0.15 },
    }
}

fn search(target: RunningTarget, connections: usize) -> Results {
    capacity(&search_options(target, connections), &mut Vec::new()).unwrap()
}

/// So many requests at once take so long each; the others wait.
pub(crate) fn at_once(places: usize, each: Duration) -> Fates {
    let (free, came) = (Mutex::new(places), Condvar::new());
    Box::new(move |_| {
        let free_now = free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free_now =
            came.wait_while(free_now, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free_now -= 1;
        drop(free_now);
        std::thread::sleep(each);
        *free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        came.notify_one();
        Fate::Right
    })
}

#[test]
fn a_search_opens_more_connections_before_it_blames_the_provider() {
    // Four connections carry 200 requests a second. The provider has twelve of 20 ms at once: 600.
    let (fake, _) = Fake::behind("/userinfo", at_once(12, Duration::from_millis(20)));
    let results = search(fake.target(None), 4);
    let found = &results.capacities[0];
    assert!((250.0..=620.0).contains(&found.limit), "{found:?}");
}

#[test]
fn the_limit_of_a_provider_that_is_slow_with_any_number_of_connections_is_its_own() {
    // One at a time, 5 ms each: 200 a second however many ask.
    let (fake, _) = Fake::behind("/userinfo", at_once(1, Duration::from_millis(5)));
    let results = search(fake.target(None), 64);
    let found = &results.capacities[0];
    assert!((80.0..=210.0).contains(&found.limit), "{found:?}");
    assert!(found.is_claimed() && found.bottleneck != Bottleneck::Generator, "{found:?}");
}

#[test]
fn the_last_second_of_a_run_is_in_its_course() {
    // Everything in the last half second waits for 350 ms.
    let (results, front) =
        load(
            plan(100.0, Duration::from_secs(2)),
            |number| if number < 150 { Fate::Right } else { Fate::Late(350) },
        );
    let run = &results.runs[0];
    assert_counts(run, &front, 200);
    let (answered, covered) = run.timeline.iter().fold((0, 0.0), |(answered, covered), second| {
        (answered + second.answered, covered + second.seconds())
    });
    assert_eq!(answered, 200, "{:?}", run.timeline);
    assert!(covered >= 2.3, "{:?}", run.timeline);
    let slowest = run.timeline.iter().filter_map(|second| second.p50_ms).fold(0.0, f64::max);
    assert!(slowest > 300.0, "{:?}", run.timeline);
}

#[test]
fn a_reshard_after_the_load_is_a_mistake() {
    let fake = Fake::start(true);
    let reshard = Some(Reshard { after: Duration::from_secs(5), to: 8 });
    let options = options(&fake, vec![Plan { reshard, ..plan(10.0, Duration::from_secs(2)) }]);
    let told = run(&options, &mut Vec::new()).err().unwrap().to_string();
    assert!(told.contains("change after 5 s") && told.contains("ends after 2 s"), "{told}");
}

#[test]
fn a_second_answer_and_one_to_nobody_are_counted_and_fail_the_run() {
    for (fate, kind) in [(Fate::Twice, "second_answer"), (Fate::Stray, "answer_to_nobody")] {
        let plan = Plan { connections: 16, ..plan(50.0, Duration::from_secs(1)) };
        let (results, front) = load(plan, move |number| if number % 10 == 3 { fate } else { Fate::Right });
        let run = &results.runs[0];
        assert_counts(run, &front, 50);
        assert_eq!(run.unasked_kinds.values().sum::<u64>(), front.of(fate), "{fate:?}: {run:?}");
        // Both answers may come in two pieces, of which the second looks like one to nobody.
        assert!(fate == Fate::Twice || run.unasked_kinds.contains_key(kind), "{run:?}");
        assert!(!results.passed() && run.failures == 0 && run.wrong == 0, "{run:?}");
        // What came stands in the results, as every other error does.
        for kind in run.unasked_kinds.keys() {
            assert!(run.examples[kind].answer.starts_with("HTTP"), "{fate:?}: {:?}", run.examples);
        }
    }
}

#[test]
fn what_fails_in_the_warm_up_is_named_by_its_kind_and_shown() {
    let closed = Plan {
        connections: 4,
        traffic: Traffic::Closed(Duration::from_millis(500)),
        ..plan(1.0, Duration::from_secs(1))
    };
    for plan in [plan(100.0, Duration::from_secs(1)), closed] {
        let plan = Plan { warm_up: Duration::from_millis(500), ..plan };
        let (results, _) = load(plan, |number| if number < 3 { Fate::Refused } else { Fate::Right });
        let run = &results.runs[0];
        assert_eq!((run.wrong, run.errors_besides, run.besides_kinds["status_503"]), (0, 3, 3), "{run:?}");
        let example = &run.examples["status_503"];
        assert!(
            example.request.starts_with("GET /userinfo") && example.answer.contains("503"),
            "{example:?}"
        );
        assert!(!results.passed());
    }
}

#[test]
fn the_same_code_twice_is_wrong() {
    let fake = Fake::start(true);
    let schedule = Schedule::constant(100.0, Duration::from_secs(1)).unwrap();
    let silent = Plan {
        work: Arc::new(Scenario::Silent),
        traffic: Traffic::Open(schedule),
        ..plan(1.0, Duration::from_secs(1))
    };
    fake.set_fault(Fault::CodeOnceIn(10));
    let results = run(&options(&fake, vec![silent]), &mut Vec::new()).unwrap();
    // The first of them may have a number that no code had.
    let twice = results.runs[0].wrong_kinds["code_twice"];
    assert!((9..=10).contains(&twice), "{:?}", results.runs[0]);
    assert!(!results.passed());
}

#[test]
fn the_first_of_each_kind_stands_in_the_results_without_its_secrets() {
    let (results, _) = load(plan(200.0, Duration::from_secs(1)), |number| match number % 10 {
        3 => Fate::Refused,
        7 => Fate::Wrong,
        _ => Fate::Right,
    });
    let examples = &results.runs[0].examples;
    let refused = &examples["status_503"];
    assert!(
        refused.request.starts_with("GET /userinfo HTTP/1.1") && refused.answer.contains("503"),
        "{refused:?}"
    );
    assert!(!refused.request.contains(".eyJ"), "{refused:?}");
    assert!(examples["sub"].answer.contains("nobo-"), "{examples:?}");
}
