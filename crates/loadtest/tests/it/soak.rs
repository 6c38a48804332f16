//! Loads that are watched while they go on: rules that end them at once, and windows in which leaks are looked for.

use std::sync::Arc;
use std::time::Duration;

use symbolon_crypto::Algorithm;
use symbolon_loadtest::executor::Schedule;
use symbolon_loadtest::results::Results;
use symbolon_loadtest::run::{Group, Plan, SoakOptions, Traffic};
use symbolon_loadtest::scenario::Scenario;
use symbolon_loadtest::{RunOptions, report, run};

use crate::fake::front::Fate;
use crate::fake::process::program;
use crate::fake::{Fake, Fault};
use crate::verdicts::{load, options};

/// 50/s for so many seconds.
fn plan(seconds: u64) -> Plan {
    let schedule = Schedule::constant(50.0, Duration::from_secs(seconds)).unwrap();
    Plan {
        warm_up: Duration::ZERO,
        timeout: Duration::from_secs(2),
        ..Plan::new(Scenario::Userinfo, Traffic::Open(schedule))
    }
}

#[test]
fn a_provider_that_turns_bad_ends_the_run_and_what_came_after_it() {
    let rules = vec!["p99_ms>60000 for 5s".parse().unwrap(), "failure_share>0.3 for 2s".parse().unwrap()];
    let (fake, front) =
        Fake::behind("/userinfo", Box::new(|number| if number < 100 { Fate::Right } else { Fate::Reset }));
    // A minute of it would be the load of a run that nothing ends.
    let bad = Plan { abort_on: rules, ..plan(60) };
    let mut options = options(&fake, vec![bad, plan(1)]);
    options.repeat = 2;
    let results = run(&options, &mut Vec::new()).unwrap();

    let [run] = results.runs.as_slice() else { panic!("the suite ends: {:?}", results.runs.len()) };
    let aborted = run.aborted.as_ref().unwrap();
    assert_eq!(aborted.rule, "failure_share>0.3 for 2s");
    assert!(aborted.at >= 2.0 && aborted.at < 40.0 && aborted.value > 0.3, "{aborted:?}");
    let partial = results.partial.as_deref().unwrap();
    assert!(
        partial.contains("--abort-on 'failure_share>0.3 for 2s'") && partial.starts_with(&run.name),
        "{partial}"
    );
    assert!(!results.passed());
    // What was measured until then is kept, and nothing was sent after it.
    let answered: u64 = run.timeline.iter().map(|second| second.answered).sum();
    assert_eq!(answered, 100, "{:?}", run.timeline);
    assert_eq!(run.requests, front.counts().requests);
    assert!(run.requests < 60 * 50, "{}", run.requests);
    let page = report::html(&results, None);
    assert!(page.contains("PARTIAL") && page.contains("failure_share&gt;0.3 for 2s"), "{page}");
}

#[test]
fn a_provider_that_is_slow_for_a_while_ends_no_run_that_looks_back_further() {
    let slow = |number: u64| if (20..30).contains(&number) { Fate::Late(300) } else { Fate::Right };
    let watched = |rule: &str| Plan { abort_on: vec![rule.parse().unwrap()], ..plan(4) };
    let (results, _) = load(watched("p50_ms>10000 for 2s"), slow);
    assert!(results.runs[0].aborted.is_none() && results.partial.is_none(), "{:?}", results.partial);
    let (results, _) = load(watched("max_ms>250 for 2s"), slow);
    assert!(results.runs[0].aborted.is_some(), "{:?}", results.runs[0].timeline);
}

