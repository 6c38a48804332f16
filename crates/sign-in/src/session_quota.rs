//! The limit of sessions per user that began by signing in: beyond the limit, the oldest end.

use symbolon_protocol::event::Event;
use symbolon_protocol::id::UserId;
use symbolon_store::port::ListedSession;

use crate::session_end::end_session_by_sid;
use symbolon_app::http::{Context, Failure};

/// Ends the oldest sessions of a user beyond the limit, with what is bound to them. Called wherever a session
/// begins, which is one place. A failure does not fail the sign-in: the next one tries again.
pub(super) async fn enforce(context: &Context, user: &UserId) {
    let Some(most) = context.app.rate_limits.sessions_per_user() else { return };
    if let Err(failure) = end_oldest(context, user, most).await {
        tracing::warn!(?failure, "a user has more sessions than are allowed");
    }
}

async fn end_oldest(context: &Context, user: &UserId, most: u32) -> Result<(), Failure> {
    let Context { app, issuer, .. } = context;
    let beyond = app.store.sign_ins_beyond(&issuer.id, user, most, app.now()).await?;
    // All are on their way to the disk before the first is waited for.
    let mut outcomes = Vec::with_capacity(beyond.len());
    for ListedSession { session, .. } in &beyond {
        outcomes.push(end_session_by_sid(app, issuer, session).await?);
    }
    for outcome in outcomes {
        outcome.told().await?;
        context.audit(Event::SessionEnded, Some(user), None);
    }
    Ok(())
}
