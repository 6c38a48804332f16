//! Finds the group or role that a command line names: by id, or by a name, whatever its case.

use serde_json::Value;

use super::{Kind, MOST, by_id, client_id, id_of, not_found, the_one};
use crate::command::CommandError;
use crate::command::api::{Api, segment};
use crate::command::output::line;

const GROUP: Kind =
    Kind { noun: "group", path: "/groups", one: "group", many: "groups", id: "id", names: &["name"] };

const ROLE: Kind = Kind {
    noun: "role",
    path: "/roles",
    one: "role",
    many: "roles",
    id: "id",
    names: &["name", "client_id"],
};

/// The record of the group of an id or name.
///
/// # Errors
/// [`CommandError::NotFound`]
pub(in crate::command) fn group(api: &Api, name: &str) -> Result<Value, CommandError> {
    if let Some(group) = of_id(api, &GROUP, name)? {
        return Ok(group);
    }
    let found = api.first(GROUP.path, GROUP.many, &format!("&name={}", segment(name)), MOST)?.0;
    the_one(&GROUP, name, found)
}

/// The id of the group of an id or name.
///
/// # Errors
/// As [`group`].
pub(in crate::command) fn group_id(api: &Api, name: &str) -> Result<String, CommandError> {
    id_of(&GROUP, &group(api, name)?)
}

/// The record of the role of an id or name. With a client, only that client's roles are looked at. Without one, a name is
/// that of a role of the issuer if it has such a role, else of the only client that has one.
///
/// # Errors
/// [`CommandError::NotFound`]; [`CommandError::Ambiguous`] where several clients have such a role.
pub(in crate::command) fn role(api: &Api, name: &str, client: Option<&str>) -> Result<Value, CommandError> {
    let client = client.map(|client| client_id(api, client)).transpose()?;
    let is_wanted = |role: &Value| client.is_none() || text(role, "client_id") == client.as_deref();
    if let Some(role) = of_id(api, &ROLE, name)?.filter(is_wanted) {
        return Ok(role);
    }
    let of_client = client.as_deref().map(|id| format!("&client_id={}", segment(id))).unwrap_or_default();
    let query = format!("&name={}{of_client}", segment(name));
    let found = api.first(ROLE.path, ROLE.many, &query, MOST)?.0;
    if client.is_some() || !found.is_empty() {
        return the_one(&ROLE, name, found);
    }
    of_any_client(api, name)
}

/// The only role of this name of any client.
fn of_any_client(api: &Api, name: &str) -> Result<Value, CommandError> {
    if name.len() > super::LONGEST_SEARCH {
        return Err(not_found(&ROLE, name));
    }
    let query = format!("&search={}", segment(name));
    let (similar, is_cut) = api.first(ROLE.path, ROLE.many, &query, MOST)?;
    if is_cut {
        // Another role of this name may be among those that were not read.
        return Err(CommandError::Ambiguous(format!(
            "more than {MOST} roles have \"{}\" in their names or ids: name the client by --client, or give the id",
            line(name)
        )));
    }
    the_one(&ROLE, name, called(similar, name))
}

/// The roles of this name, whatever its case.
fn called(roles: Vec<Value>, name: &str) -> Vec<Value> {
    let lower = name.to_lowercase();
    let is_called = |role: &Value| text(role, "name").is_some_and(|own| own.to_lowercase() == lower);
    roles.into_iter().filter(is_called).collect()
}

fn text<'a>(record: &'a Value, member: &str) -> Option<&'a str> {
    record.get(member).and_then(Value::as_str)
}

/// The record of an id; `None` if there is none.
fn of_id(api: &Api, kind: &Kind, id: &str) -> Result<Option<Value>, CommandError> {
    // No group or role has one of these ids: they are paths of the admin API.
    if matches!(id, "bulk" | "export") { Ok(None) } else { by_id(api, kind, id) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_role_is_called_by_its_whole_name_in_any_case() {
        let roles =
            |names: &[&str]| -> Vec<Value> { names.iter().map(|name| json!({ "name": name })).collect() };
        assert_eq!(called(roles(&["admin", "Admin", "admins"]), "ADMIN"), roles(&["admin", "Admin"]));
        assert!(called(roles(&["admins"]), "admin").is_empty());
    }

    #[test]
    fn several_roles_of_a_name_are_told_with_their_clients() {
        let role = |id: &str, client: &str| json!({ "id": id, "name": "Admin", "client_id": client });
        let told = the_one(&ROLE, "admin", vec![role("r1", "wiki"), role("r2", "shop")]).unwrap_err();
        assert_eq!(
            told.to_string(),
            "\"admin\" is the name of 2 roles, so give the id: r1 (Admin, wiki), r2 (Admin, shop)"
        );
    }
}
