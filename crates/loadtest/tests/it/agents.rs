//! Several generators of one load, each an agent on loopback, with counts on both sides.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use symbolon_crypto::SecretString;
use symbolon_loadtest::agents::{Agent, AgentOptions, AgentsOptions, AgentsSecret};
use symbolon_loadtest::executor::Schedule;
use symbolon_loadtest::results::{Results, Run};
use symbolon_loadtest::run::{Plan, Traffic, Work};
use symbolon_loadtest::scenario::{Scenario, Visitor};
use symbolon_loadtest::seed::{Seed, SeedOptions};
use symbolon_loadtest::{LoadtestError, RunOptions, Target, report, run};
use tokio::sync::oneshot;

use crate::fake::Fake;
use crate::fake::front::{Fate, Front};
use crate::faults;
use crate::verdicts::options;

const SECRET: &str = "a secret of the tests alone";

/// What somebody is told, also by a thread.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<u8>>>);

impl Told {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// Waits until it says this.
    fn wait_for(&self, text: &str) {
        for _ in 0..3_000 {
            if self.text().contains(text) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{text:?} is not in {:?}", self.text());
    }
}

impl std::io::Write for Told {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// An agent on a thread of its own, which ends with this.
struct Running {
    address: SocketAddr,
    told: Told,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn start(secret: &str) -> Self {
        let options =
            AgentOptions { listen: "127.0.0.1:0".parse().unwrap(), secret: of(secret), trust: None };
        let agent = Agent::bind(options).unwrap();
        let (address, told) = (agent.address().unwrap(), Told::default());
        let (end, ended) = oneshot::channel::<()>();
        let mut progress = told.clone();
        let thread = std::thread::spawn(move || {
            let until = async { drop(ended.await) };
            agent.serve(&mut progress, until).unwrap();
        });
        Self { address, told, end: Some(end), thread: Some(thread) }
    }

    fn four() -> [Self; 4] {
        [(); 4].map(|()| Self::start(SECRET))
    }

