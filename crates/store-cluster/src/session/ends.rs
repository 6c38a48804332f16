//! When sessions end by themselves that somebody must look at: an entry for each, in the order of time.
//!
//! The entries are in a few parts, each in a constant slot, so that few commands find what is due in all shards. An entry is
//! written before the session: one that leads to no such session is dropped when its time comes. It says
//! when to look at the session, not when that ends: whoever looks and finds it used since puts the entry behind.
//!
//! A part that is out of reach, and a session that is, or that cannot be read, hold up none of the others: their entries come
//! again.

use std::sync::{Arc, LazyLock};

use futures_util::future::join_all;
use symbolon_protocol::grant::{SLOTS, Slot};
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::session::Session;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::EndedSessions;

use super::list::ListEntry;
use super::record::{SessionPlace, StoredSession};
use super::slot_of_key;
use crate::ClusterStore;
use crate::redis::{Key, Script, ScriptCall};

/// In how many parts the entries are.
const PARTS: u32 = 16;

/// How many sessions are looked at together.
const LOOKS_AT_ONCE: usize = 256;

/// Takes what is due, and puts it behind until the claim is over. Returns the entries.
static CLAIM: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])
         for _, entry in ipairs(due) do redis.call('ZADD', KEYS[1], ARGV[2], entry) end
         return due",
    )
});

/// What failed in one claim. It is said in one line, because what is out of reach fails for many sessions.
#[derive(Default)]
struct Failures {
    count: usize,
    first: Option<StoreError>,
}

impl Failures {
    fn note(&mut self, error: StoreError) {
        self.count += 1;
        self.first.get_or_insert(error);
    }

    fn tell(&self) {
        if let Some(error) = &self.first {
            let failed = self.count;
            tracing::warn!(
                target: "symbolon::store", failed, %error,
                "sessions whose time may be over could not be looked at; they come again"
            );
        }
    }
}

/// The part of a session.
fn part_of(place: SessionPlace) -> u32 {
    slot_of_key(&place.key) % PARTS
}

impl ClusterStore {
    fn ends(&self, part: u32) -> Key {
        self.redis.tags().slot(Slot::new(part * (u32::from(SLOTS) / PARTS))).key('q', b"")
    }

    /// Has a session looked at when it may have ended by itself.
    pub(super) async fn note_end(
        &self,
        place: SessionPlace,
        session: &Session,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let entry = ListEntry { place, expires_at: session.expires_at.millis() };
        let mut cmd = redis::cmd("ZADD");
        cmd.arg(self.ends(part_of(place)).as_bytes()).arg(at.millis()).arg(&entry.bytes());
        self.redis.write_durably(&cmd).await.map(drop)
    }

    /// Sessions whose time is over, which somebody must end: a client is to be told, or they were idle.
    pub(super) async fn claim_ended(
        &self,
        now: Timestamp,
        until: Timestamp,
        limit: u32,
    ) -> Result<EndedSessions, StoreError> {
        let limit = limit.clamp(1, 1_000) as usize;
        let mut failures = Failures::default();
        let claimed = self.claim_parts((now, until), limit, &mut failures).await?;
        let mut ended = EndedSessions { sessions: Vec::new(), more: claimed.len() == limit };
        for some in claimed.chunks(LOOKS_AT_ONCE) {
            let mut looks = Vec::with_capacity(some.len());
            for entry in some {
                looks.push(self.look(entry, now));
            }
            for looked in join_all(looks).await {
                match looked {
                    Ok(None) => {}
                    Ok(Some((issuer, found))) => ended.sessions.push((issuer, Arc::new(found.session))),
                    Err(error) => failures.note(error),
                }
            }
        }
        failures.tell();
        Ok(ended)
    }

    /// What is due in the parts that can be reached.
    ///
    /// # Errors
    /// [`StoreError`]: none of them can.
    async fn claim_parts(
        &self,
        times: (Timestamp, Timestamp),
        limit: usize,
        failures: &mut Failures,
    ) -> Result<Vec<ListEntry>, StoreError> {
        // Another part is the first each time: where more is due than is asked for, none is always the last.
        let first = u32::try_from(times.0.seconds() % u64::from(PARTS)).unwrap_or(0);
        let mut claimed = Vec::new();
        let mut is_reached = false;
        for part in (first..first + PARTS).map(|part| part % PARTS) {
            let left = limit.saturating_sub(claimed.len());
            if left == 0 {
                break;
            }
            match self.claim_part(part, times, left).await {
                Ok(entries) => {
                    is_reached = true;
                    claimed.extend(entries);
                }
                Err(error) => failures.note(error),
            }
        }
        match failures.first.take_if(|_| !is_reached) {
            Some(error) => Err(error),
            None => Ok(claimed),
        }
    }

    async fn claim_part(
        &self,
        part: u32,
        (now, until): (Timestamp, Timestamp),
        limit: usize,
    ) -> Result<Vec<ListEntry>, StoreError> {
        let numbers = [now.millis().to_string(), until.millis().to_string(), limit.to_string()];
        let arguments = numbers.each_ref().map(String::as_bytes);
        let call = ScriptCall { keys: &[&self.ends(part)], arguments: &arguments };
        let entries: Vec<Vec<u8>> = self.redis.run(&CLAIM, call).await?.read()?;
        Ok(entries.iter().filter_map(|entry| ListEntry::parse(entry)).collect())
    }

    /// Looks at the session of an entry, and returns it if it has ended. Takes an entry away that leads to nothing, and puts one
    /// behind whose session goes on.
    async fn look(
        &self,
        entry: &ListEntry,
        now: Timestamp,
    ) -> Result<Option<(IssuerId, StoredSession)>, StoreError> {
        let is_awaited =
            |found: &StoredSession| found.session.by_time.is_looked_at() && found.session.kept_until() > now;
        let found = self.read_any_session(entry.place).await?.filter(|(_, found)| is_awaited(found));
        let list = self.ends(part_of(entry.place));
        let mut cmd = redis::cmd(if found.is_some() { "ZADD" } else { "ZREM" });
        cmd.arg(list.as_bytes());
        match found.as_ref().map(|(_, found)| found.ends_at()) {
            Some(ends_at) if ends_at <= now => return Ok(found),
            Some(ends_at) => cmd.arg(ends_at.millis()).arg(&entry.bytes()),
            None => cmd.arg(&entry.bytes()),
        };
        self.redis.ask(&cmd).await?;
        Ok(None)
    }

    /// Deletes all entries.
    pub(super) async fn forget_ends(&self) -> Result<(), StoreError> {
        for part in 0..PARTS {
            let mut cmd = redis::cmd("DEL");
            cmd.arg(self.ends(part).as_bytes());
            self.redis.write_durably(&cmd).await?;
        }
        Ok(())
    }
}
