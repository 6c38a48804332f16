//! The end of a session, in a task of its own: whoever asked for it may go away before PostgreSQL and Redis both know.

use std::sync::{Arc, LazyLock};

use symbolon_crypto::random;
use symbolon_store::StoreError;

use super::record::SessionPlace;
use crate::ClusterStore;
use crate::complete_primary::CompletePrimaries;
use crate::redis::{Key, Redis, Script, ScriptCall, Tag};
use crate::revocation::{Row, Tombstones, closed};

/// Ends a session. Answers 1 to the first caller, also when it repeats the command, and 0 to all others. A record that
/// ended without a caller's name was restored from PostgreSQL after a failover: nobody was told yet, so the next caller
/// counts as the first.
static END: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local record = redis.call('GET', KEYS[1])
         if not record then return 0 end
         if record == 'E' .. ARGV[1] then return 1 end
         if string.sub(record, 1, 1) ~= 'L' and record ~= 'E' then return 0 end
         redis.call('SET', KEYS[1], 'E' .. ARGV[1], 'KEEPTTL')
         return 1",
    )
});

/// What it takes to end the session at a place.
pub(super) struct Ending {
    tombstones: Arc<Tombstones>,
    complete_primaries: Arc<CompletePrimaries>,
    redis: Arc<Redis>,
    tag: Tag,
    key: Key,
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
            name: random::base64url::<12>(&*self.random),
        }
    }
}

impl Ending {
    /// Ends the session with everything that `rows` say; whether this caller was the first. It goes on though the caller
    /// gives up.
    pub(super) async fn run(self, rows: Arc<[Row]>) -> Result<bool, StoreError> {
        tokio::spawn(self.through(rows)).await.map_err(closed)?
    }

    async fn through(self, rows: Arc<[Row]>) -> Result<bool, StoreError> {
        // What ends with it ends first: nobody may find it gone while its tokens are good.
        self.tombstones.bury_here(rows).await?;
        let ended = self.end_record().await;
        if ended.is_err() {
            // PostgreSQL knows that it ended: until Redis does too, nothing of this shard is believed here.
            self.complete_primaries.doubt(&self.tag);
        }
        ended
    }

    async fn end_record(&self) -> Result<bool, StoreError> {
        let call = ScriptCall { keys: &[&self.key], arguments: &[self.name.as_bytes()] };
        Ok(self.redis.run_durably(&END, call).await?.read::<u8>()? == 1)
    }
}