    /// Ends it, whatever it does.
    fn end(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

fn of(secret: &str) -> AgentsSecret {
    AgentsSecret::new(&SecretString::new(secret.into())).unwrap()
}

fn by(agents: &[Running], secret: &str, options: RunOptions) -> RunOptions {
    let addresses = agents.iter().map(|agent| agent.address.to_string()).collect();
    RunOptions { agents: Some(Arc::new(AgentsOptions::new(addresses, of(secret)).unwrap())), ..options }
}

fn plan(work: impl Work + 'static, rate: f64, seconds: u64) -> Plan {
    let schedule = Schedule::constant(rate, Duration::from_secs(seconds)).unwrap();
    Plan {
        warm_up: Duration::ZERO,
        timeout: Duration::from_secs(2),
        ..Plan::new(work, Traffic::Open(schedule))
    }
}

/// UserInfo behind a front, asked by agents; what the coordinator told.
fn load(
    agents: &[Running],
    plan: Plan,
    fates: impl Fn(u64) -> Fate + Send + Sync + 'static,
) -> (Results, Arc<Front>, String) {
    let (fake, front) = Fake::behind("/userinfo", Box::new(fates));
    let told = Told::default();
    let results = run(&by(agents, SECRET, options(&fake, vec![plan])), &mut told.clone()).unwrap();
    (results, front, told.text())
}

/// Every request that the front saw is counted as what it was.
fn assert_counts(run: &Run, front: &Front) {
    let of =
        |kinds: &std::collections::BTreeMap<String, u64>, kind: &str| kinds.get(kind).copied().unwrap_or(0);
    assert_eq!(run.requests, front.counts().requests, "{run:?}");
    assert_eq!(of(&run.wrong_kinds, "status_503"), front.of(Fate::Refused), "{run:?}");
    assert_eq!(of(&run.wrong_kinds, "sub"), front.of(Fate::Wrong), "{run:?}");
    assert_eq!(run.failures, front.of(Fate::Reset), "{run:?}");
    let right = run.requests - run.wrong - run.failures;
    assert_eq!(right, front.of(Fate::Right) + front.of(Fate::Late(30)), "{run:?}");
}

#[test]
fn four_agents_send_one_schedule_and_their_counts_are_the_providers() {
    let agents = Running::four();
    let plan = Plan { connections: 64, ..plan(Scenario::Userinfo, 400.0, 3) };
    let (results, front, told) = load(&agents, plan, |number| match number % 20 {
        3 => Fate::Refused,
        7 => Fate::Wrong,
        11 => Fate::Reset,
        17 => Fate::Late(30),
        _ => Fate::Right,
    });
    let run = &results.runs[0];
    assert_counts(run, &front);
    assert_eq!((run.requests + run.missed, results.partial.as_deref()), (1_200, None));
    // The course has all of it too, and so have the parts.
    let course = run.timeline.iter().map(|second| second.answered).sum::<u64>();
    assert_eq!(course, run.requests - run.failures, "{:?}", run.timeline);
    assert_eq!(run.agents.iter().map(|agent| agent.arrivals).collect::<Vec<_>>(), [300; 4]);
    assert_eq!(run.agents.iter().map(|agent| agent.answered).sum::<u64>(), course);
    for agent in &run.agents {
        assert_eq!((agent.fate().as_str(), agent.arrivals_lost), ("ended", 0), "{agent:?}");
        // It is the same clock.
        assert!(agent.clock_offset_ms.abs() <= agent.clock_doubt_ms + 1.0, "{agent:?}");
        assert!(agent.cpu_seconds.unwrap() > 0.0 && agent.round_trip_ms > 0.0, "{agent:?}");
        assert!(told.contains(&format!("agent {}: its clock is", agent.address)), "{told}");
    }
    assert!(run.generator_cpu_us_per_request > 0.0 && run.connections <= 64, "{run:?}");
    let latency = &run.latency;
    assert!(latency.p99_ms >= Some(30.0) && latency.min_ms < latency.p50_ms, "{latency:?}");
    let examples: Vec<_> = run.examples.keys().map(String::as_str).collect();
    assert!(examples.contains(&"status_503") && examples.contains(&"sub"), "{examples:?}");
    assert!(report::markdown(&results, None).contains(&run.agents[3].address));
    drop(agents);
}

#[test]
fn percentiles_of_four_agents_are_those_of_all_their_requests() {
    let agents = Running::four();
    // Arrivals are dealt out in turn: one of the agents has nearly all of the slow ones, and no percentile of its own or mean
    // of theirs is one of the whole.
    let slow = |number: u64| if number % 4 == 1 { Fate::Late(300) } else { Fate::Right };
    let (results, front, _) = load(&agents, plan(Scenario::Userinfo, faults::RATE, faults::SECONDS), slow);
    let run = &results.runs[0];
    assert_eq!((run.requests, run.wrong, run.failures, run.missed), (200, 0, 0, 0), "{run:?}");
    assert_eq!(front.of(Fate::Late(300)), 50);
    faults::assert_percentiles_are_measured(run, &front, &run.agents);
}

#[test]
fn a_closed_load_is_shared_out_by_connections() {
    let agents = Running::four();
    let traffic = Traffic::Closed(Duration::from_secs(1));
    let plan = Plan { connections: 10, traffic, ..plan(Scenario::Userinfo, 1.0, 1) };
    let (results, front, _) = load(&agents, plan, |number| match number % 10 {
        3 => Fate::Refused,
        _ => Fate::Right,
    });
    let run = &results.runs[0];
    assert_counts(run, &front);
    assert_eq!((run.connections, front.counts().most_connections >= 10), (10, true), "{run:?}");
}

#[test]
fn codes_and_families_are_never_shared() {
    let agents = Running::four();
    let fake = Fake::start(true);
    for (scenario, repeat) in [(Scenario::Refresh, 2), (Scenario::Code, 1)] {
        let plan = Plan { connections: 8, ..plan(scenario, 100.0, 1) };
        let options = RunOptions { repeat, ..options(&fake, vec![plan]) };
        let results = run(&by(&agents, SECRET, options), &mut Vec::new()).unwrap();
        for run in &results.runs {
            assert_eq!((run.requests, run.wrong, run.failures, run.missed), (100, 0, 0, 0), "{run:?}");
        }
        assert_eq!(results.runs.len(), repeat, "{:?}", results.partial);
    }
}

#[test]
fn who_does_not_know_the_secret_is_refused_by_name() {
    let agents = [Running::start(SECRET)];
    let fake = Fake::start(true);
    let before = fake.requests();
    let with =
        by(&agents, "another secret of the tests", options(&fake, vec![plan(Scenario::Userinfo, 10.0, 1)]));
    let told = run(&with, &mut Vec::new()).err().unwrap().to_string();
    let address = agents[0].address.to_string();
    assert!(told.contains(&address) && told.contains("another secret: --agents-secret-file"), "{told}");
    agents[0].told.wait_for("has another secret");
    assert_eq!(fake.requests(), before, "nothing was planted");
    for refused in ["10.0.0.1", ":80", "host:", "host:0"] {
        let error = AgentsOptions::new(vec![refused.into()], of(SECRET)).err().unwrap().to_string();
        assert!(error.contains("HOST:PORT"), "{error}");
    }
}

#[test]
fn an_agent_that_is_not_there_is_told_before_anything_is_planted() {
    let mut agents = [Running::start(SECRET)];
    agents[0].end();
    let fake = Fake::start(true);
    let before = fake.requests();
    let with = by(&agents, SECRET, options(&fake, vec![plan(Scenario::Userinfo, 10.0, 1)]));
    let told = run(&with, &mut Vec::new()).err().unwrap().to_string();
    assert!(told.contains(&agents[0].address.to_string()) && told.contains("cannot connect"), "{told}");
    assert_eq!(fake.requests(), before);
}

#[test]
fn an_agent_has_one_coordinator_at_a_time() {
    let agents = [Running::start(SECRET)];
    let fake = Fake::start(true);
    let first = by(&agents, SECRET, options(&fake, vec![plan(Scenario::Userinfo, 50.0, 3)]));
    let running = std::thread::spawn(move || run(&first, &mut Vec::new()).unwrap());
    agents[0].told.wait_for("userinfo: part 1 of 1");
    let second = by(&agents, SECRET, options(&fake, vec![plan(Scenario::Userinfo, 50.0, 1)]));
    let told = run(&second, &mut Vec::new()).err().unwrap().to_string();
    assert!(told.contains("it is busy with the coordinator at 127.0.0.1:"), "{told}");
    assert_eq!(running.join().unwrap().runs[0].requests, 150, "the first was not disturbed");
    agents[0].told.wait_for("is done");
    assert_eq!(run(&second, &mut Vec::new()).unwrap().runs[0].requests, 50, "it is free again");
}

#[test]
fn an_agent_that_is_lost_makes_the_results_partial_and_never_better() {
    let mut agents = Running::four();
    let (fake, front) = Fake::behind("/userinfo", Box::new(|_| Fate::Right));
    let plans = vec![plan(Scenario::Userinfo, 400.0, 5), plan(Scenario::Userinfo, 10.0, 1)];
    let told = Told::default();
    let (with, mut progress) = (by(&agents, SECRET, options(&fake, plans)), told.clone());
    let running = std::thread::spawn(move || run(&with, &mut progress).unwrap());
    told.wait_for("userinfo 400/s: ");
    std::thread::sleep(Duration::from_millis(1_300));
    agents[2].end();
    let lost = agents[2].address.to_string();
    told.wait_for(&format!("agent {lost} is lost"));
    let results = running.join().unwrap();
    let told = told.text();
    assert!(told.contains("the others go on"), "{told}");
    let partial = results.partial.as_deref().unwrap();
    assert!(partial.contains(&lost) && partial.contains("the connection was closed"), "{partial}");
    assert!(partial.contains("% of the arrivals is not known"), "{partial}");
    assert_eq!(results.runs.len(), 1, "the second plan would lack an agent");
    let run = &results.runs[0];
    assert!(!results.passed() && !run.passed(), "{run:?}");
    // What was counted was seen by the provider, and what was not counted is lost.
    assert_eq!(run.requests + run.missed + run.arrivals_lost, 2_000, "{run:?}");
    let seen = front.counts().requests;
    assert!(run.requests <= seen && run.requests > 1_500 && run.arrivals_lost > 100, "{seen}: {run:?}");
    let [first, second, third, fourth] = &run.agents[..] else { panic!("{:?}", run.agents) };
    assert!([first, second, fourth].iter().all(|agent| agent.answered == 500), "{:?}", run.agents);
    assert!((100..400).contains(&third.answered) && third.cpu_seconds.is_none(), "{third:?}");
    assert_eq!(third.answered + third.arrivals_lost, 500, "{third:?}");
    let failed = run.thresholds.iter().filter(|threshold| !threshold.held).count();
    assert_eq!(failed, 2, "neither the share of failures nor the rate: {:?}", run.thresholds);
    let page = report::markdown(&results, None);
    assert!(page.contains("**PARTIAL**") && page.contains(&lost), "{page}");
}

/// Work that is made of several scenarios.
struct Several;

impl Work for Several {
    fn name(&self) -> &str {
        "several"
    }

    fn check_offer(&self, _: &Target) -> Result<(), LoadtestError> {
        Ok(())
    }

    fn ask_for(&self, _: usize, _: &mut SeedOptions) {}

    fn check_seed(&self, _: &Seed, _: u64) -> Result<(), LoadtestError> {
        Ok(())
    }

    fn visitors(&self, _: &Arc<Seed>, _: usize) -> Result<Vec<Box<dyn Visitor>>, LoadtestError> {
        Ok(Vec::new())
    }
}

#[test]
fn what_is_no_built_in_scenario_is_refused_by_name() {
    let agents = [Running::start(SECRET)];
    let fake = Fake::start(true);
    let with = by(&agents, SECRET, options(&fake, vec![plan(Several, 10.0, 1)]));
    let told = run(&with, &mut Vec::new()).err().unwrap().to_string();
    assert!(told.contains("several cannot be run by agents"), "{told}");
}

#[test]
fn a_provider_on_loopback_is_not_for_agents_elsewhere() {
    let fake = Fake::start(true);
    let mut with = options(&fake, vec![plan(Scenario::Userinfo, 10.0, 1)]);
    with.provider.target = None;
    let agents = AgentsOptions::new(vec!["192.0.2.1:7400".into()], of(SECRET)).unwrap();
    with.agents = Some(Arc::new(agents));
    let told = run(&with, &mut Vec::new()).err().unwrap().to_string();
    assert!(told.contains("name one by --target"), "{told}");
}
