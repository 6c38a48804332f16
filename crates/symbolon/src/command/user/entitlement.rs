//! What a user has: groups and roles, directly or by groups.

use clap::{ArgMatches, Command};
use http::Method;
use serde_json::Value;

use crate::cli::about_an_issuer;
use crate::command::api::{Api, entries, segment};
use crate::command::output::{self, Column, print, table};
use crate::command::{CommandError, given, named};

pub(super) fn commands() -> [Command; 2] {
    let groups = Command::new("groups").about(
        "List the groups that a user is in, with those above them, as tokens of the user may have them",
    );
    let roles = Command::new("roles")
        .about("List the roles that a user has, directly or by groups, as tokens of the user may have them");
    [groups, roles].map(|command| about_an_issuer(command.arg(super::user())))
}

pub(super) fn groups(matches: &ArgMatches) -> Result<(), CommandError> {
    const COLUMNS: [Column; 4] = [("ID", "id"), ("NAME", "name"), ("PATH", "path"), ("DIRECT", "direct")];
    list(matches, "groups", &COLUMNS)
}

pub(super) fn roles(matches: &ArgMatches) -> Result<(), CommandError> {
    const COLUMNS: [Column; 5] = [
        ("ID", "id"),
        ("NAME", "name"),
        ("CLIENT", "client_id"),
        ("DIRECT", "direct"),
        ("BY GROUPS", "by_groups"),
    ];
    list(matches, "roles", &COLUMNS)
}

fn list(matches: &ArgMatches, what: &str, columns: &[Column]) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let id = named::user_id(&api, given(matches, "user"))?;
    let answer = api.ask(Method::GET, &format!("/users/{}/entitlements", segment(&id)), None)?;
    api.close()?;
    let mut held = answer.get("entitlements").cloned().unwrap_or_default();
    let is_cut = held.get("is_cut").and_then(Value::as_bool).unwrap_or(false);
    let found = Value::Array(entries(&mut held, what)?);
    print(matches, &found, |found| table(columns, found.as_array().map_or(&[], Vec::as_slice)))?;
    if is_cut {
        output::note("the user has more than tokens can carry: some are left out");
    }
    Ok(())
}
