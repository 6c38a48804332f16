use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal};
use serde_json::Value;

use crate::place::{Place, SECRET};
use crate::tls::{certificate, public};

/// `loadtest run` of a short load whose thresholds hold on the slowest machine.
fn run<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let length: &[&str] = if more.contains(&"--duration") { &[] } else { &["--duration", "2s"] };
    let short = ["loadtest", "run", "userinfo", "--rate", "50", "--warm-up", "0s"];
    let lenient = ["--out", "report", "--threshold", "failure_share<=1"];
    short.iter().chain(length).chain(&lenient).chain(more).copied().collect()
}

fn results(place: &Place) -> Value {
    serde_json::from_slice(&std::fs::read(place.path("report/results.json")).unwrap()).unwrap()
}

#[test]
fn a_run_starts_a_provider_of_its_own_and_leaves_its_results() {
    let place = Place::new();
    let parent = place.path("").display().to_string();
    let told = place.run(&run(&["--ramp", "1s", "--shards", "8", "--data-parent", &parent])).good();
    assert!(told.contains("userinfo 50/s, 8 shards: passed"), "{told}");
    let results = results(&place);
    assert_eq!((&results["version"], &results["title"]), (&1.into(), &"userinfo".into()));
    let run = &results["runs"][0];
    // The plateau alone: the ramps sent 37 and 25 more.
    assert_eq!((&run["requests"], &run["wrong"], &run["rate"]), (&100.into(), &0.into(), &50.0.into()));
    assert_eq!((&run["executor"], &run["shards"]), (&"ramping-arrival-rate".into(), &8.into()));
    assert_eq!(run["stages"].as_array().unwrap().len(), 3);
    assert!(run["server_cpu_us_per_request"].as_f64().unwrap() > 0.0);
    assert!(run["p50_ms"].as_f64().unwrap() <= run["p99_ms"].as_f64().unwrap());
    assert!(run["server"]["request_duration"]["count"].as_u64().unwrap() >= 162, "{}", run["server"]);
    // The provider has gone, and its data with it.
    let left: Vec<_> = std::fs::read_dir(&parent).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["report"]);
}

#[test]
fn a_provider_of_its_own_is_asked_by_http2() {
    let place = Place::new();
    let parent = place.path("").display().to_string();
    let http2 = ["--http2", "--streams", "8", "--connections", "20", "--data-parent", &parent];
    let told = place.run(&run(&http2)).good();
    assert!(told.contains("0 failed, 0 wrong, 0 missed"), "{told}");
    let run = &results(&place)["runs"][0];
    assert_eq!((&run["protocol"], &run["tls"]), (&"HTTP/2".into(), &false.into()));
    assert_eq!((&run["connections"], &run["streams"], &run["wrong"]), (&3.into(), &8.into(), &0.into()));
    let report = std::fs::read_to_string(place.path("report/report.md")).unwrap();
    assert!(report.contains("HTTP/2") && report.contains("3 × 8 streams"), "{report}");
}

#[test]
fn a_target_behind_tls_is_asked_by_either_protocol() {
    let place = Place::new();
    let (own, other) = (certificate(&place, "own", "127.0.0.1"), certificate(&place, "other", "127.0.0.1"));
    let with = [&public(&own)[..], &[("SYMBOLON_ADMIN_ON_PUBLIC", "true")]].concat();
    let _server = place.serve(&with);
    let url = format!("https://{}", place.listen());
    let target = ["--target", &*url, "--admin-secret", SECRET];
    for (more, protocol) in [(&[][..], "HTTP/1.1"), (&["--http2"], "HTTP/2")] {
        let asked = [&target[..], &["--ca", &own.0], more].concat();
        let told = place.run(&run(&asked)).good();
        assert!(told.contains("0 failed, 0 wrong, 0 missed"), "{told}");
        let run = &results(&place)["runs"][0];
        assert_eq!((&run["protocol"], &run["tls"]), (&protocol.into(), &true.into()));
    }
    for untrusted in [&target[..], &[&target[..], &["--ca", &other.0]].concat()] {
        let told = place.run(&run(untrusted)).bad(2);
        assert!(told.contains("--ca"), "{told}");
    }
    let told = place.run(&run(&[&target[..], &["--ca", &own.1]].concat())).bad(2);
    assert!(told.contains("own.key"), "{told}");
    let told = place.run(&run(&["--streams", "8"])).bad(2);
    assert!(told.contains("--http2"), "{told}");
}

