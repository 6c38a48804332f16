//! What a run counts: right answers, wrong ones and failures by kind, and how long each took.

mod lately;
mod parts;

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::CreationError;

use crate::client::ClientError;
use crate::latency::Latencies;
use crate::results::Example;
use crate::scenario::{Right, Wrong};

use lately::Unseen;
pub use lately::{Counts, End, Ends, GeneratorNow, Lately, OfOneKind};
pub(crate) use parts::TallyParts;

/// The counts of a run, or of a part of one.
pub struct Tally {
    /// Requests that were answered as they must be.
    pub right: u64,
    /// Answers that said something else, by kind. Any of them fails the run.
    pub wrong: BTreeMap<&'static str, u64>,
    /// Requests without an answer, by kind ([`ClientError::kind`]).
    pub failures: BTreeMap<&'static str, u64>,
    /// Arrivals that found no free connection in time and were never sent.
    pub missed: u64,
    /// Answers that nobody had asked for, by kind. Any of them fails the run.
    pub unasked: BTreeMap<&'static str, u64>,
    /// Signed tokens in the right answers.
    pub signatures: u64,
    /// Requests over HTTP: one of those that are counted may be several.
    pub exchanges: u64,
    /// The first wrong answer, failure or unasked answer of each kind.
    pub examples: BTreeMap<&'static str, Example>,
    /// By kind of request; one of them in most scenarios.
    requests: Vec<OfKind>,
    /// How long each step took, where several requests count as one.
    steps: Vec<OfStep>,
    /// What came since somebody looked last, where somebody looks.
    unseen: Option<Unseen>,
}

/// The requests of one kind.
pub struct OfKind {
    /// Its name; empty where a scenario has one kind only.
    pub name: &'static str,
    /// What came of those that were answered rightly.
    pub right: Latencies,
    /// Of those that were answered otherwise.
    pub wrong: Latencies,
    /// Of those that were not answered.
    pub failed: Latencies,
    /// How long those waited that were never sent.
    pub missed: Option<Latencies>,
}

/// A step of requests that are made of several.
pub struct OfStep {
    /// Its name.
    pub name: &'static str,
    /// How long it took, from its sending to its answer, whatever that says.
    pub latencies: Latencies,
}

impl OfKind {
    fn new(name: &'static str) -> Result<Self, CreationError> {
        Ok(Self {
            name,
            right: Latencies::new()?,
            wrong: Latencies::new()?,
            failed: Latencies::new()?,
            missed: None,
        })
    }

    /// All of them together.
    pub fn whole(&self) -> Latencies {
        let mut whole = self.right.clone();
        whole.merge(&self.wrong);
        whole.merge(&self.failed);
        self.missed.iter().for_each(|waits| whole.merge(waits));
        whole
    }
}

impl Tally {
    /// Nothing counted yet.
    ///
    /// # Errors
    /// Never with the bounds of this crate; they are checked by the histogram.
    pub fn new() -> Result<Self, CreationError> {
        Ok(Self {
            right: 0,
            wrong: BTreeMap::new(),
            failures: BTreeMap::new(),
            missed: 0,
            unasked: BTreeMap::new(),
            signatures: 0,
            exchanges: 0,
            examples: BTreeMap::new(),
            requests: Vec::new(),
            steps: Vec::new(),
            unseen: None,
        })
    }

