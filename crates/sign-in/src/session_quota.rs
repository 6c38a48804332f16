//! How many sessions that began by signing in a user may have at once: beyond it the oldest end.

use symbolon_protocol::event::Event;
use symbolon_protocol::id::UserId;
use symbolon_store::Durable;
use symbolon_store::port::ListedSession;

use crate::session_end::end_session_by_sid;
use symbolon_app::http::{Context, Failure};

/// Ends a user's oldest sessions beyond the number that is allowed, each with what is bound to it. It is called after
/// each sign-in, and failing at it is no reason to refuse that one: the next sign-in tries again.
pub(super) async fn keep(context: &Context, user: &UserId) {
    let Some(most) = context.app.rate_limits.sessions_per_user() else { return };
    if let Err(failure) = end_oldest(context, user, most).await {
        tracing::warn!(?failure, "a user has more sessions than are allowed");
    }
}

async fn end_oldest(context: &Context, user: &UserId, most: u32) -> Result<(), Failure> {
    let Context { app, issuer, .. } = context;
    let beyond = app.store.sign_ins_beyond(&issuer.id, user, most, app.now()).await?;
    let mut durable = Durable::already();
    for ListedSession { session, .. } in &beyond {
        end_session_by_sid(app, issuer, session, &mut durable).await?;
    }
    durable.wait().await?;
    for _ in &beyond {
        context.audit(Event::SessionEnded, Some(user), None);
    }
    Ok(())
}