/// What load tests change of an issuer's settings.
fn changed_by_load(place: &Place) -> [Value; 2] {
    let (status, answer) = place.admin("GET", "/settings", "");
    assert_eq!(status, 200, "{answer}");
    ["lifetimes", "introspection_strict"].map(|name| answer["settings"][name].clone())
}

#[test]
fn a_running_provider_has_its_settings_back_afterwards() {
    let place = Place::new();
    let _server = place.serve(&[("SYMBOLON_ADMIN_ON_PUBLIC", "true"), ("SYMBOLON_RATE_LIMITS", "off")]);
    assert_eq!(place.admin("PATCH", "/settings", r#"{ "lifetimes": { "code": 45 } }"#).0, 200);
    let before = changed_by_load(&place);
    let url = format!("http://{}", place.listen());
    let target = ["--target", &*url, "--admin-secret", SECRET, "--warm-up", "0s", "--out", "report"];
    let short = ["--rate", "5", "--duration", "1s", "--threshold", "failure_share<=1"];
    for scenario in ["code", "introspect"] {
        place.run(&[&["loadtest", "run", scenario][..], &short, &target].concat()).good();
        assert_eq!(changed_by_load(&place), before, "after {scenario}");
    }
    // Also when it is told to stop.
    let long = ["loadtest", "run", "code", "--rate", "5", "--duration", "1m"];
    let mut child =
        place.command(&[&long[..], &target].concat(), &[]).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("obtaining 300 codes")));
    rustix::process::kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    lines.for_each(drop);
    child.wait().unwrap();
    assert_eq!(changed_by_load(&place), before, "after a signal");
}

#[test]
fn a_threshold_that_does_not_hold_is_status_1() {
    let place = Place::new();
    let ran = place.run(&run(&["p50_ms<0"]));
    assert!(ran.out.contains("FAILED") && ran.out.contains("p50_ms < 0 did not hold"), "{}", ran.out);
    ran.bad(1);
    assert_eq!(results(&place)["runs"][0]["thresholds"][1]["held"], false);
}

#[test]
fn what_cannot_run_is_status_2_and_says_why() {
    let place = Place::new();
    let _server = place.serve(&[("SYMBOLON_ADMIN_ON_PUBLIC", "true"), ("SYMBOLON_LISTEN", "127.0.0.1:0")]);
    let url = format!("http://{}", place.listen());
    for (more, why) in [
        (&["--target", "http://127.0.0.1:1", "--admin-secret", "x"][..], "cannot connect to 127.0.0.1:1"),
        (&["--target", &url, "--admin-secret", "a wrong secret"], "401"),
        (&["--target", &url], "--admin-secret"),
        (&["--target", "ftp://x", "--admin-secret", "x"], "ftp://x"),
        (&["--out", "/proc/none"], "/proc/none"),
        (&["--data-parent", "/none"], "/none"),
        (&["--threshold", "speed<3"], "p99_ms"),
    ] {
        let short = ["loadtest", "run", "userinfo", "--rate", "5", "--duration", "1s"];
        let told = place.run(&[&short[..], more].concat()).bad(2);
        assert!(told.contains(why), "{more:?}: {told}");
    }
    for (wrong, why) in [
        ("--precision=0", "precision 0: it must be a share"),
        ("--busiest-hour=15", "busiest hour 15"),
        ("--daily-share=-1", "daily share -1"),
        ("--requests-per-day=0", "0 requests per day"),
        ("--from=0", "sends nothing"),
        ("--probe=0s", "sends nothing"),
    ] {
        let told = place.run(&["loadtest", "capacity", "silent", wrong]).bad(2);
        assert!(told.contains(why), "{wrong}: {told}");
    }
    let told = place.run(&["loadtest", "run", "silent", "--rate", "0"]).bad(2);
    assert!(told.contains("sends nothing"), "{told}");
    let good = place.run(&run(&["--target", &url, "--admin-secret", SECRET])).good();
    assert!(good.contains("0 failed, 0 wrong, 0 missed"), "{good}");
}

/// `loadtest seed` of a little; it ends when the test does.
struct Seeded(Child);

impl Drop for Seeded {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}

