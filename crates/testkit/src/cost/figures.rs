//! The figures of one slice of load, per request.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use symbolon_loadtest::executor::Outcome;

use super::reading::Used;

/// The cost of a request, or the medians over several slices. CPU times are user and system time in µs; on the embedded
/// store the engines' figures are 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Right answers per second.
    pub rate: f64,
    /// All nodes together.
    pub node_us: f64,
    /// All primaries of Redis together.
    pub redis_primary_us: f64,
    /// All replicas of Redis together.
    pub redis_replica_us: f64,
    /// All processes of PostgreSQL together.
    pub postgres_us: f64,
    /// Commands that the primaries executed, including those within scripts, by name.
    pub commands: BTreeMap<String, f64>,
    /// Bytes that the primaries read from nodes and replicas.
    pub redis_bytes_in: f64,
    /// Bytes that the primaries wrote to nodes and replicas.
    pub redis_bytes_out: f64,
    /// Bytes of requests and answers over HTTP, between generator and nodes.
    pub http_bytes: f64,
    /// Statements that read.
    pub reads: f64,
    /// Statements that write.
    pub writes: f64,
    /// Rows that were written.
    pub rows_written: f64,
    /// Bytes of PostgreSQL's write-ahead log.
    pub wal_bytes: f64,
    /// The generator's own CPU.
    pub generator_us: f64,
    /// Latency that half of the answers did not exceed.
    pub p50_ms: f64,
    /// Latency that 99 % of the answers did not exceed.
    pub p99_ms: f64,
}

impl Figures {
    pub(super) fn of(outcome: &Outcome, used: &Used, http_bytes: u64) -> Self {
        let right = outcome.tally.right.max(1) as f64;
        let us = |cpu: Duration| cpu.as_secs_f64() * 1e6 / right;
        let ms = |percentile: f64| outcome.tally.latency(percentile).as_secs_f64() * 1e3;
        let [reads, writes, _, rows_written] = used.queries.map(|count| count / right);
        Self {
            rate: outcome.rate(),
            node_us: us(used.nodes),
            redis_primary_us: us(used.redis_primaries),
            redis_replica_us: us(used.redis_replicas),
            postgres_us: us(used.postgres),
            commands: used.commands.iter().map(|(name, n)| (name.clone(), *n as f64 / right)).collect(),
            redis_bytes_in: used.redis_bytes_in as f64 / right,
            redis_bytes_out: used.redis_bytes_out as f64 / right,
            http_bytes: http_bytes as f64 / right,
            reads,
            writes,
            rows_written,
            wal_bytes: used.wal as f64 / right,
            generator_us: outcome.generator_us_per_request(),
            p50_ms: ms(50.0),
            p99_ms: ms(99.0),
        }
    }

    /// Each figure's median.
    pub(super) fn medians(slices: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| median(slices.iter().map(figure));
        let names: BTreeSet<&String> = slices.iter().flat_map(|slice| slice.commands.keys()).collect();
        let calls = |name: &String| {
            median(slices.iter().map(|slice| slice.commands.get(name).copied().unwrap_or(0.0)))
        };
        Self {
            rate: of(|figures| figures.rate),
            node_us: of(|figures| figures.node_us),
            redis_primary_us: of(|figures| figures.redis_primary_us),
            redis_replica_us: of(|figures| figures.redis_replica_us),
            postgres_us: of(|figures| figures.postgres_us),
            commands: names.into_iter().map(|name| (name.clone(), calls(name))).collect(),
            redis_bytes_in: of(|figures| figures.redis_bytes_in),
            redis_bytes_out: of(|figures| figures.redis_bytes_out),
            http_bytes: of(|figures| figures.http_bytes),
            reads: of(|figures| figures.reads),
            writes: of(|figures| figures.writes),
            rows_written: of(|figures| figures.rows_written),
            wal_bytes: of(|figures| figures.wal_bytes),
            generator_us: of(|figures| figures.generator_us),
            p50_ms: of(|figures| figures.p50_ms),
            p99_ms: of(|figures| figures.p99_ms),
        }
    }
}

/// The median; with an even number, the mean of the two middle values; 0 of nothing.
pub(super) fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    match figures.len() {
        0 => 0.0,
        even if even % 2 == 0 => f64::midpoint(figures[middle - 1], figures[middle]),
        _ => figures[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_one_slice_did_not_need_counts_as_none_there() {
        let slice = |rate: f64, commands: &[(&str, f64)]| Figures {
            rate,
            commands: commands.iter().map(|(name, calls)| ((*name).to_owned(), *calls)).collect(),
            ..Figures::default()
        };
        let medians = Figures::medians(&[
            slice(30.0, &[("get", 1.0), ("set", 2.0)]),
            slice(10.0, &[("get", 1.5)]),
            slice(20.0, &[("get", 1.1)]),
        ]);
        assert_eq!((medians.rate, medians.commands["get"], medians.commands["set"]), (20.0, 1.1, 0.0));
        assert_eq!(median([4.0, 1.0].into_iter()), 2.5);
    }
}
