//! What somebody sees who looks at a run while it goes on.

use std::collections::BTreeMap;

use hdrhistogram::CreationError;
use serde::{Deserialize, Serialize};

use super::Tally;
use crate::latency::{Latencies, LatenciesOfASecond};

/// What was counted in a short time, a second for instance, and what was counted in all until then.
#[derive(Clone, Debug)]
pub struct Lately {
    /// Answers, right or wrong.
    pub answered: u64,
    /// Wrong answers, failures and missed arrivals.
    pub errors: u64,
    /// How long those took that ended, whatever their end.
    pub latencies: LatenciesOfASecond,
    /// The same of the plateau alone, by how they ended.
    pub plateau: Ends,
    /// And of what came beside the plateau: warm-up and ramps.
    pub besides: Ends,
    /// All that the plateau has counted so far.
    pub plateau_so_far: Counts,
    /// All that was counted beside it.
    pub besides_so_far: Counts,
    /// What the generator is doing.
    pub generator: GeneratorNow,
    /// Arrivals whose time came in the short time, where that is not what a schedule says.
    pub offered: Option<u64>,
}

impl Lately {
    pub(crate) fn new() -> Result<Self, CreationError> {
        Ok(Self {
            answered: 0,
            errors: 0,
            latencies: LatenciesOfASecond::new()?,
            plateau: Ends::default(),
            besides: Ends::default(),
            plateau_so_far: Counts::default(),
            besides_so_far: Counts::default(),
            generator: GeneratorNow::default(),
            offered: None,
        })
    }

    /// Whether nothing was counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.answered == 0 && self.errors == 0
    }

    /// Takes what a tally, of the plateau or not, has counted since it was looked at last.
    ///
    /// # Errors
    /// As [`Tally::new`].
    pub(crate) fn take_from(&mut self, tally: &mut Tally, measured: bool) -> Result<(), CreationError> {
        tally.add_counts(self.part(measured).1);
        let Some(unseen) = &mut tally.unseen else { return Ok(()) };
        self.answered += std::mem::take(&mut unseen.answered);
        self.errors += std::mem::take(&mut unseen.errors);
        for (end, latencies) in End::ALL.into_iter().zip(&mut unseen.ends) {
            if !latencies.is_empty() {
                self.latencies.add(latencies);
                self.part(measured).0.of_mut(end)?.take(latencies);
            }
        }
        Ok(())
    }

    /// Moves here what was counted in another short time, or by another generator. What was counted in all, and what the
    /// generator is doing, stay as this one has them.
    pub(crate) fn take(&mut self, other: &mut Self) {
        self.answered += std::mem::take(&mut other.answered);
        self.errors += std::mem::take(&mut other.errors);
        self.latencies.take(&mut other.latencies);
        self.plateau.take(&mut other.plateau);
        self.besides.take(&mut other.besides);
        self.offered = self.offered.into_iter().chain(other.offered.take()).reduce(|own, other| own + other);
    }

    /// Adds latencies, recorded more exactly, of arrivals that ended so.
    pub(super) fn add_exact(
        &mut self,
        end: End,
        latencies: &Latencies,
        measured: bool,
    ) -> Result<(), CreationError> {
        if latencies.count() > 0 {
            self.latencies.add_exact(latencies);
            self.part(measured).0.of_mut(end)?.add_exact(latencies);
        }
        Ok(())
    }

    /// The place of what a part of a run, the plateau or not, has counted: in the short time and in all.
    pub(super) fn part(&mut self, measured: bool) -> (&mut Ends, &mut Counts) {
        match measured {
            true => (&mut self.plateau, &mut self.plateau_so_far),
            false => (&mut self.besides, &mut self.besides_so_far),
        }
    }
}

/// How an arrival can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Answered as it must be.
    Right,
    /// Answered otherwise.
    Wrong,
    /// Not answered.
    Failed,
    /// Never sent, because no connection was free in time.
    Missed,
}

