//! A day against a provider that counts on its own side.

use std::sync::Arc;
use std::time::Duration;

use symbolon_crypto::Algorithm;
use symbolon_loadtest::day::Day;
use symbolon_loadtest::results::{Kind, Results, Run};
use symbolon_loadtest::seed::{PlantOptions, SeedOptions, plant_and_save};
use symbolon_loadtest::watch::Watch;
use symbolon_loadtest::{RunOptions, report, run};

use crate::fake::front::{Fate, Front};
use crate::fake::{Fake, Fault};
use crate::verdicts;

/// What a day did to a provider that was seeded before, and knows nothing of that.
fn load(fake: &Arc<Fake>, text: &str) -> Results {
    load_one_with(fake, text, Fault::None)
}

/// The same while somebody watches.
pub(crate) fn load_watched(fake: &Arc<Fake>, text: &str, watch: Watch) -> Results {
    load_watched_with(fake, text, Fault::None, watch)
}

/// The same of one that does something wrong once it is seeded.
fn load_one_with(fake: &Arc<Fake>, text: &str, fault: Fault) -> Results {
    load_watched_with(fake, text, fault, Watch::default())
}

fn load_watched_with(fake: &Arc<Fake>, text: &str, fault: Fault, watch: Watch) -> Results {
    let group = Day::parse(text).unwrap().group().unwrap();
    let options = verdicts::options(fake, Vec::new());
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("seed.json");
    let seed = SeedOptions {
        users: 40,
        tokens: 60,
        families: 64,
        algorithm: Some(Algorithm::Es256),
        ..SeedOptions::default()
    };
    let provider = options.provider.clone();
    plant_and_save(&PlantOptions { seed, provider, file: file.clone() }, &mut Vec::new()).unwrap();
    fake.visits.clear();
    fake.set_fault(fault);
    let options = RunOptions { groups: vec![group], seed: Some(file), watch, ..options };
    run(&options, &mut Vec::new()).unwrap()
}

fn behind(text: &str, fates: impl Fn(u64) -> Fate + Send + Sync + 'static) -> (Results, Arc<Front>) {
    let (fake, front) = Fake::behind("/userinfo", Box::new(fates));
    (load(&fake, text), front)
}

fn kind<'a>(run: &'a Run, name: &str) -> &'a Kind {
    run.kinds.iter().find(|kind| kind.name == name).unwrap_or_else(|| panic!("{name}: {:?}", run.kinds))
}

#[test]
fn a_day_ends_at_once_where_its_rule_says_so() {
    let (results, front) = behind(
        r#"
        title = "hopeless"
        duration = "2m"
        peak = 50
        warm_up = "0s"
        abort_on = ["failure_share>0.5 for 1s"]
        [mix]
        userinfo = 1
        "#,
        |_| Fate::Refused,
    );
    let aborted = results.runs[0].aborted.as_ref().unwrap();
    assert_eq!(aborted.rule, "failure_share>0.5 for 1s");
    let told = results.partial.as_deref().unwrap();
    assert!(told.contains("--abort-on 'failure_share>0.5 for 1s'"), "{told}");
    assert!(front.of(Fate::Refused) < 1_000 && !results.passed(), "{:?}", front.counts());
}

#[test]
fn counts_by_scenario_are_those_of_the_provider_and_the_weights() {
    let fake = Fake::start(true);
    let results = load(
        &fake,
        r#"
        title = "shop"
        duration = "3s"
        day = "24h"
        peak = 200
        warm_up = "0s"
        connections = 32
        curve = [{ at = "00:00", share = 0.5 }, { at = "12:00", share = 1.0 }]
        each_scenario = ["failure_share<=0"]
        [mix]
        silent = 10
        refresh = 5
        userinfo = 3
        introspect = 1
        client-credentials = 1
        [[storm]]
        at = "12:00"
        within = "2h"
        requests = 30
        "#,
    );
    let run = &results.runs[0];
    assert!(results.passed(), "{run:?}");
    // 450 in 3 s at 150/s in the mean: 22 rounds of 20, and ten of the next.
    let dealt = |share: u64| 22 * share..=22 * share + share;
    for (name, share, visits) in [
        ("silent", 10, fake.visits.count("silent")),
        ("refresh", 5, fake.visits.count("refresh_token")),
        ("userinfo", 3, fake.visits.count("userinfo")),
        ("introspect", 1, fake.visits.count("introspect")),
        ("client-credentials", 1, fake.visits.count("client_credentials")),
    ] {
        let of = kind(run, name);
        assert_eq!((of.right, of.wrong, of.failures, of.missed), (visits, 0, 0, 0), "{name}: {of:?}");
        assert!(dealt(share).contains(&of.right), "{name}: {of:?}");
    }
    assert_eq!((kind(run, "login").right, fake.visits.count("authorization_code")), (30, 30));
    assert_eq!(run.requests, 480);
    // Every second says how many were to come.
    assert_eq!(
        run.timeline.iter().filter_map(|second| second.offered).sum::<u64>(),
        480,
        "{:?}",
        run.timeline
    );
    let day = run.day.as_ref().unwrap();
    assert_eq!((day.storms[0].at, day.storms[0].seconds, day.storms[0].requests), (1.5, 0.25, 30));
}

const JOURNEYS: &str = r#"
    title = "people"
    duration = "3s"
    warm_up = "0s"
    connections = 32
    peak = 20
    [[journey]]
    name = "visit"
    weight = 1
    steps = [
        { ask = "login" },
        { think = { fixed = "300ms" }, ask = "userinfo" },
        { think = { from = "200ms", to = "400ms" }, ask = "refresh" },
        { think = { fixed = "100ms" }, ask = "userinfo" },
        { think = { mean = "50ms" }, ask = "silent" },
        { ask = "code" },
        { ask = "introspect" },
        { ask = "exchange" },
    ]
