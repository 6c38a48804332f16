//! Changes that people make to accounts: their own, and what follows for others.

use serde_json::json;
use symbolon_protocol::event::Event;
use symbolon_protocol::id::UserId;
use symbolon_protocol::sign_in::registration::without_claim;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;
use symbolon_store::StoreError;

use symbolon_app::http::{Context, Failure};

/// How often a change is tried that somebody else's overtakes.
const TRIES: usize = 4;

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Made, or there was nothing to change.
    Made,
    /// Another user has the new address.
    Taken,
    /// There is no such user any more.
    Gone,
}

/// Changes a user's record; begins anew if another change is faster.
///
/// # Errors
/// [`Failure`]: the store is out of reach, or others were faster every time.
pub(super) async fn change(
    context: &Context,
    id: &UserId,
    rule: impl Fn(&User) -> User + Send + Sync,
) -> Result<Change, Failure> {
    let Context { app, issuer, .. } = context;
    for _ in 0..TRIES {
        let Some(before) = app.store.user(&issuer.id, id).await? else { return Ok(Change::Gone) };
        let after = rule(&before);
        if after == *before {
            return Ok(Change::Made);
        }
        // Always later than before, even if the clock has not advanced: the store detects lost races by it.
        let next = Timestamp::from_millis(before.updated_at.millis().saturating_add(1));
        let after = User { updated_at: app.now().max(next), ..after };
        match app.store.update_user(&issuer.id, after, before.updated_at).await {
            Ok(true) => return Ok(Change::Made),
            Ok(false) => return Ok(Change::Gone),
            Err(StoreError::Conflict) => {
                let present = app.store.user(&issuer.id, id).await?;
                if present.is_some_and(|present| present.updated_at == before.updated_at) {
                    return Ok(Change::Taken);
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(StoreError::Conflict.into())
}

/// Takes an address from an account that named it and never proved it: its owner was found.
///
/// # Errors
/// As [`change`].
pub(super) async fn give_up_claim(context: &Context, claimant: &User) -> Result<(), Failure> {
    let made =
        change(context, &claimant.id, |user| match user.email_verified || user.email != claimant.email {
            true => user.clone(),
            false => without_claim(user),
        });
    if made.await? == Change::Made {
        let detail = json!({ "changes": { "email": "removed" } });
        context.audit_change(Event::EmailClaimLost, &claimant.id, None, detail);
    }
    Ok(())
}
