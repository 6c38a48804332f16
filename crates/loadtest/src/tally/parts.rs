//! Tallies as they travel from one generator to the one that adds them up: every bucket of every histogram with its count,
//! so that nothing is lost on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use hdrhistogram::CreationError;
use serde::{Deserialize, Serialize};

use super::{End, Lately, OfKind, OfStep, Tally};
use crate::LoadtestError;
use crate::latency::{Latencies, LatencyCounts};
use crate::results::{Example, is_zero};

/// A tally that can be written down. What is empty is left out.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TallyParts {
    #[serde(skip_serializing_if = "is_zero")]
    right: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    wrong: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    failures: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "is_zero")]
    missed: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    unasked: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "is_zero")]
    signatures: u64,
    #[serde(skip_serializing_if = "is_zero")]
    exchanges: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    examples: BTreeMap<String, Example>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kinds: Vec<KindParts>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<StepParts>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct StepParts {
    name: String,
    latencies: LatencyCounts,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct KindParts {
    name: String,
    right: LatencyCounts,
    wrong: LatencyCounts,
    failed: LatencyCounts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    missed: Option<LatencyCounts>,
}

impl From<&Tally> for TallyParts {
    fn from(tally: &Tally) -> Self {
        let owned = |counts: &BTreeMap<&'static str, u64>| {
            counts.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect()
        };
        let kind = |of: &OfKind| KindParts {
            name: of.name.to_owned(),
            right: of.right.counts(),
            wrong: of.wrong.counts(),
            failed: of.failed.counts(),
            missed: of.missed.as_ref().map(Latencies::counts),
        };
        let step = |of: &OfStep| StepParts { name: of.name.to_owned(), latencies: of.latencies.counts() };
        Self {
            right: tally.right,
            wrong: owned(&tally.wrong),
            failures: owned(&tally.failures),
            missed: tally.missed,
            unasked: owned(&tally.unasked),
            signatures: tally.signatures,
            exchanges: tally.exchanges,
            examples: tally.examples.iter().map(|(kind, of)| ((*kind).to_owned(), of.clone())).collect(),
            kinds: tally.requests.iter().map(kind).collect(),
            steps: tally.steps.iter().map(step).collect(),
        }
    }
}

impl TallyParts {
    /// The tally that was written down.
    ///
    /// # Errors
    /// [`LoadtestError::Options`] where its counts contradict each other, or there are too many different names: no
    /// generator of this crate wrote it.
    pub(crate) fn tally(self) -> Result<Tally, LoadtestError> {
        let names = self.wrong.len() + self.failures.len() + self.unasked.len() + self.examples.len();
        if names + self.kinds.len() + self.steps.len() > MOST_OF_ONE {
            return Err(too_many_names());
        }
        let mut tally = Tally::new().map_err(|error| LoadtestError::Options(error.to_string()))?;
        (tally.right, tally.missed) = (self.right, self.missed);
        (tally.signatures, tally.exchanges) = (self.signatures, self.exchanges);
        tally.wrong = named(self.wrong)?;
        tally.failures = named(self.failures)?;
        tally.unasked = named(self.unasked)?;
        tally.examples = named(self.examples)?;
        for kind in self.kinds {
            let (right, wrong, failed) =
                (kind.right.latencies()?, kind.wrong.latencies()?, kind.failed.latencies()?);
            let missed = kind.missed.map(|waits| waits.latencies()).transpose()?;
            tally.requests.push(OfKind { name: known(kind.name)?, right, wrong, failed, missed });
        }
        for StepParts { name, latencies } in self.steps {
            tally.steps.push(OfStep { name: known(name)?, latencies: latencies.latencies()? });
        }
        tally.check_histograms()?;
        Ok(tally)
    }
}

impl Tally {
    /// Whether every count has its latency.
    fn check_histograms(&self) -> Result<(), LoadtestError> {
        let recorded = |read: fn(&OfKind) -> &Latencies| {
            self.requests.iter().map(|of| u128::from(read(of).count())).sum::<u128>()
        };
        let sum = |counts: &BTreeMap<&'static str, u64>| {
            counts.values().map(|count| u128::from(*count)).sum::<u128>()
        };
        let missed = self.requests.iter().filter_map(|of| of.missed.as_ref());
        let waits = missed.map(|waits| u128::from(waits.count())).sum::<u128>();
        let right = recorded(|of| &of.right) == u128::from(self.right);
        let wrong = recorded(|of| &of.wrong) == sum(&self.wrong);
        let failed = recorded(|of| &of.failed) == sum(&self.failures);
        if right && wrong && failed && waits == u128::from(self.missed) {
            return Ok(());
        }
        Err(LoadtestError::Options("counts and histograms of a tally contradict each other".into()))
    }

    /// Adds what it counted, of the plateau or not, to a second of a run's course. The counts so far grow by it.
    ///
    /// # Errors
    /// As [`Tally::new`].
    pub(crate) fn add_to_second(&self, second: &mut Lately, measured: bool) -> Result<(), CreationError> {
        second.answered += self.right + self.wrong_total();
        second.errors += self.errors() + self.missed;
        self.add_own_counts(second.part(measured).1);
        for of in &self.requests {
            for (end, latencies) in
                [(End::Right, &of.right), (End::Wrong, &of.wrong), (End::Failed, &of.failed)]
            {
                second.add_exact(end, latencies, measured)?;
            }
            of.missed.iter().try_for_each(|waits| second.add_exact(End::Missed, waits, measured))?;
        }
        Ok(())
    }
}

