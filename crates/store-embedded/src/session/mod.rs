//! Sessions: memory in front of the journal, durable before the answer.

mod live;

pub(crate) use live::{Live, SessionIssuers};

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::session::{Session, SessionId};
use symbolon_protocol::time::Timestamp;
use symbolon_store::port::{ListedSession, Page, PageRequest, Sessions};
use symbolon_store::shard::{Kind, Route, record_key, session_of_sid};
use symbolon_store::{Outcome, StoreError};

use crate::journal::{CommitNumber, Journal, Op, Table, split_value};
use crate::resident::{Entry, Known};
use crate::sharded::{Key, slot_of_key};
use crate::{EmbeddedStore, decode, encode};

/// Sessions that one shard keeps in memory; more are read from the disk when asked for.
const MOST_PER_SHARD: usize = 32_768;

/// A session on disk. The issuer is in the key's digest too, but a listing needs its name.
#[derive(Serialize, Deserialize)]
struct Stored {
    issuer: IssuerId,
    used_at: Timestamp,
    session: Session,
}

#[derive(Serialize)]
struct StoredRef<'a> {
    issuer: &'a IssuerId,
    used_at: Timestamp,
    session: &'a Session,
}

fn put(issuer: &IssuerId, key: &Key, session: &Session, used_at: Timestamp) -> Result<Op, StoreError> {
    let record = encode(&StoredRef { issuer, used_at, session })?;
    Ok(Op::put(Table::Sessions, *key, session.expires_at.millis(), &record))
}

/// `SessionsOfUser` is keyed by user, then session: one scan finds all sessions of a user.
fn user_key(issuer: &IssuerId, user: &UserId, key: &Key) -> Vec<u8> {
    [record_key(issuer, user.as_str()), *key].concat()
}

fn opened(issuer: &IssuerId, key: &Key, session: &Session) -> Result<[Op; 2], StoreError> {
    let by_user = Op::put(
        Table::SessionsOfUser,
        user_key(issuer, &session.user, key),
        session.expires_at.millis(),
        &[],
    );
    Ok([put(issuer, key, session, session.created_at)?, by_user])
}

/// Puts a client on a session's list; whether it was not on it before, and the commit to wait for either way.
fn note(
    journal: &Journal,
    issuer: &IssuerId,
    key: &Key,
    entry: &mut Entry<Live>,
    client: &ClientId,
) -> Result<(bool, CommitNumber), StoreError> {
    let Some(live) = entry.value.as_mut().filter(|live| !live.session.clients.contains(client)) else {
        return Ok((false, entry.commit));
    };
    let session = Arc::make_mut(&mut live.session);
    session.note(client);
    entry.commit = journal.append([put(issuer, key, session, entry.used_at)?]);
    Ok((true, entry.commit))
}

impl EmbeddedStore {
    fn session_route(&self, issuer: &IssuerId, id: &SessionId) -> (Route, Key) {
        let key = record_key(issuer, id.expose());
        let said = Route::of_id(Kind::Session, id.expose()).unwrap_or(Route { generation: 0, shard: 0 });
        (self.session_home(said, &key), key)
    }

    /// Where a session lives: where its id and its `sid` say, if there is such a shard, else in the slot of its key,
    /// because a `sid` no longer knows the id.
    fn session_home(&self, said: Route, key: &Key) -> Route {
        if self.sessions.exists(said) { said } else { Route { generation: 0, shard: slot_of_key(key) } }
    }

    /// Brings a session into memory if the disk has it. False: there is none.
    async fn load_session(&self, route: Route, key: Key, epoch: u64) -> Result<bool, StoreError> {
        let Some(value) = self.read(Table::Sessions, key).await? else { return Ok(false) };
        let (_, record) =
            split_value(&value).ok_or_else(|| StoreError::Failed("a session is cut short".into()))?;
        let Stored { issuer, used_at, session } = decode(record)?;
        // A `sid` whose route was tampered with must not give a session a second life in another shard.
        let elsewhere = |(said, named)| named == key && self.session_home(said, &key) != route;
        if session_of_sid(session.sid.as_str()).is_some_and(elsewhere) {
            return Ok(false);
        }
        let live = Live::new(self.session_issuers.number(&issuer), session, used_at);
        self.sessions.with(route, |shard| {
            shard.loaded(key, live, epoch, used_at);
            // Afterwards, because it may move the epoch on.
            shard.make_room(MOST_PER_SHARD + 1, |commit| self.journal.durable(commit));
        });
        Ok(true)
    }

