//! `symbolon loadtest suite`.

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use symbolon_loadtest::suite::{self, Length};

use super::output::{self, Output};
use super::target;
use crate::command::CommandError;

const DECEMBER_2025: &str = "december-2025";

pub(super) fn command() -> Command {
    Command::new("suite")
        .about("Run every load of a series of reports, and compare")
        .long_about(
            "Runs every scenario at every rate of the December 2025 reports, with their numbers of shards, against \
             providers of its own with fresh data, or against --target. Exit status as for run.",
        )
        .arg(
            Arg::new("name")
                .value_name("NAME")
                .required(true)
                .value_parser([DECEMBER_2025])
                .help("Which series"),
        )
        .arg(
            Arg::new("short")
                .long("short")
                .action(ArgAction::SetTrue)
                .help("Seconds for each load instead of minutes: under ten minutes in all"),
        )
        .arg(
            Arg::new("threads")
                .long("threads")
                .value_name("NUMBER")
                .default_value("1")
                .value_parser(value_parser!(u32).range(1..=1_024))
                .help("Threads of the generator"),
        )
        .args(target::arguments("ES256"))
        .args(output::arguments())
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let output = Output::of(matches)?;
    let length = if matches.get_flag("short") { Length::Short } else { Length::Reports };
    let threads = matches.get_one::<u32>("threads").copied().unwrap_or(1);
    let groups = suite::december_2025(length, usize::try_from(threads).unwrap_or(1))?;
    let options = target::options(matches, DECEMBER_2025, groups, &output)?;
    output.finish(&symbolon_loadtest::run(&options, &mut std::io::stderr())?)
}
