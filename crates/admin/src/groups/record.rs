//! A group's record as JSON.

use serde_json::{Map, Value, json};
use symbolon_crypto::random::{self, Random};
use symbolon_protocol::entitlement::{Description, EntitlementName};
use symbolon_protocol::group::Group;
use symbolon_protocol::id::GroupId;
use symbolon_protocol::time::Timestamp;

use crate::entitlement::{self, later, members};
use crate::error::AdminError;
use crate::fields::Fields;

/// Members of a shown group that a change cannot set. They are accepted, so that what was shown can be sent back.
const SHOWN_ONLY: [&str; 3] = ["created_at", "updated_at", "path"];

/// The members of a group in a request.
#[derive(Debug, PartialEq)]
pub(crate) struct Described {
    name: EntitlementName,
    description: Option<Description>,
    parent: Option<GroupId>,
}

impl Described {
    fn read(fields: &mut Fields) -> Result<Self, AdminError> {
        Ok(Self {
            name: fields.require("name")?,
            description: entitlement::description(fields)?,
            parent: fields.take("parent_id")?,
        })
    }

    fn into_group(self, id: GroupId, now: Timestamp) -> Group {
        let Self { name, description, parent } = self;
        Group { id, name, description, parent, created_at: now, updated_at: now }
    }
}

/// Reads a new group.
///
/// # Errors
/// 400 that names the member.
pub(crate) fn new(mut fields: Fields, random: &dyn Random, now: Timestamp) -> Result<Group, AdminError> {
    let described = Described::read(&mut fields)?;
    // Starts with a letter, so that no drawn id looks like a command-line option.
    let drawn = || GroupId::trusted(format!("g{}", random::token_128(random)));
    let id = entitlement::id(&mut fields, drawn)?;
    fields.ignore(&SHOWN_ONLY);
    fields.finish()?;
    Ok(described.into_group(id, now))
}

/// Reads the members that replace those of a group.
///
/// # Errors
/// 400 that names the member.
pub(crate) fn changed(before: &Group, mut fields: Fields, now: Timestamp) -> Result<Group, AdminError> {
    let described = Described::read(&mut fields)?;
    if fields.take::<GroupId>("id")?.is_some_and(|id| id != before.id) {
        return Err(AdminError::invalid("id cannot be changed"));
    }
    fields.ignore(&SHOWN_ONLY);
    fields.finish()?;
    let after = described.into_group(before.id.clone(), later(before.updated_at, now));
    Ok(Group { created_at: before.created_at, ..after })
}

/// A group as JSON. Members without a value are omitted.
pub(crate) fn view(group: &Group) -> Map<String, Value> {
    members(json!({
        "id": group.id,
        "name": group.name,
        "description": group.description,
        "parent_id": group.parent,
        "created_at": group.created_at,
        "updated_at": group.updated_at,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use symbolon_crypto::random::SeededRandom;

    fn read(value: Value) -> Result<Group, AdminError> {
        new(Fields::new(members(value)), &SeededRandom::new(1), Timestamp::from_millis(5))
    }

    fn told<T>(result: Result<T, AdminError>) -> String {
        result.err().map(|error| error.told().1.into_owned()).expect("refused")
    }

    #[test]
    fn what_is_shown_reads_back_as_the_same() {
        let group =
            read(json!({ "id": "it", "name": "IT", "description": "x", "parent_id": "staff" })).unwrap();
        let shown = view(&group);
        assert_eq!((&shown["parent_id"], &shown["created_at"]), (&json!("staff"), &json!(5)));
        assert_eq!(read(Value::Object(shown.clone())).unwrap(), group);
        let again = changed(&group, Fields::new(shown), Timestamp::from_millis(5)).unwrap();
        assert_eq!(again, Group { updated_at: Timestamp::from_millis(6), ..group });
    }

    #[test]
    fn a_drawn_id_begins_with_a_letter() {
        let group = read(json!({ "name": "IT" })).unwrap();
        assert!(group.id.as_str().starts_with('g') && group.id.as_str().len() == 23, "{}", group.id);
        assert!(GroupId::parse(group.id.as_str()).is_ok());
        let shown = view(&group);
        assert!(!shown.contains_key("description") && !shown.contains_key("parent_id"));
    }

    #[test]
    fn mistakes_are_refused_by_name() {
        for (bad, named) in [
            (json!({}), "name is required"),
            (json!({ "name": " x" }), "name is not valid"),
            (json!({ "name": "x", "parent_id": "a/b" }), "parent_id is not valid"),
            (json!({ "name": "x", "description": 5 }), "description is not valid"),
            (json!({ "name": "x", "parent": "y" }), "parent"),
        ] {
            let why = told(read(bad.clone()));
            assert!(why.contains(named), "{bad}: {why}");
        }
        let group = read(json!({ "name": "IT" })).unwrap();
        let other = Fields::new(members(json!({ "name": "IT", "id": "other" })));
        assert_eq!(told(changed(&group, other, Timestamp::from_millis(9))), "id cannot be changed");
    }
}
