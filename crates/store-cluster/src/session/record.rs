//! A session's record: `L`, the stored last use in 13 digits of milliseconds, then a JSON document; or `E` and the
//! random name of the caller that ended the session.
//!
//! How the session ends by itself stands in a key of its own beside the record, and never in the document: a node of the version
//! before writes a document without the members that it does not know, and would lose it.

use std::sync::LazyLock;

use quick_cache::sync::Cache;
use redis::Value;
use serde::{Deserialize, Serialize};
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::session::{EndByTime, Session, USE_WRITTEN_EVERY};
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

/// The letter of the keys of records.
const RECORD: char = 'r';

/// The letter of the keys that say how sessions end by themselves.
const BY_TIME: char = 'b';

/// How many times a change is tried, if others change the record at the same time.
const MOST_TRIES: u32 = 100;

/// Writes a new session, and beside it how it ends by itself, if the third argument says that. The client library may repeat the
/// command after the session has changed or ended. A repeated command writes the first byte unchanged: that alters nothing, but
/// counts as a write, so that `WAIT` covers the first command.
static OPEN: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local head = redis.call('GETRANGE', KEYS[1], 0, 0)
         if head == '' then
             redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
             if ARGV[3] ~= '' then redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[2]) end
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

/// Replaces the document if it is still the one that was read, byte for byte; returns whether it was. Writes beside it how the
/// session ends by itself, if the third argument says that, and keeps both for as long as the fourth says.
static REPLACE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local record = redis.call('GET', KEYS[1])
         if not record or string.sub(record, 1, 1) ~= 'L' or string.sub(record, 15) ~= ARGV[1] then return 0 end
         redis.call('SET', KEYS[1], string.sub(record, 1, 14) .. ARGV[2], 'KEEPTTL')
         if ARGV[3] ~= '' then
             redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[4])
             redis.call('PEXPIRE', KEYS[1], ARGV[4])
         end
         return 1",
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

/// What Redis has of a session.
struct Kept {
    record: Vec<u8>,
    by_time: Option<Vec<u8>>,
}

impl Kept {
    /// The last use and the document, as they are written; `None` if the session has ended.
    fn parts(&self) -> Option<(&[u8], &[u8])> {
        let (header, document) = self.record.split_at_checked(HEADER)?;
        Some((header.strip_prefix(b"L")?, document))
    }
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

fn parse(issuer: &IssuerId, kept: &Kept) -> Result<Option<StoredSession>, StoreError> {
    let found = parse_any(kept)?.filter(|(own, _)| own == issuer);
    Ok(found.map(|(_, found)| found))
}

/// The session of a record, whichever issuer's it is; `None` if it has ended.
fn parse_any(kept: &Kept) -> Result<Option<(IssuerId, StoredSession)>, StoreError> {
    let Some((used, document)) = kept.parts() else { return Ok(None) };
    let used = std::str::from_utf8(used).ok().and_then(|used| used.parse().ok()).unwrap_or(0);
    let Document { issuer, mut session } = from_document(document)?;
    if let Some(by_time) = &kept.by_time {
        session.by_time = from_document(by_time)?;
    }
    Ok(Some((issuer, StoredSession { session, used_at: Timestamp::from_millis(used) })))
}

/// The document of a session: without how it ends by itself.
fn document(issuer: &IssuerId, session: &Session) -> Result<String, StoreError> {
    let session = Session { by_time: EndByTime::default(), ..session.clone() };
    to_document(&Document { issuer: issuer.clone(), session })
}

/// How a session ends by itself, as it stands beside its record: nothing where it ends at the end of its longest life, and nobody
/// is told.
fn by_time_beside(session: &Session) -> Result<String, StoreError> {
    if session.by_time.is_plain() { Ok(String::new()) } else { to_document(&session.by_time) }
}

fn record(issuer: &IssuerId, session: &Session, used_at: Timestamp) -> Result<Vec<u8>, StoreError> {
    let used = used_at.millis().min(9_999_999_999_999);
    Ok(format!("L{used:013}{}", document(issuer, session)?).into_bytes())
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
        self.session_tag(place.route).key(RECORD, key_text(&place.key).as_bytes())
    }

    /// The key of how the session ends by itself. It has the tag of the session's own, so that one command reads both.
    pub(super) fn by_time_key(&self, place: SessionPlace) -> Key {
        self.session_tag(place.route).key(BY_TIME, key_text(&place.key).as_bytes())
    }

    /// The end of a session's record, as PostgreSQL stores it.
    pub(super) fn ended(&self, place: SessionPlace, until: Timestamp) -> Ended {
        Ended { tag: self.session_tag(place.route), id: format!("r:{}", key_text(&place.key)), until }
    }

