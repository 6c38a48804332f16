//! Lists of sessions: those of a user, and those of an issuer in the order of their keys.
//!
//! A list has every session that was acknowledged. It may also name sessions that ended or were lost: so each session is
//! read before it is listed.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

use futures_util::future::{join, try_join, try_join_all};
use symbolon_protocol::grant::{SLOTS, Slot};
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::session::{Session, TOLD_WITHIN};
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::StoreError;
use symbolon_store::port::{Issuers, ListedSession, NextSessions, Page, PageRequest, SessionCursor};
use symbolon_store::shard::Route;
use symbolon_store::transfer::Record;

use super::record::{SessionPlace, StoredSession};
use super::slot_of_key;
use crate::ClusterStore;
use crate::one_time::time_to_live;
use crate::redis::{Key, Script, ScriptCall};

/// Parts of the issuer's list that are read together.
const PARTS_AT_ONCE: u32 = 128;

/// Parts of the issuer's list that one sweep looks through.
const PARTS_SWEPT: u32 = 64;

/// How many members of a part are read at a time.
const SWEPT_AT_ONCE: usize = 1_000;

/// Adds a session to its user's list, removes sessions that ended long ago, and lets the list expire with its last session.
static ADD_TO_USER_LIST: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[3])
         redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
         if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
         return 1",
    )
});

/// One entry of a list, 32 bytes that sort by key: the session's key, route and expiry.
pub(super) struct ListEntry {
    pub(super) place: SessionPlace,
    pub(super) expires_at: u64,
}

impl ListEntry {
    pub(super) fn bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        let parts = [
            &self.place.key[..],
            &self.place.route.generation.to_be_bytes(),
            &self.place.route.shard.to_be_bytes(),
            &self.expires_at.to_be_bytes(),
        ];
        for (to, from) in bytes.iter_mut().zip(parts.into_iter().flatten()) {
            *to = *from;
        }
        bytes
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (key, rest) = bytes.split_first_chunk::<16>()?;
        let (generation, rest) = rest.split_first_chunk::<4>()?;
        let (shard, rest) = rest.split_first_chunk::<4>()?;
        let expires_at = u64::from_be_bytes(*rest.first_chunk::<8>()?);
        let route = Route { generation: u32::from_be_bytes(*generation), shard: u32::from_be_bytes(*shard) };
        Some(Self { place: SessionPlace { route, key: *key }, expires_at })
    }
}

/// Keys of sessions, each with its position in the answer.
type NumberedKeys = Vec<(usize, [u8; 16])>;

impl ClusterStore {
    fn user_list(&self, issuer: &IssuerId, user: &UserId) -> Key {
        let tag = self.redis.tags().slot(Slot::of(issuer, user.as_str()));
        tag.key('x', format!("{issuer}:{user}").as_bytes())
    }

    /// The issuer's list is in 1,024 parts, by the first ten bits of the key.
    fn issuer_list(&self, issuer: &IssuerId, part: u32) -> Key {
        self.redis.tags().slot(Slot::new(part)).key('y', issuer.as_str().as_bytes())
    }

    /// Writes a session's record, and its entries in the lists of its user and its issuer.
    pub(crate) async fn open_at(
        &self,
        issuer: &IssuerId,
        place: SessionPlace,
        session: &Session,
        used_at: Timestamp,
    ) -> Result<(), StoreError> {
        let lists = try_join(
            self.add_to_user_list(issuer, place, session),
            self.add_to_issuer_list(issuer, place, session),
        );
        if session.by_time.is_looked_at() {
            self.note_end(place, session, session.ends_at(used_at)).await?;
        }
        try_join(self.write_record(issuer, place, session, used_at), lists).await.map(drop)
    }

    async fn add_to_user_list(
        &self,
        issuer: &IssuerId,
        place: SessionPlace,
        session: &Session,
    ) -> Result<(), StoreError> {
        let now = self.now();
        let end = session.expires_at.millis();
        let long_ago = now.millis().saturating_sub(u64::try_from(KEPT_AFTER_END.as_millis()).unwrap_or(0));
        let entry = ListEntry { place, expires_at: end }.bytes();
        let numbers = [end, long_ago, time_to_live(session.expires_at, now)].map(|number| number.to_string());
        let [end, long_ago, life] = &numbers;
        let arguments = [end.as_bytes(), &entry, long_ago.as_bytes(), life.as_bytes()];
        let key = self.user_list(issuer, &session.user);
        let call = ScriptCall { keys: &[&key], arguments: &arguments };
        self.redis.run_durably(&ADD_TO_USER_LIST, call).await.map(drop)
    }

