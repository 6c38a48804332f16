//! Bulk creation of sessions.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use symbolon_protocol::event::Event;
use symbolon_protocol::session::{Session, SessionId};

use super::super::admin_created;
use super::super::call::{Call, Concerns, Payload};
use super::super::error::{AdminError, Answer};
use super::super::test_endpoints::MAX_TTL;
use super::Known;
use super::lines::Line;
use super::stream::{self, Batch, Done, Pace};
use symbolon_app::audit::ChangedFields;

/// Several chunks at once, so that users of one chunk are looked up while another chunk becomes durable.
const PACE: Pace = Pace { chunk: 500, in_flight: 4, event: Some(Event::SessionCreated) };

/// `POST /sessions/bulk`.
pub(super) async fn open(call: Call, payload: Payload) -> Answer {
    let known = Known::new(&call);
    stream::answer(call, payload, PACE, move |chunk| chunk_of(Arc::clone(&known), chunk))
}

async fn chunk_of(known: Arc<Known>, chunk: Vec<Line>) -> Vec<Done> {
    let mut batch = Batch::new();
    for line in chunk {
        batch.push(new(&known, line).await);
    }
    let sessions: Vec<(SessionId, Session)> = batch.take();
    let told: Vec<_> = sessions
        .iter()
        .map(|(id, session)| {
            Ok(json!({
                "session_id": id.expose(),
                "sid": session.sid,
                "user_id": session.user,
                "expires_at": session.expires_at,
            }))
        })
        .collect();
    let made: Vec<_> =
        sessions.iter().map(|(_, session)| (session.user.clone(), ChangedFields::made(session))).collect();
    let opened = opened(&known.call, sessions).await;
    if opened.is_ok() {
        for (user, made) in made {
            let concerns = Concerns { user: Some(&user), ..Concerns::default() };
            known.call.audit(Event::SessionCreated, concerns, made);
        }
    }
    batch.settle(opened.map(|()| told))
}

/// Opens the sessions; they are durable on return.
async fn opened(call: &Call, sessions: Vec<(SessionId, Session)>) -> Result<(), AdminError> {
    if !sessions.is_empty() {
        call.app.store.open_sessions(call.id(), sessions).await?.told().await?;
    }
    Ok(())
}

async fn new(known: &Known, line: Line) -> Result<(SessionId, Session), AdminError> {
    let mut fields = stream::fields(line)?;
    let user = known.user(&mut fields).await?;
    let ttl = fields.bounded("ttl_seconds", 1..=MAX_TTL)?;
    fields.finish()?;
    let ttl = ttl.map_or_else(|| known.call.issuer.settings.load().lifetimes.session, Duration::from_secs);
    Ok(admin_created::session(&known.call, user, ttl))
}
