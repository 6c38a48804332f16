//! What each command does, and how its errors are told.
//!
//! A command of administration is a request to the admin API: see [`api`].

mod api;
mod backup;
mod client;
mod configuration;
mod issuer;
mod key;
mod loadtest;
mod migrate;
mod output;
mod restore;
mod secret_input;
mod store;
mod user;

use std::io::Write;
use std::process::ExitCode;

use clap::{ArgMatches, Command};
use symbolon_config::{Config, ConfigErrors, Sources, process_env};

use crate::cli;
use crate::process::{self, ProcessError};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// The configuration has mistakes.
    #[error("{0}")]
    Config(#[from] ConfigErrors),
    /// The command line asks for something that makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The provider could not start or run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The admin API could not be reached, or refused.
    #[error(transparent)]
    Api(#[from] api::ApiError),
    /// There is no backup, or it was not restored.
    #[error(transparent)]
    Backup(#[from] symbolon_store_embedded::backup::BackupFailure),
    /// A store was not moved.
    #[error(transparent)]
    Migrate(#[from] migrate::MigrateError),
    /// No epoch was opened.
    #[error(transparent)]
    Epoch(#[from] symbolon_store_cluster::EpochError),
    /// A load test could not run.
    #[error(transparent)]
    Loadtest(#[from] symbolon_loadtest::LoadtestError),
    /// It ran, and what it looked at is not as it should be; what that is was printed.
    #[error("{0}")]
    Failed(&'static str),
    /// A file could not be read.
    #[error("{path}: {source}")]
    File {
        /// Which one.
        path: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// What was to be printed could not be.
    #[error("cannot write the answer: {0}")]
    Output(#[from] std::io::Error),
}

impl CommandError {
    /// 2 for a mistake of the caller's, 1 for everything else.
    pub(crate) fn exit_code(&self) -> ExitCode {
        let usage = match self {
            Self::Config(_) | Self::Usage(_) => true,
            Self::Process(error) => matches!(error, ProcessError::Config(_)),
            Self::Api(error) => error.is_usage(),
            Self::Migrate(error) => error.is_usage(),
            // It could not run, which is not what it would say of a provider that failed.
            Self::Loadtest(_) => true,
            _ => false,
        };
        ExitCode::from(if usage { 2 } else { 1 })
    }
}

/// Says what went wrong on standard error.
pub(crate) fn complain(error: &CommandError) {
    // Where standard error is closed, there is nobody to tell.
    drop(writeln!(std::io::stderr(), "symbolon: {error}"));
}

/// Every command beside `serve` and `config`.
pub(crate) fn commands() -> [Command; 8] {
    [
        issuer::command(),
        client::command(),
        user::command(),
        key::command(),
        backup::command(),
        restore::command(),
        store::command(),
        loadtest::command(),
    ]
}

/// Runs the command of the command line.
pub(crate) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        None => serve(matches),
        Some(("serve", matches)) => serve(matches),
        Some(("config", matches)) => configuration::run(matches),
        Some(("issuer", matches)) => issuer::run(matches),
        Some(("client", matches)) => client::run(matches),
        Some(("user", matches)) => user::run(matches),
        Some(("keys", matches)) => key::run(matches),
        Some(("backup", matches)) => backup::run(matches),
        Some(("restore", matches)) => restore::run(matches),
        Some(("store", matches)) => store::run(matches),
        Some(("loadtest", matches)) => loadtest::run(matches),
        Some(_) => Ok(()),
    }
}

fn load(matches: &ArgMatches) -> Result<Config, ConfigErrors> {
    Config::load(Sources { file: None, env: process_env(), flags: cli::flags(matches) })
}

fn serve(matches: &ArgMatches) -> Result<(), CommandError> {
    let accept_clock = matches.get_flag("accept-clock");
    Ok(process::serve(load(matches)?, accept_clock, &|| load(matches))?)
}

/// Refuses what is about a data directory where there is none.
fn on_embedded(config: &Config) -> Result<(), CommandError> {
    if config.storage.cluster.is_none() {
        return Ok(());
    }
    let mend = "the cluster store has no data directory: it is backed up and restored by the tools of PostgreSQL and \
                Redis (docs/setup/cluster.md)";
    Err(CommandError::Usage(mend.to_owned()))
}

/// A required argument. clap has checked that it is there.
fn given<'a>(matches: &'a ArgMatches, name: &str) -> &'a str {
    matches.get_one::<String>(name).map_or("", String::as_str)
}
