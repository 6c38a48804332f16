//! Kills the server again and again under mixed load, and verifies after each start that everything acknowledged holds.
//!
//! `cargo run -p symbolon-testkit --example drill_kill -- target/debug/symbolon [--kills 50] [--seed N] [--workers 6]`
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a drill: a failure is a failed drill, and counts are its output"
)]

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use symbolon_testkit::drill::{
    Arguments, Crew, Depth, Dice, Launch, Pressure, RelyingPartyAtHand, unix_micros,
};

/// The least and the most milliseconds of load before a kill.
const LOAD: [usize; 2] = [150, 1_500];

fn main() -> ExitCode {
    let mut arguments = Arguments::of_process();
    let kills = arguments.number("--kills", 50);
    let seed = arguments.number("--seed", unix_micros());
    let workers = arguments.number("--workers", 6);
    let binary = arguments.binary();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let log = directory.path().join("log");
    let launch = Launch::new(&binary, &directory.path().join("data"), &log);
    println!("seed {seed}");

    let began = unix_micros();
    let mut dice = Dice::new(seed);
    let mut provider = launch.start().expect("the first start");
    let party = RelyingPartyAtHand::register(&launch.wire()).expect("an answer");
    let mut crew = Crew::new(party, workers as usize, seed).with_crowds(1_000);
    let mut slowest = 0;
    for kill in 1..=kills {
        let pause = LOAD[0] + dice.below(LOAD[1] - LOAD[0]);
        crew.load(&launch.wire(), Pressure::None, |over| {
            std::thread::sleep(Duration::from_millis(pause as u64));
            over.store(true, Ordering::SeqCst);
            provider.kill();
        });
        let restarted = unix_micros();
        provider = match launch.start() {
            Ok(provider) => provider,
            Err(said) => {
                println!("VIOLATION  after kill {kill}: {said}");
                return ExitCode::FAILURE;
            }
        };
        slowest = slowest.max(unix_micros() - restarted);
        let depth = if kill == kills { Depth::ALL } else { Depth { youngest: 150, others: 50 } };
        let tally = crew.verify(&launch.wire(), depth);
        println!("kill {kill}: {} acknowledged, {} violations", tally.acknowledged(), tally.violations());
    }
    provider.stop();
    let tally = crew.tally();
    println!("{tally}");
    println!("{kills:>9}  kills");
    println!(
        "slowest start {} ms; {} s in all; seed {seed}",
        slowest / 1000,
        (unix_micros() - began) / 1_000_000
    );
    if tally.violations() > 0 {
        println!("the server's log:\n{}", std::fs::read_to_string(&log).unwrap_or_default());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
