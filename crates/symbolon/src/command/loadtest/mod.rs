//! `symbolon loadtest`.

mod agent;
mod capacity;
mod day;
mod generator;
mod output;
mod plan;
mod report;
mod restore;
mod run;
mod seed;
mod shards;
mod soak;
mod suite;
mod target;
mod terminal;
mod watch;
mod work;

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_loadtest::hello::{self, Runtimes};
use symbolon_loadtest::scenario::Scenario;
use symbolon_loadtest::{MeasureOptions, measure};

use super::CommandError;

pub(super) fn command() -> Command {
    Command::new("loadtest")
        .about("Load a provider and say what it holds, and what requests cost")
        .subcommand_required(true)
        .subcommand(run::command())
        .subcommand(soak::command())
        .subcommand(suite::command())
        .subcommand(day::command())
        .subcommand(agent::command())
        .subcommand(capacity::command())
        .subcommand(plan::command())
        .subcommand(shards::command())
        .subcommand(seed::command())
        .subcommand(report::command())
        .subcommand(restore::command())
        .subcommand(restore::guard_command())
        .subcommand(measure_command())
        .subcommand(generator::command())
        .subcommand(
            Command::new("hello")
                .about("Serve the bare axum server that figures are compared with, until standard input ends")
                .arg(
                    Arg::new("listen")
                        .long("listen")
                        .value_name("IP:PORT")
                        .default_value("127.0.0.1:0")
                        .value_parser(value_parser!(SocketAddr)),
                )
                .arg(
                    Arg::new("per-core")
                        .long("per-core")
                        .action(ArgAction::SetTrue)
                        .help("One runtime per core instead of one for all"),
                ),
        )
}

fn measure_command() -> Command {
    let number = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("NUMBER").value_parser(value_parser!(usize)).help(help)
    };
    Command::new("measure")
        .about("Measure the server's CPU per request beside this machine's cryptography and bare HTTP")
        .arg(
            Arg::new("scenario")
                .value_name("SCENARIO")
                .num_args(0..)
                .value_parser(value_parser!(Scenario))
                .help("Which ones; all without"),
        )
        .arg(number(
            "connections",
            "Requests in flight at most, each on a connection of its own; HTTP/2 shares connections",
        ))
        .arg(number("threads", "Threads of the generator"))
        .arg(number("rounds", "Rounds that count; the median of them is told"))
        .arg(
            Arg::new("slice-ms")
                .long("slice-ms")
                .value_name("MILLISECONDS")
                .value_parser(value_parser!(u64).range(1..))
                .help("How long a scenario is loaded in each round"),
        )
        .arg(
            Arg::new("requests")
                .long("requests")
                .value_name("NUMBER")
                .value_parser(value_parser!(u64).range(1..))
                .help("End a slice after this many requests instead"),
        )
        .args(target::arguments("RS256"))
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print JSON"))
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("run", matches)) => run::run(matches),
        Some(("soak", matches)) => soak::run(matches),
        Some(("suite", matches)) => suite::run(matches),
        Some(("day", matches)) => day::run(matches),
        Some(("agent", matches)) => agent::run(matches),
        Some(("capacity", matches)) => capacity::run(matches),
        Some(("plan", matches)) => plan::run(matches),
        Some(("shards", matches)) => shards::run(matches),
        Some(("seed", matches)) => seed::run(matches),
        Some(("report", matches)) => report::run(matches),
        Some(("restore", matches)) => restore::run(matches),
        Some(("guard", matches)) => restore::run_guard(matches),
        Some(("measure", matches)) => run_measure(matches),
        Some(("generator", matches)) => generator::run(matches),
        Some(("hello", matches)) => {
            let runtimes = if matches.get_flag("per-core") { Runtimes::PerCore } else { Runtimes::Shared };
            let listen = matches.get_one::<SocketAddr>("listen").copied();
            let listen = listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
            Ok(hello::serve(listen, runtimes, &mut std::io::stdout())?)
        }
        _ => Ok(()),
    }
}

fn options(matches: &ArgMatches) -> Result<MeasureOptions, CommandError> {
    let mut options = MeasureOptions::new(PathBuf::new());
    options.provider = target::provider(matches)?;
    if let Some(scenarios) = matches.get_many::<Scenario>("scenario") {
        options.scenarios = scenarios.copied().collect();
    }
    if let Some(algorithm) = matches.get_one::<Algorithm>("algorithm") {
        options.algorithm = *algorithm;
    }
    for (name, field) in [
        ("connections", &mut options.connections),
        ("threads", &mut options.threads),
        ("rounds", &mut options.rounds),
    ] {
        if let Some(number) = matches.get_one::<usize>(name) {
            *field = *number;
        }
    }
    if let Some(millis) = matches.get_one::<u64>("slice-ms") {
        options.slice = Duration::from_millis(*millis);
    }
    options.requests = matches.get_one::<u64>("requests").copied();
    Ok(options)
}

fn run_measure(matches: &ArgMatches) -> Result<(), CommandError> {
    let report = measure(&options(matches)?, &mut std::io::stderr())?;
    let mut out = std::io::stdout().lock();
    if matches.get_flag("json") {
        let text = serde_json::to_string_pretty(&report).map_err(std::io::Error::from)?;
        writeln!(out, "{text}")?;
    } else {
        write!(out, "{report}")?;
    }
    if report.passed() {
        Ok(())
    } else {
        Err(CommandError::Failed("a limit does not hold, or an answer was wrong"))
    }
}
