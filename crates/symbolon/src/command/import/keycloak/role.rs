//! Roles of a realm and of its clients. A composite role contains others: whoever is given it here, is given those too.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Value, json};
use symbolon_protocol::role::{MOST_ROLES, MOST_ROLES_OF_HOLDER};

use super::super::importer::Importer;
use super::super::record::{Fault, Kind, Object, Origin, Part, derived_id, set};
use super::super::structure::Structure;
use super::{is_own_client, names};
use crate::command::CommandError;

/// A role by its name, of the realm or of a client.
pub(super) type Name = (Option<String>, String);

/// The most roles of a composite that are looked at: more than a holder may have, to say how many are left out.
const MOST_EXPANDED: usize = 10_000;

/// What a holder of roles of the file is given.
#[derive(Default)]
pub(super) struct Given {
    /// The ids on the server.
    pub(super) ids: Vec<String>,
    /// The names of those that are not there.
    missing: Vec<String>,
    /// How many there are beyond those that a holder may have.
    more: u64,
}

impl Given {
    fn add(&mut self, id: String) {
        if (self.ids.len() as u64) < MOST_ROLES_OF_HOLDER { self.ids.push(id) } else { self.more += 1 }
    }

    /// What is not given.
    pub(super) fn parts(&self) -> Vec<Part> {
        let mend = "name the file of the realm too, or create the role";
        let missing = self.missing.iter().map(|name| {
            Part::new("roles", Fault::new(format!("there is no role {name}, in the file or here"), mend))
        });
        let more = (self.more > 0).then(|| {
            let why = format!(
                "at least {} more roles: whoever has roles has {MOST_ROLES_OF_HOLDER} at most",
                self.more
            );
            Part::new("roles", Fault::new(why, "give roles to groups, or fewer of them"))
        });
        missing.chain(more).collect()
    }
}

/// A role of the file.
struct Role {
    id: String,
    description: Option<String>,
    /// The roles that it contains directly.
    contains: Vec<Name>,
    /// Its id on the server; none where it was not taken, or is Keycloak's own.
    taken_as: Option<String>,
}

/// All roles of the file.
#[derive(Default)]
pub(super) struct Roles {
    /// In the order of the file.
    order: Vec<Name>,
    by_name: HashMap<Name, Role>,
    /// Roles that are more than may be held, without a name, or there twice.
    unreadable: u64,
    /// What each composite role comes to, where it was asked for already.
    expanded: HashMap<Name, Vec<String>>,
    /// How many ids these are.
    remembered: usize,
}

/// The most ids of roles that are remembered of composites.
const MOST_REMEMBERED: usize = 500_000;

/// A role that Keycloak makes in each realm, for itself. The default role is only a list of others.
fn is_own((client, name): &Name) -> bool {
    match client {
        Some(client) => is_own_client(client),
        None => {
            matches!(&**name, "offline_access" | "uma_authorization") || name.starts_with("default-roles-")
        }
    }
}

impl Roles {
    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty() && self.unreadable == 0
    }

    /// Reads the member `roles` of a realm.
    pub(super) fn read(&mut self, roles: Value) {
        let Value::Object(mut roles) = roles else { return };
        if let Some(Value::Array(of_realm)) = roles.remove("realm") {
            of_realm.into_iter().for_each(|role| self.read_role(None, role));
        }
        let Some(Value::Object(of_clients)) = roles.remove("client") else { return };
        for (client, roles) in of_clients {
            if let Value::Array(roles) = roles {
                roles.into_iter().for_each(|role| self.read_role(Some(&client), role));
            }
        }
    }

    fn read_role(&mut self, client: Option<&str>, role: Value) {
        let text = |member: &str| role.get(member).and_then(Value::as_str).filter(|text| !text.is_empty());
        let Some(name) = text("name").filter(|_| (self.order.len() as u64) < MOST_ROLES) else {
            self.unreadable += 1;
            return;
        };
        let key = (client.map(str::to_owned), name.to_owned());
        if self.by_name.contains_key(&key) {
            self.unreadable += 1;
            return;
        }
        let id =
            text("id").map_or_else(|| derived_id('r', &[client.unwrap_or_default(), name]), str::to_owned);
        let description = text("description").filter(|text| !text.starts_with("${")).map(str::to_owned);
        let contains = role.get("composites").map(|all| names(all, ["realm", "client"])).unwrap_or_default();
        self.order.push(key.clone());
        self.by_name.insert(key, Role { id, description, contains, taken_as: None });
    }

    /// Gives the roles to an importer.
    pub(super) fn import(&mut self, realm: &str, importer: &mut Importer<'_>) -> Result<(), CommandError> {
        for (place, key) in (1..).zip(&self.order) {
            let Some(role) = self.by_name.get_mut(key).filter(|_| !is_own(key)) else { continue };
            let (client, name) = key;
            let shown = client.as_ref().map_or_else(|| name.clone(), |client| format!("{client}: {name}"));
            let origin = Origin { place, id: role.id.clone(), name: shown };
            let mut document = Object::new();
            document.insert("id".to_owned(), json!(role.id));
            document.insert("name".to_owned(), json!(name));
            set(&mut document, "client_id", client.clone().map(Value::from));
            set(&mut document, "description", role.description.clone().map(Value::from));
            let mut parts = Vec::new();
            if !role.contains.is_empty() {
                let fault = Fault::new(
                    "a role contains no others here: whoever is given it by this import is given those too",
                    "give them to the same users and groups later",
                );
                parts.push(Part::new("composites", fault));
            }
            role.taken_as = importer.role(origin, document, parts)?;
        }
        if self.unreadable > 0 {
            let origin = Origin { name: realm.to_owned(), ..Origin::default() };
            let why = format!(
                "{} roles have no name, are there twice, or are beyond the {MOST_ROLES} of an issuer",
                self.unreadable
            );
            importer.refuse(Kind::Role, &origin, &Fault::from(why))?;
        }
        Ok(())
    }

    /// The roles that a holder of the named ones has.
    pub(super) fn given(&mut self, named: Vec<Name>, structure: &Structure) -> Given {
        let (mut given, mut seen) = (Given::default(), HashSet::new());
        for name in named {
            // Each role is looked at once, however often the composites name it.
            let mut ids = self.expanded(&name);
            if !self.by_name.contains_key(&name) && !is_own(&name) {
                match structure.role_named(name.0.as_deref(), &name.1) {
                    Some(id) => ids.push(id.to_owned()),
                    None => given.missing.push(name.1),
                }
            }
            for id in ids {
                if structure.has_role(&id) && seen.insert(id.clone()) {
                    given.add(id);
                }
            }
        }
        given
    }

    /// The ids on the server of a role and of all that it contains.
    fn expanded(&mut self, name: &Name) -> Vec<String> {
        if let Some(known) = self.expanded.get(name) {
            return known.clone();
        }
        let (mut ids, mut waiting) = (Vec::new(), VecDeque::from([name.clone()]));
        let mut seen: HashSet<Name> = HashSet::from([name.clone()]);
        // A composite may contain itself, by way of others.
        while let Some(next) = waiting.pop_front() {
            let Some(role) = self.by_name.get(&next) else { continue };
            ids.extend(role.taken_as.clone());
            if ids.len() >= MOST_EXPANDED {
                break;
            }
            for inner in &role.contains {
                if seen.insert(inner.clone()) {
                    waiting.push_back(inner.clone());
                }
            }
        }
        if self.by_name.contains_key(name) && self.remembered < MOST_REMEMBERED {
            self.remembered += ids.len() + 1;
            self.expanded.insert(name.clone(), ids.clone());
        }
        ids
    }
}
