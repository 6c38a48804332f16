//! `symbolon loadtest soak`, and the rules that end a load at once.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use symbolon_loadtest::run::{AbortRule, Group, SoakOptions, Tolerance};

use super::output::{self, Output};
use super::run::{self, run_and_finish, time};
use super::{target, watch};
use crate::command::CommandError;

pub(super) fn command() -> Command {
    Command::new("soak")
        .about("Load a provider for hours and say whether its memory, files, disk or latency grow without end")
        .long_about(
            "Loads a provider as run does, for eight hours unless --duration says otherwise, and tells of each window what it held: \
             memory, open files, threads, disk, CPU time per request and latency. What grows beyond doubt by more than \
             --leak-tolerance fails the run; what grew once and came to rest does not. Without --target a provider is started; of a \
             running one --pid, --metrics and --data-dir say where its figures are. Exit status as for run.",
        )
        .arg(run::scenario_argument())
        .args(run::schedule_arguments())
        .mut_arg("duration", |duration| duration.default_value("8h"))
        .arg(time("window", "How long a window is; without, the duration has 96 of them, of five minutes in eight hours"))
        .arg(
            Arg::new("settle")
                .long("settle")
                .value_name("PERCENT")
                .default_value("10")
                .value_parser(value_parser!(u8).range(0..=90))
                .help("The part of the duration in which caches fill and nothing is counted as growth"),
        )
        .arg(
            Arg::new("leak-tolerance")
                .long("leak-tolerance")
                .value_name("QUANTITY=AMOUNT/h")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .value_parser(value_parser!(Tolerance))
                .help(
                    "By how much something may grow, for instance 'memory=2MiB/h,disk=1GiB/day'; without, memory by 1 MiB an hour, \
                     descriptors and threads by one, anything else as it likes; memory=any lifts that",
                ),
        )
        .arg(
            Arg::new("data-dir")
                .long("data-dir")
                .value_name("DIR")
                .requires("target")
                .value_parser(value_parser!(PathBuf))
                .help("Where the target's data are, where it runs on this machine: for the disk that they take"),
        )
        .arg(abort_argument())
        .args(run::generator_arguments("30s"))
        .args(target::arguments("RS256"))
        .arg(target::seed_argument())
        .args(output::arguments())
        .args(watch::arguments())
}

/// The rules that end a load at once.
pub(super) fn abort_argument() -> Arg {
    Arg::new("abort-on")
        .long("abort-on")
        .value_name("FIGURE>NUMBER for TIME")
        .action(ArgAction::Append)
        .value_parser(value_parser!(AbortRule))
        .help(
            "End at once where this is so of the last seconds together, for instance 'failure_share>0.05 for 10s' or 'p99_ms>2000 \
             for 30s'; the results are kept, and the exit status is 1",
        )
}

/// What `--abort-on` says.
pub(super) fn abort_rules(matches: &ArgMatches) -> Vec<AbortRule> {
    matches.get_many::<AbortRule>("abort-on").into_iter().flatten().cloned().collect()
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let mut plan = run::plan(matches)?;
    let mut soak = SoakOptions {
        window: matches.get_one::<Duration>("window").copied(),
        data: matches.get_one::<PathBuf>("data-dir").cloned(),
        ..SoakOptions::default()
    };
    soak.settle = f64::from(matches.get_one::<u8>("settle").copied().unwrap_or_default()) / 100.0;
    soak.tolerances.extend(matches.get_many::<Tolerance>("leak-tolerance").into_iter().flatten().cloned());
    plan.soak = Some(soak);
    let output = Output::of(matches)?;
    let title = format!("soak of {}", plan.work.name());
    let group = Group { shards: matches.get_one::<u32>("shards").copied(), plans: vec![plan] };
    let options = target::options(matches, &title, vec![group], &output)?;
    run_and_finish(matches, options, &output)
}