impl End {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Right, Self::Wrong, Self::Failed, Self::Missed];

    /// As metrics and the page call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::Failed => "failed",
            Self::Missed => "missed",
        }
    }

    const fn index(self) -> usize {
        match self {
            Self::Right => 0,
            Self::Wrong => 1,
            Self::Failed => 2,
            Self::Missed => 3,
        }
    }
}

/// How long arrivals took, by how they ended; nothing where none ended so.
#[derive(Clone, Debug, Default)]
pub struct Ends([Option<Box<LatenciesOfASecond>>; 4]);

impl Ends {
    /// Those that ended so.
    pub fn of(&self, end: End) -> Option<&LatenciesOfASecond> {
        self.0.get(end.index())?.as_deref()
    }

    /// Moves others here.
    fn take(&mut self, other: &mut Self) {
        for (own, other) in self.0.iter_mut().zip(&mut other.0) {
            match (own.as_mut(), other.take()) {
                (Some(own), Some(mut other)) => own.take(&mut other),
                (None, other) => *own = other,
                (Some(_), None) => {}
            }
        }
    }

    pub(super) fn of_mut(&mut self, end: End) -> Result<&mut LatenciesOfASecond, CreationError> {
        let [right, wrong, failed, missed] = &mut self.0;
        let place = match end {
            End::Right => right,
            End::Wrong => wrong,
            End::Failed => failed,
            End::Missed => missed,
        };
        Ok(match place {
            Some(latencies) => latencies,
            None => place.insert(Box::new(LatenciesOfASecond::new()?)),
        })
    }
}

/// What a tally has counted since somebody looked last.
pub(super) struct Unseen {
    pub(super) answered: u64,
    pub(super) errors: u64,
    /// By [`End`].
    pub(super) ends: [LatenciesOfASecond; 4],
    /// What was taken out of the tally before.
    pub(super) taken: Counts,
}

impl Unseen {
    pub(super) fn new() -> Result<Self, CreationError> {
        let none = LatenciesOfASecond::new;
        let ends = [none()?, none()?, none()?, none()?];
        Ok(Self { answered: 0, errors: 0, ends, taken: Counts::default() })
    }

    pub(super) fn of(&mut self, end: End) -> &mut LatenciesOfASecond {
        let [right, wrong, failed, missed] = &mut self.ends;
        match end {
            End::Right => right,
            End::Wrong => wrong,
            End::Failed => failed,
            End::Missed => missed,
        }
    }
}

/// The counts of a run, or of a part of one, without latencies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// By kind of request; the name is empty where a scenario has one kind only.
    pub kinds: BTreeMap<&'static str, OfOneKind>,
    /// Wrong answers, by what was wrong.
    pub wrong: BTreeMap<&'static str, u64>,
    /// Requests without an answer, by what happened instead.
    pub failures: BTreeMap<&'static str, u64>,
    /// Answers that nobody had asked for, by kind.
    pub unasked: BTreeMap<&'static str, u64>,
}

/// The requests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfOneKind {
    /// Answered as they must be.
    pub right: u64,
    /// Answered otherwise.
    pub wrong: u64,
    /// Not answered.
    pub failed: u64,
    /// Never sent; of an unknown kind where only the visitor would have known it.
    pub missed: u64,
}

impl OfOneKind {
    /// Those that ended so.
    pub fn of(&self, end: End) -> u64 {
        match end {
            End::Right => self.right,
            End::Wrong => self.wrong,
            End::Failed => self.failed,
            End::Missed => self.missed,
        }
    }
}

impl Counts {
    /// Requests that ended so, of all kinds.
    pub fn of(&self, end: End) -> u64 {
        self.kinds.values().map(|of| of.of(end)).sum()
    }

    /// Adds others.
    pub(crate) fn add(&mut self, other: &Self) {
        for (kind, counts) in &other.kinds {
            let own = self.kinds.entry(kind).or_default();
            own.right += counts.right;
            own.wrong += counts.wrong;
            own.failed += counts.failed;
            own.missed += counts.missed;
        }
        for (own, counts) in [
            (&mut self.wrong, &other.wrong),
            (&mut self.failures, &other.failures),
            (&mut self.unasked, &other.unasked),
        ] {
            for (kind, count) in counts {
                *own.entry(kind).or_default() += count;
            }
        }
    }
}

