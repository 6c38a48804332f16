//! `symbolon backup`.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command};
use http::Method;
use serde_json::json;

use super::api::Api;
use super::output::{Column, facts, print};
use super::{CommandError, given, load, on_embedded};
use crate::cli::administration;

pub(super) fn command() -> Command {
    let target = Arg::new("directory").required(true).value_name("DIR");
    administration(
        Command::new("backup")
            .about("Copy everything but the master key, as of one moment, while the server runs")
            .arg(target.help("Directory to be made; with --server, on the server's machine")),
    )
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    const SHOWN: [Column; 4] =
        [("directory", "path"), ("commit", "commit"), ("records", "records"), ("bytes", "bytes")];
    if !Api::is_named(matches) {
        on_embedded(&load(matches)?)?;
    }
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
