//! Lists sessions: reads the disk after all pending changes have reached it.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;

use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::session::Session;
use symbolon_protocol::session_origin::SessionOrigin;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::{ListedSession, NextSessions, Page, PageRequest, SessionCursor};
use symbolon_store::shard::{record_key, session_of_sid};

use super::live::as_it_counts;
use super::{Stored, user_key};
use crate::journal::{Journal, Table, split_value};
use crate::sharded::Key;
use crate::{EmbeddedStore, decode, failed};

/// How many records one piece of a listing reads at most: some belong to other issuers, and some have ended.
const MOST_LOOKED_AT: usize = 4_096;

impl Stored {
    pub(super) fn read(value: &[u8]) -> Result<Self, StoreError> {
        let (_, record) =
            split_value(value).ok_or_else(|| StoreError::Failed("a session is cut short".into()))?;
        decode(record)
    }

    /// When it ends by itself.
    pub(super) fn ends_at(&self) -> Timestamp {
        self.session.ends_at(as_it_counts(self.used_at))
    }

    pub(super) fn listed(self) -> ListedSession {
        let (ends_at, last_used_at) = (self.ends_at(), self.used_at);
        ListedSession { session: Arc::new(self.session), last_used_at, ends_at, origin: None }
    }
}

/// Where a session began, by its entry in its user's list.
fn noted_at(journal: &Journal, entry: &[u8]) -> Result<Option<SessionOrigin>, StoreError> {
    let Some(value) = journal.get(Table::SessionsOfUser, entry).map_err(failed)? else { return Ok(None) };
    let noted = split_value(&value).map(|(_, origin)| origin).filter(|origin| !origin.is_empty());
    noted.map(decode).transpose()
}

impl EmbeddedStore {
    /// The keys of a user's sessions.
    pub(super) async fn sessions_of(&self, issuer: &IssuerId, user: &UserId) -> Result<Vec<Key>, StoreError> {
        self.journal.flush().await;
        let prefix = record_key(issuer, user.as_str());
        self.blocking(move |journal| {
            let mut keys = Vec::new();
            for record in journal.scan_prefix(Table::SessionsOfUser, &prefix).map_err(failed)? {
                let (key, _) = record.map_err(failed)?;
                keys.extend(key.last_chunk::<16>().copied());
            }
            Ok(keys)
        })
        .await
    }

    /// Where the sessions of a user began, by their keys, as far as that was noted.
    async fn origins_of(
        &self,
        issuer: &IssuerId,
        user: &UserId,
    ) -> Result<HashMap<Key, SessionOrigin>, StoreError> {
        let prefix = record_key(issuer, user.as_str());
        self.blocking(move |journal| {
            let mut origins = HashMap::new();
            for record in journal.scan_prefix(Table::SessionsOfUser, &prefix).map_err(failed)? {
                let (key, value) = record.map_err(failed)?;
                let noted = split_value(&value).map(|(_, origin)| origin).filter(|origin| !origin.is_empty());
                if let (Some(key), Some(origin)) = (key.last_chunk::<16>(), noted) {
                    origins.insert(*key, decode(origin)?);
                }
            }
            Ok(origins)
        })
        .await
    }

    /// Where a session began, if that was noted.
    pub(super) async fn origin_of(
        &self,
        issuer: &IssuerId,
        session: &Session,
    ) -> Result<Option<SessionOrigin>, StoreError> {
        let Some((_, key)) = session_of_sid(session.sid.as_str()) else { return Ok(None) };
        self.journal.flush().await;
        let entry = user_key(issuer, &session.user, &key);
        self.blocking(move |journal| noted_at(journal, &entry)).await
    }

    /// Reads the sessions under these keys from the disk; those that it does not have are left out.
    pub(super) async fn stored_sessions(&self, keys: Vec<Key>) -> Result<Vec<Stored>, StoreError> {
        self.blocking(move |journal| {
            let mut found = Vec::with_capacity(keys.len());
            for key in keys {
                if let Some(value) = journal.get(Table::Sessions, &key).map_err(failed)? {
                    found.push(Stored::read(&value)?);
                }
            }
            Ok(found)
        })
        .await
    }

    /// As [`stored_sessions`](Self::stored_sessions), without the sessions that have ended.
    pub(super) async fn live_sessions(
        &self,
        keys: Vec<Key>,
        now: Timestamp,
    ) -> Result<Vec<Stored>, StoreError> {
        let mut live = self.stored_sessions(keys).await?;
        live.retain(|stored| stored.ends_at() > now);
        Ok(live)
    }

    pub(super) async fn page_of_user(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        page: &PageRequest,
        now: Timestamp,
    ) -> Result<Page<ListedSession>, StoreError> {
        let keys = self.sessions_of(issuer, user).await?;
        let mut live = self.live_sessions(keys, now).await?;
        live.sort_by(|a, b| {
            b.session.created_at.cmp(&a.session.created_at).then_with(|| a.session.sid.cmp(&b.session.sid))
        });
        let total = live.len() as u64;
        let items = live.into_iter().skip(page.skipped() as usize).take(page.limit() as usize);
        let mut origins = self.origins_of(issuer, user).await?;
        let one = |stored: Stored| {
            let key = session_of_sid(stored.session.sid.as_str()).map(|(_, key)| key);
            let origin = key.and_then(|key| origins.remove(&key));
            ListedSession { origin, ..stored.listed() }
        };
        Ok(Page { items: items.map(one).collect(), total })
    }

    /// Reads the next sessions of an issuer, in the order of their keys, which are digests.
    pub(super) async fn next_stored(
        &self,
        issuer: &IssuerId,
        after: Option<SessionCursor>,
        limit: u32,
        now: Timestamp,
    ) -> Result<NextSessions, StoreError> {
        self.journal.flush().await;
        let issuer = issuer.clone();
        let limit = limit.clamp(1, 1_000) as usize;
        self.blocking(move |journal| {
            let from = after.map_or(Bound::Unbounded, |cursor| Bound::Excluded(cursor.0.to_vec()));
            let mut items = Vec::new();
            let scan = journal.scan(Table::Sessions, (from, Bound::Unbounded)).map_err(failed)?;
            for (looked_at, record) in scan.enumerate() {
                let (key, value) = record.map_err(failed)?;
                let stored = Stored::read(&value)?;
                if stored.issuer == issuer && stored.ends_at() > now {
                    let own = key.first_chunk::<16>();
                    let entry = own.map(|own| user_key(&issuer, &stored.session.user, own));
                    let origin = entry.map(|entry| noted_at(journal, &entry)).transpose()?.flatten();
                    items.push(ListedSession { origin, ..stored.listed() });
                }
                if items.len() == limit || looked_at + 1 == MOST_LOOKED_AT {
                    let next = key.first_chunk::<16>().copied().map(SessionCursor);
                    return Ok(NextSessions { items, next });
                }
            }
            Ok(NextSessions { items, next: None })
        })
        .await
    }
}
