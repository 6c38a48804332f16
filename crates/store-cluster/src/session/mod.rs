//! Sessions in Redis. A replica has a new session before the caller is answered.
//!
//! A session's record is in its shard. Two lists find it without its id: the list of its user, and the list of its
//! issuer in the order of keys. The end of a session is written to PostgreSQL first, with the tombstones that belong to
//! it, so that no failover brings the session back. It is completed even if the caller goes away.

mod ending;
mod ends;
mod list;
mod origin;
mod record;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use symbolon_figures::StoreKind;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::revocation::SessionEnd;
use symbolon_protocol::session::{Session, SessionId};
use symbolon_protocol::session_origin::SessionOrigin;
use symbolon_protocol::time::Timestamp;
use symbolon_store::port::{
    EndedSessions, ListedSession, NextSessions, Page, PageRequest, SessionCursor, Sessions,
    oldest_sign_ins_beyond,
};
use symbolon_store::shard::{Route, ShardKind, record_key, session_of_sid};
use symbolon_store::{Outcome, StoreError};

use crate::ClusterStore;
use crate::revocation::Row;
use record::StoredSession;

pub(crate) use record::{SessionPlace, Uses};

/// How many sessions of a bulk creation are written at a time.
const OPENED_AT_ONCE: usize = 256;

/// The constant slot of a session that is found by its key alone: the key's first ten bits.
fn slot_of_key(key: &[u8; 16]) -> u32 {
    let [high, low, ..] = *key;
    u32::from(u16::from_be_bytes([high, low]) >> 6)
}

impl ClusterStore {
    fn session_place(&self, issuer: &IssuerId, id: &SessionId) -> SessionPlace {
        let key = record_key(issuer, id.expose());
        let said = Route::of_id(ShardKind::Session, id.expose()).unwrap_or(Route { generation: 0, shard: 0 });
        self.place_of(said, key)
    }

    fn sid_place(&self, sid: &str) -> Option<SessionPlace> {
        session_of_sid(sid).map(|(said, key)| self.place_of(said, key))
    }

    /// Where a session is: in the shard that its id and its `sid` name, if that shard exists, else in the slot of its
    /// key. That slot is not a hash of the id, because a `sid` does not contain the id.
    fn place_of(&self, said: Route, key: [u8; 16]) -> SessionPlace {
        let slot = Route { generation: 0, shard: slot_of_key(&key) };
        let route = if self.generations.exists(ShardKind::Session, said) { said } else { slot };
        SessionPlace { route, key }
    }

    /// Where a session is, by its key and by the shard that its `sid` names.
    pub(crate) fn session_at(&self, said: Option<Route>, key: [u8; 16]) -> SessionPlace {
        self.place_of(said.unwrap_or(Route { generation: 0, shard: 0 }), key)
    }

    /// Ends the session at a place, if it is one of the issuer's.
    async fn end_session_at(
        &self,
        issuer: &IssuerId,
        place: SessionPlace,
        end: &SessionEnd,
    ) -> Result<Option<Arc<Session>>, StoreError> {
        let Some(found) = self.read_session(issuer, place).await? else { return Ok(None) };
        let tombstones = end.tombstones(issuer, &found.session);
        let rows = tombstones.iter().map(|tombstone| Row::of(issuer, tombstone));
        let ended = Row::ended(self.ended(place, found.session.kept_until()));
        if !self.ending(place).run(rows.chain([ended]).collect()).await? {
            return Ok(None);
        }
        self.unlist(issuer, place, &found.session).await;
        self.uses.forget(&place.key);
        Ok(Some(Arc::new(found.session)))
    }

    fn listed(&self, place: SessionPlace, found: StoredSession) -> ListedSession {
        let used = self.uses.get(&place.key).map_or(found.used_at, |used| used.max(found.used_at));
        let ends_at = found.ends_at();
        ListedSession { session: Arc::new(found.session), last_used_at: used, ends_at, origin: None }
    }
}

#[async_trait]
impl Sessions for ClusterStore {
    async fn open_session(
        &self,
        issuer: &IssuerId,
        id: &SessionId,
        session: Session,
    ) -> Result<Outcome<()>, StoreError> {
        let _pass = self.gate.enter()?;
        let place = self.session_place(issuer, id);
        let open = self.open_at(issuer, place, &session, session.created_at);
        self.measured(StoreKind::Session, place.route.shard, open).await?;
        Ok(Outcome::settled(()))
    }

    async fn open_sessions(
        &self,
        issuer: &IssuerId,
        sessions: Vec<(SessionId, Session)>,
    ) -> Result<Outcome<()>, StoreError> {
        let _pass = self.gate.enter()?;
        for some in sessions.chunks(OPENED_AT_ONCE) {
            let mut open = Vec::with_capacity(some.len());
            for (id, session) in some {
                let place = self.session_place(issuer, id);
                let one = self.open_at(issuer, place, session, session.created_at);
                open.push(self.measured(StoreKind::Session, place.route.shard, one));
            }
            futures_util::future::try_join_all(open).await?;
        }
        Ok(Outcome::settled(()))
    }

