//! Bulk creation and export of groups and of memberships.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};
use symbolon_protocol::event::Event;
use symbolon_protocol::group::{Group, MOST_DEPTH, Membership};
use symbolon_protocol::id::GroupId;
use symbolon_store::StoreError;
use symbolon_store::port::{GroupCreation, MemberAddition, MemberRemoval};

use super::super::call::{Call, Concerns, Payload};
use super::super::error::{AdminError, Answer};
use super::super::groups;
use super::export::{AT_ONCE, Sender, send, streamed};
use super::lines::Line;
use super::records::{dry_pace, is_dry, pace, unordered_pace};
use super::stream::{self, Batch, Done};
use super::wrapped;
use symbolon_app::audit::ChangedFields;

/// `POST /groups/bulk`. A line may name a group of a line before it as its parent.
pub(super) async fn create(call: Call, payload: Payload) -> Answer {
    let shared = Arc::new(call.clone());
    if is_dry(&call)? {
        let pace = dry_pace(Event::GroupCreated);
        return stream::answer(call, payload, pace, move |chunk| check_groups(Arc::clone(&shared), chunk));
    }
    stream::answer(call, payload, pace(Event::GroupCreated), move |chunk| {
        create_groups(Arc::clone(&shared), chunk)
    })
}

async fn create_groups(call: Arc<Call>, chunk: Vec<Line>) -> Vec<Done> {
    let mut batch = Batch::new();
    for line in chunk {
        let fields = stream::fields(line);
        batch.push(fields.and_then(|fields| groups::new(fields, &*call.app.random, call.now())));
    }
    let new: Vec<Group> = batch.take();
    let (views, groups): (Vec<_>, _) = (new.iter().map(groups::view).collect(), new.clone());
    let created = call.app.store.create_groups(call.id(), new).await.map_err(AdminError::from);
    for ((group, view), created) in groups.iter().zip(&views).zip(created.iter().flatten()) {
        if *created == GroupCreation::Created {
            call.audit(Event::GroupCreated, groups::about(group, []), ChangedFields::made(view));
        }
    }
    batch.settle(created.map(|created| {
        let settled = |(view, created)| groups::creation(created).map(|()| wrapped("group", view));
        views.into_iter().zip(created).map(settled)
    }))
}

async fn check_groups(call: Arc<Call>, chunk: Vec<Line>) -> Vec<Done> {
    let mut done = Vec::with_capacity(chunk.len());
    for line in chunk {
        done.push(check_group(&call, line).await);
    }
    done
}

/// What would become of a line. Whether the group above it is there is not looked at: an earlier line may create it.
async fn check_group(call: &Call, line: Line) -> Done {
    let group = groups::new(stream::fields(line)?, &*call.app.random, call.now())?;
    let (store, issuer) = (&call.app.store, call.id());
    let is_taken = store.group(issuer, &group.id).await?.is_some()
        || store.group_by_name(issuer, &group.name).await?.is_some();
    groups::creation(if is_taken { GroupCreation::Exists } else { GroupCreation::Created })?;
    Ok(wrapped("group", groups::view(&group)))
}

/// `POST /memberships/bulk`: puts users into groups.
pub(super) async fn add(call: Call, payload: Payload) -> Answer {
    let shared = Arc::new(call.clone());
    stream::answer(call, payload, unordered_pace(Event::MemberAdded), move |chunk| {
        add_members(Arc::clone(&shared), chunk)
    })
}

async fn add_members(call: Arc<Call>, chunk: Vec<Line>) -> Vec<Done> {
    let (memberships, batch) = read(chunk);
    let added = call.app.store.add_members(call.id(), memberships.clone()).await.map_err(AdminError::from);
    for (membership, outcome) in memberships.iter().zip(added.iter().flatten()) {
        if *outcome == MemberAddition::Added {
            let made = ChangedFields::made(&groups::recorded(membership));
            call.audit(Event::MemberAdded, about(membership), made);
        }
    }
    batch.settle(added.map(|added| {
        let line = |(membership, outcome): (Membership, _)| {
            groups::added(outcome).map(|changed| told(&membership, changed))
        };
        memberships.into_iter().zip(added).map(line)
    }))
}

/// `POST /memberships/bulk-removal`: takes users out of groups.
pub(super) async fn remove(call: Call, payload: Payload) -> Answer {
    let shared = Arc::new(call.clone());
    stream::answer(call, payload, unordered_pace(Event::MemberRemoved), move |chunk| {
        remove_members(Arc::clone(&shared), chunk)
    })
}

async fn remove_members(call: Arc<Call>, chunk: Vec<Line>) -> Vec<Done> {
    let (memberships, batch) = read(chunk);
    let removed =
        call.app.store.remove_members(call.id(), memberships.clone()).await.map_err(AdminError::from);
    for (membership, outcome) in memberships.iter().zip(removed.iter().flatten()) {
        if *outcome == MemberRemoval::Removed {
            let gone = ChangedFields::removed(&groups::recorded(membership));
            call.audit(Event::MemberRemoved, about(membership), gone);
        }
    }
    batch.settle(removed.map(|removed| {
        let line = |(membership, outcome): (Membership, _)| Ok(told(&membership, groups::removed(outcome)));
        memberships.into_iter().zip(removed).map(line)
    }))
}

fn read(chunk: Vec<Line>) -> (Vec<Membership>, Batch<Membership>) {
    let mut batch = Batch::new();
    for line in chunk {
        batch.push(membership(line));
    }
    (batch.take(), batch)
}

