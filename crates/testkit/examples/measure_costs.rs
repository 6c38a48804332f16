//! Measures the inputs of `symbolon loadtest plan`: the cost of every operation at one node, the size of state,
//! rotations per second.
//!
//! `cargo build --profile dist -p symbolon && cargo run --profile dist -p symbolon-testkit --example measure_costs --
//! target/dist/symbolon --out costs.json [--algorithm EdDSA] [--rounds 5] [--slice-ms 2000] [--connections 32]
//! [--rate 200] [--kept 20000]`
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a measurement: its report is its output"
)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use symbolon_store_cluster::engines;
use symbolon_testkit::cost::{CostOptions, PlanningOptions, measure_costs};
use symbolon_testkit::drill::Arguments;

fn main() -> ExitCode {
    let mut arguments = Arguments::of_process();
    let out = arguments.text("--out").map(PathBuf::from).expect("--out FILE: where the costs go");
    let algorithm = arguments.text("--algorithm").unwrap_or_else(|| "EdDSA".to_owned());
    let rounds = arguments.number("--rounds", 5);
    let slice = arguments.number("--slice-ms", 2_000);
    let connections = arguments.number("--connections", 32);
    let rate = arguments.number("--rate", 200);
    let kept = arguments.number("--kept", 20_000);
    let mut cost = CostOptions::new(arguments.binary(), "costs");
    cost.algorithm = algorithm.parse().expect("--algorithm");
    (cost.rounds, cost.connections) = (rounds as usize, connections as usize);
    cost.slice = Duration::from_millis(slice);
    let mut options = PlanningOptions::new(cost);
    (options.rate, options.kept) = (rate as f64, kept as usize);

    let measured = measure_costs(engines::shared(), options, &mut std::io::stderr());
    let (costs, reports) = measured.unwrap_or_else(|error| panic!("{error}"));
    reports.iter().for_each(|report| println!("{report}"));
    let json = serde_json::to_string_pretty(&costs).expect("JSON");
    std::fs::write(&out, json + "\n").expect("the costs can be written");
    ExitCode::SUCCESS
}
