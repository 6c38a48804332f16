//! What `symbolon loadtest run` asks: a scenario, scenarios of a file, or a log.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, value_parser};
use symbolon_loadtest::replay::{Replay, ReplayOptions};
use symbolon_loadtest::run::{Plan, Traffic};
use symbolon_loadtest::scenario::{OwnScenarios, Scenario};

use crate::command::CommandError;

/// What takes the place of a scenario's name.
pub(super) fn arguments() -> [Arg; 4] {
    [
        Arg::new("scenario-file")
            .long("scenario-file")
            .value_name("FILE")
            .conflicts_with("scenario")
            .value_parser(value_parser!(PathBuf))
            .help("Scenarios of your own, in TOML, instead of one of these"),
        Arg::new("replay")
            .long("replay")
            .value_name("FILE")
            .conflicts_with_all(["scenario", "scenario-file", "rate", "closed", "ramp", "duration"])
            .value_parser(value_parser!(PathBuf))
            .help(
                "A request log instead, at its own times: this provider's, or one in the Common or Combined Log Format",
            ),
        Arg::new("speed")
            .long("speed")
            .value_name("NUMBER")
            .requires("replay")
            .value_parser(value_parser!(f64))
            .help("How many times as fast as the log (1)"),
        Arg::new("token-grant")
            .long("token-grant")
            .value_name("SCENARIO")
            .requires("replay")
            .value_parser(value_parser!(Scenario))
            .help("What a request for a token was in a log that does not say: code, refresh, client-credentials, exchange"),
    ]
}

/// The plan with its work and its times; `traffic` makes those of work that has none of its own.
pub(super) fn plan(
    matches: &ArgMatches,
    traffic: impl FnOnce() -> Result<Traffic, CommandError>,
) -> Result<Plan, CommandError> {
    // A command that has no such option takes a scenario by its name only.
    let file = |name: &str| matches.try_get_one::<PathBuf>(name).ok().flatten();
    if let Some(path) = file("replay") {
        let defaults = ReplayOptions::default();
        let speed = matches.get_one::<f64>("speed").copied().unwrap_or(defaults.speed);
        let token = matches.get_one::<Scenario>("token-grant").copied();
        let replay = Replay::read(path, &ReplayOptions { speed, token })?;
        eprintln!("{}", replay.summary().in_words());
        return Ok(Plan::of_log(replay)?);
    }
    // The parser asks for --replay only where nothing is given that excludes it.
    for option in ["speed", "token-grant"] {
        if matches.try_contains_id(option).unwrap_or(false) {
            return Err(CommandError::Usage(format!("--{option} goes with --replay")));
        }
    }
    if let Some(path) = file("scenario-file") {
        return Ok(Plan::new(OwnScenarios::read(path)?, traffic()?));
    }
    match matches.get_one::<Scenario>("scenario") {
        Some(scenario) => Ok(Plan::new(*scenario, traffic()?)),
        None => Err(CommandError::Usage("which scenario?".into())),
    }
}
