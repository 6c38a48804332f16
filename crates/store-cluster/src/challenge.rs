//! Login and consent transactions in Redis, each of which can be taken once.

use std::io::Write;
use std::sync::Arc;

use async_trait::async_trait;
use symbolon_figures::StoreKind;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::Challenges;
use symbolon_store::shard::{ShardKind, record_key};

use crate::one_time::Taken;
use crate::redis::Key;
use crate::{ClusterStore, failed, key_text};

impl ClusterStore {
    fn challenge_key(&self, issuer: &IssuerId, id: &str) -> (Key, u32) {
        let route = self.generations.route(ShardKind::Challenge, issuer, id);
        let text = key_text(&record_key(issuer, id));
        (self.redis.tags().shard(ShardKind::Challenge, route).key('l', text.as_bytes()), route.shard)
    }
}

#[async_trait]
impl Challenges for ClusterStore {
    async fn keep_challenge(
        &self,
        issuer: &IssuerId,
        id: &str,
        value: Arc<[u8]>,
        expires_at: Timestamp,
    ) -> Result<(), StoreError> {
        let _pass = self.gate.enter()?;
        let (key, shard) = self.challenge_key(issuer, id);
        self.admit(self.figures.challenge_room(), (&key, shard)).await?;
        let write = |out: &mut dyn Write| out.write_all(&value).map_err(failed);
        let keep = self.keep_once(&key, write, (expires_at, self.now()));
        self.measured(StoreKind::Challenge, shard, keep).await
    }

    async fn replace_challenge(
        &self,
        issuer: &IssuerId,
        id: &str,
        value: Arc<[u8]>,
        expires_at: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let _pass = self.gate.enter()?;
        let (key, shard) = self.challenge_key(issuer, id);
        let replace = self.replace(&key, &value, (expires_at, now));
        self.measured(StoreKind::Challenge, shard, replace).await
    }

    async fn challenge(
        &self,
        issuer: &IssuerId,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<Arc<[u8]>>, StoreError> {
        let (key, shard) = self.challenge_key(issuer, id);
        let found = self.measured(StoreKind::Challenge, shard, self.look_at(&key)).await?;
        let live = found.filter(|found| !found.used && !found.ended(now));
        Ok(live.map(|found| Arc::from(found.value())))
    }

    async fn take_challenge(
        &self,
        issuer: &IssuerId,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<Arc<[u8]>>, StoreError> {
        let _pass = self.gate.enter()?;
        let (key, shard) = self.challenge_key(issuer, id);
        let take = async {
            if self.take(&key, now).await? != Taken::Now {
                return Ok(None);
            }
            // The script does not return the value. The value can be read afterwards, because a taken record is never
            // replaced.
            Ok(self.look_at(&key).await?.map(|found| Arc::from(found.value())))
        };
        self.measured(StoreKind::Challenge, shard, take).await
    }
}
