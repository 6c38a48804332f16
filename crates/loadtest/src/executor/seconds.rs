//! What was counted in each second, told while a run goes on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::counted::{self, CountedSecond, Leader};
use crate::tally::{GeneratorNow, Lately, Tally};
use crate::{LoadtestError, clock};

/// Told what was counted since it was told last, ramps included: once a second, and once more at the end. The first
/// argument is the time since the start.
pub type OnSecond<'a> = &'a mut dyn FnMut(Duration, &Lately);

/// The tallies that the threads of a run count in.
#[derive(Default)]
pub(super) struct ThreadTallies {
    /// With the place of their phase ([`Counted::phases`](super::counted::Counted::phases)).
    tallies: Mutex<Vec<(usize, Arc<Mutex<Tally>>)>>,
    /// Right answers that came too late to count for the rate.
    late: AtomicU64,
}

impl ThreadTallies {
    /// A tally to count a phase in.
    pub(super) fn tally(&self, phase: usize) -> Result<Arc<Mutex<Tally>>, LoadtestError> {
        let tally = Tally::watched().map_err(|error| LoadtestError::Options(error.to_string()))?;
        let tally = Arc::new(Mutex::new(tally));
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner).push((phase, Arc::clone(&tally)));
        Ok(tally)
    }

    /// Counts a right answer that came too late to count for the rate.
    pub(super) fn count_late(&self) {
        self.late.fetch_add(1, Ordering::Relaxed);
    }

    /// How many there were.
    pub(super) fn late(&self) -> u64 {
        self.late.load(Ordering::Relaxed)
    }

    /// Takes the counts of every phase out.
    fn take(&self) -> Result<Vec<Tally>, LoadtestError> {
        let mut taken = counted::phases()?;
        for (phase, tally) in self.tallies.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let counts = tally.lock().unwrap_or_else(PoisonError::into_inner).take();
            let counts = counts.map_err(|error| LoadtestError::Options(error.to_string()))?;
            if let Some(taken) = taken.get_mut(*phase) {
                taken.merge(counts);
            }
        }
        Ok(taken)
    }

    fn lately(&self) -> Result<Lately, LoadtestError> {
        let refused = |error: hdrhistogram::CreationError| LoadtestError::Options(error.to_string());
        let mut lately = Lately::new().map_err(refused)?;
        for (phase, tally) in self.tallies.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            lately.take_from(&mut tally, counted::is_measured(*phase)).map_err(refused)?;
        }
        Ok(lately)
    }
}

/// Tells of every second that is over.
pub(super) struct Teller<'a> {
    watched: &'a ThreadTallies,
    /// Reads what the generator is doing.
    generator: &'a dyn Fn() -> GeneratorNow,
    start: Instant,
    told: Duration,
    /// Who takes what was counted, where somebody does.
    leader: Option<&'a dyn Leader>,
    /// Arrivals that were let go since it was told last, where they are counted.
    pub(super) offered: Option<u64>,
}

impl<'a> Teller<'a> {
    pub(super) fn new(
        watched: &'a ThreadTallies,
        generator: &'a dyn Fn() -> GeneratorNow,
        start: Instant,
    ) -> Self {
        Self { watched, generator, start, told: Duration::ZERO, leader: None, offered: None }
    }

    /// Whoever leads, if anybody, takes what was counted every second.
    pub(super) fn led_by(self, leader: Option<&'a dyn Leader>) -> Self {
        Self { leader, ..self }
    }

    fn lately(&mut self) -> Result<Lately, LoadtestError> {
        let offered = self.offered.as_mut().map(std::mem::take);
        Ok(Lately { generator: (self.generator)(), offered, ..self.watched.lately()? })
    }

    /// The time since the start.
    pub(super) fn now(&self) -> Duration {
        clock::now().saturating_duration_since(self.start)
    }

    /// Tells what was counted since the last second that was told, where one is over.
    pub(super) fn tell(&mut self, now: Duration, on_second: OnSecond<'_>) -> Result<(), LoadtestError> {
        if now.as_secs() > self.told.as_secs() {
            self.told = now;
            let lately = self.lately()?;
            on_second(now, &lately);
            if let Some(leader) = self.leader {
                // In this order: rather one too many is late than one too few.
                let phases = self.watched.take()?;
                let late = self.watched.late();
                leader.take(CountedSecond { at: now, phases, late, generator: lately.generator });
            }
        }
        Ok(())
    }

    /// Tells what came after the last whole second.
    pub(super) fn end(&mut self, on_second: OnSecond<'_>) -> Result<(), LoadtestError> {
        let (now, lately) = (self.now(), self.lately()?);
        if !lately.is_empty() {
            self.told = now;
            on_second(now, &lately);
        }
        Ok(())
    }
}
