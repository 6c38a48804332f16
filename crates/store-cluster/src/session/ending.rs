//! Ends a session in a task of its own, so that PostgreSQL and Redis both learn of it even if the caller goes away.

use std::sync::{Arc, LazyLock};

use symbolon_crypto::random;
use symbolon_store::StoreError;

use super::record::SessionPlace;
use crate::ClusterStore;
use crate::complete_primary::CompletePrimaries;
use crate::redis::{Key, Redis, Script, ScriptCall, Tag};
use crate::revocation::{Row, Tombstones, closed};

/// Ends a session, and deletes where it began and how it ends by itself. Returns 1 to the first caller, also when its command is
/// repeated, and 0 to all others. A record that ended without a caller's name was written again from PostgreSQL after a failover.
/// It does not show who ended it, so the next caller counts as the first.
static END: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local record = redis.call('GET', KEYS[1])
         if not record then return 0 end
         if record == 'E' .. ARGV[1] then return 1 end
         if string.sub(record, 1, 1) ~= 'L' and record ~= 'E' then return 0 end
         redis.call('SET', KEYS[1], 'E' .. ARGV[1], 'KEEPTTL')
         redis.call('DEL', KEYS[2], KEYS[3])
         return 1",
    )
});

/// What is needed to end one session.
pub(super) struct Ending {
    tombstones: Arc<Tombstones>,
    complete_primaries: Arc<CompletePrimaries>,
    redis: Arc<Redis>,
    tag: Tag,
    key: Key,
    origin: Key,
    by_time: Key,
    name: String,
}

impl ClusterStore {
    pub(super) fn ending(&self, place: SessionPlace) -> Ending {
        Ending {
            tombstones: Arc::clone(&self.tombstones),
            complete_primaries: Arc::clone(&self.complete_primaries),
            redis: Arc::clone(&self.redis),
            tag: self.session_tag(place.route),
            key: self.session_key(place),
            origin: self.origin_key(place),
            by_time: self.by_time_key(place),
            name: random::base64url::<12>(&*self.random),
        }
    }
}

impl Ending {
    /// Writes `rows`, then ends the session's record; returns whether this caller was the first. This is completed even
    /// if the caller gives up.
    pub(super) async fn run(self, rows: Arc<[Row]>) -> Result<bool, StoreError> {
        tokio::spawn(self.through(rows)).await.map_err(closed)?
    }

    async fn through(self, rows: Arc<[Row]>) -> Result<bool, StoreError> {
        // The tombstones come first: while a session's tokens are still accepted, no request may find the session
        // ended.
        self.tombstones.bury_here(rows).await?;
        let ended = self.end_record().await;
        if ended.is_err() {
            // PostgreSQL has the end, and Redis may lack it: this node accepts no answer for the shard until it is
            // confirmed.
            self.complete_primaries.doubt(&self.tag);
        }
        ended
    }

    async fn end_record(&self) -> Result<bool, StoreError> {
        let keys = [&self.key, &self.origin, &self.by_time];
        let call = ScriptCall { keys: &keys, arguments: &[self.name.as_bytes()] };
        Ok(self.redis.run_durably(&END, call).await?.read::<u8>()? == 1)
    }
}
