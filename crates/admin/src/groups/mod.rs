//! Groups of users.

mod members;
mod record;

use axum::response::Response;
use http::Method;
use serde_json::{Map, Value, json};
use symbolon_protocol::entitlement::{EntitlementName, path};
use symbolon_protocol::event::Event;
use symbolon_protocol::group::{Group, MOST_DEPTH, MOST_GROUPS};
use symbolon_protocol::id::GroupId;
use symbolon_protocol::json::merge_patch;
use symbolon_store::StoreError;
use symbolon_store::port::{GroupCreation, GroupDeletion, GroupFilter, GroupUpdate, Page};

use crate::call::{Call, Concerns, Payload, created, done, ok};
use crate::error::{AdminError, Answer};
use crate::fields::Fields;
use crate::operation::{Operation, PAGE, Parameter, page_of, wrapped};
use crate::paging;
use symbolon_app::audit::ChangedFields;

pub(super) use members::{added, recorded, removed};
pub(super) use record::{new, view};

/// `search` of a listing of groups or roles.
pub(super) const SEARCH: Parameter =
    Parameter { name: "search", kind: "string", about: "Part of a name or id, whatever its case." };

pub(super) fn operations() -> Vec<Operation> {
    const ONE: &str = "/groups/{group_id}";
    let filters = [
        SEARCH,
        Parameter { name: "name", kind: "string", about: "Exactly this name, whatever its case." },
        Parameter { name: "parent_id", kind: "string", about: "Only groups directly below this one." },
        Parameter { name: "topmost", kind: "boolean", about: "Where true, only groups without a parent." },
    ];
    let group = || wrapped("group", "Group");
    let mut operations = vec![
        Operation::get("/groups", "Lists groups, newest first", list)
            .query(&PAGE)
            .query(&filters)
            .answers(200, page_of("groups", "Group")),
        Operation::taking(Method::POST, "/groups", "NewGroup", "Creates a group", create)
            .answers(201, group()),
        Operation::get(ONE, "Shows a group", show).answers(200, group()),
        Operation::taking(Method::PUT, ONE, "GroupRecord", "Replaces a group's record", replace)
            .answers(200, group()),
        Operation::taking(Method::PATCH, ONE, "GroupRecord", "Changes the members that are named", patch)
            .answers(200, group()),
        Operation::delete(ONE, "Deletes a group that has no groups below it", remove)
            .answers(204, Value::Null),
    ];
    operations.extend(members::operations());
    operations
}

pub(super) fn unknown() -> AdminError {
    AdminError::not_found("there is no such group")
}

fn taken() -> AdminError {
    AdminError::conflict("there is a group of this id or name; names are compared without their case")
}

fn no_such_parent() -> AdminError {
    AdminError::not_found("there is no group of the id in parent_id")
}

fn too_deep() -> AdminError {
    AdminError::invalid(format!(
        "parent_id would nest groups more than {MOST_DEPTH} deep: choose a group further up, or move that group up first"
    ))
}

/// Whether a group was created.
///
/// # Errors
/// 409, 404 or 400: why it was not.
pub(super) fn creation(outcome: GroupCreation) -> Result<(), AdminError> {
    match outcome {
        GroupCreation::Created => Ok(()),
        GroupCreation::Exists => Err(taken()),
        GroupCreation::NoSuchParent => Err(no_such_parent()),
        GroupCreation::TooDeep => Err(too_deep()),
        GroupCreation::TooMany => Err(AdminError::invalid(format!(
            "there are {MOST_GROUPS} groups already, and an issuer may not have more: delete some that nobody needs"
        ))),
    }
}

fn update(outcome: GroupUpdate) -> Result<(), AdminError> {
    match outcome {
        GroupUpdate::Updated => Ok(()),
        GroupUpdate::NoSuchGroup => Err(unknown()),
        GroupUpdate::NameTaken => Err(taken()),
        GroupUpdate::NoSuchParent => Err(no_such_parent()),
        GroupUpdate::Cycle => Err(AdminError::invalid(
            "parent_id is the group itself or a group below it: move that one elsewhere first",
        )),
        GroupUpdate::TooDeep => Err(too_deep()),
    }
}

fn filter(call: &Call) -> Result<GroupFilter, AdminError> {
    match (call.query::<GroupId>("parent_id")?, call.query::<bool>("topmost")?) {
        (Some(_), Some(true)) => {
            Err(AdminError::invalid("parent_id and topmost cannot both be given: no group is both"))
        }
        (Some(parent), _) => Ok(GroupFilter::Below(parent)),
        (None, Some(true)) => Ok(GroupFilter::Topmost),
        (None, _) => Ok(GroupFilter::All),
    }
}

