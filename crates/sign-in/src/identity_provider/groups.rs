//! The issuer's groups that follow another provider's.

use serde_json::json;
use symbolon_protocol::event::Event;
use symbolon_protocol::group::Membership;
use symbolon_protocol::id::{GroupId, UserId};
use symbolon_protocol::identity_provider::upstream_user::GroupChanges;
use symbolon_store::port::{MemberAddition, MemberRemoval};

use symbolon_app::http::{Context, Failure};

/// Puts a user into groups and takes them out of others, before the session begins. A group that is no more is left out.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn follow(context: &Context, user: &UserId, changes: &GroupChanges) -> Result<(), Failure> {
    let (store, issuer) = (&context.app.store, &context.issuer.id);
    let of = |group: &GroupId| Membership { group: group.clone(), user: user.clone() };
    for group in &changes.join {
        if store.add_member(issuer, of(group)).await? == MemberAddition::Added {
            note(context, Event::MemberAdded, user, group);
        }
    }
    for group in &changes.leave {
        if store.remove_member(issuer, of(group)).await? == MemberRemoval::Removed {
            note(context, Event::MemberRemoved, user, group);
        }
    }
    Ok(())
}

fn note(context: &Context, event: Event, user: &UserId, group: &GroupId) {
    context.audit_change(event, user, None, json!({ "group_id": group, "by": "identity_provider" }));
}
