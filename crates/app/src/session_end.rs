//! Ending sessions: with what hangs on them, and with a word to every client that took part. Nothing else ends a session,
//! so that none ends in silence; `scripts/layers` sees to that.
//!
//! A client is told before the session ends, in the store's queue, because the two may be in different engines: if the
//! server stops in between, the client hears of a session that goes on, and asks for it anew, rather than never hearing of
//! one that has ended.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use symbolon_protocol::back_channel_logout::EndedSession;
use symbolon_protocol::event::Event;
use symbolon_protocol::family::Family;
use symbolon_protocol::id::{ClientId, Sid, UserId};
use symbolon_protocol::revocation::{SessionEnd, longest_life};
use symbolon_protocol::session::{Session, SessionId};
use symbolon_protocol::time::Timestamp;
use symbolon_store::port::PageRequest;
use symbolon_store::shard::sid_of;
use symbolon_store::{Durable, Outcome, StoreError};

use crate::app::App;
use crate::audit::AuditEntry;
use crate::issuer::IssuerState;

/// How many sessions of a user are read at once.
const AT_ONCE: u32 = 100;

/// As of this time every session is live that the store still has: also those whose time is over.
const EVERY_KEPT: Timestamp = Timestamp::EPOCH;

/// Which time of a session is over, as the audit log says it. Of one that was idle long before, and that no process looked at until
/// it expired too, it says that it expired.
fn over_by(session: &Session, now: Timestamp) -> &'static str {
    if session.expires_at <= now { "expired" } else { "idle" }
}

/// A session that is to end.
#[derive(Clone, Copy)]
pub struct Ending<'a> {
    /// The session, as it was read.
    pub session: &'a Session,
    /// Its id, if the caller has it; else it is found by its `sid`.
    pub id: Option<&'a SessionId>,
    /// What ends with it.
    pub end: &'a SessionEnd,
}

impl App {
    /// Ends a session together with what hangs on it, and tells its clients. Returns the session if it was live. A session
    /// that another one [takes the place of](SessionEnd::Succeeded) goes on for its clients: they are not told.
    ///
    /// # Errors
    /// [`StoreError`]: it may not have ended.
    pub async fn end_session(
        &self,
        issuer: &IssuerState,
        ending: Ending<'_>,
    ) -> Result<Outcome<Option<Arc<Session>>>, StoreError> {
        let Ending { session, id, end } = ending;
        let is_told = matches!(end, SessionEnd::WithTokens { .. });
        let mut waits = false;
        if is_told {
            waits |= self.tell(issuer, session, &session.clients).await?;
        }
        let ended = match id {
            Some(id) => self.store.end_session(&issuer.id, id, end).await?,
            None => self.store.end_session_by_sid(&issuer.id, session.sid.as_str(), end).await?,
        };
        let mut durable = Durable::already();
        let ended = ended.take(&mut durable);
        if let Some(ended) = ended.as_ref().filter(|_| is_told) {
            // Those that took part since it was read.
            let late: Vec<ClientId> =
                ended.clients.iter().filter(|client| !session.clients.contains(client)).cloned().collect();
            match self.tell(issuer, ended, &late).await {
                Ok(waits_too) => waits |= waits_too,
                // It says that the session has ended, so it waits for that like an answer.
                Err(error) => {
                    durable.wait().await?;
                    return Err(error);
                }
            }
        }
        if waits {
            self.deliveries.note_queued();
        }
        Ok(Outcome::after(ended, durable))
    }

    /// Ends every session that a user has now, each as [`end_session`](Self::end_session) does. Durable on return; returns
    /// how many.
    ///
    /// # Errors
    /// [`StoreError`]: some may not have ended.
    pub async fn end_sessions_of(
        &self,
        issuer: &IssuerState,
        user: &UserId,
        end: &SessionEnd,
    ) -> Result<u64, StoreError> {
        let first = PageRequest { page: 1, limit: AT_ONCE, search: None };
        let mut ended = 0;
        loop {
            // Those whose time is over, too: whoever took part in them was not told yet.
            let sessions = self.store.list_sessions(&issuer.id, user, &first, EVERY_KEPT).await?.items;
            // All are on their way to the disk before the first is waited for.
            let mut outcomes = Vec::with_capacity(sessions.len());
            for listed in &sessions {
                let ending = Ending { session: &listed.session, id: None, end };
                outcomes.push(self.end_session(issuer, ending).await?);
            }
            let mut gone = 0;
            for outcome in outcomes {
                gone += u64::from(outcome.told().await?.is_some());
            }
            ended += gone;
            // None is left, or somebody else is ending them too.
            if gone == 0 {
                break;
            }
        }
        // Those that began meanwhile.
        ended += self.store.end_sessions_of(&issuer.id, user, end).await?.told().await?;
        Ok(ended)
    }

