//! The provider's own figures over a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Percentiles of something that the provider measured, in milliseconds. One is there where there are enough
/// observations for it, and where its histogram tells more than that it lies below its first bound or above its last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// How many were measured.
    pub count: u64,
    /// The mean.
    pub mean_ms: Option<f64>,
    /// The median.
    pub p50_ms: Option<f64>,
    /// What 75 % did not exceed.
    pub p75_ms: Option<f64>,
    /// What 90 % did not exceed.
    pub p90_ms: Option<f64>,
    /// What 99 % did not exceed.
    pub p99_ms: Option<f64>,
    /// What 99.9 % did not exceed.
    pub p999_ms: Option<f64>,
}

/// The provider's figures over a run, ramps included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerFigures {
    /// How long requests took inside of it.
    pub request_duration: Percentiles,
    /// CPU time of its process in seconds.
    pub cpu_seconds: f64,
    /// Resident memory at the end, in MiB.
    pub resident_mib: f64,
    /// State by kind.
    pub stores: Vec<StoreFigures>,
    /// Database queries that read.
    pub read_queries: u64,
    /// Database queries that write.
    pub write_queries: u64,
    /// Rows read.
    pub rows_read: u64,
    /// Rows written.
    pub rows_written: u64,
    /// Hits and misses by cache.
    pub caches: BTreeMap<String, CacheFigures>,
    /// Durable commits.
    pub commits: u64,
    /// Operations in them.
    pub commit_operations: u64,
    /// How long commits took.
    pub commit_duration: Percentiles,
    /// Tokens signed, by algorithm.
    pub signatures: BTreeMap<String, u64>,
}

/// One kind of state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoreFigures {
    /// `code`, `session` and so on.
    pub kind: String,
    /// How long operations took.
    pub wall: Percentiles,
    /// How long they waited for their shard.
    pub queue_wait: Percentiles,
    /// By shard.
    pub shards: Vec<ShardFigures>,
}

/// One shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShardFigures {
    /// Its number.
    pub shard: u32,
    /// Operations.
    pub operations: u64,
    /// Those that failed.
    pub errors: u64,
    /// Time in them, in milliseconds.
    pub wall_ms: f64,
    /// Time waiting for them, in milliseconds.
    pub queue_wait_ms: f64,
}

/// One cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CacheFigures {
    /// Found.
    pub hits: u64,
    /// Not found.
    pub misses: u64,
}
