//! What one machine of a kind is, and what must be survived.

use serde::{Deserialize, Serialize};

use crate::LoadtestError;

/// The machines to plan with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hardware {
    /// Cores of a node.
    pub node_cores: f64,
    /// The part of a processor that may be busy at the peak, with everything that may be lost already lost.
    pub utilisation: f64,
    /// Gigabytes that a primary of Redis may hold: less than half of its machine's memory, because a rewrite of its log
    /// may copy what changes meanwhile.
    pub redis_gb: f64,
    /// Replicas of a primary. Two let writes go on when a zone is lost.
    pub redis_replicas: u32,
    /// Cores of the largest PostgreSQL that is wanted.
    pub postgres_cores: f64,
    /// Terabytes of the largest PostgreSQL that is wanted.
    pub postgres_tb: f64,
    /// Megabytes of write-ahead log that it may write in a second.
    pub wal_mb_per_second: f64,
    /// Gigabits per second of a machine's network.
    pub network_gbit: f64,
    /// Zones that the machines are spread over.
    pub zones: u32,
    /// Whether everything must be carried with one zone lost; without, with one machine lost.
    pub survive_zone: bool,
    /// The time until a write is durable, in ms: `fdatasync`, and the way to a standby.
    pub commit_ms: f64,
    /// The way to an engine and back, in ms.
    pub round_trip_ms: f64,
}

impl Default for Hardware {
    /// Nodes of 4 cores, 16 GB in a Redis, PostgreSQL up to 64 cores and 16 TB, three zones of which one may be lost.
    fn default() -> Self {
        Self {
            node_cores: 4.0,
            utilisation: 0.6,
            redis_gb: 16.0,
            redis_replicas: 2,
            postgres_cores: 64.0,
            postgres_tb: 16.0,
            wal_mb_per_second: 200.0,
            network_gbit: 10.0,
            zones: 3,
            survive_zone: true,
            commit_ms: 2.0,
            round_trip_ms: 0.5,
        }
    }
}

impl Hardware {
    /// # Errors
    /// [`LoadtestError::Options`]: the name of the figure that cannot be.
    pub fn check(&self) -> Result<(), LoadtestError> {
        let positive = [
            ("--node-cores", self.node_cores),
            ("--redis-gb", self.redis_gb),
            ("--postgres-cores", self.postgres_cores),
            ("--postgres-tb", self.postgres_tb),
            ("--wal-mb-per-second", self.wal_mb_per_second),
            ("--network-gbit", self.network_gbit),
            ("--commit-ms", self.commit_ms),
            ("--round-trip-ms", self.round_trip_ms),
        ];
        let impossible = positive.iter().find(|(_, figure)| !(figure.is_finite() && *figure > 0.0));
        let named = match impossible {
            Some((name, _)) => *name,
            None if !(0.05..=0.95).contains(&self.utilisation) => "--utilisation (0.05 to 0.95)",
            None if !(1..=16).contains(&self.zones) => "--zones (1 to 16)",
            None if self.survive_zone && self.zones < 2 => "--zones (the loss of the only zone)",
            None if !(1..=5).contains(&self.redis_replicas) => "--redis-replicas (1 to 5)",
            None => return Ok(()),
        };
        Err(LoadtestError::Options(format!("{named} is out of range")))
    }
}
