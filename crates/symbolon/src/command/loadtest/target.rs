//! The provider that is loaded: given, or started for it.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use clap::{Arg, ArgMatches, value_parser};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::secret::SecretString;
use symbolon_loadtest::run::Group;
use symbolon_loadtest::{RunOptions, RunningTarget};
use symbolon_server::clock::{Clock, SystemClock};

use super::output::Output;
use crate::command::CommandError;

/// What the load is for; `algorithm` is the usual one.
pub(super) fn arguments(algorithm: &'static str) -> [Arg; 6] {
    [
        Arg::new("algorithm")
            .long("algorithm")
            .value_name("ALGORITHM")
            .default_value(algorithm)
            .value_parser(value_parser!(Algorithm))
            .help("What the provider signs with"),
        Arg::new("target").long("target").value_name("URL").help("A provider that runs already"),
        Arg::new("admin-secret")
            .long("admin-secret")
            .value_name("SECRET")
            .requires("target")
            .env("SYMBOLON_LOADTEST_ADMIN_SECRET")
            .hide_env_values(true)
            .help("The secret of its admin API, which must be on the same listener"),
        Arg::new("pid")
            .long("pid")
            .value_name("PID")
            .requires("target")
            .value_parser(value_parser!(u32))
            .help("Its process, where it runs on this machine: for its CPU time"),
        Arg::new("metrics")
            .long("metrics")
            .value_name("URL")
            .requires("target")
            .help("Where its figures are"),
        Arg::new("data-parent")
            .long("data-parent")
            .value_name("DIR")
            .conflicts_with("target")
            .default_value("/var/tmp")
            .value_parser(value_parser!(PathBuf))
            .help("Where the data of the provider goes that is started: a disk, not memory"),
    ]
}

/// The options of a run of these groups.
pub(super) fn options(
    matches: &ArgMatches,
    title: &str,
    groups: Vec<Group>,
    output: &Output,
) -> Result<RunOptions, CommandError> {
    let program = std::env::current_exe();
    let program = program.map_err(|source| CommandError::File { path: "this program".into(), source })?;
    let mut options = RunOptions::new(program, title, groups);
    if let Some(algorithm) = matches.get_one::<Algorithm>("algorithm") {
        options.algorithm = *algorithm;
    }
    if let Some(parent) = matches.get_one::<PathBuf>("data-parent") {
        options.data_parent.clone_from(parent);
    }
    options.target = target(matches)?;
    options.log = if options.target.is_none() { Some(output.log()?) } else { None };
    options.terminal = std::io::stderr().is_terminal();
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(SystemClock::start().now().millis());
    options.started = humantime::format_rfc3339_seconds(now).to_string();
    Ok(options)
}

fn target(matches: &ArgMatches) -> Result<Option<RunningTarget>, CommandError> {
    let Some(url) = matches.get_one::<String>("target") else { return Ok(None) };
    let secret = matches.get_one::<String>("admin-secret").ok_or_else(|| {
        CommandError::Usage(
            "--target needs --admin-secret: users, sessions and tokens are made through the admin API".into(),
        )
    })?;
    Ok(Some(RunningTarget {
        url: url.clone(),
        admin_secret: SecretString::new(secret.clone()),
        pid: matches.get_one::<u32>("pid").copied(),
        metrics: matches.get_one::<String>("metrics").cloned(),
    }))
}
