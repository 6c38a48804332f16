//! The gate over two builds in turns: five pairs are judged by their ranks.

use std::process::Command;
use std::time::Duration;

use symbolon_crypto::Algorithm;
use symbolon_loadtest::RunOptions;
use symbolon_loadtest::executor::Schedule;
use symbolon_loadtest::gate::{self, Finding, Pairing, Verdict};
use symbolon_loadtest::run::{Group, Plan, Traffic, run_in_turns};
use symbolon_loadtest::scenario::Scenario;

use crate::fake::Fault;
use crate::fake::process::program;

/// What the gate says of the processor time of a build beside that of an earlier one, each with this fault, after five pairs.
fn in_turns(now: Fault, earlier: Fault) -> Finding {
    let place = tempfile::tempdir().unwrap();
    let schedule = Schedule::constant(200.0, Duration::from_millis(500)).unwrap();
    let plan = Plan { warm_up: Duration::ZERO, ..Plan::new(Scenario::Userinfo, Traffic::Open(schedule)) };
    let group = Group { shards: None, plans: vec![plan] };
    let mut options = RunOptions::new(program(place.path(), now), "gate", vec![group]);
    options.algorithm = Algorithm::Es256;
    options.provider.data_parent = place.path().to_owned();
    options.provider.log = Some(place.path().join("log"));
    options.repeat = 5;
    let earlier = program(place.path(), earlier);
    let (now, before) = run_in_turns(&options, &earlier, &mut Vec::new()).unwrap();
    assert_eq!((now.runs.len(), before.runs.len()), (5, 5), "{:?}", now.partial);
    let tolerances = ["server_cpu_us_per_request=50%".parse().unwrap()];
    let mut gate = gate::compare(&before, &now, &tolerances, Pairing::Turns);
    assert_eq!(gate.findings.len(), 1, "{gate:?}");
    let finding = gate.findings.remove(0);
    assert!(finding.why.contains("5 of each in turns"), "{finding:?}");
    finding
}

#[test]
fn a_build_that_spins_is_worse_beside_one_that_does_not() {
    let found = in_turns(Fault::Spins, Fault::None);
    // All five pairs say so, which chance does once in 32 times.
    assert!(found.verdict == Verdict::Worse && found.why.contains("probability 0.031"), "{found:?}");
    assert!(found.worse_by > Some(0.5), "{found:?}");
}

/// Whether it compiles is seen where the build is made (`scripts/gate_tries`).
#[test]
fn the_patch_of_the_build_that_spins_still_applies() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let checked =
        Command::new("git").args(["apply", "--check", "loadtest/gate/spin.patch"]).current_dir(root).output();
    let checked = checked.unwrap();
    assert!(
        checked.status.success(),
        "scripts/gate_tries needs it: {}",
        String::from_utf8_lossy(&checked.stderr)
    );
}

#[test]
fn the_same_build_is_not_worse_than_itself_nor_a_faster_one() {
    for (now, earlier) in [(Fault::None, Fault::None), (Fault::None, Fault::Spins)] {
        let found = in_turns(now, earlier);
        assert_eq!(found.verdict, Verdict::Held, "{found:?}");
    }
}
