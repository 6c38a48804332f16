//! `symbolon user`.

mod authenticators;
mod entitlement;
mod identities;
mod record;

use clap::{Arg, ArgAction, ArgMatches, Command};
use http::Method;
use serde_json::{Value, json};

use super::api::{Api, segment};
use super::output::{line, print};
use super::{CommandError, confirm, given, grant, invitation, named, secret_input};
use crate::cli::{self, about_an_issuer};

/// Where a new password comes from.
const PASSWORD_HELP: &str =
    "The password is asked for on a terminal, else read from the first line of standard input.";

pub(super) fn command() -> Command {
    let end = Arg::new("end-sessions").long("sign-out").alias("end-sessions").action(ArgAction::SetTrue);
    let set_password = Command::new("set-password")
        .visible_alias("password")
        .about("Set a user's password")
        .after_help(PASSWORD_HELP)
        .arg(user())
        .arg(secret_input::argument())
        .arg(end.help("Sign the user out everywhere too, as `symbolon user sign-out` does"));
    let sign_out = Command::new("sign-out")
        .about("Sign a user out everywhere: end all sessions and tokens, offline ones too. Remembered consents stay")
        .arg(user())
        .arg(confirm::argument());
    Command::new("user")
        .about("Manage users, their passwords, and what clients have of them")
        .subcommand_required(true)
        .subcommands(record::commands())
        .subcommands(entitlement::commands())
        .subcommand(authenticators::command())
        .subcommand(identities::command())
        .subcommands(invitation::earlier())
        .subcommand(about_an_issuer(set_password))
        .subcommand(about_an_issuer(sign_out))
        .subcommand(about_an_issuer(grant::list_arguments(Command::new("grants"))))
        .subcommand(about_an_issuer(grant::end_arguments(Command::new("end-grant"))))
}

/// The argument that names a user.
fn user() -> Arg {
    cli::drawn_id("user", "USER").help("Id, e-mail address or user name")
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("set-password", matches)) => set_password(matches),
        Some(("sign-out", matches)) => sign_out(matches),
        Some(("authenticators", matches)) => authenticators::run(matches),
        Some(("identities", matches)) => identities::run(matches),
        Some(("invite", matches)) => invitation::create(matches),
        Some(("withdraw-invitation", matches)) => invitation::delete(matches),
        Some(("groups", matches)) => entitlement::groups(matches),
        Some(("roles", matches)) => entitlement::roles(matches),
        Some(("grants", matches)) => grant::list(matches),
        Some(("end-grant", matches)) => grant::end(matches),
        Some((name, matches)) => record::run(name, matches),
        None => Ok(()),
    }
}

fn set_password(matches: &ArgMatches) -> Result<(), CommandError> {
    let password = secret_input::required(secret_input::get(matches, "New password: ")?)?;
    let api = Api::reach(matches)?;
    let id = named::user_id(&api, given(matches, "user"))?;
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

fn sign_out(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let id = named::user_id(&api, given(matches, "user"))?;
    confirm::ask(matches, &format!("End all sessions and tokens of {id}?"))?;
    api.ask(Method::POST, &format!("/users/{}/sign-out", segment(&id)), None)?;
    api.close()?;
    Ok(print(matches, &json!({ "id": id }), |_| format!("{} is signed out everywhere\n", line(&id)))?)
}
