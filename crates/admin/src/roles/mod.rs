//! Roles, of the issuer or of one client.

mod given;
mod record;

use axum::response::Response;
use http::Method;
use serde_json::{Map, Value, json};
use symbolon_protocol::entitlement::EntitlementName;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{ClientId, RoleId};
use symbolon_protocol::json::merge_patch;
use symbolon_protocol::role::{MOST_ROLES, Role};
use symbolon_store::StoreError;
use symbolon_store::port::{Page, RoleCreation, RoleFilter, RoleUpdate};

use crate::call::{Call, Concerns, Payload, created, done, ok};
use crate::error::{AdminError, Answer};
use crate::fields::Fields;
use crate::groups::SEARCH;
use crate::operation::{Operation, PAGE, Parameter, page_of, wrapped};
use crate::paging;
use symbolon_app::audit::ChangedFields;

pub(super) use given::{given, recorded, taken_away};
pub(super) use record::{new, view};

pub(super) fn operations() -> Vec<Operation> {
    const ONE: &str = "/roles/{role_id}";
    let filters = [
        SEARCH,
        Parameter {
            name: "name",
            kind: "string",
            about: "Exactly this name, whatever its case: of the client of `client_id`, else of the issuer.",
        },
        Parameter { name: "client_id", kind: "string", about: "Only roles of this client." },
        Parameter { name: "of_issuer", kind: "boolean", about: "Where true, only roles of no client." },
    ];
    let role = || wrapped("role", "Role");
    let mut operations = vec![
        Operation::get("/roles", "Lists roles, newest first", list)
            .query(&PAGE)
            .query(&filters)
            .answers(200, page_of("roles", "Role")),
        Operation::taking(
            Method::POST,
            "/roles",
            "NewRole",
            "Creates a role, of the issuer or of a client",
            create,
        )
        .answers(201, role()),
        Operation::get(ONE, "Shows a role", show).answers(200, role()),
        Operation::taking(Method::PUT, ONE, "RoleRecord", "Replaces a role's record", replace)
            .answers(200, role()),
        Operation::taking(Method::PATCH, ONE, "RoleRecord", "Changes the members that are named", patch)
            .answers(200, role()),
        Operation::delete(ONE, "Deletes a role, and takes it from everybody who has it", remove)
            .answers(204, Value::Null),
    ];
    operations.extend(given::operations());
    operations
}

pub(super) fn unknown() -> AdminError {
    AdminError::not_found("there is no such role")
}

fn taken() -> AdminError {
    AdminError::conflict(
        "there is a role of this id, or one of this name at the same client or issuer; names are compared without \
         their case",
    )
}

/// Whether a role was created.
///
/// # Errors
/// 409, 404 or 400: why it was not.
pub(super) fn creation(outcome: RoleCreation) -> Result<(), AdminError> {
    match outcome {
        RoleCreation::Created => Ok(()),
        RoleCreation::Exists => Err(taken()),
        RoleCreation::NoSuchClient => Err(AdminError::not_found("there is no client of the id in client_id")),
        RoleCreation::TooMany => Err(AdminError::invalid(format!(
            "there are {MOST_ROLES} roles already, and an issuer may not have more: delete some that nobody needs"
        ))),
    }
}

fn update(outcome: RoleUpdate) -> Result<(), AdminError> {
    match outcome {
        RoleUpdate::Updated => Ok(()),
        RoleUpdate::NoSuchRole => Err(unknown()),
        RoleUpdate::NameTaken => Err(taken()),
        RoleUpdate::OtherClient => Err(AdminError::internal("a role was about to change its client")),
    }
}

