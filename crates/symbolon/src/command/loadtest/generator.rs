//! `symbolon loadtest generator`.

use std::io::Write;
use std::time::Duration;

use clap::{Arg, ArgMatches, Command, value_parser};
use symbolon_loadtest::measure::{GeneratorOptions, generator};

use super::run::{number, time};
use crate::command::CommandError;

pub(super) fn command() -> Command {
    let number = |name: &'static str, default: &'static str, help: &'static str| {
        let number = value_parser!(u32).range(1..=100_000);
        Arg::new(name).long(name).value_name("NUMBER").default_value(default).value_parser(number).help(help)
    };
    Command::new("generator")
        .about("Measure what the load generator itself can send, and what that costs")
        .long_about(
            "Sends requests at a rate to a bare server that is started for it, on one thread unless --threads says \
             otherwise. Exit status: 0 every arrival was sent and answered in time, 1 not so, 2 it could not run.",
        )
        .arg(number("rate", "60000", "Requests per second"))
        .arg(time("duration", "For how long").default_value("10s"))
        .arg(number("connections", "64", "Connections at most"))
        .arg(number("threads", "1", "Threads that send"))
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let program = std::env::current_exe();
    let report = generator(&GeneratorOptions {
        program: program.map_err(|source| CommandError::File { path: "this program".into(), source })?,
        rate: number(matches, "rate") as f64,
        duration: matches.get_one::<Duration>("duration").copied().unwrap_or_default(),
        connections: number(matches, "connections"),
        threads: number(matches, "threads"),
    })?;
    write!(std::io::stdout().lock(), "{report}")?;
    if report.passed() { Ok(()) } else { Err(CommandError::Failed("the rate was not reached")) }
}