    async fn add_to_issuer_list(
        &self,
        issuer: &IssuerId,
        place: SessionPlace,
        session: &Session,
    ) -> Result<(), StoreError> {
        let entry = ListEntry { place, expires_at: session.expires_at.millis() }.bytes();
        let mut cmd = redis::cmd("ZADD");
        cmd.arg(self.issuer_list(issuer, slot_of_key(&place.key)).as_bytes()).arg(0).arg(&entry);
        self.redis.write_durably(&cmd).await.map(drop)
    }

    /// Removes a session that has ended from its lists. An entry that stays is not listed either, because the record is
    /// gone.
    pub(super) async fn unlist(&self, issuer: &IssuerId, place: SessionPlace, session: &Session) {
        let entry = ListEntry { place, expires_at: session.expires_at.millis() }.bytes();
        let remove = |key: &Key| {
            let mut cmd = redis::cmd("ZREM");
            cmd.arg(key.as_bytes()).arg(&entry);
            cmd
        };
        let of_issuer = remove(&self.issuer_list(issuer, slot_of_key(&place.key)));
        let of_user = remove(&self.user_list(issuer, &session.user));
        // Errors are ignored: what stays in the issuer's list is removed by the sweep, what stays in the user's list
        // when the user signs in again or the list expires.
        drop(join(self.redis.ask(&of_user), self.redis.ask(&of_issuer)).await);
    }

    /// The places of the sessions that a user may have.
    pub(super) async fn places_of_user(
        &self,
        issuer: &IssuerId,
        user: &UserId,
    ) -> Result<Vec<SessionPlace>, StoreError> {
        let mut cmd = redis::cmd("ZRANGE");
        cmd.arg(self.user_list(issuer, user).as_bytes()).arg(0).arg(-1);
        let entries: Vec<Vec<u8>> = self.redis.ask(&cmd).await?.read()?;
        Ok(entries.iter().filter_map(|entry| ListEntry::parse(entry)).map(|entry| entry.place).collect())
    }

    /// The sessions at some places, in their order, one command for each shard.
    async fn sessions_at(
        &self,
        issuer: &IssuerId,
        places: &[SessionPlace],
    ) -> Result<Vec<(SessionPlace, StoredSession)>, StoreError> {
        let mut shards: BTreeMap<(u32, u32), NumberedKeys> = BTreeMap::new();
        for (number, place) in places.iter().enumerate() {
            let route = (place.route.generation, place.route.shard);
            shards.entry(route).or_default().push((number, place.key));
        }
        let mut read = Vec::with_capacity(shards.len());
        for ((generation, shard), wanted) in shards {
            read.push(self.numbered(issuer, Route { generation, shard }, wanted));
        }
        let mut found: Vec<_> = try_join_all(read).await?.into_iter().flatten().collect();
        found.sort_by_key(|(number, ..)| *number);
        Ok(found.into_iter().map(|(_, place, found)| (place, found)).collect())
    }

    /// The sessions of some keys of one shard, with the numbers of the keys.
    async fn numbered(
        &self,
        issuer: &IssuerId,
        route: Route,
        wanted: NumberedKeys,
    ) -> Result<Vec<(usize, SessionPlace, StoredSession)>, StoreError> {
        let keys: Vec<_> = wanted.iter().map(|(_, key)| *key).collect();
        let found = self.read_sessions(issuer, route, &keys).await?;
        let one = |((number, key), found): ((usize, [u8; 16]), Option<StoredSession>)| {
            found.map(|found| (number, SessionPlace { route, key }, found))
        };
        Ok(wanted.into_iter().zip(found).filter_map(one).collect())
    }

