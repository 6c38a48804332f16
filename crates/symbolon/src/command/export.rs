//! `symbolon export`: everything of an issuer that an import can read back, a line each, in an order in which each
//! record stands behind those that it names.
//!
//! The lines are those of the admin API's listings, each under the name of its kind. The first says what the file is, and
//! the last how many records it has: a file without it is cut off.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;

use clap::{Arg, ArgAction, ArgMatches, Command};
use http::Method;
use serde_json::{Value, json};

use super::CommandError;
use super::api::Api;
use super::import::Kind;
use super::output::note;
use crate::cli::about_an_issuer;

/// The member of the first line.
pub(super) const HEADER: &str = "export";
/// The version of the form of the file.
pub(super) const FORMAT: u64 = 1;
/// The member of the settings of the issuer.
pub(super) const SETTINGS: &str = "settings";
/// The member of the last line.
pub(super) const END: &str = "end";

/// The listings, in the order of the file.
const LISTINGS: [(&str, Kind, &str); 10] = [
    ("client", Kind::Client, "/clients/export?secret_digests=true"),
    ("role", Kind::Role, "/roles/export"),
    ("group", Kind::Group, "/groups/export"),
    ("user", Kind::User, "/users/export?password_hashes=true"),
    ("membership", Kind::Membership, "/memberships/export"),
    ("given_role", Kind::GivenRole, "/given-roles/export"),
    ("identity_provider", Kind::IdentityProvider, "/identity-providers/export"),
    ("identity", Kind::Identity, "/identities/export"),
    ("consent", Kind::Consent, "/consents/export"),
    ("logo", Kind::Logo, "/logos/export"),
];

/// The kind of the records of a name.
pub(super) fn kind_of(name: &str) -> Option<Kind> {
    LISTINGS.iter().find(|(own, ..)| *own == name).map(|(_, kind, _)| *kind)
}

pub(super) fn command() -> Command {
    let file = Arg::new("output").long("output").value_name("FILE");
    let without = Arg::new("without-hashes").long("without-hashes").action(ArgAction::SetTrue);
    about_an_issuer(
        Command::new("export")
            .about(
                "Write users with their password hashes, groups, roles, clients, identity providers, connected identities, \
                 consents, logos and settings, a line each",
            )
            .after_help(
                "`symbolon import symbolon FILE` reads it back. Applications go on with the secrets that they have, unless these \
                 are shorter than 32 characters; the secrets that identity providers gave must be set anew. It has neither keys, \
                 sessions, tokens, invitations and the audit log nor passkeys, one-time password generators and recovery codes: \
                 `symbolon backup` has them.",
            )
            .arg(file.help("A new file that only its owner may read; without it, standard output"))
            .arg(without.help("Leave the hashes of passwords and of client secrets out")),
    )
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let api = Api::reach(matches)?;
    let with_hashes = !matches.get_flag("without-hashes");
    let records = match matches.get_one::<String>("output") {
        None => write(&api, with_hashes, &mut BufWriter::new(io::stdout().lock()))?,
        Some(path) => {
            let failed = |source| CommandError::File { path: path.clone(), source };
            // It has hashes: never to be read by others, and never in place of a file that is there.
            let file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
            let mut out = BufWriter::new(file);
            let records = write(&api, with_hashes, &mut out)?;
            let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
            file.sync_all().map_err(failed)?;
            records
        }
    };
    api.close()?;
    note(&format!("{records} records"));
    Ok(())
}

/// Writes the whole export; the number of its records.
fn write(api: &Api, with_hashes: bool, out: &mut dyn Write) -> Result<u64, CommandError> {
    let header =
        json!({ "format": FORMAT, "version": env!("CARGO_PKG_VERSION"), "issuer": api.issuer_url()? });
    line(out, HEADER, &header)?;
    let mut settings = api.ask(Method::GET, "/settings", None)?;
    line(out, SETTINGS, &settings.get_mut("settings").map(Value::take).unwrap_or_default())?;
    let mut records = 0;
    for (name, _, path) in LISTINGS {
        // The query asks for the hashes.
        let bare = path.split_once('?').map_or(path, |(bare, _)| bare);
        let path = if with_hashes { path } else { bare };
        api.read_lines(path, &mut |record| {
            records += 1;
            line(out, name, &record)
        })?;
    }
    line(out, END, &json!({ "records": records }))?;
    out.flush()?;
    Ok(records)
}

fn line(out: &mut dyn Write, name: &str, record: &Value) -> Result<(), CommandError> {
    Ok(writeln!(out, "{{\"{name}\":{record}}}")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_object_with_one_member() {
        let mut out = Vec::new();
        line(&mut out, "user", &json!({ "id": "u1", "name": "A\nB" })).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "{\"user\":{\"id\":\"u1\",\"name\":\"A\\nB\"}}\n");
        assert_eq!((kind_of("given_role"), kind_of("export")), (Some(Kind::GivenRole), None));
    }
}
