//! `symbolon loadtest report`.

use std::path::PathBuf;

use clap::{Arg, ArgGroup, ArgMatches, Command, value_parser};
use symbolon_loadtest::k6;

use super::output::{self, Output};
use crate::command::CommandError;

pub(super) fn command() -> Command {
    let file = || Arg::new("results").value_name("FILE").value_parser(value_parser!(PathBuf));
    Command::new("report")
        .about(
            "Write the reports of a results.json again, beside an earlier run for instance, or of runs by k6",
        )
        .arg(file().help("A results.json"))
        .arg(
            file().id("from-k6").long("from-k6").num_args(1..).conflicts_with("results").help(
                "What the scripts in loadtest/k6 wrote: the summary.json of each run, or of each instance",
            ),
        )
        .group(ArgGroup::new("source").args(["results", "from-k6"]).required(true))
        .args(output::arguments())
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let output = Output::of(matches)?;
    let results = match matches.get_many::<PathBuf>("from-k6") {
        Some(paths) => k6::read(&paths.cloned().collect::<Vec<_>>())?,
        None => output::read(&matches.get_one::<PathBuf>("results").cloned().unwrap_or_default())?,
    };
    output.finish(&results)
}
