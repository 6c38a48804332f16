//! What an operation costs on each kind of machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::LoadtestError;
use crate::scenario::Scenario;

/// The version of the file.
const VERSION: u32 = 1;

/// The measurement that `docs/topics/scaling.md` documents.
const BUILT_IN: &str = include_str!("../../data/costs.json");

/// Measured costs; the file that `measure_cluster --costs` writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// The version of this form.
    pub version: u32,
    /// On which machine, with which algorithm, and with what.
    pub measured: String,
    /// By what is asked.
    pub operations: BTreeMap<Scenario, OperationCost>,
    /// What a node costs that nobody asks.
    pub background: Background,
    /// What is kept.
    pub footprint: Footprint,
    /// Refresh rotations.
    pub rotation: RotationCost,
    /// Latencies at a low rate, to hold the simulation against.
    pub points: Vec<Point>,
}

/// What one node, with its engines on the same machine, took at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// What was asked.
    pub scenario: Scenario,
    /// Requests per second.
    pub rate: f64,
    /// Cores of the machine.
    pub cores: u32,
    /// What one cost at this rate: more than at saturation, where the processor sleeps less and more is done together.
    pub cost: OperationCost,
    /// Latency that half of the answers did not exceed.
    pub p50_ms: f64,
    /// Latency that 99 % of the answers did not exceed.
    pub p99_ms: f64,
}

/// One operation. CPU times are user and system time in µs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperationCost {
    /// Of the node.
    pub node_us: f64,
    /// Of Redis' primaries.
    pub redis_primary_us: f64,
    /// Of Redis' replicas together.
    pub redis_replica_us: f64,
    /// Of PostgreSQL.
    pub postgres_us: f64,
    /// Answers of Redis that it waits for, one after the other.
    pub redis_trips: f64,
    /// Bytes to and from Redis' primaries, replication included.
    pub redis_bytes: f64,
    /// Bytes to and from the node over HTTP.
    pub http_bytes: f64,
    /// Rows that it makes PostgreSQL write.
    pub rows_written: f64,
    /// Bytes of PostgreSQL's write-ahead log.
    pub wal_bytes: f64,
}

/// CPU time per second that one idle node causes, in µs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Background {
    /// On itself.
    pub node_us: f64,
    /// On PostgreSQL, by its lease; PostgreSQL's own housekeeping included.
    pub postgres_us: f64,
}

/// Bytes that state takes where it is kept, indexes and allocation included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Footprint {
    /// A session, in a primary of Redis.
    pub session: f64,
    /// An authorization code, in a primary of Redis.
    pub code: f64,
    /// A tombstone, in a primary of Redis.
    pub tombstone: f64,
    /// A tombstone, in PostgreSQL.
    pub tombstone_row: f64,
    /// A user, in PostgreSQL.
    pub user: f64,
    /// A refresh-token family, in PostgreSQL.
    pub family: f64,
}

/// Durable refresh rotations per second on one PostgreSQL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RotationCost {
    /// Many in one statement and one commit.
    pub batched_per_second: f64,
    /// Two statements and a commit for each.
    pub single_per_second: f64,
}

impl Costs {
    /// The documented measurement.
    ///
    /// # Errors
    /// None, as long as the tests pass.
    pub fn built_in() -> Result<Self, LoadtestError> {
        Self::parse(BUILT_IN)
    }

    /// Reads a file of costs.
    ///
    /// # Errors
    /// [`LoadtestError::Options`]: it is no such file, or a figure in it is impossible.
    pub fn parse(json: &str) -> Result<Self, LoadtestError> {
        let bad = |reason: String| LoadtestError::Options(format!("costs: {reason}"));
        let costs: Self = serde_json::from_str(json).map_err(|error| bad(error.to_string()))?;
        if costs.version != VERSION {
            return Err(bad(format!("version {} where {VERSION} is known", costs.version)));
        }
        let possible = costs.figures().all(|figure| figure.is_finite() && figure >= 0.0);
        if possible { Ok(costs) } else { Err(bad("a figure is negative or no number".into())) }
    }

    /// Costs of this version.
    pub fn new(measured: String) -> Self {
        Self {
            version: VERSION,
            measured,
            operations: BTreeMap::new(),
            background: Background::default(),
            footprint: Footprint::default(),
            rotation: RotationCost::default(),
            points: Vec::new(),
        }
    }

    /// What an operation costs.
    ///
    /// # Errors
    /// [`LoadtestError::Options`] where it was not measured.
    pub fn of(&self, scenario: Scenario) -> Result<&OperationCost, LoadtestError> {
        self.operations.get(&scenario).ok_or_else(|| {
            LoadtestError::Options(format!("costs: {scenario} was not measured, and the workload has it"))
        })
    }

    fn figures(&self) -> impl Iterator<Item = f64> {
        let operations = self.operations.values().flat_map(|cost| {
            [cost.node_us, cost.redis_primary_us, cost.redis_replica_us, cost.postgres_us, cost.redis_trips]
                .into_iter()
                .chain([cost.redis_bytes, cost.http_bytes, cost.rows_written, cost.wal_bytes])
        });
        let Footprint { session, code, tombstone, tombstone_row, user, family } = self.footprint;
        let kept = [session, code, tombstone, tombstone_row, user, family];
        let rest = [self.background.node_us, self.background.postgres_us];
        let rotation = [self.rotation.batched_per_second, self.rotation.single_per_second];
        let points = self.points.iter().flat_map(|point| [point.rate, point.p50_ms, point.p99_ms]);
        operations.chain(kept).chain(rest).chain(rotation).chain(points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_costs_can_be_read_and_have_every_operation_of_a_workload() {
        let costs = Costs::built_in().unwrap();
        for scenario in super::super::workload::OPERATIONS {
            let cost = costs.of(scenario).unwrap();
            assert!(cost.node_us > 0.0 && cost.redis_primary_us >= 0.0, "{scenario}: {cost:?}");
        }
        let Footprint { session, code, tombstone, tombstone_row, user, family } = costs.footprint;
        assert!([session, code, tombstone, tombstone_row, user, family].iter().all(|bytes| *bytes > 0.0));
        let written = serde_json::to_string_pretty(&costs).unwrap();
        assert_eq!(Costs::parse(&written).unwrap(), costs);
    }

    #[test]
    fn a_file_that_cannot_be_is_refused_with_the_reason() {
        let said = |json: &str| Costs::parse(json).unwrap_err().to_string();
        assert!(said("{}").contains("costs: missing field"));
        let later = BUILT_IN.replacen("\"version\": 1", "\"version\": 9", 1);
        assert!(said(&later).contains("version 9"));
        let mut costs = Costs::built_in().unwrap();
        costs.footprint.session = -1.0;
        assert!(said(&serde_json::to_string(&costs).unwrap()).contains("negative"));
        let error = Costs::new("nothing".into()).of(Scenario::Silent).unwrap_err();
        assert!(error.to_string().contains("silent was not measured"), "{error}");
    }
}
