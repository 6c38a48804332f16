//! Login and consent transactions in memory.

use std::sync::Arc;

use async_trait::async_trait;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::Challenges;
use symbolon_store::shard::record_key;

use crate::EmbeddedStore;
use crate::sharded::{Key, KeyMap};

/// Challenges that one shard keeps at most; a flood of abandoned logins pushes the soonest to end out.
const MOST_PER_SHARD: usize = 16_384;

/// Their bytes at most.
const MOST_BYTES_PER_SHARD: usize = 8 * 1024 * 1024;

/// The challenges of one shard.
#[derive(Default)]
pub(crate) struct ChallengeShard {
    kept: KeyMap<(Arc<[u8]>, Timestamp)>,
    /// Of all values together.
    bytes: usize,
}

impl ChallengeShard {
    fn insert(&mut self, key: Key, value: Arc<[u8]>, end: Timestamp) {
        self.make_room();
        self.bytes += value.len();
        if let Some((before, _)) = self.kept.insert(key, (value, end)) {
            self.bytes -= before.len();
        }
    }

    /// Replaces one that is there and not over; whether it was.
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

    /// Removes what ends at `cut` or before.
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

    fn make_room(&mut self) {
        if self.kept.len() < MOST_PER_SHARD && self.bytes < MOST_BYTES_PER_SHARD {
            return;
        }
        let mut ends: Vec<Timestamp> = self.kept.values().map(|(_, end)| *end).collect();
        let eighth = ends.len() / 8;
        let (_, cut, _) = ends.select_nth_unstable(eighth);
        let cut = *cut;
        self.remove_until(cut);
    }
}

impl EmbeddedStore {
    pub(crate) async fn sweep_challenges(&self, now: Timestamp) -> u64 {
        self.challenges
            .each(|shard| {
                let before = shard.kept.len();
                shard.remove_until(now);
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
        let key = record_key(issuer, id);
        self.challenges.with(self.challenges.route(issuer, id), |shard| shard.insert(key, value, expires_at));
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
        let (key, route) = (record_key(issuer, id), self.challenges.route(issuer, id));
        Ok(self.challenges.with(route, |shard| shard.replace(key, value, expires_at, now)))
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
        let taken = self.challenges.with(self.challenges.route(issuer, id), |shard| shard.remove(&key));
        Ok(taken.filter(|(_, end)| *end > now).map(|(value, _)| value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_pushes_out_what_ends_first_by_number_and_by_bytes() {
        for (size, most) in [(10, MOST_PER_SHARD), (8 * 1024, MOST_BYTES_PER_SHARD / (8 * 1024))] {
            let mut shard = ChallengeShard::default();
            let value: Arc<[u8]> = vec![7; size].into();
            for number in 0..2 * MOST_PER_SHARD as u64 {
                let mut key = [0; 16];
                key[..8].copy_from_slice(&number.to_be_bytes());
                shard.insert(key, Arc::clone(&value), Timestamp::from_seconds(number));
                assert!(shard.kept.len() <= most);
                assert_eq!(shard.bytes, shard.kept.len() * size);
                assert!(shard.kept.contains_key(&key));
            }
            assert!(shard.kept.len() > most / 2);
            shard.remove_until(Timestamp::FOREVER);
            assert_eq!((shard.kept.len(), shard.bytes), (0, 0));
        }
    }
}
