//! Who is in which group.

use http::Method;
use serde_json::{Value, json};
use symbolon_protocol::event::Event;
use symbolon_protocol::group::{Group, MOST_GROUPS_OF_USER, Membership};
use symbolon_protocol::id::UserId;
use symbolon_store::port::{MemberAddition, MemberRemoval};

use super::{SEARCH, about, load, unknown, views};
use crate::call::{Call, Concerns, done, ok};
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, PAGE, Parameter, page_of};
use crate::{paging, users};
use symbolon_app::audit::ChangedFields;

pub(super) fn operations() -> Vec<Operation> {
    const ONE: &str = "/groups/{group_id}/members/{user_id}";
    let search =
        Parameter { name: "search", kind: "string", about: "Part of an e-mail address, name or id." };
    vec![
        Operation::get("/groups/{group_id}/members", "Lists the users who are in a group directly", list)
            .query(&PAGE)
            .query(&[search])
            .answers(200, page_of("members", "User")),
        Operation::plain(Method::PUT, ONE, "Puts a user into a group", add).answers(204, Value::Null),
        Operation::delete(ONE, "Takes a user out of a group", remove).answers(204, Value::Null),
        Operation::get(
            "/users/{user_id}/groups",
            "Lists the groups that a user is in directly, by name",
            groups_of_user,
        )
        .query(&PAGE)
        .query(&[SEARCH])
        .answers(200, page_of("groups", "Group")),
    ]
}

/// Whether a user was put into a group who was not in it before.
///
/// # Errors
/// 404 or 400: why the user is not in the group.
pub(crate) fn added(outcome: MemberAddition) -> Result<bool, AdminError> {
    match outcome {
        MemberAddition::Added => Ok(true),
        MemberAddition::WasMember => Ok(false),
        MemberAddition::NoSuchUser => Err(AdminError::not_found("there is no such user")),
        MemberAddition::NoSuchGroup => Err(unknown()),
        MemberAddition::TooMany => Err(AdminError::invalid(format!(
            "the user is in {MOST_GROUPS_OF_USER} groups already, and may not be in more: take the user out of \
             another one first"
        ))),
    }
}

/// Whether a user was taken out of a group who was in it before.
pub(crate) const fn removed(outcome: MemberRemoval) -> bool {
    matches!(outcome, MemberRemoval::Removed)
}

async fn list(call: Call) -> Answer {
    let page = paging::requested(&call)?;
    let group = load(&call).await?;
    let found = call.app.store.list_members(call.id(), &group.id, &page).await?;
    let settings = call.issuer.settings.load();
    let members: Vec<_> = found.items.iter().map(|user| users::shown(user, &settings.attributes)).collect();
    Ok(ok(&json!({ "members": members, "pagination": paging::pagination(&page, found.total) })))
}

async fn groups_of_user(call: Call) -> Answer {
    let page = paging::requested(&call)?;
    let user = users::load(&call).await?;
    let found = call.app.store.groups_of(call.id(), &user.id, &page).await?;
    let pagination = paging::pagination(&page, found.total);
    Ok(ok(&json!({ "groups": views(found), "pagination": pagination })))
}

/// The group and the membership that a path names.
async fn named(call: &Call) -> Result<(Group, Membership), AdminError> {
    let user: UserId = call.path("user_id")?;
    let group = load(call).await?;
    let membership = Membership { group: group.id.clone(), user };
    Ok((group, membership))
}

/// A membership as JSON.
pub(crate) fn recorded(membership: &Membership) -> Value {
    json!({ "group_id": membership.group, "user_id": membership.user })
}

async fn add(call: Call) -> Answer {
    let (group, membership) = named(&call).await?;
    if added(call.app.store.add_member(call.id(), membership.clone()).await?)? {
        let concerns = Concerns { user: Some(&membership.user), ..about(&group, []) };
        call.audit(Event::MemberAdded, concerns, ChangedFields::made(&recorded(&membership)));
    }
    Ok(done())
}

async fn remove(call: Call) -> Answer {
    let (group, membership) = named(&call).await?;
    if !removed(call.app.store.remove_member(call.id(), membership.clone()).await?) {
        return Err(AdminError::not_found("the user is not in this group"));
    }
    let concerns = Concerns { user: Some(&membership.user), ..about(&group, []) };
    call.audit(Event::MemberRemoved, concerns, ChangedFields::removed(&recorded(&membership)));
    Ok(done())
}
