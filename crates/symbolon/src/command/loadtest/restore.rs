//! `symbolon loadtest restore`, and the guard that ends what a killed load test leaves.

use std::io::Write;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};
use symbolon_loadtest::guard;

use super::target;
use crate::command::CommandError;

pub(super) fn command() -> Command {
    Command::new("restore")
        .about("Put a provider's settings back as they were before load tests changed them")
        .long_about(
            "Load tests change two of an issuer's settings, and in a suite with a reshard the provider's number of shards, note before \
             that what they were, and put them back at their end. \
             This puts them back for one that was killed, and for loadtest seed, which leaves them as its runs need them.",
        )
        .args(target::target_arguments().map(|argument| match argument.get_id().as_str() {
            "target" => argument.required(true),
            _ => argument,
        }))
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let provider = target::provider(matches)?;
    if provider.target.as_ref().is_some_and(|target| target.admin_secret.is_none()) {
        let reason = "restore needs --admin-secret: settings are changed through the admin API";
        return Err(CommandError::Usage(reason.into()));
    }
    let restored = symbolon_loadtest::restore(&provider)?;
    let told =
        if restored { "its settings are as they were" } else { "nothing was noted that could be put back" };
    writeln!(std::io::stdout(), "{told}")?;
    Ok(())
}

pub(super) fn guard_command() -> Command {
    Command::new("guard")
        .hide(true)
        .about(
            "End a provider and remove its data when standard input ends; load tests start it for themselves",
        )
        .arg(Arg::new("directory").required(true).value_parser(value_parser!(PathBuf)))
}

pub(super) fn run_guard(matches: &ArgMatches) -> Result<(), CommandError> {
    let directory = matches.get_one::<PathBuf>("directory").cloned().unwrap_or_default();
    Ok(guard::watch(&directory, std::io::stdin().lock())?)
}
