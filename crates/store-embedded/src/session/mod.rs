//! Sessions: kept in memory in front of the journal. An answer is sent only when what it rests on is durable.

mod ends;
mod listing;
mod live;

pub(crate) use live::{Live, SessionIssuers};

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::revocation::SessionEnd;
use symbolon_protocol::session::{Session, SessionId};
use symbolon_protocol::session_origin::SessionOrigin;
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::port::{
    EndedSessions, ListedSession, NextSessions, Page, PageRequest, SessionCursor, Sessions,
    oldest_sign_ins_beyond,
};
use symbolon_store::shard::{Route, ShardKind, record_key, session_of_sid};
use symbolon_store::{Outcome, StoreError};

use crate::journal::{CommitNumber, Journal, Op, Table, split_value};
use crate::resident::{Ends, Entry, Known};
use crate::sharded::{Key, slot_of_key};
use crate::{EmbeddedStore, decode, put_record};
use live::as_it_counts;

/// How many sessions one shard keeps in memory; others are read from the disk when they are needed.
const MOST_PER_SHARD: usize = 32_768;

/// How many of a user's sessions are read from the disk at once.
const READ_AT_ONCE: usize = 1_000;

/// A session on disk. The key is a digest that includes the issuer, but a listing needs the issuer's name.
#[derive(Serialize, Deserialize)]
pub(crate) struct Stored {
    pub(crate) issuer: IssuerId,
    pub(crate) used_at: Timestamp,
    pub(crate) session: Session,
}

#[derive(Serialize)]
struct StoredRef<'a> {
    issuer: &'a IssuerId,
    used_at: Timestamp,
    session: &'a Session,
}

fn put(issuer: &IssuerId, key: &Key, session: &Session, used_at: Timestamp) -> Result<Op, StoreError> {
    let record = StoredRef { issuer, used_at, session };
    put_record(Table::Sessions, key, session.kept_until().millis(), &record)
}

/// `SessionsOfUser` is keyed by user, then session: one scan finds all sessions of a user.
fn user_key(issuer: &IssuerId, user: &UserId, key: &Key) -> Vec<u8> {
    [record_key(issuer, user.as_str()), *key].concat()
}

/// The entry of a user's list that says where the session began.
fn with_origin(
    issuer: &IssuerId,
    key: &Key,
    session: &Session,
    origin: &SessionOrigin,
) -> Result<Op, StoreError> {
    let by_user = user_key(issuer, &session.user, key);
    put_record(Table::SessionsOfUser, &by_user, session.expires_at.millis(), origin)
}

/// The changes that write a new session, with where it began if that is known already.
pub(crate) fn opened(
    issuer: &IssuerId,
    key: &Key,
    session: &Session,
    used_at: Timestamp,
    origin: Option<&SessionOrigin>,
) -> Result<impl Iterator<Item = Op> + use<>, StoreError> {
    let by_user = match origin {
        Some(origin) => with_origin(issuer, key, session, origin)?,
        None => {
            let end = session.expires_at.millis();
            Op::put(Table::SessionsOfUser, &user_key(issuer, &session.user, key), end, &[])
        }
    };
    let is_looked_at = session.by_time.is_looked_at();
    let look = is_looked_at.then(|| ends::look_at(session, key, session.ends_at(as_it_counts(used_at))));
    Ok([put(issuer, key, session, used_at)?, by_user].into_iter().chain(look))
}

/// Puts a client on a session's list. Returns whether it was new there, and the commit to wait for in both cases.
fn note(
    journal: &Journal,
    issuer: &IssuerId,
    key: &Key,
    entry: &mut Entry<Live>,
    (client, is_told): (&ClientId, bool),
) -> Result<(bool, CommitNumber), StoreError> {
    let Some(live) = entry.value.as_mut().filter(|live| !live.session.clients.contains(client)) else {
        return Ok((false, entry.commit));
    };
    live.count_use(entry.used_at);
    let ends_at = live.ends_at();
    let session = Arc::make_mut(&mut live.session);
    let was_told = session.by_time.is_told();
    session.note(client, is_told);
    let look = (session.by_time.is_told() && !was_told).then(|| ends::look_at(session, key, ends_at));
    let record = put(issuer, key, session, entry.used_at)?;
    entry.commit = journal.append([record].into_iter().chain(look));
    Ok((true, entry.commit))
}

