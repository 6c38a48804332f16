//! What is to be run: loads, and the providers that they meet.

use std::sync::Arc;
use std::time::Duration;

use symbolon_crypto::Algorithm;

use super::{AbortRule, Rule, SoakOptions, Work};
use crate::LoadtestError;
use crate::client::Timeouts;
use crate::executor::{Mixture, Schedule};
use crate::seed::SeedOptions;

/// The longest that a code may live (RFC 6749 4.1.2), in seconds.
pub(crate) const CODE_SECONDS: u64 = 600;

/// One load: what is asked, when, and what must hold.
#[derive(Clone)]
pub struct Plan {
    /// What is asked.
    pub work: Arc<dyn Work>,
    /// When.
    pub traffic: Traffic,
    /// Load before the traffic that is not measured.
    pub warm_up: Duration,
    /// Requests in flight at most; connections too, unless HTTP/2 shares them. An open load opens them by need.
    pub connections: usize,
    /// Threads of the generator.
    pub threads: usize,
    /// How long a request may take, waiting for a connection included.
    pub timeout: Duration,
    /// What decides whether the run passed.
    pub thresholds: Vec<Rule>,
    /// A change of the number of shards while the load goes on.
    pub reshard: Option<Reshard>,
    /// What ends the run at once.
    pub abort_on: Vec<AbortRule>,
    /// How the provider is watched for leaks, where it is.
    pub soak: Option<SoakOptions>,
}

/// When requests are sent.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// At times that are fixed in advance, whether the provider keeps up or not.
    Open(Schedule),
    /// Each connection sends again as soon as it is answered, for so long: what the provider does when it is never
    /// idle. Its latencies say nothing of users, who do not wait for each other.
    Closed(Duration),
    /// Several things at their own times, fixed in advance, and journeys of users, who wait for their answers and think.
    Mixture(Mixture),
}

impl Traffic {
    /// Requests per second of the plateau, of a mixture in the mean and without the later steps of journeys; a closed load
    /// has what comes of it.
    pub fn rate(&self) -> Option<f64> {
        match self {
            Self::Open(schedule) => Some(schedule.rate()),
            Self::Closed(_) => None,
            Self::Mixture(mixture) => Some(mixture.rate()),
        }
    }

    /// From the first request to the last.
    pub fn duration(&self) -> Duration {
        match self {
            Self::Open(schedule) => schedule.duration(),
            Self::Closed(duration) => *duration,
            Self::Mixture(mixture) => mixture.duration,
        }
    }

    /// The length of what is measured.
    pub fn plateau(&self) -> Duration {
        match self {
            Self::Open(schedule) => schedule.plateau(),
            Self::Closed(duration) => *duration,
            Self::Mixture(mixture) => mixture.duration,
        }
    }
}

/// A change of the number of shards of the kind of state that the plan's work uses most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reshard {
    /// After the beginning of the load, warm-up included.
    pub after: Duration,
    /// Their new number.
    pub to: u32,
}

impl Plan {
    /// Requests in flight at most, where nothing else is said: connections grow by need up to it.
    pub const CONNECTIONS: usize = 1_024;
    /// The same of a closed load, which always has as many in flight.
    pub const CLOSED_CONNECTIONS: usize = 64;

    /// Two seconds of warm-up, one thread, half a minute for each request, the usual thresholds.
    pub fn new(work: impl Work + 'static, traffic: Traffic) -> Self {
        let connections = match traffic {
            Traffic::Open(_) | Traffic::Mixture(_) => Self::CONNECTIONS,
            Traffic::Closed(_) => Self::CLOSED_CONNECTIONS,
        };
        Self {
            work: Arc::new(work),
            traffic,
            warm_up: Duration::from_secs(2),
            connections,
            threads: 1,
            timeout: Timeouts::default().request,
            thresholds: Rule::usual(),
            reshard: None,
            abort_on: Vec::new(),
            soak: None,
        }
    }

    /// Whether it contradicts itself.
    pub(crate) fn check(&self) -> Result<(), LoadtestError> {
        let refused = |reason: String| Err(LoadtestError::Options(reason));
        if self.connections == 0 || self.threads == 0 {
            return refused("a run needs a connection and a thread".into());
        }
        if self.traffic.plateau().is_zero() {
            return refused("the duration is zero".into());
        }
        self.work.check(self)?;
        self.soak.as_ref().map_or(Ok(()), |soak| soak.check(self.traffic.plateau()))?;
        if self.work.codes(self) > 0 && self.whole().as_secs() > CODE_SECONDS {
            let (whole, most) = (self.whole().as_secs(), CODE_SECONDS);
            return refused(format!(
                "scenario {} lasts {most} s at most, warm-up included, and not {whole} s: its codes are obtained before the \
                 load, all of them, and live no longer; scenario login redeems a code in each request",
                self.work.name()
            ));
        }
        if self.reshard.is_some() && self.work.shards().is_none() {
            return refused(format!("scenario {} uses no shards that could change", self.work.name()));
        }
        if let Some(Reshard { after, .. }) = self.reshard.filter(|reshard| reshard.after >= self.whole()) {
            let (after, whole) = (after.as_secs_f64(), self.whole().as_secs_f64());
            let reason =
                format!("the shards would change after {after} s, and the load ends after {whole} s");
            return refused(reason);
        }
        Ok(())
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
        format!("{} {rate}{shards}", self.work.name())
    }

    /// When the plateau begins and ends, after the start of the course.
    pub(super) fn plateau_edges(&self) -> (Duration, Duration) {
        let (begins, ends) = match &self.traffic {
            Traffic::Open(schedule) => schedule.plateau_edges(),
            Traffic::Closed(duration) => (Duration::ZERO, *duration),
            Traffic::Mixture(mixture) => (Duration::ZERO, mixture.duration),
        };
        let warm_up = self.warm_up_of_course();
        (warm_up + begins, warm_up + ends)
    }

    /// How much of the course is warm-up: nothing of a closed load, whose course begins after it.
    pub(super) fn warm_up_of_course(&self) -> Duration {
        match self.traffic {
            Traffic::Open(_) | Traffic::Mixture(_) => self.warm_up,
            Traffic::Closed(_) => Duration::ZERO,
        }
    }

    pub(crate) fn whole(&self) -> Duration {
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
    /// Whether any of its plans uses something of a seed.
    pub fn needs_seed(&self) -> bool {
        self.plans.iter().any(|plan| plan.work.needs_seed())
    }

    /// What the plans need, as much of it as the reports had.
    pub(crate) fn seed(&self, algorithm: Algorithm) -> SeedOptions {
        let mut seed = SeedOptions { algorithm: Some(algorithm), ..SeedOptions::default() };
        // Tokens outlive the group.
        let whole: Duration = self.plans.iter().map(Plan::whole).sum();
        seed.session_seconds = seed.session_seconds.max(2 * whole.as_secs());
        for plan in &self.plans {
            plan.work.ask_for(plan.connections, &mut seed);
        }
        seed
    }
}
