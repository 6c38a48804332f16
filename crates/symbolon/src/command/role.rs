//! `symbolon role`.

use clap::{Arg, ArgGroup, ArgMatches, Command};
use http::Method;
use serde_json::{Map, Value, json};

use super::api::{Api, segment};
use super::group::{id, listed, search, who};
use super::output::{self, Column, line, members, print};
use super::{CommandError, confirm, given, named};
use crate::cli::{self, about_an_issuer};

const COLUMNS: [Column; 4] =
    [("ID", "id"), ("NAME", "name"), ("CLIENT", "client_id"), ("DESCRIPTION", "description")];

const HOLDERS: [Column; 4] = [("KIND", "kind"), ("ID", "id"), ("NAME", "name"), ("EMAIL", "email")];

pub(super) fn command() -> Command {
    let delete = Command::new("delete").about("Delete a role, and take it from everybody who has it");
    let of_one = [
        Command::new("show").about("Show a role"),
        update_command(),
        delete.arg(confirm::argument()),
        to_one(Command::new("give").about("Give a role to a user or a group")),
        to_one(Command::new("take").about("Take a role from a user or a group")),
        Command::new("holders")
            .about("List the groups and users that were given a role directly")
            .arg(output::limit()),
    ];
    Command::new("role")
        .about("Manage roles, and who is given them")
        .subcommand_required(true)
        .subcommands([create_command(), list_command()].map(about_an_issuer))
        .subcommands(of_one.map(|command| about_an_issuer(command.arg(role()).arg(client()))))
}

/// The argument that names a role.
fn role() -> Arg {
    cli::drawn_id("role", "ROLE")
        .help("Id or name: of the issuer's own roles, else of the only client that has such a role")
}

fn client() -> Arg {
    let client = Arg::new("client").long("client").value_name("CLIENT").allow_hyphen_values(true);
    client.help("The client whose role it is, by id or name")
}

fn description() -> Arg {
    Arg::new("description").long("description").value_name("TEXT").help("What it allows")
}

/// Adds `--user` and `--group`.
fn holders(command: Command, help: [&'static str; 2]) -> Command {
    let [of_user, of_group] = help;
    let user = Arg::new("user").long("user").value_name("USER").allow_hyphen_values(true);
    let group = Arg::new("group").long("group").value_name("GROUP").allow_hyphen_values(true);
    command.arg(user.help(of_user)).arg(group.help(of_group))
}

/// Adds the one user or group that a role is given to or taken from.
fn to_one(command: Command) -> Command {
    let help = ["The user, by id, e-mail address or user name", "The group, by id or name"];
    holders(command, help).group(ArgGroup::new("holder").args(["user", "group"]).required(true))
}

fn create_command() -> Command {
    let name = Arg::new("name").required(true).value_name("NAME").help("Its name, as tokens have it");
    let id = Arg::new("id").long("id").value_name("ID").help("Its id; drawn where none is given");
    Command::new("create")
        .about("Create a role, of the issuer or of a client")
        .arg(name)
        .arg(client())
        .arg(description())
        .arg(id)
}

fn list_command() -> Command {
    let search =
        Arg::new("search").long("search").value_name("TEXT").help("Only those whose id or name has it");
    let help =
        ["Only those that were given to this user directly", "Only those that were given to this group"];
    holders(Command::new("list").about("List roles"), help)
        .group(ArgGroup::new("of").args(["client", "user", "group"]))
        .arg(client().help("Only those of this client"))
        .arg(search)
        .arg(output::limit())
}

fn update_command() -> Command {
    let name = Arg::new("name").long("name").value_name("NAME").help("Its new name");
    Command::new("update").about("Rename a role, or describe it").arg(name).arg(description())
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("create", matches)) => create(matches),
        Some(("list", matches)) => list(matches),
        Some(("show", matches)) => show(matches),
        Some(("update", matches)) => update(matches),
        Some(("delete", matches)) => delete(matches),
        Some(("give", matches)) => change_holder(matches, &Method::PUT),
        Some(("take", matches)) => change_holder(matches, &Method::DELETE),
        Some(("holders", matches)) => list_holders(matches),
        _ => Ok(()),
    }
}

/// The members that the options set.
fn described(matches: &ArgMatches) -> Map<String, Value> {
    let of = |member: &str| {
        let text = matches.get_one::<String>(member)?;
        Some((member.to_owned(), Value::from(text.as_str())))
    };
    ["name", "description"].into_iter().filter_map(of).collect()
}

/// The role that the command line names.
fn role_of(api: &Api, matches: &ArgMatches) -> Result<Value, CommandError> {
    named::role(api, given(matches, "role"), matches.get_one::<String>("client").map(String::as_str))
}

fn create(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let mut body = described(matches);
    if let Some(id) = matches.get_one::<String>("id") {
        body.insert("id".to_owned(), Value::from(id.as_str()));
    }
    if let Some(client) = matches.get_one::<String>("client") {
        body.insert("client_id".to_owned(), Value::from(named::client_id(&api, client)?));
    }
    let answer = api.ask(Method::POST, "/roles", Some(&Value::Object(body)))?;
    api.close()?;
    Ok(print(matches, answer.get("role").unwrap_or(&Value::Null), shown)?)
}

