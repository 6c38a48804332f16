//! `symbolon loadtest capacity`.

use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use symbolon_loadtest::capacity::{CapacityOptions, Pattern, capacity};
use symbolon_loadtest::run::{Plan, Rule};
use symbolon_loadtest::scenario::Scenario;

use super::output::{self, Output};
use super::run::{connections, generator_arguments, number, scenario_argument, time};
use super::target;
use super::watch::{self, Watchers};
use crate::command::CommandError;

pub(super) fn command() -> Command {
    Command::new("capacity")
        .about("Find the highest rate that a provider holds, and what keeps it from more")
        .long_about(
            "Doubles the rate until a threshold fails, searches in between, and tries the limit once more for three \
             times as long. Says what the provider ran against, and derives rates to plan with. Without other \
             thresholds nothing may fail, the rate must be reached, and P99 must stay below 100 ms (500 ms for login). With several \
             numbers of --shards a provider is started and searched for each. Exit status: 0 a limit was found, 1 none was, 2 it could \
             not run.",
        )
        .arg(scenario_argument().num_args(1..))
        .arg(figure("from", "The rate that the search begins with").default_value("100"))
        .arg(time("probe", "How long each rate is tried").default_value("8s"))
        .arg(figure("precision", "How near the limit is told, as a share of it").default_value("0.05"))
        .arg(figure("requests-per-day", "Requests of this kind that a user makes on an active day"))
        .arg(figure("daily-share", "The part of a month's users who are active on a day").default_value("0.3"))
        .arg(
            figure("busiest-hour", "The part of a day's requests that come in its busiest hour")
                .default_value("0.15"),
        )
        .args(generator_arguments("3s"))
        .mut_arg("shards", |shards| {
            shards
                .value_name("NUMBERS")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .help("Shards of every kind of state; of several numbers each is searched, and what more of them bring is told")
        })
        .args(target::arguments("ES256"))
        .arg(target::seed_argument())
        .args(output::arguments())
        .args(watch::arguments())
}

fn figure(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name("NUMBER").value_parser(value_parser!(f64)).help(help)
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let scenarios: Vec<Scenario> = matches.get_many("scenario").into_iter().flatten().copied().collect();
    let names: Vec<_> = scenarios.iter().map(|scenario| scenario.name()).collect();
    let title = format!("capacity of {}", names.join(", "));
    let output = Output::of(matches)?;
    let figure = |name: &str| matches.get_one::<f64>(name).copied().unwrap_or_default();
    let pattern = Pattern {
        requests_per_day: matches.get_one::<f64>("requests-per-day").copied(),
        daily_share: figure("daily-share"),
        busiest_hour: figure("busiest-hour"),
    };
    let mut shards: Vec<u32> = matches.get_many("shards").into_iter().flatten().copied().collect();
    shards.sort_unstable();
    shards.dedup();
    let mut options = CapacityOptions {
        run: target::options(matches, &title, Vec::new(), &output)?,
        scenarios,
        shards,
        from: figure("from"),
        probe: matches.get_one::<Duration>("probe").copied().unwrap_or_default(),
        precision: figure("precision"),
        thresholds: matches.get_many::<Rule>("threshold").into_iter().flatten().cloned().collect(),
        only_thresholds: matches.get_flag("only-thresholds"),
        connections: connections(matches).unwrap_or(Plan::CONNECTIONS),
        threads: number(matches, "threads"),
        timeout: matches.get_one::<Duration>("timeout").copied().unwrap_or_default(),
        pattern,
    };
    let watchers = Watchers::start(matches, &mut options.run)?;
    let results = capacity(&options, &mut std::io::stderr())?;
    watchers.end(&results, &output, output.finish(&results))
}