    /// Live sessions of a user, newest first.
    pub(super) async fn page_of_user(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        page: &PageRequest,
        now: Timestamp,
    ) -> Result<Page<ListedSession>, StoreError> {
        let mut live = self.live_of_user(issuer, user, now).await?;
        live.sort_by_key(|listed| std::cmp::Reverse(listed.session.created_at));
        let total = live.len() as u64;
        let items = live.into_iter().skip(page.skipped() as usize).take(page.limit() as usize);
        Ok(Page { items: self.with_origins(issuer, items.collect()).await?, total })
    }

    /// Live sessions of a user, in any order.
    pub(super) async fn live_of_user(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        now: Timestamp,
    ) -> Result<Vec<ListedSession>, StoreError> {
        let places = self.places_of_user(issuer, user).await?;
        let mut live = self.sessions_at(issuer, &places).await?;
        live.retain(|(_, found)| found.ends_at() > now);
        Ok(live.into_iter().map(|(place, found)| self.listed(place, found)).collect())
    }

    /// How many entries a user's list has: at least as many as the user has live sessions.
    pub(super) async fn count_of_user(&self, issuer: &IssuerId, user: &UserId) -> Result<u64, StoreError> {
        let mut cmd = redis::cmd("ZCARD");
        cmd.arg(self.user_list(issuer, user).as_bytes());
        self.redis.ask(&cmd).await?.read()
    }

    /// Live sessions of an issuer in the order of their keys.
    pub(super) async fn next_listed(
        &self,
        issuer: &IssuerId,
        after: Option<SessionCursor>,
        limit: u32,
        now: Timestamp,
    ) -> Result<NextSessions, StoreError> {
        let limit = limit.clamp(1, 1_000) as usize;
        let (mut live, next) = self.next_kept(issuer, after, limit).await?;
        live.retain(|(_, found)| found.ends_at() > now);
        let items = live.into_iter().map(|(place, found)| self.listed(place, found)).collect();
        Ok(NextSessions { items: self.with_origins(issuer, items).await?, next })
    }

    /// As [`next_listed`](Self::next_listed), in the form in which sessions are exported: with their keys, and the last uses
    /// as they are stored, also those whose time is over and which are kept beyond `ended`.
    pub(crate) async fn next_found(
        &self,
        issuer: &IssuerId,
        after: Option<SessionCursor>,
        limit: usize,
        ended: Timestamp,
    ) -> Result<(Vec<Record>, Option<SessionCursor>), StoreError> {
        let (mut kept, next) = self.next_kept(issuer, after, limit).await?;
        kept.retain(|(_, found)| found.session.kept_until() > ended);
        let one = async |(place, found): (SessionPlace, StoredSession)| -> Result<Record, StoreError> {
            let origin = self.origin_at(issuer, place).await?;
            let StoredSession { session, used_at } = found;
            let (issuer, session) = (issuer.clone(), Box::new(session));
            Ok(Record::Session { issuer, key: place.key, session, used_at, origin })
        };
        Ok((try_join_all(kept.into_iter().map(one)).await?, next))
    }

    async fn next_kept(
        &self,
        issuer: &IssuerId,
        after: Option<SessionCursor>,
        limit: usize,
    ) -> Result<(Vec<(SessionPlace, StoredSession)>, Option<SessionCursor>), StoreError> {
        let mut entries = Vec::new();
        let mut part = after.map_or(0, |after| slot_of_key(&after.0));
        let parts_in_all = u32::from(SLOTS);
        while part < parts_in_all && entries.len() < limit {
            let parts = part..(part + PARTS_AT_ONCE).min(parts_in_all);
            part = parts.end;
            let mut read = Vec::with_capacity(PARTS_AT_ONCE as usize);
            for part in parts {
                read.push(self.entries_after(issuer, part, after, limit));
            }
            entries.extend(try_join_all(read).await?.into_iter().flatten());
        }
        // If the page is full, there may be more.
        let read_up_to = entries.get(limit.saturating_sub(1)).map(|last| last.place.key);
        entries.truncate(limit);
        let places: Vec<SessionPlace> = entries.iter().map(|entry| entry.place).collect();
        Ok((self.sessions_at(issuer, &places).await?, read_up_to.map(SessionCursor)))
    }

