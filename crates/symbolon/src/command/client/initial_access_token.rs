//! `symbolon client initial-access-token`.

use std::time::Duration;

use clap::{Arg, ArgMatches, Command, value_parser};
use http::Method;
use serde_json::{Map, Value};
use symbolon_protocol::client_registration::MOST_USES;

use crate::command::CommandError;
use crate::command::api::Api;
use crate::command::moment::dated;
use crate::command::output::{Column, facts, print};

/// What is shown of a token.
const SHOWN: [Column; 3] = [("id", "id"), ("valid until", "expires_at"), ("uses", "uses")];

pub(super) fn command() -> Command {
    let lifetime = Arg::new("lifetime")
        .long("lifetime")
        .value_name("TIME")
        .value_parser(humantime::parse_duration)
        .help("How long it is valid, such as 12h; a day without, 30 days at most");
    let uses = Arg::new("uses")
        .long("uses")
        .value_name("NUMBER")
        .value_parser(value_parser!(u8).range(1..=i64::from(MOST_USES)))
        .help("How many clients may register with it; any number without");
    Command::new("initial-access-token")
        .about("Make a token with which an application may register itself as a client")
        .arg(lifetime)
        .arg(uses)
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let mut body = Map::new();
    if let Some(lifetime) = matches.get_one::<Duration>("lifetime") {
        body.insert("expires_in".to_owned(), lifetime.as_secs().into());
    }
    if let Some(uses) = matches.get_one::<u8>("uses") {
        body.insert("uses".to_owned(), (*uses).into());
    }
    let api = Api::reach(matches)?;
    let answer = api.ask(Method::POST, "/initial-access-tokens", Some(&Value::Object(body)))?;
    api.close()?;
    Ok(print(matches, &answer, shown)?)
}

fn shown(answer: &Value) -> String {
    let token = answer.get("initial_access_token").and_then(Value::as_str).unwrap_or_default();
    format!("{}{token}\nThe token is shown this once.\n", facts(&SHOWN, &dated(answer)))
}
