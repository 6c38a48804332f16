//! Marks of client assertions that were used: durable in the journal, all live ones in memory. The value of a mark is its issuer's
//! id; what begins with another byte in the same table is a [code by e-mail](crate::email_code).

use async_trait::async_trait;
use symbolon_figures::ShareNumber;
use symbolon_protocol::client_authentication::AssertionUse;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::port::{Assertions, Use};
use symbolon_store::shard::{Route, assertion_key, assertion_key_before};
use symbolon_store::{Outcome, StoreError};

use crate::EmbeddedStore;
use crate::email_code;
use crate::journal::{CommitNumber, Op, Table, split_value};
use crate::room::{ASSERTION_MARK, no_room, share_of_record};
use crate::sharded::{Key, KeyMap, slot_of_key};

/// The marks of one shard.
#[derive(Default)]
pub(crate) struct AssertionShard {
    used: KeyMap<Mark>,
}

/// A mark in memory. On the disk, its value is the id of its issuer; earlier releases left that out.
#[derive(Clone, Copy)]
struct Mark {
    /// The end of the assertion.
    end: Timestamp,
    /// The commit that made it.
    commit: CommitNumber,
    /// The issuer for which it counts.
    share: ShareNumber,
}

impl EmbeddedStore {
    /// By the digest alone, so that a mark can be loaded at startup without knowing the assertion.
    fn assertion_route(key: &Key) -> Route {
        Route { generation: 0, shard: slot_of_key(key) }
    }

    pub(crate) fn load_assertion_marks(&self) -> Result<u64, StoreError> {
        let mut loaded = 0;
        let room = self.figures.assertion_room();
        for record in self.journal.scan_prefix(Table::AssertionMarks, &[]).map_err(crate::failed)? {
            let (key, value) = record.map_err(crate::failed)?;
            let (Some(key), Some((end, value))) = (key.first_chunk::<16>(), split_value(&value)) else {
                return Err(StoreError::Failed("an assertion mark is cut short".into()));
            };
            loaded += 1;
            if email_code::is_one(value) {
                self.load_email_code(*key, end, value)?;
                continue;
            }
            let share = share_of_record(room, value);
            let mark = Mark { end: Timestamp::from_millis(end), commit: CommitNumber::LOADED, share };
            self.assertions.with(Self::assertion_route(key), |shard| shard.used.insert(*key, mark));
            room.moved(0, ASSERTION_MARK);
            room.moved_of(share, 0, ASSERTION_MARK);
        }
        Ok(loaded)
    }

    pub(crate) async fn sweep_assertions(&self, now: Timestamp) -> u64 {
        let room = self.figures.assertion_room();
        self.assertions
            .each(|shard| {
                let before = shard.used.len();
                shard.used.retain(|_, mark| {
                    let stays = mark.end + KEPT_AFTER_END > now;
                    if !stays {
                        room.moved_of(mark.share, ASSERTION_MARK, 0);
                    }
                    stays
                });
                room.moved(before * ASSERTION_MARK, shard.used.len() * ASSERTION_MARK);
                let gone = (before - shard.used.len()) as u64;
                if shard.used.capacity() > 4 * shard.used.len() + 64 {
                    shard.used.shrink_to_fit();
                }
                gone
            })
            .await
    }
}

#[async_trait]
impl Assertions for EmbeddedStore {
    async fn use_assertion(
        &self,
        issuer: &IssuerId,
        assertion: &AssertionUse,
    ) -> Result<Outcome<Use>, StoreError> {
        self.check_writable()?;
        let before = assertion_key_before(issuer, assertion);
        let route = Self::assertion_route(&before);
        let mark = self.assertions.with(route, |shard| shard.used.get(&before).copied());
        if let Some(mark) = mark {
            return Ok(self.outcome(Use::Replayed, mark.commit));
        }
        let (key, expires_at) = (assertion_key(assertion), assertion.expires_at);
        let room = self.figures.assertion_room();
        let share = room.share_of(issuer.as_str());
        let (mark, commit) = self.assertions.with(Self::assertion_route(&key), |shard| {
            if let Some(mark) = shard.used.get(&key) {
                return Ok((Use::Replayed, mark.commit));
            }
            if !room.admits(share) {
                return Err(no_room("marks of client assertions"));
            }
            room.moved(0, ASSERTION_MARK);
            room.moved_of(share, 0, ASSERTION_MARK);
            let value = issuer.as_str().as_bytes();
            let mark = Op::put(Table::AssertionMarks, &key, expires_at.millis(), value);
            let commit = self.journal.append([mark]);
            shard.used.insert(key, Mark { end: expires_at, commit, share });
            Ok((Use::First, commit))
        })?;
        Ok(self.outcome(mark, commit))
    }
}
