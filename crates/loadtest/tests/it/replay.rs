//! Logs that are replayed.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use symbolon_loadtest::client::{Response, request};
use symbolon_loadtest::clock;
use symbolon_loadtest::executor::{Arrivals, Load, Open, Schedule, open};
use symbolon_loadtest::replay::{Replay, ReplayOptions};
use symbolon_loadtest::results::Run;
use symbolon_loadtest::run::{Group, Plan};
use symbolon_loadtest::scenario::{Next, Right, Scenario, Visitor, Wrong};
use symbolon_loadtest::{LoadtestError, RunOptions};

use crate::fake::front::Fate;
use crate::fake::{Fake, Fault};
use crate::verdicts;

fn log(lines: &[String]) -> tempfile::NamedTempFile {
    let mut file = tempfile::Builder::new().prefix("access").suffix(".log").tempfile().unwrap();
    for line in lines {
        writeln!(file, "{line}").unwrap();
    }
    file
}

/// A line of the provider's own log, so many milliseconds after the first.
fn own(millis: u64, method: &str, endpoint: &str) -> String {
    let timestamp = format!("2026-11-28T00:00:{:02}.{:03}Z", millis / 1_000, millis % 1_000);
    let line = serde_json::json!({
        "timestamp": timestamp, "target": "symbolon::request", "method": method, "endpoint": endpoint,
        "status": 200, "duration_us": 0,
    });
    line.to_string()
}

fn replayed(fake: &Fake, path: &Path, options: &ReplayOptions) -> Result<Run, LoadtestError> {
    let mut plan = Plan::of_log(Replay::read(path, options)?)?;
    (plan.warm_up, plan.connections) = (Duration::ZERO, 16);
    let mut options =
        RunOptions::new(PathBuf::new(), "replay", vec![Group { shards: None, plans: vec![plan] }]);
    options.provider.target = Some(fake.target(None));
    options.provider.notes = std::env::temp_dir().join("symbolon-replay-tests");
    // What the fake signs with.
    options.algorithm = symbolon_crypto::Algorithm::Es256;
    symbolon_loadtest::run(&options, &mut Vec::new()).map(|mut results| results.runs.remove(0))
}

fn kinds(run: &Run) -> Vec<(&str, u64, u64)> {
    run.kinds.iter().map(|kind| (&*kind.name, kind.right, kind.wrong)).collect()
}

#[test]
fn nothing_answered_passes_no_replay() {
    let (fake, front) = Fake::behind("/userinfo", Box::new(|_| Fate::Hang));
    let lines: Vec<String> = (0..100).map(|line| own(10 * line, "GET", "userinfo")).collect();
    let mut plan =
        Plan::of_log(Replay::read(log(&lines).path(), &ReplayOptions::default()).unwrap()).unwrap();
    (plan.warm_up, plan.timeout) = (Duration::ZERO, Duration::from_millis(400));
    let results = symbolon_loadtest::run(&verdicts::options(&fake, vec![plan]), &mut Vec::new()).unwrap();
    let run = &results.runs[0];
    assert_eq!((run.requests, run.failure_kinds["timeout"]), (100, front.of(Fate::Hang)), "{run:?}");
    assert!(!results.passed() && run.latency.p99_ms >= Some(400.0), "{run:?}");
}

#[test]
fn every_line_is_sent_as_what_the_seed_can_make_of_it() {
    let mut lines = Vec::new();
    for round in 0..4 {
        for (after, method, endpoint) in [
            (0, "GET", "authorize"),
            (10, "GET", "discovery"),
            (20, "GET", "userinfo"),
            (30, "POST", "introspect"),
            (40, "POST", "token_refresh_token"),
            (50, "POST", "token_client_credentials"),
            (60, "POST", "token_token_exchange"),
            (70, "GET", "jwks"),
            (80, "POST", "token_authorization_code"),
            (90, "POST", "consent"),
        ] {
            lines.push(own(200 * round + after, method, endpoint));
        }
    }
    // The only codes that are left for these are those that they ask for themselves.
    lines.extend([own(900, "POST", "token_authorization_code"), own(950, "POST", "login")]);
    let (file, fake) = (log(&lines), Fake::start(true));
    let run = replayed(&fake, file.path(), &ReplayOptions::default()).unwrap();
    assert_eq!((run.wrong, run.failures, run.missed), (0, 0, 0), "{:?}", run.examples);
    let expected = [
        ("client-credentials", 4),
        ("code", 5),
        ("exchange", 4),
        ("introspect", 4),
        ("key set", 4),
        ("login", 1),
        ("metadata", 4),
        ("refresh", 4),
        ("silent", 4),
        ("userinfo", 4),
    ];
    assert_eq!(kinds(&run), expected.map(|(kind, right)| (kind, right, 0)));
    assert_eq!((&*run.executor, run.requests), ("replay", 38));
    let replay = run.replay.unwrap();
    assert_eq!((replay.lines, replay.left_out["POST consent"], replay.sent_as["code"]), (42, 4, 5));
}