async fn list(call: Call) -> Answer {
    let page = paging::requested(&call)?;
    let (client, of_issuer) = (call.query::<ClientId>("client_id")?, call.query::<bool>("of_issuer")?);
    if client.is_some() && of_issuer == Some(true) {
        return Err(AdminError::invalid("client_id and of_issuer cannot both be given: no role is both"));
    }
    let found = match call.query::<EntitlementName>("name")? {
        Some(_) if page.search.is_some() => {
            return Err(AdminError::invalid("name and search cannot both be given"));
        }
        Some(name) => {
            paging::only(call.app.store.role_by_name(call.id(), client.as_ref(), &name).await?, &page)
        }
        None => {
            let filter = match (client, of_issuer) {
                (Some(client), _) => RoleFilter::OfClient(client),
                (None, Some(true)) => RoleFilter::OfIssuer,
                (None, _) => RoleFilter::All,
            };
            call.app.store.list_roles(call.id(), &filter, &page).await?
        }
    };
    let pagination = paging::pagination(&page, found.total);
    Ok(ok(&json!({ "roles": views(found), "pagination": pagination })))
}

/// The roles of a page as JSON.
fn views(page: Page<Role>) -> Vec<Map<String, Value>> {
    page.items.iter().map(view).collect()
}

/// The role named in the path.
async fn load(call: &Call) -> Result<Role, AdminError> {
    let id: RoleId = call.path("role_id")?;
    call.app.store.role(call.id(), &id).await?.ok_or_else(unknown)
}

async fn show(call: Call) -> Answer {
    let role = load(&call).await?;
    Ok(ok(&json!({ "role": view(&role) })))
}

pub(super) fn about(role: &Role, more: impl IntoIterator<Item = (&'static str, Value)>) -> Concerns<'_> {
    let mut detail = json!({ "role": role.id, "name": role.name });
    if let Some(members) = detail.as_object_mut() {
        members.extend(more.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    Concerns { client: role.client_id.as_ref(), detail, ..Concerns::default() }
}

async fn create(call: Call, payload: Payload) -> Answer {
    let role = new(payload.fields().await?, &*call.app.random, call.now())?;
    creation(call.app.store.create_role(call.id(), role.clone()).await?)?;
    call.audit(Event::RoleCreated, about(&role, []), ChangedFields::made(&view(&role)));
    Ok(created(&json!({ "role": view(&role) })))
}

async fn replace(call: Call, payload: Payload) -> Answer {
    let document = payload.object().await?;
    change(&call, |_| document.clone()).await
}

async fn patch(call: Call, payload: Payload) -> Answer {
    let named = payload.object().await?;
    change(&call, |role| {
        let mut document = view(role);
        merge_patch(&mut document, named.clone());
        document
    })
    .await
}

/// Replaces a role's members. If another change was faster, tries once more on its result.
async fn change(call: &Call, document: impl Fn(&Role) -> Map<String, Value> + Send + Sync) -> Answer {
    match changed(call, &document).await? {
        Some(response) => Ok(response),
        None => changed(call, &document).await?.ok_or_else(|| StoreError::Conflict.into()),
    }
}

/// One attempt; `None` if another change was faster.
async fn changed(
    call: &Call,
    document: &(impl Fn(&Role) -> Map<String, Value> + Send + Sync),
) -> Result<Option<Response>, AdminError> {
    let before = load(call).await?;
    let role = record::changed(&before, Fields::new(document(&before)), call.now())?;
    match call.app.store.update_role(call.id(), role.clone(), before.updated_at).await {
        Ok(outcome) => update(outcome)?,
        Err(StoreError::Conflict) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let changed = ChangedFields::between(&view(&before), &view(&role));
    call.audit(Event::RoleUpdated, about(&role, []), changed);
    Ok(Some(ok(&json!({ "role": view(&role) }))))
}

async fn remove(call: Call) -> Answer {
    let role = load(&call).await?;
    let holders = call.app.store.delete_role(call.id(), &role.id).await?.ok_or_else(unknown)?;
    let counted = [("users", json!(holders.users)), ("groups", json!(holders.groups))];
    call.audit(Event::RoleDeleted, about(&role, counted), ChangedFields::removed(&view(&role)));
    Ok(done())
}
