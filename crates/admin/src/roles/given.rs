//! Who was given which role.

use http::Method;
use serde_json::{Value, json};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::UserId;
use symbolon_protocol::role::{GivenRole, MOST_ROLES_OF_HOLDER, Role, RoleHolder};
use symbolon_store::port::{RoleGrant, RoleRemoval};

use super::{about, load, unknown, views};
use crate::call::{Call, Concerns, done, ok};
use crate::error::{AdminError, Answer};
use crate::groups::SEARCH;
use crate::operation::{Operation, PAGE, Parameter, page_of};
use crate::{groups, paging, users};
use symbolon_app::audit::ChangedFields;

pub(super) fn operations() -> Vec<Operation> {
    const OF_USER: &str = "/users/{user_id}/roles";
    const OF_GROUP: &str = "/groups/{group_id}/roles";
    const TO_USER: &str = "/users/{user_id}/roles/{role_id}";
    const TO_GROUP: &str = "/groups/{group_id}/roles/{role_id}";
    let users = Parameter { name: "search", kind: "string", about: "Part of an e-mail address, name or id." };
    vec![
        Operation::get(OF_USER, "Lists the roles that were given to a user, by name", of_user)
            .query(&PAGE)
            .query(&[SEARCH])
            .answers(200, page_of("roles", "Role")),
        Operation::plain(Method::PUT, TO_USER, "Gives a role to a user", give_to_user)
            .answers(204, Value::Null),
        Operation::delete(TO_USER, "Takes a role from a user", take_from_user).answers(204, Value::Null),
        Operation::get(OF_GROUP, "Lists the roles that were given to a group, by name", of_group)
            .query(&PAGE)
            .query(&[SEARCH])
            .answers(200, page_of("roles", "Role")),
        Operation::plain(
            Method::PUT,
            TO_GROUP,
            "Gives a role to a group, and so to its members",
            give_to_group,
        )
        .answers(204, Value::Null),
        Operation::delete(TO_GROUP, "Takes a role from a group", take_from_group).answers(204, Value::Null),
        Operation::get(
            "/roles/{role_id}/users",
            "Lists the users who were given a role directly",
            users_with,
        )
        .query(&PAGE)
        .query(&[users])
        .answers(200, page_of("users", "User")),
        Operation::get("/roles/{role_id}/groups", "Lists the groups that were given a role", groups_with)
            .query(&PAGE)
            .query(&[SEARCH])
            .answers(200, page_of("groups", "Group")),
    ]
}

/// Whether a role was given to somebody who did not have it before.
///
/// # Errors
/// 404 or 400: why it was not given.
pub(crate) fn given(outcome: RoleGrant) -> Result<bool, AdminError> {
    match outcome {
        RoleGrant::Given => Ok(true),
        RoleGrant::WasGiven => Ok(false),
        RoleGrant::NoSuchUser => Err(AdminError::not_found("there is no such user")),
        RoleGrant::NoSuchGroup => Err(groups::unknown()),
        RoleGrant::NoSuchRole => Err(unknown()),
        RoleGrant::TooMany => Err(AdminError::invalid(format!(
            "the user or group was given {MOST_ROLES_OF_HOLDER} roles already, and may not have more: take another \
             one away first, or give roles to a group"
        ))),
    }
}

/// Whether a role was taken from somebody who had it before.
pub(crate) const fn taken_away(outcome: RoleRemoval) -> bool {
    matches!(outcome, RoleRemoval::Taken)
}

async fn of_user(call: Call) -> Answer {
    let user = users::load(&call).await?;
    roles_of(&call, &RoleHolder::User(user.id.clone())).await
}

async fn of_group(call: Call) -> Answer {
    let group = groups::load(&call).await?;
    roles_of(&call, &RoleHolder::Group(group.id)).await
}

async fn roles_of(call: &Call, holder: &RoleHolder) -> Answer {
    let page = paging::requested(call)?;
    let found = call.app.store.roles_of(call.id(), holder, &page).await?;
    let pagination = paging::pagination(&page, found.total);
    Ok(ok(&json!({ "roles": views(found), "pagination": pagination })))
}

async fn users_with(call: Call) -> Answer {
    let (page, role) = (paging::requested(&call)?, load(&call).await?);
    let found = call.app.store.list_users_with_role(call.id(), &role.id, &page).await?;
    let settings = call.issuer.settings.load();
    let users: Vec<_> = found.items.iter().map(|user| users::shown(user, &settings.attributes)).collect();
    Ok(ok(&json!({ "users": users, "pagination": paging::pagination(&page, found.total) })))
}

async fn groups_with(call: Call) -> Answer {
    let (page, role) = (paging::requested(&call)?, load(&call).await?);
    let found = call.app.store.list_groups_with_role(call.id(), &role.id, &page).await?;
    let pagination = paging::pagination(&page, found.total);
    Ok(ok(&json!({ "groups": groups::views(found), "pagination": pagination })))
}

async fn give_to_user(call: Call) -> Answer {
    let holder = RoleHolder::User(call.path("user_id")?);
    give(&call, holder).await
}

async fn give_to_group(call: Call) -> Answer {
    let holder = RoleHolder::Group(call.path("group_id")?);
    give(&call, holder).await
}

async fn take_from_user(call: Call) -> Answer {
    let holder = RoleHolder::User(call.path("user_id")?);
    take(&call, holder).await
}

async fn take_from_group(call: Call) -> Answer {
    let holder = RoleHolder::Group(call.path("group_id")?);
    take(&call, holder).await
}

async fn give(call: &Call, holder: RoleHolder) -> Answer {
    let role = load(call).await?;
    let grant = GivenRole { role: role.id.clone(), holder: holder.clone() };
    if given(call.app.store.give_role(call.id(), grant.clone()).await?)? {
        record(call, Event::RoleGiven, (&role, &holder), ChangedFields::made(&recorded(&grant)));
    }
    Ok(done())
}

async fn take(call: &Call, holder: RoleHolder) -> Answer {
    let role = load(call).await?;
    let grant = GivenRole { role: role.id.clone(), holder: holder.clone() };
    if !taken_away(call.app.store.take_role(call.id(), grant.clone()).await?) {
        let whom = match holder {
            RoleHolder::User(_) => "the user was not given this role; it may come from a group",
            RoleHolder::Group(_) => "the group was not given this role; it may come from a group above it",
        };
        return Err(AdminError::not_found(whom));
    }
    record(call, Event::RoleTaken, (&role, &holder), ChangedFields::removed(&recorded(&grant)));
    Ok(done())
}

/// A given role as JSON.
pub(crate) fn recorded(given: &GivenRole) -> Value {
    match &given.holder {
        RoleHolder::User(user) => json!({ "role_id": given.role, "user_id": user }),
        RoleHolder::Group(group) => json!({ "role_id": given.role, "group_id": group }),
    }
}

/// Records in the audit log that a role was given to somebody or taken away.
fn record(call: &Call, event: Event, (role, holder): (&Role, &RoleHolder), changed: ChangedFields) {
    let (user, group): (Option<&UserId>, _) = match holder {
        RoleHolder::User(user) => (Some(user), None),
        RoleHolder::Group(group) => (None, Some(("group", json!(group)))),
    };
    call.audit(event, Concerns { user, ..about(role, group) }, changed);
}
