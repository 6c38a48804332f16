//! A role's record as JSON.

use serde_json::{Map, Value, json};
use symbolon_crypto::random::{self, Random};
use symbolon_protocol::id::{ClientId, RoleId};
use symbolon_protocol::role::Role;
use symbolon_protocol::time::Timestamp;

use crate::entitlement::{self, later, members};
use crate::error::AdminError;
use crate::fields::Fields;

/// Members of a shown role that a change cannot set. They are accepted, so that what was shown can be sent back.
const SHOWN_ONLY: [&str; 2] = ["created_at", "updated_at"];

/// Reads a new role.
///
/// # Errors
/// 400 that names the member.
pub(crate) fn new(mut fields: Fields, random: &dyn Random, now: Timestamp) -> Result<Role, AdminError> {
    // Starts with a letter, so that no drawn id looks like a command-line option.
    let drawn = || RoleId::trusted(format!("r{}", random::token_128(random)));
    let role = Role {
        id: entitlement::id(&mut fields, drawn)?,
        name: fields.require("name")?,
        client_id: fields.take("client_id")?,
        description: entitlement::description(&mut fields)?,
        created_at: now,
        updated_at: now,
    };
    fields.ignore(&SHOWN_ONLY);
    fields.finish()?;
    Ok(role)
}

/// Reads the members that replace those of a role. The role stays that of its client, or of the issuer: who was given
/// it would otherwise have a right in another application.
///
/// # Errors
/// 400 that names the member.
pub(crate) fn changed(before: &Role, mut fields: Fields, now: Timestamp) -> Result<Role, AdminError> {
    if fields.take::<RoleId>("id")?.is_some_and(|id| id != before.id) {
        return Err(AdminError::invalid("id cannot be changed"));
    }
    // `null` is a value here: a role without a client is one of the issuer.
    let names_client = fields.names("client_id");
    if fields.take::<ClientId>("client_id")? != before.client_id && names_client {
        return Err(AdminError::invalid(
            "client_id cannot be changed: create another role, for that client or for the issuer",
        ));
    }
    let role = Role {
        name: fields.require("name")?,
        description: entitlement::description(&mut fields)?,
        updated_at: later(before.updated_at, now),
        ..before.clone()
    };
    fields.ignore(&SHOWN_ONLY);
    fields.finish()?;
    Ok(role)
}

/// A role as JSON. Members without a value are omitted.
pub(crate) fn view(role: &Role) -> Map<String, Value> {
    members(json!({
        "id": role.id,
        "name": role.name,
        "client_id": role.client_id,
        "description": role.description,
        "created_at": role.created_at,
        "updated_at": role.updated_at,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use symbolon_crypto::random::SeededRandom;

    fn read(value: Value) -> Result<Role, AdminError> {
        new(Fields::new(members(value)), &SeededRandom::new(1), Timestamp::from_millis(5))
    }

    fn told<T>(result: Result<T, AdminError>) -> String {
        result.err().map(|error| error.told().1.into_owned()).expect("refused")
    }

    #[test]
    fn what_is_shown_reads_back_as_the_same() {
        let role =
            read(json!({ "id": "ops", "name": "Ops", "client_id": "app", "description": "x" })).unwrap();
        let shown = view(&role);
        assert_eq!(read(Value::Object(shown.clone())).unwrap(), role);
        let again = changed(&role, Fields::new(shown), Timestamp::from_millis(5)).unwrap();
        assert_eq!(again, Role { updated_at: Timestamp::from_millis(6), ..role });
        let own = read(json!({ "name": "Ops" })).unwrap();
        assert!(own.id.as_str().starts_with('r') && !view(&own).contains_key("client_id"));
    }

    #[test]
    fn a_role_stays_that_of_its_client() {
        // Also with the members that are null, which `members` leaves out.
        let object = |value: Value| value.as_object().cloned().unwrap();
        let change =
            |role: &Role, value: Value| changed(role, Fields::new(object(value)), Timestamp::from_millis(9));
        let of_client = read(json!({ "name": "Ops", "client_id": "app" })).unwrap();
        let of_issuer = read(json!({ "name": "Ops" })).unwrap();
        for role in [&of_client, &of_issuer] {
            let why = told(change(role, json!({ "name": "Ops", "client_id": "other" })));
            assert!(why.starts_with("client_id cannot be changed"), "{why}");
            let null = change(role, json!({ "name": "Ops", "client_id": null }));
            assert_eq!(null.is_ok(), role.client_id.is_none(), "null asks for a role of the issuer");
            assert_eq!(told(change(role, json!({ "name": "Ops", "id": "other" }))), "id cannot be changed");
        }
        let renamed = change(&of_client, json!({ "name": "Operators" })).unwrap();
        assert_eq!((renamed.name.as_str(), renamed.client_id), ("Operators", of_client.client_id));
    }

    #[test]
    fn mistakes_are_refused_by_name() {
        for (bad, named) in [
            (json!({}), "name is required"),
            (json!({ "name": "" }), "name is not valid"),
            (json!({ "name": "x", "client_id": "a b" }), "client_id is not valid"),
            (json!({ "name": "x", "client": "app" }), "client"),
        ] {
            let why = told(read(bad.clone()));
            assert!(why.contains(named), "{bad}: {why}");
        }
    }
}
