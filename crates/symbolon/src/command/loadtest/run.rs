//! `symbolon loadtest run`.

use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::{Arg, ArgMatches, Command, value_parser};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::secret::SecretString;
use symbolon_loadtest::executor::{Schedule, Stage};
use symbolon_loadtest::results::{Results, Run};
use symbolon_loadtest::run::Rule;
use symbolon_loadtest::scenario::Scenario;
use symbolon_loadtest::{LoadtestError, RunOptions, RunningTarget};
use symbolon_server::clock::{Clock, SystemClock};

use crate::command::CommandError;

pub(super) fn command() -> Command {
    Command::new("run")
        .about("Load a provider at a rate and report how it bore it")
        .long_about(
            "Loads a provider at a fixed rate, whether it keeps up or not: latencies count from the moment when a \
             request should have been sent. Without --target it starts a provider of its own with fresh data, and \
             ends it. Writes results.json, and the log of a provider of its own, to --out. Exit status: 0 all thresholds held and every answer was right, \
             1 not so, 2 it could not run.",
        )
        .arg(
            Arg::new("scenario")
                .value_name("SCENARIO")
                .required(true)
                .value_parser(value_parser!(Scenario))
                .help(names()),
        )
        .args(schedule_arguments())
        .args(generator_arguments())
        .args(target_arguments())
}

fn names() -> String {
    let names: Vec<_> = Scenario::ALL.iter().map(|scenario| scenario.name()).collect();
    format!("One of {}", names.join(", "))
}

fn schedule_arguments() -> [Arg; 4] {
    [
        Arg::new("rate")
            .long("rate")
            .value_name("NUMBER")
            .required(true)
            .value_parser(value_parser!(f64))
            .help("Requests per second of the plateau"),
        time("duration", "Length of the plateau").default_value("30s"),
        time("ramp", "From half the rate to the rate before the plateau, and to nothing after it")
            .default_value("0s"),
        time("warm-up", "Load before all of that").default_value("2s"),
    ]
}

fn generator_arguments() -> [Arg; 6] {
    let number = |name: &'static str, default: &'static str, help: &'static str| {
        let number = value_parser!(u32).range(1..=100_000);
        Arg::new(name).long(name).value_name("NUMBER").default_value(default).value_parser(number).help(help)
    };
    [
        number("connections", "64", "Connections at most, one request in flight on each"),
        number("threads", "1", "Threads of the generator"),
        Arg::new("threshold")
            .long("threshold")
            .value_name("FIGURE<NUMBER")
            .num_args(1..)
            .value_parser(value_parser!(Rule))
            .help("What must hold, for instance 'p99_ms<100'; instead of failure_share<=0.001 and achieved_share>=0.99"),
        Arg::new("algorithm")
            .long("algorithm")
            .value_name("ALGORITHM")
            .default_value("RS256")
            .value_parser(value_parser!(Algorithm))
            .help("What the provider signs with"),
        Arg::new("shards")
            .long("shards")
            .value_name("NUMBER")
            .conflicts_with("target")
            .value_parser(value_parser!(u32).range(1..=1024))
            .help("Shards of every kind of state"),
        Arg::new("out")
            .long("out")
            .value_name("DIR")
            .default_value("loadtest-report")
            .value_parser(value_parser!(PathBuf))
            .help("Where the results go"),
    ]
}

fn target_arguments() -> [Arg; 5] {
    [
        Arg::new("target").long("target").value_name("URL").help("A provider that runs already"),
        Arg::new("admin-secret")
            .long("admin-secret")
            .value_name("SECRET")
            .requires("target")
            .env("SYMBOLON_LOADTEST_ADMIN_SECRET")
            .hide_env_values(true)
            .help("The secret of its admin API, which must be on the same listener"),
        Arg::new("pid")
            .long("pid")
            .value_name("PID")
            .requires("target")
            .value_parser(value_parser!(u32))
            .help("Its process, where it runs on this machine: for its CPU time"),
        Arg::new("metrics")
            .long("metrics")
            .value_name("URL")
            .requires("target")
            .help("Where its figures are"),
        Arg::new("data-parent")
            .long("data-parent")
            .value_name("DIR")
            .conflicts_with("target")
            .default_value("/var/tmp")
            .value_parser(value_parser!(PathBuf))
            .help("Where the data of the provider goes that is started: a disk, not memory"),
    ]
}

fn time(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("TIME").value_parser(humantime::parse_duration).help(help)
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let mut options = options(matches)?;
    let out = directory(matches)?;
    options.log = options.target.is_none().then(|| out.join("provider.log"));
    let results = symbolon_loadtest::run(&options, &mut std::io::stderr())?;
    write(&out, &results)?;
    tell(&results, &out)?;
    if results.passed() {
        Ok(())
    } else if results.partial.is_some() {
        Err(CommandError::Failed("it was interrupted: the results are partial"))
    } else {
        Err(CommandError::Failed("a threshold did not hold, or an answer was wrong"))
    }
}

