//! `symbolon issuer`.

use clap::{Arg, ArgMatches, Command};
use http::Method;
use serde_json::{Value, json};

use super::api::Api;
use super::output::{Column, facts, print, table};
use super::{CommandError, given};
use crate::cli::administration;

const COLUMNS: [Column; 2] = [("ID", "id"), ("URL", "url")];

pub(super) fn command() -> Command {
    let create = Command::new("create")
        .about("Create an issuer with a signing key of its own")
        .arg(Arg::new("id").required(true).value_name("ID").help("Its name in paths of the admin API"))
        .arg(
            Arg::new("url")
                .long("url")
                .value_name("URL")
                .required(true)
                .help("Its URL, exactly as it stands in `iss`"),
        );
    Command::new("issuer")
        .about("Create and list issuers")
        .subcommand_required(true)
        .subcommand(administration(create))
        .subcommand(administration(Command::new("list").about("List the issuers")))
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("create", matches)) => create(matches),
        Some(("list", matches)) => list(matches),
        _ => Ok(()),
    }
}

fn create(matches: &ArgMatches) -> Result<(), CommandError> {
    let body = json!({ "id": given(matches, "id"), "url": given(matches, "url") });
    let api = Api::reach(matches)?;
    let answer = api.ask_all(Method::POST, "/issuers", Some(&body))?;
    api.close()?;
    let made = answer.get("issuer").unwrap_or(&Value::Null);
    Ok(print(matches, made, |made| facts(&COLUMNS, made))?)
}

fn list(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let answer = api.ask_all(Method::GET, "/issuers", None)?;
    api.close()?;
    let issuers = answer.get("issuers").unwrap_or(&Value::Null);
    Ok(print(matches, issuers, |issuers| table(&COLUMNS, issuers.as_array().map_or(&[], Vec::as_slice)))?)
}
