//! What runs gave, as it stands in `results.json`: read back for reports and comparisons.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::scenario::Mix;

/// The version of the form; a reader refuses a newer one.
pub const VERSION: u32 = 1;

/// The file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// [`VERSION`].
    pub version: u32,
    /// What the runs were for: a scenario, the name of a suite.
    pub title: String,
    /// When the first run began, in UTC: `2026-11-21T22:00:00Z`.
    pub started: String,
    /// The machine that the generator, and mostly the provider too, ran on.
    pub machine: Machine,
    /// The provider under load.
    pub provider: Provider,
    /// Why there is less than was asked for; a complete file has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// The runs, in their order.
    pub runs: Vec<Run>,
    /// What a search for the limit found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacities: Vec<Capacity>,
}

impl Results {
    /// Whether everything was run and every threshold held. Tries of a search may fail; the search must have found a
    /// limit.
    pub fn passed(&self) -> bool {
        self.partial.is_none()
            && !self.runs.is_empty()
            && self.runs.iter().all(|run| run.probe || run.passed())
            && self.capacities.iter().all(|capacity| capacity.limit > 0.0)
    }
}

/// What a search for the highest rate that holds has found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// The scenario.
    pub scenario: String,
    /// Shards of its main kind of state.
    pub shards: Option<u32>,
    /// The highest rate that held, in requests per second; 0 where none did.
    pub limit: f64,
    /// P99 of the latency at it.
    pub p99_ms: f64,
    /// The lowest rate that did not hold.
    pub failing: Option<f64>,
    /// What kept that one from holding.
    pub bottleneck: Bottleneck,
    /// How that is known.
    pub evidence: String,
    /// The rate to plan with for the worst time of the year: 80 % of the limit.
    pub peak: f64,
    /// The rate to plan with for every day: half of the limit, so that one of two nodes may fail.
    pub normal: f64,
    /// Requests per second of the provider's own CPU time on one core, at the limit.
    pub per_core: Option<f64>,
    /// Requests in an hour at the peak rate.
    pub busiest_hour_requests: f64,
    /// Requests of this kind that a user makes on a day on which they are active.
    pub requests_per_day: f64,
    /// The part of a month's users who are active on a day.
    pub daily_share: f64,
    /// The part of a day's requests that come in its busiest hour.
    pub busiest_hour_share: f64,
    /// Users of a month whose busiest hour is the peak, if the provider did nothing else.
    pub monthly_active_users: f64,
}

/// What keeps a provider from more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bottleneck {
    /// The provider's CPU time.
    ServerCpu,
    /// The generator's: the limit is not the provider's.
    GeneratorCpu,
    /// The CPU time of other processes on the same cores: the limit is the machine's.
    OtherProcesses,
    /// The wait for a shard.
    ShardQueue,
    /// Durable commits.
    Disk,
    /// Queries.
    Database,
    /// No figure says.
    #[default]
    Unknown,
}

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// Cores that may be used.
    pub cores: usize,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// The operating system.
    pub system: String,
}

/// A provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provider {
    /// Its issuer.
    pub issuer: String,
    /// Its name and version where it says so.
    pub software: Option<String>,
    /// What it signs with.
    pub algorithm: Option<String>,
}

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// What tells it from the other runs of the file, for instance `silent 500/s, 64 shards`.
    pub name: String,
    /// The scenario.
    pub scenario: String,
    /// Which mix it was, for a scenario that has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<Mix>,
    /// `constant-arrival-rate`, `ramping-arrival-rate` or `closed`.
    pub executor: String,
    /// Whether it is a try of a search for the limit, which may fail.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub probe: bool,
    /// What sent the requests.
    #[serde(default, skip_serializing_if = "Generator::is_own")]
    pub generator: Generator,
    /// Requests per second that the plateau asked for; what was answered where nothing was asked for.
    pub rate: f64,
    /// Requests per second that were answered in the plateau.
    pub achieved_rate: f64,
    /// The plateau's length in seconds. All counts and latencies are of the plateau unless they say otherwise.
    pub seconds: f64,
    /// The schedule.
    pub stages: Vec<Stage>,
    /// Connections of the generator.
    pub connections: usize,
    /// Requests in flight at most on each of them: more than one with HTTP/2 alone. Older files do not say.
    #[serde(default)]
    pub streams: usize,
    /// What they speak, `HTTP/1.1` or `HTTP/2`; empty in older files, which is HTTP/1.1.
    #[serde(default)]
    pub protocol: String,
    /// Whether they are encrypted.
    #[serde(default)]
    pub tls: bool,
    /// Requests that were sent.
    pub requests: u64,
    /// Requests that failed without an answer.
    pub failures: u64,
    /// Answers that said something else than they must.
    pub wrong: u64,
    /// Arrivals that found no free connection in time and were never sent.
    pub missed: u64,
    /// Wrong answers and failures outside of the plateau.
    pub errors_besides: u64,
    /// Failures by kind.
    pub failure_kinds: BTreeMap<String, u64>,
    /// Wrong answers by kind.
    pub wrong_kinds: BTreeMap<String, u64>,
    /// An example of a wrong answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_wrong: Option<String>,
    /// The smallest latency, in milliseconds like those that follow. They count from the intended arrival, or
    /// from the sending ([`Generator`]).
    pub min_ms: f64,
    /// The mean latency.
    pub mean_ms: f64,
    /// The median.
    pub p50_ms: f64,
    /// What 75 % did not exceed.
    pub p75_ms: f64,
    /// What 90 % did not exceed.
    pub p90_ms: f64,
    /// What 95 % did not exceed.
    pub p95_ms: f64,
    /// What 99 % did not exceed.
    pub p99_ms: f64,
    /// What 99.9 % did not exceed.
    pub p999_ms: f64,
    /// The longest latency.
    pub max_ms: f64,
    /// CPU time of the provider's process per right answer, in µs; unknown for a remote one.
    pub server_cpu_us_per_request: Option<f64>,
    /// CPU time of the generator per request, in µs.
    pub generator_cpu_us_per_request: f64,
    /// Cores of the generator's machine that were busy with anything, ramps included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_busy_cores: Option<f64>,
    /// How late the generator itself let an arrival go, at worst, in milliseconds.
    pub generator_lag_ms: f64,
    /// Why the generator, and not the provider, was the limit; none where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_limit: Option<String>,
    /// Shards of the scenario's main kind of state.
    pub shards: Option<u32>,
    /// A change of their number while the load went on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reshard: Option<Reshard>,
    /// The course of the run, second by second, ramps included.
    pub timeline: Vec<Second>,
    /// What the provider's own figures say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerFigures>,
    /// The limits that were set, and how they were kept.
    pub thresholds: Vec<Threshold>,
}