fn options(matches: &ArgMatches) -> Result<RunOptions, CommandError> {
    let program = std::env::current_exe();
    let program = program.map_err(|source| CommandError::File { path: "this program".into(), source })?;
    let Some(scenario) = matches.get_one::<Scenario>("scenario").copied() else {
        return Err(CommandError::Usage("which scenario?".into()));
    };
    let time = |name: &str| matches.get_one::<Duration>(name).copied().unwrap_or_default();
    let rate = matches.get_one::<f64>("rate").copied().unwrap_or_default();
    let ramp = time("ramp");
    let schedule = Schedule::new(&[
        Stage { from: rate / 2.0, to: rate, duration: ramp },
        Stage::constant(rate, time("duration")),
        Stage { from: rate, to: 0.0, duration: ramp },
    ])?;
    let mut options = RunOptions::new(program, scenario, schedule);
    options.warm_up = time("warm-up");
    for (name, field) in [("connections", &mut options.connections), ("threads", &mut options.threads)] {
        if let Some(number) = matches.get_one::<u32>(name) {
            *field = usize::try_from(*number).unwrap_or(usize::MAX);
        }
    }
    if let Some(thresholds) = matches.get_many::<Rule>("threshold") {
        options.thresholds = thresholds.cloned().collect();
    }
    if let Some(algorithm) = matches.get_one::<Algorithm>("algorithm") {
        options.algorithm = *algorithm;
    }
    if let Some(parent) = matches.get_one::<PathBuf>("data-parent") {
        options.data_parent.clone_from(parent);
    }
    options.shards = matches.get_one::<u32>("shards").copied();
    options.target = target(matches)?;
    options.terminal = std::io::stderr().is_terminal();
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(SystemClock::start().now().millis());
    options.started = humantime::format_rfc3339_seconds(now).to_string();
    Ok(options)
}

fn target(matches: &ArgMatches) -> Result<Option<RunningTarget>, CommandError> {
    let Some(url) = matches.get_one::<String>("target") else { return Ok(None) };
    let secret = matches.get_one::<String>("admin-secret").ok_or_else(|| {
        CommandError::Usage(
            "--target needs --admin-secret: users, sessions and tokens are made through the admin API".into(),
        )
    })?;
    Ok(Some(RunningTarget {
        url: url.clone(),
        admin_secret: SecretString::new(secret.clone()),
        pid: matches.get_one::<u32>("pid").copied(),
        metrics: matches.get_one::<String>("metrics").cloned(),
    }))
}

/// Made before the run, which would be for nothing if its results had nowhere to go.
fn directory(matches: &ArgMatches) -> Result<PathBuf, CommandError> {
    let out = matches.get_one::<PathBuf>("out").cloned().unwrap_or_default();
    let unusable =
        |error: std::io::Error| LoadtestError::Options(format!("--out {}: {error}", out.display()));
    fs::create_dir_all(&out).map_err(unusable)?;
    tempfile::tempfile_in(&out).map_err(unusable)?;
    Ok(out)
}

fn write(out: &Path, results: &Results) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(results).map_err(std::io::Error::from)?;
    let path = out.join("results.json");
    fs::write(&path, text)
        .map_err(|error| LoadtestError::Options(format!("{}: {error}", path.display())).into())
}

fn tell(results: &Results, out: &Path) -> Result<(), CommandError> {
    let mut to = std::io::stdout().lock();
    if let Some(why) = &results.partial {
        writeln!(to, "partial: {why}")?;
    }
    for run in &results.runs {
        tell_run(&mut to, run)?;
    }
    Ok(writeln!(to, "written to {}", out.display())?)
}

fn tell_run(to: &mut impl Write, run: &Run) -> std::io::Result<()> {
    writeln!(to, "{}: {}", run.name, if run.passed() { "passed" } else { "FAILED" })?;
    writeln!(
        to,
        "  {:.1}/s of {:.1}/s for {:.0} s: {} requests, {} failed, {} wrong, {} missed",
        run.achieved_rate, run.rate, run.seconds, run.requests, run.failures, run.wrong, run.missed,
    )?;
    writeln!(
        to,
        "  latency in ms: P50 {:.2}, P95 {:.2}, P99 {:.2}, P99.9 {:.2}, longest {:.2}",
        run.p50_ms, run.p95_ms, run.p99_ms, run.p999_ms, run.max_ms,
    )?;
    if let Some(server) = run.server_cpu_us_per_request {
        let generator = run.generator_cpu_us_per_request;
        writeln!(to, "  CPU per request in µs: server {server:.1}, generator {generator:.1}")?;
    }
    for (kind, count) in run.wrong_kinds.iter().chain(&run.failure_kinds) {
        writeln!(to, "  {count} × {kind}")?;
    }
    if let Some(wrong) = &run.first_wrong {
        writeln!(to, "  for instance {wrong}")?;
    }
    for threshold in run.thresholds.iter().filter(|threshold| !threshold.held) {
        writeln!(to, "  {} {} did not hold: {:.4}", threshold.name, threshold.limit, threshold.value)?;
    }
    if let Some(limit) = &run.generator_limit {
        writeln!(to, "  the generator was the limit: {limit}")?;
    }
    Ok(())
}
