//! `symbolon user`.

use clap::{Arg, ArgAction, ArgMatches, Command};
use http::Method;
use serde_json::{Map, Value, json};

use super::api::{Api, ApiError, segment};
use super::output::{Column, facts, print};
use super::{CommandError, given, secret_input};
use crate::cli::{self, about_an_issuer};

const TEXTS: [(&str, &str, &str, &str); 4] = [
    ("email", "email", "ADDRESS", "E-mail address, which the user may sign in with"),
    ("username", "preferred_username", "NAME", "User name, which the user may sign in with"),
    ("name", "name", "NAME", "Full name"),
    ("id", "id", "ID", "Its id (`sub`); drawn where none is given"),
];

pub(super) fn command() -> Command {
    let mut create = Command::new("create").about("Create a user").after_help(
        "The password is asked for on a terminal, else read from the first line of standard input.",
    );
    for (flag, _, value, help) in TEXTS {
        create = create.arg(Arg::new(flag).long(flag).value_name(value).help(help));
    }
    let verified = Arg::new("email-verified").long("email-verified").action(ArgAction::SetTrue);
    let none = Arg::new("no-password")
        .long("no-password")
        .action(ArgAction::SetTrue)
        .conflicts_with("password-file");
    let create = create
        .arg(verified.help("The address is known to be the user's"))
        .arg(secret_input::argument())
        .arg(none.help("Create a user without a password, and do not ask for one"));
    let end = Arg::new("end-sessions").long("end-sessions").action(ArgAction::SetTrue);
    let set_password = Command::new("set-password")
        .about("Set a user's password")
        .after_help(
            "The password is asked for on a terminal, else read from the first line of standard input.",
        )
        .arg(cli::drawn_id("user", "USER").help("Id or e-mail address"))
        .arg(secret_input::argument())
        .arg(end.help("End the user's sessions and tokens too"));
    Command::new("user")
        .about("Create users and set their passwords")
        .subcommand_required(true)
        .subcommand(about_an_issuer(create))
        .subcommand(about_an_issuer(set_password))
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("create", matches)) => create(matches),
        Some(("set-password", matches)) => set_password(matches),
        _ => Ok(()),
    }
}

fn create(matches: &ArgMatches) -> Result<(), CommandError> {
    const SHOWN: [Column; 4] =
        [("id", "id"), ("email", "email"), ("username", "preferred_username"), ("name", "name")];
    let mut body = Map::new();
    for (flag, member, ..) in TEXTS {
        if let Some(text) = matches.get_one::<String>(flag) {
            body.insert(member.to_owned(), Value::from(text.as_str()));
        }
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
    let answer = api.ask(Method::POST, "/users", Some(&Value::Object(body)))?;
    api.close()?;
    let user = answer.get("user").unwrap_or(&Value::Null);
    Ok(print(matches, user, |user| facts(&SHOWN, user))?)
}

fn set_password(matches: &ArgMatches) -> Result<(), CommandError> {
    let password = secret_input::required(secret_input::get(matches, "New password: ")?)?;
    let api = Api::reach(matches)?;
    let id = id_of(&api, given(matches, "user"))?;
    let body = json!({ "password": password.expose(), "end_sessions": matches.get_flag("end-sessions") });
    api.ask(Method::POST, &format!("/users/{}/password", segment(&id)), Some(&body))?;
    api.close()?;
    Ok(print(matches, &json!({ "id": id }), |_| format!("the password of {id} is set\n"))?)
}

/// The id of a user who was named by id or e-mail address.
fn id_of(api: &Api, named: &str) -> Result<String, CommandError> {
    if !named.contains('@') {
        return Ok(named.to_owned());
    }
    let users = api.list("/users", "users", &format!("&email={}", segment(named)))?;
    let id = users.first().and_then(|user| user.get("id")).and_then(Value::as_str);
    let unknown = || ApiError::Refused {
        status: http::StatusCode::NOT_FOUND,
        text: format!("there is no user {named}"),
    };
    Ok(id.ok_or_else(unknown)?.to_owned())
}