    /// Ends the session under a key, if it is one of the issuer's.
    async fn end_session_at(
        &self,
        issuer: &IssuerId,
        route: Route,
        key: Key,
    ) -> Result<(Option<Arc<Session>>, CommitNumber), StoreError> {
        self.check_writable()?;
        let own = self.session_issuers.number(issuer);
        loop {
            let step = self.sessions.with(route, |shard| match shard.get(&key) {
                Known::Absent(epoch) => Err(epoch),
                Known::Ended(commit) => Ok((None, commit)),
                Known::Live(entry) => {
                    // A `sid` brings its key along, so another issuer's may come here.
                    let Some(live) = entry.value.as_ref().filter(|live| live.issuer == own) else {
                        return Ok((None, CommitNumber::LOADED));
                    };
                    let by_user = user_key(issuer, &live.session.user, &key);
                    let ops = [Op::remove(Table::Sessions, key), Op::remove(Table::SessionsOfUser, by_user)];
                    let commit = self.journal.append(ops);
                    Ok((shard.end(&key, commit), commit))
                }
            });
            match step {
                Ok((ended, commit)) => return Ok((ended.map(|live: Live| live.session), commit)),
                Err(epoch) if self.load_session(route, key, epoch).await? => {}
                Err(_) => return Ok((None, CommitNumber::LOADED)),
            }
        }
    }

    /// The keys and `sid`s of a user's sessions, read from the disk after everything in flight is on it.
    async fn sessions_of(&self, issuer: &IssuerId, user: &UserId) -> Result<Vec<Key>, StoreError> {
        self.journal.flush().await;
        let prefix = record_key(issuer, user.as_str());
        self.blocking(move |journal| {
            let mut keys = Vec::new();
            for record in journal.scan_prefix(Table::SessionsOfUser, &prefix) {
                let (key, _) = record.map_err(crate::failed)?;
                keys.extend(key.last_chunk::<16>().copied());
            }
            Ok(keys)
        })
        .await
    }

    async fn stored_sessions(&self, keys: Vec<Key>) -> Result<Vec<Stored>, StoreError> {
        self.blocking(move |journal| {
            let mut found = Vec::with_capacity(keys.len());
            for key in keys {
                if let Some(value) = journal.get(Table::Sessions, &key).map_err(crate::failed)?
                    && let Some((_, record)) = split_value(&value)
                {
                    found.push(decode::<Stored>(record)?);
                }
            }
            Ok(found)
        })
        .await
    }

