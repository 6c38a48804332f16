//! How tests open a store.

use std::sync::Arc;
use std::time::Duration;

use symbolon_crypto::SecretString;
use symbolon_crypto::random::SystemRandom;
use symbolon_store::shard::FirstShards;

use crate::{ClusterOptions, PostgresOptions, RedisOptions, ReplicaPolicy, UnixMillis};

/// Options for a store on a database and Redis nodes, with a prefix of its own and the test's clock. The timeouts are
/// long, because the machine may be slow.
pub fn options(postgres: String, redis: &str, prefix: &str, now: UnixMillis) -> ClusterOptions {
    let timeout = Duration::from_secs(30);
    ClusterOptions {
        postgres: PostgresOptions { url: SecretString::new(postgres), connections: 8, timeout },
        redis: RedisOptions {
            urls: redis.split(',').map(|url| SecretString::new(url.to_owned())).collect(),
            timeout,
            replicas: ReplicaPolicy::Wait,
            prefix: prefix.to_owned(),
        },
        shards: FirstShards::default(),
        now,
        random: Arc::new(SystemRandom),
        accept_clock: true,
    }
}
