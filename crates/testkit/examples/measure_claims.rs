//! Measures what groups and claims of one's own cost at a refresh: CPU time of a server with and without them, in turn.
//!
//! `cargo build --profile dist -p symbolon && cargo run --profile dist -p symbolon-testkit --example measure_claims --
//! target/dist/symbolon [--rounds 7] [--slice-ms 2000] [--connections 32]`
//!
//! Exit status 1: 20 groups and a claim by a condition cost more than they may.
#![allow(clippy::panic, clippy::print_stdout, reason = "a measurement: its report is its output")]

use std::process::ExitCode;
use std::time::Duration;

use symbolon_testkit::cost::{ClaimsOptions, measure_claims};
use symbolon_testkit::drill::Arguments;

fn main() -> ExitCode {
    let mut arguments = Arguments::of_process();
    let rounds = arguments.number("--rounds", 7) as usize;
    let slice = Duration::from_millis(arguments.number("--slice-ms", 2_000));
    let connections = arguments.number("--connections", 32) as usize;
    let options = ClaimsOptions { binary: arguments.binary(), rounds, slice, connections };
    let report = measure_claims(&options, &mut std::io::stderr()).unwrap_or_else(|error| panic!("{error}"));
    println!("{report}");
    if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
