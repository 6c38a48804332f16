//! The course of a run of several agents, second by second.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::LoadtestError;
use crate::executor::{CountedSecond, is_measured};
use crate::tally::{Counts, GeneratorNow, Lately, Tally};

/// Seconds that were told by some agents and not yet by all.
pub(super) struct JointCourse {
    agents: Vec<Told>,
}

#[derive(Default)]
struct Told {
    /// By the second in which they end.
    seconds: BTreeMap<u64, (Duration, Lately)>,
    /// All that it has told to have counted.
    so_far: SoFar,
    /// What was said in the last of its seconds that was put together with those of the others.
    seen: SoFar,
    generator: GeneratorNow,
    /// It tells no more.
    ended: bool,
}

/// All that was counted in the plateau and beside it.
#[derive(Clone, Default)]
struct SoFar {
    plateau: Counts,
    besides: Counts,
}

impl Told {
    /// What it is doing: nothing any more where it tells no more.
    fn generator(&self) -> GeneratorNow {
        let generator = self.generator.clone();
        if self.ended && self.seconds.is_empty() {
            return GeneratorNow { in_flight: 0, workers: 0, waiting: 0, ..generator };
        }
        generator
    }
}

impl JointCourse {
    pub(super) fn new(agents: usize) -> Self {
        let mut course = Self { agents: Vec::new() };
        course.agents.resize_with(agents, Told::default);
        course
    }

    /// Notes what an agent counted in a second.
    pub(super) fn note(&mut self, agent: usize, second: &CountedSecond) -> Result<(), LoadtestError> {
        self.note_rest(agent, second.at, &second.phases, &second.generator)
    }

    /// The same of what it counted in the time before `at`, which need not be a second.
    pub(super) fn note_rest(
        &mut self,
        agent: usize,
        at: Duration,
        tallies: &[Tally],
        generator: &GeneratorNow,
    ) -> Result<(), LoadtestError> {
        let Some(told) = self.agents.get_mut(agent) else { return Ok(()) };
        let mut lately = new()?;
        for (phase, tally) in tallies.iter().enumerate() {
            tally.add_to_second(&mut lately, is_measured(phase)).map_err(refused)?;
        }
        if lately.is_empty() && told.ended {
            return Ok(());
        }
        told.so_far.plateau.add(&lately.plateau_so_far);
        told.so_far.besides.add(&lately.besides_so_far);
        let SoFar { plateau, besides } = told.so_far.clone();
        (lately.plateau_so_far, lately.besides_so_far) = (plateau, besides);
        lately.generator = generator.clone();
        let mut until = at;
        if let Some((before_at, mut before)) = told.seconds.remove(&at.as_secs()) {
            until = at.max(before_at);
            lately.take(&mut before);
        }
        told.seconds.insert(at.as_secs(), (until, lately));
        Ok(())
    }

    /// An agent tells no more; nobody waits for it.
    pub(super) fn end(&mut self, agent: usize) {
        if let Some(told) = self.agents.get_mut(agent) {
            told.ended = true;
        }
    }

    /// What all agents together counted until the last second that all of them have told, if there is one: an agent that
    /// was held up tells two seconds at once, and then both are told as one.
    pub(super) fn next(&mut self) -> Result<Option<(Duration, Lately)>, LoadtestError> {
        let mut running = self.agents.iter().filter(|told| !told.ended);
        let Some(first) = running.next() else { return Ok(None) };
        let others: Vec<_> = running.collect();
        let by_all = |second: &&u64| others.iter().all(|told| told.seconds.contains_key(second));
        match first.seconds.keys().rev().find(by_all).copied() {
            Some(last) => self.until(last),
            None => Ok(None),
        }
    }

    /// What is left once all have ended.
    pub(super) fn rest(&mut self) -> Result<Option<(Duration, Lately)>, LoadtestError> {
        self.until(u64::MAX)
    }

