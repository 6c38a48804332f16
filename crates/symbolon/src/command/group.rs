//! `symbolon group`.

use clap::{Arg, ArgAction, ArgMatches, Command};
use http::Method;
use serde_json::{Map, Value, json};

use super::api::{Api, ApiError, segment};
use super::output::{self, Column, line, members, print, table};
use super::{CommandError, confirm, given, named};
use crate::cli::{self, about_an_issuer};

const COLUMNS: [Column; 4] =
    [("ID", "id"), ("NAME", "name"), ("PARENT", "parent_id"), ("DESCRIPTION", "description")];

pub(super) fn command() -> Command {
    let delete = Command::new("delete").about("Delete a group that has no groups below it");
    let commands = [
        create_command(),
        list_command(),
        Command::new("show").about("Show a group").arg(group()),
        update_command(),
        delete.arg(group()).arg(confirm::argument()),
        members_command(),
        Command::new("add").about("Put users into a group").arg(group()).arg(users()),
        Command::new("remove").about("Take users out of a group").arg(group()).arg(users()),
    ];
    Command::new("group")
        .about("Manage groups, and who is in them")
        .subcommand_required(true)
        .subcommands(commands.map(about_an_issuer))
}

/// The argument that names a group.
fn group() -> Arg {
    cli::drawn_id("group", "GROUP").help("Id or name")
}

fn users() -> Arg {
    // Without values that begin with a hyphen: options behind a list would be taken for users.
    let users = Arg::new("users").required(true).value_name("USER").num_args(1..).action(ArgAction::Append);
    users.help("Id, e-mail address or user name; may be several (behind -- where one begins with a hyphen)")
}

fn description() -> Arg {
    Arg::new("description").long("description").value_name("TEXT").help("What it is for")
}

fn create_command() -> Command {
    let name = Arg::new("name").required(true).value_name("NAME").help("Its name, as tokens have it");
    let parent = Arg::new("parent").long("parent").value_name("GROUP").allow_hyphen_values(true);
    let id = Arg::new("id").long("id").value_name("ID").help("Its id; drawn where none is given");
    Command::new("create")
        .about("Create a group")
        .arg(name)
        .arg(description())
        .arg(parent.help("The group above it, by id or name"))
        .arg(id)
}

fn list_command() -> Command {
    let search =
        Arg::new("search").long("search").value_name("TEXT").help("Only those whose id or name has it");
    let below = Arg::new("below").long("below").value_name("GROUP").allow_hyphen_values(true);
    let topmost = Arg::new("topmost").long("topmost").action(ArgAction::SetTrue).conflicts_with("below");
    Command::new("list")
        .about("List groups, newest first")
        .arg(search)
        .arg(below.help("Only those directly below this group"))
        .arg(topmost.help("Only those without a group above them"))
        .arg(output::limit())
}

fn update_command() -> Command {
    let name = Arg::new("name").long("name").value_name("NAME").help("Its new name");
    let parent = Arg::new("parent").long("parent").value_name("GROUP").allow_hyphen_values(true);
    let topmost = Arg::new("topmost").long("topmost").action(ArgAction::SetTrue).conflicts_with("parent");
    Command::new("update")
        .about("Rename a group, describe it, or move it with the groups below it")
        .arg(group())
        .arg(name)
        .arg(description())
        .arg(parent.help("The group to move it below, by id or name"))
        .arg(topmost.help("Move it out of every group"))
}

fn members_command() -> Command {
    let search = Arg::new("search").long("search").value_name("TEXT");
    Command::new("members")
        .about("List the users who are in a group directly")
        .arg(group())
        .arg(search.help("Only those whose id, address or name has it"))
        .arg(output::limit())
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("create", matches)) => create(matches),
        Some(("list", matches)) => list(matches),
        Some(("show", matches)) => show(matches),
        Some(("update", matches)) => update(matches),
        Some(("delete", matches)) => delete(matches),
        Some(("members", matches)) => list_members(matches),
        Some(("add", matches)) => add(matches),
        Some(("remove", matches)) => remove(matches),
        _ => Ok(()),
    }
}

/// The members that the options set.
fn described(api: &Api, matches: &ArgMatches) -> Result<Map<String, Value>, CommandError> {
    let mut document = Map::new();
    for member in ["name", "description"] {
        if let Some(text) = matches.get_one::<String>(member) {
            document.insert(member.to_owned(), Value::from(text.as_str()));
        }
    }
    if let Some(parent) = matches.get_one::<String>("parent") {
        document.insert("parent_id".to_owned(), Value::from(named::group_id(api, parent)?));
    }
    Ok(document)
}

fn create(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let mut body = described(&api, matches)?;
    if let Some(id) = matches.get_one::<String>("id") {
        body.insert("id".to_owned(), Value::from(id.as_str()));
    }
    let answer = api.ask(Method::POST, "/groups", Some(&Value::Object(body)))?;
    api.close()?;
    Ok(print(matches, answer.get("group").unwrap_or(&Value::Null), shown)?)
}

fn shown(group: &Value) -> String {
    members(group, &["id", "name", "path", "parent_id", "description"])
}