async fn list(call: Call) -> Answer {
    let (page, filter) = (paging::requested(&call)?, filter(&call)?);
    let found = match call.query::<EntitlementName>("name")? {
        Some(name) => {
            if page.search.is_some() || filter != GroupFilter::All {
                return Err(AdminError::invalid("name cannot be given together with another filter"));
            }
            paging::only(call.app.store.group_by_name(call.id(), &name).await?, &page)
        }
        None => call.app.store.list_groups(call.id(), &filter, &page).await?,
    };
    let pagination = paging::pagination(&page, found.total);
    Ok(ok(&json!({ "groups": views(found), "pagination": pagination })))
}

/// The groups of a page as JSON.
pub(super) fn views(page: Page<Group>) -> Vec<Map<String, Value>> {
    page.items.iter().map(view).collect()
}

/// The group named in the path.
pub(super) async fn load(call: &Call) -> Result<Group, AdminError> {
    let id: GroupId = call.path("group_id")?;
    call.app.store.group(call.id(), &id).await?.ok_or_else(unknown)
}

/// A group as JSON, with its path as it may be in tokens.
async fn with_path(call: &Call, group: &Group) -> Result<Value, AdminError> {
    let (mut names, mut above) = (vec![group.name.clone()], group.parent.clone());
    // Groups that are moved meanwhile could lead in a circle, so no more groups are read than may be nested.
    for _ in 1..MOST_DEPTH {
        let Some(id) = above else { break };
        let Some(parent) = call.app.store.group(call.id(), &id).await? else { break };
        names.push(parent.name);
        above = parent.parent;
    }
    let mut view = view(group);
    view.insert("path".to_owned(), Value::from(path(names.iter().rev()).as_str()));
    Ok(Value::Object(view))
}

async fn show(call: Call) -> Answer {
    let group = load(&call).await?;
    Ok(ok(&json!({ "group": with_path(&call, &group).await? })))
}

pub(super) fn about(
    group: &Group,
    more: impl IntoIterator<Item = (&'static str, Value)>,
) -> Concerns<'static> {
    let mut detail = json!({ "group": group.id, "name": group.name });
    if let Some(members) = detail.as_object_mut() {
        members.extend(more.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    Concerns { detail, ..Concerns::default() }
}

async fn create(call: Call, payload: Payload) -> Answer {
    let group = new(payload.fields().await?, &*call.app.random, call.now())?;
    creation(call.app.store.create_group(call.id(), group.clone()).await?)?;
    let concerns = about(&group, group.parent.iter().map(|id| ("parent_id", json!(id))));
    call.audit(Event::GroupCreated, concerns, ChangedFields::made(&view(&group)));
    Ok(created(&json!({ "group": with_path(&call, &group).await? })))
}

async fn replace(call: Call, payload: Payload) -> Answer {
    let document = payload.object().await?;
    change(&call, |_| document.clone()).await
}

async fn patch(call: Call, payload: Payload) -> Answer {
    let named = payload.object().await?;
    change(&call, |group| {
        let mut document = view(group);
        merge_patch(&mut document, named.clone());
        document
    })
    .await
}

/// Replaces a group's members. If another change was faster, tries once more on its result.
async fn change(call: &Call, document: impl Fn(&Group) -> Map<String, Value> + Send + Sync) -> Answer {
    match changed(call, &document).await? {
        Some(response) => Ok(response),
        None => changed(call, &document).await?.ok_or_else(|| StoreError::Conflict.into()),
    }
}

/// One attempt; `None` if another change was faster.
async fn changed(
    call: &Call,
    document: &(impl Fn(&Group) -> Map<String, Value> + Send + Sync),
) -> Result<Option<Response>, AdminError> {
    let before = load(call).await?;
    let group = record::changed(&before, Fields::new(document(&before)), call.now())?;
    match call.app.store.update_group(call.id(), group.clone(), before.updated_at).await {
        Ok(outcome) => update(outcome)?,
        Err(StoreError::Conflict) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    call.audit(Event::GroupUpdated, about(&group, []), ChangedFields::between(&view(&before), &view(&group)));
    Ok(Some(ok(&json!({ "group": with_path(call, &group).await? }))))
}

async fn remove(call: Call) -> Answer {
    let group = load(&call).await?;
    let members = match call.app.store.delete_group(call.id(), &group.id).await? {
        GroupDeletion::Deleted { members } => members,
        GroupDeletion::NoSuchGroup => return Err(unknown()),
        GroupDeletion::HasChildren => {
            return Err(AdminError::conflict(
                "there are groups below it: delete them first, or give them another parent_id",
            ));
        }
    };
    let concerns = about(&group, [("members", json!(members))]);
    call.audit(Event::GroupDeleted, concerns, ChangedFields::removed(&view(&group)));
    Ok(done())
}
