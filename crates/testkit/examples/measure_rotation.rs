//! Measures refresh rotations per second: batches of the cluster store against one statement each, on one PostgreSQL,
//! in turn.
//!
//! `cargo run --profile dist -p symbolon-testkit --example measure_rotation -- [--in-flight 1024] [--families 8]
//! [--connections 16] [--rounds 5] [--slice-ms 2000] [--json FILE]`
//!
//! Exit status 1: the batches were not 5 times as fast.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a measurement: its report is its output")]

use std::process::ExitCode;
use std::time::Duration;

use symbolon_store_cluster::engines;
use symbolon_testkit::cost::{LIMIT_RATIO, RotationOptions, measure_rotation};
use symbolon_testkit::drill::Arguments;
use tikv_jemallocator::Jemalloc;

/// The provider's allocator.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    let mut arguments = Arguments::of_process();
    let mut options = RotationOptions::new("rotation");
    let mut number = |name: &str, default: usize| arguments.number(name, default as u64) as usize;
    options.in_flight = number("--in-flight", options.in_flight);
    options.families = number("--families", options.families);
    options.connections = number("--connections", options.connections);
    options.rounds = number("--rounds", options.rounds);
    options.slice = Duration::from_millis(number("--slice-ms", 2_000) as u64);
    let json = arguments.text("--json");
    let report = measure_rotation(engines::shared(), &options).expect("a measurement");
    println!("{report}");
    if let Some(json) = json {
        let text = serde_json::to_string_pretty(&report).expect("JSON");
        std::fs::write(json, text + "\n").expect("a file can be written");
    }
    if report.ratio < LIMIT_RATIO { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
