//! `symbolon backup` and `symbolon restore`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};
use http::Method;
use serde_json::json;
use symbolon_protocol::time::Timestamp;
use symbolon_server::clock::{Clock, SystemClock};
use symbolon_store_embedded::backup::{self, RestoreOptions};

use super::api::Api;
use super::output::{Column, facts, print};
use super::{CommandError, given, load};
use crate::cli::administration;

pub(super) fn backup_command() -> Command {
    let target = Arg::new("directory").required(true).value_name("DIR");
    administration(
        Command::new("backup")
            .about("Copy everything but the master key, as of one moment, while the server runs")
            .arg(target.help("Directory to be made; with --server, on the server's machine")),
    )
}

pub(super) fn restore_command() -> Command {
    let source = Arg::new("directory").required(true).value_name("DIR").help("The backup");
    let keep = Arg::new("keep-sessions").long("keep-sessions").action(ArgAction::SetTrue);
    administration(
        Command::new("restore")
            .about("Make the data directory from a backup; sessions and access tokens of before are refused")
            .arg(source)
            .arg(keep.help("Keep them, also those that were ended since: for a move, not after a loss")),
    )
}

pub(super) fn backup(matches: &ArgMatches) -> Result<(), CommandError> {
    const SHOWN: [Column; 4] =
        [("directory", "path"), ("commit", "commit"), ("records", "records"), ("bytes", "bytes")];
    let target = PathBuf::from(given(matches, "directory"));
    // The server has a working directory of its own.
    let target = std::path::absolute(&target)
        .map_err(|source| CommandError::File { path: target.display().to_string(), source })?;
    let api = Api::reach(matches)?;
    let report = api.ask_all(Method::POST, "/backup", Some(&json!({ "path": target })))?;
    api.close()?;
    let note = "master.key is not in it: keep the master key elsewhere.\n";
    Ok(print(matches, &report, |report| format!("{}{note}", facts(&SHOWN, report)))?)
}

pub(super) fn restore(matches: &ArgMatches) -> Result<(), CommandError> {
    if Api::is_named(matches) {
        return Err(CommandError::Usage(
            "a restore makes a data directory on this machine: no --server".into(),
        ));
    }
    let config = load(matches)?;
    let clock = SystemClock::start();
    let now = {
        let clock = Arc::clone(&clock);
        Arc::new(move || clock.now().millis())
    };
    let options = RestoreOptions { keep_sessions: matches.get_flag("keep-sessions"), now };
    let data = config.storage.data_dir.as_path();
    let restored = backup::restore(Path::new(given(matches, "directory")), data, &options)?;
    if let Some(epoch) = restored.epoch {
        // Tokens say their second only: none must be issued within the epoch's own.
        std::thread::sleep(rest_of_the_second(epoch));
    }
    let answer = json!({
        "data_dir": data,
        "made_at": restored.made_at,
        "records": restored.records,
        "left_out": restored.left_out,
        "epoch": restored.epoch,
    });
    let needs_key = config.security.master_key.is_none();
    let told = |_: &serde_json::Value| {
        let kept = if restored.epoch.is_some() { "are refused" } else { "are kept" };
        let key = if needs_key {
            format!(
                "Put the master.key of the lost data directory into {} before the start.\n",
                data.display()
            )
        } else {
            String::new()
        };
        let records = restored.records;
        format!("{records} records restored; sessions and access tokens of before {kept}.\n{key}")
    };
    Ok(print(matches, &answer, told)?)
}

fn rest_of_the_second(at: Timestamp) -> Duration {
    Duration::from_millis(1_000 - at.millis() % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_second_is_reached() {
        for (millis, rest) in [(5_000, 1_000), (5_001, 999), (5_999, 1)] {
            assert_eq!(rest_of_the_second(Timestamp::from_millis(millis)), Duration::from_millis(rest));
        }
    }
}
