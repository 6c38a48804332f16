//! The embedded store keeps the contract of the port.

#![allow(
    clippy::unwrap_used,
    reason = "a test may panic; clippy does not take this file's plain functions for tests"
)]

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use symbolon_protocol::time::Timestamp;
use symbolon_store::Store;
use symbolon_store::contract::BackEnd;
use symbolon_store::shard::FirstShards;
use symbolon_store_embedded::database::DatabaseOptions;
use symbolon_store_embedded::journal::JournalOptions;
use symbolon_store_embedded::{EmbeddedOptions, EmbeddedStore};
use tempfile::TempDir;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// Stores under a directory that goes when the test ends.
struct Embedded {
    root: TempDir,
}

impl Embedded {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    async fn at(&self, name: &str) -> Arc<dyn Store> {
        let options = EmbeddedOptions {
            path: self.root.path().join(name),
            shards: FirstShards::default(),
            journal: JournalOptions::default(),
            database: DatabaseOptions::default(),
            now: Arc::new(|| NOW.millis()),
            // The suite sweeps in its future and opens what is left in its present.
            accept_clock: true,
        };
        tokio::task::spawn_blocking(|| Arc::new(EmbeddedStore::open(options).unwrap())).await.unwrap()
    }
}

#[async_trait]
impl BackEnd for Embedded {
    async fn open(&self, name: &str) -> Arc<dyn Store> {
        self.at(name).await
    }

    /// A copy of the files as they are: the store itself goes on, holds its lock and has closed nothing.
    async fn after_crash(&self, name: &str) -> Arc<dyn Store> {
        let copy = format!("{name}-after");
        copy_files(&self.root.path().join(name), &self.root.path().join(&copy));
        self.at(&copy).await
    }

    fn now(&self) -> Timestamp {
        NOW
    }
}

fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_files(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

symbolon_store::contract_tests!(|_kind| Embedded::new());
