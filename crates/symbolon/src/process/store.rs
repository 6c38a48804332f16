//! The back-end that the configuration names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use symbolon_app::clock::{Clock, SystemClock};
use symbolon_config::{Cluster, Config, Finding, ShardCounts};
use symbolon_crypto::random::SystemRandom;
use symbolon_store::port::{Issuers, Store};
use symbolon_store::shard::FirstShards;
use symbolon_store_cluster::{ClusterOptions, ClusterStore, PostgresOptions, RedisOptions, ReplicaPolicy};
use symbolon_store_embedded::database::DatabaseOptions;
use symbolon_store_embedded::directory::DataDirectory;
use symbolon_store_embedded::free_space::free_bytes;
use symbolon_store_embedded::journal::{JournalOptions, SyncMode};
use symbolon_store_embedded::{EmbeddedOptions, EmbeddedStore, Recovery};
use tokio::runtime::Runtime;
use tokio::task::JoinError;

use super::ProcessError;

/// An open store.
pub(crate) struct Opened {
    /// Where state is kept. Close it before the rest is dropped.
    pub(crate) store: Arc<dyn Store>,
    /// The directory of the secrets that the configuration does not give; `None` for the cluster.
    pub(crate) directory: Option<PathBuf>,
    /// Whether the store is new: it has no issuer yet.
    pub(crate) is_new: bool,
    recovery: Option<(Arc<EmbeddedStore>, Recovery)>,
    _io: Option<OwnRuntime>,
}

impl Opened {
    /// Recovers the store if it still has to be recovered. Its records can be read before that.
    pub(crate) async fn recover(&mut self) -> Result<(), ProcessError> {
        let Some((store, recovery)) = self.recovery.take() else { return Ok(()) };
        let recovered = tokio::task::spawn_blocking(move || store.recover(&recovery)).await;
        Ok(recovered.map_err(cannot_open)??)
    }
}

fn cannot_open(error: JoinError) -> ProcessError {
    ProcessError::Io { what: "cannot open the store".into(), source: error.into() }
}

