//! Scenarios that somebody wrote in a file.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use symbolon_crypto::SecretString;
use symbolon_loadtest::executor::{Closed, Load, Until, closed};
use symbolon_loadtest::run::{Group, Plan, Traffic, Work};
use symbolon_loadtest::scenario::OwnScenarios;
use symbolon_loadtest::seed::{Seed, SeedOptions, plant};
use symbolon_loadtest::{LoadtestError, ProviderOptions, RunOptions, RunningTarget, Tally, Target};

use crate::fake::front::Fate;
use crate::fake::{Fake, Fault, SECRET};
use crate::keycloak::Keycloak;
use crate::verdicts::{options, plan};

fn example(name: &str) -> OwnScenarios {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../loadtest/scenarios").join(name);
    OwnScenarios::read(&path).unwrap()
}

fn written(text: &str) -> Result<OwnScenarios, LoadtestError> {
    let file = tempfile::Builder::new().prefix("mine").suffix(".toml").tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    OwnScenarios::read(file.path())
}

fn seeded(fake: &Fake) -> Arc<Seed> {
    let options = SeedOptions { users: 20, tokens: 10, families: 1, ..SeedOptions::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let target = Target::discover(&fake.url(), Some(SecretString::new(SECRET.into()))).await.unwrap();
        Arc::new(plant(target, &options, &mut Vec::new()).await.unwrap())
    })
}

fn run(scenarios: &OwnScenarios, seed: &Arc<Seed>, connections: usize, requests: u64) -> Tally {
    let visitors = Work::visitors(scenarios, seed, connections).unwrap();
    let run = Closed { load: Load::to(seed.target.peer.clone()), until: Until::Requests(requests) };
    closed(&run, visitors).unwrap().tally
}

#[test]
fn the_example_logs_in_and_is_one_request() {
    let fake = Fake::start(true);
    let (seed, login) = (seeded(&fake), example("login.toml"));
    assert_eq!((login.name(), login.needs_seed()), ("login", true));
    let before = fake.requests();
    let tally = run(&login, &seed, 4, 30);
    assert!(tally.is_clean(), "{:?} {:?}", tally.first_wrong(), tally.failures);
    // The request, the page, the form, the way back, the code, UserInfo.
    assert_eq!((tally.right, tally.exchanges, fake.requests() - before), (30, 180, 180));
    assert_eq!(tally.kinds().iter().map(|of| of.name).collect::<Vec<_>>(), [""]);
}

#[test]
fn nothing_answered_passes_no_scenario_of_ones_own() {
    let (fake, front) = Fake::behind("/jwks", Box::new(|_| Fate::Hang));
    let keys =
        "[[scenario]]\nname = \"keys\"\n[[scenario.request]]\nurl = \"{{target.jwks}}\"\nstatus = [200]\n";
    let plan = Plan { work: Arc::new(written(keys).unwrap()), ..plan(100.0, Duration::from_secs(1)) };
    let results = symbolon_loadtest::run(&options(&fake, vec![plan]), &mut Vec::new()).unwrap();
    let run = &results.runs[0];
    assert_eq!((run.requests, run.failure_kinds["timeout"]), (front.counts().requests, front.of(Fate::Hang)));
    assert_eq!((run.requests, run.achieved_rate), (100, 0.0), "{run:?}");
    assert!(!results.passed() && run.latency.p99_ms >= Some(400.0), "{run:?}");
}

#[test]
fn what_does_not_hold_has_the_name_of_its_request() {
    let fake = Fake::start(true);
    let (seed, login) = (seeded(&fake), example("login.toml"));
    for (fault, kind) in [
        (Fault::Unavailable, "tokens: status"),
        (Fault::LoginRefused, "password: status"),
        (Fault::State, "password: query state"),
        (Fault::Issuer, "password: query iss"),
        (Fault::Subject, "userinfo: json /sub"),
    ] {
        fake.set_fault(fault);
        let tally = run(&login, &seed, 2, 10);
        assert_eq!(tally.wrong.get(kind), Some(&10), "{fault:?}: {:?} {:?}", tally.wrong, tally.failures);
        fake.set_fault(Fault::None);
        // What failed on its way leaves nothing behind.
        assert!(run(&login, &seed, 2, 4).is_clean());
    }
}

#[test]
fn no_password_and_no_token_is_told() {
    let fake = Fake::start(true);
    let (seed, login) = (seeded(&fake), example("login.toml"));
    fake.set_fault(Fault::LoginRefused);
    let tally = run(&login, &seed, 1, 3);
    let told = format!("{:?}", tally.examples);
    assert!(told.contains("password: status") && told.contains("username="), "{told}");
    assert!(!told.contains(seed.password.expose()), "{told}");
}

