//! Counts the instructions of a request of each operation, and compares them with the committed figures. What takes too much
//! is counted once more before that. Some operations are held against others too, whatever the committed figures say.
//!
//! `scripts/instructions` builds what it needs and runs it: `count_instructions BINARY [--baseline FILE] [--runs 1]
//! [--operation NAME] [--dumps DIRECTORY] [--write]`
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a measurement: its report is its output"
)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use symbolon_testkit::drill::Arguments;
use symbolon_testkit::instructions::{
    ALLOWED_PERCENT, Baseline, CountOptions, Counts, Limit, count, count_again,
};

fn main() -> ExitCode {
    let mut arguments = Arguments::of_process();
    let baseline = arguments.text("--baseline").map(PathBuf::from);
    let runs = arguments.number("--runs", 1);
    let operation = arguments.text("--operation");
    let dumps = arguments.text("--dumps").map(PathBuf::from);
    let write = arguments.switch("--write");
    let mut options = CountOptions::new(arguments.binary());
    options.dumps = dumps;
    if let Some(operation) = operation {
        options.operations = vec![operation.parse().expect("--operation")];
    }

    let counted = (0..runs).map(|_| count(&options, &mut std::io::stderr()));
    let counted: Result<Vec<Counts>, _> = counted.collect();
    let counted = counted.unwrap_or_else(|error| panic!("{error}"));
    if runs > 1 {
        print_runs(&counted);
    }
    let counts = medians(&counted);
    match baseline {
        Some(path) if write => write_baseline(&path, counts),
        Some(path) => hold(&path, options, counts),
        None => {
            counts.iter().for_each(|(name, instructions)| println!("| {name} | {instructions} |"));
            match keeps_limits(&counts) {
                true => ExitCode::SUCCESS,
                false => ExitCode::FAILURE,
            }
        }
    }
}

/// Prints the limits of what was counted; whether all are kept.
fn keeps_limits(counts: &Counts) -> bool {
    let limits = Limit::of(counts);
    limits.iter().for_each(|limit| println!("{limit}"));
    limits.iter().all(Limit::is_kept)
}

/// Prints each operation's figures, and the spread between the least and the greatest.
fn print_runs(runs: &[Counts]) {
    for name in runs.iter().flat_map(Counts::keys).collect::<std::collections::BTreeSet<_>>() {
        let figures: Vec<u64> = runs.iter().filter_map(|run| run.get(name).copied()).collect();
        let (least, most) = (figures.iter().min().expect("a run"), figures.iter().max().expect("a run"));
        let spread = (*most as f64 / *least as f64 - 1.0) * 100.0;
        let figures: Vec<String> = figures.iter().map(u64::to_string).collect();
        println!("| {name} | {} | {spread:.2} % |", figures.join(" | "));
    }
}

fn medians(runs: &[Counts]) -> Counts {
    let mut counts = Counts::new();
    for name in runs.iter().flat_map(Counts::keys) {
        let mut figures: Vec<u64> = runs.iter().filter_map(|run| run.get(name).copied()).collect();
        figures.sort_unstable();
        if let Some(median) = figures.get(figures.len() / 2) {
            counts.insert(name.clone(), *median);
        }
    }
    counts
}

/// Writes the counts into the baseline, keeps the figures of other operations, and empties the reason: until a new one
/// is written by hand, the file is refused.
fn write_baseline(path: &Path, counts: Counts) -> ExitCode {
    keeps_limits(&counts);
    let mut operations = Baseline::read(path).map_or_else(|_| Counts::new(), |baseline| baseline.operations);
    operations.extend(counts);
    let baseline = Baseline { reason: String::new(), operations };
    let json = serde_json::to_string_pretty(&baseline).expect("JSON");
    std::fs::write(path, json + "\n").expect("the baseline can be written");
    println!("wrote {}: now write into its `reason` why the figures changed", path.display());
    ExitCode::SUCCESS
}

fn hold(path: &Path, options: CountOptions, counts: Counts) -> ExitCode {
    let baseline = Baseline::read(path).unwrap_or_else(|error| panic!("{error}"));
    let counts = count_again(options, &baseline, counts, &mut std::io::stderr());
    let counts = counts.unwrap_or_else(|error| panic!("{error}"));
    let comparison = baseline.compare(&counts);
    println!("{comparison}");
    let are_limits_kept = keeps_limits(&counts);
    if comparison.improved() {
        println!("An operation takes over {ALLOWED_PERCENT} % less: lower {} with --write.", path.display());
    }
    if comparison.passed() && are_limits_kept {
        return ExitCode::SUCCESS;
    }
    if comparison.passed() {
        println!(
            "An operation takes more of a silent authentication than it may, whatever {} says.",
            path.display()
        );
        return ExitCode::FAILURE;
    }
    println!(
        "An operation takes over {ALLOWED_PERCENT} % more than {} says. Look with --dumps DIRECTORY and callgrind_annotate for \
         what does it. If it is worth it, --write the new figures and say in `reason` what they buy.",
        path.display()
    );
    ExitCode::FAILURE
}
