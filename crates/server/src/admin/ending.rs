//! Ending users, sessions and clients: the tombstones that end their tokens and families.

use std::sync::Arc;
use std::time::Duration;

use symbolon_protocol::event::Event;
use symbolon_protocol::id::{ClientId, Sid, UserId};
use symbolon_protocol::revocation::{Tombstone, longest_life};
use symbolon_protocol::session::Session;
use symbolon_store::Durable;
use symbolon_store::port::PageRequest;

use super::call::{Call, Concerns};
use super::error::AdminError;

/// Tokens that something else signed with our key live this long at most, as far as anybody can say: those of load
/// tests do.
const AT_LEAST: Duration = Duration::from_secs(31 * 86_400);

/// How long anything of a user, session or client may live: what a tombstone is needed for. Clients may set longer
/// lifetimes than their issuer, so all of them are asked.
///
/// # Errors
/// The store's.
pub(super) async fn longest(call: &Call) -> Result<Duration, AdminError> {
    let settings = call.issuer.settings.load_full();
    let mut longest = AT_LEAST;
    let mut page = PageRequest { page: 1, limit: 1000, search: None };
    loop {
        let clients = call.app.store.list_clients(call.id(), &page).await?.items;
        longest = longest.max(longest_life(&settings, clients.iter().map(|client| &client.settings)));
        if clients.len() < 1000 {
            return Ok(longest);
        }
        page.page += 1;
    }
}

/// Ends every token of a user, durable when it returns.
///
/// # Errors
/// The store's: the tokens may live on, and the caller must not say otherwise.
pub(super) async fn tokens_of_user(call: &Call, user: &UserId) -> Result<(), AdminError> {
    let tombstone = Tombstone::user(call.id(), user.clone(), call.now(), longest(call).await?);
    write(call, &[tombstone]).await
}

/// Ends every token that was issued to a client, durable when it returns.
///
/// # Errors
/// As [`tokens_of_user`].
pub(super) async fn tokens_of_client(call: &Call, client: &ClientId) -> Result<(), AdminError> {
    let tombstone = Tombstone::client(call.id(), client.clone(), call.now(), longest(call).await?);
    write(call, &[tombstone]).await
}

async fn write(call: &Call, tombstones: &[Tombstone]) -> Result<(), AdminError> {
    call.app.store.revoke(call.id(), tombstones).await?.durable.wait().await?;
    Ok(())
}

/// Ends every session of a user and what hangs on them; how many sessions there were.
///
/// # Errors
/// The store's.
pub(super) async fn sessions_of_user(call: &Call, user: &UserId) -> Result<u64, AdminError> {
    let mut durable = Durable::already();
    let ended = call.app.store.end_sessions_of(call.id(), user).await?.take(&mut durable);
    durable.wait().await?;
    if ended > 0 {
        let detail = serde_json::json!({ "sessions": ended });
        call.audit(Event::SessionEnded, Concerns { user: Some(user), detail, ..Concerns::default() });
    }
    Ok(ended)
}

/// Ends the tokens that are bound to each session of a user. Grants with `offline_access` live on.
///
/// # Errors
/// The store's.
pub(super) async fn tokens_of_sessions(call: &Call, sessions: &[Arc<Session>]) -> Result<(), AdminError> {
    if sessions.is_empty() {
        return Ok(());
    }
    let (now, longest) = (call.now(), longest(call).await?);
    let of = |session: &Arc<Session>| Tombstone::of_session(call.id(), session, now, longest);
    let tombstones: Vec<Tombstone> = sessions.iter().flat_map(of).collect();
    write(call, &tombstones).await
}

/// Ends one session by its public name and the tokens bound to it; the session, if it was live. Nothing is told
/// before both are durable.
///
/// # Errors
/// The store's.
pub(super) async fn session(call: &Call, sid: &Sid) -> Result<Option<Arc<Session>>, AdminError> {
    let longest = longest(call).await?;
    let mut durable = Durable::already();
    let ended = call.app.store.end_session_by_sid(call.id(), sid.as_str()).await?.take(&mut durable);
    if let Some(session) = &ended {
        let tombstones = Tombstone::of_session(call.id(), session, call.now(), longest);
        call.app.store.revoke(call.id(), &tombstones).await?.take(&mut durable);
    }
    durable.wait().await?;
    if let Some(session) = &ended {
        call.audit(Event::SessionEnded, Concerns { user: Some(&session.user), ..Concerns::default() });
    }
    Ok(ended)
}
