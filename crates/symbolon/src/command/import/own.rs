//! What `symbolon export` wrote: a line for each record, as `{KIND: RECORD}`. Records stand behind those that they name.

mod identity_provider;

use std::collections::{HashMap, HashSet};
use std::io::BufReader;

use clap::ArgMatches;
use serde_json::{Value, json};
use symbolon_app::clock::{Clock, SystemClock};
use symbolon_crypto::encoding;
use symbolon_protocol::logo::{Logo, LogoType};
use symbolon_protocol::time::Timestamp;

use super::importer::Importer;
use super::lines::lines;
use super::record::{Entry, Fault, Kind, Object, Origin, Part};
use super::schema::Schema;
use super::{Reader, check_readable_again, open_text};
use crate::command::export::{END, FORMAT, HEADER, SETTINGS, kind_of};
use crate::command::{CommandError, given};

/// The longest line that is read: that of a logo of 64 KiB in base64url, and what stands around it. Other records are bounded by
/// the admin API.
const LONGEST_LINE: u64 = 96 << 10;

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
        providers_there: None,
        providers: HashSet::new(),
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
    /// The identity providers of the server, once the file names one.
    providers_there: Option<HashMap<String, Value>>,
    /// The ids of those of the file that were sent. What the server says of them is known before identities are.
    providers: HashSet<String>,
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
            Kind::IdentityProvider => self.identity_provider(origin, record),
            Kind::Identity => self.identity(origin, record),
            Kind::Consent => self.importer.record(kind, origin, record),
            Kind::Logo => self.logo(&origin, &record),
        }
    }

    fn logo(&mut self, origin: &Origin, record: &Object) -> Result<(), CommandError> {
        let text = |member: &str| record.get(member).and_then(Value::as_str);
        let kind = text("media_type").and_then(LogoType::of_media_type);
        let content = text("content").and_then(|content| encoding::decode(content).ok());
        let logo = match kind.zip(content).map(|(kind, content)| Logo::read(kind, &content)) {
            Some(Ok(logo)) => logo,
            Some(Err(fault)) => {
                return self.importer.refuse(Kind::Logo, origin, &Fault::from(fault.to_string()));
            }
            None => return self.importer.refuse(Kind::Logo, origin, &"it is no image in base64url".into()),
        };
        self.importer.logo(origin, text("client_id"), &logo)
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
mod tests;
