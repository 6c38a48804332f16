//! `symbolon loadtest seed`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_loadtest::scenario::Mix;
use symbolon_loadtest::seed::{PlantOptions, SeedOptions, plant_and_save};

use super::target;
use crate::command::CommandError;

pub(super) fn command() -> Command {
    let number = |name: &'static str, default: &'static str, help: &'static str| {
        let number = value_parser!(u32).range(1..=100_000_000);
        Arg::new(name).long(name).value_name("NUMBER").default_value(default).value_parser(number).help(help)
    };
    Command::new("seed")
        .about("Plant users, passkeys, sessions, tokens and refresh-token families, and save them for later runs")
        .long_about(
            "Plants what the scenarios need through the admin API of --target, and saves it to --out for run --seed, \
             or for the k6 scripts. Without --target it starts a provider of its own, which runs until Ctrl-C and \
             logs beside that file. The file holds credentials of the load test; only its owner may read it.",
        )
        .arg(
            Arg::new("out")
                .long("out")
                .value_name("FILE")
                .default_value("loadtest-seed.json")
                .value_parser(value_parser!(PathBuf))
                .help("The file that gets the seed"),
        )
        .arg(number("users", "500", "Users, each with one session"))
        .arg(number("tokens", "4000", "Access tokens, dealt out over the users"))
        .arg(number("families", "1024", "Refresh-token families, likewise"))
        .arg(
            Arg::new("passkeys")
                .long("passkeys")
                .value_name("NUMBER")
                .value_parser(value_parser!(u32).range(0..=1_000_000))
                .help("Users with a passkey besides, who need the target's test endpoints; 500 without, and none with --pure"),
        )
        .arg(
            Arg::new("lifetime")
                .long("lifetime")
                .value_name("TIME")
                .default_value("2h")
                .value_parser(humantime::parse_duration)
                .help("How long sessions and access tokens live"),
        )
        .arg(
            Arg::new("pure")
                .long("pure")
                .action(ArgAction::SetTrue)
                .help("Only valid tokens, not the reports' mix, which needs the target's test endpoints"),
        )
        .args(target::arguments("RS256"))
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let file = matches.get_one::<PathBuf>("out").cloned().unwrap_or_default();
    let mut provider = target::provider(matches)?;
    provider.log = Some(file.with_extension("log"));
    if provider.target.as_ref().is_some_and(|target| target.admin_secret.is_none()) {
        let reason = "--target needs --admin-secret: everything is made through the admin API";
        return Err(CommandError::Usage(reason.into()));
    }
    let number = |name: &str| {
        let number = matches.get_one::<u32>(name).copied().unwrap_or_default();
        usize::try_from(number).unwrap_or(usize::MAX)
    };
    let is_pure = matches.get_flag("pure");
    let passkeys = matches.get_one::<u32>("passkeys").copied().unwrap_or(if is_pure { 0 } else { 500 });
    let seed = SeedOptions {
        users: number("users"),
        tokens: number("tokens"),
        families: number("families"),
        passkeys: usize::try_from(passkeys).unwrap_or(usize::MAX),
        session_seconds: matches.get_one::<Duration>("lifetime").map_or(7_200, Duration::as_secs),
        algorithm: matches.get_one::<Algorithm>("algorithm").copied(),
        mix: if is_pure { Mix::Pure } else { Mix::Report },
    };
    Ok(plant_and_save(&PlantOptions { seed, provider, file }, &mut std::io::stderr())?)
}
