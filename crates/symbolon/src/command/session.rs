//! `symbolon session`.

use clap::{Arg, ArgMatches, Command};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::api::{Api, ApiError, NO_ISSUER, PAGE, entries, segment};
use super::moment::dated;
use super::output::{self, Column, line, print, table};
use super::{CommandError, confirm, given, named};
use crate::cli::{self, about_an_issuer};

const COLUMNS: [Column; 8] = [
    ("SID", "sid"),
    ("USER", "user_id"),
    ("SIGNED IN", "auth_time"),
    ("LAST USED", "last_used_at"),
    ("EXPIRES", "expires_at"),
    ("DEVICE", "device"),
    ("ADDRESS", "address"),
    ("CLIENTS", "clients"),
];

pub(super) fn command() -> Command {
    let of = Arg::new("user").long("user").value_name("USER").allow_hyphen_values(true);
    let list = Command::new("list")
        .about("List live sessions")
        .arg(of.clone().help("Only those of this user: id, e-mail address or user name"))
        .arg(output::limit());
    let sid =
        cli::drawn_id("sid", "SID").required(false).required_unless_present("user").conflicts_with("user");
    let end = Command::new("end")
        .about("End a session, or every session of a user, and the tokens bound to it")
        .after_help(
            "Grants with offline_access outlive the session: `symbolon grant end` ends them. Browsers that the user let be \
             remembered ask for the second factor again.",
        )
        .arg(sid.help("The session, as `session list` names it"))
        .arg(of.help("Every session of this user: id, e-mail address or user name"))
        .arg(confirm::argument());
    Command::new("session")
        .about("List and end sessions")
        .subcommand_required(true)
        .subcommand(about_an_issuer(list))
        .subcommand(about_an_issuer(end))
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("list", matches)) => list(matches),
        Some(("end", matches)) => end(matches),
        _ => Ok(()),
    }
}

fn list(matches: &ArgMatches) -> Result<(), CommandError> {
    let most = output::most(matches);
    let api = Api::reach(matches)?;
    let (sessions, is_cut) = match matches.get_one::<String>("user") {
        Some(user) => {
            let path = format!("/users/{}/sessions", segment(&named::user_id(&api, user)?));
            api.first(&path, "sessions", "", most)?
        }
        None => of_all(&api, most)?,
    };
    api.close()?;
    let count = sessions.len();
    let shown = |sessions: &Value| {
        let rows: Vec<Value> = sessions.as_array().into_iter().flatten().map(dated).collect();
        table(&COLUMNS, &rows)
    };
    print(matches, &Value::Array(sessions), shown)?;
    if is_cut {
        output::say_cut(count);
    }
    Ok(())
}

/// The sessions of all users, read on by cursor, and whether there are more.
fn of_all(api: &Api, most: usize) -> Result<(Vec<Value>, bool), CommandError> {
    let (mut sessions, mut path) = (Vec::new(), format!("/sessions?limit={PAGE}"));
    loop {
        let mut answer = api.ask(Method::GET, &path, None)?;
        sessions.extend(entries(&mut answer, "sessions")?);
        let next = answer.get("next_cursor").and_then(Value::as_str);
        if sessions.len() > most {
            sessions.truncate(most);
            return Ok((sessions, true));
        }
        match next {
            Some(next) => path = format!("/sessions?limit={PAGE}&cursor={}", segment(next)),
            None => return Ok((sessions, false)),
        }
    }
}

fn end(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.get_one::<String>("user") {
        Some(user) => end_of_user(matches, user),
        None => end_one(matches, given(matches, "sid")),
    }
}

fn end_of_user(matches: &ArgMatches, user: &str) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let id = named::user_id(&api, user)?;
    confirm::ask(matches, &format!("End every session of {id}?"))?;
    let answer = api.ask(Method::DELETE, &format!("/users/{}/sessions", segment(&id)), None)?;
    api.close()?;
    let ended = answer.get("ended").and_then(Value::as_u64).unwrap_or_default();
    let told = |_: &Value| format!("{ended} sessions of {} are ended\n", line(&id));
    Ok(print(matches, &json!({ "user_id": id, "ended": ended }), told)?)
}

fn end_one(matches: &ArgMatches, sid: &str) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    confirm::ask(matches, &format!("End the session {sid}?"))?;
    let missing = |error| missing(error, sid);
    api.ask(Method::DELETE, &format!("/sessions/{}", segment(sid)), None).map_err(missing)?;
    api.close()?;
    Ok(print(matches, &json!({ "sid": sid }), |_| format!("the session {} is ended\n", line(sid)))?)
}

/// Says what helps where there is no such session.
fn missing(error: CommandError, sid: &str) -> CommandError {
    match error {
        CommandError::Api(ApiError::Refused { status: StatusCode::NOT_FOUND, text }) if text != NO_ISSUER => {
            let sid = line(sid);
            let mend = "`symbolon session list` shows which there are";
            CommandError::NotFound(format!("there is no live session \"{sid}\": {mend}"))
        }
        other => other,
    }
}
