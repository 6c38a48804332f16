//! Everything that looks at a run while it goes on, second by second: the line, the course, windows, and rules that end it.

use std::time::Duration;

use super::Progress;
use super::abort::AbortWatch;
use super::live::Live;
use super::plan::Plan;
use super::soak::Recorder;
use crate::LoadtestError;
use crate::executor::Stop;
use crate::provider::Provider;
use crate::results::{Aborted, Second, Soak};
use crate::tally::Lately;

/// Those who look.
pub(crate) struct Watchers<'a> {
    pub(crate) live: Live<'a>,
    pub(super) soak: Option<Recorder>,
    pub(super) abort: AbortWatch,
    /// Ends the run.
    pub(super) stop: Stop,
    /// Why it was ended.
    pub(super) aborted: Option<Aborted>,
}

/// What they saw.
pub(super) struct Seen {
    pub(super) timeline: Vec<Second>,
    pub(super) soak: Option<Soak>,
    pub(super) aborted: Option<Aborted>,
}

impl<'a> Watchers<'a> {
    /// Those of a run without windows and without rules that end it.
    #[cfg(test)]
    pub(crate) fn only(live: Live<'a>, stop: Stop) -> Self {
        Self { live, soak: None, abort: AbortWatch::new(&[], Duration::ZERO), stop, aborted: None }
    }

    /// Those of a run of this plan and name.
    ///
    /// # Errors
    /// The windows of a soak cannot be recorded.
    pub(super) fn of(
        plan: &Plan,
        name: &str,
        (provider, stop): (&Provider, &Stop),
        progress: Progress<'a>,
    ) -> Result<Self, LoadtestError> {
        let soak = plan.soak.as_ref().map(|soak| Recorder::new(soak, provider, plan.plateau_edges()));
        Ok(Self {
            live: Live::new(name, plan.whole(), progress, provider.pid),
            soak: soak.transpose()?,
            abort: AbortWatch::new(&plan.abort_on, plan.warm_up_of_course()),
            stop: stop.clone(),
            aborted: None,
        })
    }

    /// A second that reaches to `now`.
    pub(crate) async fn second(&mut self, now: Duration, lately: &Lately) -> Result<(), LoadtestError> {
        let cpu = self.live.second(now, lately);
        if self.aborted.is_none() && !self.stop.is_stopped() {
            self.aborted = self.abort.second(now, lately, cpu);
            if self.aborted.is_some() {
                self.stop.stop();
            }
        }
        match &mut self.soak {
            Some(soak) => soak.second(now, lately, cpu).await,
            None => Ok(()),
        }
    }

    pub(super) fn end(self) -> Seen {
        Seen { timeline: self.live.end(), soak: self.soak.map(Recorder::end), aborted: self.aborted }
    }
}
