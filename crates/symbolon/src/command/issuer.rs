//! `symbolon issuer`.

use clap::{Arg, ArgMatches, Command};
use http::Method;
use serde_json::{Map, Value, json};

use super::api::Api;
use super::output::{Column, facts, members, print, table};
use super::{CommandError, assignment, failure, given};
use crate::cli::{about_an_issuer, administration};

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
        .about("Create and list issuers, read and change their settings, and see what they refused")
        .subcommand_required(true)
        .subcommand(administration(create))
        .subcommand(administration(Command::new("list").about("List the issuers")))
        .subcommand(about_an_issuer(settings_command()))
        .subcommand(failure::issuer_why_command())
}

fn settings_command() -> Command {
    let set = assignment::argument().value_name("NAME=VALUE").help(
        "Changes a setting by its name in the admin API, such as pkce=or_nonce or lifetimes.session_idle=3600; VALUE is JSON, or \
         a text where it is none; null brings the default back; may be given more than once, and all are changed or none",
    );
    Command::new("settings").about("Show an issuer's settings, or change those that are named").arg(set)
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("create", matches)) => create(matches),
        Some(("list", matches)) => list(matches),
        Some(("settings", matches)) => settings(matches),
        Some(("why", matches)) => failure::issuer_why(matches),
        _ => Ok(()),
    }
}

fn settings(matches: &ArgMatches) -> Result<(), CommandError> {
    let mut named = Map::new();
    assignment::apply(matches, &mut named)?;
    let api = Api::reach(matches)?;
    let answer = if named.is_empty() {
        api.ask(Method::GET, "/settings", None)?
    } else {
        api.ask(Method::PATCH, "/settings", Some(&Value::Object(named)))?
    };
    api.close()?;
    let settings = answer.get("settings").unwrap_or(&Value::Null);
    Ok(print(matches, settings, |settings| members(settings, &[]))?)
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
