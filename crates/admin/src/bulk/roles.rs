//! Bulk creation and export of roles and of given roles.

use std::sync::Arc;

use serde_json::{Value, json};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{GroupId, RoleId, UserId};
use symbolon_protocol::role::{GivenRole, Role, RoleHolder};
use symbolon_store::StoreError;
use symbolon_store::port::{RoleCreation, RoleGrant, RoleRemoval};

use super::super::call::{Call, Concerns, Payload};
use super::super::error::{AdminError, Answer};
use super::super::roles;
use super::export::{AT_ONCE, Sender, send, streamed};
use super::lines::Line;
use super::records::{dry_pace, is_dry, pace, unordered_pace};
use super::stream::{self, Batch, Done};
use super::wrapped;
use symbolon_app::audit::ChangedFields;

/// `POST /roles/bulk`.
pub(super) async fn create(call: Call, payload: Payload) -> Answer {
    let shared = Arc::new(call.clone());
    if is_dry(&call)? {
        let pace = dry_pace(Event::RoleCreated);
        return stream::answer(call, payload, pace, move |chunk| check_roles(Arc::clone(&shared), chunk));
    }
    stream::answer(call, payload, pace(Event::RoleCreated), move |chunk| {
        create_roles(Arc::clone(&shared), chunk)
    })
}

async fn create_roles(call: Arc<Call>, chunk: Vec<Line>) -> Vec<Done> {
    let mut batch = Batch::new();
    for line in chunk {
        let fields = stream::fields(line);
        batch.push(fields.and_then(|fields| roles::new(fields, &*call.app.random, call.now())));
    }
    let new: Vec<Role> = batch.take();
    let (views, roles): (Vec<_>, _) = (new.iter().map(roles::view).collect(), new.clone());
    let created = call.app.store.create_roles(call.id(), new).await.map_err(AdminError::from);
    for ((role, view), created) in roles.iter().zip(&views).zip(created.iter().flatten()) {
        if *created == RoleCreation::Created {
            call.audit(Event::RoleCreated, roles::about(role, []), ChangedFields::made(view));
        }
    }
    batch.settle(created.map(|created| {
        let settled = |(view, created)| roles::creation(created).map(|()| wrapped("role", view));
        views.into_iter().zip(created).map(settled)
    }))
}

async fn check_roles(call: Arc<Call>, chunk: Vec<Line>) -> Vec<Done> {
    let mut done = Vec::with_capacity(chunk.len());
    for line in chunk {
        done.push(check_role(&call, line).await);
    }
    done
}

/// What would become of a line. Whether its client is there is not looked at: the client may be created first.
async fn check_role(call: &Call, line: Line) -> Done {
    let role = roles::new(stream::fields(line)?, &*call.app.random, call.now())?;
    let (store, issuer) = (&call.app.store, call.id());
    let is_taken = store.role(issuer, &role.id).await?.is_some()
        || store.role_by_name(issuer, role.client_id.as_ref(), &role.name).await?.is_some();
    roles::creation(if is_taken { RoleCreation::Exists } else { RoleCreation::Created })?;
    Ok(wrapped("role", roles::view(&role)))
}

/// `POST /given-roles/bulk`: gives roles to users and groups.
pub(super) async fn give(call: Call, payload: Payload) -> Answer {
    let shared = Arc::new(call.clone());
    stream::answer(call, payload, unordered_pace(Event::RoleGiven), move |chunk| {
        give_roles(Arc::clone(&shared), chunk)
    })
}

async fn give_roles(call: Arc<Call>, chunk: Vec<Line>) -> Vec<Done> {
    let (given, batch) = read(chunk);
    let granted = call.app.store.give_roles(call.id(), given.clone()).await.map_err(AdminError::from);
    for (given, outcome) in given.iter().zip(granted.iter().flatten()) {
        if *outcome == RoleGrant::Given {
            call.audit(Event::RoleGiven, about(given), ChangedFields::made(&roles::recorded(given)));
        }
    }
    batch.settle(granted.map(|granted| {
        let line = |(given, outcome): (GivenRole, _)| {
            roles::given(outcome).map(|changed| told(&given, Some(changed)))
        };
        given.into_iter().zip(granted).map(line)
    }))
}

/// `POST /given-roles/bulk-removal`: takes roles from users and groups.
pub(super) async fn take(call: Call, payload: Payload) -> Answer {
    let shared = Arc::new(call.clone());
    stream::answer(call, payload, unordered_pace(Event::RoleTaken), move |chunk| {
        take_roles(Arc::clone(&shared), chunk)
    })
}