    async fn note_origin(
        &self,
        issuer: &IssuerId,
        session: &Session,
        origin: &SessionOrigin,
    ) -> Result<(), StoreError> {
        let _pass = self.gate.enter()?;
        let Some(place) = self.sid_place(session.sid.as_str()) else { return Ok(()) };
        let write = self.write_origin(issuer, place, (session.expires_at, origin));
        self.measured(StoreKind::Session, place.route.shard, write).await
    }

    async fn session_origin(
        &self,
        issuer: &IssuerId,
        session: &Session,
    ) -> Result<Option<SessionOrigin>, StoreError> {
        match self.sid_place(session.sid.as_str()) {
            Some(place) => self.origin_at(issuer, place).await,
            None => Ok(None),
        }
    }

    async fn session(
        &self,
        issuer: &IssuerId,
        id: &SessionId,
        now: Timestamp,
    ) -> Result<Outcome<Option<Arc<Session>>>, StoreError> {
        let place = self.session_place(issuer, id);
        let read = self.read_session(issuer, place);
        let found = self.measured(StoreKind::Session, place.route.shard, read).await?;
        let Some(found) = found.filter(|found| found.ends_at() > now) else {
            return Ok(Outcome::settled(None));
        };
        self.uses.note(&place.key, now);
        if found.use_is_due(now)
            && let Ok(_pass) = self.gate.enter()
        {
            self.write_use(place, now).await;
        }
        Ok(Outcome::settled(Some(Arc::new(found.session))))
    }

    async fn note_client(
        &self,
        issuer: &IssuerId,
        id: &SessionId,
        client: &ClientId,
        is_told: bool,
    ) -> Result<Outcome<bool>, StoreError> {
        let _pass = self.gate.enter()?;
        let place = self.session_place(issuer, id);
        let note = self.note_at(issuer, place, client, is_told);
        Ok(Outcome::settled(self.measured(StoreKind::Session, place.route.shard, note).await?))
    }

    async fn claim_ended_sessions(
        &self,
        now: Timestamp,
        until: Timestamp,
        limit: u32,
    ) -> Result<EndedSessions, StoreError> {
        let Ok(_pass) = self.gate.enter() else { return Ok(EndedSessions::default()) };
        self.claim_ended(now, until, limit).await
    }

    async fn session_by_sid(
        &self,
        issuer: &IssuerId,
        sid: &str,
        now: Timestamp,
    ) -> Result<Outcome<Option<ListedSession>>, StoreError> {
        let Some(place) = self.sid_place(sid) else { return Ok(Outcome::settled(None)) };
        let read = self.read_session(issuer, place);
        let found = self.measured(StoreKind::Session, place.route.shard, read).await?;
        let live = found.filter(|found| found.ends_at() > now);
        Ok(Outcome::settled(live.map(|found| self.listed(place, found))))
    }

    async fn end_session(
        &self,
        issuer: &IssuerId,
        id: &SessionId,
        end: &SessionEnd,
    ) -> Result<Outcome<Option<Arc<Session>>>, StoreError> {
        let _pass = self.gate.enter()?;
        let place = self.session_place(issuer, id);
        let ended = self.end_session_at(issuer, place, end);
        Ok(Outcome::settled(self.measured(StoreKind::Session, place.route.shard, ended).await?))
    }

    async fn end_session_by_sid(
        &self,
        issuer: &IssuerId,
        sid: &str,
        end: &SessionEnd,
    ) -> Result<Outcome<Option<Arc<Session>>>, StoreError> {
        let _pass = self.gate.enter()?;
        let Some(place) = self.sid_place(sid) else { return Ok(Outcome::settled(None)) };
        let ended = self.end_session_at(issuer, place, end);
        Ok(Outcome::settled(self.measured(StoreKind::Session, place.route.shard, ended).await?))
    }

    async fn end_sessions_of(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        end: &SessionEnd,
    ) -> Result<Outcome<u64>, StoreError> {
        let _pass = self.gate.enter()?;
        let mut ended = 0;
        for place in self.places_of_user(issuer, user).await? {
            let end = self.end_session_at(issuer, place, end);
            let one = self.measured(StoreKind::Session, place.route.shard, end).await?;
            ended += u64::from(one.is_some());
        }
        Ok(Outcome::settled(ended))
    }

    async fn list_sessions(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        page: &PageRequest,
        now: Timestamp,
    ) -> Result<Page<ListedSession>, StoreError> {
        self.page_of_user(issuer, user, page, now).await
    }

    async fn sign_ins_beyond(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        keep: u32,
        now: Timestamp,
    ) -> Result<Vec<ListedSession>, StoreError> {
        if self.count_of_user(issuer, user).await? <= u64::from(keep) {
            return Ok(Vec::new());
        }
        Ok(oldest_sign_ins_beyond(self.live_of_user(issuer, user, now).await?, keep))
    }

    async fn next_sessions(
        &self,
        issuer: &IssuerId,
        after: Option<SessionCursor>,
        limit: u32,
        now: Timestamp,
    ) -> Result<NextSessions, StoreError> {
        self.next_listed(issuer, after, limit, now).await
    }
}
