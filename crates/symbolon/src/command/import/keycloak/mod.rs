//! What Keycloak exports of a realm: one JSON document, or one with the realm and others with users.
//!
//! Users name groups by their paths and roles by their names, which stand elsewhere in the file, before them or behind. So
//! the files are read three times: for groups and roles, which are held; for clients; and for users, one at a time.

mod claims;
mod client;
mod credential;
mod group;
mod mapper;
mod of_user;
mod role;
mod user;

use clap::ArgMatches;
use serde_json::Value;

use super::importer::Importer;
use super::json_stream::{self, Members, RECORD, USER, Wanted};
use super::record::{Kind, Origin, Part};
use super::schema::Schema;
use super::{Reader, check_readable_again};
use crate::command::CommandError;
use claims::ClientScopes;
use group::Groups;
use role::{Name, Roles};

/// The most bytes of all roles of a realm.
const ROLES: u64 = 64 << 20;

/// Members of a realm that have no counterpart here. They are told where they are not empty.
const LEFT_OUT: [&str; 6] = [
    "identityProviders",
    "userFederationProviders",
    "organizations",
    "defaultGroups",
    "scopeMappings",
    "clientScopeMappings",
];

/// Clients that Keycloak makes in each realm, for itself.
const OWN_CLIENTS: [&str; 6] =
    ["account", "account-console", "admin-cli", "broker", "realm-management", "security-admin-console"];

/// Whether a client is Keycloak's own.
fn is_own_client(id: &str) -> bool {
    OWN_CLIENTS.contains(&id)
}

/// What is held of a realm.
#[derive(Default)]
struct Realm {
    name: String,
    roles: Roles,
    groups: Groups,
    client_scopes: ClientScopes,
    has_clients: bool,
    has_users: bool,
    left_out: Vec<String>,
}

