//! What authentik exports: `ak dumpdata`, a list of rows of its database, or a blueprint as JSON.
//!
//! Users name groups, and groups name users, by keys that stand elsewhere in the file. So it is read twice: for groups
//! and applications, which are held; and for users, one at a time.

mod group;
mod provider;
mod user;

use std::collections::HashMap;

use clap::ArgMatches;
use serde_json::Value;

use super::importer::Importer;
use super::json_stream::{self, Members, RECORD, Wanted};
use super::record::{Fault, Kind, Object, Origin};
use super::{Reader, check_readable_again};
use crate::command::{CommandError, given};
use group::Groups;
use provider::Applications;

/// A row of a table, or an entry of a blueprint.
struct Row {
    /// The table, such as `authentik_core.user`, in small letters.
    model: String,
    /// The key, by which other rows name it.
    key: String,
    members: Object,
    /// The state of an entry that a blueprint does not create.
    left_out: Option<String>,
}

impl Row {
    /// Reads `{"model", "pk", "fields"}` or `{"model", "identifiers", "attrs"}`.
    fn read(value: Value) -> Option<Self> {
        let Value::Object(mut row) = value else { return None };
        let model = row.get("model")?.as_str()?.to_ascii_lowercase();
        let mut members = match row.remove("fields").or_else(|| row.remove("attrs")) {
            Some(Value::Object(members)) => members,
            None | Some(Value::Null) => Object::new(),
            Some(_) => return None,
        };
        let mut key = row.remove("pk").as_ref().and_then(key_of);
        if let Some(Value::Object(identifiers)) = row.remove("identifiers") {
            key = key.or_else(|| identifiers.get("pk").and_then(key_of));
            for (name, value) in identifiers {
                members.entry(name).or_insert(value);
            }
        }
        key = key.or_else(|| row.remove("id").as_ref().and_then(key_of));
        let left_out = row.remove("state").as_ref().and_then(not_to_be_created);
        Some(Self { model, key: key.unwrap_or_default(), members, left_out })
    }

    /// Whether it is of a table.
    fn is(&self, model: &str) -> bool {
        self.model == model
    }
}

/// The state of an entry, unless it is one in which a blueprint creates it.
fn not_to_be_created(state: &Value) -> Option<String> {
    match state.as_str() {
        Some("present" | "created" | "must_created") => None,
        Some(state) => Some(state.chars().take(40).collect()),
        None if state.is_null() => None,
        None => Some("that is no text".to_owned()),
    }
}

/// A key: a number or a text.
fn key_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The keys in a list.
fn keys_of(value: Option<&Value>) -> Vec<String> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(key_of).collect()
}

/// What is held of a file.
#[derive(Default)]
struct Held {
    groups: Groups,
    applications: Applications,
    has_rows: bool,
    /// Rows of other tables and entries that are not to be created, by what they are.
    left_out: HashMap<String, u64>,
}

/// The users, groups and providers.
pub(super) fn reader(matches: &ArgMatches) -> Result<Reader, CommandError> {
    let path = given(matches, "file").to_owned();
    let superuser = matches.get_one::<String>("superuser-role").cloned();
    check_readable_again(&path)?;
    let mut held = Held::default();
    json_stream::read(&path, &mut held)?;
    if !held.has_rows {
        let why = "it is neither a list of rows (ak dumpdata) nor a blueprint with entries";
        return Err(CommandError::Usage(format!("{path} is no export of authentik: {why}")));
    }
    Ok(Box::new(move |importer: &mut Importer<'_>| import(&path, held, superuser.as_deref(), importer)))
}

/// The member that has the rows: a list without a name, or the entries of a blueprint.
fn rows(name: &str) -> Wanted {
    if matches!(name, "" | "entries") { Wanted::Elements(RECORD) } else { Wanted::Nothing }
}

impl Members for Held {
    fn wanted(&self, name: &str) -> Wanted {
        rows(name)
    }

    fn element(&mut self, _: &str, number: u64, value: Value) -> Result<(), CommandError> {
        let Some(row) = Row::read(value) else { return Ok(()) };
        self.has_rows = true;
        if let Some(state) = &row.left_out {
            self.leave_out(format!("entry of state {state}"));
            return Ok(());
        }
        match &*row.model {
            "authentik_core.group" => self.groups.read(number, row),
            "authentik_core.application" => self.applications.read_application(row),
            "authentik_providers_oauth2.oauth2provider" => self.applications.read_provider(number, row),
            "authentik_core.groupparentagenode" => self.groups.read_parentage(&row.members),
            "authentik_core.user" => {}
            _ => self.leave_out(row.model),
        }
        Ok(())
    }
}

impl Held {
    /// Counts a row that is not taken. The names of tables are few; a file that has many others is none of authentik.
    fn leave_out(&mut self, name: String) {
        if self.left_out.len() < 1_000 || self.left_out.contains_key(&name) {
            *self.left_out.entry(name).or_default() += 1;
        }
    }
}

fn import(
    path: &str,
    mut held: Held,
    superuser: Option<&str>,
    importer: &mut Importer<'_>,
) -> Result<(), CommandError> {
    for (model, count) in std::mem::take(&mut held.left_out) {
        importer.report.note_left_out_often(&model, count);
    }
    held.applications.import(importer)?;
    importer.flush()?;
    held.groups.import(superuser, importer)?;
    importer.flush()?;
    json_stream::read(path, &mut Users { importer, groups: &held.groups })
}

struct Users<'i, 'a> {
    importer: &'i mut Importer<'a>,
    groups: &'i Groups,
}

impl Members for Users<'_, '_> {
    fn wanted(&self, name: &str) -> Wanted {
        rows(name)
    }

    fn element(&mut self, _: &str, number: u64, value: Value) -> Result<(), CommandError> {
        match Row::read(value) {
            Some(row) if row.is("authentik_core.user") && row.left_out.is_none() => {
                user::take(number, row, self.groups, self.importer)
            }
            Some(_) => Ok(()),
            None => {
                let origin = Origin { place: number, ..Origin::default() };
                self.importer.refuse(
                    Kind::User,
                    &origin,
                    &Fault::from("neither a row nor an entry of a blueprint"),
                )
            }
        }
    }
}

#[cfg(test)]
mod tests;
