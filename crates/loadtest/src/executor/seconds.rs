//! What was counted in each second, told while a run goes on.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::tally::{Lately, Tally};
use crate::{LoadtestError, clock};

/// Told once a second what was counted in it, ramps included; the first argument is the time since the start.
pub type OnSecond<'a> = &'a mut dyn FnMut(Duration, &Lately);

/// The tallies that the threads of a run count in.
#[derive(Default)]
pub(super) struct ThreadTallies(Mutex<Vec<Arc<Mutex<Tally>>>>);

impl ThreadTallies {
    /// A tally to count in.
    pub(super) fn tally(&self) -> Result<Arc<Mutex<Tally>>, LoadtestError> {
        let tally = Tally::watched().map_err(|error| LoadtestError::Options(error.to_string()))?;
        let tally = Arc::new(Mutex::new(tally));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&tally));
        Ok(tally)
    }

    fn lately(&self) -> Result<Lately, LoadtestError> {
        let mut lately = Lately::new().map_err(|error| LoadtestError::Options(error.to_string()))?;
        for tally in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            tally.lock().unwrap_or_else(PoisonError::into_inner).move_lately(&mut lately);
        }
        Ok(lately)
    }
}

/// Tells of every second that is over.
pub(super) struct Teller<'a> {
    watched: &'a ThreadTallies,
    start: Instant,
    told: u64,
}

impl<'a> Teller<'a> {
    pub(super) fn new(watched: &'a ThreadTallies, start: Instant) -> Self {
        Self { watched, start, told: 0 }
    }

    /// The time since the start.
    pub(super) fn now(&self) -> Duration {
        clock::now().saturating_duration_since(self.start)
    }

    pub(super) fn tell(&mut self, now: Duration, on_second: OnSecond<'_>) -> Result<(), LoadtestError> {
        if now.as_secs() > self.told {
            self.told = now.as_secs();
            on_second(now, &self.watched.lately()?);
        }
        Ok(())
    }
}
