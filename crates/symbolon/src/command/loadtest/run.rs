//! `symbolon loadtest run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use symbolon_loadtest::RunOptions;
use symbolon_loadtest::run::{Group, Plan, Rule, Traffic, run_in_turns};
use symbolon_loadtest::scenario::Scenario;
use symbolon_loadtest::suite;

use super::agent;
use super::output::{self, Output};
use super::watch::{self, Watchers};
use super::{soak, target, work};
use crate::command::CommandError;

pub(super) fn command() -> Command {
    Command::new("run")
        .about("Load a provider at a rate and report how it bore it")
        .long_about(
            "Loads a provider at a fixed rate, whether it keeps up or not: latencies count from the moment when a \
             request should have been sent. Without --target it starts a provider of its own with fresh data, and \
             ends it. Writes report.html, report.md and results.json to --out. Exit status: 0 all thresholds held and every answer was right, \
             1 not so, 2 it could not run.",
        )
        .arg(
            scenario_argument().required(false).required_unless_present_any(["scenario-file", "replay"]),
        )
        .args(work::arguments())
        .args(schedule_arguments())
        .mut_arg("rate", |rate| rate.required_unless_present("replay"))
        .arg(soak::abort_argument())
        .args(generator_arguments("30s"))
        .args(target::arguments("RS256"))
        .arg(target::seed_argument())
        .args(repeat_arguments())
        .args(agent::arguments())
        .args(output::arguments())
        .args(watch::arguments())
}

/// How often each load is run, and beside what.
pub(super) fn repeat_arguments() -> [Arg; 2] {
    [
        Arg::new("repeat")
            .long("repeat")
            .value_name("NUMBER")
            .default_value("1")
            .value_parser(value_parser!(u32).range(1..=25))
            .help("Run each load so often: with three or more a rank test decides about --tolerance"),
        Arg::new("beside")
            .long("beside")
            .value_name("PROGRAM")
            .conflicts_with_all(["target", "compare"])
            .value_parser(value_parser!(PathBuf))
            .help(
                "An earlier build, whose provider is loaded in turns with this one's, and compared with it",
            ),
    ]
}

/// Runs what the options say, and writes what came of it.
pub(super) fn run_and_finish(
    matches: &ArgMatches,
    mut options: RunOptions,
    output: &Output,
) -> Result<(), CommandError> {
    // A sweep over shards has neither.
    let repeat = matches.try_get_one::<u32>("repeat").ok().flatten().copied().unwrap_or(1);
    options.repeat = usize::try_from(repeat).unwrap_or(1);
    options.agents = agent::options(matches)?;
    let watchers = Watchers::start(matches, &mut options)?;
    match matches.try_get_one::<PathBuf>("beside").ok().flatten() {
        None => {
            let results = symbolon_loadtest::run(&options, &mut std::io::stderr())?;
            watchers.end(&results, output, output.finish(&results))
        }
        Some(earlier) => {
            let (now, before) = run_in_turns(&options, earlier, &mut std::io::stderr())?;
            watchers.end(&now, output, output.finish_turns(&now, &before))
        }
    }
}

/// The scenario to run.
pub(super) fn scenario_argument() -> Arg {
    let names: Vec<_> = Scenario::ALL.iter().map(|scenario| scenario.name()).collect();
    Arg::new("scenario")
        .value_name("SCENARIO")
        .required(true)
        .value_parser(value_parser!(Scenario))
        .help(format!("One of {}", names.join(", ")))
}

/// The rate, and for how long.
pub(super) fn schedule_arguments() -> [Arg; 5] {
    [
        Arg::new("rate")
            .long("rate")
            .value_name("NUMBER")
            .required_unless_present("closed")
            .value_parser(value_parser!(f64))
            .help("Requests per second of the plateau"),
        Arg::new("closed")
            .long("closed")
            .action(ArgAction::SetTrue)
            .conflicts_with_all(["rate", "ramp"])
            .help(
                "No rate: every connection sends again as soon as it is answered, to saturate the provider",
            ),
        time("duration", "Length of the plateau").default_value("30s"),
        time("ramp", "From half the rate to the rate before the plateau, and to nothing after it")
            .default_value("0s"),
        time("warm-up", "Load before all of that").default_value("2s"),
    ]
}

