//! A log as the work of a plan.

use std::sync::Arc;

use super::{Plan, Traffic, Work};
use crate::executor::JourneyCount;
use crate::replay::Replay;
use crate::results::Run;
use crate::scenario::{Scenario, Visitor};
use crate::seed::{Seed, SeedOptions};
use crate::{LoadtestError, Target};

impl Plan {
    /// The requests of a log at its times.
    ///
    /// # Errors
    /// As [`Replay::schedule`].
    pub fn of_log(replay: Replay) -> Result<Self, LoadtestError> {
        let schedule = replay.schedule()?;
        Ok(Self::new(replay, Traffic::Open(schedule)))
    }
}

impl Work for Replay {
    fn name(&self) -> &str {
        (*self).name()
    }

    fn check(&self, plan: &Plan) -> Result<(), LoadtestError> {
        match &plan.traffic {
            Traffic::Open(schedule) if schedule.is_listed() => Ok(()),
            _ => Err(LoadtestError::Options("a replay has the times of its log, and no rate".into())),
        }
    }

    fn check_offer(&self, target: &Target) -> Result<(), LoadtestError> {
        self.scenarios().into_iter().try_for_each(|scenario| scenario.check_offer(target))
    }

    fn needs_seed(&self) -> bool {
        // Without tokens the discovery scenario does not look for the key that signed them.
        self.scenarios().iter().any(|scenario| *scenario != Scenario::Discovery)
    }

    fn ask_for(&self, connections: usize, seed: &mut SeedOptions) {
        for scenario in self.scenarios() {
            let mix = seed.mix;
            Work::ask_for(&scenario, connections, seed);
            // A log does not say which tokens were refused: all that are sent are valid.
            seed.mix = mix;
        }
    }

    fn check_seed(&self, seed: &Seed, until: u64) -> Result<(), LoadtestError> {
        self.scenarios().into_iter().try_for_each(|scenario| Work::check_seed(&scenario, seed, until))
    }

    fn rotates_families(&self) -> bool {
        self.scenarios().contains(&Scenario::Refresh)
    }

    fn visitors(&self, seed: &Arc<Seed>, connections: usize) -> Result<Vec<Box<dyn Visitor>>, LoadtestError> {
        (*self).visitors(seed, connections)
    }

    fn add_to(&self, run: &mut Run, _journeys: &[JourneyCount]) {
        run.replay = Some(self.summary().clone());
    }
}
