//! A seed that would fail in the load is the seed's fault: it is named before anything is sent.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use symbolon_crypto::SecretString;
use symbolon_loadtest::executor::Schedule;
use symbolon_loadtest::run::{Plan, Traffic};
use symbolon_loadtest::scenario::{Mix, Scenario};
use symbolon_loadtest::seed::{Seed, SeedOptions, plant};
use symbolon_loadtest::{LoadtestError, Target, clock, run};

use crate::fake::{Fake, SECRET};
use crate::restore::Watched;
use crate::verdicts::options;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn planted(fake: &Fake) -> Seed {
    let options =
        SeedOptions { users: 6, tokens: 20, families: 8, mix: Mix::Report, ..SeedOptions::default() };
    block_on(async {
        let target = Target::discover(&fake.url(), Some(SecretString::new(SECRET.into()))).await.unwrap();
        plant(target, &options, &mut Vec::new()).await
    })
    .unwrap()
}

/// Fifty requests a second of this scenario.
fn plan(scenario: Scenario, seconds: u64) -> Plan {
    let schedule = Schedule::constant(50.0, Duration::from_secs(seconds)).unwrap();
    Plan {
        warm_up: Duration::ZERO,
        connections: 4,
        timeout: Duration::from_secs(2),
        ..Plan::new(scenario, Traffic::Open(schedule))
    }
}

/// What comes of it with the seed of this file and without the admin secret. `progress` hears of it.
fn run_with(
    (fake, seed): (&Arc<Fake>, &Path),
    plan: Plan,
    progress: &mut (dyn std::io::Write + Send),
) -> Result<bool, LoadtestError> {
    let mut options = options(fake, vec![plan]);
    options.provider.target.as_mut().unwrap().admin_secret = None;
    options.seed = Some(seed.to_owned());
    run(&options, progress).map(|results| results.passed())
}

fn refused(ran: Result<bool, LoadtestError>) -> String {
    match ran {
        Err(error @ LoadtestError::SeedUnfit { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn tokens_must_live_as_long_as_what_uses_them() {
    let mut seed = planted(&Fake::start(true));
    let ends = seed.tokens.iter().map(|token| token.expires_at).min().unwrap();
    let uses_tokens = [Scenario::Userinfo, Scenario::Introspect, Scenario::Exchange];
    for scenario in Scenario::ALL {
        seed.check(scenario, ends).unwrap();
        let later = seed.check(scenario, ends + 3).map(|()| false);
        if uses_tokens.contains(&scenario) {
            let told = refused(later);
            assert!(
                told.contains(scenario.name()) && told.contains("ends 3 s before the load does"),
                "{told}"
            );
        } else {
            later.unwrap();
        }
    }
    // The first of them counts.
    seed.tokens[7].expires_at = ends - 10;
    let told = refused(seed.check(Scenario::Userinfo, ends).map(|()| false));
    assert!(told.contains("its first token ends 10 s before the load does; seed again"), "{told}");
}

#[test]
fn families_that_a_run_left_in_use_are_no_use_to_who_rotates_them() {
    let mut seed = planted(&Fake::start(true));
    seed.families_in_use = true;
    for scenario in Scenario::ALL {
        let checked = seed.check(scenario, 0).map(|()| false);
        match scenario {
            Scenario::Refresh => {
                let told = refused(checked);
                assert!(told.contains("used by a run that did not end; seed again"), "{told}");
            }
            _ => assert!(checked.is_ok(), "{scenario}"),
        }
    }
}

#[test]
fn a_run_that_outlives_its_tokens_sends_nothing() {
    let (fake, place) = (Fake::start(true), tempfile::tempdir().unwrap());
    let path = place.path().join("seed.json");
    planted(&fake).save(&path).unwrap();
    let mut saved: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let soon = clock::unix_seconds() + 120;
    for token in saved["tokens"].as_array_mut().unwrap() {
        token["expires_at"] = soon.into();
    }
    std::fs::write(&path, saved.to_string()).unwrap();
    let used = || fake.visits.count("userinfo");
    let before = used();
    // The timeout of the last request belongs to the load.
    let told = refused(run_with((&fake, &path), plan(Scenario::Userinfo, 180), &mut Vec::new()));
    assert!(told.contains("before the load does"), "{told}");
    assert_eq!(used(), before, "it was told beforehand");
    assert!(run_with((&fake, &path), plan(Scenario::Userinfo, 1), &mut Vec::new()).unwrap());
    assert_eq!(used(), before + 50);
}

#[test]
fn families_of_a_run_that_did_not_end_are_refused_by_name() {
    let (fake, place) = (Fake::start(true), tempfile::tempdir().unwrap());
    let (path, left) = (place.path().join("seed.json"), place.path().join("left.json"));
    planted(&fake).save(&path).unwrap();
    let (from, to) = (path.clone(), left.clone());
    // What a run that is killed leaves is the file as it is in its middle.
    let heard = move || {
        std::fs::copy(&from, &to).unwrap();
    };
    let refresh = || plan(Scenario::Refresh, 1);
    assert!(run_with((&fake, &path), refresh(), &mut Watched { line: Vec::new(), heard }).unwrap());
    let rotated = fake.visits.count("refresh_token");
    assert_eq!(rotated, 50);
    let told = refused(run_with((&fake, &left), refresh(), &mut Vec::new()));
    assert!(told.contains("scenario refresh") && told.contains("a run that did not end"), "{told}");
    assert_eq!(fake.visits.count("refresh_token"), rotated, "it was told beforehand");

    // The file of the run that ended goes on, also where a rule ended it.
    let ended = Plan { abort_on: vec!["max_ms>0 for 1s".parse().unwrap()], ..plan(Scenario::Refresh, 60) };
    assert!(!run_with((&fake, &path), ended, &mut Vec::new()).unwrap());
    assert!(run_with((&fake, &path), refresh(), &mut Vec::new()).unwrap());
    // With the secret new families are begun, whatever became of those in the file.
    let mut options = options(&fake, vec![refresh()]);
    options.seed = Some(left);
    assert!(run(&options, &mut Vec::new()).unwrap().passed());
}
