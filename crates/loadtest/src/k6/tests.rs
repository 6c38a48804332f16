use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::report::{html, markdown};

/// What the scripts wrote in real runs.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/k6").join(name)
}

fn read_files(names: &[&str]) -> Results {
    let paths: Vec<_> = names.iter().map(|name| file(name)).collect();
    read(&paths).unwrap()
}

/// The summary of a real run with some members changed.
fn changed(change: &Value) -> Result<Summary, String> {
    let mut summary: Value = serde_json::from_slice(&fs::read(file("userinfo.json")).unwrap()).unwrap();
    for (name, value) in change.as_object().unwrap() {
        summary[name] = value.clone();
    }
    Summary::parse(&summary.to_string())
}

#[test]
fn a_summary_becomes_a_run() {
    let results = read_files(&["userinfo.json"]);
    let run = &results.runs[0];
    assert_eq!((&*results.title, &*run.name), ("userinfo by k6", "userinfo 300/s"));
    assert_eq!(results.provider.algorithm.as_deref(), Some("ES256"));
    assert!(results.passed() && results.partial.is_none());
    assert_eq!((run.requests, run.failures, run.wrong, run.missed), (2_999, 0, 0, 0));
    assert_eq!((run.rate, run.achieved_rate, run.seconds, run.connections), (300.0, 299.9, 10.0, 64));
    assert_eq!((&*run.executor, run.stages.len()), ("ramping-arrival-rate", 3));
    let of = run.latency;
    let latencies = [of.min_ms, of.p50_ms, of.p90_ms, of.p95_ms, of.p99_ms, of.p999_ms, of.max_ms];
    let told: Value = serde_json::from_slice(&fs::read(file("userinfo.json")).unwrap()).unwrap();
    let names = ["min", "p50", "p90", "p95", "p99", "p999", "max"];
    assert_eq!(latencies.map(Value::from), names.map(|name| told["latency_ms"][name].clone()));
    assert_eq!(run.thresholds.len(), 2);
}

#[test]
fn wrong_answers_fail_the_run() {
    let results = read_files(&["introspect-wrong.json"]);
    let run = &results.runs[0];
    assert!(!results.passed());
    assert_eq!((run.requests, run.wrong, run.errors_besides), (200, 91, 17));
    assert_eq!(run.wrong_kinds.get("revoked-accepted"), Some(&28));
}

#[test]
fn instances_are_one_run() {
    let results = read_files(&["refresh-1-of-2.json", "userinfo.json", "refresh-2-of-2.json"]);
    assert_eq!((results.runs.len(), &*results.title, results.partial.as_ref()), (2, "k6", None));
    let run = &results.runs[0];
    assert_eq!((&*run.name, run.requests, run.connections), ("refresh 101/s", 1_010, 32));
    assert_eq!((run.achieved_rate, run.generator), (101.0, Generator::K6 { instances: 2 }));
    let alone =
        ["refresh-1-of-2.json", "refresh-2-of-2.json"].map(|name| read_files(&[name]).runs[0].latency);
    assert!(alone[0].p90_ms.is_some());
    assert_eq!((run.latency.p50_ms, run.latency.p99_ms), (None, None), "percentiles are not merged");
    let least = alone.map(|of| of.min_ms.unwrap()).into_iter().reduce(f64::min);
    assert_eq!(run.latency.min_ms, least);
    let mean = f64::midpoint(alone[0].mean_ms.unwrap(), alone[1].mean_ms.unwrap());
    assert!((run.latency.mean_ms.unwrap() - mean).abs() < 1e-9);
    assert!(results.passed());

    // The same runs again are runs of their own.
    let twice = ["refresh-1-of-2.json", "refresh-2-of-2.json"].repeat(2);
    assert_eq!(read_files(&twice).runs.len(), 2);
}

