//! The groups and roles that the server has, and those of the file: what a record of the file is to become.
//!
//! Applications authorize by the names of groups and roles. So a group of the file is only taken for one of the server
//! where it has the same id, or the same name at the same place.

use std::collections::HashMap;

use serde_json::Value;
use symbolon_protocol::group::{MOST_DEPTH, MOST_GROUPS};
use symbolon_protocol::precis::login_key;
use symbolon_protocol::role::MOST_ROLES;

use super::record::Fault;

/// What becomes of a group or role of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// It is to be created.
    New,
    /// The server has it, under this id.
    There(String),
    /// It cannot be taken.
    Refused(Fault),
}

/// A group.
struct Group {
    parent: Option<String>,
    /// Whether the file has it; otherwise the server does.
    of_file: bool,
}

/// Whose role it is, and the form of its name that must be unique there.
type RoleKey = (Option<String>, String);

/// All groups and roles that there are, or will be.
#[derive(Default)]
pub(super) struct Structure {
    groups: HashMap<String, Group>,
    groups_by_name: HashMap<String, String>,
    /// Whether the file has the role; otherwise the server does.
    roles: HashMap<String, bool>,
    roles_by_name: HashMap<RoleKey, String>,
}

fn text<'a>(record: &'a Value, member: &str) -> Option<&'a str> {
    record.get(member).and_then(Value::as_str)
}

impl Structure {
    /// Notes a group of the server.
    pub(super) fn add_group(&mut self, record: &Value) {
        let (Some(id), Some(name)) = (text(record, "id"), text(record, "name")) else { return };
        let parent = text(record, "parent_id").map(str::to_owned);
        self.groups.insert(id.to_owned(), Group { parent, of_file: false });
        self.groups_by_name.insert(login_key(name), id.to_owned());
    }

    /// Notes a role of the server.
    pub(super) fn add_role(&mut self, record: &Value) {
        let (Some(id), Some(name)) = (text(record, "id"), text(record, "name")) else { return };
        let client = text(record, "client_id").map(str::to_owned);
        self.roles.insert(id.to_owned(), false);
        self.roles_by_name.insert((client, login_key(name)), id.to_owned());
    }

    /// What becomes of a group of the file. `parent` is the id of the group above it, as it is on the server.
    pub(super) fn place_group(&mut self, id: &str, name: &str, parent: Option<&str>) -> Placement {
        match self.groups.get_mut(id) {
            Some(group) if group.of_file => {
                return Placement::Refused(Fault::new(
                    "another group of the file has this id",
                    "give one of them another id",
                ));
            }
            Some(group) => {
                group.of_file = true;
                return Placement::There(id.to_owned());
            }
            None => {}
        }
        let key = login_key(name);
        if let Some(there) = self.groups_by_name.get(&key) {
            return match self.groups.get_mut(there) {
                Some(group) if !group.of_file && group.parent.as_deref() == parent => {
                    group.of_file = true;
                    Placement::There(there.clone())
                }
                Some(group) if group.of_file => Placement::Refused(Fault::new(
                    "another group of the file has this name; names are compared without their case",
                    "rename one of them",
                )),
                _ => Placement::Refused(Fault::new(
                    format!("the group {there} has this name, at another place"),
                    "rename one of them",
                )),
            };
        }
        match self.depth_below(parent) {
            None => return Placement::Refused("the group above it was not taken".into()),
            Some(depth) if depth > MOST_DEPTH => {
                return Placement::Refused(Fault::new(
                    format!("groups may be nested {MOST_DEPTH} deep, and it would be deeper"),
                    "move it up",
                ));
            }
            Some(_) => {}
        }
        if self.groups.len() as u64 >= MOST_GROUPS {
            return Placement::Refused(format!("an issuer may have {MOST_GROUPS} groups at most").into());
        }
        self.groups.insert(id.to_owned(), Group { parent: parent.map(str::to_owned), of_file: true });
        self.groups_by_name.insert(key, id.to_owned());
        Placement::New
    }

    /// How deep a group would be below another; `None` if there is no such other group.
    fn depth_below(&self, parent: Option<&str>) -> Option<u32> {
        let (mut depth, mut above) = (1, parent);
        while let Some(id) = above {
            let group = self.groups.get(id)?;
            depth += 1;
            // The server has no circles, and no file can make one; but a count that ends needs no such proof.
            if depth > MOST_DEPTH {
                break;
            }
            above = group.parent.as_deref();
        }
        Some(depth)
    }