    /// Deletes every session in the issuers' lists, and the lists: what an unfinished import has left.
    pub(crate) async fn forget_sessions(&self) -> Result<(), StoreError> {
        for issuer in self.issuers().await? {
            for part in 0..u32::from(SLOTS) {
                self.forget_part(&issuer.id, part).await?;
            }
        }
        self.forget_ends().await
    }

    async fn forget_part(&self, issuer: &IssuerId, part: u32) -> Result<(), StoreError> {
        let list = self.issuer_list(issuer, part);
        loop {
            let entries = self.entries_after(issuer, part, None, SWEPT_AT_ONCE).await?;
            if entries.is_empty() {
                return Ok(());
            }
            try_join_all(entries.iter().map(|entry| self.delete_record(entry.place))).await?;
            // Entries that are left in users' lists lead to no record, and are not listed.
            let mut cmd = redis::cmd("ZREM");
            cmd.arg(list.as_bytes())
                .arg(entries.iter().map(|entry| entry.bytes().to_vec()).collect::<Vec<_>>());
            self.redis.write_durably(&cmd).await?;
        }
    }

    async fn entries_after(
        &self,
        issuer: &IssuerId,
        part: u32,
        after: Option<SessionCursor>,
        limit: usize,
    ) -> Result<Vec<ListEntry>, StoreError> {
        let from = match after {
            // A lower bound that sorts after every entry of this key.
            Some(SessionCursor(key)) => [&b"["[..], &key, &[0xff; 17]].concat(),
            None => b"-".to_vec(),
        };
        let mut cmd = redis::cmd("ZRANGE");
        cmd.arg(self.issuer_list(issuer, part).as_bytes()).arg(from).arg("+").arg("BYLEX");
        cmd.arg("LIMIT").arg(0).arg(limit);
        let entries: Vec<Vec<u8>> = self.redis.ask(&cmd).await?.read()?;
        Ok(entries.iter().filter_map(|entry| ListEntry::parse(entry)).collect())
    }

    /// Removes the entries of sessions that are kept no more from the next parts of the issuers' lists; returns how many.
    pub(crate) async fn sweep_session_lists(
        &self,
        issuers: &[IssuerId],
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let first = self.swept.fetch_add(PARTS_SWEPT, Ordering::Relaxed);
        let mut gone = 0;
        for part in (first..first.saturating_add(PARTS_SWEPT)).map(|part| part % u32::from(SLOTS)) {
            for issuer in issuers {
                gone += self.sweep_part(issuer, part, now).await?;
            }
        }
        Ok(gone)
    }

    async fn sweep_part(&self, issuer: &IssuerId, part: u32, now: Timestamp) -> Result<u64, StoreError> {
        let key = self.issuer_list(issuer, part);
        let (mut after, mut gone) = (None, 0);
        loop {
            let entries = self.entries_after(issuer, part, after, SWEPT_AT_ONCE).await?;
            // An entry does not say whether a client is to be told; then the session is kept for so long, and exported.
            let long_ago = |entry: &&ListEntry| {
                Timestamp::from_millis(entry.expires_at) + TOLD_WITHIN + KEPT_AFTER_END <= now
            };
            let dead: Vec<_> = entries.iter().filter(long_ago).map(|entry| entry.bytes().to_vec()).collect();
            if !dead.is_empty() {
                let mut cmd = redis::cmd("ZREM");
                cmd.arg(key.as_bytes()).arg(&dead);
                gone += self.redis.ask(&cmd).await?.read::<u64>()?;
            }
            match entries.last() {
                Some(last) if entries.len() == SWEPT_AT_ONCE => after = Some(SessionCursor(last.place.key)),
                _ => return Ok(gone),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_sort_by_key_and_come_back() {
        let place = |first| SessionPlace { route: Route { generation: 3, shard: 900 }, key: [first; 16] };
        let entries = [1, 7, 200].map(|first| ListEntry { place: place(first), expires_at: 5 }.bytes());
        assert!(entries.is_sorted());
        let read = ListEntry::parse(&entries[1]).unwrap();
        assert_eq!((read.place.key, read.place.route, read.expires_at), ([7; 16], place(0).route, 5));
        assert!(ListEntry::parse(&entries[0][..31]).is_none());
    }
}
