//! `symbolon loadtest shards`.

use std::time::Duration;

use clap::{Arg, ArgMatches, Command, value_parser};
use symbolon_loadtest::scenario::Scenario;
use symbolon_loadtest::suite::{Load, Time, shard_sweep};

use super::output;
use super::run::{scenario_argument, time};
use super::{suite, target, watch};
use crate::command::CommandError;

pub(super) fn command() -> Command {
    Command::new("shards")
        .about("Run the same load at several numbers of shards, and change their number in mid-run")
        .long_about(
            "Starts a provider for each number of shards and puts the same load on it; then once more, with a change \
             of their number in mid-run, where no request may fail. Exit status as for run.",
        )
        .arg(scenario_argument())
        .arg(
            Arg::new("rate")
                .long("rate")
                .value_name("NUMBER")
                .required(true)
                .value_parser(value_parser!(f64))
                .help("Requests per second"),
        )
        .arg(time("duration", "Length of each load").default_value("20s"))
        .arg(time("warm-up", "Load before it").default_value("2s"))
        .arg(
            Arg::new("counts")
                .long("counts")
                .value_name("NUMBERS")
                .value_delimiter(',')
                .default_value("1,8,32,64,128")
                .value_parser(value_parser!(u32).range(1..=1_024))
                .help("The numbers of shards"),
        )
        .args(target::own_arguments("ES256"))
        .args(output::arguments())
        .args(watch::arguments())
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let (Some(scenario), Some(rate)) =
        (matches.get_one::<Scenario>("scenario"), matches.get_one::<f64>("rate"))
    else {
        return Err(CommandError::Usage("which scenario, and at which rate?".into()));
    };
    let time = |name: &str| matches.get_one::<Duration>(name).copied().unwrap_or_default();
    let load = Load { warm_up: Some(Time(time("warm-up"))), ..Load::at(*scenario, *rate, time("duration")) };
    let counts: Vec<u32> = matches.get_many::<u32>("counts").into_iter().flatten().copied().collect();
    suite::finish(matches, &shard_sweep(&load, &counts)?)
}