/// What the generator is doing at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratorNow {
    /// Requests in flight.
    pub in_flight: usize,
    /// How many there may be at most.
    pub bound: usize,
    /// How many can be in flight with the connections that are open: one on each of HTTP/1.1.
    pub workers: usize,
    /// Arrivals whose time has come and that wait for a connection.
    pub waiting: usize,
    /// How late an arrival of the plateau was let go, at worst so far, in ns.
    pub worst_lag_ns: u64,
    /// Why a further connection could not be opened.
    pub refused: Option<String>,
    /// Whether that was for want of something of the generator's own: files, ports.
    #[serde(default)]
    pub lacking: bool,
    /// Arrivals for which the seed had nothing left to ask.
    pub nothing_to_ask: u64,
}

impl GeneratorNow {
    /// Adds what another generator of the same run is doing.
    pub(crate) fn add(&mut self, other: Self) {
        self.in_flight = self.in_flight.saturating_add(other.in_flight);
        self.bound = self.bound.saturating_add(other.bound);
        self.workers = self.workers.saturating_add(other.workers);
        self.waiting = self.waiting.saturating_add(other.waiting);
        self.worst_lag_ns = self.worst_lag_ns.max(other.worst_lag_ns);
        self.refused = self.refused.take().or(other.refused);
        self.lacking |= other.lacking;
        self.nothing_to_ask = self.nothing_to_ask.saturating_add(other.nothing_to_ask);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::client::ClientError;
    use crate::results::Example;
    use crate::scenario::{Right, Wrong};

    const MS: Duration = Duration::from_millis(1);

    fn counted(tally: &mut Tally) {
        tally.right("valid", MS, Right::default());
        tally.wrong("expired", 2 * MS, &Wrong::new("accepted", ""), Example::default);
        tally.failed("valid", 3 * MS, &ClientError::Timeout, Example::default);
        tally.missed("valid", 4 * MS);
        tally.unasked("stray", Example::default);
    }

    #[test]
    fn what_was_looked_at_is_new_once_and_counted_for_ever() {
        let mut tally = Tally::watched().unwrap();
        counted(&mut tally);
        for (look, new) in [(0, 1), (1, 0)] {
            let mut lately = Lately::new().unwrap();
            lately.take_from(&mut tally, true).unwrap();
            assert_eq!((lately.answered, lately.errors), (2 * new, 4 * new), "look {look}");
            for end in End::ALL {
                let latencies = lately.plateau.of(end).map_or(0, LatenciesOfASecond::count);
                assert_eq!((latencies, lately.plateau_so_far.of(end)), (new, 1), "look {look}: {end:?}");
            }
            assert_eq!(lately.latencies.count(), 4 * new);
            assert_eq!(lately.besides_so_far, Counts::default());
        }
    }

    #[test]
    fn what_was_taken_out_is_still_counted() {
        let mut tally = Tally::watched().unwrap();
        counted(&mut tally);
        assert_eq!(tally.take().unwrap().requests(), 3);
        counted(&mut tally);
        let mut lately = Lately::new().unwrap();
        lately.take_from(&mut tally, false).unwrap();
        let so_far = &lately.besides_so_far;
        assert_eq!((so_far.of(End::Missed), so_far.wrong["accepted"], so_far.unasked["stray"]), (2, 2, 2));
        assert_eq!(so_far.kinds["valid"], OfOneKind { right: 2, wrong: 0, failed: 2, missed: 2 });
        assert_eq!(lately.besides.of(End::Missed).unwrap().count(), 2);
    }

    #[test]
    fn counts_add_up() {
        let mut tally = Tally::watched().unwrap();
        counted(&mut tally);
        let mut one = Counts::default();
        tally.add_counts(&mut one);
        let mut both = one.clone();
        both.add(&one);
        for end in End::ALL {
            assert_eq!(both.of(end), 2, "{end:?}");
        }
        assert_eq!((both.failures["timeout"], both.unasked["stray"]), (2, 2));
    }
}
