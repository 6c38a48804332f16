//! What `symbolon export` wrote: a line for each record, as `{KIND: RECORD}`. Records stand behind those that they name.

use std::collections::HashSet;
use std::io::BufReader;

use clap::ArgMatches;
use serde_json::Value;

use super::importer::Importer;
use super::lines::lines;
use super::record::{Entry, Fault, Kind, Object, Origin, Part};
use super::{Reader, check_readable_again, open};
use crate::command::export::{END, FORMAT, HEADER, SETTINGS, kind_of};
use crate::command::{CommandError, given};

/// The longest line that is read: that of the admin API, and what stands around it.
const LONGEST_LINE: u64 = 65 << 10;

/// The records of an export.
pub(super) fn reader(matches: &ArgMatches) -> Result<Reader, CommandError> {
    let path = given(matches, "file").to_owned();
    let with_settings = matches.get_flag("settings");
    check_readable_again(&path)?;
    check(&path)?;
    Ok(Box::new(move |importer: &mut Importer<'_>| import(&path, with_settings, importer)))
}

/// Reads the file once, so that nothing is done with one that is cut off or of another kind.
fn check(path: &str) -> Result<(), CommandError> {
    let no_export = |why: &str| CommandError::Usage(format!("{path} is no export of Symbolon: {why}"));
    let (mut is_first, mut is_whole) = (true, false);
    for line in lines(BufReader::new(open(path)?), path, LONGEST_LINE) {
        let (_, line) = line?;
        let text = line.as_deref().unwrap_or_default();
        if std::mem::take(&mut is_first) {
            let header = serde_json::from_slice::<Value>(text).unwrap_or_default();
            match header.get(HEADER).and_then(|header| header.get("format")?.as_u64()) {
                Some(FORMAT) => {}
                Some(_) => return Err(no_export("it has the format of a later release")),
                None => return Err(no_export("its first line does not say so")),
            }
        }
        // Looked at closely only where it may be the last one: a file has millions of others.
        is_whole = text.starts_with(format!("{{\"{END}\":").as_bytes())
            && serde_json::from_slice::<Object>(text).is_ok();
    }
    if is_whole {
        Ok(())
    } else {
        Err(no_export("it is cut off, as its last line is missing: export it again"))
    }
}

fn import(path: &str, with_settings: bool, importer: &mut Importer<'_>) -> Result<(), CommandError> {
    let mut clients_with_secret = HashSet::new();
    for line in lines(BufReader::new(open(path)?), path, LONGEST_LINE) {
        let (number, line) = line?;
        let origin = Origin { place: number, ..Origin::default() };
        let parsed = line.and_then(|line| {
            serde_json::from_slice::<Object>(&line).map_err(|error| {
                // Without the parser's words, which may repeat a hash.
                Fault::from(format!("not a JSON object (column {} of the line)", error.column()))
            })
        });
        let (name, record) = match parsed.map(|line| line.into_iter().next()) {
            Ok(Some((name, Value::Object(record)))) => (name, record),
            Ok(_) => {
                importer.refuse(Kind::User, &origin, &"no record of an export".into())?;
                continue;
            }
            Err(fault) => {
                importer.refuse(Kind::User, &origin, &fault)?;
                continue;
            }
        };
        match &*name {
            HEADER | END => {}
            SETTINGS if with_settings => importer.set(&Value::Object(record))?,
            SETTINGS => importer
                .report
                .note("settings of the issuer were left as they are: --settings takes them too"),
            name => match kind_of(name) {
                Some(kind) => take(kind, origin, record, &mut clients_with_secret, importer)?,
                None => importer.report.note_left_out(vec![name.to_owned()]),
            },
        }
    }
    Ok(())
}

fn take(
    kind: Kind,
    origin: Origin,
    mut record: Object,
    with_secret: &mut HashSet<String>,
    importer: &mut Importer<'_>,
) -> Result<(), CommandError> {
    let text = |member: &str| record.get(member).and_then(Value::as_str).map(str::to_owned);
    let id = text(kind.id_member()).unwrap_or_default();
    let name = text("name").or_else(|| text("client_name")).unwrap_or_default();
    let origin = Origin { id: id.clone(), name, ..origin };
    match kind {
        Kind::User => importer.user(Entry::new(origin.place, record)),
        Kind::Group => {
            let above = text("parent_id");
            record.remove("parent_id");
            importer.group(origin, record, above.as_deref(), Vec::new()).map(drop)
        }
        Kind::Role => importer.role(origin, record, Vec::new()).map(drop),
        Kind::Client => {
            let method = text("token_endpoint_auth_method").unwrap_or_default();
            let mut parts = Vec::new();
            if method.starts_with("client_secret") && with_secret.insert(id.clone()) {
                let fault = Fault::new(
                    "an export has no secrets, so that a new one is drawn",
                    format!("show a new one by symbolon client new-secret {id}"),
                );
                parts.push(Part::new("client_secret", fault));
            }
            importer.client(origin, record, parts)
        }
        Kind::Membership | Kind::GivenRole => importer.record(kind, origin, record),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::import::testing::{Noted, file, reasons};

    const EXPORT: &str = r#"{"export":{"format":1,"issuer":"https://a.example"}}
{"settings":{"audit_days":7}}
{"client":{"client_id":"app","client_name":"App","token_endpoint_auth_method":"client_secret_basic"}}
{"role":{"id":"r1","name":"Admin","client_id":"app"}}
{"group":{"id":"g1","name":"Staff"}}
{"group":{"id":"g2","name":"IT","parent_id":"g1"}}
{"user":{"id":"u1","email":"ann@example.com","password_hash":"$2b$04$x"}}
{"membership":{"group_id":"g2","user_id":"u1"}}
{"given_role":{"role_id":"r1","group_id":"g1"}}
{"later":{}}
{"end":{"records":8}}
"#;

    fn import_of(text: &str, with_settings: bool) -> (Noted, Value) {
        let (_file, path) = file(text);
        check(&path).unwrap();
        let server = Noted::default();
        let (done, report) = server.import(false, |importer| import(&path, with_settings, importer));
        assert_eq!(done, Ok(()));
        (server, report)
    }

    #[test]
    fn every_kind_of_record_is_sent_as_it_stands() {
        let (server, report) = import_of(EXPORT, false);
        assert_eq!(
            server.to("/groups/bulk")[1],
            serde_json::json!({ "id": "g2", "name": "IT", "parent_id": "g1" })
        );
        assert_eq!(server.to("/users/bulk")[0]["password_hash"], "$2b$04$x");
        for path in ["/clients/bulk", "/roles/bulk", "/memberships/bulk", "/given-roles/bulk"] {
            assert_eq!(server.to(path).len(), 1, "{path}");
        }
        assert!(
            server.to("/settings").is_empty() && report["notes"][0].as_str().unwrap().contains("--settings")
        );
        assert_eq!(report["left_out"]["later"], 1);
        assert!(reasons(&report)[0].contains("symbolon client new-secret app"));
        assert_eq!(import_of(EXPORT, true).0.to("/settings")[0]["audit_days"], 7);
    }

    #[test]
    fn a_file_that_is_cut_off_or_of_another_kind_is_refused_whole() {
        let told = |text: &str| {
            let (_file, path) = file(text);
            check(&path).err().map(|error| error.to_string()).unwrap()
        };
        let last = EXPORT.find("{\"end\"").unwrap();
        assert!(told(&EXPORT[..last]).contains("cut off") && told(&EXPORT[..last - 10]).contains("cut off"));
        assert!(told("").contains("no export") && told("{\"user\":{}}").contains("first line"));
        assert!(told("{\"export\":{\"format\":2}}").contains("later release"));
    }

    #[test]
    fn a_line_that_is_broken_is_told_and_the_others_go_on() {
        let broken = EXPORT.replace("{\"later\":{}}", "{\"user\":\n[1]\n{\"user\":5}");
        let (server, report) = import_of(&broken, false);
        assert_eq!(server.to("/users/bulk").len(), 1);
        let told = reasons(&report);
        assert_eq!(
            told.iter().filter(|it| it.contains("JSON object") || it.contains("no record")).count(),
            3,
            "{told:?}"
        );
    }
}
