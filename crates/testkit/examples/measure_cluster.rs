//! Measures what a request costs on the cluster store compared with the embedded one: on nodes, Redis and PostgreSQL.
//!
//! `cargo build --profile dist -p symbolon && cargo run --profile dist -p symbolon-testkit --example measure_cluster --
//! target/dist/symbolon [--nodes 1,2,4] [--scenarios silent,userinfo] [--algorithm RS256] [--rounds 5]
//! [--slice-ms 2000] [--rate N] [--connections 32] [--threads 1] [--out DIR]`
//!
//! It starts PostgreSQL and a Redis Cluster of its own from Debian's packages. `--out` gets `cost.md` and `cost.json`.
//! Exit status 1: an answer was wrong, or silent authentication or UserInfo cost more than 15 µs above the embedded
//! store.
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
use symbolon_testkit::cost::{CostOptions, measure};
use symbolon_testkit::drill::Arguments;

fn main() -> ExitCode {
    let mut arguments = Arguments::of_process();
    let nodes = list(&mut arguments, "--nodes", "1,2,4");
    let scenarios = list(&mut arguments, "--scenarios", "silent,userinfo");
    let algorithm = arguments.text("--algorithm").unwrap_or_else(|| "RS256".to_owned());
    let rounds = arguments.number("--rounds", 5);
    let slice = arguments.number("--slice-ms", 2_000);
    let rate = arguments.text("--rate").map(|rate| rate.parse().expect("--rate: a number"));
    let connections = arguments.number("--connections", 32);
    let threads = arguments.number("--threads", 1);
    let out = arguments.text("--out").map(PathBuf::from);
    let mut options = CostOptions::new(arguments.binary(), "measured");
    (options.nodes, options.scenarios) = (nodes, scenarios);
    options.algorithm = algorithm.parse().expect("--algorithm");
    (options.rounds, options.connections) = (rounds as usize, connections as usize);
    (options.threads, options.rate) = (threads as usize, rate);
    options.slice = Duration::from_millis(slice);

    let report = match measure(engines::shared(), &options, &mut std::io::stderr()) {
        Ok(report) => report,
        Err(error) => panic!("{error}"),
    };
    println!("{report}");
    if let Some(out) = out {
        std::fs::create_dir_all(&out).expect("the directory can be made");
        std::fs::write(out.join("cost.md"), report.to_string()).expect("a file can be written");
        let json = serde_json::to_string_pretty(&report).expect("JSON");
        std::fs::write(out.join("cost.json"), json + "\n").expect("a file can be written");
    }
    if report.errors > 0 || report.above_limit().next().is_some() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// A list of values, separated by commas.
fn list<T: std::str::FromStr>(arguments: &mut Arguments, name: &str, default: &str) -> Vec<T> {
    let text = arguments.text(name).unwrap_or_else(|| default.to_owned());
    let item = |word: &str| word.parse().unwrap_or_else(|_| panic!("{name} {text}: {word} is not one"));
    text.split(',').map(item).collect()
}
