//! Users' records: listed, shown, created, changed, disabled and deleted.

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use http::Method;
use serde_json::{Map, Value, json};

use crate::cli::about_an_issuer;
use crate::command::api::{Api, segment};
use crate::command::output::{self, Column, facts, line, members, print, table};
use crate::command::{CommandError, assignment, attribute, confirm, given, named, secret_input};

/// Options that set one text member.
const TEXTS: [(&str, &str, &str, &str); 3] = [
    ("email", "email", "ADDRESS", "E-mail address, which the user may sign in with"),
    ("username", "preferred_username", "NAME", "User name, which the user may sign in with"),
    ("name", "name", "NAME", "Full name"),
];

/// What tells a person which user it is.
const WHO: [Column; 4] =
    [("id", "id"), ("email", "email"), ("username", "preferred_username"), ("name", "name")];

const COLUMNS: [Column; 5] = [
    ("ID", "id"),
    ("EMAIL", "email"),
    ("USERNAME", "preferred_username"),
    ("NAME", "name"),
    ("ACTIVE", "active"),
];

pub(super) fn commands() -> Vec<Command> {
    let search = Arg::new("search").long("search").value_name("TEXT");
    let list = Command::new("list")
        .about("List users, newest first")
        .arg(search.help("Only those whose id, address or name has it"))
        .arg(attribute::search_argument())
        .arg(output::limit());
    let disable = Command::new("disable")
        .about("Keep a user from signing in, and end all sessions and tokens")
        .arg(super::user())
        .arg(confirm::argument());
    let delete = Command::new("delete")
        .about("Delete a user, and end all sessions and tokens")
        .arg(super::user())
        .arg(confirm::argument());
    let commands = [
        create_command(),
        list,
        Command::new("show").about("Show a user").arg(super::user()),
        update_command(),
        disable,
        Command::new("enable").about("Let a user sign in again").arg(super::user()),
        delete,
    ];
    commands.map(about_an_issuer).into()
}

fn with_texts(command: Command) -> Command {
    TEXTS.into_iter().fold(command, |command, (flag, _, value, help)| {
        command.arg(Arg::new(flag).long(flag).value_name(value).help(help))
    })
}

fn create_command() -> Command {
    let id = Arg::new("id").long("id").value_name("ID").help("Its id (`sub`); drawn where none is given");
    let verified = Arg::new("email-verified").long("email-verified").action(ArgAction::SetTrue);
    let none = Arg::new("no-password")
        .long("no-password")
        .action(ArgAction::SetTrue)
        .conflicts_with("password-file");
    with_texts(Command::new("create").about("Create a user"))
        .after_help(super::PASSWORD_HELP)
        .arg(id)
        .arg(verified.help("The address is known to be the user's"))
        .arg(secret_input::argument())
        .arg(none.help("Create a user without a password, and do not ask for one"))
        .arg(attribute::argument())
        .arg(assignment::argument())
}

fn update_command() -> Command {
    let verified = Arg::new("email-verified")
        .long("email-verified")
        .value_name("true|false")
        .num_args(0..=1)
        .default_missing_value("true")
        .require_equals(true)
        .value_parser(value_parser!(bool));
    let update =
        Command::new("update").about("Change the members of a user that are named").arg(super::user());
    with_texts(update)
        .arg(verified.help("Whether the address is known to be the user's"))
        .arg(attribute::argument())
        .arg(assignment::argument())
}

/// Runs one of [`commands`].
pub(super) fn run(name: &str, matches: &ArgMatches) -> Result<(), CommandError> {
    match name {
        "create" => create(matches),
        "list" => list(matches),
        "show" => show(matches),
        "update" => update(matches),
        "disable" => set_active(matches, false),
        "enable" => set_active(matches, true),
        "delete" => delete(matches),
        _ => Ok(()),
    }
}

/// The members that the options set.
fn described(matches: &ArgMatches) -> Result<Map<String, Value>, CommandError> {
    let mut document = Map::new();
    for (flag, member, ..) in TEXTS {
        if let Some(text) = matches.get_one::<String>(flag) {
            document.insert(member.to_owned(), Value::from(text.as_str()));
        }
    }
    assignment::apply(matches, &mut document)?;
    Ok(document)
}