impl EmbeddedStore {
    fn session_route(&self, issuer: &IssuerId, id: &SessionId) -> (Route, Key) {
        let key = record_key(issuer, id.expose());
        let said = Route::of_id(ShardKind::Session, id.expose()).unwrap_or(Route { generation: 0, shard: 0 });
        (self.session_home(said, &key), key)
    }

    fn sid_route(&self, sid: &str) -> Option<(Route, Key)> {
        session_of_sid(sid).map(|(said, key)| (self.session_home(said, &key), key))
    }

    /// The shard of a session: the one that its id and its `sid` name, if it exists, else the slot of its key. The key
    /// is used, not the id, because a `sid` does not contain the id.
    fn session_home(&self, said: Route, key: &Key) -> Route {
        if self.sessions.exists(said) { said } else { Route { generation: 0, shard: slot_of_key(key) } }
    }

    /// Runs `work` on the entry of a session under its shard's lock, after loading the session from the disk if it is
    /// not in memory. `None` if there is no such session.
    async fn with_session<R: Send>(
        &self,
        (route, key): (Route, Key),
        mut work: impl FnMut(Known<'_, Live>) -> R + Send,
    ) -> Result<Option<R>, StoreError> {
        loop {
            let step = self.sessions.with(route, |shard| match shard.get(&key) {
                Known::Absent(evictions) => Err(evictions),
                known => Ok(work(known)),
            });
            match step {
                Ok(result) => return Ok(Some(result)),
                Err(evictions) if self.load_session(route, key, evictions).await? => {}
                Err(_) => return Ok(None),
            }
        }
    }

    /// Loads a session into memory if the disk has it; returns whether it does.
    async fn load_session(&self, route: Route, key: Key, evictions: u64) -> Result<bool, StoreError> {
        let Some(value) = self.read(Table::Sessions, key).await? else { return Ok(false) };
        let (_, record) =
            split_value(&value).ok_or_else(|| StoreError::Failed("a session is cut short".into()))?;
        let Stored { issuer, used_at, session } = decode(record)?;
        // If the route in a `sid` was tampered with, the session must not be loaded into a second shard.
        if self.sid_route(session.sid.as_str()).is_some_and(|(home, named)| named == key && home != route) {
            return Ok(false);
        }
        let live = Live::new(self.session_issuers.number(&issuer), session, used_at);
        self.sessions.with(route, |shard| {
            shard.loaded(key, live, evictions, used_at);
            // After `loaded`, because an eviction before it would make it discard the record that was just read.
            shard.make_room(MOST_PER_SHARD + 1, |commit| self.journal.durable(commit));
        });
        Ok(true)
    }

    /// Ends the session under a key if it belongs to the issuer, together with what ends with it: in memory under the
    /// session's lock, on disk in one batch.
    async fn end_session_at(
        &self,
        issuer: &IssuerId,
        place: (Route, Key),
        end: &SessionEnd,
    ) -> Result<(Option<Arc<Session>>, CommitNumber), StoreError> {
        self.check_writable()?;
        let own = self.session_issuers.number(issuer);
        let (_, key) = place;
        let ended = self.with_session(place, |known| match known {
            Known::Live(entry) => {
                // The key may come from a `sid`, and so may be that of another issuer's session.
                let Some(live) = entry.value.as_ref().filter(|live| live.issuer == own) else {
                    return Ok((None, CommitNumber::LOADED));
                };
                let by_user = user_key(issuer, &live.session.user, &key);
                let removal =
                    [Op::remove(Table::Sessions, &key), Op::remove(Table::SessionsOfUser, &by_user)];
                let commit = self.bury(issuer, &end.tombstones(issuer, &live.session), removal)?;
                Ok((entry.end(commit).map(|live| live.session), commit))
            }
            Known::Ended(commit) => Ok((None, commit)),
            Known::Absent(_) => Ok((None, CommitNumber::LOADED)),
        });
        ended.await?.unwrap_or(Ok((None, CommitNumber::LOADED)))
    }

    pub(crate) async fn sweep_sessions(&self, now: Timestamp) -> u64 {
        self.sessions
            .each(|shard| shard.sweep(|commit| self.journal.durable(commit), now - KEPT_AFTER_END))
            .await
    }
}

#[async_trait]
impl Sessions for EmbeddedStore {
    async fn open_session(
        &self,
        issuer: &IssuerId,
        id: &SessionId,
        session: Session,
    ) -> Result<Outcome<()>, StoreError> {
        self.open_sessions(issuer, vec![(id.clone(), session)]).await
    }

