//! Groups of authentik.

use std::collections::HashMap;

use serde_json::{Value, json};
use symbolon_protocol::group::MOST_GROUPS;

use super::super::importer::Importer;
use super::super::record::{Fault, Kind, Object, Origin, Part, derived_id, given_role, group_attribute};
use super::super::structure::Structure;
use super::{Row, key_of, keys_of};
use crate::command::CommandError;

/// A group of the file.
struct Group {
    place: u64,
    key: String,
    id: String,
    name: String,
    /// The keys of the groups above it, of which the first counts: a group here has one.
    above: Vec<String>,
    is_superuser: bool,
    /// Its attributes that are counted.
    attributes: Vec<String>,
}

/// All groups of the file.
#[derive(Default)]
pub(super) struct Groups {
    all: Vec<Group>,
    /// Rows that are more than may be held, or have no name.
    unreadable: u64,
    /// The keys of the groups above a group, by its key, where they stand in rows of their own (since authentik 2025.12).
    parents: HashMap<String, Vec<String>>,
    /// How many keys these are.
    parentages: u64,
    /// The places in `all` of the groups that name a user as a member, by the user's key.
    members: HashMap<String, Vec<u32>>,
    /// The ids on the server by the keys in the file.
    by_key: HashMap<String, String>,
}

impl Groups {
    /// Reads a group.
    pub(super) fn read(&mut self, place: u64, row: Row) {
        let Row { key, members, .. } = row;
        let name = members.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
        let Some(name) = name.filter(|_| (self.all.len() as u64) < MOST_GROUPS) else {
            self.unreadable += 1;
            return;
        };
        let key = if key.is_empty() { name.to_owned() } else { key };
        // A key of authentik is a UUID, which is an id here. Any other could be the id of another group.
        let id = if is_uuid(&key) { key.clone() } else { derived_id('g', &["authentik", &key]) };
        // One group above it, or several in a blueprint.
        let mut above = keys_of(members.get("parents"));
        above.extend(members.get("parent").and_then(key_of));
        let mut attributes = Vec::new();
        for (name, value) in members.get("attributes").and_then(Value::as_object).into_iter().flatten() {
            group_attribute(&mut attributes, name, value);
        }
        for user in keys_of(members.get("users")) {
            if let Ok(place) = u32::try_from(self.all.len()) {
                self.members.entry(user).or_default().push(place);
            }
        }
        let is_superuser = members.get("is_superuser") == Some(&Value::Bool(true));
        let name = name.to_owned();
        self.all.push(Group { place, key, id, name, above, is_superuser, attributes });
    }

    /// Reads which group is above another.
    pub(super) fn read_parentage(&mut self, node: &Object) {
        let key = |member: &str| node.get(member).and_then(key_of);
        let (Some(child), Some(parent)) = (key("child"), key("parent")) else {
            self.unreadable += 1;
            return;
        };
        if self.parentages >= MOST_GROUPS {
            self.unreadable += 1;
            return;
        }
        self.parentages += 1;
        self.parents.entry(child).or_default().push(parent);
    }

    /// Gives each group the keys of those above it, wherever they stand.
    fn join_parents(&mut self) {
        for group in &mut self.all {
            let mut own = std::mem::take(&mut group.above);
            own.extend(self.parents.remove(&group.key).unwrap_or_default());
            for key in own {
                if !group.above.contains(&key) {
                    group.above.push(key);
                }
            }
        }
        // What is left names groups below others that are not in the file.
        self.parents.clear();
    }

