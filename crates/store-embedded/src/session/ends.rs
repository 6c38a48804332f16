//! When sessions end by themselves that somebody must look at: an entry for each, in the order of time.
//!
//! The entries stand before all users' lists, in the same table, and have no value: earlier releases take them for the list of
//! nobody. An entry says when to look at the session, not when it ends: whoever looks and finds it used since puts the entry
//! behind. One whose session has ended meanwhile stays until then. A session has two where it may be idle and a client that is to be
//! told came later: that one is kept for longer.

use std::collections::HashSet;
use std::ops::Bound;
use std::sync::Arc;

use symbolon_crypto::encoding;
use symbolon_protocol::session::Session;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::EndedSessions;

use super::{Stored, put};
use crate::journal::{Op, Table};
use crate::resident::{Ends, Known};
use crate::sharded::Key;
use crate::{EmbeddedStore, failed};

/// What the keys of entries begin with. No user's list begins so: their names are digests.
const FIRST: [u8; 16] = [0; 16];

/// The length of an entry's key.
const LENGTH: usize = 16 + size_of::<u64>() + 16;

fn entry_key(at: Timestamp, key: &Key) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    let parts = [&FIRST[..], &at.millis().to_be_bytes(), key];
    for (to, from) in bytes.iter_mut().zip(parts.into_iter().flatten()) {
        *to = *from;
    }
    bytes
}

/// The session of an entry, and the time that the entry says.
fn parse(entry: &[u8]) -> Option<(Timestamp, Key)> {
    let (at, key) = entry.strip_prefix(&FIRST)?.split_first_chunk::<8>()?;
    Some((Timestamp::from_millis(u64::from_be_bytes(*at)), key.try_into().ok()?))
}

/// The change that has a session looked at.
pub(super) fn look_at(session: &Session, key: &Key, at: Timestamp) -> Op {
    Op::put(Table::SessionsOfUser, &entry_key(at, key), session.kept_until().millis(), &[])
}

/// The session that is stored under a key. One that cannot be read counts as none, so that it holds up no other: nobody is told of
/// its end.
fn readable(key: &Key, value: &[u8]) -> Option<Stored> {
    match Stored::read(value) {
        Ok(stored) => Some(stored),
        Err(error) => {
            let key = encoding::encode(key);
            tracing::error!(
                target: "symbolon::store", key, %error,
                "a session cannot be read, so nobody is told of its end"
            );
            None
        }
    }
}

impl EmbeddedStore {
    /// The entries up to a time, and the session of each.
    async fn due(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(Timestamp, Key, Option<Stored>)>, StoreError> {
        self.journal.flush().await;
        self.blocking(move |journal| {
            let upto = entry_key(now, &[0xff; 16]).to_vec();
            let range = (Bound::Included(FIRST.to_vec()), Bound::Included(upto));
            let mut due = Vec::new();
            for record in journal.scan(Table::SessionsOfUser, range).map_err(failed)?.take(limit) {
                let (entry, _) = record.map_err(failed)?;
                let Some((at, key)) = parse(&entry) else { continue };
                let value = journal.get(Table::Sessions, &key).map_err(failed)?;
                due.push((at, key, value.as_deref().and_then(|value| readable(&key, value))));
            }
            Ok(due)
        })
        .await
    }

    /// When a session ends, as memory knows it. It may know of a use that was not written, because the store took no writes then:
    /// that one is written now.
    fn known_end(&self, key: &Key, stored: &Stored, now: Timestamp) -> Timestamp {
        let on_disk = stored.ends_at();
        if on_disk > now {
            return on_disk;
        }
        let Some((route, _)) = self.sid_route(stored.session.sid.as_str()) else { return on_disk };
        self.sessions.with(route, |shard| {
            let Known::Live(entry) = shard.get(key) else { return on_disk };
            let Some(live) = entry.value.as_ref().filter(|live| live.ends_at() > now) else { return on_disk };
            if let Ok(op) = put(&stored.issuer, key, &live.session, live.counted_use()) {
                self.journal.append([op]);
            }
            live.ends_at()
        })
    }

    pub(super) async fn claim_ended(
        &self,
        now: Timestamp,
        until: Timestamp,
        limit: u32,
    ) -> Result<EndedSessions, StoreError> {
        if self.check_writable().is_err() {
            return Ok(EndedSessions::default());
        }
        let limit = limit.clamp(1, 1_000) as usize;
        let _one_at_a_time = self.claims_of_ends.lock().await;
        let due = self.due(now, limit).await?;
        let more = due.len() == limit;
        let (mut ops, mut sessions) = (Vec::with_capacity(2 * due.len()), Vec::new());
        let mut given = HashSet::new();
        for (at, key, stored) in due {
            ops.push(Op::remove(Table::SessionsOfUser, &entry_key(at, &key)));
            // Otherwise it was ended, or its time for that is over.
            let Some(stored) = stored.filter(|stored| stored.session.kept_until() > now) else { continue };
            let ends_at = self.known_end(&key, &stored, now);
            if ends_at > now {
                ops.push(look_at(&stored.session, &key, ends_at));
                continue;
            }
            ops.push(look_at(&stored.session, &key, until));
            if given.insert(key) {
                sessions.push((stored.issuer, Arc::new(stored.session)));
            }
        }
        if !ops.is_empty() {
            let commit = self.journal.append(ops);
            self.outcome((), commit).told().await?;
        }
        Ok(EndedSessions { sessions, more })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_in_the_order_of_time() {
        let entries = [(1, 9), (2, 0), (256, 1)].map(|(at, key)| (Timestamp::from_millis(at), [key; 16]));
        let keys = entries.map(|(at, key)| entry_key(at, &key));
        assert!(keys.is_sorted());
        assert_eq!(keys.map(|key| parse(&key).unwrap()), entries);
        assert_eq!(parse(&[7; LENGTH]), None, "an entry of a user's list");
    }
}
