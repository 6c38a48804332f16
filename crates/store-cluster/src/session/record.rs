//! A session's record: `L`, the stored last use in 13 digits of milliseconds, then a JSON document; or `E` and the
//! random name of the caller that ended the session.

use std::sync::LazyLock;

use quick_cache::sync::Cache;
use redis::Value;
use serde::{Deserialize, Serialize};
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::session::{Session, USE_WRITTEN_EVERY};
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::shard::{Route, ShardKind};

use crate::one_time::time_to_live;
use crate::redis::{Answered, Key, Script, ScriptCall, Tag};
use crate::revocation::Ended;
use crate::{ClusterStore, from_document, key_text, to_document};

/// Sessions whose last use this node remembers.
const USES_KEPT: usize = 100_000;

/// Where the document begins.
const HEADER: usize = 14;

/// Writes a new session. The client library may repeat the command after the session has changed or ended. A repeated
/// command writes the first byte unchanged: that alters nothing, but counts as a write, so that `WAIT` covers the first
/// command.
static OPEN: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local head = redis.call('GETRANGE', KEYS[1], 0, 0)
         if head == '' then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
         else redis.call('SETRANGE', KEYS[1], 0, head) end
         return 1",
    )
});

/// Writes the last use, if the session has not ended.
static USE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('GETRANGE', KEYS[1], 0, 0) == 'L' then redis.call('SETRANGE', KEYS[1], 1, ARGV[1]) end
         return 1",
    )
});

/// Replaces the document if it is still the one that was read, and returns nil; otherwise returns the record. It is kept for as
/// long as the third argument says, if that is not empty.
static REPLACE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local record = redis.call('GET', KEYS[1])
         if not record then return '' end
         if string.sub(record, 1, 1) ~= 'L' or string.sub(record, 15) ~= ARGV[1] then return record end
         redis.call('SET', KEYS[1], string.sub(record, 1, 14) .. ARGV[2], 'KEEPTTL')
         if ARGV[3] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
         return false",
    )
});

/// Where a session is: its shard and its key there.
#[derive(Clone, Copy)]
pub(crate) struct SessionPlace {
    pub(super) route: Route,
    pub(super) key: [u8; 16],
}

/// The issuer is part of the key's digest too. But a key that comes from a `sid` was not computed for the issuer that
/// is asked, so the issuer is stored and compared.
#[derive(Serialize, Deserialize)]
struct Document {
    issuer: IssuerId,
    session: Session,
}

#[derive(Serialize)]
struct DocumentRef<'a> {
    issuer: &'a IssuerId,
    session: &'a Session,
}

/// A session as it was read.
pub(super) struct StoredSession {
    pub(super) session: Session,
    pub(super) used_at: Timestamp,
}

impl StoredSession {
    /// Whether the last use must be stored again.
    pub(super) fn use_is_due(&self, now: Timestamp) -> bool {
        now.since(self.used_at) >= USE_WRITTEN_EVERY
    }

    /// When it ends by itself: the same on every node, because the use that was written counts.
    pub(super) fn ends_at(&self) -> Timestamp {
        self.session.ends_at(self.used_at)
    }
}

fn parse(issuer: &IssuerId, record: &[u8]) -> Result<Option<StoredSession>, StoreError> {
    let found = parse_any(record)?.filter(|(own, _)| own == issuer);
    Ok(found.map(|(_, found)| found))
}

/// The session of a record, whichever issuer's it is; `None` if it has ended.
fn parse_any(record: &[u8]) -> Result<Option<(IssuerId, StoredSession)>, StoreError> {
    let Some((header, document)) =
        record.split_at_checked(HEADER).filter(|(header, _)| header.starts_with(b"L"))
    else {
        return Ok(None);
    };
    let used = header.get(1..).and_then(|used| std::str::from_utf8(used).ok()?.parse().ok()).unwrap_or(0);
    let Document { issuer, session } = from_document(document)?;
    Ok(Some((issuer, StoredSession { session, used_at: Timestamp::from_millis(used) })))
}

fn record(issuer: &IssuerId, session: &Session, used_at: Timestamp) -> Result<Vec<u8>, StoreError> {
    let used = used_at.millis().min(9_999_999_999_999);
    Ok(format!("L{used:013}{}", to_document(&DocumentRef { issuer, session })?).into_bytes())
}

/// The last uses that this node has seen. The stored ones are up to a minute older.
pub(crate) struct Uses(Cache<[u8; 16], u64>);

impl Uses {
    pub(crate) fn new() -> Self {
        Self(Cache::new(USES_KEPT))
    }

    pub(super) fn note(&self, key: &[u8; 16], now: Timestamp) {
        self.0.insert(*key, now.millis());
    }

    pub(super) fn get(&self, key: &[u8; 16]) -> Option<Timestamp> {
        self.0.get(key).map(Timestamp::from_millis)
    }

    pub(super) fn forget(&self, key: &[u8; 16]) {
        self.0.remove(key);
    }
}

impl ClusterStore {
    pub(super) fn session_tag(&self, route: Route) -> Tag {
        self.redis.tags().shard(ShardKind::Session, route)
    }

    pub(super) fn session_key(&self, place: SessionPlace) -> Key {
        self.session_tag(place.route).key('r', key_text(&place.key).as_bytes())
    }

    /// The end of a session's record, as PostgreSQL stores it.
    pub(super) fn ended(&self, place: SessionPlace, until: Timestamp) -> Ended {
        Ended { tag: self.session_tag(place.route), id: format!("r:{}", key_text(&place.key)), until }
    }