#[test]
fn instances_that_ran_one_after_the_other_are_not_added_up() {
    let of = |name: &str, started: &str| {
        let mut summary: Value = serde_json::from_slice(&fs::read(file(name)).unwrap()).unwrap();
        summary["started"] = started.into();
        Summary::parse(&summary.to_string()).unwrap()
    };
    let first = || of("refresh-1-of-2.json", "2026-11-22T01:33:29Z");
    let together = super::results(vec![first(), of("refresh-2-of-2.json", "2026-11-22T01:33:31Z")]).unwrap();
    assert_eq!((together.runs.len(), together.partial), (1, None));
    let apart = super::results(vec![first(), of("refresh-2-of-2.json", "2026-11-22T01:45:29Z")]).unwrap();
    assert_eq!(apart.runs.len(), 2);
    assert!(apart.partial.unwrap().contains("instance 2 of 2 is missing or ran at another time"));
}

#[test]
fn a_missing_instance_and_a_run_that_was_cut_short_are_partial() {
    let results = read_files(&["refresh-2-of-2.json"]);
    assert_eq!(
        results.partial.as_deref(),
        Some("refresh 101/s: instance 1 of 2 is missing or ran at another time")
    );
    assert!(!results.passed());
    let short = results_of(changed(&json!({ "ran_seconds": 4.4 })).unwrap());
    assert_eq!(short.partial.as_deref(), Some("userinfo 300/s: it ran 4 of 16 s"));
}

fn results_of(summary: Summary) -> Results {
    super::results(vec![summary]).unwrap()
}

#[test]
fn damaged_files_say_what_is_wrong() {
    for (change, why) in [
        (json!({ "symbolon_k6": 2 }), "it has version 2, and this program reads version 1"),
        (json!({ "symbolon_k6": null }), "it is no summary"),
        (json!({ "scenario": "sleep" }), "unknown variant `sleep`"),
        (json!({ "requests": -1 }), "damaged"),
        (json!({ "rate": 0 }), "above 0"),
        (json!({ "instance": 3 }), "none of instances"),
        (json!({ "wrong": 3_000 }), "than requests"),
        (json!({ "wrong": 1 }), "wrong_kinds"),
        (json!({ "failures": 1 }), "failure_kinds"),
        (json!({ "failure_kinds": { "a": u64::MAX, "b": 2 } }), "failure_kinds"),
        (json!({ "latency_ms": null }), "where there are answers"),
        (json!({ "latency_ms": { "min": 1 } }), "missing field"),
        (
            json!({ "latency_ms": { "min": 1, "mean": 1, "p50": 3, "p75": 2, "p90": 4, "p95": 4, "p99": 4, "p999": 4, "max": 5 } }),
            "rise",
        ),
    ] {
        let told = changed(&change).err().unwrap_or_default();
        assert!(told.contains(why), "{change}: {told}");
    }
    for foreign in ["", "[]", "{", r#"{"metrics":{}}"#, "\u{0}"] {
        assert!(Summary::parse(foreign).is_err(), "{foreign}");
    }
}

#[test]
fn other_files_are_named() {
    let told = read(&[file("none.json")]).unwrap_err().to_string();
    assert!(told.contains("data/k6/none.json"), "{told}");
    assert!(read(&[]).unwrap_err().to_string().contains("no summary"));
}

#[test]
fn nothing_answered_is_no_praise() {
    let none = json!({ "requests": 0, "latency_ms": null, "missed": 3_000 });
    let results = results_of(changed(&none).unwrap());
    assert!(!results.passed());
    assert_eq!(results.runs[0].latency, results::Latency::default());
}

#[test]
fn the_report_says_that_k6_sent() {
    let results = read_files(&["refresh-1-of-2.json", "refresh-2-of-2.json"]);
    for page in [markdown(&results, None), html(&results, None)] {
        assert!(page.contains("from the sending of the request"), "{page}");
        assert!(
            !page.contains("from the intended arrival:") && !page.contains("ms, from the intended arrival")
        );
        assert!(page.contains("2 instances"), "{page}");
        assert!(page.contains("k6 does not say"), "{page}");
        assert!(
            !page.contains("Generator CPU") && !page.contains("Request duration in the server"),
            "{page}"
        );
    }
}
