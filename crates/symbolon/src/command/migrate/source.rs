//! The store that is moved from: finds, freezes, reads and ends it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::json;
use symbolon_app::clock::SystemClock;
use symbolon_config::Config;
use symbolon_store::Store;
use symbolon_store::transfer::{Export, Freeze};
use symbolon_store_cluster::transfer::ClusterExport;
use symbolon_store_cluster::{ClusterOptions, ClusterStore};
use symbolon_store_embedded::EmbeddedError;
use symbolon_store_embedded::backup::BackupFailure;
use symbolon_store_embedded::freeze;
use symbolon_store_embedded::transfer::EmbeddedExport;

use super::super::CommandError;
use super::super::api::Api;
use super::MigrateError;
use super::progress::say;
use crate::process::store::open_embedded;
use crate::process::{self, ProcessError};

/// Longer than nodes wait before they write gathered lines of the audit log.
const AUDITED_WITHIN: Duration = Duration::from_secs(2);

/// A data directory that exists and was not moved.
pub(super) struct Found(PathBuf);

/// Finds the data directory of a configuration.
pub(super) fn find(config: &Config) -> Result<Found, CommandError> {
    let data = &config.storage.data_dir;
    if !data.is_dir() {
        return Err(MigrateError::NoDirectory(data.clone()).into());
    }
    if freeze::stored(data).map_err(MigrateError::from)? == Freeze::Migrated {
        return Err(ProcessError::from(EmbeddedError::Migrated(data.clone())).into());
    }
    Ok(Found(data.clone()))
}

/// A frozen store.
pub(super) struct Source {
    export: Box<dyn Export>,
    held: Held,
}

/// What keeps the store frozen.
enum Held {
    /// This process opened it: a data directory that no server held, or the cluster as one more node.
    Here(Arc<dyn Store>),
    /// A server runs on it, and made a copy.
    Server(Arc<Config>, Snapshot),
}

impl Found {
    /// Freezes the store: in this process, or through the server that holds it.
    pub(super) async fn freeze(
        self,
        config: Arc<Config>,
        clock: &Arc<SystemClock>,
    ) -> Result<Source, CommandError> {
        let (own, of_own) = (Arc::clone(&config), Arc::clone(clock));
        let opened = blocking(move || open_embedded(&own, &of_own, false)).await?;
        match opened {
            Ok(store) => {
                say("no server holds the data directory: it is read here");
                store.freeze(Freeze::Migrating).await.map_err(MigrateError::from)?;
                let export = Box::new(EmbeddedExport::of(&store).await.map_err(MigrateError::from)?);
                Ok(Source { export, held: Held::Here(store) })
            }
            Err(error) if process::is_locked(&error) => self.of_server(config).await,
            Err(error) => Err(error.into()),
        }
    }

    async fn of_server(self, config: Arc<Config>) -> Result<Source, CommandError> {
        let snapshot = Snapshot::beside(&self.0)?;
        say("the server refuses writes from now on, and copies what it has");
        let (path, asked) = (snapshot.0.clone(), Arc::clone(&config));
        let export = blocking(move || {
            ask(asked, Method::POST, "/migration", Some(path.as_path()))?;
            EmbeddedExport::of_backup(&path).map_err(|error| CommandError::from(MigrateError::from(error)))
        });
        let export = Box::new(export.await??);
        Ok(Source { export, held: Held::Server(config, snapshot) })
    }
}

/// Opens a cluster as one more node, and freezes it on every node.
pub(super) async fn freeze_cluster(options: ClusterOptions) -> Result<Source, CommandError> {
    let store = Arc::new(ClusterStore::open(options).await.map_err(ProcessError::from)?);
    store.freeze(Freeze::Migrating).await.map_err(MigrateError::from)?;
    say("every node refuses writes from now on");
    tokio::time::sleep(AUDITED_WITHIN).await;
    let export = Box::new(ClusterExport::of(Arc::clone(&store)).await.map_err(MigrateError::from)?);
    Ok(Source { export, held: Held::Here(store) })
}

impl Source {
    /// Its records.
    pub(super) fn export(&self) -> &dyn Export {
        &*self.export
    }

    /// Ends the store, because everything is in the other store.
    pub(super) async fn end(self) -> Result<(), CommandError> {
        match self.held {
            Held::Here(store) => {
                store.freeze(Freeze::Migrated).await.map_err(MigrateError::from)?;
                Ok(store.close().await.map_err(MigrateError::from)?)
            }
            Held::Server(config, _snapshot) => {
                blocking(move || ask(config, Method::POST, "/migration/finished", None)).await?
            }
        }
    }

    /// Closes the store, and leaves it frozen.
    pub(super) async fn leave(self) -> Result<(), CommandError> {
        match self.held {
            Held::Here(store) => Ok(store.close().await.map_err(MigrateError::from)?),
            Held::Server(..) => Ok(()),
        }
    }
}

/// Sends a request to the server that holds the data directory. Blocks.
pub(super) fn ask(
    config: Arc<Config>,
    method: Method,
    path: &str,
    target: Option<&Path>,
) -> Result<(), CommandError> {
    let api = Api::of_the_holder(config)?;
    api.ask_all(method, path, target.map(|path| json!({ "path": path })).as_ref())?;
    api.close()
}

/// Runs work that may block, or that has its own runtime, on a blocking thread.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CommandError> {
    Ok(tokio::task::spawn_blocking(work).await.map_err(std::io::Error::from)?)
}

/// A copy that a server makes beside its data directory. It is read by this process, and then removed.
struct Snapshot(PathBuf);

impl Snapshot {
    /// The path of the copy. Remains of an earlier attempt are removed.
    fn beside(data: &Path) -> Result<Self, CommandError> {
        let data = std::path::absolute(data)?;
        let name = data.file_name().ok_or_else(|| MigrateError::NoDirectory(data.clone()))?.to_owned();
        let beside = |suffix: &str| {
            let mut name = name.clone();
            name.push(suffix);
            data.with_file_name(name)
        };
        for left in [".snapshot", ".snapshot.partial"].map(beside) {
            if left.exists() {
                let io = |source| MigrateError::from(BackupFailure::Io { path: left.clone(), source });
                fs::remove_dir_all(&left).map_err(io)?;
            }
        }
        Ok(Self(beside(".snapshot")))
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if self.0.exists()
            && let Err(error) = fs::remove_dir_all(&self.0)
        {
            say(&format!(
                "{} could not be removed: {error}. It is a copy that nothing needs: remove it.",
                self.0.display()
            ));
        }
    }
}