/// The runtime of the cluster's connections. Separate, so that no request that computes delays the lease.
struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    fn new(threads: usize) -> Result<Self, ProcessError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads.max(1))
            .thread_name("store")
            .enable_all()
            .build()
            .map_err(|source| ProcessError::Io { what: "cannot start a runtime".into(), source })?;
        Ok(Self(Some(runtime)))
    }

    /// Runs work on this runtime, so that the tasks that it spawns stay there.
    async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, ProcessError> {
        match &self.0 {
            Some(runtime) => runtime.spawn(work).await.map_err(cannot_open),
            None => Ok(work.await),
        }
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        // It may be dropped in a task, which must not wait for the runtime's threads.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Opens the store of a configuration.
pub(crate) async fn open(config: &Config, clock: &Arc<SystemClock>) -> Result<Opened, ProcessError> {
    config.refuse(check(config))?;
    let mut opened = open_records(config, clock, false, 1).await?;
    opened.recover().await?;
    Ok(opened)
}

/// Opens the store of a configuration that was [checked](check). The caller has to [recover](Opened::recover) it.
/// `threads`: number of threads of the cluster's runtime.
pub(crate) async fn open_records(
    config: &Config,
    clock: &Arc<SystemClock>,
    accept_clock: bool,
    threads: usize,
) -> Result<Opened, ProcessError> {
    let Some(options) = cluster_options(config, clock, accept_clock) else {
        let options = embedded_options(config, clock, accept_clock);
        let recovery = Recovery::of(&options);
        let store = Arc::new(EmbeddedStore::records(options)?);
        let directory = Some(store.directory().path().to_owned());
        let is_new = store.issuers().await?.is_empty();
        let recovery = Some((Arc::clone(&store), recovery));
        return Ok(Opened { store, directory, is_new, recovery, _io: None });
    };
    let io = OwnRuntime::new(threads)?;
    let opened = io.run(ClusterStore::open(options)).await??;
    let is_new = opened.issuers().await?.is_empty();
    Ok(Opened { store: Arc::new(opened), directory: None, is_new, recovery: None, _io: Some(io) })
}

/// What is wrong with the engines' URLs or with the data directory, beyond what the configuration checks itself.
/// Connects to nothing and creates nothing.
pub(crate) fn check(config: &Config) -> Vec<Finding> {
    let found = match &config.storage.cluster {
        Some(cluster) => postgres(cluster).check().err().map(|error| Finding {
            key: config.secret_from("postgres.url", "postgres.url_file"),
            problem: error.to_string(),
            mend: "write it as in \"postgres://user:password@host:5432/database?sslmode=require\"".into(),
        }),
        None => directory_fault(&config.storage.data_dir).or_else(|| room_fault(config)),
    };
    found.into_iter().collect()
}

fn directory_fault(data: &Path) -> Option<Finding> {
    let known = DataDirectory::is_known(data).and_then(|_| DataDirectory::check_whole(data));
    let error = known.err()?;
    Some(Finding { key: "data_dir", problem: error.problem(), mend: error.mend().to_owned() })
}

/// The lack of room for a first start, which has to write. Later starts need not: without the reserve, they answer
/// reads.
fn room_fault(config: &Config) -> Option<Finding> {
    const MIB: u64 = 1 << 20;
    let (data, reserve) = (&config.storage.data_dir, config.storage.reserve);
    let data = std::path::absolute(data).ok()?;
    let free = data.ancestors().find_map(free_bytes)?;
    (DataDirectory::is_new(&data) && free <= reserve).then(|| Finding {
        key: "storage.reserve",
        problem: format!(
            "is more than what is free on the disk of data_dir ({}): {} MiB",
            data.display(),
            free / MIB
        ),
        mend: "make room there, name a data_dir on another disk, or write less (64MiB at least)".to_owned(),
    })
}

/// The options of a configuration's engines; `None` for the embedded store.
pub(crate) fn cluster_options(
    config: &Config,
    clock: &Arc<SystemClock>,
    accept_clock: bool,
) -> Option<ClusterOptions> {
    let cluster = config.storage.cluster.as_ref()?;
    let clock = Arc::clone(clock);
    Some(ClusterOptions {
        postgres: postgres(cluster),
        redis: RedisOptions {
            urls: cluster.redis_urls.clone(),
            timeout: cluster.redis_timeout,
            replicas: if cluster.redis_waits { ReplicaPolicy::Wait } else { ReplicaPolicy::Local },
            prefix: cluster.redis_prefix.clone(),
        },
        shards: first_shards(config.storage.shards),
        now: Arc::new(move || clock.now().millis()),
        random: Arc::new(SystemRandom),
        accept_clock,
    })
}

fn first_shards(counts: ShardCounts) -> FirstShards {
    let ShardCounts { code, session, challenge, refresh, revocation, assertion } = counts;
    FirstShards { code, session, challenge, refresh, revocation, assertion }
}

fn postgres(cluster: &Cluster) -> PostgresOptions {
    PostgresOptions {
        url: cluster.postgres_url.clone(),
        connections: cluster.postgres_connections,
        timeout: cluster.postgres_timeout,
    }
}

/// Opens the data directory of a configuration.
pub(crate) fn open_embedded(
    config: &Config,
    clock: &Arc<SystemClock>,
    accept_clock: bool,
) -> Result<Arc<EmbeddedStore>, ProcessError> {
    Ok(Arc::new(EmbeddedStore::open(embedded_options(config, clock, accept_clock))?))
}

/// The options for the data directory of a configuration.
pub(crate) fn embedded_options(
    config: &Config,
    clock: &Arc<SystemClock>,
    accept_clock: bool,
) -> EmbeddedOptions {
    let clock = Arc::clone(clock);
    EmbeddedOptions {
        path: config.storage.data_dir.clone(),
        shards: first_shards(config.storage.shards),
        journal: JournalOptions {
            hold: config.storage.commit_hold,
            sync: if config.storage.sync { SyncMode::Data } else { SyncMode::Off },
            reserve_bytes: config.storage.reserve,
            ..JournalOptions::default()
        },
        database: DatabaseOptions { sync: config.storage.sync, ..DatabaseOptions::default() },
        now: Arc::new(move || clock.now().millis()),
        accept_clock,
    }
}