async fn take_roles(call: Arc<Call>, chunk: Vec<Line>) -> Vec<Done> {
    let (given, batch) = read(chunk);
    let taken = call.app.store.take_roles(call.id(), given.clone()).await.map_err(AdminError::from);
    for (given, outcome) in given.iter().zip(taken.iter().flatten()) {
        if *outcome == RoleRemoval::Taken {
            call.audit(Event::RoleTaken, about(given), ChangedFields::removed(&roles::recorded(given)));
        }
    }
    batch.settle(taken.map(|taken| {
        let line = |(given, outcome): (GivenRole, _)| Ok(told(&given, Some(roles::taken_away(outcome))));
        given.into_iter().zip(taken).map(line)
    }))
}

fn about(given: &GivenRole) -> Concerns<'_> {
    let (user, group) = match &given.holder {
        RoleHolder::User(user) => (Some(user), None),
        RoleHolder::Group(group) => (None, Some(group)),
    };
    let detail = match group {
        Some(group) => json!({ "role": given.role, "group": group }),
        None => json!({ "role": given.role }),
    };
    Concerns { user, detail, ..Concerns::default() }
}

fn read(chunk: Vec<Line>) -> (Vec<GivenRole>, Batch<GivenRole>) {
    let mut batch = Batch::new();
    for line in chunk {
        batch.push(given_role(line));
    }
    (batch.take(), batch)
}

fn given_role(line: Line) -> Result<GivenRole, AdminError> {
    let mut fields = stream::fields(line)?;
    let role = fields.require("role_id")?;
    let holder = match (fields.take::<UserId>("user_id")?, fields.take::<GroupId>("group_id")?) {
        (Some(user), None) => RoleHolder::User(user),
        (None, Some(group)) => RoleHolder::Group(group),
        _ => return Err(AdminError::invalid("one of user_id and group_id is required")),
    };
    fields.finish()?;
    Ok(GivenRole { role, holder })
}

/// A given role as JSON; `changed` only in the answer to a line. A line that changes nothing is no error, so that lines
/// may be sent again.
fn told(given: &GivenRole, changed: Option<bool>) -> Value {
    let (holder, id) = match &given.holder {
        RoleHolder::User(user) => ("user_id", user.as_str()),
        RoleHolder::Group(group) => ("group_id", group.as_str()),
    };
    match changed {
        Some(changed) => json!({ "role_id": given.role, holder: id, "changed": changed }),
        None => json!({ "role_id": given.role, holder: id }),
    }
}

/// `GET /roles/export`.
pub(super) async fn export(call: Call) -> Answer {
    streamed(call, send_roles)
}

async fn send_roles(call: Call, sender: Sender) -> Result<(), StoreError> {
    let mut after = None::<RoleId>;
    loop {
        let found = call.app.store.next_roles(call.id(), after.as_ref(), AT_ONCE).await?;
        let lines = found.iter().map(|role| Value::Object(roles::view(role))).collect();
        if !send(&sender, lines).await || found.len() < AT_ONCE as usize {
            return Ok(());
        }
        after = found.into_iter().next_back().map(|role| role.id);
    }
}

/// `GET /given-roles/export`.
pub(super) async fn export_given(call: Call) -> Answer {
    streamed(call, send_given)
}

async fn send_given(call: Call, sender: Sender) -> Result<(), StoreError> {
    let mut after = None::<GivenRole>;
    loop {
        let given = call.app.store.next_given_roles(call.id(), after.as_ref(), AT_ONCE).await?;
        let lines = given.iter().map(|given| told(given, None)).collect();
        if !send(&sender, lines).await || given.len() < AT_ONCE as usize {
            return Ok(());
        }
        after = given.into_iter().next_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<GivenRole, String> {
        let line = Line { number: 1, bytes: Some(text.as_bytes().to_vec()) };
        given_role(line).map_err(|error| error.told().1.into_owned())
    }

    #[test]
    fn a_line_names_a_role_and_one_holder() {
        for line in [r#"{"role_id":"ops","user_id":"ann"}"#, r#"{"role_id":"ops","group_id":"staff"}"#] {
            let given = read(line).unwrap();
            assert_eq!(told(&given, None), serde_json::from_str::<Value>(line).unwrap());
            assert_eq!(told(&given, Some(true))["changed"], true);
        }
        for (bad, named) in [
            (r#"{"role_id":"ops"}"#, "one of user_id and group_id"),
            (r#"{"role_id":"ops","user_id":"ann","group_id":"staff"}"#, "one of user_id and group_id"),
            (r#"{"user_id":"ann"}"#, "role_id is required"),
            (r#"{"role_id":"ops","user_id":"ann","until":5}"#, "until"),
        ] {
            let why = read(bad).unwrap_err();
            assert!(why.contains(named), "{bad}: {why}");
        }
    }
}
