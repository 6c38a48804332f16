//! A whole measurement, against a fake provider in this process and real hello servers beside it.

use std::time::Duration;

use symbolon_crypto::Algorithm;
use symbolon_loadtest::hello::{self, Runtimes};
use symbolon_loadtest::scenario::Scenario;
use symbolon_loadtest::{LoadtestError, MeasureOptions, measure};

use crate::fake::{Fake, Fault};

/// Not a test of its own: the measurement runs this binary again, with this name, as its hello server. What
/// follows `--` are further names to the test harness.
#[test]
#[ignore = "the hello server of the measurement, not a test"]
fn hello_server() {
    let per_core = std::env::args().any(|argument| argument == "--per-core");
    let runtimes = if per_core { Runtimes::PerCore } else { Runtimes::Shared };
    hello::serve(([127, 0, 0, 1], 0).into(), runtimes, &mut std::io::stdout()).unwrap();
}

fn options(fake: &Fake) -> MeasureOptions {
    let mut options = MeasureOptions::new(std::env::current_exe().unwrap());
    let harness = ["measure::hello_server", "--exact", "--ignored", "--nocapture", "--"];
    options.hello_arguments = harness.map(str::to_owned).to_vec();
    options.algorithm = Algorithm::Es256;
    options.connections = 4;
    options.rounds = 1;
    options.slice = Duration::from_millis(30);
    options.seed.users = 10;
    options.seed.tokens = 20;
    options.seed.families = 4;
    options.provider.notes = std::env::temp_dir().join("symbolon-loadtest-notes-of-tests");
    options.provider.target = Some(fake.target(Some(std::process::id())));
    options
}

#[test]
fn every_scenario_has_its_row() {
    let fake = Fake::start(true);
    let mut progress = Vec::new();
    let mut options = options(&fake);
    // The server is this process, whose threads come and go: its figure then has steps of 10 ms.
    options.requests = Some(1_000);
    let report = measure(&options, &mut progress).unwrap();
    assert_eq!(report.scenarios.len(), Scenario::operations().count());
    for row in &report.scenarios {
        assert!(row.wrong.is_empty() && row.failures.is_empty(), "{:?} {:?}", row.scenario, row.first_wrong);
        assert!(row.server_us > 0.0 && row.generator_us > 0.0 && row.p50_ms > 0.0, "{row:?}");
        assert_eq!(row.formula.is_none(), row.scenario == Scenario::Discovery);
        assert_eq!(row.passed, row.ratio.is_none_or(|ratio| ratio <= 1.0), "{row:?}");
    }
    let code = report.scenarios.iter().find(|row| row.scenario == Scenario::Code).unwrap();
    assert_eq!(code.signatures, 2.0, "an access token and an ID token");
    assert_eq!(code.formula.as_deref(), Some("2 sign + 2.0 x hello POST + 8"));
    assert!(report.hello.get_us > 0.0 && report.hello.per_core_post_us > 0.0);
    assert_eq!(report.primitives.len(), 3);
    let text = report.to_string();
    for needle in ["client-credentials", "RS256", "runtime per core", "2.0 x hello GET"] {
        assert!(text.contains(needle), "{needle} in\n{text}");
    }
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["version"], 1);
    assert_eq!(json["scenarios"][0]["scenario"], "discovery");
    assert!(String::from_utf8(progress).unwrap().contains("round 1 of 1"));
}

#[test]
fn a_wrong_answer_fails_the_measurement() {
    let fake = Fake::start(true);
    let mut options = options(&fake);
    options.scenarios = vec![Scenario::Introspect];
    fake.set_fault(Fault::Inactive);
    let report = measure(&options, &mut Vec::new()).unwrap();
    assert!(!report.passed());
    assert!(report.scenarios[0].wrong["inactive"] > 0);
    assert!(report.to_string().contains("FAIL"));
}

#[test]
fn what_cannot_run_says_why() {
    let fake = Fake::start(true);
    let fails = |change: fn(&mut MeasureOptions)| {
        let mut options = options(&fake);
        change(&mut options);
        measure(&options, &mut Vec::new()).err().unwrap()
    };
    let error = fails(|options| options.provider.program = "/nonexistent".into());
    assert!(matches!(error, LoadtestError::Process { .. }), "{error}");
    let error = fails(|options| options.provider.target.as_mut().unwrap().pid = Some(u32::MAX));
    assert!(matches!(error, LoadtestError::Cpu { .. }), "{error}");
    let error = fails(|options| options.provider.target.as_mut().unwrap().url = "ftp://x".into());
    assert!(matches!(error, LoadtestError::Target { .. }), "{error}");
    let error = fails(|options| options.connections = 0);
    assert!(matches!(error, LoadtestError::Options(_)), "{error}");
    // Without a target the provider is started; this binary is none and ends at once.
    let error = fails(|options| options.provider.target = None);
    assert!(error.to_string().contains("ended before it was ready"), "{error}");
}
