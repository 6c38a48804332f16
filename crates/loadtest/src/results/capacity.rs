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

/// What more shards brought, beside the next smaller number of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain<'a> {
    /// The scenario.
    pub scenario: &'a str,
    /// The smaller number of shards, and the greater one.
    pub shards: (u32, u32),
    /// Between which shares the limit rose, or fell below 0. Each limit lies somewhere from the rate that held to the one that did
    /// not. None where one of the limits is the generator's, or no rate failed.
    pub between: Option<(f64, f64)>,
}

/// What more shards brought, for each scenario that was searched with several numbers of them.
pub fn gains(capacities: &[Capacity]) -> Vec<Gain<'_>> {
    let gain = |now: &Capacity| {
        let before = next_smaller(capacities, now)?;
        let bounds = |of: &Capacity| Some((of.limit, of.failing?)).filter(|_| of.is_claimed());
        let between = bounds(before).zip(bounds(now));
        Some(Gain {
            scenario: before.scenario.as_str(),
            shards: before.shards.zip(now.shards)?,
            between: between.map(|((held, failed), now)| (now.0 / failed - 1.0, now.1 / held - 1.0)),
        })
    };
    capacities.iter().filter_map(gain).collect()
}

/// The same scenario at the next smaller number of shards.
fn next_smaller<'a>(capacities: &'a [Capacity], than: &Capacity) -> Option<&'a Capacity> {
    let others = capacities.iter().filter(|other| other.scenario == than.scenario);
    others
        .filter(|other| other.shards.is_some() && other.shards < than.shards)
        .max_by_key(|other| other.shards)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn found(scenario: &str, shards: u32, (limit, failing): (f64, f64)) -> Capacity {
        let bottleneck = Bottleneck::ServerCpu;
        let (shards, failing) = (Some(shards), Some(failing));
        Capacity { scenario: scenario.into(), shards, limit, failing, bottleneck, ..Capacity::default() }
    }

    #[test]
    fn the_gain_is_beside_the_next_smaller_number_of_shards_and_as_wide_as_both_limits() {
        let of_generator =
            Capacity { bottleneck: Bottleneck::Generator, ..found("silent", 64, (4_000.0, 4_100.0)) };
        let mut capacities = vec![
            found("silent", 8, (1_500.0, 1_600.0)),
            found("refresh", 1, (500.0, 510.0)),
            found("silent", 1, (1_000.0, 1_200.0)),
            of_generator,
        ];
        let told = gains(&capacities);
        let places: Vec<_> = told.iter().map(|gain| (gain.scenario, gain.shards)).collect();
        assert_eq!(places, [("silent", (1, 8)), ("silent", (8, 64))]);
        let (least, most) = told[0].between.unwrap();
        assert!((least - 0.25).abs() < 1e-9 && (most - 0.6).abs() < 1e-9, "{told:?}");
        assert_eq!(told[1].between, None, "what the generator held says nothing");
        capacities[0].failing = None;
        assert_eq!(gains(&capacities)[0].between, None, "no rate failed");
    }
}