/// The settings of the load generator, and the thresholds.
pub(super) fn generator_arguments(timeout: &'static str) -> [Arg; 6] {
    let number = |name: &'static str, default: &'static str, help: &'static str| {
        let number = value_parser!(u32).range(1..=100_000);
        Arg::new(name).long(name).value_name("NUMBER").default_value(default).value_parser(number).help(help)
    };
    [
        Arg::new("connections")
            .long("connections")
            .value_name("NUMBER")
            .value_parser(value_parser!(u32).range(1..=100_000))
            .help(
                "Requests in flight at most, each on a connection of its own, which is opened when it is needed (1024; \
                 with --closed 64, all from the beginning); HTTP/2 shares connections",
            ),
        number("threads", "1", "Threads of the generator"),
        time("timeout", "How long a request may take, the wait for a connection included")
            .default_value(timeout),
        Arg::new("threshold")
            .long("threshold")
            .value_name("FIGURE<NUMBER")
            .num_args(1..)
            .value_parser(value_parser!(Rule))
            .help("What must hold besides the usual rules, for instance 'p99_ms<100'"),
        Arg::new("only-thresholds")
            .long("only-thresholds")
            .action(ArgAction::SetTrue)
            .requires("threshold")
            .help("The usual rules need not hold: only what --threshold says"),
        Arg::new("shards")
            .long("shards")
            .value_name("NUMBER")
            .conflicts_with("target")
            .value_parser(value_parser!(u32).range(1..=1024))
            .help("Shards of every kind of state"),
    ]
}

/// An argument that is a duration.
pub(super) fn time(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("TIME").value_parser(humantime::parse_duration).help(help)
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let plan = plan(matches)?;
    let output = Output::of(matches)?;
    let title = plan.work.name().to_owned();
    let group = Group { shards: matches.get_one::<u32>("shards").copied(), plans: vec![plan] };
    let options: RunOptions = target::options(matches, &title, vec![group], &output)?;
    run_and_finish(matches, options, &output)
}

/// The load that the arguments describe.
pub(super) fn plan(matches: &ArgMatches) -> Result<Plan, CommandError> {
    let time = |name: &str| matches.get_one::<Duration>(name).copied().unwrap_or_default();
    let mut plan = work::plan(matches, || traffic(matches, time("ramp"), time("duration")))?;
    plan.warm_up = time("warm-up");
    plan.timeout = time("timeout");
    plan.connections = connections(matches).unwrap_or(plan.connections);
    plan.threads = number(matches, "threads");
    plan.abort_on = soak::abort_rules(matches);
    if let Some(thresholds) = matches.get_many::<Rule>("threshold") {
        let thresholds = thresholds.cloned();
        plan.thresholds = if matches.get_flag("only-thresholds") {
            thresholds.collect()
        } else {
            Rule::with_usual(thresholds)
        };
    }
    Ok(plan)
}

/// How many requests may be in flight, where that is said.
pub(super) fn connections(matches: &ArgMatches) -> Option<usize> {
    matches.get_one::<u32>("connections").and_then(|number| usize::try_from(*number).ok())
}

/// One of the numeric options of [`generator_arguments`].
pub(super) fn number(matches: &ArgMatches, name: &str) -> usize {
    let number = matches.get_one::<u32>(name).copied().unwrap_or(1);
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn traffic(matches: &ArgMatches, ramp: Duration, plateau: Duration) -> Result<Traffic, CommandError> {
    let Some(rate) = matches.get_one::<f64>("rate").copied() else { return Ok(Traffic::Closed(plateau)) };
    Ok(suite::plateau(rate, plateau, ramp)?)
}
