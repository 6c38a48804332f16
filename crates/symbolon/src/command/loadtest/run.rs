//! `symbolon loadtest run`.

use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use symbolon_loadtest::RunOptions;
use symbolon_loadtest::run::{Group, Plan, Rule, Traffic};
use symbolon_loadtest::scenario::Scenario;
use symbolon_loadtest::suite;

use super::output::{self, Output};
use super::target;
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
        .arg(scenario_argument())
        .args(schedule_arguments())
        .args(generator_arguments("30s"))
        .args(target::arguments("RS256"))
        .arg(target::seed_argument())
        .args(output::arguments())
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

fn schedule_arguments() -> [Arg; 5] {
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
pub(super) fn generator_arguments(timeout: &'static str) -> [Arg; 5] {
    let number = |name: &'static str, default: &'static str, help: &'static str| {
        let number = value_parser!(u32).range(1..=100_000);
        Arg::new(name).long(name).value_name("NUMBER").default_value(default).value_parser(number).help(help)
    };
    [
        number(
            "connections",
            "64",
            "Requests in flight at most, each on a connection of its own; HTTP/2 shares connections",
        ),
        number("threads", "1", "Threads of the generator"),
        time("timeout", "How long a request may take, the wait for a connection included")
            .default_value(timeout),
        Arg::new("threshold")
            .long("threshold")
            .value_name("FIGURE<NUMBER")
            .num_args(1..)
            .value_parser(value_parser!(Rule))
            .help("What must hold, for instance 'p99_ms<100'; instead of the usual ones"),
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
    let title = plan.scenario.name();
    let group = Group { shards: matches.get_one::<u32>("shards").copied(), plans: vec![plan] };
    let options: RunOptions = target::options(matches, title, vec![group], &output)?;
    output.finish(&symbolon_loadtest::run(&options, &mut std::io::stderr())?)
}

fn plan(matches: &ArgMatches) -> Result<Plan, CommandError> {
    let Some(scenario) = matches.get_one::<Scenario>("scenario").copied() else {
        return Err(CommandError::Usage("which scenario?".into()));
    };
    let time = |name: &str| matches.get_one::<Duration>(name).copied().unwrap_or_default();
    let mut plan = Plan::new(scenario, traffic(matches, time("ramp"), time("duration"))?);
    plan.warm_up = time("warm-up");
    plan.timeout = time("timeout");
    plan.connections = number(matches, "connections");
    plan.threads = number(matches, "threads");
    if let Some(thresholds) = matches.get_many::<Rule>("threshold") {
        plan.thresholds = thresholds.cloned().collect();
    }
    Ok(plan)
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