fn create(matches: &ArgMatches) -> Result<(), CommandError> {
    let mut body = described(matches)?;
    if let Some(id) = matches.get_one::<String>("id") {
        body.insert("id".to_owned(), Value::from(id.as_str()));
    }
    if matches.get_flag("email-verified") {
        body.insert("email_verified".to_owned(), Value::Bool(true));
    }
    let password = match matches.get_flag("no-password") {
        true => None,
        false => secret_input::get(matches, "Password (none if empty): ")?,
    };
    if let Some(password) = password {
        body.insert("password".to_owned(), Value::from(password.expose()));
    }
    let api = Api::reach(matches)?;
    attribute::apply(&api, matches, &mut body)?;
    let answer = api.ask(Method::POST, "/users", Some(&Value::Object(body)))?;
    api.close()?;
    let user = answer.get("user").unwrap_or(&Value::Null);
    Ok(print(matches, user, |user| facts(&WHO, user))?)
}

fn list(matches: &ArgMatches) -> Result<(), CommandError> {
    let mut query = attribute::query(matches)?;
    if let Some(search) = matches.get_one::<String>("search") {
        query.push_str(&format!("&search={}", segment(search)));
    }
    let api = Api::reach(matches)?;
    let (users, is_cut) = api.first("/users", "users", &query, output::most(matches))?;
    api.close()?;
    let count = users.len();
    print(matches, &Value::Array(users), |users| {
        table(&COLUMNS, users.as_array().map_or(&[], Vec::as_slice))
    })?;
    if is_cut {
        output::say_cut(count);
    }
    Ok(())
}

fn show(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let user = named::user(&api, given(matches, "user"))?;
    api.close()?;
    Ok(print(matches, &user, shown)?)
}

fn shown(user: &Value) -> String {
    members(user, &["id", "email", "email_verified", "preferred_username", "name", "active"])
}

fn update(matches: &ArgMatches) -> Result<(), CommandError> {
    let mut body = described(matches)?;
    if let Some(verified) = matches.get_one::<bool>("email-verified") {
        body.insert("email_verified".to_owned(), Value::Bool(*verified));
    }
    if body.is_empty() && !attribute::is_given(matches) {
        return Err(CommandError::Usage("nothing to change: give an option, or --set MEMBER=VALUE".into()));
    }
    let api = Api::reach(matches)?;
    attribute::apply(&api, matches, &mut body)?;
    let id = named::user_id(&api, given(matches, "user"))?;
    let user = patch(&api, &id, &Value::Object(body))?;
    api.close()?;
    Ok(print(matches, &user, shown)?)
}

fn patch(api: &Api, id: &str, body: &Value) -> Result<Value, CommandError> {
    let mut answer = api.ask(Method::PATCH, &format!("/users/{}", segment(id)), Some(body))?;
    Ok(answer.get_mut("user").map(Value::take).unwrap_or_default())
}

fn set_active(matches: &ArgMatches, active: bool) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let user = named::user(&api, given(matches, "user"))?;
    if !active {
        confirm::ask(matches, &format!("Disable {}, and end all sessions and tokens?", who(&user)))?;
    }
    let changed = patch(&api, id(&user), &json!({ "active": active }))?;
    api.close()?;
    let done = if active { "may sign in again" } else { "is disabled, and signed out everywhere" };
    Ok(print(matches, &changed, |changed| format!("{} {done}\n", who(changed)))?)
}

fn delete(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let user = named::user(&api, given(matches, "user"))?;
    confirm::ask(matches, &format!("Delete {}, and end all sessions and tokens?", who(&user)))?;
    api.ask(Method::DELETE, &format!("/users/{}", segment(id(&user))), None)?;
    api.close()?;
    Ok(print(matches, &json!({ "id": id(&user) }), |_| format!("{} is deleted\n", who(&user)))?)
}

fn id(user: &Value) -> &str {
    user.get("id").and_then(Value::as_str).unwrap_or_default()
}

/// A user's id, and in brackets what a person knows them by.
fn who(user: &Value) -> String {
    let known = ["email", "preferred_username", "name"].iter().find_map(|name| user.get(*name)?.as_str());
    known.map_or_else(|| line(id(user)), |known| format!("{} ({})", line(id(user)), line(known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_told_by_id_and_by_what_is_known() {
        assert_eq!(who(&json!({ "id": "u1", "name": "Ann", "email": "a@x.example" })), "u1 (a@x.example)");
        assert_eq!(who(&json!({ "id": "u1", "preferred_username": "ann\n" })), "u1 (ann\u{fffd})");
        assert_eq!(who(&json!({ "id": "u1" })), "u1");
    }
}
