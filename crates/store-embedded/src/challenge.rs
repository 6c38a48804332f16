//! Login and consent transactions in memory.

use std::sync::Arc;

use async_trait::async_trait;
use symbolon_figures::ShareNumber;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::Challenges;
use symbolon_store::shard::record_key;

use crate::EmbeddedStore;
use crate::room::no_room;
use crate::sharded::{Key, KeyMap};

/// Memory of a challenge besides its value: its key, its end, and its place in a table that is three quarters full on
/// average.
const BESIDE_VALUE: usize = 96;

/// The challenges of one shard.
#[derive(Default)]
pub(crate) struct ChallengeShard {
    kept: KeyMap<(Arc<[u8]>, Timestamp)>,
    /// The length of all values together.
    bytes: usize,
}

impl ChallengeShard {
    /// The memory that the shard holds.
    fn bytes(&self) -> usize {
        self.bytes + self.kept.len() * BESIDE_VALUE
    }

    fn insert(&mut self, key: Key, value: Arc<[u8]>, end: Timestamp) {
        self.bytes += value.len();
        if let Some((before, _)) = self.kept.insert(key, (value, end)) {
            self.bytes -= before.len();
        }
    }

    /// Replaces a challenge that exists and has not ended; returns whether there was one.
    fn replace(&mut self, key: Key, value: Arc<[u8]>, end: Timestamp, now: Timestamp) -> bool {
        let is_live = self.kept.get(&key).is_some_and(|(_, end)| *end > now);
        if is_live {
            self.insert(key, value, end);
        }
        is_live
    }

    fn remove(&mut self, key: &Key) -> Option<(Arc<[u8]>, Timestamp)> {
        let removed = self.kept.remove(key)?;
        self.bytes -= removed.0.len();
        Some(removed)
    }

    /// Removes the challenges that end at `cut` or before.
    fn remove_until(&mut self, cut: Timestamp) {
        let bytes = &mut self.bytes;
        self.kept.retain(|_, (value, end)| {
            let stays = *end > cut;
            if !stays {
                *bytes -= value.len();
            }
            stays
        });
    }
}

impl EmbeddedStore {
    /// Changes the shard of a challenge, and counts the memory that this takes or frees.
    fn change<R>(&self, issuer: &IssuerId, id: &str, change: impl FnOnce(&mut ChallengeShard) -> R) -> R {
        self.challenges.with(self.challenges.route(issuer, id), |shard| {
            let before = shard.bytes();
            let result = change(shard);
            self.figures.challenge_room().moved(before, shard.bytes());
            result
        })
    }

    pub(crate) async fn sweep_challenges(&self, now: Timestamp) -> u64 {
        let room = self.figures.challenge_room();
        self.challenges
            .each(|shard| {
                let (before, bytes) = (shard.kept.len(), shard.bytes());
                shard.remove_until(now);
                room.moved(bytes, shard.bytes());
                let gone = (before - shard.kept.len()) as u64;
                if shard.kept.capacity() > 4 * shard.kept.len() + 64 {
                    shard.kept.shrink_to_fit();
                }
                gone
            })
            .await
    }
}

#[async_trait]
impl Challenges for EmbeddedStore {
    async fn keep_challenge(
        &self,
        issuer: &IssuerId,
        id: &str,
        value: Arc<[u8]>,
        expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        self.check_not_frozen()?;
        if !self.figures.challenge_room().admits(ShareNumber::NOBODY) {
            return Err(no_room("login challenges"));
        }
        let key = record_key(issuer, id);
        self.change(issuer, id, |shard| shard.insert(key, value, expires_at));
        Ok(())
    }

    async fn replace_challenge(
        &self,
        issuer: &IssuerId,
        id: &str,
        value: Arc<[u8]>,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.check_not_frozen()?;
        let key = record_key(issuer, id);
        Ok(self.change(issuer, id, |shard| shard.replace(key, value, expires_at, now)))
    }

    async fn challenge(
        &self,
        issuer: &IssuerId,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<Arc<[u8]>>, StoreError> {
        let key = record_key(issuer, id);
        let found = self.challenges.with(self.challenges.route(issuer, id), |shard| {
            shard.kept.get(&key).filter(|(_, end)| *end > now).map(|(value, _)| Arc::clone(value))
        });
        Ok(found)
    }

    async fn take_challenge(
        &self,
        issuer: &IssuerId,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.check_not_frozen()?;
        let key = record_key(issuer, id);
        let taken = self.change(issuer, id, |shard| shard.remove(&key));
        Ok(taken.filter(|(_, end)| *end > now).map(|(value, _)| value))
    }
}
