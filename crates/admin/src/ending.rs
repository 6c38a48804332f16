//! Ends users' access, sessions, consents and clients, with their tokens and families, and says what is left alive.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use symbolon_protocol::event::Event;
use symbolon_protocol::id::{ClientId, Sid, UserId};
use symbolon_protocol::revocation::{SessionEnd, Tombstone};
use symbolon_protocol::session::Session;
use symbolon_store::port::PageRequest;

use crate::call::{Call, Concerns};
use crate::error::AdminError;
use symbolon_app::audit::ChangedFields;
use symbolon_app::grants;
use symbolon_app::issuer::longest_life;
use symbolon_app::session_end::Ending;

/// The longest lifetime of anything of a user, session or client: how long a tombstone must be kept.
///
/// # Errors
/// [`AdminError`]: the store failed.
pub(super) async fn longest(call: &Call) -> Result<Duration, AdminError> {
    let settings = call.issuer.settings.load_full();
    Ok(longest_life(&*call.app.store, call.id(), &settings).await?)
}

/// Ends all tokens and sessions of a user. Durable on return; returns the number of sessions.
///
/// # Errors
/// [`AdminError`]: the store failed. Some tokens may still be valid, so the caller must report a failure.
pub(super) async fn user(call: &Call, user: &UserId) -> Result<u64, AdminError> {
    let ended = grants::end_all_of_user(&call.app, &call.issuer, user).await?;
    audit_sessions(call, user, ended);
    Ok(ended)
}

/// Signs a user out everywhere: ends all sessions and tokens, those of offline grants included. Durable on return.
/// Consents are kept, so the user is not asked for them again.
///
/// # Errors
/// As [`user`].
pub(super) async fn signed_in(call: &Call, id: &UserId) -> Result<(), AdminError> {
    let before = grants::live_families(&call.app, &call.issuer, id).await?;
    let sessions = user(call, id).await?;
    let families: u64 = before.values().map(|grant| grant.families).sum();
    let detail = json!({
        "signed_out": true, "sessions": sessions, "grants": before.len(), "refresh_tokens": families,
    });
    let changed = ChangedFields::between(
        &json!({ "sessions": sessions, "grants": before.len(), "refresh_tokens": families }),
        &json!({ "sessions": 0, "grants": 0, "refresh_tokens": 0 }),
    );
    call.audit(Event::GrantEnded, Concerns { user: Some(id), detail, ..Concerns::default() }, changed);
    Ok(())
}

/// Ends all tokens issued to a client. Durable on return.
///
/// # Errors
/// As [`user`].
pub(super) async fn tokens_of_client(call: &Call, client: &ClientId) -> Result<(), AdminError> {
    let tombstone = Tombstone::client(call.id(), client.clone(), call.now(), longest(call).await?);
    write(call, tombstone).await
}

/// Withdraws a consent and ends the grants based on it. Durable on return; true if there was a consent.
///
/// # Errors
/// As [`user`].
pub(super) async fn consent(call: &Call, user: &UserId, client: &ClientId) -> Result<bool, AdminError> {
    let grants::EndedGrant { consent, families } = grants::end(&call.app, &call.issuer, user, client).await?;
    let withdrawn = consent.is_some();
    let detail = json!({ "consent": withdrawn, "refresh_tokens": families });
    let changed = ChangedFields::between(
        &json!({ "consent": consent, "refresh_tokens": families }),
        &json!({ "consent": null, "refresh_tokens": 0 }),
    );
    call.audit(Event::GrantEnded, Concerns { user: Some(user), client: Some(client), detail }, changed);
    Ok(withdrawn)
}

async fn write(call: &Call, tombstone: Tombstone) -> Result<(), AdminError> {
    call.app.store.revoke(call.id(), &[tombstone]).await?.told().await?;
    Ok(())
}

/// Ends all sessions of a user and the tokens bound to them. Durable on return; returns the number of sessions.
/// Sessions that begin meanwhile may stay, and so do grants with `offline_access`. No browser is remembered any more.
///
/// # Errors
/// [`AdminError`]: the store failed.
pub(super) async fn sessions_of_user(call: &Call, user: &UserId) -> Result<u64, AdminError> {
    grants::forget_browsers(&call.app, &call.issuer, user).await?;
    let end = with_tokens(call).await?;
    let ended = call.app.end_sessions_of(&call.issuer, user, &end).await?;
    // Also where there were none: remembered browsers have ended.
    let detail = json!({ "sessions": ended, "remembered_browsers": "ended" });
    let changed = ChangedFields::between(&json!({ "sessions": ended }), &json!({ "sessions": 0 }));
    call.audit(Event::SessionEnded, Concerns { user: Some(user), detail, ..Concerns::default() }, changed);
    Ok(ended)
}

/// Notes that sessions of a user were ended, if any were.
fn audit_sessions(call: &Call, user: &UserId, ended: u64) {
    if ended > 0 {
        let detail = json!({ "sessions": ended });
        let changed = ChangedFields::between(&detail, &json!({ "sessions": 0 }));
        let concerns = Concerns { user: Some(user), detail, ..Concerns::default() };
        call.audit(Event::SessionEnded, concerns, changed);
    }
}

/// Ends one session, found by its `sid`, and the tokens bound to it. Durable on return; returns the session if it was
/// alive. No browser of its user is remembered any more: which of them had the session is not known.
///
/// # Errors
/// [`AdminError`]: the store failed.
pub(super) async fn session(call: &Call, sid: &Sid) -> Result<Option<Arc<Session>>, AdminError> {
    let end = with_tokens(call).await?;
    let found = call.app.store.session_by_sid(call.id(), sid.as_str(), call.now()).await?.told().await?;
    let Some(found) = found else { return Ok(None) };
    grants::forget_browsers(&call.app, &call.issuer, &found.session.user).await?;
    let ending = Ending { session: &found.session, id: None, end: &end };
    let ended = call.app.end_session(&call.issuer, ending).await?.told().await?;
    if let Some(session) = &ended {
        let detail = json!({ "remembered_browsers": "ended" });
        let concerns = Concerns { user: Some(&session.user), detail, ..Concerns::default() };
        call.audit(Event::SessionEnded, concerns, ChangedFields::removed(&**session));
    }
    Ok(ended)
}

async fn with_tokens(call: &Call) -> Result<SessionEnd, AdminError> {
    let longest = longest(call).await?;
    Ok(SessionEnd::WithTokens { now: call.now(), longest })
}

/// What still works for a user after a change: the numbers of live sessions, and of clients with refresh tokens.
///
/// # Errors
/// [`AdminError`]: the store failed.
pub(super) async fn left_alive(call: &Call, user: &UserId) -> Result<Value, AdminError> {
    let page = PageRequest { page: 1, limit: 1, search: None };
    let sessions = call.app.store.list_sessions(call.id(), user, &page, call.now()).await?.total;
    let grants = grants::live_families(&call.app, &call.issuer, user).await?.len();
    Ok(json!({ "sessions": sessions, "grants": grants }))
}