fn named<T>(counts: BTreeMap<String, T>) -> Result<BTreeMap<&'static str, T>, LoadtestError> {
    counts.into_iter().map(|(name, count)| Ok((known(name)?, count))).collect()
}

/// Names of kinds that came from other generators: there are few, and they are kept for as long as the process runs.
static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
/// More different names than any scenario has, in one tally and altogether, and how long one may be.
const MOST_OF_ONE: usize = 300;
const MOST_NAMES: usize = 1_000;
const LONGEST_NAME: usize = 200;

/// The name as those who count want it.
fn known(name: String) -> Result<&'static str, LoadtestError> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(name) = known.get(&*name) {
        return Ok(name);
    }
    if known.len() >= MOST_NAMES || name.len() > LONGEST_NAME {
        return Err(too_many_names());
    }
    let name: &'static str = name.leak();
    known.insert(name);
    Ok(name)
}

fn too_many_names() -> LoadtestError {
    LoadtestError::Options("a tally has more kinds of answers than any scenario".into())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::client::ClientError;
    use crate::scenario::{Right, Wrong};

    /// One thing that is counted: what became of it, and how long that took in ns.
    type Event = (u8, u64);

    fn count(tally: &mut Tally, (what, nanos): Event) {
        let took = Duration::from_nanos(nanos);
        let kind = ["", "valid", "expired"][usize::from(what / 16) % 3];
        match what % 6 {
            0 | 1 => tally.right(kind, took, Right { signatures: 2 }),
            2 => {
                let wrong = Wrong::new("sub", "another user");
                tally.wrong(kind, took, &wrong, Example::default);
            }
            3 => tally.failed(kind, took, &ClientError::Timeout, Example::default),
            4 => tally.failed(kind, took, &ClientError::Closed, Example::default),
            _ => tally.missed("", took),
        }
        if what >= 128 {
            tally.step(["authorize", "token"][usize::from(what) % 2], took);
        }
    }

    fn counted(events: impl IntoIterator<Item = Event>) -> Tally {
        let mut tally = Tally::new().unwrap();
        events.into_iter().for_each(|event| count(&mut tally, event));
        tally
    }

    /// Through JSON and back.
    fn sent(tally: &Tally) -> Tally {
        let text = serde_json::to_vec(&TallyParts::from(tally)).unwrap();
        serde_json::from_slice::<TallyParts>(&text).unwrap().tally().unwrap()
    }

    fn sorted(tally: &Tally) -> TallyParts {
        let mut parts = TallyParts::from(tally);
        parts.kinds.sort_by(|one, other| one.name.cmp(&other.name));
        parts.steps.sort_by(|one, other| one.name.cmp(&other.name));
        parts
    }

    proptest! {
        // A case makes some hundred histograms: 256 cases take 17 s in unoptimized code.
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn parts_that_were_sent_add_up_to_what_was_recorded_in_one_place(
            events in prop::collection::vec((any::<u8>(), prop_oneof![0..5_000_u64, 0..900_000_000_000_u64, any::<u64>()]), 0..120),
            generators in 1..6_usize,
            second in 1..40_usize,
        ) {
            let whole = counted(events.iter().copied());
            let mut merged = Tally::new().unwrap();
            for turn in 0..generators {
                let own: Vec<_> = events.iter().copied().skip(turn).step_by(generators).collect();
                own.chunks(second).for_each(|second| merged.merge(sent(&counted(second.iter().copied()))));
            }
            prop_assert_eq!(sorted(&merged), sorted(&whole));
            let figures = |tally: &Tally| tally.whole().unwrap().figures();
            prop_assert_eq!(figures(&merged), figures(&whole));
            for percentile in [0.0, 12.5, 50.0, 99.0, 99.9, 100.0] {
                prop_assert_eq!(merged.latency(percentile), whole.latency(percentile));
            }
        }
    }

    #[test]
    fn a_second_of_the_course_is_what_its_tallies_say() {
        let tally =
            counted([(0, 2_000_000), (0, 4_000_000), (2, 3_000_000), (4, 9_000_000), (5, 400_000_000)]);
        let mut second = Lately::new().unwrap();
        tally.add_to_second(&mut second, true).unwrap();
        assert_eq!((second.answered, second.errors), (3, 3));
        let ends =
            End::ALL.map(|end| (second.plateau.of(end).unwrap().count(), second.plateau_so_far.of(end)));
        assert_eq!(ends, [(2, 2), (1, 1), (1, 1), (1, 1)]);
        let median = second.latencies.percentile(50.0).unwrap().as_secs_f64();
        assert!((median - 0.004).abs() < 0.000_04, "{median}");
    }

    #[test]
    fn a_tally_that_contradicts_itself_is_refused() {
        let mut parts = TallyParts::from(&counted([(0, 5), (0, 6)]));
        parts.right += 1;
        assert!(parts.tally().is_err());
        let parts = TallyParts { missed: 1, ..TallyParts::default() };
        assert!(parts.tally().is_err());
        let names = (0..=MOST_OF_ONE).map(|number| (format!("kind-{number}"), 1)).collect();
        assert!(TallyParts { unasked: names, ..TallyParts::default() }.tally().is_err());
    }
}