    pub(crate) async fn sweep_sessions(&self, now: Timestamp) -> u64 {
        self.sessions
            .each(|shard| {
                shard.sweep(
                    |commit| self.journal.durable(commit),
                    |live| live.session.expires_at + symbolon_protocol::time::KEPT_AFTER_END <= now,
                )
            })
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
            let ops = opened(issuer, &key, &session)?;
            let used = session.created_at;
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

    async fn session(
        &self,
        issuer: &IssuerId,
        id: &SessionId,
        now: Timestamp,
    ) -> Result<Outcome<Option<Arc<Session>>>, StoreError> {
        let (route, key) = self.session_route(issuer, id);
        loop {
            let step = self.sessions.with(route, |shard| match shard.get(&key) {
                Known::Absent(epoch) => Err(epoch),
                Known::Ended(commit) => Ok((None, commit)),
                Known::Live(entry) => {
                    entry.used_at = now;
                    let commit = entry.commit;
                    let Some(live) = &mut entry.value else { return Ok((None, commit)) };
                    if live.use_is_due(now) && self.journal.writable() {
                        live.note_written_use(now);
                        // Nobody waits for this write: that a session was used is not worth an answer's time.
                        if let Ok(op) = put(issuer, &key, &live.session, now) {
                            self.journal.append([op]);
                        }
                    }
                    Ok((Some(Arc::clone(&live.session)), commit))
                }
            });
            match step {
                Ok((session, commit)) => {
                    let session = session.filter(|session| session.expires_at > now);
                    return Ok(self.outcome(session, commit));
                }
                Err(epoch) if self.load_session(route, key, epoch).await? => {}
                Err(_) => return Ok(Outcome::settled(None)),
            }
        }
    }

    async fn note_client(
        &self,
        issuer: &IssuerId,
        id: &SessionId,
        client: &ClientId,
    ) -> Result<Outcome<bool>, StoreError> {
        self.check_writable()?;
        let (route, key) = self.session_route(issuer, id);
        loop {
            let step = self.sessions.with(route, |shard| match shard.get(&key) {
                Known::Absent(epoch) => Ok(Err(epoch)),
                Known::Ended(commit) => Ok(Ok((false, commit))),
                Known::Live(entry) => note(&self.journal, issuer, &key, entry, client).map(Ok),
            })?;
            match step {
                Ok((noted, commit)) => return Ok(self.outcome(noted, commit)),
                Err(epoch) if self.load_session(route, key, epoch).await? => {}
                Err(_) => return Ok(Outcome::settled(false)),
            }
        }
    }

    async fn end_session(
        &self,
        issuer: &IssuerId,
        id: &SessionId,
    ) -> Result<Outcome<Option<Arc<Session>>>, StoreError> {
        let (route, key) = self.session_route(issuer, id);
        let (ended, commit) = self.end_session_at(issuer, route, key).await?;
        Ok(self.outcome(ended, commit))
    }

    async fn end_session_by_sid(
        &self,
        issuer: &IssuerId,
        sid: &str,
    ) -> Result<Outcome<Option<Arc<Session>>>, StoreError> {
        match session_of_sid(sid) {
            Some((said, key)) => {
                let (ended, commit) = self.end_session_at(issuer, self.session_home(said, &key), key).await?;
                Ok(self.outcome(ended, commit))
            }
            None => Ok(Outcome::settled(None)),
        }
    }

    async fn end_sessions_of(&self, issuer: &IssuerId, user: &UserId) -> Result<Outcome<u64>, StoreError> {
        let keys = self.sessions_of(issuer, user).await?;
        let stored = self.stored_sessions(keys).await?;
        let mut ended = 0;
        let mut last = CommitNumber::LOADED;
        for Stored { session, .. } in stored {
            let Some((said, key)) = session_of_sid(session.sid.as_str()) else { continue };
            let (one, commit) = self.end_session_at(issuer, self.session_home(said, &key), key).await?;
            ended += u64::from(one.is_some());
            last = last.max(commit);
        }
        Ok(self.outcome(ended, last))
    }

    async fn list_sessions(
        &self,
        issuer: &IssuerId,
        user: Option<&UserId>,
        page: &PageRequest,
        now: Timestamp,
    ) -> Result<Page<ListedSession>, StoreError> {
        let wanted = issuer.clone();
        let stored = match user {
            Some(user) => {
                let keys = self.sessions_of(issuer, user).await?;
                self.stored_sessions(keys).await?
            }
            None => {
                self.journal.flush().await;
                self.blocking(move |journal| {
                    let mut all = Vec::new();
                    for record in journal.scan_prefix(Table::Sessions, &[]) {
                        let (_, value) = record.map_err(crate::failed)?;
                        let Some((_, record)) = split_value(&value) else { continue };
                        all.push(decode::<Stored>(record)?);
                    }
                    Ok(all)
                })
                .await?
            }
        };
        let mut live: Vec<Stored> =
            stored.into_iter().filter(|s| s.issuer == wanted && s.session.expires_at > now).collect();
        live.sort_by(|a, b| {
            b.session.created_at.cmp(&a.session.created_at).then_with(|| a.session.sid.cmp(&b.session.sid))
        });
        let total = live.len() as u64;
        let first = (page.page.max(1) as usize - 1).saturating_mul(page.limit as usize);
        let items = live.into_iter().skip(first).take(page.limit as usize);
        let items =
            items.map(|s| ListedSession { session: Arc::new(s.session), last_used_at: s.used_at }).collect();
        Ok(Page { items, total })
    }
}
