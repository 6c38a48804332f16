//! Those who watch a run from outside: viewers of its page, and those who collect its metrics.

use std::time::Duration;

use super::plan::Plan;
use crate::results::{Run, Second};
use crate::tally::Lately;
use crate::watch::{Process, Watch};

/// Those who watch a run; nobody until it begins.
#[derive(Default)]
pub(super) struct Watched {
    watch: Watch,
    process: Process,
}

impl Watched {
    /// Tells them that a run begins, of which `begun` says what is asked. The CPU time of this process is told where it is
    /// the generator.
    pub(super) fn begin(watch: &Watch, begun: Run, plan: &Plan, is_generator: bool) -> Self {
        let process = watch.begin(begun, &plan.thresholds, (plan.whole(), plan.threads));
        let process = if is_generator { process } else { Process::default() };
        Self { watch: watch.clone(), process }
    }

    pub(super) fn second(&self, now: Duration, second: Second, lately: &Lately) {
        self.watch.second((now, second), lately, &self.process);
    }

    /// What is to be said of those who take the metrics.
    pub(super) fn take_notes(&self) -> Vec<String> {
        self.watch.take_notes()
    }
}