    /// Writes the record of a new session, and what stands beside it.
    pub(super) async fn write_record(
        &self,
        issuer: &IssuerId,
        place: SessionPlace,
        session: &Session,
        used_at: Timestamp,
    ) -> Result<(), StoreError> {
        let life = time_to_live(session.kept_until(), self.now()).to_string();
        let (record, by_time) = (record(issuer, session, used_at)?, by_time_beside(session)?);
        let keys = [&self.session_key(place), &self.by_time_key(place)];
        let arguments = [record.as_slice(), life.as_bytes(), by_time.as_bytes()];
        let call = ScriptCall { keys: &keys, arguments: &arguments };
        self.redis.run_durably(&OPEN, call).await.map(drop)
    }

    /// The session at a place, if it is one of the issuer's.
    pub(super) async fn read_session(
        &self,
        issuer: &IssuerId,
        place: SessionPlace,
    ) -> Result<Option<StoredSession>, StoreError> {
        self.read_kept(place).await?.map_or(Ok(None), |kept| parse(issuer, &kept))
    }

    /// The session at a place, whichever issuer's it is.
    pub(super) async fn read_any_session(
        &self,
        place: SessionPlace,
    ) -> Result<Option<(IssuerId, StoredSession)>, StoreError> {
        self.read_kept(place).await?.map_or(Ok(None), |kept| parse_any(&kept))
    }

    async fn read_kept(&self, place: SessionPlace) -> Result<Option<Kept>, StoreError> {
        Ok(self.read_records(place.route, &[place.key]).await?.into_iter().flatten().next())
    }

    /// The sessions of some keys of one shard, each if it is one of the issuer's.
    pub(super) async fn read_sessions(
        &self,
        issuer: &IssuerId,
        route: Route,
        keys: &[[u8; 16]],
    ) -> Result<Vec<Option<StoredSession>>, StoreError> {
        let records = self.read_records(route, keys).await?;
        let found = |kept: Option<Kept>| kept.map_or(Ok(None), |kept| parse(issuer, &kept));
        records.into_iter().map(found).collect()
    }

    /// Reads records, what stands beside them, and the run id of their shard's complete primary, in one command. Accepts only
    /// the answer of a process that has every end of a session.
    async fn read_records(&self, route: Route, keys: &[[u8; 16]]) -> Result<Vec<Option<Kept>>, StoreError> {
        let tag = self.session_tag(route);
        let mut cmd = redis::cmd("MGET");
        cmd.arg(tag.complete_primary().as_bytes());
        for key in keys {
            let text = key_text(key);
            for letter in [RECORD, BY_TIME] {
                cmd.arg(tag.key(letter, text.as_bytes()).as_bytes());
            }
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
        cmd.arg(self.session_key(place).as_bytes()).arg(self.by_time_key(place).as_bytes());
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
        for _ in 0..MOST_TRIES {
            let Some(kept) = self.read_kept(place).await? else { return Ok(false) };
            let Some(mut found) = parse(issuer, &kept)? else { return Ok(false) };
            let was_told = found.session.by_time.is_told();
            if !found.session.note(client, is_told) {
                return Ok(false);
            }
            if found.session.by_time.is_told() && !was_told {
                self.note_end(place, &found.session, found.ends_at()).await?;
            }
            if self.replace_session(issuer, place, &kept, &found.session).await? {
                return Ok(true);
            }
            // Otherwise another request has changed or ended the session meanwhile.
        }
        Err(StoreError::Conflict)
    }

    /// Writes a changed session, if its document is still the one that was read; returns whether it was.
    async fn replace_session(
        &self,
        issuer: &IssuerId,
        place: SessionPlace,
        read: &Kept,
        session: &Session,
    ) -> Result<bool, StoreError> {
        // What was read, not what it would be if it were written now: that may be something else, after a newer version.
        let Some((_, seen)) = read.parts() else { return Ok(false) };
        let (changed, by_time) = (document(issuer, session)?, by_time_beside(session)?);
        let life = time_to_live(session.kept_until(), self.now()).to_string();
        let keys = [&self.session_key(place), &self.by_time_key(place)];
        let arguments = [seen, changed.as_bytes(), by_time.as_bytes(), life.as_bytes()];
        let call = ScriptCall { keys: &keys, arguments: &arguments };
        Ok(self.redis.run_durably(&REPLACE, call).await?.read::<u8>()? == 1)
    }
}

/// The run id of the complete primary, and what follows it: each record, and what stands beside it.
type MarkAndRecords = (Option<Vec<u8>>, Vec<Option<Kept>>);

fn complete_and_records(value: Value) -> Result<MarkAndRecords, StoreError> {
    let read = |value: Value| match value {
        Value::BulkString(bytes) => Some(bytes),
        _ => None,
    };
    let Value::Array(values) = value else {
        return Err(StoreError::Failed("Redis answered MGET with something else than a list".into()));
    };
    let mut records = Vec::with_capacity(values.len() / 2);
    let mut values = values.into_iter().map(read);
    let complete = values.next().flatten();
    while let Some(record) = values.next() {
        let by_time = values.next().flatten();
        records.push(record.map(|record| Kept { record, by_time }));
    }
    Ok((complete, records))
}
