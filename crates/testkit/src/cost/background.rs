//! What nodes and engines cost without any request.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use symbolon_loadtest::LoadtestError;
use symbolon_store_cluster::engines::Engines;

use super::node::Provider;
use super::reading::Reading;

/// CPU time per second of nodes that hold their leases and do nothing else, in µs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Background {
    /// The number of nodes.
    pub nodes: usize,
    /// One node.
    pub node_us: f64,
    /// All primaries of Redis, with their own housekeeping.
    pub redis_primary_us: f64,
    /// All replicas of Redis, with their own housekeeping.
    pub redis_replica_us: f64,
    /// All of PostgreSQL, with its own housekeeping.
    pub postgres_us: f64,
}

impl Background {
    /// Measures for `time`, in which nothing is requested.
    #[allow(clippy::disallowed_methods, reason = "real processes spend real time")]
    pub(super) fn watch(
        cluster: &Provider,
        engines: &Engines,
        time: Duration,
    ) -> Result<Self, LoadtestError> {
        let before = Reading::before(&cluster.nodes, Some(engines))?;
        std::thread::sleep(time);
        let used = Reading::after(&cluster.nodes, Some(engines))?.since(&before);
        let per_second = |cpu: Duration| cpu.as_secs_f64() * 1e6 / time.as_secs_f64();
        Ok(Self {
            nodes: cluster.nodes.len(),
            node_us: per_second(used.nodes) / cluster.nodes.len().max(1) as f64,
            redis_primary_us: per_second(used.redis_primaries),
            redis_replica_us: per_second(used.redis_replicas),
            postgres_us: per_second(used.postgres),
        })
    }
}
