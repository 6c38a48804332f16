//! The generator's own limit is never the provider's: loads by a process that may open few files, or is held up.

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use symbolon_crypto::SecretString;
use symbolon_loadtest::capacity::{CapacityOptions, capacity};
use symbolon_loadtest::results::{Bottleneck, Results, Run};
use symbolon_loadtest::run::Plan;
use symbolon_loadtest::{RunningTarget, report, run};

use crate::fake::front::{Fate, Fates};
use crate::fake::{Fake, SECRET};
use crate::verdicts::{at_once, options_for, plan, search_options};

/// Where the fake is that this process is to load; set where it is such a process.
const TARGET: &str = "SYMBOLON_TEST_TARGET_OF_A_LIMITED_PROCESS";
/// Begins the line with its results.
const RESULTS: &str = "results: ";
/// Files that it may open: for the connections that a run begins with, and some twenty more.
const FILES: u32 = 110;

/// Runs this test once more, in a process that may open few files, with this fake as its target.
fn by_a_process_with_few_files(test: &str, fake: &Arc<Fake>) -> Results {
    let limited = format!("ulimit -n {FILES} && exec \"$0\" \"$@\"");
    let program = std::env::current_exe().unwrap();
    let ran = Command::new("sh")
        .args(["-c", &limited])
        .arg(program)
        .args(["--exact", test, "--nocapture", "--test-threads", "1"])
        .env(TARGET, fake.url())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    told(&ran)
}

/// The results that a process told.
fn told(ran: &Output) -> Results {
    let out = String::from_utf8_lossy(&ran.stdout);
    let results = out.lines().find_map(|line| line.split_once(RESULTS));
    let (_, results) = results.unwrap_or_else(|| panic!("{out}{}", String::from_utf8_lossy(&ran.stderr)));
    serde_json::from_str(results).unwrap()
}

/// What is to be loaded, where this is the limited process.
fn given() -> Option<RunningTarget> {
    Some(RunningTarget {
        url: std::env::var(TARGET).ok()?,
        others: Vec::new(),
        admin_url: None,
        admin_secret: Some(SecretString::new(SECRET.into())),
        pid: None,
        metrics: None,
    })
}

fn tell(results: &Results) {
    let results = serde_json::to_string(results).unwrap();
    println!("{RESULTS}{results}");
}

#[test]
fn files_that_may_not_be_opened_are_the_generators_limit() {
    if let Some(target) = given() {
        let options = options_for(target, vec![plan(800.0, Duration::from_secs(1))]);
        return tell(&run(&options, &mut Vec::new()).unwrap());
    }
    // A hundred and sixty are in flight at this rate.
    let (fake, front) = Fake::behind("/userinfo", Box::new(|_| Fate::Late(200)));
    let test = "limits::files_that_may_not_be_opened_are_the_generators_limit";
    let results = by_a_process_with_few_files(test, &fake);
    let run = &results.runs[0];
    let limit = run.generator_limit.as_ref().unwrap();
    assert!(limit.contains("may open no more files (ulimit -n says how many)"), "{limit}");
    let used = run.connection_use.as_ref().unwrap();
    assert!(used.lacking && used.refused.as_ref().unwrap().contains("ulimit -n"), "{used:?}");
    assert!(front.counts().most_connections <= u64::from(FILES), "{:?}", front.counts());
    assert!(!results.passed(), "{run:?}");
    let told = report::markdown(&results, None);
    assert!(told.contains("so that the provider's is not known: it could open no more than"), "{told}");
}

/// A search by a process with few files: it says nothing of the provider.
fn assert_nothing_is_claimed(results: &Results) {
    let found = &results.capacities[0];
    assert_eq!(found.bottleneck, Bottleneck::Generator, "{found:?}");
    assert!(found.evidence.contains("may open no more files"), "{found:?}");
    assert!(found.limit > 0.0 && !found.is_claimed() && !results.passed(), "{found:?}");
    let planned = [found.peak, found.normal, found.busiest_hour_requests, found.monthly_active_users];
    assert_eq!(planned, [0.0; 4], "{found:?}");
    let told = report::markdown(results, None);
    let why =
        "The limit of userinfo was not found, because the generator had its own: it could open no more than";
    assert!(told.contains(why), "{told}");
    assert!(!told.contains("userinfo holds"), "{told}");
}

#[test]
fn a_search_that_ends_at_the_generators_files_claims_no_capacity() {
    if let Some(target) = given() {
        // Answers take longer than they may take after the end of so short a try, so the rate is no rule here.
        let options = CapacityOptions { only_thresholds: true, ..search_options(target, 16) };
        return tell(&capacity(&options, &mut Vec::new()).unwrap());
    }
    // More at once than there can be connections.
    let fates: Fates = at_once(1_000, Duration::from_millis(200));
    let (fake, _) = Fake::behind("/userinfo", fates);
    let test = "limits::a_search_that_ends_at_the_generators_files_claims_no_capacity";
    assert_nothing_is_claimed(&by_a_process_with_few_files(test, &fake));
}

#[test]
fn connections_that_could_not_be_opened_are_no_proof_that_more_would_not_help() {
    if let Some(target) = given() {
        return tell(&capacity(&search_options(target, 64), &mut Vec::new()).unwrap());
    }
    // Twelve of 20 ms at once: 600 a second, and a few more connections than 64 carry no more than those.
    let (fake, _) = Fake::behind("/userinfo", at_once(12, Duration::from_millis(20)));
    let test = "limits::connections_that_could_not_be_opened_are_no_proof_that_more_would_not_help";
    let results = by_a_process_with_few_files(test, &fake);
    let is_lacking = |run: &&Run| run.connection_use.as_ref().is_some_and(|used| used.lacking);
    let lacking: Vec<_> = results.runs.iter().filter(is_lacking).collect();
    assert!(!lacking.is_empty(), "{:?}", results.runs);
    assert!(lacking.iter().all(|run| run.generator_limit.is_some()), "{lacking:?}");
}

/// For so long a process is held up, in milliseconds.
const HELD: u64 = 600;

#[test]
fn a_generator_that_is_held_up_says_that_it_sent_late() {
    if let Some(target) = given() {
        let plan = Plan { timeout: Duration::from_secs(10), ..plan(200.0, Duration::from_secs(4)) };
        return tell(&run(&options_for(target, vec![plan]), &mut std::io::stderr()).unwrap());
    }
    let fake = Fake::start(true);
    let test = "limits::a_generator_that_is_held_up_says_that_it_sent_late";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads", "1"])
        .env(TARGET, fake.url())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains(" s left")), "it runs");
    let process = Pid::from_child(&child);
    kill_process(process, Signal::STOP).unwrap();
    std::thread::sleep(Duration::from_millis(HELD));
    kill_process(process, Signal::CONT).unwrap();
    let results = told(&child.wait_with_output().unwrap());
    let run = &results.runs[0];
    // Requests that should have been sent meanwhile waited, and nobody calls that the provider's doing.
    assert!(run.latency.max_ms >= Some(0.9 * HELD as f64), "{:?}", run.latency);
    let limit = run.generator_limit.as_ref().unwrap();
    assert!(limit.contains("ms late at worst"), "{limit}");
    assert_ne!(report::of_run(run), report::PASS);
    let page = report::markdown(&results, None);
    assert!(page.contains("so that the provider's is not known: it sent"), "{page}");
}
