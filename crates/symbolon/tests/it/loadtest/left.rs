//! What a load test leaves: settings as they were, no provider, no data.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal};
use serde_json::Value;

use super::{results, run};
use crate::place::{Place, SECRET};

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

/// A load test that has changed settings, and is killed then.
fn kill_one_that_has_changed_settings(place: &Place, target: &[&str]) {
    let before = changed_by_load(place);
    let long = ["loadtest", "run", "code", "--rate", "5", "--duration", "1m", "--warm-up", "0s"];
    let mut child = place.command(&[&long[..], target].concat(), &[]).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("obtaining 300 codes")));
    rustix::process::kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    assert_ne!(changed_by_load(place), before, "nobody could put them back");
}

#[test]
fn what_a_killed_load_test_changed_is_put_back_by_restore_or_by_the_next() {
    let place = Place::new();
    let _server = place.serve(&[("SYMBOLON_ADMIN_ON_PUBLIC", "true"), ("SYMBOLON_RATE_LIMITS", "off")]);
    assert_eq!(place.admin("PATCH", "/settings", r#"{ "lifetimes": { "code": 45 } }"#).0, 200);
    let before = changed_by_load(&place);
    let url = format!("http://{}", place.listen());
    let target = ["--target", &*url, "--admin-secret", SECRET];
    let restore = || place.run(&[&["loadtest", "restore"][..], &target].concat());
    assert!(restore().good().contains("nothing was noted that could be put back"));

    kill_one_that_has_changed_settings(&place, &target);
    assert!(place.run(&["loadtest", "restore", "--target", &url]).bad(2).contains("--admin-secret"));
    assert!(restore().good().contains("its settings are as they were"));
    assert_eq!(changed_by_load(&place), before);
    assert!(restore().good().contains("nothing was noted that could be put back"));

    kill_one_that_has_changed_settings(&place, &target);
    let next = place.run(&run(&target));
    assert!(next.error.contains("a load test before this one was cut off"), "{}", next.error);
    next.good();
    assert_eq!(changed_by_load(&place), before);
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

/// A load test without an end, whose data go there; and its standard error, line by line.
fn without_end(place: &Place, parent: &Path) -> (Child, impl Iterator<Item = String>) {
    std::fs::create_dir(parent).unwrap();
    let parent = parent.display().to_string();
    let arguments =
        ["loadtest", "run", "userinfo", "--rate", "50", "--duration", "1h", "--data-parent", &parent];
    let mut command = place.command(&arguments, &[]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    (child, lines)
}

/// The processes that it started.
fn children(of: &Child) -> Vec<String> {
    let pid = of.id();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children.split_whitespace().map(str::to_owned).collect()
}

/// Kills it, and waits for who watches; nothing is left then.
fn kill_and_see_nothing_left(mut child: Child, lines: impl Iterator<Item = String>, parent: &Path) {
    let children = children(&child);
    assert_eq!(children.len(), 2, "the provider, and who watches");
    let there = || std::fs::read_dir(parent).unwrap().count();
    assert_eq!(there(), 1);
    rustix::process::kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    child.wait().unwrap();
    // Who watches has the same standard error, which ends with it.
    lines.for_each(drop);
    assert_eq!(there(), 0);
    for process in children {
        assert!(!is_running(&process), "process {process} is still there");
    }
}

#[test]
fn a_load_test_that_is_killed_leaves_no_provider_and_no_data() {
    let place = Place::new();
    let parent = place.path("parent");
    let (child, mut lines) = without_end(&place, &parent);
    assert!(lines.any(|line| line.contains(" s left")), "it runs");
    kill_and_see_nothing_left(child, lines, &parent);
}

#[test]
fn a_load_test_that_is_killed_while_its_provider_starts_leaves_neither() {
    let place = Place::new();
    let parent = place.path("parent");
    let (mut child, lines) = without_end(&place, &parent);
    // As soon as there is a provider it has not yet said that it listens.
    while children(&child).len() < 2 {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        std::thread::yield_now();
    }
    kill_and_see_nothing_left(child, lines, &parent);
}

/// A process that ended, and whose end nobody has asked for, has no command line any more.
fn is_running(process: &str) -> bool {
    std::fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|line| !line.is_empty())
}