    /// Gives the groups to an importer, each behind the one above it.
    pub(super) fn import(
        &mut self,
        superuser: Option<&str>,
        importer: &mut Importer<'_>,
    ) -> Result<(), CommandError> {
        self.join_parents();
        let mut superusers = Vec::new();
        for place in self.in_order() {
            let Some(group) = self.all.get_mut(place) else { continue };
            let origin = Origin { place: group.place, id: group.id.clone(), name: group.name.clone() };
            importer.report.note_left_out(std::mem::take(&mut group.attributes));
            let above = match group.above.first() {
                None => None,
                Some(key) => match self.by_key.get(key) {
                    Some(id) => Some(id.clone()),
                    None => {
                        let fault =
                            Fault::new("the group above it was not taken, or is below it", "mend that one");
                        importer.refuse(Kind::Group, &origin, &fault)?;
                        continue;
                    }
                },
            };
            let mut parts = Vec::new();
            if group.above.len() > 1 {
                let why = format!("it has {} more parents, and a group here has one", group.above.len() - 1);
                parts.push(Part::new("parents", why));
            }
            let mut document = Object::new();
            document.insert("id".to_owned(), json!(group.id));
            document.insert("name".to_owned(), json!(group.name));
            let is_superuser = group.is_superuser;
            let key = group.key.clone();
            let taken_as = importer.group(origin.clone(), document, above.as_deref(), parts)?;
            let Some(id) = taken_as else { continue };
            if is_superuser {
                superusers.push((origin, id.clone()));
            }
            self.by_key.insert(key, id);
        }
        if self.unreadable > 0 {
            let why = format!(
                "{} groups or parents of groups have no name or key, or are beyond the {MOST_GROUPS} of an issuer",
                self.unreadable
            );
            importer.refuse(Kind::Group, &Origin::default(), &Fault::from(why))?;
        }
        give_to_superusers(superuser, superusers, importer)
    }

    /// The places of the groups, each behind that of the group above it. Groups that are below themselves come last.
    fn in_order(&self) -> Vec<usize> {
        let by_key: HashMap<&str, usize> =
            self.all.iter().enumerate().map(|(place, group)| (&*group.key, place)).collect();
        let mut below: HashMap<usize, Vec<usize>> = HashMap::new();
        let (mut order, mut is_placed) = (Vec::with_capacity(self.all.len()), vec![false; self.all.len()]);
        let mut waiting = std::collections::VecDeque::new();
        for (place, group) in self.all.iter().enumerate() {
            match group.above.first().and_then(|above| by_key.get(&**above)) {
                Some(above) => below.entry(*above).or_default().push(place),
                None => waiting.push_back(place),
            }
        }
        while let Some(place) = waiting.pop_front() {
            if let Some(is_placed) = is_placed.get_mut(place) {
                *is_placed = true;
            }
            order.push(place);
            waiting.extend(below.remove(&place).unwrap_or_default());
        }
        order.extend(
            is_placed.iter().enumerate().filter(|(_, is_placed)| !**is_placed).map(|(place, _)| place),
        );
        order
    }

    /// The ids on the server of the groups of a user: those that the user names by keys, and those that name the user;
    /// and the keys of those that were not taken.
    pub(super) fn of(
        &self,
        user: &str,
        named: &[String],
        structure: &Structure,
    ) -> (Vec<String>, Vec<String>) {
        let naming = self.members.get(user).into_iter().flatten();
        let naming = naming.filter_map(|place| self.all.get(*place as usize)).map(|group| &group.key);
        let (mut ids, mut missing): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for key in naming.chain(named) {
            match self.by_key.get(key).filter(|id| structure.has_group(id)) {
                Some(id) if !ids.contains(id) => ids.push(id.clone()),
                None if !missing.contains(key) => missing.push(key.clone()),
                _ => {}
            }
        }
        (ids, missing)
    }
}

/// Whether a key is a UUID as it is usually written (RFC 9562 4).
fn is_uuid(key: &str) -> bool {
    key.len() == 36 && key.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// Gives a role to the groups whose members are superusers, if one is named: what they may do in authentik is nothing that
/// an application here would know of.
fn give_to_superusers(
    role: Option<&str>,
    groups: Vec<(Origin, String)>,
    importer: &mut Importer<'_>,
) -> Result<(), CommandError> {
    let Some(role) = role else {
        for (origin, _) in groups {
            let fault = Fault::new(
                "its members are superusers of authentik, which gives them no right here",
                "--superuser-role NAME gives them a role",
            );
            importer.partly(Kind::Group, &origin, &Part::new("is_superuser", fault))?;
        }
        return Ok(());
    };
    if groups.is_empty() {
        return Ok(());
    }
    let mut document = Object::new();
    document.insert("id".to_owned(), json!(derived_id('r', &["superuser", role])));
    document.insert("name".to_owned(), json!(role));
    let origin = Origin { name: role.to_owned(), ..Origin::default() };
    let Some(role) = importer.role(origin, document, Vec::new())? else { return Ok(()) };
    for (origin, group) in groups {
        importer.record(Kind::GivenRole, origin, given_role(&role, "group_id", &group))?;
    }
    Ok(())
}
