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
use crate::journal::{CommitNumber, Journal, Op, Table, split_value};
use crate::room::{ASSERTION_MARK, share_of_record};
use crate::sharded::{Key, KeyMap, slot_of_key};

/// The marks of one shard.
#[derive(Default)]
pub(crate) struct AssertionShard {
    used: KeyMap<Mark>,
}

/// A mark in memory. On the disk, its value is the id of its issuer, which format 1 left out.
#[derive(Clone, Copy)]
struct Mark {
    /// The end of the assertion.
    end: Timestamp,
    /// The commit that made it.
    commit: CommitNumber,
    /// The issuer for which it counts.
    share: ShareNumber,
    /// Whether the journal has it, too; it has no [mark of a proof](crate::proof) until the store ends.
    is_written: bool,
}

impl AssertionShard {
    /// Gives the journal the marks that it does not have. Their issuer is not written, which only counts for the room.
    fn write_down(&mut self, journal: &Journal) -> u64 {
        let marks = self.used.iter_mut().filter(|(_, mark)| !mark.is_written);
        let marks: Vec<Op> = marks
            .map(|(key, mark)| {
                mark.is_written = true;
                Op::put(Table::AssertionMarks, key, mark.end.millis(), &[])
            })
            .collect();
        let written = marks.len() as u64;
        if written > 0 {
            journal.append(marks);
        }
        written
    }
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
            let end = Timestamp::from_millis(end);
            let mark = Mark { end, commit: CommitNumber::LOADED, share, is_written: true };
            self.assertions.with(Self::assertion_route(key), |shard| shard.used.insert(*key, mark));
            room.moved(0, ASSERTION_MARK);
            room.moved_of(share, 0, ASSERTION_MARK);
        }
        Ok(loaded)
    }

    /// Writes down what the journal does not have. Nothing may be added meanwhile.
    pub(crate) async fn write_marks_down(&self) -> u64 {
        self.assertions.each(|shard| shard.write_down(&self.journal)).await
    }

    /// Counts one more mark of an issuer, if there is room for it.
    fn admit_mark(&self, share: ShareNumber) -> Result<(), StoreError> {
        let room = self.figures.assertion_room();
        if !room.admits(share) {
            return Err(StoreError::no_room("marks of client assertions", !room.is_within_share(share)));
        }
        room.moved(0, ASSERTION_MARK);
        room.moved_of(share, 0, ASSERTION_MARK);
        Ok(())
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
        let share = self.figures.assertion_room().share_of(issuer.as_str());
        let route = Self::assertion_route(&key);
        let (mark, commit) = self.assertions.with(route, |shard| -> Result<_, StoreError> {
            if let Some(mark) = shard.used.get(&key) {
                return Ok((Use::Replayed, mark.commit));
            }
            self.admit_mark(share)?;
            let value = issuer.as_str().as_bytes();
            let mark = Op::put(Table::AssertionMarks, &key, expires_at.millis(), value);
            let commit = self.journal.append([mark]);
            shard.used.insert(key, Mark { end: expires_at, commit, share, is_written: true });
            Ok((Use::First, commit))
        })?;
        Ok(self.outcome(mark, commit))
    }

    async fn use_proof(
        &self,
        issuer: &IssuerId,
        mark: [u8; 16],
        expires_at: Timestamp,
    ) -> Result<Outcome<Use>, StoreError> {
        self.check_not_frozen()?;
        let begun = self.proofs.begun()?;
        let share = self.figures.assertion_room().share_of(issuer.as_str());
        let route = Self::assertion_route(&mark);
        let used = self.assertions.with(route, |shard| -> Result<_, StoreError> {
            if shard.used.contains_key(&mark) {
                return Ok(Use::Replayed);
            }
            // Asked under the lock: what is set before the marks are written down is written down with them.
            self.proofs.check_open()?;
            self.admit_mark(share)?;
            let commit = CommitNumber::LOADED;
            shard.used.insert(mark, Mark { end: expires_at, commit, share, is_written: false });
            Ok(Use::First)
        })?;
        Ok(self.outcome(used, begun))
    }
}