    /// What becomes of a role of the file. `client` is the client whose role it is.
    pub(super) fn place_role(&mut self, id: &str, name: &str, client: Option<&str>) -> Placement {
        match self.roles.get_mut(id) {
            Some(true) => {
                return Placement::Refused(Fault::new(
                    "another role of the file has this id",
                    "give one of them another id",
                ));
            }
            Some(of_file) => {
                *of_file = true;
                return Placement::There(id.to_owned());
            }
            None => {}
        }
        let key = (client.map(str::to_owned), login_key(name));
        if let Some(there) = self.roles_by_name.get(&key) {
            return match self.roles.get_mut(there) {
                Some(of_file) if !*of_file => {
                    *of_file = true;
                    Placement::There(there.clone())
                }
                _ => Placement::Refused(Fault::new(
                    "another role of the file has this name; names are compared without their case",
                    "rename one of them",
                )),
            };
        }
        if self.roles.len() as u64 >= MOST_ROLES {
            return Placement::Refused(format!("an issuer may have {MOST_ROLES} roles at most").into());
        }
        self.roles.insert(id.to_owned(), true);
        self.roles_by_name.insert(key, id.to_owned());
        Placement::New
    }

    /// Forgets a group that the server refused, so that none below it is sent.
    pub(super) fn forget_group(&mut self, id: &str) {
        self.groups.remove(id);
        self.groups_by_name.retain(|_, own| own != id);
    }

    /// Forgets a role that the server refused, so that it is given to nobody.
    pub(super) fn forget_role(&mut self, id: &str) {
        self.roles.remove(id);
        self.roles_by_name.retain(|_, own| own != id);
    }

    /// Whether there is a group of this id, or will be.
    pub(super) fn has_group(&self, id: &str) -> bool {
        self.groups.contains_key(id)
    }

    /// Whether there is a role of this id, or will be.
    pub(super) fn has_role(&self, id: &str) -> bool {
        self.roles.contains_key(id)
    }

    /// The id of a role by its name.
    pub(super) fn role_named(&self, client: Option<&str>, name: &str) -> Option<&str> {
        self.roles_by_name.get(&(client.map(str::to_owned), login_key(name))).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(placement: Placement) -> String {
        match placement {
            Placement::Refused(fault) => fault.why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_group_is_known_by_its_id_or_by_name_and_place() {
        let mut all = Structure::default();
        all.add_group(&json!({ "id": "s1", "name": "Staff" }));
        all.add_group(&json!({ "id": "s2", "name": "IT", "parent_id": "s1" }));
        assert_eq!(all.place_group("f1", "STAFF", None), Placement::There("s1".into()));
        assert!(refused(all.place_group("f2", "it", None)).contains("at another place"));
        assert_eq!(all.place_group("f2", "it", Some("s1")), Placement::There("s2".into()));
        assert!(refused(all.place_group("f3", "It", Some("s1"))).contains("of the file has this name"));
        assert_eq!(all.place_group("f4", "New", Some("s2")), Placement::New);
        assert!(refused(all.place_group("f4", "Newer", None)).contains("of the file has this id"));
        assert!(refused(all.place_group("f5", "Lost", Some("gone"))).contains("above it"));
        assert!(all.has_group("f4") && !all.has_group("f5"));
        all.forget_group("f4");
        assert!(!all.has_group("f4") && all.place_group("f6", "New", None) == Placement::New);
    }

    #[test]
    fn groups_may_be_eight_deep() {
        let mut all = Structure::default();
        let mut above: Option<String> = None;
        for depth in 1..=MOST_DEPTH {
            let id = format!("g{depth}");
            assert_eq!(all.place_group(&id, &id, above.as_deref()), Placement::New);
            above = Some(id);
        }
        assert!(refused(all.place_group("g9", "g9", above.as_deref())).contains("deep"));
    }

    #[test]
    fn a_role_is_known_by_its_id_or_name_at_the_same_client() {
        let mut all = Structure::default();
        all.add_role(&json!({ "id": "s1", "name": "Admin" }));
        all.add_role(&json!({ "id": "s2", "name": "Admin", "client_id": "wiki" }));
        assert_eq!(all.place_role("f1", "ADMIN", Some("wiki")), Placement::There("s2".into()));
        assert_eq!(all.place_role("f2", "admin", Some("other")), Placement::New);
        assert!(refused(all.place_role("f3", "Admin", Some("other"))).contains("has this name"));
        assert_eq!(all.place_role("s1", "Renamed", None), Placement::There("s1".into()));
        assert!(refused(all.place_role("s1", "Again", None)).contains("has this id"));
        assert_eq!(all.role_named(Some("other"), "ADMIN"), Some("f2"));
        assert!(all.has_role("f2") && !all.has_role("f3"));
    }
}