#[test]
fn each_request_counts_where_the_file_says_so() {
    let fake = Fake::start(true);
    let seed = seeded(&fake);
    let text = r#"
        [[scenario]]
        name = "discovery"
        count = "each"
        weight = 3
        [[scenario.request]]
        name = "metadata"
        url = "{{target.discovery}}"
        take.keys = { json = "/jwks_uri" }
        check = [{ json = "/issuer", equals = "{{target.issuer}}" }, { header = "content-type", contains = "json" }]
        [[scenario.request]]
        name = "keys"
        url = "{{keys}}"
        check = [{ json = "/keys", type = "array" }, { json = "/keys/9", exists = false }]

        [[scenario]]
        name = "machine"
        [[scenario.request]]
        url = "{{target.token}}"
        basic = ["{{seed.client_id}}", "{{seed.client_secret}}"]
        form = { grant_type = "client_credentials" }
    "#;
    // One visitor: four visits of each round are seven requests that count.
    let tally = run(&written(text).unwrap(), &seed, 1, 70);
    assert!(tally.is_clean(), "{:?}", tally.first_wrong());
    let mut counts: Vec<_> = tally.kinds().iter().map(|of| (of.name, of.right.count())).collect();
    counts.sort_unstable();
    assert_eq!(counts, [("discovery: keys", 30), ("discovery: metadata", 30), ("machine", 10)]);
}

#[test]
fn another_host_is_never_asked() {
    let fake = Fake::start(true);
    let seed = seeded(&fake);
    let to = |url: &str| {
        written(&format!("[[scenario]]\nname = \"x\"\n[[scenario.request]]\nurl = \"{url}\"")).unwrap()
    };
    let tally = run(&to("http://elsewhere.example/jwks"), &seed, 1, 3);
    assert_eq!(tally.wrong.get("other_origin"), Some(&3), "{:?}", tally.wrong);
    assert!(run(&to(&format!("{}/jwks", fake.url())), &seed, 1, 3).is_clean());
    assert!(run(&to("{{target.issuer}}/jwks"), &seed, 1, 3).is_clean());
}

#[test]
fn the_keycloak_example_logs_in_through_its_pages() {
    let keycloak = Keycloak::start();
    let login = example("keycloak-login.toml");
    assert!(!login.needs_seed());
    // Through the whole run: without a seed and without an admin secret.
    let mut plan = Plan::new(
        login,
        Traffic::Open(
            symbolon_loadtest::executor::Schedule::constant(30.0, std::time::Duration::from_secs(1)).unwrap(),
        ),
    );
    plan.warm_up = std::time::Duration::ZERO;
    let group = Group { shards: None, plans: vec![plan] };
    let mut options = RunOptions::new(PathBuf::new(), "keycloak", vec![group]);
    options.provider = ProviderOptions::new(PathBuf::new());
    options.provider.target = Some(RunningTarget {
        url: keycloak.url(),
        others: Vec::new(),
        admin_url: None,
        admin_secret: None,
        pid: None,
        metrics: None,
    });
    let results = symbolon_loadtest::run(&options, &mut Vec::new()).unwrap();
    let run = &results.runs[0];
    assert_eq!((run.requests, run.wrong, run.failures), (30, 0, 0), "{:?}", run.examples);
    assert_eq!((&*run.scenario, run.sent), ("keycloak-login", Some(120)));
    assert_eq!((results.provider.algorithm.as_deref(), &*results.environment["Seed"]), (None, "none"));
    // Every user in turn.
    assert_eq!(keycloak.logins(), [("user0".into(), 15), ("user1".into(), 15)]);
}

#[test]
fn a_refused_password_at_keycloak_is_told_as_such() {
    let keycloak = Keycloak::start();
    keycloak.refuse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let target = runtime.block_on(Target::discover(&keycloak.url(), None)).unwrap();
    let peer = target.peer.clone();
    let seed = Arc::new(Seed::empty(target));
    let visitors = Work::visitors(&example("keycloak-login.toml"), &seed, 2).unwrap();
    let tally = closed(&Closed { load: Load::to(peer), until: Until::Requests(6) }, visitors).unwrap().tally;
    assert_eq!(tally.wrong.get("password: status"), Some(&6), "{:?}", tally.wrong);
    let told = format!("{:?}", tally.examples);
    assert!(!told.contains("user0-password") && !told.contains("user1-password"), "{told}");
}
