//! A load test that is killed leaves no provider and no data: a process beside it sees to that.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use symbolon_crypto::Algorithm;
use symbolon_loadtest::run::Group;
use symbolon_loadtest::{RunOptions, guard, run};

use crate::fake::Fault;
use crate::fake::process::{program, script};
use crate::verdicts::plan;

/// Where the data of the provider go which this process is to start and load; set where it is such a process.
const LOADS: &str = "SYMBOLON_TEST_LOADS_WITH_DATA_IN";
/// What this process is to guard; set where it is such a process.
const GUARDS: &str = "SYMBOLON_TEST_GUARDS";
const TEST: &str = "killed::a_load_test_that_is_killed_leaves_no_provider_and_no_data";

/// Starts a provider that does not end with this process, and loads it for longer than the test needs.
fn load(parent: &Path) {
    let place = parent.parent().unwrap();
    let group = Group { shards: None, plans: vec![plan(20.0, Duration::from_secs(120))] };
    let mut options = RunOptions::new(program(place, Fault::Stays), "killed", vec![group]);
    options.algorithm = Algorithm::Es256;
    options.provider.data_parent = parent.to_owned();
    options.provider.log = Some(place.join("log"));
    // It is called as `guard loadtest guard DIRECTORY`.
    options.provider.guard = Some(script((place, "guard"), &format!("{GUARDS}=\"$3\""), TEST));
    run(&options, &mut std::io::stderr()).unwrap();
}

/// The processes whose data are below this directory.
fn serving_from(parent: &Path) -> Vec<String> {
    let wanted = format!("SYMBOLON_DATA_DIR={}/", parent.display());
    let serves = |process: &String| {
        let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one.starts_with(wanted.as_bytes()))
    };
    let all = std::fs::read_dir("/proc").unwrap();
    all.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).filter(serves).collect()
}

#[test]
fn a_load_test_that_is_killed_leaves_no_provider_and_no_data() {
    if let Some(directory) = std::env::var_os(GUARDS) {
        return guard::watch(Path::new(&directory), std::io::stdin().lock()).unwrap();
    }
    if let Some(parent) = std::env::var_os(LOADS) {
        return load(Path::new(&parent));
    }
    let place = tempfile::tempdir().unwrap();
    let parent = place.path().join("data");
    std::fs::create_dir(&parent).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", TEST, "--nocapture", "--test-threads", "1"])
        .env(LOADS, &parent)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains(" s left")), "it runs");
    let there = || std::fs::read_dir(&parent).unwrap().count();
    assert_eq!((serving_from(&parent).len(), there()), (1, 1));
    child.kill().unwrap();
    child.wait().unwrap();
    // Who guards has the same standard error, which ends with it.
    lines.for_each(drop);
    assert_eq!((serving_from(&parent), there()), (Vec::new(), 0));
}
