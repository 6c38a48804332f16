use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
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
    let lenient = ["--out", "report", "--only-thresholds", "--threshold", "failure_share<=1"];
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
    assert_eq!((&results["version"], &results["title"]), (&2.into(), &"userinfo".into()));
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
    let results = results(&place);
    let thresholds = results["runs"][0]["thresholds"].as_array().unwrap();
    let held: Vec<_> = thresholds.iter().map(|of| (of["name"].as_str().unwrap(), &of["held"])).collect();
    assert_eq!(held, [("failure_share", &true.into()), ("p50_ms", &false.into())]);
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
fn a_day_starts_a_provider_of_its_own_and_has_a_verdict_for_each_scenario() {
    let place = Place::new();
    let parent = place.path("").display().to_string();
    let short = ["loadtest", "day", "--preset", "shop", "--duration", "6s", "--scale", "0.5"];
    let result = place.run(&[&short[..], &["--out", "report", "--data-parent", &parent]].concat());
    let results = results(&place);
    let run = &results["runs"][0];
    assert_eq!((&run["executor"], &run["wrong"], &run["missed"]), (&"mixture".into(), &0.into(), &0.into()));
    let kinds = run["kinds"].as_array().unwrap();
    let names: Vec<_> = kinds.iter().map(|kind| kind["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["exchange", "login", "refresh", "silent", "userinfo"]);
    let right: u64 = kinds.iter().map(|kind| kind["right"].as_u64().unwrap()).sum();
    assert_eq!(run["requests"], right);
    // Rates stay as they are in a day that is shorter: of the storm's logins one is left.
    assert_eq!(run["day"]["storms"][0]["requests"], 1);
    // So short a run holds no P99; each limit that broke is named with its scenario, and then the run has failed.
    result.bad(1);
    let report = std::fs::read_to_string(place.path("report/report.md")).unwrap();
    let limits = run["thresholds"].as_array().unwrap();
    let broken: Vec<&Value> = limits.iter().filter(|limit| limit["held"] == false).collect();
    assert!(broken.iter().any(|limit| limit["scenario"] == "userinfo"), "{broken:?}");
    for limit in broken {
        let scenario = limit["scenario"].as_str().map(|scenario| format!("{scenario} ")).unwrap_or_default();
        assert!(report.contains(&format!(": {scenario}{} ", limit["name"].as_str().unwrap())), "{report}");
    }
    let report = std::fs::read_to_string(place.path("report/report.html")).unwrap();
    for part in ["Scenarios of the day, and their limits", "Storms", "purchase", "dashed: what was asked for"]
    {
        assert!(report.contains(part), "{part}");
    }
}

#[test]
fn a_days_mix_is_taken_from_a_providers_metrics() {
    let place = Place::new();
    let _server = place.serve(&[("SYMBOLON_ADMIN_ON_PUBLIC", "true"), ("SYMBOLON_RATE_LIMITS", "off")]);
    let url = format!("http://{}", place.listen());
    let target = ["--target", &*url, "--admin-secret", SECRET, "--warm-up", "0s", "--out", "report"];
    let short = ["--duration", "1s", "--only-thresholds", "--threshold", "failure_share<=0"];
    for (scenario, rate) in
        [("login", "3"), ("client-credentials", "40"), ("userinfo", "20"), ("silent", "30")]
    {
        let run = ["loadtest", "run", scenario, "--rate", rate];
        place.run(&[&run[..], &short, &target].concat()).good();
    }
    let metrics = format!("http://{}/metrics", place.management());
    let told = place.run(&["loadtest", "day", "--mix-from", &metrics]).good();
    let count = |scenario: &str| -> u64 {
        let line = told.lines().find(|line| line.starts_with(&format!("{scenario} = ")));
        line.and_then(|line| line.rsplit_once("# ")?.1.parse().ok())
            .unwrap_or_else(|| panic!("{scenario}: {told}"))
    };
    assert_eq!([count("login"), count("client-credentials"), count("userinfo")], [3, 40, 20], "{told}");
    // Planting looks at a few tokens of its own by silent requests and their codes.
    let planted = count("code");
    assert_eq!(count("silent"), 30 + planted, "{told}");
    assert!((1..=20).contains(&planted) && told.contains("#   admin: "), "{told}");
}

#[test]
fn a_day_is_printed_and_mistakes_in_it_are_told_with_their_mend() {
    let place = Place::new();
    let printed = place.run(&["loadtest", "day", "--preset", "company", "--print"]).good();
    assert!(printed.contains("[[journey]]") && printed.contains("# Nine o'clock"), "{printed}");
    for (from, to, told) in [
        ("peak = 40", "peak = -1", "peak = -1: write how many arrive per second"),
        ("silent = 45", "silnt = 45", "silnt"),
        ("think_times = \"compressed\"\n", "", "think_times is missing"),
        ("peak = 40", "peek = 40", "unknown field `peek`"),
    ] {
        std::fs::write(place.path("mine.toml"), printed.replacen(from, to, 1)).unwrap();
        let words = place.run(&["loadtest", "day", "mine.toml"]).bad(2);
        assert!(words.contains("mine.toml: ") && words.contains(told), "{words}");
    }
    assert!(place.run(&["loadtest", "day", "--preset", "bank"]).bad(2).contains("api-platform"));
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
    let search =
        ["loadtest", "capacity", "discovery", "--from", "200", "--probe", "200ms", "--precision", "0.7"];
    // The timeout ends a try at a rate that nobody could carry.
    let rules = ["--threshold", "success_share>=1", "mean_ms>0", "--out", "report", "--timeout", "400ms"];
    let ran = place.run(&[&search[..], &rules].concat());
    let results = results(&place);
    let (found, runs) = (&results["capacities"][0], results["runs"].as_array().unwrap());
    let limit = found["limit"].as_f64().unwrap();
    assert!(limit >= 25.0 && found["failing"].as_f64().unwrap() > limit, "{found}");
    // Beside other tests the generator may be the first to have no time left: nothing is claimed of the provider then.
    let by_generator = ["generator", "generator-cpu"].contains(&found["bottleneck"].as_str().unwrap());
    if by_generator {
        assert!(ran.out.contains("the provider's limit was not found"), "{}", ran.out);
        ran.bad(1);
    } else {
        let told = ran.good();
        assert!(told.contains("discovery holds ") && told.contains("monthly active users"), "{told}");
    }
    assert_eq!(found["peak"].as_f64().unwrap(), if by_generator { 0.0 } else { 0.8 * limit });
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
fn a_load_test_that_is_killed_leaves_no_provider_and_no_data() {
    let place = Place::new();
    let parent = place.path("parent").display().to_string();
    std::fs::create_dir(&parent).unwrap();
    let forever =
        ["loadtest", "run", "userinfo", "--rate", "50", "--duration", "1h", "--data-parent", &parent];
    let mut command = place.command(&forever, &[]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains(" s left")), "it runs");
    let pid = child.id();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let there = || std::fs::read_dir(&parent).unwrap().count();
    assert_eq!((children.split_whitespace().count(), there()), (2, 1), "the provider, and who watches");
    rustix::process::kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    // Who watches has the same standard error, which ends with it.
    lines.for_each(drop);
    assert_eq!(there(), 0);
    for process in children.split_whitespace() {
        assert!(!is_running(process), "process {process} is still there");
    }
}

/// A process that ended, and whose end nobody has asked for, has no command line any more.
fn is_running(process: &str) -> bool {
    std::fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|line| !line.is_empty())
}

#[test]
fn an_admin_api_elsewhere_and_an_issuer_with_a_path_are_reached() {
    let place = Place::new();
    let _server = place.serve(&[("SYMBOLON_RATE_LIMITS", "off"), ("SYMBOLON_LISTEN", "127.0.0.1:0")]);
    let url = format!("http://{}", place.listen());
    let at = |target: &str, more: &[&str]| {
        let target = ["--target", target, "--admin-secret", SECRET];
        place.run(&run(&[&target[..], more].concat()))
    };
    // Its mend is told where it is not there, and for an address without a scheme.
    assert!(at(&url, &[]).bad(2).contains("--admin-url"));
    let bare = url.trim_start_matches("http://");
    assert!(at(bare, &[]).bad(2).contains(&format!("it needs a scheme: {url} or https://{bare}")));
    let admin = format!("http://{}/api/admin", place.management());
    assert!(at(&url, &["--admin-url", &admin]).good().contains("0 failed, 0 wrong, 0 missed"));
    let issuer = r#"{ "id": "t", "url": "http://issuer.test/t" }"#;
    assert_eq!(place.admin("POST", "/issuers", issuer).0, 201);
    let (url, admin) = (format!("{url}/t"), format!("{admin}/issuers/t"));
    assert!(at(&url, &["--admin-url", &admin]).good().contains("0 failed, 0 wrong, 0 missed"));
}

#[test]
fn an_issuer_with_a_path_is_found_in_the_admin_api_by_its_url() {
    let place = Place::new();
    // The public listener tells issuers apart by their host, so that they must name it as it is.
    let address = symbolon_loadtest::free_address().unwrap().to_string();
    let url = format!("http://{address}");
    let _server = place.serve(&[
        ("SYMBOLON_RATE_LIMITS", "off"),
        ("SYMBOLON_ADMIN_ON_PUBLIC", "true"),
        ("SYMBOLON_ISSUER", &url),
        ("SYMBOLON_LISTEN", &address),
    ]);
    let url = format!("{url}/t");
    let issuer = format!(r#"{{ "id": "t", "url": "{url}" }}"#);
    assert_eq!(place.admin("POST", "/issuers", &issuer).0, 201);
    let told = place.run(&run(&["--target", &url, "--admin-secret", SECRET])).good();
    assert!(told.contains("0 failed, 0 wrong, 0 missed"), "{told}");
    assert_eq!(results(&place)["provider"]["issuer"], url);
}

#[test]
fn repeats_beside_an_earlier_build_pass_a_gate_or_not() {
    let place = Place::new();
    let own = env!("CARGO_BIN_EXE_symbolon");
    let turns = |tolerance: &str| {
        let more = ["--beside", own, "--repeat", "3", "--tolerance", tolerance, "--junit", "junit.xml"];
        place.run_with(
            &run(&[&["--duration", "1s", "--job-summary", "summary.md"], &more[..]].concat()),
            &[],
            "",
        )
    };
    // Three pairs can never be so improbable that they show anything: the medians are compared.
    let told = turns("server_cpu_us_per_request=1000%").good();
    assert!(
        told.contains("server_cpu_us_per_request held") && told.contains("3 of each: nothing is known"),
        "{told}"
    );
    let (now, before) = (results(&place), std::fs::read(place.path("report/earlier.json")).unwrap());
    let before: Value = serde_json::from_slice(&before).unwrap();
    for results in [&now, &before] {
        let names: Vec<_> =
            results["runs"].as_array().unwrap().iter().map(|run| run["name"].as_str().unwrap()).collect();
        assert_eq!(names.len(), 3);
        assert!(names[2].ends_with(" (3 of 3)"), "{names:?}");
    }
    let junit = std::fs::read_to_string(place.path("junit.xml")).unwrap();
    assert!(junit.contains("tests=\"4\" failures=\"0\""), "{junit}");
    let summary = std::fs::read_to_string(place.path("summary.md")).unwrap();
    assert!(summary.contains("- ✓ userinfo 50/s"), "{summary}");

    // A report is compared by the same rules: half of it is more than is tolerated.
    let mut halved = now.clone();
    for run in halved["runs"].as_array_mut().unwrap() {
        run["p50_ms"] = (run["p50_ms"].as_f64().unwrap() / 100.0).into();
    }
    std::fs::write(place.path("halved.json"), halved.to_string()).unwrap();
    let compare = |tolerance: &str| {
        let files = ["report/results.json", "--compare", "halved.json", "--out", "again"];
        place.run(&[&["loadtest", "report"], &files[..], &["--tolerance", tolerance]].concat())
    };
    compare("p50_ms=10%").bad(1);
    compare("p95_ms=10%,p50_ms=100000%").good();
    let drawn = [
        "loadtest",
        "report",
        "report/results.json",
        "--history",
        "halved.json,report/earlier.json",
        "--out",
        "again",
    ];
    place.run(&drawn).good();
    assert!(std::fs::read_to_string(place.path("again/report.html")).unwrap().contains("<h2>History</h2>"));
    let told = place.run(&["loadtest", "report", "report/results.json", "--tolerance", "p50_ms=1%"]).bad(2);
    assert!(told.contains("--tolerance needs --compare"), "{told}");
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

#[test]
fn a_run_is_watched_on_its_page_until_it_ends() {
    let place = Place::new();
    let parent = place.path("").display().to_string();
    let watched = run(&["--live", "127.0.0.1:0", "--data-parent", &parent]);
    let mut command = place.command(&watched, &[]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let address =
        lines.find_map(|line| Some(line.strip_prefix("live: http://")?.trim_end_matches('/').to_owned()));
    let mut stream = TcpStream::connect(address.unwrap()).unwrap();
    let drained = std::thread::spawn(move || lines.for_each(drop));
    write!(stream, "GET /events HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut told = String::new();
    stream.read_to_string(&mut told).unwrap();
    let (course, end) = told.split_once("event: end").unwrap();
    assert!(course.contains("event: course"), "{course}");
    assert!(end.contains("The report is report/report.html.") && end.contains("userinfo 50/s"), "{end}");
    // The stream was read to its end, and the command ends too.
    assert!(child.wait().unwrap().success());
    drained.join().unwrap();
}

#[test]
fn who_cannot_watch_is_told_before_the_load() {
    let place = Place::new();
    std::fs::write(place.path("fields"), "no field\n").unwrap();
    for (more, why) in [
        (&["--live", "8123"][..], "127.0.0.1:8123"),
        (&["--live", "192.0.2.1:1"], "cannot listen on 192.0.2.1:1"),
        (&["--otlp", "collector:4318"], "no http or https URL"),
        (&["--remote-write", "http://u:p@127.0.0.1/"], "file of header fields"),
        (&["--otlp-header-file", "fields"], "--otlp"),
        (&["--otlp", "http://127.0.0.1:1", "--otlp-header-file", "fields"], "line 1 is no header field"),
    ] {
        let told = place.run(&run(more)).bad(2);
        assert!(told.contains(why), "{more:?}: {told}");
    }
    // Every command that loads takes them.
    for command in [
        &["soak", "userinfo", "--rate", "10"][..],
        &["suite", "december-2025"],
        &["day", "--preset", "shop"],
        &["shards", "silent", "--rate", "10"],
        &["capacity", "userinfo"],
    ] {
        let line = [&["loadtest"][..], command, &["--out", "out", "--live", "192.0.2.1:1"]].concat();
        let told = place.run(&line).bad(2);
        assert!(told.contains("cannot listen on 192.0.2.1:1"), "{command:?}: {told}");
    }
}
