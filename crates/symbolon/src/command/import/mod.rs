//! `symbolon import`: users of another provider, with the passwords that they have.
//!
//! A reader per kind of file makes a line for `POST /users/bulk` of each user; the rest is the same for all. The server
//! decides what is taken, so that nothing is checked twice, or otherwise than in a request.

mod auth0;
mod firebase;
mod report;
mod table;

use std::collections::HashSet;
use std::fs::File;
use std::io::BufReader;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value};

use super::api::Api;
use super::{CommandError, given};
use crate::cli::about_an_issuer;
use report::Report;

/// Users in one request. A connection that breaks leaves at most so many of which this side does not know.
const AT_ONCE: usize = 2_000;

/// A user of the file.
struct Entry {
    /// Where it stands: the line, or the number of the user.
    place: u64,
    /// By what a person knows the user.
    name: String,
    /// The members for the admin API, or why there are none.
    user: Result<Map<String, Value>, String>,
    /// Members of the file that mean nothing here.
    left_out: Vec<String>,
}

impl Entry {
    /// A user that cannot be read.
    fn unreadable(place: u64, why: impl Into<String>) -> Self {
        Self { place, name: String::new(), user: Err(why.into()), left_out: Vec::new() }
    }
}

/// The users of a file, in order. An error ends the import.
type Entries = Box<dyn Iterator<Item = Result<Entry, CommandError>>>;

pub(super) fn command() -> Command {
    let file = || Arg::new("file").value_name("FILE").required(true);
    let dry_run = || {
        Arg::new("dry-run")
            .long("dry-run")
            .action(ArgAction::SetTrue)
            .help("Check every user, and change nothing")
    };
    let auth0 = Command::new("auth0")
        .about("Users that Auth0 exported, with bcrypt hashes")
        .arg(file().help("NDJSON: the export with password hashes, or the lines of export and import jobs"));
    let hash_config = Arg::new("hash-config").long("hash-config").value_name("FILE");
    let firebase = Command::new("firebase")
        .about("Users that Firebase Authentication exported, with scrypt hashes")
        .arg(file().help("JSON, from `firebase auth:export`"))
        .arg(hash_config.help("The project's password hash parameters, as the console shows them"));
    let map = Arg::new("map").long("map").value_name("COLUMN=MEMBER").action(ArgAction::Append);
    let csv = Command::new("csv")
        .about("Users in a table with a header, whose columns are members of a user in the admin API")
        .arg(file().help("CSV in UTF-8"))
        .arg(map.help("What a column is; with nothing after `=` it is left out"));
    Command::new("import")
        .about("Create the users of another provider, with the passwords that they have")
        .subcommand_required(true)
        .subcommands([auth0, firebase, csv].map(|command| about_an_issuer(command.arg(dry_run()))))
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let Some((kind, matches)) = matches.subcommand() else { return Ok(()) };
    // Read before a store is opened: a file that is not there is told at once.
    let path = given(matches, "file");
    let file = BufReader::new(open(path)?);
    let entries = match kind {
        "auth0" => auth0::entries(file, path),
        "firebase" => firebase::entries(file, path, matches)?,
        _ => table::entries(file, path, matches)?,
    };
    let is_dry = matches.get_flag("dry-run");
    let api = Api::reach(matches)?;
    let mut report = Report::new(is_dry);
    let imported = import(&api, entries, &mut report);
    // What was done stands in the report, also where the file or the connection broke off.
    report.print(matches)?;
    imported?;
    api.close()?;
    if report.is_whole() { Ok(()) } else { Err(CommandError::Failed("some users were not taken")) }
}

fn open(path: &str) -> Result<File, CommandError> {
    File::open(path).map_err(|source| unreadable(path, source))
}

fn unreadable(path: &str, source: std::io::Error) -> CommandError {
    CommandError::File { path: path.to_owned(), source }
}

fn import(api: &Api, entries: Entries, report: &mut Report) -> Result<(), CommandError> {
    let mut batch = Vec::with_capacity(AT_ONCE);
    let mut seen = Seen::default();
    for entry in entries {
        let entry = entry?;
        report.note_left_out(&entry.left_out);
        match entry.user {
            Err(why) => report.refuse(entry.place, entry.name, why),
            Ok(user) => match seen.add(&user) {
                Some(why) => report.refuse(entry.place, entry.name, why),
                None => batch.push((entry.place, entry.name, user)),
            },
        }
        if batch.len() == AT_ONCE {
            send(api, std::mem::take(&mut batch), report)?;
        }
    }
    send(api, batch, report)
}

/// Sends users and notes what became of each.
fn send(
    api: &Api,
    batch: Vec<(u64, String, Map<String, Value>)>,
    report: &mut Report,
) -> Result<(), CommandError> {
    if batch.is_empty() {
        return Ok(());
    }
    let (mut lines, mut names) = (Vec::new(), Vec::with_capacity(batch.len()));
    for (place, name, user) in batch {
        lines.extend_from_slice(Value::Object(user).to_string().as_bytes());
        lines.push(b'\n');
        names.push((place, name));
    }
    let path = if report.is_dry { "/users/bulk?dry_run=true" } else { "/users/bulk" };
    let mut answers = api.ask_lines(path, lines)?.into_iter();
    for (place, name) in names {
        report.note_answer(place, name, answers.next());
    }
    Ok(())
}

/// Ids and addresses of the file so far: of two users who share one, the second cannot be created. The server would say so
/// too, but as of one who was there before, which a second run of the same file is not to complain of.
#[derive(Default)]
struct Seen {
    ids: HashSet<String>,
    addresses: HashSet<String>,
}

impl Seen {
    /// Notes a user; says what an earlier one has too.
    fn add(&mut self, user: &Map<String, Value>) -> Option<String> {
        let text = |member: &str| user.get(member).and_then(Value::as_str);
        if text("id").is_some_and(|id| !self.ids.insert(id.to_owned())) {
            return Some("another user of the file has this id".to_owned());
        }
        if text("email").is_some_and(|email| !self.addresses.insert(email.to_lowercase())) {
            return Some("another user of the file has this e-mail address".to_owned());
        }
        None
    }
}

/// Gives a member to a user, where there is a value.
fn set(user: &mut Map<String, Value>, member: &str, value: Option<Value>) {
    if let Some(value) = value.filter(|value| !value.is_null() && value.as_str() != Some("")) {
        user.insert(member.to_owned(), value);
    }
}
