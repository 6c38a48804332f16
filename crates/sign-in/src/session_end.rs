//! Ending sessions together with the grants bound to them.

use symbolon_protocol::revocation::SessionEnd;
use symbolon_protocol::session::{Session, SessionId};
use symbolon_store::{Durable, Outcome};

use symbolon_app::app::App;
use symbolon_app::http::Failure;
use symbolon_app::issuer::IssuerState;
use symbolon_app::session_end::Ending;

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
    let end = SessionEnd::WithTokens { now: app.now(), longest: app.longest_of(issuer, session).await? };
    let ending = Ending { session, id: Some(id), end: &end };
    if app.end_session(issuer, ending).await?.take(durable).is_none() {
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
) -> Result<Outcome<()>, Failure> {
    let end = SessionEnd::WithTokens { now: app.now(), longest: app.longest_of(issuer, session).await? };
    let ended = app.end_session(issuer, Ending { session, id: None, end: &end }).await?;
    Ok(ended.map(|_| ()))
}