fn membership(line: Line) -> Result<Membership, AdminError> {
    let mut fields = stream::fields(line)?;
    let membership = Membership { group: fields.require("group_id")?, user: fields.require("user_id")? };
    fields.finish()?;
    Ok(membership)
}

fn about(membership: &Membership) -> Concerns<'_> {
    let detail = json!({ "group": membership.group });
    Concerns { user: Some(&membership.user), detail, ..Concerns::default() }
}

/// The answer to a line. A line that changes nothing is no error, so that lines may be sent again.
fn told(membership: &Membership, changed: bool) -> Value {
    json!({ "group_id": membership.group, "user_id": membership.user, "changed": changed })
}

/// `GET /groups/export`. Each group comes after the one above it, so that `/groups/bulk` takes the lines as they are.
pub(super) async fn export(call: Call) -> Answer {
    streamed(call, send_groups)
}

/// Reads all groups again and again, and sends each in the first round in which the group above it is already sent.
/// After so many rounds as groups may be deep, all are sent: whatever is moved meanwhile, none is left out.
async fn send_groups(call: Call, sender: Sender) -> Result<(), StoreError> {
    let mut sent = HashSet::new();
    for round in 1..=MOST_DEPTH {
        let (mut waiting, mut after) = (0, None);
        loop {
            let groups = call.app.store.next_groups(call.id(), after.as_ref(), AT_ONCE).await?;
            let (count, last) = (groups.len(), groups.last().map(|group| group.id.clone()));
            let ready = next_to_send(groups, &mut sent, round == MOST_DEPTH, &mut waiting);
            let lines = ready.iter().map(|group| Value::Object(groups::view(group))).collect();
            if !send(&sender, lines).await {
                return Ok(());
            }
            if count < AT_ONCE as usize {
                break;
            }
            after = last;
        }
        if waiting == 0 {
            break;
        }
    }
    Ok(())
}

/// Those of the groups that are not sent yet and may be sent now; `waiting` counts those that may not.
fn next_to_send(
    groups: Vec<Group>,
    sent: &mut HashSet<GroupId>,
    is_last_round: bool,
    waiting: &mut u64,
) -> Vec<Group> {
    let mut ready = Vec::new();
    for group in groups {
        if sent.contains(&group.id) {
            continue;
        }
        if is_last_round || group.parent.as_ref().is_none_or(|parent| sent.contains(parent)) {
            sent.insert(group.id.clone());
            ready.push(group);
        } else {
            *waiting += 1;
        }
    }
    ready
}

/// `GET /memberships/export`.
pub(super) async fn export_memberships(call: Call) -> Answer {
    streamed(call, send_memberships)
}

async fn send_memberships(call: Call, sender: Sender) -> Result<(), StoreError> {
    let mut after = None::<Membership>;
    loop {
        let memberships = call.app.store.next_memberships(call.id(), after.as_ref(), AT_ONCE).await?;
        let lines = memberships.iter().map(groups::recorded).collect();
        if !send(&sender, lines).await || memberships.len() < AT_ONCE as usize {
            return Ok(());
        }
        after = memberships.into_iter().next_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use symbolon_protocol::entitlement::EntitlementName;
    use symbolon_protocol::time::Timestamp;

    fn group(id: &str, parent: Option<&str>) -> Group {
        let at = Timestamp::from_millis(1);
        let name = EntitlementName::parse(id).unwrap();
        let (id, parent) = (GroupId::trusted(id), parent.map(GroupId::trusted));
        Group { id, name, description: None, parent, created_at: at, updated_at: at }
    }

    fn line(text: &str) -> Line {
        Line { number: 1, bytes: Some(text.as_bytes().to_vec()) }
    }

    #[test]
    fn a_group_is_sent_after_the_one_above_it_and_once() {
        let all = vec![group("a", Some("b")), group("b", Some("c")), group("c", None), group("d", Some("c"))];
        let (mut sent, mut order) = (HashSet::new(), Vec::new());
        for (round, left) in [(1, 2), (2, 1), (3, 0), (4, 0)] {
            let mut waiting = 0;
            let ready = next_to_send(all.clone(), &mut sent, false, &mut waiting);
            order.extend(ready.into_iter().map(|group| group.id.to_string()));
            assert_eq!(waiting, left, "round {round}");
        }
        assert_eq!(order, ["c", "d", "b", "a"]);
    }

    #[test]
    fn the_last_round_leaves_nothing_out() {
        let (mut sent, mut waiting) = (HashSet::new(), 0);
        let orphan = vec![group("a", Some("gone"))];
        assert!(next_to_send(orphan.clone(), &mut sent, false, &mut waiting).is_empty());
        assert_eq!((waiting, next_to_send(orphan, &mut sent, true, &mut waiting).len()), (1, 1));
    }

    #[test]
    fn a_line_names_group_and_user_and_nothing_else() {
        let read = membership(line(r#"{"group_id":"staff","user_id":"ann"}"#)).unwrap();
        assert_eq!(groups::recorded(&read), json!({ "group_id": "staff", "user_id": "ann" }));
        for (bad, named) in [
            (r#"{"group_id":"staff"}"#, "user_id"),
            (r#"{"user_id":"ann"}"#, "group_id"),
            (r#"{"group_id":"staff","user_id":"ann","until":5}"#, "until"),
        ] {
            let error = membership(line(bad)).err().map(|error| error.told().1.into_owned());
            assert!(error.as_deref().is_some_and(|why| why.contains(named)), "{bad}: {error:?}");
        }
    }
}
