//! `symbolon import`: users of another provider, with the passwords that they have; and groups, roles and clients where
//! its export has them.
//!
//! A reader per kind of file makes records for the bulk endpoints of the admin API; the rest is the same for all. The
//! server decides what is taken, so that nothing is checked twice, or otherwise than in a request.

mod answer;
mod attributes;
mod auth0;
mod authentik;
mod budget;
mod client;
mod cognito;
mod file;
mod firebase;
#[cfg(any(test, feature = "fuzz"))]
mod fuzz;
mod importer;
mod json_skip;
mod json_stream;
mod keycloak;
mod lines;
mod own;
mod record;
mod report;
mod schema;
mod seen;
mod server;
mod structure;
mod table;

use std::io;

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::api::Api;
use super::{CommandError, given};
use crate::cli::about_an_issuer;
use file::{check_readable_again, open_text, unreadable};
#[cfg(any(test, feature = "fuzz"))]
pub use fuzz::import_file;
use importer::Importer;
pub(super) use record::Kind;
use report::{Report, Unit};

/// Reads the records of a file that was opened, and gives them to an importer.
type Reader = Box<dyn FnOnce(&mut Importer<'_>) -> Result<(), CommandError>>;

/// A kind of file.
struct Source {
    name: &'static str,
    about: &'static str,
    file: &'static str,
    /// What counts the places of its records.
    unit: Unit,
    /// Whether it has groups and roles.
    is_structured: bool,
    open: fn(&ArgMatches) -> Result<Reader, CommandError>,
}

/// Every kind of file.
static SOURCES: [Source; 7] = [
    Source {
        name: "keycloak",
        about: "A realm that Keycloak exported: users with PBKDF2 and Argon2 hashes, groups, roles and clients",
        file: "JSON, from `kc.sh export`; several where users are in files of their own",
        unit: Unit::Records,
        is_structured: true,
        open: keycloak::reader,
    },
    Source {
        name: "auth0",
        about: "Users that Auth0 exported, with bcrypt hashes",
        file: "NDJSON: the export with password hashes, or the lines of export and import jobs",
        unit: Unit::Lines,
        is_structured: false,
        open: |matches| auth0::reader(given(matches, "file")),
    },
    Source {
        name: "firebase",
        about: "Users that Firebase Authentication exported, with scrypt hashes",
        file: "JSON, from `firebase auth:export`",
        unit: Unit::Records,
        is_structured: false,
        open: firebase::reader,
    },
    Source {
        name: "cognito",
        about: "Users of a Cognito user pool, without passwords: Cognito exports none",
        file: "JSON, from `aws cognito-idp list-users`, or CSV with the header of the pool",
        unit: Unit::Records,
        is_structured: false,
        open: |matches| cognito::reader(given(matches, "file")),
    },
    Source {
        name: "authentik",
        about: "Users with PBKDF2 hashes, groups and OAuth2 providers of authentik",
        file: "JSON, from `ak dumpdata`, or a blueprint as JSON",
        unit: Unit::Records,
        is_structured: true,
        open: authentik::reader,
    },
    Source {
        name: "csv",
        about: "Users in a table with a header, whose columns are members of a user in the admin API",
        file: "CSV in UTF-8",
        unit: Unit::Lines,
        is_structured: false,
        open: table::reader,
    },
    Source {
        name: "symbolon",
        about: "Everything that `symbolon export` wrote",
        file: "NDJSON, from `symbolon export`",
        unit: Unit::Lines,
        is_structured: true,
        open: own::reader,
    },
];

pub(super) fn command() -> Command {
    Command::new("import")
        .about("Take in users of another provider with their passwords; and groups, roles and clients")
        .after_help("It may be repeated: what is there already is left as it is.")
        .subcommand_required(true)
        .subcommands(SOURCES.iter().map(|source| about_an_issuer(subcommand(source))))
}

fn subcommand(source: &Source) -> Command {
    let file = Arg::new("file").value_name("FILE").required(true).help(source.file);
    let dry_run = Arg::new("dry-run").long("dry-run").action(ArgAction::SetTrue);
    let command = Command::new(source.name).about(source.about);
    let command = match source.name {
        "keycloak" => command.arg(file.num_args(1..)),
        "firebase" => {
            let config = Arg::new("hash-config").long("hash-config").value_name("FILE");
            command
                .arg(file)
                .arg(config.help("The project's password hash parameters, as the console shows them"))
        }
        "csv" => {
            let map = Arg::new("map").long("map").value_name("COLUMN=MEMBER").action(ArgAction::Append);
            command.arg(file).arg(map.help("What a column is; with nothing after `=` it is left out"))
        }
        "authentik" => {
            let role = Arg::new("superuser-role").long("superuser-role").value_name("NAME");
            command.arg(file).arg(
                role.help("A role of the issuer for the groups whose members are superusers of authentik"),
            )
        }
        "symbolon" => {
            let settings = Arg::new("settings").long("settings").action(ArgAction::SetTrue);
            command.arg(file).arg(settings.help("Also change the issuer's settings to those of the file"))
        }
        _ => command.arg(file),
    };
    command.arg(dry_run.help("Check every record, and change nothing"))
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let Some((name, matches)) = matches.subcommand() else { return Ok(()) };
    let Some(source) = SOURCES.iter().find(|source| source.name == name) else { return Ok(()) };
    // Before a store is opened: a file that is not there, or of another kind, is told at once.
    let read = (source.open)(matches)?;
    let is_dry = matches.get_flag("dry-run");
    let api = Api::reach(matches)?;
    let out = io::BufWriter::new(io::stdout().lock());
    let mut importer =
        Importer::new(&api, Report::new(out, matches.get_flag("json"), source.unit, is_dry), is_dry);
    carry_out(&mut importer, source.is_structured, read)?;
    let is_whole = importer.report.is_whole();
    drop(importer);
    api.close()?;
    if is_whole { Ok(()) } else { Err(CommandError::Failed("some records were not taken")) }
}

/// Runs an import. What was done stands in the report, also where the file or the connection broke off.
fn carry_out(
    importer: &mut Importer<'_>,
    is_structured: bool,
    read: impl FnOnce(&mut Importer<'_>) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let structure = if is_structured { importer.read_structure() } else { Ok(()) };
    let was_read = structure.and_then(|()| read(importer));
    // Also where the file broke off: what was read before is complete in itself.
    let flushed = importer.flush();
    if was_read.is_err() || flushed.is_err() {
        importer.report.note_broken_off();
    }
    importer.report.finish()?;
    was_read?;
    flushed
}

#[cfg(test)]
mod activity;
#[cfg(test)]
mod cut_files;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod testing;
