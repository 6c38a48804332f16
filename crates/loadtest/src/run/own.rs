//! Scenarios of a file as the work of a plan.

use std::sync::Arc;

use super::Work;
use crate::scenario::{OwnScenarios, Visitor};
use crate::seed::{Seed, SeedOptions};
use crate::{LoadtestError, Target};

impl Work for OwnScenarios {
    fn name(&self) -> &str {
        (*self).name()
    }

    fn check_offer(&self, target: &Target) -> Result<(), LoadtestError> {
        (*self).check_offer(target)
    }

    fn needs_seed(&self) -> bool {
        (*self).needs_seed()
    }

    fn ask_for(&self, _connections: usize, _seed: &mut SeedOptions) {}

    fn check_seed(&self, _seed: &Seed, _until: u64) -> Result<(), LoadtestError> {
        // Passwords do not end.
        Ok(())
    }

    fn visitors(&self, seed: &Arc<Seed>, connections: usize) -> Result<Vec<Box<dyn Visitor>>, LoadtestError> {
        (*self).visitors(seed, connections)
    }
}
