//! Stores for tests, on servers that the tests start.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use symbolon_protocol::time::Timestamp;

use crate::engines::{RedisCluster, options, shared};
use crate::{ClusterOptions, ClusterStore};

pub(crate) const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// Where a test's stores keep their state.
pub(crate) struct Place {
    pub(crate) name: String,
    redis: String,
    now: Arc<AtomicU64>,
}

impl Place {
    /// On the shared servers, with a database and a key prefix of its own.
    pub(crate) fn new(name: &str) -> Self {
        Self::with(name, shared().redis.urls())
    }

    /// On a Redis Cluster of the test's own, which it may break.
    pub(crate) fn on(redis: &RedisCluster, name: &str) -> Self {
        Self::with(name, redis.urls())
    }

    pub(crate) fn with(name: &str, redis: String) -> Self {
        let name = name.replace('-', "_");
        shared().postgres.create_database_with_schema(&name);
        Self { name, redis, now: Arc::new(AtomicU64::new(NOW.millis())) }
    }

    pub(crate) fn options(&self) -> ClusterOptions {
        let now = Arc::clone(&self.now);
        let now = Arc::new(move || now.load(Ordering::Relaxed));
        options(shared().postgres.url(&self.name), &self.redis, &self.name, now)
    }

    /// Advances the clock of the test's stores.
    pub(crate) fn advance(&self, by: std::time::Duration) {
        self.now.fetch_add(u64::try_from(by.as_millis()).unwrap(), Ordering::Relaxed);
    }

    pub(crate) async fn open(&self) -> Arc<ClusterStore> {
        Arc::new(ClusterStore::open(self.options()).await.unwrap())
    }

    pub(crate) fn psql(&self, sql: &str) -> String {
        shared().postgres.psql(&self.name, sql)
    }
}