#[test]
fn a_soak_tells_every_window_and_is_too_short_to_find_no_leak() {
    let fake: Arc<Fake> = Fake::behind("/userinfo", Box::new(|_| Fate::Right)).0;
    let data = std::env::temp_dir().join(format!("symbolon-loadtest-soak-{}", std::process::id()));
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(data.join("file"), vec![1; 1 << 20]).unwrap();
    let soak = SoakOptions {
        window: Some(Duration::from_secs(1)),
        settle: 0.0,
        data: Some(data.clone()),
        ..SoakOptions::default()
    };
    let mut options = options(&fake, vec![Plan { soak: Some(soak), ..plan(4) }]);
    // The fake is a part of this process.
    options.provider.target.as_mut().unwrap().pid = Some(std::process::id());
    let results = run(&options, &mut Vec::new()).unwrap();
    std::fs::remove_dir_all(&data).unwrap();

    let run = &results.runs[0];
    let soak = run.soak.as_ref().unwrap();
    assert!((1..=4).contains(&soak.windows.len()), "{:?}", soak.windows);
    let told: u64 = soak.windows.iter().map(|window| window.answered).sum();
    assert!(told > 0 && told <= 200, "{told}");
    for window in &soak.windows {
        assert!(
            window.memory_mib > Some(1.0) && window.descriptors > Some(3.0) && window.threads > Some(1.0),
            "{window:?}"
        );
        assert!(window.disk_mib >= Some(1.0) && window.p50_ms > Some(0.0), "{window:?}");
    }
    let growth = |leak: &symbolon_loadtest::results::Leak| format!("{:?}", leak.growth);
    assert!(
        !soak.leaks.is_empty() && soak.leaks.iter().all(|leak| growth(leak) == "TooShort"),
        "{:?}",
        soak.leaks
    );
    assert!(
        run.thresholds.iter().all(|threshold| !threshold.name.contains("growth")),
        "{:?}",
        run.thresholds
    );
    assert_eq!(report::of_run(run), if run.passed() { report::WARN } else { "FAIL" });
    let page = report::markdown(&results, None);
    for part in ["Windows of the soak", "too short to tell", "Growth per hour"] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

/// A soak of 13 windows of a second of a fake that a load test starts, with this fault.
fn soak_of(fault: Fault) -> Results {
    let place = tempfile::tempdir().unwrap();
    let soak = SoakOptions { window: Some(Duration::from_secs(1)), settle: 0.0, ..SoakOptions::default() };
    let group = Group { shards: None, plans: vec![Plan { soak: Some(soak), ..plan(13) }] };
    let mut options = RunOptions::new(program(place.path(), fault), "soak", vec![group]);
    options.algorithm = Algorithm::Es256;
    options.provider.data_parent = place.path().to_owned();
    options.provider.log = Some(place.path().join("log"));
    run(&options, &mut Vec::new()).unwrap()
}

/// How a quantity goes, and whether what is tolerated of it held.
fn growth(results: &Results, quantity: &str) -> (String, bool) {
    let run = &results.runs[0];
    let leak = run.soak.as_ref().unwrap().leaks.iter().find(|leak| leak.quantity == quantity).unwrap();
    let begins = format!("{quantity}_growth");
    let held = run.thresholds.iter().filter(|of| of.name.starts_with(&begins)).all(|of| of.held);
    (format!("{:?}", leak.growth), held)
}

#[test]
fn a_provider_that_leaks_fails_its_soak() {
    let results = soak_of(Fault::Leaks);
    for quantity in ["memory", "descriptors"] {
        assert_eq!(growth(&results, quantity), ("Steady".into(), false), "{:?}", results.runs[0].soak);
    }
    // A file for each of fifty requests a second, 128 KiB of memory.
    let leaks = &results.runs[0].soak.as_ref().unwrap().leaks;
    let per_second = |quantity: &str| {
        leaks.iter().find(|leak| leak.quantity == quantity).unwrap().per_hour.unwrap() / 3_600.0
    };
    assert!((35.0..60.0).contains(&per_second("descriptors")), "{leaks:?}");
    assert!((4.0..9.0).contains(&per_second("memory")), "{leaks:?}");
    assert!(!results.passed());
    assert_eq!(report::of_run(&results.runs[0]), "FAIL");
    let page = report::markdown(&results, None);
    for part in ["descriptors_growth_per_hour is", "memory_growth_mib_per_hour is", "FAIL"] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn a_provider_that_keeps_what_it_has_fails_by_no_file() {
    let results = soak_of(Fault::None);
    let (growth, held) = growth(&results, "descriptors");
    assert!(growth != "Steady" && held, "{:?}", results.runs[0].soak);
}

#[test]
fn windows_that_make_no_sense_are_refused() {
    let with = |window: u64, seconds: u64| {
        let soak = SoakOptions { window: Some(Duration::from_secs(window)), ..SoakOptions::default() };
        let fake = Fake::behind("/userinfo", Box::new(|_| Fate::Right)).0;
        let plan = Plan { soak: Some(soak), ..plan(seconds) };
        run(&options(&fake, vec![plan]), &mut Vec::new()).unwrap_err().to_string()
    };
    assert!(with(0, 10).contains("a second at least"));
    assert!(with(20, 10).contains("longer than the whole plateau"));
    assert!(with(1, 5_000).contains("1000 are told at most"));
}
