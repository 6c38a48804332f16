//! Results compared, taken from k6, and watched.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use super::{results, run};
use crate::place::Place;

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
    // GitHub says where the summary of its job is.
    let by_github = [("GITHUB_STEP_SUMMARY", "step.md")];
    let compare = |tolerance: &str| {
        let files = ["report/results.json", "--compare", "halved.json", "--out", "again"];
        let all = [&["loadtest", "report"], &files[..], &["--tolerance", tolerance]].concat();
        place.run_with(&all, &by_github, "")
    };
    compare("p50_ms=10%").bad(1);
    compare("p95_ms=10%,p50_ms=100000%").good();
    let step = std::fs::read_to_string(place.path("step.md")).unwrap();
    assert_eq!(step.matches("### Load test: userinfo").count(), 2, "each adds its own: {step}");
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
    let is_beside_december = || {
        let report = std::fs::read_to_string(place.path("again/report.md")).unwrap();
        report.contains("December 2025")
    };
    assert!(!is_beside_december());
    place.run(&["loadtest", "report", "report/results.json", "--out", "again", "--december-2025"]).good();
    assert!(is_beside_december());
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
