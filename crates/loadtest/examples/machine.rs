//! What this machine gives: signatures, a bare axum server, and the load generator itself.
//!
//! `cargo run --profile dist -p symbolon-loadtest --example machine`

use std::io::{stderr, stdout};
use std::process::ExitCode;

use symbolon_loadtest::hello::{self, Runtimes};
use symbolon_loadtest::{LoadtestError, MeasureOptions, measure};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let served = match arguments.first().map(String::as_str) {
        Some("hello") => serve(&arguments),
        _ => measure_machine(),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(arguments: &[String]) -> Result<(), LoadtestError> {
    let per_core = arguments.iter().any(|argument| argument == "--per-core");
    let runtimes = if per_core { Runtimes::PerCore } else { Runtimes::Shared };
    hello::serve(([127, 0, 0, 1], 0).into(), runtimes, &mut stdout())
}

fn measure_machine() -> Result<(), LoadtestError> {
    let mut options = MeasureOptions::new(std::env::current_exe()?);
    options.scenarios.clear();
    options.hello_arguments = vec!["hello".into()];
    let report = measure(&options, &mut stderr())?;
    println!("{report}");
    Ok(())
}