fn shown(role: &Value) -> String {
    members(role, &["id", "name", "client_id", "description"])
}

fn list(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let mut query = search(matches);
    let of = |name: &str| matches.get_one::<String>(name);
    let path = match (of("client"), of("user"), of("group")) {
        (Some(client), ..) => {
            query.push_str(&format!("&client_id={}", segment(&named::client_id(&api, client)?)));
            "/roles".to_owned()
        }
        (_, Some(user), _) => format!("/users/{}/roles", segment(&named::user_id(&api, user)?)),
        (.., Some(group)) => format!("/groups/{}/roles", segment(&named::group_id(&api, group)?)),
        _ => "/roles".to_owned(),
    };
    let (roles, is_cut) = api.first(&path, "roles", &query, output::most(matches))?;
    api.close()?;
    listed(matches, &COLUMNS, roles, is_cut)
}

fn show(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let role = role_of(&api, matches)?;
    api.close()?;
    Ok(print(matches, &role, shown)?)
}

fn update(matches: &ArgMatches) -> Result<(), CommandError> {
    let body = described(matches);
    if body.is_empty() {
        return Err(CommandError::Usage("nothing to change: give an option".into()));
    }
    let api = Api::reach(matches)?;
    let role = role_of(&api, matches)?;
    let path = format!("/roles/{}", segment(id(&role)));
    let answer = api.ask(Method::PATCH, &path, Some(&Value::Object(body)))?;
    api.close()?;
    Ok(print(matches, answer.get("role").unwrap_or(&Value::Null), shown)?)
}

fn delete(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let role = role_of(&api, matches)?;
    confirm::ask(matches, &format!("Delete {}, and take it from everybody who has it?", called(&role)))?;
    api.ask(Method::DELETE, &format!("/roles/{}", segment(id(&role))), None)?;
    api.close()?;
    Ok(print(matches, &json!({ "id": id(&role) }), |_| format!("{} is deleted\n", called(&role)))?)
}

/// Gives a role to a user or group, or takes it away.
fn change_holder(matches: &ArgMatches, method: &Method) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let role = role_of(&api, matches)?;
    let (member, path, whom) = match matches.get_one::<String>("user") {
        Some(user) => {
            let user = named::user_id(&api, user)?;
            ("user_id", format!("/users/{}", segment(&user)), Value::from(user))
        }
        None => {
            let group = named::group_id(&api, given(matches, "group"))?;
            ("group_id", format!("/groups/{}", segment(&group)), Value::from(group))
        }
    };
    api.ask(method.clone(), &format!("{path}/roles/{}", segment(id(&role))), None)?;
    api.close()?;
    let done = if method == Method::PUT { "has" } else { "is no longer given" };
    let told = |_: &Value| {
        format!("{} {done} the role {}\n", line(whom.as_str().unwrap_or_default()), called(&role))
    };
    Ok(print(matches, &json!({ "role_id": id(&role), member: whom }), told)?)
}

/// Lists who was given a role: groups, then users.
fn list_holders(matches: &ArgMatches) -> Result<(), CommandError> {
    let most = output::most(matches);
    let api = Api::reach(matches)?;
    let path = format!("/roles/{}", segment(id(&role_of(&api, matches)?)));
    let (groups, more_groups) = api.first(&format!("{path}/groups"), "groups", "", most)?;
    let (users, more_users) = api.first(&format!("{path}/users"), "users", "", most)?;
    api.close()?;
    let groups = groups.into_iter().map(|group| of_kind("group", group));
    let mut holders: Vec<Value> = groups.chain(users.into_iter().map(|user| of_kind("user", user))).collect();
    let is_cut = more_groups || more_users || holders.len() > most;
    holders.truncate(most);
    listed(matches, &HOLDERS, holders, is_cut)
}

fn of_kind(kind: &str, mut record: Value) -> Value {
    if let Value::Object(record) = &mut record {
        record.insert("kind".to_owned(), Value::from(kind));
    }
    record
}

/// The name of a role with its id, and whose role it is: two clients may have roles of one name.
fn called(role: &Value) -> String {
    match role.get("client_id").and_then(Value::as_str) {
        Some(client) => format!("{} of the client {}", who(role), line(client)),
        None => format!("{} of the issuer", who(role)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_told_with_whose_it_is() {
        let role = json!({ "id": "r1", "name": "Admin", "client_id": "wiki" });
        assert_eq!(called(&role), "Admin (r1) of the client wiki");
        assert_eq!(called(&json!({ "id": "r2", "name": "Ops\n" })), "Ops\u{fffd} (r2) of the issuer");
    }

    #[test]
    fn a_role_is_given_to_one_and_listed_of_one() {
        let parsed = |arguments: &[&str]| command().try_get_matches_from(arguments).is_ok();
        assert!(parsed(&["role", "give", "Admin", "--user", "ann"]));
        assert!(parsed(&["role", "list", "--group", "Staff"]) && parsed(&["role", "list"]));
        for bad in [
            &["role", "give", "Admin"][..],
            &["role", "take", "Admin", "--user", "ann", "--group", "Staff"],
            &["role", "list", "--user", "ann", "--client", "wiki"],
        ] {
            assert!(!parsed(bad), "{bad:?}");
        }
    }
}
