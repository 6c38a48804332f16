//! A mixture of a run in which different things arrive at their own times: single requests that are dealt out in shares,
//! journeys of users who think between their requests, and storms.

use std::sync::Arc;
use std::time::Duration;

use super::arrivals::Waiting;
use super::counted::Asked;
use super::open::{Driven, OpenOutcome, Span, drive};
use super::queue::Queue;
use super::schedule::{Arrival, Phase, Schedule, Stage, Third};
use super::{Load, OnSecond};
use crate::LoadtestError;
use crate::scenario::{Deck, Visitor};

/// What an arrival asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// One request: the visitor's of this number ([`Visitor::arrives`]).
    Request(u32),
    /// A journey: the one of this number ([`Journeys::begin`]).
    Journey(usize),
}

/// Arrivals of one origin.
#[derive(Clone, Debug)]
pub enum Stream {
    /// At the rates of a schedule. What each asks is dealt out: of as many as the shares are together, each has its own
    /// exactly.
    Dealt {
        /// When they arrive.
        schedule: Schedule,
        /// What they ask, and in which shares.
        shares: Vec<(Ask, usize)>,
    },
    /// So many in equal distances.
    Even {
        /// When the first comes, after the beginning of the mixture.
        begins: Duration,
        /// How long it takes until all have come.
        within: Duration,
        /// How many there are.
        count: u64,
        /// What all of them ask.
        ask: Ask,
    },
}

/// All arrivals that are fixed in advance. The steps of journeys come besides, each when its user has thought.
#[derive(Clone, Debug)]
pub struct Mixture {
    /// Where the arrivals come from.
    pub streams: Vec<Stream>,
    /// When it ends: what a journey would ask later is not asked.
    pub duration: Duration,
}

/// Begins journeys. A journey is a visitor of its own, who goes from connection to connection with what it holds:
/// [`Visitor::think`] says when it goes on.
pub trait Journeys: Send + Sync {
    /// How many kinds of journeys there are.
    fn count(&self) -> usize;

    /// The kind of the first request of such a journey, as [`Visitor::kind`] would say it.
    fn first(&self, which: usize) -> &'static str;

    /// A user at the beginning of a journey; none where there is no such journey.
    fn begin(&self, which: usize) -> Option<Box<dyn Visitor>>;
}

/// No journeys.
pub struct NoJourneys;

impl Journeys for NoJourneys {
    fn count(&self) -> usize {
        0
    }

    fn first(&self, _which: usize) -> &'static str {
        ""
    }

    fn begin(&self, _which: usize) -> Option<Box<dyn Visitor>> {
        None
    }
}

/// How the journeys of one kind went. Those that were still under way at the end are neither finished nor broken off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JourneyCount {
    /// How many were begun.
    pub begun: u64,
    /// How many came to their last answer, and it was right.
    pub finished: u64,
    /// How many ended early, because a step failed, was answered wrongly or was never sent.
    pub broken: u64,
}

