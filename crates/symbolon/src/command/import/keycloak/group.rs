//! Groups of a realm, each with those below it.

use std::collections::HashMap;

use serde_json::{Value, json};
use symbolon_protocol::group::MOST_GROUPS;
use symbolon_protocol::precis::login_key;

use super::super::importer::Importer;
use super::super::record::{Fault, Kind, Object, Origin, Part, derived_id, given_role, group_attribute, set};
use super::named_roles;
use super::role::Roles;
use crate::command::CommandError;

/// A group of the file.
struct Group {
    id: String,
    name: String,
    /// As users name it.
    path: String,
    description: Option<String>,
    /// The place of the group above it among [`Groups::all`].
    above: Option<usize>,
    roles: Vec<(Option<String>, String)>,
    /// Its attributes that are counted.
    attributes: Vec<String>,
}

/// All groups of the file, each behind the one above it.
#[derive(Default)]
pub(super) struct Groups {
    all: Vec<Group>,
    /// Groups that are more than may be held, or have no name.
    unreadable: u64,
    /// The ids on the server by the paths in the file.
    by_path: HashMap<String, String>,
}

impl Groups {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty() && self.unreadable == 0
    }

    /// Reads a topmost group of a realm, with those below it.
    pub(super) fn read(&mut self, group: Value) {
        // A list of what is to be read, not a call within a call: however deep the file nests them.
        let mut waiting = vec![(group, None)];
        while let Some((group, above)) = waiting.pop() {
            let Value::Object(mut group) = group else {
                self.unreadable += 1;
                continue;
            };
            let below = group.remove("subGroups");
            let Some(place) = self.add(&Value::Object(group), above) else {
                self.unreadable += 1;
                continue;
            };
            if let Some(Value::Array(below)) = below {
                waiting.extend(below.into_iter().rev().map(|group| (group, Some(place))));
            }
        }
    }

    fn add(&mut self, group: &Value, above: Option<usize>) -> Option<usize> {
        if self.all.len() as u64 >= MOST_GROUPS {
            return None;
        }
        let text = |member: &str| group.get(member).and_then(Value::as_str).filter(|text| !text.is_empty());
        let name = text("name")?.to_owned();
        let above_path = above.and_then(|place| self.all.get(place)).map_or("", |above| &above.path);
        let path = text("path").map_or_else(|| format!("{above_path}/{name}"), str::to_owned);
        let id = text("id").map_or_else(|| derived_id('g', &[&path]), str::to_owned);
        let mut attributes = Vec::new();
        for (name, value) in group.get("attributes").and_then(Value::as_object).into_iter().flatten() {
            group_attribute(&mut attributes, name, value);
        }
        let description = text("description").map(str::to_owned);
        let roles = named_roles(group);
        self.all.push(Group { id, name, path, description, above, roles, attributes });
        Some(self.all.len() - 1)
    }

    /// Gives the groups to an importer, and the roles that they are given.
    pub(super) fn import(
        &mut self,
        realm: &str,
        roles: &mut Roles,
        importer: &mut Importer<'_>,
    ) -> Result<(), CommandError> {
        // In Keycloak a name is unique among the groups below one; here it is unique in the issuer.
        let mut names: HashMap<String, u64> = HashMap::new();
        for group in &self.all {
            *names.entry(login_key(&group.name)).or_default() += 1;
        }
        let mut taken_as: Vec<Option<String>> = Vec::with_capacity(self.all.len());
        for (place, group) in (1..).zip(&mut self.all) {
            let origin = Origin { place, id: group.id.clone(), name: group.path.clone() };
            importer.report.note_left_out(std::mem::take(&mut group.attributes));
            let above = match group.above {
                None => None,
                Some(above) => match taken_as.get(above).cloned().flatten() {
                    Some(above) => Some(above),
                    None => {
                        importer.refuse(Kind::Group, &origin, &"the group above it was not taken".into())?;
                        taken_as.push(None);
                        continue;
                    }
                },
            };
            let is_shared = names.get(&login_key(&group.name)).is_some_and(|count| *count > 1);
            let name = if is_shared { group.path.trim_start_matches('/') } else { &group.name };
            let mut document = Object::new();
            document.insert("id".to_owned(), json!(group.id));
            document.insert("name".to_owned(), json!(name));
            set(&mut document, "description", group.description.clone().map(Value::from));
            let mut parts = Vec::new();
            if is_shared {
                let why = "several groups have this name, which is unique here: it is named by its path";
                parts.push(Part::new("name", why));
            }
            taken_as.push(importer.group(origin, document, above.as_deref(), parts)?);
        }
        // The roles are only given to groups that the server took.
        importer.flush()?;
        for ((place, group), id) in (1..).zip(&self.all).zip(&taken_as) {
            let Some(id) = id.as_ref().filter(|id| importer.structure.has_group(id)) else { continue };
            self.by_path.insert(group.path.clone(), id.clone());
            let origin = Origin { place, id: group.id.clone(), name: group.path.clone() };
            let given = roles.given(group.roles.clone(), &importer.structure);
            for part in given.parts() {
                importer.partly(Kind::Group, &origin, &part)?;
            }
            for role in given.ids {
                importer.record(Kind::GivenRole, origin.clone(), given_role(&role, "group_id", id))?;
            }
        }
        self.tell_unreadable(realm, importer)
    }

    fn tell_unreadable(&self, realm: &str, importer: &mut Importer<'_>) -> Result<(), CommandError> {
        if self.unreadable == 0 {
            return Ok(());
        }
        let origin = Origin { name: realm.to_owned(), ..Origin::default() };
        let why =
            format!("{} groups have no name, or are beyond the {MOST_GROUPS} of an issuer", self.unreadable);
        importer.refuse(Kind::Group, &origin, &Fault::from(why))
    }

    /// The id on the server of the group of a path.
    pub(super) fn at(&self, path: &str) -> Option<&str> {
        self.by_path.get(path).map(String::as_str)
    }
}
