//! What generators counted, one or several, and how it becomes the outcome of a run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::open::{Connections, OpenOutcome};
use super::schedule::{Phase, Third};
use super::{Load, Outcome, Schedule, new_tally};
use crate::scenario::Visitor;
use crate::tally::{GeneratorNow, Tally};
use crate::{LoadtestError, clock};

/// Who leads a run that is one of several generators': says when it begins, and takes what was counted every second.
pub(crate) trait Leader: Send + Sync {
    /// Called once, when the first connections are open. Returns at the moment when the run begins, and says which that
    /// was; none where it shall not begin.
    fn begin(&self) -> Option<Instant>;

    /// Takes what was counted since it was called last: it is counted nowhere else. Must return soon.
    fn take(&self, second: CountedSecond);
}

/// The leader of a run, if it has one: a run of a single generator has none.
#[derive(Clone, Default)]
pub struct Led(Option<Arc<dyn Leader>>);

impl Led {
    pub(crate) fn by(leader: Arc<dyn Leader>) -> Self {
        Self(Some(leader))
    }

    pub(super) fn leader(&self) -> Option<&dyn Leader> {
        self.0.as_deref()
    }
}

/// What was counted since the last second that was told.
pub(crate) struct CountedSecond {
    /// After the start.
    pub(crate) at: Duration,
    /// By phase, as in [`Counted::phases`].
    pub(crate) phases: Vec<Tally>,
    /// Right answers that came too late to count for the rate, from the start to now.
    pub(crate) late: u64,
    /// What the generator was doing at its end.
    pub(crate) generator: GeneratorNow,
}

/// What a generator counted. Those of several are added up without loss.
pub(crate) struct Counted {
    /// By [`Phase::index`]; all in the first third of the plateau where the run was closed.
    pub(crate) phases: Vec<Tally>,
    /// Right answers that came too late to count for the rate.
    pub(crate) late: u64,
    /// CPU time of the generator's threads, warm-up and ramps of an open run included.
    pub(crate) cpu: Duration,
    /// How late arrivals were let go, at worst.
    pub(crate) worst_lag: Duration,
    /// How the connections were used.
    pub(crate) connections: Connections,
    /// The warm-up of a closed run, which has no phase of its own.
    pub(crate) warm_up: Tally,
}

/// Where the measured phases begin in [`Counted::phases`]. A closed run counts everything in the first of them.
pub(super) const MEASURED: usize = Phase::Plateau(Third::First).index();

/// A tally for each phase.
pub(crate) fn phases() -> Result<Vec<Tally>, LoadtestError> {
    Phase::ALL.iter().map(|_| new_tally()).collect()
}

/// Whether what is counted in the phase of this place belongs to the plateau.
pub(crate) fn is_measured(phase: usize) -> bool {
    Phase::ALL.get(phase).is_some_and(|phase| phase.is_measured())
}

impl Counted {
    /// Nothing yet.
    pub(crate) fn new() -> Result<Self, LoadtestError> {
        Ok(Self {
            phases: phases()?,
            late: 0,
            cpu: Duration::ZERO,
            worst_lag: Duration::ZERO,
            connections: Connections::default(),
            warm_up: new_tally()?,
        })
    }

    /// Adds tallies of each phase.
    pub(crate) fn add_phases(&mut self, others: impl IntoIterator<Item = Tally>) {
        self.phases.iter_mut().zip(others).for_each(|(own, other)| own.merge(other));
    }

    /// Adds what another generator of the same run counted.
    pub(crate) fn add(&mut self, other: Self) {
        self.add_phases(other.phases);
        self.late += other.late;
        self.cpu += other.cpu;
        self.worst_lag = self.worst_lag.max(other.worst_lag);
        self.connections.add(other.connections);
        self.warm_up.merge(other.warm_up);
    }

    /// What the generator was doing when all was over.
    pub(crate) fn generator_at_the_end(&self) -> GeneratorNow {
        GeneratorNow {
            bound: self.connections.bound,
            worst_lag_ns: u64::try_from(self.worst_lag.as_nanos()).unwrap_or(u64::MAX),
            refused: self.connections.refused.clone(),
            lacking: self.connections.lacking,
            nothing_to_ask: self.connections.nothing_to_ask,
            ..GeneratorNow::default()
        }
    }