    fn until(&mut self, last: u64) -> Result<Option<(Duration, Lately)>, LoadtestError> {
        let (mut together, mut latest) = (new()?, None);
        for told in &mut self.agents {
            while let Some(entry) = told.seconds.first_entry().filter(|entry| *entry.key() <= last) {
                let (at, mut lately) = entry.remove();
                together.take(&mut lately);
                latest = latest.max(Some(at));
                told.generator = lately.generator;
                told.seen = SoFar { plateau: lately.plateau_so_far, besides: lately.besides_so_far };
            }
            together.plateau_so_far.add(&told.seen.plateau);
            together.besides_so_far.add(&told.seen.besides);
            together.generator.add(told.generator());
        }
        Ok(latest.map(|at| (at, together)))
    }
}

fn new() -> Result<Lately, LoadtestError> {
    Lately::new().map_err(refused)
}

fn refused(error: hdrhistogram::CreationError) -> LoadtestError {
    LoadtestError::Options(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Right;
    use crate::tally::End;

    fn second(at: f64, answers: u64) -> CountedSecond {
        let mut tally = Tally::new().unwrap();
        (0..answers).for_each(|_| tally.right("", Duration::from_millis(1), Right::default()));
        let generator =
            GeneratorNow { in_flight: 2, bound: 8, worst_lag_ns: answers, ..GeneratorNow::default() };
        // The first phases are the warm-up and the ramps.
        let phases = vec![Tally::new().unwrap(), Tally::new().unwrap(), tally];
        CountedSecond { at: Duration::from_secs_f64(at), phases, late: 0, generator }
    }

    /// When it was told, and how many answers.
    fn next(course: &mut JointCourse) -> Option<(f64, u64)> {
        course.next().unwrap().map(|(at, lately)| (at.as_secs_f64(), lately.answered))
    }

    #[test]
    fn a_second_is_told_when_all_have_told_it() {
        let mut course = JointCourse::new(2);
        course.note(0, &second(1.0, 5)).unwrap();
        assert_eq!(next(&mut course), None);
        course.note(1, &second(1.25, 7)).unwrap();
        assert_eq!(next(&mut course), Some((1.25, 12)));
        assert_eq!(next(&mut course), None);
    }

    #[test]
    fn who_was_held_up_loses_nothing_and_who_is_lost_holds_up_nobody() {
        let mut course = JointCourse::new(3);
        for (agent, at, answers) in [(0, 2.0, 2), (1, 1.0, 3), (1, 2.0, 4), (2, 1.0, 6)] {
            course.note(agent, &second(at, answers)).unwrap();
        }
        assert_eq!(next(&mut course), None, "the last has not told its second second");
        course.end(2);
        assert_eq!(next(&mut course), Some((2.0, 15)));
        course.note(0, &second(2.5, 1)).unwrap();
        course.end(0);
        course.end(1);
        assert_eq!(next(&mut course), None);
        assert_eq!(course.rest().unwrap().map(|(_, lately)| lately.answered), Some(1));
        assert!(course.rest().unwrap().is_none());
    }

    #[test]
    fn what_was_told_so_far_is_the_sum_of_what_the_agents_told() {
        let mut course = JointCourse::new(2);
        for (agent, at, answers) in [(0, 1.0, 5), (1, 1.0, 7), (0, 2.0, 11), (0, 2.5, 13)] {
            course.note(agent, &second(at, answers)).unwrap();
        }
        let (_, lately) = course.next().unwrap().unwrap();
        assert_eq!(lately.plateau_so_far.of(End::Right), 12, "the second second is not told by all");
        assert_eq!(lately.plateau.of(End::Right).unwrap().count(), 12);
        course.end(1);
        let (_, lately) = course.next().unwrap().unwrap();
        assert_eq!((lately.answered, lately.plateau_so_far.of(End::Right)), (24, 36));
        assert_eq!(lately.plateau.of(End::Right).unwrap().count(), 24);
        assert_eq!(lately.besides_so_far, Counts::default());
        // The other sends nothing any more.
        let GeneratorNow { in_flight, bound, worst_lag_ns, .. } = lately.generator;
        assert_eq!((in_flight, bound, worst_lag_ns), (2, 16, 13));
    }
}