    async fn open_sessions(
        &self,
        issuer: &IssuerId,
        sessions: Vec<(SessionId, Session)>,
    ) -> Result<Outcome<()>, StoreError> {
        self.check_writable()?;
        let number = self.session_issuers.number(issuer);
        let mut last = CommitNumber::LOADED;
        for (id, session) in sessions {
            let (route, key) = self.session_route(issuer, &id);
            let used = session.created_at;
            let ops = opened(issuer, &key, &session, used, None)?;
            let live = Live::new(number, session, used);
            last = self.sessions.with(route, |shard| {
                shard.make_room(MOST_PER_SHARD, |commit| self.journal.durable(commit));
                let commit = self.journal.append(ops);
                shard.put(key, live, commit, used);
                commit
            });
        }
        Ok(self.outcome((), last))
    }

    async fn note_origin(
        &self,
        issuer: &IssuerId,
        session: &Session,
        origin: &SessionOrigin,
    ) -> Result<(), StoreError> {
        self.check_writable()?;
        let Some(place) = self.sid_route(session.sid.as_str()) else { return Ok(()) };
        let own = self.session_issuers.number(issuer);
        let op = with_origin(issuer, &place.1, session, origin)?;
        // Under the session's lock: an entry that were written after the session's end would stay until its time is over.
        let noted = self.with_session(place, |known| {
            if let Known::Live(entry) = known
                && entry.value.as_ref().is_some_and(|live| live.issuer == own)
            {
                self.journal.append([op.clone()]);
            }
        });
        noted.await.map(drop)
    }

    async fn session_origin(
        &self,
        issuer: &IssuerId,
        session: &Session,
    ) -> Result<Option<SessionOrigin>, StoreError> {
        self.origin_of(issuer, session).await
    }

    async fn session(
        &self,
        issuer: &IssuerId,
        id: &SessionId,
        now: Timestamp,
    ) -> Result<Outcome<Option<Arc<Session>>>, StoreError> {
        let place = self.session_route(issuer, id);
        let found = self.with_session(place, |known| match known {
            Known::Live(entry) => {
                let commit = entry.commit;
                let Some(live) = entry.value.as_mut().filter(|live| live.ends_at() > now) else {
                    return (None, commit);
                };
                entry.used_at = now;
                if live.use_is_due(now) {
                    // While the store takes no writes, it counts in memory: nobody is signed out who is there.
                    live.count_use(now);
                    // Nobody waits for this write: the time of the last use is not worth a delay of the answer.
                    if self.journal.writable()
                        && let Ok(op) = put(issuer, &place.1, &live.session, now)
                    {
                        self.journal.append([op]);
                    }
                }
                (Some(Arc::clone(&live.session)), commit)
            }
            Known::Ended(commit) => (None, commit),
            Known::Absent(_) => (None, CommitNumber::LOADED),
        });
        let (session, commit) = found.await?.unwrap_or((None, CommitNumber::LOADED));
        Ok(self.outcome(session, commit))
    }