    /// The counts of the measured phases.
    pub(crate) fn measured(&self) -> impl Iterator<Item = &Tally> {
        self.phases.iter().enumerate().filter(|(phase, _)| is_measured(*phase)).map(|(_, tally)| tally)
    }
}

/// What was to come while it was measured.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    /// How many arrivals.
    pub(crate) arrivals: u64,
    /// In how long a time.
    pub(crate) time: Duration,
}

impl Asked {
    /// By the plateau of a schedule.
    pub(crate) fn by(schedule: &Schedule, load: &Load) -> Self {
        Self { arrivals: schedule.after(load.warm_up).measured(), time: schedule.plateau() }
    }
}

/// What the edges of the plateau say.
pub(crate) struct Plateau {
    /// How long it took.
    pub(crate) elapsed: Duration,
    /// The CPU time of the server in it, where that is known.
    pub(crate) server_cpu: Option<Duration>,
}

/// Puts an open run together. `load` says how long its warm-up was and whether it was stopped.
pub(crate) fn open_outcome(
    mut counted: Counted,
    asked: Asked,
    plateau: &Plateau,
    load: &Load,
    visitors: Vec<Box<dyn Visitor>>,
) -> Result<OpenOutcome, LoadtestError> {
    let mut outcome = plateau.outcome(visitors)?;
    let mut thirds = Vec::new();
    for third in counted.phases.drain(MEASURED..) {
        thirds.push(third.whole().map_err(|error| LoadtestError::Options(error.to_string()))?);
        outcome.tally.merge(third);
    }
    let mut beside = || counted.phases.pop().map_or_else(new_tally, Ok);
    let (ramps, warm_up) = (beside()?, beside()?);
    outcome.warm_up_errors = [&ramps, &warm_up].iter().map(|tally| tally.errors() + tally.missed).sum();
    // The threads' time cannot be told apart by phase: the plateau gets its share by requests.
    let requests = outcome.tally.requests();
    let all = requests + ramps.requests() + warm_up.requests();
    outcome.generator_cpu = counted.cpu.mul_f64(requests as f64 / all.max(1) as f64);
    let (arrivals, time) = if load.stop.is_stopped() {
        // What would have come later was not missed.
        (requests + outcome.tally.missed, outcome.elapsed)
    } else {
        (asked.arrivals, asked.time)
    };
    let right = outcome.tally.right.saturating_sub(counted.late);
    let achieved_rate = right as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE);
    Ok(OpenOutcome {
        arrivals,
        offered_rate: arrivals as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE),
        achieved_rate,
        worst_lag: counted.worst_lag,
        connections: counted.connections,
        warm_up,
        ramps,
        thirds,
        journeys: Vec::new(),
        outcome,
    })
}

/// Puts a closed run together.
pub(crate) fn closed_outcome(
    counted: Counted,
    plateau: &Plateau,
    visitors: Vec<Box<dyn Visitor>>,
) -> Result<Outcome, LoadtestError> {
    let mut outcome = plateau.outcome(visitors)?;
    counted.phases.into_iter().for_each(|tally| outcome.tally.merge(tally));
    outcome.warm_up_errors = counted.warm_up.errors();
    (outcome.warm_up, outcome.generator_cpu) = (counted.warm_up, counted.cpu);
    Ok(outcome)
}

impl Plateau {
    /// An outcome in which nothing was counted yet.
    fn outcome(&self, visitors: Vec<Box<dyn Visitor>>) -> Result<Outcome, LoadtestError> {
        Ok(Outcome {
            tally: new_tally()?,
            warm_up_errors: 0,
            warm_up: new_tally()?,
            elapsed: self.elapsed,
            generator_cpu: Duration::ZERO,
            server_cpu: self.server_cpu,
            visitors,
        })
    }
}

impl Load {
    /// When the run begins, once its connections are open: now, or when its leader says; none where that never is.
    pub(super) fn begin(&self) -> Option<Instant> {
        match self.led.leader() {
            Some(leader) => leader.begin(),
            None => Some(clock::now()),
        }
    }
}
