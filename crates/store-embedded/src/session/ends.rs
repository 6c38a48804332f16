//! When sessions end by themselves that somebody must look at: an entry for each, in the order of time.
//!
//! The entries stand before all users' lists, in the same table, and have no value: earlier releases take them for the list of
//! nobody. An entry says when to look at the session, not when it ends: whoever looks and finds it used since puts the entry
//! behind. One whose session has ended meanwhile stays until then.

use std::ops::Bound;
use std::sync::Arc;

use symbolon_protocol::session::Session;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::EndedSessions;

use super::Stored;
use crate::journal::{Op, Table};
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
                due.push((at, key, value.as_deref().map(Stored::read).transpose()?));
            }
            Ok(due)
        })
        .await
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
        for (at, key, stored) in due {
            ops.push(Op::remove(Table::SessionsOfUser, &entry_key(at, &key)));
            // Otherwise it was ended, or its time for that is over.
            let Some(stored) = stored.filter(|stored| stored.session.kept_until() > now) else { continue };
            let ends_at = stored.ends_at();
            if ends_at > now {
                ops.push(look_at(&stored.session, &key, ends_at));
            } else {
                ops.push(look_at(&stored.session, &key, until));
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