/// Runs a mixture to its end; blocks the calling thread. At most one connection per visitor. Latencies count from the intended
/// arrival: of a journey's step that is when its user has thought, after the answer before. All of the mixture is measured.
/// `kinds` are the names of the requests that [`Ask::Request`] numbers.
///
/// # Errors
/// As [`super::closed`].
pub fn mixture(
    load: &Load,
    mixture: &Mixture,
    (visitors, kinds): (Vec<Box<dyn Visitor>>, Vec<&'static str>),
    journeys: Arc<dyn Journeys>,
    on_second: OnSecond<'_>,
) -> Result<OpenOutcome, LoadtestError> {
    let ends = load.warm_up + mixture.duration;
    let queue = Queue::new(kinds, journeys, ends);
    let streams = Streams::new(mixture, load.warm_up, ends);
    let driven = Driven {
        span: Span::whole(mixture.duration),
        waiting: Waiting::Mixture(queue),
        streams: Some(streams),
    };
    let (done, visitors) = drive(load, driven, visitors, on_second)?;
    // The steps of journeys are in no schedule.
    let asked = Asked { arrivals: done.measured(), time: mixture.duration };
    done.outcome(asked, load, visitors)
}

impl Mixture {
    /// Arrivals per second in the mean, without the later steps of journeys.
    pub fn rate(&self) -> f64 {
        let arrivals = |stream: &Stream| match stream {
            Stream::Dealt { schedule, .. } => schedule.arrivals(),
            Stream::Even { count, .. } => *count as f64,
        };
        let arrivals: f64 = self.streams.iter().map(arrivals).sum();
        arrivals / self.duration.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// The stages of what is dealt out first: its curve.
    pub fn stages(&self) -> Vec<Stage> {
        let dealt = self.streams.iter().find_map(|stream| match stream {
            Stream::Dealt { schedule, .. } => Some(schedule.stages().collect()),
            Stream::Even { .. } => None,
        });
        dealt.unwrap_or_default()
    }

    /// How many arrivals ask for the request of this number, warm-up included, at most.
    pub fn requests_of(&self, which: u32, warm_up: Duration) -> usize {
        let count = |stream: &Stream| match stream {
            Stream::Even { count, ask, .. } if *ask == Ask::Request(which) => {
                usize::try_from(*count).unwrap_or(usize::MAX)
            }
            Stream::Even { .. } => 0,
            Stream::Dealt { schedule, shares } => {
                let whole: usize = shares.iter().map(|(_, share)| share).sum();
                let own = shares.iter().filter(|(ask, _)| *ask == Ask::Request(which));
                let own: usize = own.map(|(_, share)| share).sum();
                let arrivals = schedule.after(warm_up).arrivals().ceil();
                // A round of the deck that is not over may have dealt all of its own.
                (arrivals * own as f64 / whole.max(1) as f64).ceil() as usize + own
            }
        };
        self.streams.iter().map(count).sum()
    }
}

/// The arrivals that are fixed in advance, in their order.
pub(super) struct Streams {
    heads: Vec<Head>,
    warm_up: Duration,
    ends: Duration,
}

/// A stream, and what comes next of it.
struct Head {
    stream: Stream,
    deck: Deck<Ask>,
    /// How many have come.
    index: u64,
    /// When the next comes, after the start of the load; none where all have come.
    due: Option<Duration>,
}

impl Head {
    fn new(stream: &Stream, number: usize, warm_up: Duration) -> Self {
        let (stream, deck) = match stream {
            Stream::Dealt { schedule, shares } => {
                let schedule = schedule.after(warm_up);
                (Stream::Dealt { schedule, shares: Vec::new() }, Deck::new(shares, number))
            }
            Stream::Even { begins, within, count, ask } => {
                let begins = *begins + warm_up;
                let stream = Stream::Even { begins, within: *within, count: *count, ask: *ask };
                (stream, Deck::new(&[], 0))
            }
        };
        let mut head = Self { stream, deck, index: 0, due: None };
        head.due = head.find_due();
        head
    }

    fn find_due(&self) -> Option<Duration> {
        match &self.stream {
            Stream::Dealt { schedule, .. } => schedule.arrival(self.index).map(|arrival| arrival.due),
            Stream::Even { begins, within, count, .. } => (self.index < *count)
                .then(|| *begins + within.mul_f64(self.index as f64 / (*count).max(1) as f64)),
        }
    }

    /// What comes next, and goes on.
    fn take(&mut self) -> Option<Ask> {
        self.index += 1;
        self.due = self.find_due();
        match &self.stream {
            Stream::Dealt { .. } => self.deck.draw(),
            Stream::Even { ask, .. } => Some(*ask),
        }
    }
}

impl Streams {
    fn new(mixture: &Mixture, warm_up: Duration, ends: Duration) -> Self {
        let heads = mixture.streams.iter().enumerate();
        let heads = heads.map(|(number, stream)| Head::new(stream, number, warm_up)).collect();
        Self { heads, warm_up, ends }
    }

    /// When the next comes; none where all have.
    pub(super) fn due(&self) -> Option<Duration> {
        self.heads.iter().filter_map(|head| head.due).min().filter(|due| *due < self.ends)
    }

    /// The next, where its time has come.
    pub(super) fn take(&mut self, now: Duration) -> Option<(Arrival, Ask)> {
        let due = self.due().filter(|due| *due <= now)?;
        let head = self.heads.iter_mut().find(|head| head.due == Some(due))?;
        let ask = head.take()?;
        Some((self.arrival(due), ask))
    }

    /// What arrives then, and what it is counted with.
    pub(super) fn arrival(&self, due: Duration) -> Arrival {
        let phase = if due < self.warm_up { Phase::WarmUp } else { Phase::Plateau(Third::First) };
        Arrival { due, phase, asks: None }
    }

    pub(super) fn ends(&self) -> Duration {
        self.ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn all(mixture: &Mixture, warm_up: Duration) -> Vec<(Arrival, Ask)> {
        let mut streams = Streams::new(mixture, warm_up, warm_up + mixture.duration);
        std::iter::from_fn(|| {
            let due = streams.due()?;
            streams.take(due)
        })
        .collect()
    }

    #[test]
    fn shares_are_exact_and_a_storm_comes_on_top_in_its_time() {
        let schedule = Schedule::constant(100.0, 10 * SECOND).unwrap();
        let shares = vec![(Ask::Request(0), 7), (Ask::Request(1), 2), (Ask::Journey(0), 1)];
        let storm = Stream::Even { begins: 4 * SECOND, within: 2 * SECOND, count: 333, ask: Ask::Request(1) };
        let mixture =
            Mixture { streams: vec![Stream::Dealt { schedule, shares }, storm], duration: 10 * SECOND };
        let all = all(&mixture, SECOND);
        let count = |ask: Ask| all.iter().filter(|(_, is)| *is == ask).count();
        // 1,000 in the mixture, and a second of warm-up.
        assert_eq!(
            [Ask::Request(0), Ask::Request(1), Ask::Journey(0)].map(count),
            [770, 220 + 333, 110],
            "exactly"
        );
        assert!(all.windows(2).all(|pair| pair[0].0.due <= pair[1].0.due), "in order");
        let within = |from: u32, to: u32| {
            let (from, to) = (from * SECOND, to * SECOND);
            all.iter().filter(|(arrival, _)| (from..to).contains(&arrival.due)).count()
        };
        assert_eq!((within(4, 5), within(7, 8)), (100, 100));
        assert_eq!(within(5, 7), 200 + 333, "the warm-up goes before");
        assert_eq!(all.iter().filter(|(arrival, _)| arrival.phase == Phase::WarmUp).count(), 100);
        assert!(mixture.requests_of(1, SECOND) >= 553 && mixture.requests_of(1, SECOND) <= 556);
    }

    #[test]
    fn nothing_arrives_after_the_end() {
        let storm = Stream::Even { begins: SECOND, within: 10 * SECOND, count: 10, ask: Ask::Request(0) };
        let mixture = Mixture { streams: vec![storm], duration: 6 * SECOND };
        assert_eq!(all(&mixture, Duration::ZERO).len(), 5);
    }
}
