//! What records of groups and roles have in common, and what a user has by them.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use symbolon_protocol::entitlement::{Description, Entitlements, HeldGroup, HeldRole};
use symbolon_protocol::id::{GroupId, RoleId, UserId, refused_in_paths};
use symbolon_protocol::role::RoleHolder;
use symbolon_protocol::time::Timestamp;
use symbolon_store::port::PageRequest;

use crate::call::{Call, ok};
use crate::error::{AdminError, Answer};
use crate::fields::Fields;
use crate::operation::{Operation, wrapped};
use crate::users;

/// All groups or roles that one user or group may have directly: no more than the longest page.
pub(super) const ALL_HELD: PageRequest = PageRequest { page: 1, limit: 1_000, search: None };

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get(
            "/users/{user_id}/entitlements",
            "Shows every group and role that tokens of a user may carry, and where each comes from",
            show,
        )
        .answers(200, wrapped("entitlements", "Entitlements")),
    ]
}

/// The id given in the request, or a drawn one.
///
/// # Errors
/// 400 if the id is malformed, or is the last segment of another path of this API.
pub(super) fn id<T: DeserializeOwned + Borrow<str>>(
    fields: &mut Fields,
    drawn: impl FnOnce() -> T,
) -> Result<T, AdminError> {
    let given: Option<T> = fields.take("id")?;
    if let Some(why) = given.as_ref().and_then(|id| refused_in_paths(id.borrow())) {
        return Err(AdminError::invalid(format!("id {why}")));
    }
    Ok(given.unwrap_or_else(drawn))
}

/// `description`; an empty one counts as absent.
///
/// # Errors
/// 400 that names the member.
pub(super) fn description(fields: &mut Fields) -> Result<Option<Description>, AdminError> {
    Ok(fields.take::<Description>("description")?.filter(|text| !text.as_str().is_empty()))
}

/// The time of a change: always later than the one before, even if the clock has not advanced, because the store
/// detects lost races by it.
pub(super) fn later(before: Timestamp, now: Timestamp) -> Timestamp {
    now.max(Timestamp::from_millis(before.millis().saturating_add(1)))
}

/// The members of an object that have a value.
pub(super) fn members(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(object) => object.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    }
}

async fn show(call: Call) -> Answer {
    let user = users::load(&call).await?;
    let held = call.app.store.entitlements(call.id(), &user.id).await?;
    let origins = Origins::load(&call, &user.id, &held).await?;
    Ok(ok(&json!({ "entitlements": view(&held, &origins) })))
}

/// Where a user's groups and roles come from.
#[derive(Default)]
struct Origins {
    /// The groups that the user is a member of.
    groups: BTreeSet<GroupId>,
    /// The roles that were given to the user.
    roles: BTreeSet<RoleId>,
    /// The groups of the user that were given a role.
    givers: BTreeMap<RoleId, Vec<GroupId>>,
}

impl Origins {
    async fn load(call: &Call, user: &UserId, held: &Entitlements) -> Result<Self, AdminError> {
        let (store, issuer) = (&call.app.store, call.id());
        let groups = ids(store.groups_of(issuer, user, &ALL_HELD).await?.items, |group| group.id);
        if held.roles.is_empty() {
            return Ok(Self { groups, ..Self::default() });
        }
        let holder = RoleHolder::User(user.clone());
        let roles = ids(store.roles_of(issuer, &holder, &ALL_HELD).await?.items, |role| role.id);
        let mut givers: BTreeMap<RoleId, Vec<GroupId>> = BTreeMap::new();
        for group in &held.groups {
            let holder = RoleHolder::Group(group.id.clone());
            for role in store.roles_of(issuer, &holder, &ALL_HELD).await?.items {
                givers.entry(role.id).or_default().push(group.id.clone());
            }
        }
        Ok(Self { groups, roles, givers })
    }
}

fn ids<T, Id: Ord>(records: Vec<T>, id: impl Fn(T) -> Id) -> BTreeSet<Id> {
    records.into_iter().map(id).collect()
}

fn view(held: &Entitlements, origins: &Origins) -> Value {
    let group = |group: &HeldGroup| {
        json!({
            "id": group.id,
            "name": group.name,
            "path": group.path.as_str(),
            "direct": origins.groups.contains(&group.id),
        })
    };
    let role = |role: &HeldRole| {
        let view = json!({
            "id": role.id,
            "name": role.name,
            "client_id": role.client_id,
            "direct": origins.roles.contains(&role.id),
            "by_groups": origins.givers.get(&role.id).map_or(&[][..], Vec::as_slice),
        });
        Value::Object(members(view))
    };
    json!({
        "groups": held.groups.iter().map(group).collect::<Vec<_>>(),
        "roles": held.roles.iter().map(role).collect::<Vec<_>>(),
        "is_cut": held.is_cut,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use symbolon_protocol::entitlement::{EntitlementName, path};
    use symbolon_protocol::id::ClientId;

    fn fields(value: Value) -> Fields {
        Fields::new(members(value))
    }

    #[test]
    fn an_id_is_no_path_of_the_api() {
        let drawn = || GroupId::trusted("drawn");
        assert_eq!(id(&mut fields(json!({})), drawn).ok(), Some(drawn()));
        assert_eq!(id(&mut fields(json!({ "id": "staff" })), drawn).ok(), Some(GroupId::trusted("staff")));
        for bad in ["bulk", "export", "a/b", "", ".."] {
            assert!(id(&mut fields(json!({ "id": bad })), drawn).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_empty_description_is_none() {
        assert_eq!(description(&mut fields(json!({ "description": "" }))).ok(), Some(None));
        let read = description(&mut fields(json!({ "description": "x" })));
        assert_eq!(read.ok().flatten().map(|text| text.as_str().to_owned()), Some("x".to_owned()));
        assert!(description(&mut fields(json!({ "description": "\u{1b}" }))).is_err());
    }

    #[test]
    fn a_change_is_always_later() {
        let at = Timestamp::from_millis;
        assert_eq!(later(at(9), at(3)), at(10));
        assert_eq!(later(at(9), at(30)), at(30));
    }

    #[test]
    fn every_group_and_role_says_where_it_comes_from() {
        let name = |text: &str| EntitlementName::parse(text).unwrap();
        let group =
            |id: &str| HeldGroup { id: GroupId::trusted(id), name: name(id), path: path([&name(id)]) };
        let role = |id: &str, client: Option<&str>| HeldRole {
            id: RoleId::trusted(id),
            name: name(id),
            client_id: client.map(ClientId::trusted),
        };
        let held = Entitlements::of(
            vec![group("own"), group("above")],
            vec![role("both", None), role("by-group", Some("app"))],
        );
        let origins = Origins {
            groups: [GroupId::trusted("own")].into(),
            roles: [RoleId::trusted("both")].into(),
            givers: [
                (RoleId::trusted("both"), vec![GroupId::trusted("own")]),
                (RoleId::trusted("by-group"), vec![GroupId::trusted("above")]),
            ]
            .into(),
        };
        let expected = json!({
            "groups": [
                { "id": "above", "name": "above", "path": "/above", "direct": false },
                { "id": "own", "name": "own", "path": "/own", "direct": true },
            ],
            "roles": [
                { "id": "both", "name": "both", "direct": true, "by_groups": ["own"] },
                { "id": "by-group", "name": "by-group", "client_id": "app", "direct": false, "by_groups": ["above"] },
            ],
            "is_cut": false,
        });
        assert_eq!(view(&held, &origins), expected);
    }
}