fn list(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let mut query = search(matches);
    if let Some(below) = matches.get_one::<String>("below") {
        query.push_str(&format!("&parent_id={}", segment(&named::group_id(&api, below)?)));
    }
    if matches.get_flag("topmost") {
        query.push_str("&topmost=true");
    }
    let (groups, is_cut) = api.first("/groups", "groups", &query, output::most(matches))?;
    api.close()?;
    listed(matches, &COLUMNS, groups, is_cut)
}

/// The query of `--search`.
pub(super) fn search(matches: &ArgMatches) -> String {
    let search = matches.get_one::<String>("search").filter(|text| !text.is_empty());
    search.map(|text| format!("&search={}", segment(text))).unwrap_or_default()
}

/// Prints a listing, and says where there is more of it.
pub(super) fn listed(
    matches: &ArgMatches,
    columns: &[Column],
    records: Vec<Value>,
    is_cut: bool,
) -> Result<(), CommandError> {
    let count = records.len();
    let shown = |records: &Value| table(columns, records.as_array().map_or(&[], Vec::as_slice));
    print(matches, &Value::Array(records), shown)?;
    if is_cut {
        output::say_cut(count);
    }
    Ok(())
}

/// A group in full. Only this answer has its path.
fn show(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let id = named::group_id(&api, given(matches, "group"))?;
    let answer = api.ask(Method::GET, &format!("/groups/{}", segment(&id)), None)?;
    api.close()?;
    Ok(print(matches, answer.get("group").unwrap_or(&Value::Null), shown)?)
}

fn update(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let mut body = described(&api, matches)?;
    if matches.get_flag("topmost") {
        body.insert("parent_id".to_owned(), Value::Null);
    }
    if body.is_empty() {
        return Err(CommandError::Usage("nothing to change: give an option".into()));
    }
    let id = named::group_id(&api, given(matches, "group"))?;
    let answer = api.ask(Method::PATCH, &format!("/groups/{}", segment(&id)), Some(&Value::Object(body)))?;
    api.close()?;
    Ok(print(matches, answer.get("group").unwrap_or(&Value::Null), shown)?)
}

fn delete(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let group = named::group(&api, given(matches, "group"))?;
    let question = format!("Delete {}, with its memberships and the roles that it was given?", who(&group));
    confirm::ask(matches, &question)?;
    api.ask(Method::DELETE, &format!("/groups/{}", segment(id(&group))), None)?;
    api.close()?;
    Ok(print(matches, &json!({ "id": id(&group) }), |_| format!("{} is deleted\n", who(&group)))?)
}

fn list_members(matches: &ArgMatches) -> Result<(), CommandError> {
    const COLUMNS: [Column; 4] =
        [("ID", "id"), ("EMAIL", "email"), ("USERNAME", "preferred_username"), ("NAME", "name")];
    let api = Api::reach(matches)?;
    let path = format!("/groups/{}/members", segment(&named::group_id(&api, given(matches, "group"))?));
    let (users, is_cut) = api.first(&path, "members", &search(matches), output::most(matches))?;
    api.close()?;
    listed(matches, &COLUMNS, users, is_cut)
}

fn add(matches: &ArgMatches) -> Result<(), CommandError> {
    change_members(matches, &Method::PUT, "is in")
}

fn remove(matches: &ArgMatches) -> Result<(), CommandError> {
    change_members(matches, &Method::DELETE, "is no longer in")
}

/// Puts users into a group or takes them out. All of them are looked for first, so that a misspelt one leaves everything
/// as it was.
fn change_members(matches: &ArgMatches, method: &Method, done: &str) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let group = named::group(&api, given(matches, "group"))?;
    let names = matches.get_many::<String>("users").into_iter().flatten();
    let users: Vec<String> = names.map(|name| named::user_id(&api, name)).collect::<Result<_, _>>()?;
    for user in &users {
        let path = format!("/groups/{}/members/{}", segment(id(&group)), segment(user));
        api.ask(method.clone(), &path, None).map_err(|error| of_user(error, user))?;
    }
    api.close()?;
    let told = |_: &Value| {
        users.iter().map(|user| format!("{} {done} {}\n", line(user), who(&group))).collect::<String>()
    };
    Ok(print(matches, &json!({ "group_id": id(&group), "user_ids": users }), told)?)
}

/// Says which of several users a refusal is about.
fn of_user(error: CommandError, user: &str) -> CommandError {
    match error {
        CommandError::Api(ApiError::Refused { status, text }) => {
            let text = format!("{}: {text}", line(user));
            CommandError::Api(ApiError::Refused { status, text })
        }
        other => other,
    }
}

/// The id of a group or role.
pub(super) fn id(record: &Value) -> &str {
    record.get("id").and_then(Value::as_str).unwrap_or_default()
}

/// The name of a group or role, and its id in brackets.
pub(super) fn who(record: &Value) -> String {
    let name = record.get("name").and_then(Value::as_str).unwrap_or_default();
    format!("{} ({})", line(name), line(id(record)))
}
