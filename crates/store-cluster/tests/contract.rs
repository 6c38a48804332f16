//! The cluster store keeps the contract of the port, on a real PostgreSQL and a real Redis Cluster.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic; clippy does not take this file's plain functions for tests"
)]

use std::sync::Arc;

use async_trait::async_trait;
use symbolon_protocol::time::Timestamp;
use symbolon_store::Store;
use symbolon_store::contract::BackEnd;
use symbolon_store_cluster::{ClusterStore, engines};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// Each store has a database and a prefix of its own on the engines that all tests share.
struct Cluster {
    suite: &'static str,
}

impl Cluster {
    async fn at(&self, name: &str) -> Arc<dyn Store> {
        let engines = engines::shared();
        let database = format!("{}-{name}", self.suite).replace('-', "_");
        let (postgres, redis) = (engines.postgres.url(&database), engines.redis.urls());
        let options = engines::options(postgres, &redis, &database, Arc::new(|| NOW.millis()));
        Arc::new(ClusterStore::open(options).await.unwrap())
    }
}

#[async_trait]
impl BackEnd for Cluster {
    async fn open(&self, name: &str) -> Arc<dyn Store> {
        let database = format!("{}-{name}", self.suite).replace('-', "_");
        tokio::task::spawn_blocking(move || {
            engines::shared().postgres.create_database_with_schema(&database)
        })
        .await
        .unwrap();
        self.at(name).await
    }

    /// Another node: nothing of the first one's memory is in it.
    async fn after_crash(&self, name: &str) -> Arc<dyn Store> {
        self.at(name).await
    }

    fn now(&self) -> Timestamp {
        NOW
    }

    /// Redis forgets by its own clock.
    fn forgets_by_sweep(&self) -> bool {
        false
    }
}

symbolon_store::contract_tests!(|kind| Cluster { suite: kind });