impl Run {
    /// What was asked: the scenario, and the mix where it is not the reports'.
    pub fn what(&self) -> &str {
        match (self.mix, &*self.scenario) {
            (Some(Mix::Pure), "introspect") => "introspect, valid tokens only",
            (Some(Mix::Pure), "exchange") => "exchange, valid tokens only",
            (_, scenario) => scenario,
        }
    }

    /// Whether every answer was right, also outside of the plateau, and every threshold held.
    pub fn passed(&self) -> bool {
        self.wrong == 0 && self.errors_besides == 0 && self.thresholds.iter().all(|threshold| threshold.held)
    }
}

/// What sends requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Generator {
    /// This crate; latencies count from the intended arrival.
    #[default]
    Own,
    /// k6 with the scripts of `loadtest/k6`; latencies count from the sending.
    K6 {
        /// How many ran at once. Of several, a percentile is the highest of theirs.
        instances: u32,
    },
}

impl Generator {
    /// Whether it is this crate.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    fn is_own(&self) -> bool {
        *self == Self::Own
    }
}

/// A part of a schedule: the rate goes in a straight line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Requests per second at its beginning.
    pub from: f64,
    /// Requests per second at its end.
    pub to: f64,
    /// How long it takes.
    pub seconds: f64,
}

/// A change of the number of shards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reshard {
    /// When it was made, in seconds after the beginning of the load, warm-up included.
    pub at: f64,
    /// Their new number.
    pub to: u32,
}

/// One second of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Seconds since the start.
    pub at: u32,
    /// Requests that were answered.
    pub answered: u64,
    /// Failures and wrong answers.
    pub errors: u64,
    /// The median latency of those answers.
    pub p50_ms: f64,
    /// What 99 % of them did not exceed.
    pub p99_ms: f64,
    /// Cores that the provider kept busy, where that is known.
    pub server_cores: Option<f64>,
}

/// Percentiles of something that the provider measured, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// How many were measured.
    pub count: u64,
    /// The mean.
    pub mean_ms: f64,
    /// The median.
    pub p50_ms: f64,
    /// What 75 % did not exceed.
    pub p75_ms: f64,
    /// What 90 % did not exceed.
    pub p90_ms: f64,
    /// What 99 % did not exceed.
    pub p99_ms: f64,
    /// What 99.9 % did not exceed.
    pub p999_ms: f64,
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

/// A limit and how it was kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// What is limited, for instance `p95_ms`.
    pub name: String,
    /// The limit as it is read, for instance `< 300`.
    pub limit: String,
    /// What was measured.
    pub value: f64,
    /// Whether it held.
    pub held: bool,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use crate::report::sample;

    /// Members whose names are data: kinds, caches, algorithms.
    const MAPS: [&str; 4] = ["failure_kinds", "wrong_kinds", "caches", "signatures"];

    fn members(value: &Value, into: &mut BTreeSet<String>) {
        match value {
            Value::Array(list) => list.iter().for_each(|one| members(one, into)),
            Value::Object(object) => {
                for (name, value) in object {
                    into.insert(name.clone());
                    if !MAPS.contains(&name.as_str()) {
                        members(value, into);
                    }
                }
            }
            _ => {}
        }
    }

    #[test]
    fn the_reference_names_every_member() {
        let mut results = sample::full();
        results.partial = Some("interrupted".into());
        results.capacities = vec![sample::capacity()];
        let mut names = BTreeSet::new();
        members(&serde_json::to_value(&results).unwrap(), &mut names);
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/results-file.md");
        let reference = std::fs::read_to_string(path).unwrap();
        for name in &names {
            assert!(
                reference.contains(&format!("`{name}`")),
                "{name} is not in docs/reference/results-file.md"
            );
        }
        assert!(names.len() > 60, "{names:?}");
    }
}
