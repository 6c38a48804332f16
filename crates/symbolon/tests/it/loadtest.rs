//! `symbolon loadtest`, by the binary.

mod day;
mod faulty;
mod left;
mod reports;
mod seed;
mod soak;
mod target;

use serde_json::Value;

use crate::place::{Place, SECRET};

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
    // What it ran with.
    let environment = &results["environment"];
    for (name, parts) in [
        ("Store", &["embedded, with fresh data in ", parent.as_str()][..]),
        ("Rate limits", &["off"]),
        ("Test endpoints", &["on"]),
        ("Seed", &["users, ", "4000 access tokens", "planted in ", " s"]),
        ("Settings", &["lifetimes.access_token 3600", "introspection_strict false"]),
    ] {
        let told = environment[name].as_str().unwrap_or_default();
        assert!(parts.iter().all(|part| told.contains(part)), "{name}: {environment}");
    }
    let report = std::fs::read_to_string(place.path("report/report.md")).unwrap();
    assert!(report.contains("- Rate limits: off") && report.contains("- Settings: "), "{report}");
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
fn capacity_is_searched_for_each_number_of_shards() {
    let place = Place::new();
    let of = |scenario| ["loadtest", "capacity", scenario, "--shards", "8,1", "--out", "report"];
    assert!(place.run(&of("discovery")).bad(2).contains("scenario discovery uses no shards"));
    let short = ["--from", "200", "--probe", "200ms", "--precision", "0.9", "--timeout", "400ms"];
    let ran = place.run(&[&of("silent")[..], &short].concat());
    let results = results(&place);
    let shards: Vec<_> =
        results["capacities"].as_array().unwrap().iter().map(|found| found["shards"].as_u64()).collect();
    assert_eq!(shards, [Some(1), Some(8)], "{}{}", ran.out, ran.error);
    assert!(ran.out.contains("silent: 8 shards beside 1: "), "{}", ran.out);
    let report = std::fs::read_to_string(place.path("report/report.md")).unwrap();
    assert!(report.contains("Highest rate without failure by number of shards"), "{report}");
}

#[test]
fn the_generator_is_measured_against_a_bare_server() {
    let told = Place::new().run(&["loadtest", "generator", "--rate", "500", "--duration", "1s"]);
    let line = "/s of 500/s: 500 requests, 0 failed, 0 wrong, 0 missed";
    assert!(told.out.contains(line) && told.out.contains("generator: "), "{}", told.out);
}