#[test]
fn a_seed_is_planted_once_for_many_runs() {
    let place = Place::new();
    let little = ["--users", "5", "--tokens", "20", "--families", "8", "--pure"];
    let arguments = [&["loadtest", "seed", "--out", "seed.json"][..], &little].concat();
    let mut child = place.command(&arguments, &[]).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut seeded = Seeded(child);
    let told: Vec<_> = lines.by_ref().take_while(|line| !line.contains("listens on")).collect();
    assert!(told.iter().any(|line| line.starts_with("20 access tokens in ")), "{told:?}");
    let log = std::fs::read_to_string(place.path("seed.log")).unwrap();
    assert!(log.contains("/tokens/bulk"), "{log}");

    let seed: Value = serde_json::from_slice(&std::fs::read(place.path("seed.json")).unwrap()).unwrap();
    let target = ["--target", seed["issuer"].as_str().unwrap(), "--seed", "seed.json"];
    let userinfo = run(&target);
    for _ in 0..2 {
        assert!(place.run(&userinfo).good().contains("userinfo 50/s: passed"));
    }
    let closed = ["loadtest", "run", "silent", "--closed", "--duration", "1s", "--out", "report"];
    let told = place.run(&[&closed[..], &target].concat()).good();
    assert!(told.contains("silent closed: passed"), "{told}");
    let results = results(&place);
    let run = &results["runs"][0];
    assert_eq!((&run["executor"], &run["rate"]), (&"closed".into(), &run["achieved_rate"]));
    assert!(!run["timeline"].as_array().unwrap().is_empty(), "{run}");
    let code = ["loadtest", "run", "code", "--closed", "--duration", "1s"];
    assert!(place.run(&[&code[..], &target].concat()).bad(2).contains("needs a rate"));

    // The provider ends with the command.
    rustix::process::kill_process(Pid::from_child(&seeded.0), Signal::INT).unwrap();
    assert_eq!(seeded.0.wait().unwrap().code(), Some(0));
    assert!(place.run(&userinfo).bad(2).contains("cannot connect"));
}

#[test]
fn a_file_of_loads_is_run_and_a_preset_is_printed_as_one() {
    let place = Place::new();
    let loads = r#"
        title = "mine"
        [[run]]
        scenario = "discovery"
        stages = [{ to = 40, duration = "500ms" }, { to = 40, duration = "1s" }]
        warm_up = "0s"
        thresholds = ["failure_share<=0"]
    "#;
    std::fs::write(place.path("mine.toml"), loads).unwrap();
    let told = place.run(&["loadtest", "suite", "mine.toml", "--out", "report"]).good();
    assert!(told.contains("discovery 40/s: passed"), "{told}");
    let results = results(&place);
    assert_eq!((&results["title"], &results["provider"]["algorithm"]), (&"mine".into(), &"ES256".into()));
    assert_eq!(results["runs"][0]["requests"], 40);

    std::fs::write(place.path("mine.toml"), loads.replace("40", "-40")).unwrap();
    let told = place.run(&["loadtest", "suite", "mine.toml"]).bad(2);
    assert!(told.contains("mine.toml: run 1 (discovery): a rate must be"), "{told}");
    let told = place.run(&["loadtest", "suite", "missing.toml"]).bad(2);
    assert!(told.contains("december-2025/silent-64"), "{told}");
    let listed = place.run(&["loadtest", "suite", "--list"]).good();
    let preset = listed.lines().find(|name| name.contains("code")).unwrap();
    let printed = place.run(&["loadtest", "suite", preset, "--short", "--print"]).good();
    assert!(printed.contains("scenario = \"code\"") && printed.contains("duration = \"6s\""), "{printed}");
}

#[test]
fn shards_change_in_mid_run_and_nothing_fails() {
    let place = Place::new();
    let sweep = ["loadtest", "shards", "silent", "--rate", "50", "--duration", "2s", "--warm-up", "0s"];
    place.run(&[&sweep[..], &["--counts", "2,16", "--out", "report"]].concat());
    let results = results(&place);
    let runs = results["runs"].as_array().unwrap();
    assert_eq!(runs.iter().map(|run| run["shards"].as_u64().unwrap()).collect::<Vec<_>>(), [2, 16, 16]);
    assert_eq!((&runs[0]["reshard"], &runs[2]["reshard"]["to"]), (&Value::Null, &2.into()));
    for run in runs {
        assert_eq!((&run["wrong"], &run["failures"]), (&0.into(), &0.into()), "{run}");
    }
    // The figures know shards of both numbers.
    let stores = runs[2]["server"]["stores"].as_array().unwrap();
    let codes = stores.iter().find(|store| store["kind"] == "code").unwrap();
    assert!(codes["shards"].as_array().unwrap().len() > 2, "{codes}");
}

