//! The commands, and how their errors are reported.
//!
//! A command of administration is a request to the admin API: see [`api`].

mod api;
mod assignment;
mod attribute;
mod audit;
mod backup;
mod branding;
mod claim;
mod client;
mod completion;
mod configuration;
mod confirm;
mod export;
mod failure;
mod grant;
mod group;
mod identity_provider;
mod import;
mod invitation;
mod issuer;
mod key;
mod loadtest;
mod migrate;
mod moment;
mod named;
mod output;
mod restore;
mod role;
mod secret_input;
mod session;
mod store;
mod user;

use std::io::Write;
use std::process::ExitCode;

use clap::{ArgMatches, Command};
use symbolon_config::{Config, ConfigErrors, Sources, process_env};

use crate::cli;
use crate::process::{self, ProcessError};
#[cfg(any(test, feature = "fuzz"))]
pub use import::import_file;

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
    /// A store could not be moved.
    #[error(transparent)]
    Migrate(#[from] migrate::MigrateError),
    /// An epoch could not be opened.
    #[error(transparent)]
    Epoch(#[from] symbolon_store_cluster::EpochError),
    /// A load test could not run.
    #[error(transparent)]
    Loadtest(#[from] symbolon_loadtest::LoadtestError),
    /// There is nothing of the name that the command line gives.
    #[error("{0}")]
    NotFound(String),
    /// The name that the command line gives belongs to several; the message lists them.
    #[error("{0}")]
    Ambiguous(String),
    /// The command ran, but what it examined is not as it should be; the details were printed.
    #[error("{0}")]
    Failed(&'static str),
    /// A file could not be read.
    #[error("{path}: {source}")]
    File {
        /// Its path.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The output could not be written.
    #[error("cannot write the answer: {0}")]
    Output(#[from] std::io::Error),
}

impl CommandError {
    /// 2 for a mistake of the caller, 1 for any other error.
    pub(crate) fn exit_code(&self) -> ExitCode {
        let usage = match self {
            Self::Config(_) | Self::Usage(_) | Self::Ambiguous(_) => true,
            Self::Process(error) => matches!(error, ProcessError::Config(_)),
            Self::Api(error) => error.is_usage(),
            Self::Migrate(error) => error.is_usage(),
            // 2 too, because the load test did not run: 1 would mean that the provider failed it.
            Self::Loadtest(_) => true,
            _ => false,
        };
        ExitCode::from(if usage { 2 } else { 1 })
    }
}

/// Reports an error on standard error.
pub(crate) fn complain(error: &CommandError) {
    // If standard error is closed, the line is dropped.
    drop(writeln!(std::io::stderr(), "symbolon: {error}"));
}

/// Every command except `serve` and `config`.
pub(crate) fn commands() -> Vec<Command> {
    vec![
        issuer::command(),
        client::command(),
        user::command(),
        invitation::command(),
        identity_provider::command(),
        branding::command(),
        attribute::command(),
        group::command(),
        role::command(),
        claim::command(),
        session::command(),
        grant::command(),
        import::command(),
        export::command(),
        audit::command(),
        key::command(),
        failure::explain_command(),
        backup::command(),
        restore::command(),
        store::command(),
        loadtest::command(),
        completion::command(),
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
        Some(("invitation", matches)) => invitation::run(matches),
        Some(("identity-provider", matches)) => identity_provider::run(matches),
        Some(("branding", matches)) => branding::run(matches),
        Some(("attribute", matches)) => attribute::run(matches),
        Some(("group", matches)) => group::run(matches),
        Some(("role", matches)) => role::run(matches),
        Some(("claim", matches)) => claim::run(matches),
        Some(("session", matches)) => session::run(matches),
        Some(("grant", matches)) => grant::run(matches),
        Some(("import", matches)) => import::run(matches),
        Some(("export", matches)) => export::run(matches),
        Some(("audit", matches)) => audit::run(matches),
        Some(("keys", matches)) => key::run(matches),
        Some(("explain", matches)) => failure::explain(matches),
        Some(("backup", matches)) => backup::run(matches),
        Some(("restore", matches)) => restore::run(matches),
        Some(("store", matches)) => store::run(matches),
        Some(("loadtest", matches)) => loadtest::run(matches),
        Some(("completion", matches)) => completion::run(matches),
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

/// Refuses a command about a data directory if the configuration has none.
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
