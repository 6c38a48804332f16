//! What `symbolon export` wrote: a line for each record, as `{KIND: RECORD}`. Records stand behind those that they name.

use std::collections::HashMap;
use std::io::BufReader;

use clap::ArgMatches;
use serde_json::{Value, json};
use symbolon_app::clock::{Clock, SystemClock};
use symbolon_protocol::time::Timestamp;

use super::importer::Importer;
use super::lines::lines;
use super::record::{Entry, Fault, Kind, Object, Origin, Part};
use super::schema::Schema;
use super::{Reader, check_readable_again, open_text};
use crate::command::export::{END, FORMAT, HEADER, SETTINGS, kind_of};
use crate::command::{CommandError, given};

/// The longest line that is read: that of the admin API, and what stands around it.
const LONGEST_LINE: u64 = 65 << 10;

/// The setting that names roles. The settings stand before the roles, so it waits for them.
const FACTOR_ROLES: &str = "second_factor_roles";

/// The records of an export.
pub(super) fn reader(matches: &ArgMatches) -> Result<Reader, CommandError> {
    let path = given(matches, "file").to_owned();
    let with_settings = matches.get_flag("settings");
    check_readable_again(&path)?;
    check(&path)?;
    Ok(Box::new(move |importer: &mut Importer<'_>| import(&path, with_settings, importer)))
}

/// Reads the file once, so that nothing is done with one that is cut off, lacks lines or is of another kind.
fn check(path: &str) -> Result<(), CommandError> {
    let no_export = |why: String| CommandError::Usage(format!("{path} is no export of Symbolon: {why}"));
    let (mut is_first, mut records, mut said) = (true, 0, None);
    for line in lines(BufReader::new(open_text(path)?), path, LONGEST_LINE) {
        let (_, line) = line?;
        let text = line.as_deref().unwrap_or_default();
        if std::mem::take(&mut is_first) {
            check_header(text).map_err(|why| no_export(why.to_owned()))?;
            continue;
        }
        // Looked at closely only where it may be the last one: a file has millions of others.
        said = is_of(text, END).then(|| said_in(text)).flatten();
        if said.is_none() && !is_of(text, SETTINGS) {
            records += 1;
        }
    }
    match said {
        _ if is_first => Err(no_export("it is empty".to_owned())),
        None => Err(no_export("it is cut off, as its last line is missing: export it again".to_owned())),
        Some(said) if said == records => Ok(()),
        Some(said) => Err(no_export(format!(
            "it has {records} records, and its last line says that there are {said}: export it again"
        ))),
    }
}

/// Whether a line is the record of a name, as an export writes it.
fn is_of(line: &[u8], name: &str) -> bool {
    line.starts_with(format!("{{\"{name}\":").as_bytes())
}

/// The number of records that the last line says.
fn said_in(line: &[u8]) -> Option<u64> {
    serde_json::from_slice::<Value>(line).ok()?.get(END)?.get("records")?.as_u64()
}

fn check_header(line: &[u8]) -> Result<(), &'static str> {
    let header = serde_json::from_slice::<Value>(line).unwrap_or_default();
    match header.get(HEADER).and_then(|header| header.get("format")?.as_u64()) {
        Some(FORMAT) => Ok(()),
        Some(_) => Err("it has the format of a later release"),
        None => Err("its first line does not say so"),
    }
}

fn import(path: &str, with_settings: bool, importer: &mut Importer<'_>) -> Result<(), CommandError> {
    let schema = importer.schema()?;
    let mut import = Import {
        importer,
        with_settings,
        defined: schema.clone(),
        schema,
        groups: HashMap::new(),
        roles: HashMap::new(),
        factor_roles: None,
        now: SystemClock::start().now(),
        last: None,
        is_noted: false,
    };
    for line in lines(BufReader::new(open_text(path)?), path, LONGEST_LINE) {
        let (number, line) = line?;
        import.line(number, line)?;
    }
    Ok(())
}

/// The state of an import.
struct Import<'i, 'a> {
    importer: &'i mut Importer<'a>,
    with_settings: bool,
    /// The attributes that are taken: those that the issuer defines, or will when the settings of the file are its own.
    schema: Schema,
    /// The attributes that the issuer defines now.
    defined: Schema,
    /// The ids under which groups and roles are on the server, where these are others than in the file.
    groups: HashMap<String, String>,
    roles: HashMap<String, String>,
    /// The ids of the roles that demand a second factor in the settings of the file, and the line, until these roles are there.
    factor_roles: Option<(u64, Vec<String>)>,
    now: Timestamp,
    /// The kind of the last record.
    last: Option<Kind>,
    /// Whether it was said that attributes are not checked.
    is_noted: bool,
}

impl Import<'_, '_> {
    fn line(&mut self, number: u64, line: Result<Vec<u8>, Fault>) -> Result<(), CommandError> {
        let origin = Origin { place: number, ..Origin::default() };
        let parsed = line.and_then(|line| {
            serde_json::from_slice::<Object>(&line).map_err(|error| {
                // Without the parser's words, which may repeat a hash.
                Fault::from(format!("not a JSON object (column {} of the line)", error.column()))
            })
        });
        let (name, record) = match parsed.map(|line| line.into_iter().next()) {
            Ok(Some((name, Value::Object(record)))) => (name, record),
            Ok(_) => return self.importer.refuse(Kind::User, &origin, &"no record of an export".into()),
            Err(fault) => return self.importer.refuse(Kind::User, &origin, &fault),
        };
        match &*name {
            HEADER => Ok(()),
            // A file may end with its roles.
            END => {
                self.importer.flush()?;
                self.set_factor_roles()
            }
            SETTINGS => self.settings(number, record),
            name => match kind_of(name) {
                Some(kind) => self.take(kind, origin, record),
                None => {
                    self.importer.report.note_left_out(vec![name.to_owned()]);
                    Ok(())
                }
            },
        }
    }

    fn settings(&mut self, place: u64, mut settings: Object) -> Result<(), CommandError> {
        if !self.with_settings {
            let note = "settings of the issuer were left as they are: --settings takes them too";
            self.importer.report.note(note);
            return Ok(());
        }
        if let Some(Value::Array(ids)) = settings.remove(FACTOR_ROLES) {
            let ids = ids.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            self.factor_roles = Some((place, ids));
        }
        let settings = Value::Object(settings);
        self.importer.set(&settings)?;
        if let Some(schema) = Schema::of(&settings) {
            self.schema = schema;
        }
        self.defined = self.importer.schema()?;
        Ok(())
    }

    /// Sets which roles demand a second factor, once these are there, by the ids that they have on the server. Whoever holds one
    /// that is not is no longer protected so, which is told.
    fn set_factor_roles(&mut self) -> Result<(), CommandError> {
        let Some((place, ids)) = self.factor_roles.take() else { return Ok(()) };
        let mut known = Vec::with_capacity(ids.len());
        for id in ids {
            let own = there(&self.roles, &id);
            if self.importer.structure.has_role(&own) {
                known.push(own);
                continue;
            }
            let fault = Fault::new(
                "the role is not in the file, or was not taken, so that its holders need no second factor here",
                "name the role that takes its place in second_factor_roles",
            );
            let origin = Origin { place, id, name: String::new() };
            self.importer.partly(Kind::Role, &origin, &Part::new(FACTOR_ROLES, fault))?;
        }
        self.importer.set(&json!({ FACTOR_ROLES: known }))
    }

    fn take(&mut self, kind: Kind, origin: Origin, mut record: Object) -> Result<(), CommandError> {
        // What the server refused of the kinds before is known then, and nothing that needs it is sent.
        if self.last.replace(kind).is_some_and(|last| last != kind) {
            self.importer.flush()?;
        }
        if kind > Kind::Role {
            self.set_factor_roles()?;
        }
        let text = |member: &str| record.get(member).and_then(Value::as_str).map(str::to_owned);
        let id = text(kind.id_member()).unwrap_or_default();
        let name = text("name").or_else(|| text("client_name")).unwrap_or_default();
        let origin = Origin { id: id.clone(), name, ..origin };
        match kind {
            Kind::User => self.user(origin.place, record),
            Kind::Group => {
                let above = text("parent_id").map(|above| there(&self.groups, &above));
                record.remove("parent_id");
                let taken_as = self.importer.group(origin, record, above.as_deref(), Vec::new())?;
                note(&mut self.groups, id, taken_as);
                Ok(())
            }
            Kind::Role => {
                let taken_as = self.importer.role(origin, record, Vec::new())?;
                note(&mut self.roles, id, taken_as);
                Ok(())
            }
            Kind::Client => {
                let parts = parts_of_client(&record, &id, self.now);
                self.importer.client(origin, record, parts)
            }
            Kind::Membership | Kind::GivenRole => self.link(kind, origin, record),
        }
    }

    fn user(&mut self, place: u64, mut user: Object) -> Result<(), CommandError> {
        let parts = self.schema.strip(&mut user);
        // A dry run does not change the settings, so that the server would refuse what they define.
        if self.importer.is_dry() && self.defined.strip_silently(&mut user) && !self.is_noted {
            self.is_noted = true;
            self.importer.report.note("attributes that --settings would define are not checked by a dry run");
        }
        let mut entry = Entry::new(place, user);
        entry.parts = parts;
        self.importer.user(entry)
    }

    /// Takes a membership or given role, by the ids that groups and roles have on the server.
    fn link(&mut self, kind: Kind, origin: Origin, mut record: Object) -> Result<(), CommandError> {
        for (member, ids) in [("group_id", &self.groups), ("role_id", &self.roles)] {
            if let Some(Value::String(id)) = record.get_mut(member) {
                *id = there(ids, id);
            }
        }
        let text = |member: &str| record.get(member).and_then(Value::as_str);
        let structure = &self.importer.structure;
        let missing = match (text("group_id"), text("role_id")) {
            (Some(group), _) if !structure.has_group(group) => Some("group"),
            (_, Some(role)) if !structure.has_role(role) => Some("role"),
            _ => None,
        };
        match missing {
            None => self.importer.record(kind, origin, record),
            Some(missing) => {
                let why = format!("its {missing} is not in the file, or was not taken");
                self.importer.refuse(kind, &origin, &Fault::from(why))
            }
        }
    }
}

/// The id of a record on the server.
fn there(ids: &HashMap<String, String>, id: &str) -> String {
    ids.get(id).map_or(id, String::as_str).to_owned()
}

/// Notes under which id a record of the file is on the server.
fn note(ids: &mut HashMap<String, String>, id: String, taken_as: Option<String>) {
    if let Some(taken_as) = taken_as.filter(|taken_as| *taken_as != id) {
        ids.insert(id, taken_as);
    }
}

/// What a client of an export lacks: an export has the digests of secrets that are long enough, unless it was made without.
fn parts_of_client(client: &Object, id: &str, now: Timestamp) -> Vec<Part> {
    let method = client.get("token_endpoint_auth_method").and_then(Value::as_str).unwrap_or_default();
    if !method.starts_with("client_secret") {
        return Vec::new();
    }
    let secrets = live(client, "client_secrets", now);
    let fault = match live(client, "client_secret_digests", now) {
        0 => Fault::new(
            "the export has no digest of its secret, so that a new one is drawn",
            format!("show a new one by symbolon client new-secret {id}"),
        ),
        digests if digests < secrets => Fault::new(
            "one of its secrets is too short to be moved, and is refused here",
            format!(
                "give the application the client's other secret, or a new one by symbolon client new-secret {id}"
            ),
        ),
        _ => return Vec::new(),
    };
    vec![Part::new("client_secret", fault)]
}

/// How many of the secrets in a member of a client have no end, or one that is to come.
fn live(client: &Object, member: &str, now: Timestamp) -> usize {
    let secrets = client.get(member).and_then(Value::as_array).into_iter().flatten();
    let ends = secrets.map(|secret| secret.get("expires_at").and_then(Value::as_u64));
    ends.filter(|end| end.is_none_or(|end| now.millis() < end)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::import::record::object;
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
        assert_eq!(server.to("/groups/bulk")[1], json!({ "id": "g2", "name": "IT", "parent_id": "g1" }));
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
    fn a_file_that_lacks_lines_is_refused_whole() {
        let without = EXPORT.replace("{\"group\":{\"id\":\"g1\",\"name\":\"Staff\"}}\n", "");
        let (_file, path) = file(&without);
        let told = check(&path).err().map(|error| error.to_string()).unwrap();
        assert!(told.contains("has 7 records, and its last line says that there are 8"), "{told}");
    }

    #[test]
    fn what_is_there_under_another_id_is_named_by_that_id() {
        let export =
            EXPORT.replace("{\"later\":{}}", "{\"given_role\":{\"role_id\":\"r1\",\"user_id\":\"u1\"}}");
        let (_file, path) = file(&export);
        let server = Noted::default();
        *server.there.borrow_mut() = vec![
            ("/groups/export".into(), json!({ "id": "own-staff", "name": "staff" })),
            ("/roles/export".into(), json!({ "id": "own-admin", "name": "admin", "client_id": "app" })),
        ];
        let (done, report) = server.import(false, |importer| import(&path, false, importer));
        assert_eq!(done, Ok(()));
        assert_eq!(
            server.to("/groups/bulk"),
            [json!({ "id": "g2", "name": "IT", "parent_id": "own-staff" })]
        );
        let given = [
            json!({ "role_id": "own-admin", "group_id": "own-staff" }),
            json!({ "role_id": "own-admin", "user_id": "u1" }),
        ];
        assert_eq!(server.to("/given-roles/bulk"), given, "{report}");
    }

    /// The settings stand before the roles that they name, and the server refuses what is no role's id.
    #[test]
    fn roles_that_demand_a_second_factor_are_set_when_they_are_there() {
        let settings = r#"{"settings":{"audit_days":7,"second_factor_roles":["r1","r2","r3","gone"]}}"#;
        let role = r#"{"role":{"id":"r1","name":"Admin","client_id":"app"}}"#;
        let others = [r#"{"role":{"id":"r2","name":"Clerk"}}"#, r#"{"role":{"id":"r3","name":"Refused"}}"#];
        let roles = format!("{role}\n{}", others.join("\n"));
        let export = EXPORT.replace(r#"{"settings":{"audit_days":7}}"#, settings);
        let export = export.replace(role, &roles).replace(":8}", ":10}");
        // A file may end with its roles.
        let kinds = [HEADER, SETTINGS, "client", "role"];
        let up_to_roles = export.lines().filter(|line| kinds.iter().any(|kind| is_of(line.as_bytes(), kind)));
        let up_to_roles = up_to_roles.collect::<Vec<_>>().join("\n") + "\n{\"end\":{\"records\":4}}\n";
        for text in [export, up_to_roles] {
            let (_file, path) = file(&text);
            check(&path).unwrap();
            let server = Noted::default();
            server.refuse("\"r3\"", "invalid_request", "no");
            *server.there.borrow_mut() =
                vec![("/roles/export".into(), json!({ "id": "own-clerk", "name": "clerk" }))];
            let (done, report) = server.import(false, |importer| import(&path, true, importer));
            assert_eq!(done, Ok(()));
            let set = [json!({ "audit_days": 7 }), json!({ "second_factor_roles": ["r1", "own-clerk"] })];
            assert_eq!(server.to("/settings"), set, "{report}");
            let sent = server.sent.borrow();
            let places = |path: &str| sent.iter().rposition(|(to, _)| to == path);
            assert!(places("/roles/bulk") < places("/settings"), "{sent:?}");
            assert!(places("/users/bulk").is_none_or(|users| places("/settings") < Some(users)), "{sent:?}");
            let not_taken = report["not_taken"].as_array().unwrap().iter();
            let lost: Vec<_> =
                not_taken.filter(|it| it["part"] == FACTOR_ROLES).map(|it| &it["id"]).collect();
            assert_eq!(lost, ["r3", "gone"], "{report}");
        }
    }

    /// A short secret is kept by a digest that means nothing elsewhere; beside another one it must not go unnoticed.
    #[test]
    fn a_client_whose_secret_stays_behind_is_told() {
        let now = Timestamp::from_millis(1_000);
        let told = |secrets: Value, digests: Value| {
            let client = object(json!({
                "token_endpoint_auth_method": "client_secret_basic", "client_secrets": secrets, "client_secret_digests": digests,
            }));
            let parts = parts_of_client(&client, "app", now);
            parts.into_iter().map(|part| part.fault.why).collect::<String>()
        };
        let (long, ending) = (json!({ "expires_at": null }), json!({ "expires_at": 1_001 }));
        let over = json!({ "expires_at": 1_000 });
        assert!(told(json!([long, ending]), json!([{}])).contains("too short"));
        assert!(told(json!([ending]), Value::Null).contains("a new one is drawn"));
        assert!(told(json!([long]), json!([over])).contains("a new one is drawn"));
        assert_eq!(told(json!([long, ending]), json!([{}, ending])), "");
        assert_eq!(told(json!([long, over]), json!([{}])), "", "the short one has ended");
    }

    #[test]
    fn what_belongs_to_something_that_was_refused_is_not_sent() {
        let (_file, path) = file(EXPORT);
        let server = Noted::default();
        server.refuse("\"client_id\":\"app\",\"client_name\"", "invalid_request", "no");
        server.refuse("\"id\":\"g", "invalid_request", "no");
        let (_, report) = server.import(false, |importer| import(&path, false, importer));
        for path in ["/roles/bulk", "/given-roles/bulk", "/memberships/bulk"] {
            assert!(server.to(path).is_empty(), "{path}: {report}");
        }
        let told = reasons(&report);
        assert!(
            told.iter().any(|it| it.contains("its group is not in the file, or was not taken")),
            "{told:?}"
        );
    }

    #[test]
    fn attributes_that_the_issuer_does_not_take_are_named_and_the_user_comes_in() {
        let schema = r#"{"settings":{"attributes":[{"name":"team"}]}}"#;
        let export = EXPORT.replace(r#"{"settings":{"audit_days":7}}"#, schema);
        let export = export.replace(r#""password_hash""#, r#""attributes":{"team":"a"},"password_hash""#);
        let (_file, path) = file(&export);
        let users = |is_dry: bool, with_settings: bool| {
            let server = Noted::default();
            let (_, report) = server.import(is_dry, |importer| import(&path, with_settings, importer));
            let path = if is_dry { "/users/bulk?dry_run=true" } else { "/users/bulk" };
            (server.to(path).remove(0)["attributes"].clone(), report.to_string())
        };
        let (taken, report) = users(false, false);
        assert!(taken.is_null() && report.contains("attributes.team"), "{report}");
        let (taken, report) = users(false, true);
        assert!(taken == json!({ "team": "a" }) && !report.contains("attributes.team"), "{report}");
        let (taken, report) = users(true, true);
        assert!(taken.is_null() && report.contains("not checked by a dry run"), "{report}");
    }

    #[test]
    fn a_line_that_is_broken_is_told_and_the_others_go_on() {
        let broken = EXPORT.replace("{\"later\":{}}", "{\"user\":\n[1]\n{\"user\":5}").replace(":8}", ":10}");
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