    /// Nothing counted yet, and watched: [`Lately`] says what was counted since somebody looked last.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn watched() -> Result<Self, CreationError> {
        Ok(Self { unseen: Some(Unseen::new()?), ..Self::new()? })
    }

    /// Takes the counts out. Who watches still sees them.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn take(&mut self) -> Result<Self, CreationError> {
        let mut rest = Self::new()?;
        if let Some(mut unseen) = self.unseen.take() {
            self.add_own_counts(&mut unseen.taken);
            rest.unseen = Some(unseen);
        }
        Ok(std::mem::replace(self, rest))
    }

    /// Adds all that was counted so far, also what was taken out.
    fn add_counts(&self, to: &mut Counts) {
        self.add_own_counts(to);
        if let Some(unseen) = &self.unseen {
            to.add(&unseen.taken);
        }
    }

    fn add_own_counts(&self, to: &mut Counts) {
        for of in &self.requests {
            let counts = to.kinds.entry(of.name).or_default();
            counts.right += of.right.count();
            counts.wrong += of.wrong.count();
            counts.failed += of.failed.count();
            counts.missed += of.missed.as_ref().map_or(0, Latencies::count);
        }
        for (sums, counts) in [
            (&mut to.wrong, &self.wrong),
            (&mut to.failures, &self.failures),
            (&mut to.unasked, &self.unasked),
        ] {
            for (kind, count) in counts {
                *sums.entry(kind).or_default() += count;
            }
        }
    }

    /// Counts a request of this kind that was answered as it must be, and the time that it took.
    pub fn right(&mut self, kind: &'static str, took: Duration, right: Right) {
        self.right += 1;
        self.exchanges += 1;
        self.signatures += u64::from(right.signatures);
        self.record(kind, |of| of.right.record(took));
        if let Some(unseen) = &mut self.unseen {
            unseen.answered += 1;
            unseen.of(End::Right).record(took);
        }
    }

    /// Counts one that was answered otherwise. `example` is asked of the first only.
    pub fn wrong(
        &mut self,
        kind: &'static str,
        took: Duration,
        wrong: &Wrong,
        example: impl FnOnce() -> Example,
    ) {
        self.exchanges += 1;
        *self.wrong.entry(wrong.kind).or_default() += 1;
        self.examples.entry(wrong.kind).or_insert_with(example);
        self.record(kind, |of| of.wrong.record(took));
        if let Some(unseen) = &mut self.unseen {
            unseen.answered += 1;
            unseen.errors += 1;
            unseen.of(End::Wrong).record(took);
        }
    }

    /// Counts one that was not answered. One that was given up would have taken longer than `took`.
    pub fn failed(
        &mut self,
        kind: &'static str,
        took: Duration,
        error: &ClientError,
        example: impl FnOnce() -> Example,
    ) {
        self.exchanges += 1;
        *self.failures.entry(error.kind()).or_default() += 1;
        self.examples.entry(error.kind()).or_insert_with(example);
        let given_up = error.is_given_up();
        self.record(kind, |of| {
            if given_up {
                of.failed.record_given_up(took);
            } else {
                of.failed.record(took);
            }
        });
        if let Some(unseen) = &mut self.unseen {
            unseen.errors += 1;
            let latencies = unseen.of(End::Failed);
            if given_up {
                latencies.record_given_up(took);
            } else {
                latencies.record(took);
            }
        }
    }

    /// Counts an arrival of this kind that was never sent because no connection was free; the kind is empty where only the
    /// visitor would have known it.
    pub fn missed(&mut self, kind: &'static str, waited: Duration) {
        self.missed += 1;
        self.record(kind, |of| {
            if of.missed.is_none() {
                of.missed = Latencies::new().ok();
            }
            if let Some(waits) = &mut of.missed {
                waits.record_given_up(waited);
            }
        });
        if let Some(unseen) = &mut self.unseen {
            unseen.errors += 1;
            unseen.of(End::Missed).record_given_up(waited);
        }
    }

    /// Counts an answer that nobody had asked for. `example` is asked of the first only.
    pub fn unasked(&mut self, kind: &'static str, example: impl FnOnce() -> Example) {
        *self.unasked.entry(kind).or_default() += 1;
        self.examples.entry(kind).or_insert_with(example);
        if let Some(unseen) = &mut self.unseen {
            unseen.errors += 1;
        }
    }

    /// Counts the time that a step took; steps come in their order.
    pub fn step(&mut self, name: &'static str, took: Duration) {
        self.record_step(name, |latencies| latencies.record(took));
    }

    fn record_step(&mut self, name: &'static str, add: impl FnOnce(&mut Latencies)) {
        if let Some(of) = self.steps.iter_mut().find(|of| std::ptr::eq(of.name, name) || of.name == name) {
            add(&mut of.latencies);
        } else if let Ok(mut latencies) = Latencies::new() {
            add(&mut latencies);
            self.steps.push(OfStep { name, latencies });
        }
    }

    /// Adds to the latencies of a kind. There are few kinds, and mostly one.
    fn record(&mut self, kind: &'static str, add: impl FnOnce(&mut OfKind)) {
        if let Some(of) = self.requests.iter_mut().find(|of| std::ptr::eq(of.name, kind) || of.name == kind) {
            add(of);
        } else if let Ok(mut of) = OfKind::new(kind) {
            add(&mut of);
            self.requests.push(of);
        }
    }

    /// Adds the counts of another part of the same run.
    pub fn merge(&mut self, other: Self) {
        self.right += other.right;
        self.missed += other.missed;
        self.signatures += other.signatures;
        self.exchanges += other.exchanges;
        for (own, counts) in [
            (&mut self.wrong, other.wrong),
            (&mut self.failures, other.failures),
            (&mut self.unasked, other.unasked),
        ] {
            for (kind, count) in counts {
                *own.entry(kind).or_default() += count;
            }
        }
        for (kind, example) in other.examples {
            self.examples.entry(kind).or_insert(example);
        }
        for of in other.steps {
            self.record_step(of.name, |own| own.merge(&of.latencies));
        }
        for of in other.requests {
            self.record(of.name, |own| {
                own.right.merge(&of.right);
                own.wrong.merge(&of.wrong);
                own.failed.merge(&of.failed);
                match (&mut own.missed, of.missed) {
                    (Some(own), Some(other)) => own.merge(&other),
                    (own, other) => *own = own.take().or(other),
                }
            });
        }
    }

    /// By step, in the order in which they first came; none where each request is one.
    pub fn steps(&self) -> &[OfStep] {
        &self.steps
    }

    /// All wrong answers.
    pub fn wrong_total(&self) -> u64 {
        self.wrong.values().sum()
    }

    /// All requests without an answer.
    pub fn failures_total(&self) -> u64 {
        self.failures.values().sum()
    }

    /// All answers that nobody had asked for.
    pub fn unasked_total(&self) -> u64 {
        self.unasked.values().sum()
    }

    /// Everything that is not as it must be.
    pub fn errors(&self) -> u64 {
        self.wrong_total() + self.failures_total() + self.unasked_total()
    }

    /// All requests that were sent, or tried to be.
    pub fn requests(&self) -> u64 {
        self.right + self.wrong_total() + self.failures_total()
    }

    /// Whether every request was answered as it must be, and there was one at all.
    pub fn is_clean(&self) -> bool {
        self.right > 0 && self.errors() == 0 && self.missed == 0
    }

    /// By kind of request, in the order in which they first came.
    pub fn kinds(&self) -> &[OfKind] {
        &self.requests
    }

    /// How long all arrivals took, whatever their end: those that were given up or missed took at least so long.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn whole(&self) -> Result<Latencies, CreationError> {
        let mut whole = Latencies::new()?;
        self.requests
            .iter()
            .flat_map(|of| [&of.right, &of.wrong, &of.failed].into_iter().chain(&of.missed))
            .for_each(|of| whole.merge(of));
        Ok(whole)
    }

    /// How long the right answers took.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn right_latencies(&self) -> Result<Latencies, CreationError> {
        let mut right = Latencies::new()?;
        self.requests.iter().for_each(|of| right.merge(&of.right));
        Ok(right)
    }

    /// How long the wrong answers took.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn wrong_latencies(&self) -> Result<Latencies, CreationError> {
        let mut wrong = Latencies::new()?;
        self.requests.iter().for_each(|of| wrong.merge(&of.wrong));
        Ok(wrong)
    }

    /// The latency that `percentile` percent of all arrivals did not exceed, within 0.1 %; 0 of none.
    pub fn latency(&self, percentile: f64) -> Duration {
        self.whole().map_or(Duration::ZERO, |whole| whole.at(percentile))
    }

    /// A wrong answer, with its kind.
    pub fn first_wrong(&self) -> Option<String> {
        let kind = self.wrong.keys().next()?;
        Some(format!("{kind}: {}", self.examples.get(kind)?.detail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn example(detail: &str) -> Example {
        Example { detail: detail.into(), ..Example::default() }
    }

    #[test]
    fn clean_means_that_all_was_right() {
        let mut tally = Tally::new().unwrap();
        assert!(!tally.is_clean(), "nothing was asked");
        tally.right("", MS, Right { signatures: 2 });
        assert!(tally.is_clean());
        assert_eq!(tally.signatures, 2);
        tally.failed("", MS, &ClientError::Timeout, || example("no answer"));
        assert!(!tally.is_clean());
        let wrong = Wrong::new("sub", "another user");
        tally.wrong("", MS, &wrong, || example(&wrong.detail));
        tally.wrong("", MS, &wrong, || panic!("there is an example"));
        assert_eq!((tally.requests(), tally.wrong_total(), tally.failures_total()), (4, 2, 1));
        assert_eq!(tally.examples["sub"].detail, "another user");
        for spoil in [
            |tally: &mut Tally| tally.missed("", MS),
            |tally: &mut Tally| tally.unasked("stray", Example::default),
        ] {
            let mut tally = Tally::new().unwrap();
            tally.right("", MS, Right::default());
            spoil(&mut tally);
            assert!(!tally.is_clean());
        }
    }

    #[test]
    fn the_whole_has_what_was_given_up_and_missed() {
        let mut tally = Tally::new().unwrap();
        tally.right("", MS, Right::default());
        tally.failed("", 2_000 * MS, &ClientError::Timeout, Example::default);
        tally.failed("", MS, &ClientError::Closed, Example::default);
        let mut other = Tally::new().unwrap();
        other.missed("", 3_000 * MS);
        tally.merge(other);
        let whole = tally.whole().unwrap().figures();
        let least = whole.at_least_from_ms.unwrap();
        assert!((1_997.0..=2_000.0).contains(&least) && whole.max_ms.unwrap() > 2_990.0, "{whole:?}");
        assert_eq!((tally.whole().unwrap().count(), tally.right_latencies().unwrap().count()), (4, 1));
    }

    #[test]
    fn kinds_are_kept_apart() {
        let (mut one, mut other) = (Tally::new().unwrap(), Tally::new().unwrap());
        one.right("valid", MS, Right::default());
        other.wrong("expired", MS, &Wrong::new("accepted", ""), Example::default);
        other.right("valid", MS, Right::default());
        one.merge(other);
        let counts: Vec<_> =
            one.kinds().iter().map(|of| (of.name, of.right.count(), of.wrong.count())).collect();
        assert_eq!(counts, [("valid", 2, 0), ("expired", 0, 1)]);
    }
}
