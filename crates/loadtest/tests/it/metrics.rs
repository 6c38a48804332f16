//! What a provider says of itself: told as finely as its histograms know it, and what it runs with.

use std::time::Duration;

use symbolon_loadtest::executor::Schedule;
use symbolon_loadtest::results::Results;
use symbolon_loadtest::run::{Plan, Traffic};
use symbolon_loadtest::scenario::Scenario;
use symbolon_loadtest::{report, run};

use crate::fake::Fake;
use crate::verdicts::options;

/// Two hundred codes are redeemed, of which the fake says that each took as long as this bucket says.
fn redeem(bound: &'static str) -> Results {
    let fake = Fake::start(true);
    fake.tell_durations(bound);
    let schedule = Schedule::constant(100.0, Duration::from_secs(2)).unwrap();
    let plan = Plan { warm_up: Duration::ZERO, ..Plan::new(Scenario::Code, Traffic::Open(schedule)) };
    let mut options = options(&fake, vec![plan]);
    options.title = "december-2025".to_owned();
    options.provider.target.as_mut().unwrap().metrics = Some(format!("{}/metrics", fake.url()));
    run(&options, &mut Vec::new()).unwrap()
}

#[test]
fn percentiles_of_the_provider_are_told_as_far_as_its_buckets_and_their_number_go() {
    let results = redeem("0.00002");
    let told = results.runs[0].server.as_ref().unwrap().request_duration;
    assert_eq!(told.count, 200, "what came before the run does not count: {told:?}");
    for percentile in [told.p50_ms, told.p90_ms, told.p99_ms] {
        assert!(percentile.is_some_and(|ms| (0.01..=0.02).contains(&ms)), "{told:?}");
    }
    assert_eq!(told.p999_ms, None, "two hundred are too few");
    // The ratio is one to both bounds, not to a place between them that nobody knows.
    let page = report::markdown(&results, None);
    assert!(page.contains("17.2 → 0.010–0.020 (860–1,800×)"), "{page}");
}

#[test]
fn the_edge_of_a_bucket_is_no_percentile_and_gives_no_ratio() {
    // Below the first bound there is no other; above the last one there is no end.
    for bound in ["0.000005", "+Inf"] {
        let results = redeem(bound);
        let told = results.runs[0].server.as_ref().unwrap().request_duration;
        assert_eq!(told.count, 200, "{told:?}");
        assert_eq!([told.p50_ms, told.p75_ms, told.p90_ms, told.p99_ms], [None; 4], "{bound}");
        let page = report::markdown(&results, None);
        assert!(page.contains("Client beside December 2025"), "{page}");
        assert!(!page.contains("Server beside December 2025"), "{bound}: {page}");
    }
}

#[test]
fn what_the_provider_says_that_it_runs_with_stands_in_results_and_reports() {
    let results = redeem("0.00002");
    assert_eq!(results.provider.software.as_deref(), Some("Symbolon 9.8"));
    let pages = [report::markdown(&results, None), report::html(&results, None)];
    for (name, value) in [("Store", "memory"), ("Rate limits", "on"), ("Test endpoints", "off")] {
        assert_eq!(results.environment.get(name).map(String::as_str), Some(value), "{name}");
        assert!(pages.iter().all(|page| page.contains(name) && page.contains(value)), "{name}");
    }
    assert!(pages[0].contains("- Rate limits: on\n"), "{}", pages[0]);
}