#[test]
fn capacity_finds_a_limit_and_what_to_plan_with() {
    let place = Place::new();
    // A rule that holds at low rates only, however fast the machine is.
    let search =
        ["loadtest", "capacity", "discovery", "--from", "200", "--probe", "200ms", "--precision", "0.7"];
    let rules = ["--threshold", "success_share>=1", "mean_ms>0", "--out", "report", "--timeout", "400ms"];
    let told = place.run(&[&search[..], &rules].concat()).good();
    assert!(told.contains("discovery holds ") && told.contains("monthly active users"), "{told}");
    let results = results(&place);
    let (found, runs) = (&results["capacities"][0], results["runs"].as_array().unwrap());
    let limit = found["limit"].as_f64().unwrap();
    assert!(limit >= 25.0 && found["failing"].as_f64().unwrap() > limit, "{found}");
    assert_eq!(found["peak"].as_f64().unwrap(), 0.8 * limit);
    assert!(!found["evidence"].as_str().unwrap().is_empty());
    // All but the last were tries.
    let probes = runs.iter().filter(|run| run["probe"] == true).count();
    assert!(probes >= 2 && runs.last().unwrap()["rate"] == found["limit"], "{found}");
    assert!(runs.last().unwrap()["probe"].is_null());

    let never = [&search[..], &["--threshold", "p50_ms<0", "--out", "report"]].concat();
    let told = place.run(&never);
    assert!(told.out.contains("no rate held"), "{}", told.out);
    told.bad(1);
}

#[test]
fn results_that_cannot_be_written_are_told_all_the_same() {
    let place = Place::new();
    let arguments = run(&["--duration", "3s"]);
    let mut command = place.command(&arguments, &[]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(errors.any(|line| line.contains(" s left")), "it runs");
    std::fs::remove_dir_all(place.path("report")).unwrap();
    let told: Vec<_> = errors.collect();
    assert!(told.iter().any(|line| line.contains("report/results.json cannot be written")), "{told:?}");
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&ended.stdout).contains(": passed"));
}

#[test]
fn the_generator_is_measured_against_a_bare_server() {
    let told = Place::new().run(&["loadtest", "generator", "--rate", "500", "--duration", "1s"]);
    let line = "/s of 500/s: 500 requests, 0 failed, 0 wrong, 0 missed";
    assert!(told.out.contains(line) && told.out.contains("generator: "), "{}", told.out);
}

#[test]
fn an_interrupted_run_leaves_partial_results_and_no_process() {
    let place = Place::new();
    let arguments = [
        "loadtest",
        "run",
        "userinfo",
        "--rate",
        "50",
        "--duration",
        "1h",
        "--out",
        "report",
        "--warm-up",
        "0s",
    ];
    let mut command = place.command(&arguments, &[]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains(" s left")), "it runs");
    let pid = child.id();
    let provider = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    rustix::process::kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let results = results(&place);
    assert_eq!(results["partial"], "interrupted");
    let run = &results["runs"][0];
    assert!(run["requests"].as_u64().unwrap() > 0 && run["missed"].as_u64().unwrap() < 1_000, "{run}");
    for provider in provider.split_whitespace() {
        assert!(!Path::new(&format!("/proc/{provider}")).exists(), "process {provider} is still there");
    }
}

#[test]
fn runs_by_k6_are_reported() {
    let place = Place::new();
    let summaries = Path::new(env!("CARGO_MANIFEST_DIR")).join("../loadtest/data/k6");
    let report = |names: &[&str]| {
        let files: Vec<_> = names.iter().map(|name| summaries.join(name).display().to_string()).collect();
        let mut arguments = vec!["loadtest", "report", "--out", "report", "--from-k6"];
        arguments.extend(files.iter().map(String::as_str));
        place.run(&arguments)
    };
    let told = report(&["userinfo.json", "refresh-1-of-2.json", "refresh-2-of-2.json"]).good();
    assert!(told.contains("userinfo 300/s: passed") && told.contains("refresh 101/s: passed"), "{told}");
    assert_eq!(results(&place)["runs"].as_array().unwrap().len(), 2);
    assert!(std::fs::read_to_string(place.path("report/report.html")).unwrap().contains("refresh 101/s"));
    // They can be reported once more, as any results.
    let again = place.run(&["loadtest", "report", "report/results.json", "--out", "again"]).good();
    assert_eq!(again.replace("again", "report"), told);

    report(&["introspect-wrong.json"]).bad(1);
    assert!(report(&["../december-2025.json"]).bad(2).contains("is no summary"));
    assert!(report(&["none.json"]).bad(2).contains("none.json"));
    assert!(place.run(&["loadtest", "report"]).bad(2).contains("--from-k6"));
}
