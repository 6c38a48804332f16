//! `symbolon invitation`: inviting people to open an account.

use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};
use http::Method;
use serde_json::{Map, Value, json};

use super::api::{Api, segment};
use super::moment::dated;
use super::output::{self, Column, facts, line, print, table};
use super::{CommandError, confirm, given, named};
use crate::cli::about_an_issuer;

const COLUMNS: [Column; 6] = [
    ("ID", "id"),
    ("ADDRESS", "email"),
    ("MADE", "created_at"),
    ("BY", "made_by"),
    ("ENDS", "expires_at"),
    ("USED", "used_at"),
];

pub(super) fn command() -> Command {
    let search =
        Arg::new("search").long("search").value_name("TEXT").help("Only addresses that contain TEXT");
    let list = Command::new("list")
        .about("List invitations until their time is over, newest first")
        .arg(search)
        .arg(output::limit());
    let create = create_arguments(Command::new("create"));
    let delete = delete_arguments(Command::new("delete")).visible_alias("withdraw").arg(confirm::argument());
    Command::new("invitation")
        .about("Invite people to open an account")
        .subcommand_required(true)
        .subcommands([list, create, delete].map(about_an_issuer))
}

/// What these commands were called before: `symbolon user invite` and `user withdraw-invitation`.
pub(super) fn earlier() -> [Command; 2] {
    let invite = create_arguments(Command::new("invite"));
    let withdraw = delete_arguments(Command::new("withdraw-invitation"));
    [invite, withdraw].map(|command| about_an_issuer(command).hide(true))
}

fn create_arguments(command: Command) -> Command {
    let many = |name: &'static str| Arg::new(name).long(name).action(ArgAction::Append);
    let lifetime = Arg::new("lifetime")
        .long("lifetime")
        .value_name("TIME")
        .value_parser(humantime::parse_duration)
        .help("How long the invitation is valid, such as 12h; 7 days without, 30 days at most");
    let print_link = Arg::new("print-link").long("print-link").action(ArgAction::SetTrue);
    command
        .about("Invite somebody to open an account: a link by mail, valid once")
        .arg(Arg::new("email").value_name("ADDRESS").required(true).help("The address that is invited"))
        .arg(many("group").value_name("GROUP").help("Put the account into a group; may be repeated"))
        .arg(many("role").value_name("ROLE").help("Give the account a role of the issuer; may be repeated"))
        .arg(lifetime)
        .arg(Arg::new("language").long("language").value_name("TAG").help("The language of the mail"))
        .arg(print_link.help("Send no mail, and print the link. Its address is then proven by a code"))
}

fn delete_arguments(command: Command) -> Command {
    let id = Arg::new("invitation").value_name("ID").required(true);
    command
        .about("Withdraw an invitation that was not used yet: its link leads in no longer")
        .arg(id.help("The invitation, as `invitation list` names it"))
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("list", matches)) => list(matches),
        Some(("create", matches)) => create(matches),
        Some(("delete", matches)) => {
            confirm::ask(matches, &format!("Withdraw the invitation {}?", given(matches, "invitation")))?;
            delete(matches)
        }
        _ => Ok(()),
    }
}

fn list(matches: &ArgMatches) -> Result<(), CommandError> {
    let search = matches.get_one::<String>("search");
    let query = search.map(|text| format!("&search={}", segment(text))).unwrap_or_default();
    let api = Api::reach(matches)?;
    let (invitations, is_cut) = api.first("/invitations", "invitations", &query, output::most(matches))?;
    api.close()?;
    let count = invitations.len();
    print(matches, &Value::Array(invitations), |all| {
        let rows: Vec<Value> = all.as_array().into_iter().flatten().map(dated).collect();
        table(&COLUMNS, &rows)
    })?;
    if is_cut {
        output::say_cut(count);
    }
    Ok(())
}

pub(super) fn create(matches: &ArgMatches) -> Result<(), CommandError> {
    let names = |name: &str| matches.get_many::<String>(name).into_iter().flatten();
    let api = Api::reach(matches)?;
    let groups: Vec<String> =
        names("group").map(|name| named::group_id(&api, name)).collect::<Result<_, _>>()?;
    let roles: Vec<Value> = names("role")
        .map(|name| Ok(named::role(&api, name, None)?.get("id").cloned().unwrap_or_default()))
        .collect::<Result<_, CommandError>>()?;
    let mut body = Map::from_iter([
        ("email".to_owned(), Value::from(given(matches, "email"))),
        ("groups".to_owned(), json!(groups)),
        ("roles".to_owned(), json!(roles)),
        ("send_mail".to_owned(), Value::Bool(!matches.get_flag("print-link"))),
    ]);
    if let Some(lifetime) = matches.get_one::<Duration>("lifetime") {
        body.insert("lifetime".to_owned(), lifetime.as_secs().into());
    }
    if let Some(language) = matches.get_one::<String>("language") {
        body.insert("language".to_owned(), Value::from(language.as_str()));
    }
    let answer = api.ask(Method::POST, "/invitations", Some(&Value::Object(body)))?;
    api.close()?;
    Ok(print(matches, &answer, shown)?)
}

fn shown(answer: &Value) -> String {
    const COLUMNS: [Column; 3] = [("id", "id"), ("email", "email"), ("valid until", "expires_at")];
    let invitation = facts(&COLUMNS, &dated(answer.get("invitation").unwrap_or(&Value::Null)));
    match (answer.get("link").and_then(Value::as_str), answer.get("queued").and_then(Value::as_bool)) {
        (Some(link), _) => format!("{invitation}{link}\n"),
        (None, Some(false)) => format!("{invitation}the mail was not sent: too many are waiting\n"),
        _ => format!("{invitation}the mail is on its way\n"),
    }
}

pub(super) fn delete(matches: &ArgMatches) -> Result<(), CommandError> {
    let id = given(matches, "invitation");
    let api = Api::reach(matches)?;
    api.ask(Method::DELETE, &format!("/invitations/{}", segment(id)), None)?;
    api.close()?;
    let told = |_: &Value| format!("the invitation {} is withdrawn\n", line(id));
    Ok(print(matches, &json!({ "id": id }), told)?)
}
