//! Where a test server's data is: in its own directory, or in its own database and under its own key prefix.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use symbolon_app::clock::Clock;
use symbolon_store::Store;
use symbolon_store::shard::FirstShards;
use symbolon_store_cluster::{ClusterStore, engines};
use symbolon_store_embedded::database::DatabaseOptions;
use symbolon_store_embedded::journal::JournalOptions;
use symbolon_store_embedded::{EmbeddedOptions, EmbeddedStore, Recovery};

use crate::clock::TestClock;
use crate::commit_gate::CommitGate;
use crate::upgrade::{self, FixtureStore};

/// Nodes on a cluster store.
const NODES: usize = 3;

/// Returns whether every node has applied the changes of all others.
pub(super) type InStep = Box<dyn Fn() -> bool + Send + Sync>;

/// Recovers a store whose records are open.
pub(super) type Recover = Box<dyn Fn() + Send + Sync>;

/// The stores of the nodes of one server.
pub(super) struct Stores {
    pub(super) stores: Vec<Arc<dyn Store>>,
    /// For an embedded store: the recovery, which must run before anything but records is used.
    pub(super) recover: Option<Recover>,
    pub(super) in_step: InStep,
}

/// Whether the environment asks for servers on a cluster store.
pub fn is_clustered() -> bool {
    std::env::var("SYMBOLON_TEST_STORE").is_ok_and(|store| store == "cluster")
}

/// Data that outlives a restart.
pub(super) enum Data {
    /// In a directory.
    Embedded(tempfile::TempDir),
    /// In a database, and under a prefix, of this name.
    Cluster(String),
}

impl Data {
    /// New and empty data, in the store that the environment names.
    pub(super) fn fresh() -> Self {
        if !is_clustered() {
            return Self::Embedded(directory());
        }
        let name = cluster_name();
        engines::shared().postgres.create_database_with_schema(&name);
        Self::Cluster(name)
    }

    /// A copy of the data that an earlier build left.
    pub(super) fn left(kind: FixtureStore) -> Self {
        let from = kind.directory();
        let data = match kind {
            FixtureStore::Embedded => Self::Embedded(directory()),
            FixtureStore::Cluster => Self::Cluster(cluster_name()),
        };
        match &data {
            Self::Embedded(directory) => upgrade::unpack(&from.join("data.tar.gz"), directory.path()),
            Self::Cluster(name) => {
                let engines = engines::shared();
                engines.postgres.create_database(name);
                engines.postgres.load(name, &from.join("postgres.sql"));
                let lines = std::fs::read_to_string(from.join("redis.jsonl")).expect("redis.jsonl");
                upgrade::load_redis(&engines.redis, &lines, name);
            }
        }
        data
    }

    /// The number of processes that such data is for.
    pub(super) fn nodes(&self) -> usize {
        match self {
            Self::Embedded(_) => 1,
            Self::Cluster(_) => NODES,
        }
    }

    /// Opens a store for each node.
    pub(super) async fn open(
        &self,
        nodes: usize,
        clock: &Arc<TestClock>,
        gate: Option<&CommitGate>,
    ) -> Stores {
        match self {
            Self::Embedded(directory) => {
                let options = embedded_options(directory.path(), clock, gated(gate));
                let recovery = Recovery::of(&options);
                let store = Arc::new(EmbeddedStore::records(options).expect("a store"));
                let recovered = Arc::clone(&store);
                Stores {
                    stores: vec![store],
                    recover: Some(Box::new(move || recovered.recover(&recovery).expect("a recovery"))),
                    in_step: Box::new(|| true),
                }
            }
            Self::Cluster(name) => {
                let mut stores = Vec::with_capacity(nodes);
                for _ in 0..nodes {
                    stores.push(Arc::new(cluster(name, clock).await));
                }
                let all = stores.clone();
                Stores {
                    stores: stores.into_iter().map(|store| store as Arc<dyn Store>).collect(),
                    recover: None,
                    in_step: Box::new(move || {
                        all.iter().all(|one| all.iter().all(|other| one.has_heard(other)))
                    }),
                }
            }
        }
    }
}

/// The durability settings of an embedded store.
#[derive(Default)]
pub(crate) struct Durability {
    pub(crate) journal: JournalOptions,
    pub(crate) database: DatabaseOptions,
}

/// A name that no other data on the engines of this process has.
fn cluster_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("server_{}", NUMBER.fetch_add(1, Ordering::Relaxed))
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn gated(gate: Option<&CommitGate>) -> Durability {
    let before_sync = gate.map(CommitGate::before_sync);
    Durability { journal: JournalOptions { before_sync, ..Default::default() }, ..Default::default() }
}

/// An embedded store with its data in a directory.
pub(crate) fn embedded(directory: &Path, clock: &Arc<TestClock>, durability: Durability) -> Arc<dyn Store> {
    let store = EmbeddedStore::open(embedded_options(directory, clock, durability));
    Arc::new(store.expect("a store"))
}

fn embedded_options(directory: &Path, clock: &Arc<TestClock>, durability: Durability) -> EmbeddedOptions {
    let time = Arc::clone(clock);
    EmbeddedOptions {
        path: directory.join("data"),
        shards: FirstShards::default(),
        journal: durability.journal,
        database: durability.database,
        now: Arc::new(move || time.now().millis()),
        accept_clock: false,
    }
}

async fn cluster(name: &str, clock: &Arc<TestClock>) -> ClusterStore {
    let (time, engines) = (Arc::clone(clock), engines::shared());
    let (postgres, redis) = (engines.postgres.url(name), engines.redis.urls());
    let options = engines::options(postgres, &redis, name, Arc::new(move || time.now().millis()));
    ClusterStore::open(options).await.expect("a store")
}
