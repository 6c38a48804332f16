//! `symbolon grant`: what clients have of a user, also by the older names `user grants` and `user end-grant`.

use clap::{Arg, ArgAction, ArgMatches, Command};
use http::Method;
use serde_json::{Value, json};

use super::api::{Api, entries, segment};
use super::moment::dated;
use super::output::{Column, line, print, table};
use super::{CommandError, confirm, given, named};
use crate::cli::{self, about_an_issuer};

pub(super) fn command() -> Command {
    Command::new("grant")
        .about("List and end what clients have of a user: consents, refresh tokens and access tokens")
        .subcommand_required(true)
        .subcommand(about_an_issuer(list_arguments(Command::new("list"))))
        .subcommand(about_an_issuer(end_arguments(Command::new("end"))))
}

/// The description and arguments of the command that lists.
pub(super) fn list_arguments(command: Command) -> Command {
    command.about("List what clients have of a user: consents and refresh tokens").arg(user())
}

/// The description and arguments of the command that ends.
pub(super) fn end_arguments(command: Command) -> Command {
    let client = cli::drawn_id("client", "CLIENT").help("The client, by id or name; every client with --all");
    let all = Arg::new("all").long("all").action(ArgAction::SetTrue).conflicts_with("client");
    command
        .about("End what a client has of a user: its consent, its refresh tokens and its access tokens")
        .arg(user())
        .arg(client.required(false).required_unless_present("all"))
        .arg(all.help("End what every client has of the user"))
        .arg(confirm::argument())
}

fn user() -> Arg {
    cli::drawn_id("user", "USER").help("Id, e-mail address or user name")
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("list", matches)) => list(matches),
        Some(("end", matches)) => end(matches),
        _ => Ok(()),
    }
}

pub(super) fn list(matches: &ArgMatches) -> Result<(), CommandError> {
    const SHOWN: [Column; 6] = [
        ("CLIENT", "client_id"),
        ("NAME", "client_name"),
        ("SINCE", "since"),
        ("LAST USED", "last_used_at"),
        ("OFFLINE", "offline"),
        ("SCOPE", "scope"),
    ];
    let api = Api::reach(matches)?;
    let id = named::user_id(&api, given(matches, "user"))?;
    let grants = of_user(&api, &id)?;
    api.close()?;
    let shown = |grants: &Value| {
        let rows: Vec<Value> = grants.as_array().into_iter().flatten().map(dated).collect();
        table(&SHOWN, &rows)
    };
    Ok(print(matches, &Value::Array(grants), shown)?)
}

fn of_user(api: &Api, id: &str) -> Result<Vec<Value>, CommandError> {
    let mut answer = api.ask(Method::GET, &format!("/users/{}/grants", segment(id)), None)?;
    Ok(entries(&mut answer, "grants")?)
}

pub(super) fn end(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let id = named::user_id(&api, given(matches, "user"))?;
    let client = match matches.get_one::<String>("client") {
        Some(name) => Some(client_of(&api, &id, name)?),
        None => None,
    };
    let (path, what) = match &client {
        Some(client) => (format!("/users/{}/grants/{}", segment(&id), segment(client)), client.as_str()),
        None => (format!("/users/{}/grants", segment(&id)), "every client"),
    };
    confirm::ask(matches, &format!("End what {what} has of {id}?"))?;
    api.ask(Method::DELETE, &path, None)?;
    api.close()?;
    let ended = |_: &Value| format!("what {} had of {} is ended\n", line(what), line(&id));
    Ok(print(matches, &json!({ "id": id, "client_id": client }), ended)?)
}

/// The id of a client that is named by id or name. A client that was deleted has no name any more, but a consent to it
/// may be left: it is found by its id among the user's grants.
fn client_of(api: &Api, user: &str, name: &str) -> Result<String, CommandError> {
    match named::client_id(api, name) {
        Err(CommandError::NotFound(told)) => {
            let is_it = |grant: &Value| grant.get("client_id").and_then(Value::as_str) == Some(name);
            let is_left = of_user(api, user)?.iter().any(is_it);
            if is_left { Ok(name.to_owned()) } else { Err(CommandError::NotFound(told)) }
        }
        found => found,
    }
}