"#;

#[test]
fn users_think_and_go_on_with_what_they_got() {
    let fake = Fake::start(true);
    let results = load(&fake, JOURNEYS);
    let run = &results.runs[0];
    assert!(results.passed(), "{run:?}");
    let journey = &run.day.as_ref().unwrap().journeys[0];
    assert_eq!((journey.begun, journey.broken), (60, 0));
    // Those that began in the first half had time enough, on a busy machine too.
    assert!(journey.finished >= 10 && journey.finished <= 60, "{journey:?}");
    let all: u64 = run.kinds.iter().map(|kind| kind.right).sum();
    assert_eq!((all, run.requests), (run.requests, run.requests + run.missed));
    assert_eq!(kind(run, "login").right, 60);
    // The tokens of the login are those that UserInfo is asked with, after the time to think.
    let (given, renewed) = (fake.visits.of("authorization_code"), fake.visits.of("refresh_token"));
    let mut looked_at = 0;
    for visit in fake.visits.of("userinfo") {
        let login = given.iter().find(|login| login.token == visit.token);
        let refresh = renewed.iter().find(|refresh| refresh.token == visit.token);
        let (before, think) = match (login, refresh) {
            (Some(login), None) => (login, 300),
            (None, Some(refresh)) => (refresh, 100),
            other => panic!("a token of nobody's journey: {other:?}"),
        };
        let thought = visit.at.duration_since(before.at);
        assert!(thought >= Duration::from_millis(think), "{thought:?}");
        looked_at += 1;
    }
    assert!(looked_at >= 20, "{looked_at}");
}

#[test]
fn a_journey_that_fails_is_broken_off() {
    let fake = Fake::start(true);
    let results = load_one_with(&fake, JOURNEYS, Fault::LoginRefused);
    let journey = &results.runs[0].day.as_ref().unwrap().journeys[0];
    assert_eq!((journey.begun, journey.broken, journey.finished), (60, 60, 0));
    assert_eq!(kind(&results.runs[0], "login").wrong, 60);
    // Nobody went on; what was never asked holds no limit.
    assert_eq!(fake.visits.count("userinfo") + fake.visits.count("refresh_token"), 0);
    assert!(!results.passed());
}

#[test]
fn a_limit_of_one_scenario_that_breaks_fails_the_run_and_is_named() {
    let (results, front) = behind(
        r#"
        title = "slow profiles"
        duration = "2s"
        warm_up = "0s"
        connections = 64
        peak = 50
        mix = { silent = 3, userinfo = 2 }
        each_scenario = ["p50_ms<2000", "failure_share<=0"]
        "#,
        |_| Fate::Late(2_500),
    );
    let run = &results.runs[0];
    assert_eq!(kind(run, "userinfo").right, front.counts().requests);
    let of_scenarios = run.thresholds.iter().filter(|threshold| threshold.scenario.is_some());
    let broken: Vec<_> =
        of_scenarios.filter(|threshold| !threshold.held).map(|threshold| threshold.what()).collect();
    assert_eq!(broken, ["userinfo p50_ms"], "{:?}", run.thresholds);
    assert!(!results.passed());
    let told = report::markdown(&results, None);
    assert!(told.contains("userinfo p50_ms is") && told.contains("broken"), "{told}");
}

#[test]
fn right_and_wrong_answers_of_a_scenario_have_percentiles_apart() {
    let (results, front) = behind(
        r#"
        title = "half refused"
        duration = "2s"
        warm_up = "0s"
        connections = 64
        peak = 100
        mix = { silent = 1, userinfo = 1 }
        "#,
        |number| if number % 2 == 0 { Fate::Refused } else { Fate::Late(200) },
    );
    let run = &results.runs[0];
    let (silent, userinfo) = (kind(run, "silent"), kind(run, "userinfo"));
    let counted = (userinfo.right, userinfo.wrong);
    assert_eq!(counted, (front.of(Fate::Late(200)), front.of(Fate::Refused)), "{userinfo:?}");
    let (right, wrong) = (userinfo.answers.unwrap(), userinfo.refusals.unwrap());
    assert!(right.min_ms >= Some(199.0) && wrong.min_ms < Some(199.0), "{userinfo:?}");
    assert!(right.p50_ms > wrong.p50_ms && userinfo.latency.min_ms < Some(199.0), "{userinfo:?}");
    assert_eq!((silent.answers, silent.refusals), (None, None), "{silent:?}");
    let told = report::markdown(&results, None);
    assert!(told.contains("| Right P50 ms ") && told.contains("| Wrong P50 ms "), "{told}");
}

#[test]
fn a_step_that_waits_for_a_connection_counts_from_when_its_user_has_thought() {
    // One connection for ten journeys a second, each of which holds it for 300 ms: the queue grows by two seconds in each.
    let (results, _) = behind(
        r#"
        title = "a queue"
        duration = "2s"
        warm_up = "0s"
        connections = 1
        peak = 10
        [[journey]]
        name = "look"
        weight = 1
        steps = [{ ask = "client-credentials" }, { think = { fixed = "50ms" }, ask = "userinfo" }]
        "#,
        |_| Fate::Late(300),
    );
    let run = &results.runs[0];
    let userinfo = kind(run, "userinfo");
    assert!(userinfo.right >= 3, "{userinfo:?}");
    assert!(
        userinfo.latency.max_ms > Some(700.0),
        "it waited for others besides its own answer: {userinfo:?}"
    );
    assert!(run.generator_limit.is_some(), "connections were short");
}
