//! `symbolon loadtest suite`.

use std::io::Write;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use symbolon_loadtest::LoadtestError;
use symbolon_loadtest::suite::{Length, Suite, preset, presets};

use super::agent;
use super::output::{self, Output};
use super::run::{repeat_arguments, run_and_finish};
use super::{soak, target, watch};
use crate::command::CommandError;

pub(super) fn command() -> Command {
    Command::new("suite")
        .about("Run many loads, one after the other: those of the December 2025 reports, or your own from a file")
        .long_about(
            "Runs every load of a preset (--list), or of a TOML file, against providers of its own with fresh data, \
             or against --target. december-2025 is every scenario at every rate of those reports with their numbers \
             of shards. Exit status as for run.",
        )
        .arg(
            Arg::new("name")
                .value_name("NAME|FILE")
                .required_unless_present("list")
                .help("A preset, or a file with loads"),
        )
        .arg(
            Arg::new("short")
                .long("short")
                .action(ArgAction::SetTrue)
                .help("Seconds for each load of a preset instead of minutes: under ten minutes in all"),
        )
        .arg(Arg::new("list").long("list").action(ArgAction::SetTrue).help("Print the presets' names"))
        .arg(
            Arg::new("print")
                .long("print")
                .action(ArgAction::SetTrue)
                .help("Print the loads as a file to begin one's own with, and run nothing"),
        )
        .arg(
            Arg::new("threads")
                .long("threads")
                .value_name("NUMBER")
                .value_parser(value_parser!(u32).range(1..=1_024))
                .help("Threads of the generator, for every load"),
        )
        .arg(soak::abort_argument())
        .args(target::arguments("ES256"))
        .arg(target::seed_argument())
        .args(repeat_arguments())
        .args(agent::arguments())
        .args(output::arguments())
        .args(watch::arguments())
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    if matches.get_flag("list") {
        let mut out = std::io::stdout().lock();
        return Ok(presets().iter().try_for_each(|name| writeln!(out, "{name}"))?);
    }
    let mut suite = find(matches)?;
    if let Some(threads) = matches.get_one::<u32>("threads") {
        let threads = usize::try_from(*threads).unwrap_or(1);
        suite.loads.iter_mut().for_each(|load| load.threads = Some(threads));
    }
    let rules = soak::abort_rules(matches);
    suite.loads.iter_mut().for_each(|load| load.abort_on.extend(rules.iter().cloned()));
    if matches.get_flag("print") {
        return Ok(write!(std::io::stdout().lock(), "{}", suite.to_toml()?)?);
    }
    finish(matches, &suite)
}

/// Runs a suite and reports it.
pub(super) fn finish(matches: &ArgMatches, suite: &Suite) -> Result<(), CommandError> {
    let output = Output::of(matches)?;
    let mut options = target::options(matches, &suite.title, suite.groups()?, &output)?;
    if let Some(algorithm) = suite.algorithm
        && matches.value_source("algorithm") == Some(ValueSource::DefaultValue)
    {
        options.algorithm = algorithm;
    }
    run_and_finish(matches, options, &output)
}

fn find(matches: &ArgMatches) -> Result<Suite, CommandError> {
    let name = matches.get_one::<String>("name").map_or("", String::as_str);
    let short = matches.get_flag("short");
    let length = if short { Length::Short } else { Length::Reports };
    if let Some(suite) = preset(name, length)? {
        return Ok(suite);
    }
    let path = Path::new(name);
    if !path.exists() {
        let reason = format!("{name} is no file and no preset; presets are {}", presets().join(", "));
        return Err(LoadtestError::Options(reason).into());
    }
    if short {
        return Err(CommandError::Usage("--short is for presets; a file says how long its loads are".into()));
    }
    Ok(Suite::read(path)?)
}
