//! `symbolon user`.

use std::time::{Duration, UNIX_EPOCH};

use clap::{Arg, ArgAction, ArgMatches, Command};
use http::Method;
use serde_json::{Map, Value, json};

use super::api::{Api, ApiError, segment};
use super::output::{Column, facts, line, print, table};
use super::{CommandError, given, secret_input};
use crate::cli::{self, about_an_issuer};

/// The first time that needs a year of five digits, in milliseconds.
const YEAR_10000: u64 = 253_402_300_800_000;

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
    let end = Arg::new("end-sessions").long("sign-out").alias("end-sessions").action(ArgAction::SetTrue);
    let set_password = Command::new("set-password")
        .about("Set a user's password")
        .after_help(
            "The password is asked for on a terminal, else read from the first line of standard input.",
        )
        .arg(user())
        .arg(secret_input::argument())
        .arg(end.help("Sign the user out everywhere too, as `symbolon user sign-out` does"));
    let grants =
        Command::new("grants").about("List what clients have of a user: consents and refresh tokens");
    let end_grant = Command::new("end-grant")
        .about("End what a client has of a user: its consent, its refresh tokens and its access tokens");
    let client = cli::drawn_id("client", "CLIENT").help("The client's id; every client with --all");
    let all = Arg::new("all").long("all").action(ArgAction::SetTrue).conflicts_with("client");
    let end_grant = end_grant
        .arg(user())
        .arg(client.required(false).required_unless_present("all"))
        .arg(all.help("End what every client has of the user"));
    let sign_out = Command::new("sign-out").about(
        "Sign a user out everywhere: end all sessions and tokens, offline ones too. Remembered consents stay",
    );
    Command::new("user")
        .about("Create users, set their passwords, and end what clients have of them")
        .subcommand_required(true)
        .subcommand(about_an_issuer(create))
        .subcommand(about_an_issuer(set_password))
        .subcommand(about_an_issuer(grants.arg(user())))
        .subcommand(about_an_issuer(end_grant))
        .subcommand(about_an_issuer(sign_out.arg(user())))
}

fn user() -> Arg {
    cli::drawn_id("user", "USER").help("Id or e-mail address")
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("create", matches)) => create(matches),
        Some(("set-password", matches)) => set_password(matches),
        Some(("grants", matches)) => grants(matches),
        Some(("end-grant", matches)) => end_grant(matches),
        Some(("sign-out", matches)) => sign_out(matches),
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
    let body = json!({ "password": password.expose(), "sign_out": matches.get_flag("end-sessions") });
    let answer = api.ask(Method::POST, &format!("/users/{}/password", segment(&id)), Some(&body))?;
    api.close()?;
    let left = answer.get("left_alive").cloned().unwrap_or(Value::Null);
    let told = |_: &Value| {
        let count = |name: &str| left.get(name).and_then(Value::as_u64).unwrap_or_default();
        let set = format!("the password of {} is set\n", line(&id));
        match (count("sessions"), count("grants")) {
            (0, 0) => set,
            (sessions, grants) => format!(
                "{set}still signed in: {sessions} sessions, and {grants} clients with refresh tokens \
                 (`symbolon user sign-out` ends them)\n"
            ),
        }
    };
    Ok(print(matches, &json!({ "id": id, "left_alive": left }), told)?)
}

fn grants(matches: &ArgMatches) -> Result<(), CommandError> {
    const SHOWN: [Column; 6] = [
        ("CLIENT", "client_id"),
        ("NAME", "client_name"),
        ("SINCE", "since"),
        ("LAST USED", "last_used_at"),
        ("OFFLINE", "offline"),
        ("SCOPE", "scope"),
    ];
    let api = Api::reach(matches)?;
    let id = id_of(&api, given(matches, "user"))?;
    let answer = api.ask(Method::GET, &format!("/users/{}/grants", segment(&id)), None)?;
    api.close()?;
    let grants = answer.get("grants").unwrap_or(&Value::Null);
    let dated = |grants: &Value| {
        let rows: Vec<Value> = grants.as_array().into_iter().flatten().map(dated).collect();
        table(&SHOWN, &rows)
    };
    Ok(print(matches, grants, dated)?)
}

/// A grant with its times in a readable form.
fn dated(grant: &Value) -> Value {
    let mut grant = grant.clone();
    for name in ["since", "last_used_at"] {
        if let Some(time) = grant.get_mut(name)
            && let Some(millis) = time.as_u64().filter(|millis| *millis < YEAR_10000)
        {
            let at = UNIX_EPOCH + Duration::from_millis(millis);
            *time = Value::from(humantime::format_rfc3339_seconds(at).to_string());
        }
    }
    grant
}

fn end_grant(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let id = id_of(&api, given(matches, "user"))?;
    let (path, what) = match matches.get_one::<String>("client") {
        Some(client) => (format!("/users/{}/grants/{}", segment(&id), segment(client)), line(client)),
        None => (format!("/users/{}/grants", segment(&id)), "every client".to_owned()),
    };
    api.ask(Method::DELETE, &path, None)?;
    api.close()?;
    let ended = |_: &Value| format!("what {what} had of {} is ended\n", line(&id));
    Ok(print(matches, &json!({ "id": id, "client_id": matches.get_one::<String>("client") }), ended)?)
}

fn sign_out(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let id = id_of(&api, given(matches, "user"))?;
    api.ask(Method::POST, &format!("/users/{}/sign-out", segment(&id)), None)?;
    api.close()?;
    Ok(print(matches, &json!({ "id": id }), |_| format!("{} is signed out everywhere\n", line(&id)))?)
}

/// The id of a user who was given by id or e-mail address.
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
