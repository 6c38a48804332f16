//! `symbolon loadtest day`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use symbolon_loadtest::day::{Changes, Day, MeasuredMix, measured_mix, preset, presets};

use super::output::{self, Output};
use super::run::{repeat_arguments, run_and_finish, time};
use super::{soak, target, watch};
use crate::command::CommandError;

pub(super) fn command() -> Command {
    let names = presets().collect::<Vec<_>>().join(", ");
    Command::new("day")
        .about("Load a provider as a day does: a mix of requests, journeys of users, a curve and storms")
        .long_about(
            "Loads a provider with a weighted mix of scenarios and with journeys of users who think in between, at rates that go \
             up and down over a day, with storms on top; each scenario has its own limits. The day is a TOML file, or a \
             preset to begin one's own with (--print). With --mix-from alone it prints the mix that a provider met, from its \
             metrics. Exit status as for run.",
        )
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required_unless_present_any(["preset", "list", "mix-from"])
                .conflicts_with("preset")
                .value_parser(value_parser!(PathBuf))
                .help("A file that describes the day"),
        )
        .arg(Arg::new("preset").long("preset").value_name("NAME").help(format!("One of {names}")))
        .arg(Arg::new("list").long("list").action(ArgAction::SetTrue).help("Print the presets' names"))
        .arg(
            Arg::new("print")
                .long("print")
                .action(ArgAction::SetTrue)
                .requires("preset")
                .conflicts_with_all(["duration", "scale", "mix-from"])
                .help("Print the preset as a file to begin one's own with, and run nothing"),
        )
        .arg(time("duration", "How long the run takes instead: the day is compressed into it, and rates stay as they are"))
        .arg(
            Arg::new("scale")
                .long("scale")
                .value_name("FACTOR")
                .value_parser(value_parser!(f64))
                .help("So many times the rates, and the storms"),
        )
        .arg(
            Arg::new("mix-from")
                .long("mix-from")
                .value_name("URL")
                .help("Take the mix of single requests from the metrics of a provider; without a day, print it"),
        )
        .arg(time("over", "What it counts within so long, instead of since its start").requires("mix-from"))
        .arg(
            Arg::new("threads")
                .long("threads")
                .value_name("NUMBER")
                .value_parser(value_parser!(u32).range(1..=1_024))
                .help("Threads of the generator"),
        )
        .arg(soak::abort_argument())
        .args(target::arguments("ES256"))
        .arg(target::seed_argument())
        .args(repeat_arguments())
        .args(output::arguments())
        .args(watch::arguments())
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let mut out = std::io::stdout().lock();
    if matches.get_flag("list") {
        return Ok(presets().try_for_each(|name| writeln!(out, "{name}"))?);
    }
    let named = matches.get_one::<String>("preset").map(|name| preset(name)).transpose()?;
    if let (true, Some((_, text))) = (matches.get_flag("print"), &named) {
        return Ok(write!(out, "{text}")?);
    }
    let file =
        matches.get_one::<PathBuf>("file").map(|path: &PathBuf| Day::read(Path::new(path))).transpose()?;
    let mix = measured(matches)?;
    let Some(day) = named.map(|(day, _)| day).or(file) else {
        return Ok(mix.iter().try_for_each(|mix| write!(out, "{mix}"))?);
    };
    drop(out);
    if let Some(mix) = &mix {
        write!(std::io::stderr(), "{mix}")?;
    }
    let threads = matches.get_one::<u32>("threads").and_then(|threads| usize::try_from(*threads).ok());
    let day = day.changed(Changes {
        duration: matches.get_one::<Duration>("duration").copied(),
        scale: matches.get_one::<f64>("scale").copied(),
        mix: mix.map(|mix| mix.weights),
        threads,
        abort_on: soak::abort_rules(matches),
    })?;
    let output = Output::of(matches)?;
    let mut options = target::options(matches, day.title(), vec![day.group()?], &output)?;
    if let Some(algorithm) = day.algorithm()
        && matches.value_source("algorithm") == Some(ValueSource::DefaultValue)
    {
        options.algorithm = algorithm;
    }
    run_and_finish(matches, options, &output)
}

/// The mix that a provider met, where one is named.
fn measured(matches: &ArgMatches) -> Result<Option<MeasuredMix>, CommandError> {
    let Some(url) = matches.get_one::<String>("mix-from") else { return Ok(None) };
    let way = target::provider(matches)?.way;
    Ok(Some(measured_mix(url, matches.get_one::<Duration>("over").copied(), &way)?))
}
