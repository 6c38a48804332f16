//! What is to be run: loads, and the providers that they meet.

use std::time::Duration;

use symbolon_crypto::Algorithm;

use super::Rule;
use crate::LoadtestError;
use crate::admin;
use crate::client::Timeouts;
use crate::executor::Schedule;
use crate::scenario::{Mix, Scenario};
use crate::seed::SeedOptions;

/// One load: what is asked, when, and what must hold.
#[derive(Clone)]
pub struct Plan {
    /// What is asked.
    pub scenario: Scenario,
    /// When.
    pub traffic: Traffic,
    /// Load before the traffic that is not measured.
    pub warm_up: Duration,
    /// Requests in flight at most; connections too, unless HTTP/2 shares them.
    pub connections: usize,
    /// Threads of the generator.
    pub threads: usize,
    /// How long a request may take, waiting for a connection included.
    pub timeout: Duration,
    /// What decides whether the run passed.
    pub thresholds: Vec<Rule>,
    /// A change of the number of shards while the load goes on.
    pub reshard: Option<Reshard>,
}

/// When requests are sent.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// At times that are fixed in advance, whether the provider keeps up or not.
    Open(Schedule),
    /// Each connection sends again as soon as it is answered, for so long: what the provider does when it is never
    /// idle. Its latencies say nothing of users, who do not wait for each other.
    Closed(Duration),
}

impl Traffic {
    /// Requests per second of the plateau; a closed load has what comes of it.
    pub fn rate(&self) -> Option<f64> {
        match self {
            Self::Open(schedule) => Some(schedule.rate()),
            Self::Closed(_) => None,
        }
    }

    /// From the first request to the last.
    pub fn duration(&self) -> Duration {
        match self {
            Self::Open(schedule) => schedule.duration(),
            Self::Closed(duration) => *duration,
        }
    }

    /// The length of what is measured.
    pub fn plateau(&self) -> Duration {
        match self {
            Self::Open(schedule) => schedule.plateau(),
            Self::Closed(duration) => *duration,
        }
    }
}

/// A change of the number of shards of the scenario's kind of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reshard {
    /// After the beginning of the load, warm-up included.
    pub after: Duration,
    /// Their new number.
    pub to: u32,
}

impl Plan {
    /// Two seconds of warm-up, 64 connections, one thread, half a minute for each request, the usual thresholds.
    pub fn new(scenario: Scenario, traffic: Traffic) -> Self {
        Self {
            scenario,
            traffic,
            warm_up: Duration::from_secs(2),
            connections: 64,
            threads: 1,
            timeout: Timeouts::default().request,
            thresholds: Rule::usual(),
            reshard: None,
        }
    }

    /// Whether it contradicts itself.
    pub(crate) fn check(&self) -> Result<(), LoadtestError> {
        let refused = |reason: String| Err(LoadtestError::Options(reason));
        let scenario = self.scenario;
        if self.connections == 0 || self.threads == 0 {
            return refused("a run needs a connection and a thread".into());
        }
        if self.traffic.plateau().is_zero() {
            return refused("the duration is zero".into());
        }
        if matches!((scenario, &self.traffic), (Scenario::Code, Traffic::Closed(_))) {
            return refused("scenario code needs a rate: its codes are obtained before the load".into());
        }
        if self.reshard.is_some() && self.shards().is_none() {
            return refused(format!("scenario {scenario} uses no shards that could change"));
        }
        Ok(())
    }

    /// Where the number of shards stands of the kind of state that they matter for.
    pub(super) fn shards(&self) -> Option<&'static str> {
        match self.scenario {
            Scenario::Silent | Scenario::Code => Some(admin::CODE_SHARDS),
            Scenario::Refresh => Some(admin::REFRESH_SHARDS),
            Scenario::Userinfo | Scenario::Introspect | Scenario::Exchange => Some(admin::REVOCATION_SHARDS),
            Scenario::Login => Some(admin::SESSION_SHARDS),
            Scenario::ClientCredentials | Scenario::Discovery => None,
        }
    }

    pub(super) fn name(&self, shards: Option<u32>) -> String {
        let rate = self.traffic.rate().map_or_else(|| "closed".into(), |rate| format!("{rate:.0}/s"));
        let mut shards = match shards {
            None => String::new(),
            Some(1) => ", 1 shard".into(),
            Some(shards) => format!(", {shards} shards"),
        };
        if let Some(reshard) = self.reshard {
            shards = format!("{shards}, then {}", reshard.to);
        }
        format!("{} {rate}{shards}", self.scenario)
    }

    pub(super) fn whole(&self) -> Duration {
        self.traffic.duration() + self.warm_up
    }
}

/// Plans that meet the same provider, one after the other.
#[derive(Clone)]
pub struct Group {
    /// Shards of every kind of state, for a provider that is started for them.
    pub shards: Option<u32>,
    /// The loads.
    pub plans: Vec<Plan>,
}

impl Group {
    /// What the scenarios need, as much of it as the reports had.
    pub(crate) fn seed(&self, algorithm: Algorithm) -> SeedOptions {
        // Only these are mixed; what the mix needs is not to be had at every provider.
        let mix =
            if self.plans.iter().any(|plan| plan.scenario.has_mixes()) { Mix::Report } else { Mix::Pure };
        let mut seed = SeedOptions { algorithm: Some(algorithm), mix, ..SeedOptions::default() };
        // Tokens outlive the group.
        let whole: Duration = self.plans.iter().map(Plan::whole).sum();
        seed.session_seconds = seed.session_seconds.max(2 * whole.as_secs());
        for plan in &self.plans {
            match plan.scenario {
                Scenario::Userinfo => seed.tokens = seed.tokens.max(4_000),
                Scenario::Introspect => seed.tokens = seed.tokens.max(3_000),
                // A family for every connection at least, or two would rotate the same.
                Scenario::Refresh => seed.families = seed.families.max(4 * plan.connections),
                _ => {}
            }
        }
        seed
    }
}