    async fn note_client(
        &self,
        issuer: &IssuerId,
        id: &SessionId,
        client: &ClientId,
        is_told: bool,
    ) -> Result<Outcome<bool>, StoreError> {
        self.check_writable()?;
        let place = self.session_route(issuer, id);
        let noted = self.with_session(place, |known| match known {
            Known::Live(entry) => note(&self.journal, issuer, &place.1, entry, (client, is_told)),
            Known::Ended(commit) => Ok((false, commit)),
            Known::Absent(_) => Ok((false, CommitNumber::LOADED)),
        });
        let (noted, commit) = noted.await?.unwrap_or(Ok((false, CommitNumber::LOADED)))?;
        Ok(self.outcome(noted, commit))
    }

    async fn claim_ended_sessions(
        &self,
        now: Timestamp,
        until: Timestamp,
        limit: u32,
    ) -> Result<EndedSessions, StoreError> {
        self.claim_ended(now, until, limit).await
    }

    async fn session_by_sid(
        &self,
        issuer: &IssuerId,
        sid: &str,
        now: Timestamp,
    ) -> Result<Outcome<Option<ListedSession>>, StoreError> {
        let Some(place) = self.sid_route(sid) else { return Ok(Outcome::settled(None)) };
        let own = self.session_issuers.number(issuer);
        let found = self.with_session(place, |known| match known {
            Known::Live(entry) => {
                let live = entry.value.as_ref().filter(|live| live.issuer == own);
                // Another issuer's session counts as none, and its changes are not waited for.
                live.map_or((None, CommitNumber::LOADED), |live| {
                    let (session, ends_at) = (Arc::clone(&live.session), live.ends_at());
                    let listed =
                        ListedSession { session, last_used_at: entry.used_at, ends_at, origin: None };
                    (Some(listed), entry.commit)
                })
            }
            Known::Ended(commit) => (None, commit),
            Known::Absent(_) => (None, CommitNumber::LOADED),
        });
        let (found, commit) = found.await?.unwrap_or((None, CommitNumber::LOADED));
        Ok(self.outcome(found.filter(|found| found.ends_at > now), commit))
    }

    async fn end_session(
        &self,
        issuer: &IssuerId,
        id: &SessionId,
        end: &SessionEnd,
    ) -> Result<Outcome<Option<Arc<Session>>>, StoreError> {
        let (ended, commit) = self.end_session_at(issuer, self.session_route(issuer, id), end).await?;
        Ok(self.outcome(ended, commit))
    }

    async fn end_session_by_sid(
        &self,
        issuer: &IssuerId,
        sid: &str,
        end: &SessionEnd,
    ) -> Result<Outcome<Option<Arc<Session>>>, StoreError> {
        let Some(place) = self.sid_route(sid) else { return Ok(Outcome::settled(None)) };
        let (ended, commit) = self.end_session_at(issuer, place, end).await?;
        Ok(self.outcome(ended, commit))
    }

    async fn end_sessions_of(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        end: &SessionEnd,
    ) -> Result<Outcome<u64>, StoreError> {
        let mut ended = 0;
        let mut last = CommitNumber::LOADED;
        let keys = self.sessions_of(issuer, user).await?;
        for some in keys.chunks(READ_AT_ONCE) {
            for Stored { session, .. } in self.stored_sessions(some.to_vec()).await? {
                let Some(place) = self.sid_route(session.sid.as_str()) else { continue };
                let (one, commit) = self.end_session_at(issuer, place, end).await?;
                ended += u64::from(one.is_some());
                last = last.max(commit);
            }
        }
        Ok(self.outcome(ended, last))
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
        let keys = self.sessions_of(issuer, user).await?;
        if keys.len() <= keep as usize {
            return Ok(Vec::new());
        }
        let live = self.live_sessions(keys, now).await?.into_iter().map(Stored::listed).collect();
        Ok(oldest_sign_ins_beyond(live, keep))
    }

    async fn next_sessions(
        &self,
        issuer: &IssuerId,
        after: Option<SessionCursor>,
        limit: u32,
        now: Timestamp,
    ) -> Result<NextSessions, StoreError> {
        self.next_stored(issuer, after, limit, now).await
    }
}

#[cfg(test)]
mod tests;
