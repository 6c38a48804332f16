//! Ending sessions together with the grants bound to them.

use std::time::Duration;

use symbolon_protocol::id::UserId;
use symbolon_protocol::revocation::{self, SessionEnd, Tombstone};
use symbolon_protocol::session::{Session, SessionId};
use symbolon_store::Durable;

use symbolon_app::app::App;
use symbolon_app::http::Failure;
use symbolon_app::issuer::{IssuerState, longest_life};

/// Ends a session and every grant that is bound to it.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn end_session(
    app: &App,
    issuer: &IssuerState,
    id: &SessionId,
    session: &Session,
    durable: &mut Durable,
) -> Result<(), Failure> {
    let end = SessionEnd::WithTokens { now: app.now(), longest: longest_of(app, issuer, session).await? };
    if app.store.end_session(&issuer.id, id, &end).await?.take(durable).is_none() {
        // Another request was faster, and may have stored another session under this id. The grants of this one are
        // revoked all the same.
        let tombstones = end.tombstones(&issuer.id, session);
        app.store.revoke(&issuer.id, &tombstones).await?.take(durable);
    }
    Ok(())
}

/// Like [`end_session`], for a caller that has the session without its id.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn end_session_by_sid(
    app: &App,
    issuer: &IssuerState,
    session: &Session,
    durable: &mut Durable,
) -> Result<(), Failure> {
    let end = SessionEnd::WithTokens { now: app.now(), longest: longest_of(app, issuer, session).await? };
    app.store.end_session_by_sid(&issuer.id, session.sid.as_str(), &end).await?.take(durable);
    Ok(())
}

/// The longest lifetime of anything bound to a session: its clients may have longer lifetimes than their issuer.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn longest_of(
    app: &App,
    issuer: &IssuerState,
    session: &Session,
) -> Result<Duration, Failure> {
    let mut overrides = Vec::with_capacity(session.clients.len());
    for client in &session.clients {
        if let Some(client) = app.store.client(&issuer.id, client).await? {
            overrides.push(client);
        }
    }
    let settings = issuer.settings.load_full();
    Ok(revocation::longest_life(&settings, overrides.iter().map(|client| &client.settings)))
}

/// Ends all tokens and sessions of a user, those of offline grants included. Durable on return; returns the number of
/// sessions.
///
/// # Errors
/// [`Failure`]: the store is out of reach. Some tokens may still be valid.
pub(super) async fn end_everything(app: &App, issuer: &IssuerState, user: &UserId) -> Result<u64, Failure> {
    let settings = issuer.settings.load_full();
    let longest = longest_life(&*app.store, &issuer.id, &settings).await?;
    let tombstone = |now| [Tombstone::user(&issuer.id, user.clone(), now, longest)];
    app.store.revoke(&issuer.id, &tombstone(app.now())).await?.durable.wait().await?;
    let mut durable = Durable::already();
    let end = SessionEnd::WithTokens { now: app.now(), longest };
    let ended = app.store.end_sessions_of(&issuer.id, user, &end).await?.take(&mut durable);
    durable.wait().await?;
    // Again, for tokens that a session issued between the two steps.
    app.store.revoke(&issuer.id, &tombstone(app.now())).await?.durable.wait().await?;
    Ok(ended)
}