/// The realm, in one file or several.
pub(super) fn reader(matches: &ArgMatches) -> Result<Reader, CommandError> {
    let paths: Vec<String> = matches.get_many("file").into_iter().flatten().cloned().collect();
    let mut realm = Realm::default();
    for path in &paths {
        check_readable_again(path)?;
        json_stream::read(path, &mut realm)?;
        if !realm.is_export() {
            let why = "has neither users nor clients, groups or roles of a realm";
            return Err(CommandError::Usage(format!("{path} is no export of Keycloak: it {why}")));
        }
    }
    Ok(Box::new(move |importer: &mut Importer<'_>| import(&paths, realm, importer)))
}

impl Realm {
    /// Whether anything of a realm was seen.
    fn is_export(&self) -> bool {
        self.has_users
            || self.has_clients
            || !self.roles.is_empty()
            || !self.groups.is_empty()
            || !self.name.is_empty()
    }
}

impl Members for Realm {
    fn wanted(&self, name: &str) -> Wanted {
        match name {
            "realm" => Wanted::Whole(USER),
            "roles" => Wanted::Whole(ROLES),
            "groups" | "clientScopes" => Wanted::Elements(RECORD),
            "clients" | "users" => Wanted::List,
            name if LEFT_OUT.contains(&name) => Wanted::Whole(RECORD),
            _ => Wanted::Nothing,
        }
    }

    fn begun(&mut self, name: &str) {
        match name {
            "clients" => self.has_clients = true,
            "users" => self.has_users = true,
            _ => {}
        }
    }

    fn whole(&mut self, name: &str, value: Value) -> Result<(), CommandError> {
        match name {
            "realm" => value.as_str().unwrap_or_default().clone_into(&mut self.name),
            "roles" => self.roles.read(value),
            name if !super::record::is_empty(&value) => self.left_out.push(name.to_owned()),
            _ => {}
        }
        Ok(())
    }

    fn element(&mut self, name: &str, _: u64, value: Value) -> Result<(), CommandError> {
        if name == "groups" {
            self.groups.read(value)
        } else {
            self.client_scopes.read(&value)
        }
        Ok(())
    }
}

fn import(paths: &[String], mut realm: Realm, importer: &mut Importer<'_>) -> Result<(), CommandError> {
    importer.report.note_left_out(std::mem::take(&mut realm.left_out));
    let is_one = paths.len() == 1;
    if realm.has_clients {
        let schema = importer.schema()?;
        for path in paths {
            begin(path, is_one, importer)?;
            let scopes = &realm.client_scopes;
            json_stream::read(path, &mut Clients { importer, scopes, schema: &schema })?;
        }
        importer.flush()?;
    }
    realm.roles.import(&realm.name, importer)?;
    importer.flush()?;
    realm.groups.import(&realm.name, &mut realm.roles, importer)?;
    importer.flush()?;
    if realm.has_users {
        for path in paths {
            begin(path, is_one, importer)?;
            json_stream::read(path, &mut Users { importer, realm: &mut realm })?;
        }
    }
    Ok(())
}

/// Names the file in the report, where there are several; what waits of the one before is sent first.
fn begin(path: &str, is_one: bool, importer: &mut Importer<'_>) -> Result<(), CommandError> {
    if is_one {
        return Ok(());
    }
    importer.flush()?;
    importer.report.in_file(path);
    Ok(())
}

struct Clients<'i, 'a> {
    importer: &'i mut Importer<'a>,
    scopes: &'i ClientScopes,
    schema: &'i Schema,
}

impl Members for Clients<'_, '_> {
    fn wanted(&self, name: &str) -> Wanted {
        if name == "clients" { Wanted::Elements(USER) } else { Wanted::Nothing }
    }

    fn element(&mut self, _: &str, number: u64, value: Value) -> Result<(), CommandError> {
        client::take(number, value, self.scopes, self.schema, self.importer)
    }
}

struct Users<'i, 'a> {
    importer: &'i mut Importer<'a>,
    realm: &'i mut Realm,
}

impl Members for Users<'_, '_> {
    fn wanted(&self, name: &str) -> Wanted {
        if name == "users" { Wanted::Elements(USER) } else { Wanted::Nothing }
    }

    fn element(&mut self, _: &str, number: u64, value: Value) -> Result<(), CommandError> {
        match user::read(number, value, self.realm, &self.importer.structure) {
            user::Read::User(entry) => self.importer.user(*entry),
            user::Read::ServiceAccount { origin, has_roles } => {
                service_account(&origin, has_roles, self.importer)
            }
        }
    }
}

/// The account by which a client acts for itself. It is no person, and tokens of a client have no roles of its own here.
fn service_account(
    origin: &Origin,
    has_roles: bool,
    importer: &mut Importer<'_>,
) -> Result<(), CommandError> {
    importer.report.note_left_out(vec!["service account".to_owned()]);
    if !has_roles {
        return Ok(());
    }
    let fault = super::record::Fault::new(
        "a client has no roles when it acts for itself",
        "give the client a scope for it, by symbolon client update",
    );
    importer.partly(Kind::Client, origin, &Part::new("roles of its service account", fault))
}

/// The roles that a record names: those of the realm, and those of clients.
fn named_roles(record: &Value) -> Vec<Name> {
    names(record, ["realmRoles", "clientRoles"])
}

/// Names of roles, as `{REALM: [NAME], CLIENTS: {CLIENT: [NAME]}}`.
fn names(record: &Value, [realm, clients]: [&str; 2]) -> Vec<Name> {
    let texts = |value: Option<&Value>| -> Vec<String> {
        let items = value.and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut all: Vec<Name> = texts(record.get(realm)).into_iter().map(|name| (None, name)).collect();
    for (client, roles) in record.get(clients).and_then(Value::as_object).into_iter().flatten() {
        all.extend(texts(Some(roles)).into_iter().map(|name| (Some(client.clone()), name)));
    }
    all
}

#[cfg(test)]
mod tests;
