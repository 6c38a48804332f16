//! A cluster on loopback, to point a load at.

use std::path::Path;

use symbolon_loadtest::LoadtestError;
use symbolon_store_cluster::engines::Engines;
use tokio::runtime::Runtime;

use super::node::Provider;

/// Nodes of one provider on PostgreSQL and Redis Cluster, which end with it.
pub struct ServedCluster {
    runtime: Runtime,
    provider: Provider,
}

impl ServedCluster {
    /// Starts so many nodes of `binary`, with the admin API and the test endpoints on the public listener and without rate
    /// limits.
    ///
    /// # Errors
    /// [`LoadtestError`] if a node does not start.
    pub fn start(engines: &Engines, binary: &Path, nodes: usize) -> Result<Self, LoadtestError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let engines = (&engines.postgres, &engines.redis, "served");
        let provider = runtime.block_on(Provider::clustered(binary, nodes, engines))?;
        Ok(Self { runtime, provider })
    }

    /// The URLs of the nodes' public listeners.
    pub fn urls(&self) -> Vec<&str> {
        self.provider.nodes.iter().map(|node| node.server.url.as_str()).collect()
    }

    /// The secret of the admin API.
    pub fn admin_secret(&self) -> &str {
        self.provider.admin_secret()
    }

    /// Ends the nodes.
    pub fn end(self) {
        self.runtime.block_on(self.provider.end());
        self.runtime.shutdown_background();
    }
}
