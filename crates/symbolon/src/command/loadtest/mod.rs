//! `symbolon loadtest`.

mod output;
mod run;
mod suite;
mod target;

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::secret::SecretString;
use symbolon_loadtest::hello::{self, Runtimes};
use symbolon_loadtest::scenario::Scenario;
use symbolon_loadtest::{MeasureOptions, RunningTarget, measure};

use super::CommandError;

pub(super) fn command() -> Command {
    Command::new("loadtest")
        .about("Load a provider and say what it holds, and what requests cost")
        .subcommand_required(true)
        .subcommand(run::command())
        .subcommand(suite::command())
        .subcommand(report_command())
        .subcommand(measure_command())
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

fn report_command() -> Command {
    Command::new("report")
        .about("Write the reports of a results.json again, beside an earlier run for instance")
        .arg(
            Arg::new("results")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("A results.json"),
        )
        .args(output::arguments())
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
        .arg(
            Arg::new("algorithm")
                .long("algorithm")
                .value_name("ALGORITHM")
                .default_value("RS256")
                .value_parser(value_parser!(Algorithm))
                .help("What the provider signs with"),
        )
        .arg(number("connections", "Keep-alive connections, one request in flight on each"))
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
        .arg(
            Arg::new("target")
                .long("target")
                .value_name("URL")
                .requires("pid")
                .requires("admin-secret-file")
                .help("A provider that runs already, with the admin API on its public listener"),
        )
        .arg(
            Arg::new("pid")
                .long("pid")
                .value_name("PID")
                .value_parser(value_parser!(u32))
                .requires("target")
                .help("The process of --target, on this machine"),
        )
        .arg(
            Arg::new("admin-secret-file")
                .long("admin-secret-file")
                .value_name("FILE")
                .requires("target")
                .help("File with the admin secret of --target"),
        )
        .arg(
            Arg::new("data-parent")
                .long("data-parent")
                .value_name("DIR")
                .value_parser(value_parser!(PathBuf))
                .help("Where the data of the provider goes that is started: a disk, not memory"),
        )
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print JSON"))
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("run", matches)) => run::run(matches),
        Some(("suite", matches)) => suite::run(matches),
        Some(("report", matches)) => {
            let path = matches.get_one::<PathBuf>("results").cloned().unwrap_or_default();
            output::Output::of(matches)?.finish(&output::read(&path)?)
        }
        Some(("measure", matches)) => run_measure(matches),
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
    let program = std::env::current_exe();
    let program = program.map_err(|source| CommandError::File { path: "this program".into(), source })?;
    let mut options = MeasureOptions::new(program);
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
    if let Some(parent) = matches.get_one::<PathBuf>("data-parent") {
        options.data_parent.clone_from(parent);
    }
    options.target = target(matches)?;
    Ok(options)
}

fn target(matches: &ArgMatches) -> Result<Option<RunningTarget>, CommandError> {
    let given = (
        matches.get_one::<String>("target"),
        matches.get_one::<u32>("pid"),
        matches.get_one::<String>("admin-secret-file"),
    );
    let (Some(url), Some(pid), Some(path)) = given else { return Ok(None) };
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|source| CommandError::File { path: path.clone(), source })?;
    let admin_secret = SecretString::new(text.trim().to_owned());
    Ok(Some(RunningTarget { url: url.clone(), admin_secret, pid: Some(*pid), metrics: None }))
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
