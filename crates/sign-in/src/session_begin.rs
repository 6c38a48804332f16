//! Beginning a session in a browser, in place of the one that it has.

use symbolon_protocol::event::Event;
use symbolon_protocol::id::Sid;
use symbolon_protocol::revocation::{SessionEnd, Tombstone};
use symbolon_protocol::session::{Amr, Session, SessionId};
use symbolon_protocol::user::User;
use symbolon_store::Durable;
use symbolon_store::shard::{ShardKind, sid_of};

use crate::interaction::session_of;
use crate::session_end::{end_session, longest_of};
use crate::session_quota;
use symbolon_app::http::{Call, Context, Failure};

/// Begins a session for somebody who has just proven who they are, and ends or takes over the one that the browser had.
/// `None` if the user was deactivated or deleted meanwhile. On return it is durable, with all that the request did before.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn begin(
    call: &mut Call,
    user: &User,
    amr: Amr,
) -> Result<Option<(SessionId, Session)>, Failure> {
    let Call { context, received, durable, .. } = &mut *call;
    let Context { app, issuer, .. } = &*context;
    // Always a new id (session fixation): an id that the browser brought may be known to somebody else.
    let id = app.store.place(ShardKind::Session).draw::<16>(ShardKind::Session, &*app.random);
    let id = SessionId::new(id);
    let mut session = new_session(context, user, &id, amr);
    let old = session_of(context, received, durable).await?;
    let dropped = match &old {
        Some((_, old)) if old.user == user.id => session.succeed(old),
        _ => None,
    };
    app.store.open_session(&issuer.id, &id, session.clone()).await?.take(durable);
    // Checked after the session is stored. Whoever deactivates the user now either finds the session and ends it, or did
    // so before, and this check sees that.
    if !app.store.user(&issuer.id, &user.id).await?.is_some_and(|user| user.may_sign_in()) {
        end_session(app, issuer, &id, &session, durable).await?;
        return Ok(None);
    }
    if let Some((id, old)) = old {
        replace(context, user, (&id, &old), dropped, durable).await?;
    }
    call.settle().await?;
    call.context.audit(Event::SignedIn, Some(&user.id), None);
    session_quota::enforce(&call.context, &user.id).await;
    Ok(Some((id, session)))
}

/// The session that a sign-in begins now.
pub(super) fn new_session(context: &Context, user: &User, id: &SessionId, amr: Amr) -> Session {
    let Context { app, issuer, .. } = context;
    let now = app.now();
    Session {
        user: user.id.clone(),
        sid: sid_of(&issuer.id, id),
        auth_time: now,
        created_at: now,
        expires_at: now + issuer.settings.load().lifetimes.session,
        amr,
        clients: Box::default(),
        predecessors: Default::default(),
    }
}

/// Ends the browser's previous session. A session of another user ends with its grants. One of the same user only
/// hands its `sid` over to the new session, so that clients where the user is signed in stay valid until the new
/// session ends. `dropped`: an older `sid` for which the new session has no room.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn replace(
    context: &Context,
    user: &User,
    (id, old): (&SessionId, &Session),
    dropped: Option<Sid>,
    durable: &mut Durable,
) -> Result<(), Failure> {
    let Context { app, issuer, .. } = context;
    if old.user != user.id {
        end_session(app, issuer, id, old, durable).await?;
        context.audit(Event::SessionEnded, Some(&old.user), None);
        return Ok(());
    }
    let dropped = match dropped {
        Some(sid) => {
            let longest = longest_of(app, issuer, old).await?;
            Some(Tombstone::session(&issuer.id, sid, &old.user, app.now(), longest))
        }
        None => None,
    };
    app.store.end_session(&issuer.id, id, &SessionEnd::Succeeded { dropped }).await?.take(durable);
    Ok(())
}
