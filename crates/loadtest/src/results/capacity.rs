//! What a search for the limit found.

use serde::{Deserialize, Serialize};

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
    pub p99_ms: Option<f64>,
    /// The lowest rate that did not hold.
    pub failing: Option<f64>,
    /// What kept that one from holding.
    pub bottleneck: Bottleneck,
    /// How that is known.
    pub evidence: String,
    /// The rate to plan with for the worst time of the year: 80 % of the limit. This and what follows is 0 where the
    /// generator was the limit, because then the provider's is not known.
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

impl Capacity {
    /// Whether it says how much the provider bears.
    pub fn is_claimed(&self) -> bool {
        self.limit > 0.0 && !self.bottleneck.is_the_generators()
    }
}

/// What keeps a provider from more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bottleneck {
    /// The provider's CPU time.
    ServerCpu,
    /// The generator's: the limit is not the provider's.
    GeneratorCpu,
    /// What else the generator lacks, connections mostly: the limit is not the provider's.
    Generator,
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

impl Bottleneck {
    /// Whether the generator was at its limit, so that nothing is known of the provider's.
    pub const fn is_the_generators(self) -> bool {
        matches!(self, Self::GeneratorCpu | Self::Generator)
    }
}