    /// Ends a session whose time is over, which a browser still presents, and tells its clients. A session is kept for some
    /// minutes after it expires, or for a day if one of its clients is to be told; of one that comes later nothing is known any more.
    ///
    /// # Errors
    /// [`StoreError`]: it may not have ended.
    pub async fn end_expired(
        &self,
        issuer: &IssuerState,
        id: &SessionId,
        durable: &mut Durable,
    ) -> Result<(), StoreError> {
        let (now, sid) = (self.now(), sid_of(&issuer.id, id));
        let found = self.store.session_by_sid(&issuer.id, sid.as_str(), EVERY_KEPT).await?;
        let Some(found) = found.take(durable).filter(|found| found.ends_at <= now) else {
            return Ok(());
        };
        self.end_over(issuer, (&found.session, Some(id))).await?.take(durable);
        Ok(())
    }

    /// Ends a session whose time is over, and tells its clients. `id`: its id, if the caller has it. Returns whether nobody was
    /// faster.
    ///
    /// # Errors
    /// [`StoreError`]: it may not have ended.
    pub async fn end_over(
        &self,
        issuer: &IssuerState,
        (session, id): (&Session, Option<&SessionId>),
    ) -> Result<Outcome<bool>, StoreError> {
        let now = self.now();
        let end = SessionEnd::WithTokens { now, longest: self.longest_of(issuer, session).await? };
        let ended = self.end_session(issuer, Ending { session, id, end: &end }).await?;
        Ok(ended.map(|ended| {
            if ended.is_some() {
                let detail = json!({ "reason": over_by(session, now) });
                let user = Some(session.user.clone());
                let entry = AuditEntry { user, ..AuditEntry::system(Event::SessionEnded, detail) };
                self.audit.record(&issuer.id, entry, now);
            }
            ended.is_some()
        }))
    }

    /// The longest lifetime of anything bound to a session: its clients may have longer lifetimes than their issuer.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn longest_of(&self, issuer: &IssuerState, session: &Session) -> Result<Duration, StoreError> {
        let mut overrides = Vec::with_capacity(session.clients.len());
        for client in &session.clients {
            overrides.extend(self.store.client(&issuer.id, client).await?);
        }
        let settings = issuer.settings.load_full();
        Ok(longest_life(&settings, overrides.iter().map(|client| &client.settings)))
    }

    /// Tells a session's clients that what hung on an earlier `sid` of it has ended, though the session goes on.
    ///
    /// # Errors
    /// [`StoreError`]: not all of them may be told.
    pub async fn tell_of_dropped(
        &self,
        issuer: &IssuerState,
        session: &Session,
        dropped: &Sid,
    ) -> Result<(), StoreError> {
        let mut waits = false;
        for client in &session.clients {
            let ended = EndedSession { user: &session.user, sid: dropped, client };
            waits |= self.queue_logout(issuer, ended).await?;
        }
        if waits {
            self.deliveries.note_queued();
        }
        Ok(())
    }

    /// Tells the client of a refresh token that was used twice that what it had in the session has ended. The session goes
    /// on. Whoever used the token is refused whether the client can be told or not.
    pub async fn tell_of_theft(&self, issuer: &IssuerState, family: &Family) {
        let Some(sid) = family.bound_to() else { return };
        let ended = EndedSession { user: &family.user, sid, client: &family.client };
        match self.queue_logout(issuer, ended).await {
            Ok(true) => self.deliveries.note_queued(),
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(%error, client_id = %family.client, "a client was not told of a stolen refresh token");
            }
        }
    }

    /// Queues the end of a session for clients, once for each `sid` that they may know it by.
    async fn tell(
        &self,
        issuer: &IssuerState,
        session: &Session,
        clients: &[ClientId],
    ) -> Result<bool, StoreError> {
        let mut waits = false;
        for client in clients {
            for sid in session.sids() {
                let ended = EndedSession { user: &session.user, sid, client };
                waits |= self.queue_logout(issuer, ended).await?;
            }
        }
        Ok(waits)
    }
}
