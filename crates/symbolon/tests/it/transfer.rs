//! Stores that move between the back-ends, record by record.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use symbolon_protocol::time::Timestamp;
use symbolon_store::Store;
use symbolon_store::contract::BackEnd;
use symbolon_store::contract::transfer::{Movable, there_and_back};
use symbolon_store::shard::FirstShards;
use symbolon_store::transfer::{Export, Import};
use symbolon_store_cluster::transfer::{ClusterExport, ClusterImport};
use symbolon_store_cluster::{ClusterError, ClusterOptions, ClusterStore, engines};
use symbolon_store_embedded::database::DatabaseOptions;
use symbolon_store_embedded::journal::JournalOptions;
use symbolon_store_embedded::transfer::{EmbeddedExport, EmbeddedImport};
use symbolon_store_embedded::{EmbeddedOptions, EmbeddedStore};
use tempfile::TempDir;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

/// The stores that were opened, by name.
struct Opened<S>(Mutex<HashMap<String, Arc<S>>>);

impl<S> Default for Opened<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S> Opened<S> {
    fn keep(&self, name: &str, store: S) -> Arc<S> {
        let store = Arc::new(store);
        self.0.lock().unwrap().insert(name.to_owned(), Arc::clone(&store));
        store
    }

    fn of(&self, name: &str) -> Arc<S> {
        Arc::clone(&self.0.lock().unwrap()[name])
    }
}

/// Data directories under one that goes when the test ends.
struct Embedded {
    root: TempDir,
    opened: Opened<EmbeddedStore>,
    /// Whether the records are read from a backup.
    by_backup: bool,
}

impl Embedded {
    fn new(by_backup: bool) -> Self {
        Self { root: tempfile::tempdir().unwrap(), opened: Opened::default(), by_backup }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn options(&self, name: &str) -> EmbeddedOptions {
        EmbeddedOptions {
            path: self.path(name),
            shards: FirstShards::default(),
            journal: JournalOptions::default(),
            database: DatabaseOptions::default(),
            now: Arc::new(|| NOW.millis()),
            accept_clock: false,
        }
    }
}

#[async_trait]
impl BackEnd for Embedded {
    async fn open(&self, name: &str) -> Arc<dyn Store> {
        self.filled(name).await
    }

    async fn after_crash(&self, name: &str) -> Arc<dyn Store> {
        self.opened.of(name)
    }

    fn now(&self) -> Timestamp {
        NOW
    }
}

#[async_trait]
impl Movable for Embedded {
    async fn export(&self, name: &str) -> Box<dyn Export> {
        let store = self.opened.of(name);
        if !self.by_backup {
            return Box::new(EmbeddedExport::of(&store).await.unwrap());
        }
        let copy = self.path(&format!("copy of {name}"));
        store.backup(&copy, NOW).await.unwrap();
        Box::new(
            tokio::task::spawn_blocking(move || EmbeddedExport::of_backup(&copy).unwrap()).await.unwrap(),
        )
    }

    async fn import(&self, name: &str) -> Box<dyn Import> {
        let options = self.options(name);
        Box::new(tokio::task::spawn_blocking(|| EmbeddedImport::begin(options).unwrap()).await.unwrap())
    }

    async fn filled(&self, name: &str) -> Arc<dyn Store> {
        let options = self.options(name);
        let store = tokio::task::spawn_blocking(|| EmbeddedStore::open(options).unwrap()).await.unwrap();
        self.opened.keep(name, store)
    }
}

/// A database and a prefix for each store, on the engines that all tests share.
struct Cluster {
    suite: &'static str,
    opened: Opened<ClusterStore>,
}

impl Cluster {
    fn new(suite: &'static str) -> Self {
        Self { suite, opened: Opened::default() }
    }

    fn options(&self, name: &str) -> ClusterOptions {
        let engines = engines::shared();
        let database = format!("{}_{name}", self.suite);
        let (postgres, redis) = (engines.postgres.url(&database), engines.redis.urls());
        engines::options(postgres, &redis, &database, Arc::new(|| NOW.millis()))
    }

    async fn create(&self, name: &str) {
        let database = format!("{}_{name}", self.suite);
        let create = move || engines::shared().postgres.create_database_with_schema(&database);
        tokio::task::spawn_blocking(create).await.unwrap();
    }
}

#[async_trait]
impl BackEnd for Cluster {
    async fn open(&self, name: &str) -> Arc<dyn Store> {
        self.create(name).await;
        self.filled(name).await
    }

    async fn after_crash(&self, name: &str) -> Arc<dyn Store> {
        self.opened.of(name)
    }

    fn now(&self) -> Timestamp {
        NOW
    }
}

#[async_trait]
impl Movable for Cluster {
    async fn export(&self, name: &str) -> Box<dyn Export> {
        Box::new(ClusterExport::of(self.opened.of(name)).await.unwrap())
    }

    async fn import(&self, name: &str) -> Box<dyn Import> {
        self.create(name).await;
        // An attempt that was given up: nobody starts on what it left, and the next one begins anew.
        let given_up = Box::new(ClusterImport::begin(self.options(name)).await.unwrap());
        given_up.leave().await.unwrap();
        let refused = ClusterStore::open(self.options(name)).await.err();
        assert!(matches!(refused, Some(ClusterError::Unfinished)), "{refused:?}");
        Box::new(ClusterImport::begin(self.options(name)).await.unwrap())
    }

    async fn filled(&self, name: &str) -> Arc<dyn Store> {
        self.opened.keep(name, ClusterStore::open(self.options(name)).await.unwrap())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn from_the_embedded_store_to_the_cluster_and_back() {
    there_and_back(&Embedded::new(false), &Cluster::new("moved_there")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn from_the_cluster_to_the_embedded_store_and_back() {
    there_and_back(&Cluster::new("moved_back"), &Embedded::new(false)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn from_one_data_directory_to_another_by_backups() {
    there_and_back(&Embedded::new(true), &Embedded::new(true)).await;
}