    /// Writes the record of a new session.
    pub(super) async fn write_record(
        &self,
        issuer: &IssuerId,
        place: SessionPlace,
        session: &Session,
        used_at: Timestamp,
    ) -> Result<(), StoreError> {
        let life = time_to_live(session.kept_until(), self.now()).to_string();
        let record = record(issuer, session, used_at)?;
        let call = ScriptCall { keys: &[&self.session_key(place)], arguments: &[&record, life.as_bytes()] };
        self.redis.run_durably(&OPEN, call).await.map(drop)
    }

    /// The session at a place, if it is one of the issuer's.
    pub(super) async fn read_session(
        &self,
        issuer: &IssuerId,
        place: SessionPlace,
    ) -> Result<Option<StoredSession>, StoreError> {
        let records = self.read_records(place.route, &[place.key]).await?;
        match records.first() {
            Some(Some(record)) => parse(issuer, record),
            _ => Ok(None),
        }
    }

    /// The session at a place, whichever issuer's it is.
    pub(super) async fn read_any_session(
        &self,
        place: SessionPlace,
    ) -> Result<Option<(IssuerId, StoredSession)>, StoreError> {
        let records = self.read_records(place.route, &[place.key]).await?;
        records.into_iter().flatten().next().map_or(Ok(None), |record| parse_any(&record))
    }

    /// The sessions of some keys of one shard, each if it is one of the issuer's.
    pub(super) async fn read_sessions(
        &self,
        issuer: &IssuerId,
        route: Route,
        keys: &[[u8; 16]],
    ) -> Result<Vec<Option<StoredSession>>, StoreError> {
        let records = self.read_records(route, keys).await?;
        let found = |record: Option<Vec<u8>>| record.map_or(Ok(None), |record| parse(issuer, &record));
        records.into_iter().map(found).collect()
    }

    /// Reads records, and the run id of their shard's complete primary, in one command. Accepts only the answer of a
    /// process that has every end of a session.
    async fn read_records(
        &self,
        route: Route,
        keys: &[[u8; 16]],
    ) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let tag = self.session_tag(route);
        let mut cmd = redis::cmd("MGET");
        cmd.arg(tag.complete_primary().as_bytes());
        for key in keys {
            cmd.arg(tag.key('r', key_text(key).as_bytes()).as_bytes());
        }
        for _ in 0..2 {
            let Answered { value, primary } = self.redis.ask_at(tag.hash_slot(), &cmd).await?;
            let (complete, records) = complete_and_records(value)?;
            if self.confirmed(&tag, complete.as_deref(), primary).await? {
                return Ok(records);
            }
        }
        Err(StoreError::Unavailable("Redis: the sessions of this shard are being brought up to date".into()))
    }

    /// Deletes a record. Nothing then shows that the session has ended.
    pub(super) async fn delete_record(&self, place: SessionPlace) -> Result<(), StoreError> {
        let mut cmd = redis::cmd("DEL");
        cmd.arg(self.session_key(place).as_bytes());
        self.redis.write_durably(&cmd).await.map(drop)
    }

    /// Stores the last use, without waiting for a replica: a lost one does less harm than a slower answer.
    pub(super) async fn write_use(&self, place: SessionPlace, now: Timestamp) {
        let used = format!("{:013}", now.millis().min(9_999_999_999_999));
        let call = ScriptCall { keys: &[&self.session_key(place)], arguments: &[used.as_bytes()] };
        if let Err(error) = self.redis.run(&USE, call).await {
            tracing::debug!(target: "symbolon::store", %error, "the use of a session was not noted");
        }
    }

    /// Adds a client to the clients of a session; returns whether it was new.
    pub(super) async fn note_at(
        &self,
        issuer: &IssuerId,
        place: SessionPlace,
        client: &ClientId,
        is_told: bool,
    ) -> Result<bool, StoreError> {
        let Some(found) = self.read_session(issuer, place).await? else { return Ok(false) };
        let (ends_at, mut session) = (found.ends_at(), found.session);
        loop {
            let seen = to_document(&DocumentRef { issuer, session: &session })?;
            let was_told = session.by_time.is_told();
            if !session.note(client, is_told) {
                return Ok(false);
            }
            let begins = session.by_time.is_told() && !was_told;
            let life = if begins {
                self.note_end(place, &session, ends_at).await?;
                time_to_live(session.kept_until(), self.now()).to_string()
            } else {
                String::new()
            };
            let noted = to_document(&DocumentRef { issuer, session: &session })?;
            let arguments = [seen.as_bytes(), noted.as_bytes(), life.as_bytes()];
            let call = ScriptCall { keys: &[&self.session_key(place)], arguments: &arguments };
            let changed: Option<Vec<u8>> = self.redis.run_durably(&REPLACE, call).await?.read()?;
            // Otherwise another request has changed or ended the session meanwhile.
            let Some(changed) = changed else { return Ok(true) };
            match parse(issuer, &changed)? {
                Some(found) => session = found.session,
                None => return Ok(false),
            }
        }
    }
}

/// The run id of the complete primary, and the records that follow it.
type MarkAndRecords = (Option<Vec<u8>>, Vec<Option<Vec<u8>>>);

fn complete_and_records(value: Value) -> Result<MarkAndRecords, StoreError> {
    let read = |value: Value| match value {
        Value::BulkString(bytes) => Some(bytes),
        _ => None,
    };
    let Value::Array(values) = value else {
        return Err(StoreError::Failed("Redis answered MGET with something else than a list".into()));
    };
    let mut values = values.into_iter().map(read);
    let complete = values.next().flatten();
    Ok((complete, values.collect()))
}
