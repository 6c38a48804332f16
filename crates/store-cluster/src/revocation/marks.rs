//! Writes rows of the table `tombstones` to Redis.

use std::sync::Arc;

use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;

use super::row::Row;
use crate::UnixMillis;
use crate::redis::{Answered, Key, Primary, Redis, Script, ScriptCall, Tag};

/// The most keys in one call: a server does nothing else while a script runs.
const MOST: usize = 256;

/// Writes the values of keys. A value, and the time for which Redis keeps it, can only grow. The value `E`, of a
/// session that has ended, replaces the session's record, unless that record says already that the session has ended.
const PUT: &str = "
    for i, key in ipairs(KEYS) do
        local value = ARGV[2 * i - 1]
        local kept = math.max(tonumber(ARGV[2 * i]), redis.call('PTTL', key))
        local held = redis.call('GET', key)
        if held and value == 'E' then
            if string.sub(held, 1, 1) == 'E' then value = held end
        elseif held and (tonumber(held) or 0) > tonumber(value) then
            value = held
        end
        redis.call('SET', key, value, 'PX', string.format('%.0f', kept))
    end
    return #KEYS
";

/// Which processes must have a write before it counts as done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The primary.
    Primary,
    /// A replica too, if the policy asks for that.
    Replica,
}

/// Writes rows to Redis.
pub(crate) struct Marks {
    redis: Arc<Redis>,
    put: Script,
    now: UnixMillis,
}

impl Marks {
    pub(crate) fn new(redis: &Arc<Redis>, now: &UnixMillis) -> Self {
        Self { redis: Arc::clone(redis), put: Script::new(PUT), now: Arc::clone(now) }
    }

    pub(crate) fn redis(&self) -> &Redis {
        &self.redis
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis((self.now)())
    }

    /// Writes rows of one tag, in pieces. Returns the primary that has written each piece.
    pub(crate) async fn put(
        &self,
        tag: &Tag,
        rows: &[&Row],
        reach: Reach,
    ) -> Result<Vec<Primary>, StoreError> {
        let mut primaries = Vec::with_capacity(1);
        for piece in rows.chunks(MOST) {
            primaries.push(self.put_piece(tag, piece, reach).await?.primary);
        }
        Ok(primaries)
    }

    async fn put_piece(&self, tag: &Tag, rows: &[&Row], reach: Reach) -> Result<Answered, StoreError> {
        let now = self.now();
        let keys: Vec<Key> = rows.iter().map(|row| tag.followed_by(&row.id)).collect();
        let keys: Vec<&Key> = keys.iter().collect();
        let values: Vec<String> =
            rows.iter().flat_map(|row| [row.redis_value(), row.redis_ttl(now).to_string()]).collect();
        let arguments: Vec<&[u8]> = values.iter().map(String::as_bytes).collect();
        let call = ScriptCall { keys: &keys, arguments: &arguments };
        match reach {
            Reach::Primary => self.redis.run(&self.put, call).await,
            Reach::Replica => self.redis.run_durably(&self.put, call).await,
        }
    }
}