#[test]
fn a_wrong_answer_is_of_its_kind() {
    let fake = Fake::start(true);
    let file = log(&[own(0, "GET", "userinfo"), own(10, "GET", "jwks"), own(20, "GET", "userinfo")]);
    fake.set_fault(Fault::Keys("{}"));
    let run = replayed(&fake, file.path(), &ReplayOptions::default()).unwrap();
    assert_eq!(kinds(&run), [("key set", 0, 1), ("userinfo", 2, 0)]);
}

#[test]
fn a_web_servers_log_is_sent_too() {
    let line = |second: u64, request: &str, status: u16| {
        format!(
            "10.0.0.1 - - [28/Nov/2026:01:00:{second:02} +0100] \"{request} HTTP/1.1\" {status} 5 \"-\" \"x\""
        )
    };
    let lines = [
        line(0, "GET /realms/x/protocol/openid-connect/certs", 200),
        line(0, "POST /token", 200),
        line(1, "GET /jwks?v=1", 200),
        line(1, "GET /jwks/none", 200),
        line(1, "GET /nothing", 404),
        line(1, "GET /cb?code=abc", 200),
    ];
    let (file, fake) = (log(&lines), Fake::start(true));
    let token = Some(Scenario::ClientCredentials);
    let run = replayed(&fake, file.path(), &ReplayOptions { speed: 2.0, token }).unwrap();
    // The fourth is a 404 here, and was none there.
    assert_eq!(run.wrong_kinds["other_status"], 1, "{:?}", run.examples);
    assert_eq!(kinds(&run), [("GET", 1, 1), ("client-credentials", 1, 0), ("key set", 2, 0)]);
    let replay = run.replay.unwrap();
    assert!(replay.spread && replay.speed > 1.9);
    assert_eq!(replay.left_out["GET with what may be a secret"], 1);
}

/// Notes what arrives.
struct Noting(Arc<Mutex<Vec<(u32, std::time::Instant)>>>);

impl Visitor for Noting {
    fn arrives(&mut self, asks: u32) {
        self.0.lock().unwrap().push((asks, clock::now()));
    }

    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        request::get(out, "/jwks", "localhost", &[]);
        Next::Send
    }

    fn check(&mut self, _response: &Response<'_>) -> Result<Right, Wrong> {
        Ok(Right::default())
    }
}

#[test]
fn arrivals_come_at_the_instants_of_their_list() {
    let fake = Fake::start(true);
    let millis = [0, 0, 40, 300, 300, 301, 700];
    let listed = millis.iter().zip(0..).map(|(at, what)| (Duration::from_millis(*at), what));
    let schedule = Schedule::listed(Arrivals::new(listed).unwrap()).unwrap();
    let noted = Arc::<Mutex<Vec<_>>>::default();
    let visitors = (0..8).map(|_| Box::new(Noting(Arc::clone(&noted))) as Box<dyn Visitor>).collect();
    let began = clock::now();
    let load = Load::to(fake.address);
    let outcome = open(&Open { load, schedule }, visitors, &mut |_, _| {}).unwrap();
    assert_eq!((outcome.arrivals, outcome.outcome.tally.right), (7, 7));
    let mut noted = noted.lock().unwrap().clone();
    noted.sort_by_key(|(asks, _)| *asks);
    assert_eq!(noted.iter().map(|(asks, _)| *asks).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
    for ((asks, at), due) in noted.iter().zip(millis) {
        // Never before its time; how long after it is the machine's.
        assert!(*at >= began + Duration::from_millis(due), "{asks}");
    }
}

#[test]
fn what_contradicts_a_log_is_said() {
    let fake = Fake::start(true);
    let file = log(&[own(0, "GET", "userinfo")]);
    let replay = Replay::read(file.path(), &ReplayOptions::default()).unwrap();
    let rate =
        symbolon_loadtest::run::Traffic::Open(Schedule::constant(5.0, Duration::from_secs(1)).unwrap());
    let plan = Plan::new(replay, rate);
    let mut options = RunOptions::new(PathBuf::new(), "x", vec![Group { shards: None, plans: vec![plan] }]);
    options.provider.target = Some(fake.target(None));
    let told = symbolon_loadtest::run(&options, &mut Vec::new()).err().unwrap().to_string();
    assert!(told.contains("has the times of its log"), "{told}");
}
