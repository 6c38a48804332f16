//! Login and consent transactions in memory.

use std::sync::Arc;

use async_trait::async_trait;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::Challenges;
use symbolon_store::shard::record_key;

use crate::EmbeddedStore;
use crate::sharded::KeyMap;

/// Challenges that one shard keeps at most; a flood of abandoned logins pushes the soonest to end out.
const MOST_PER_SHARD: usize = 16_384;

/// The challenges of one shard.
#[derive(Default)]
pub(crate) struct ChallengeShard {
    kept: KeyMap<(Arc<[u8]>, Timestamp)>,
}

impl ChallengeShard {
    fn make_room(&mut self) {
        if self.kept.len() < MOST_PER_SHARD {
            return;
        }
        let mut ends: Vec<Timestamp> = self.kept.values().map(|(_, end)| *end).collect();
        let eighth = ends.len() / 8;
        let (_, cut, _) = ends.select_nth_unstable(eighth);
        let cut = *cut;
        self.kept.retain(|_, (_, end)| *end > cut);
    }
}

impl EmbeddedStore {
    pub(crate) async fn sweep_challenges(&self, now: Timestamp) -> u64 {
        self.challenges
            .each(|shard| {
                let before = shard.kept.len();
                shard.kept.retain(|_, (_, end)| *end > now);
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
        self.challenges.with(self.challenges.route(issuer, id), |shard| {
            shard.make_room();
            shard.kept.insert(key, (value, expires_at));
        });
        Ok(())
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
        let taken = self.challenges.with(self.challenges.route(issuer, id), |shard| shard.kept.remove(&key));
        Ok(taken.filter(|(_, end)| *end > now).map(|(value, _)| value))
    }
}
