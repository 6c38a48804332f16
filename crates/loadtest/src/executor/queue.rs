//! What waits in a mixture: arrivals whose time has come, and steps of journeys whose time will.

use std::cmp::Ordering as Order;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use super::mixture::{Ask, JourneyCount, Journeys};
use super::schedule::Arrival;
use crate::scenario::Visitor;

/// What is to be sent.
pub(super) enum What {
    /// What the visitor of the connection asks next; a list may say what that is.
    Next(Option<u32>),
    /// The request of this number.
    Request(u32),
    /// The first step of a journey.
    Begin(usize),
    /// A later step: the user, and the number of the journey.
    Step(Box<dyn Visitor>, usize),
}

/// An arrival whose time has come.
pub(super) struct Due {
    pub(super) arrival: Arrival,
    pub(super) what: What,
}

/// A step whose time will come.
struct Later {
    due: Duration,
    user: Box<dyn Visitor>,
    journey: usize,
}

impl PartialEq for Later {
    fn eq(&self, other: &Self) -> bool {
        self.due == other.due
    }
}

impl Eq for Later {}

impl PartialOrd for Later {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for Later {
    /// The earliest is the greatest: a heap gives that first.
    fn cmp(&self, other: &Self) -> Order {
        other.due.cmp(&self.due)
    }
}

/// Shared by the pacer and all connections.
pub(super) struct Queue {
    ready: Mutex<VecDeque<Due>>,
    later: Mutex<BinaryHeap<Later>>,
    journeys: Arc<dyn Journeys>,
    counts: Mutex<Vec<JourneyCount>>,
    /// Journeys that are neither finished nor broken off.
    under_way: AtomicU64,
    /// The names of single requests, by their number.
    kinds: Vec<&'static str>,
    /// When the mixture ends, after the start of the load.
    ends: Duration,
    /// Woken when a step comes before what it sleeps for.
    pacer: OnceLock<Thread>,
}

impl Queue {
    pub(super) fn new(kinds: Vec<&'static str>, journeys: Arc<dyn Journeys>, ends: Duration) -> Self {
        Self {
            ready: Mutex::default(),
            later: Mutex::default(),
            counts: Mutex::new(vec![JourneyCount::default(); journeys.count()]),
            journeys,
            under_way: AtomicU64::new(0),
            kinds,
            ends,
            pacer: OnceLock::new(),
        }
    }

    /// The calling thread is the one that lets arrivals go.
    pub(super) fn is_paced_here(&self) {
        let _ = self.pacer.set(std::thread::current());
    }

    /// An arrival's time has come.
    pub(super) fn release(&self, arrival: Arrival, ask: Ask) {
        let what = match ask {
            Ask::Request(which) => What::Request(which),
            Ask::Journey(which) => {
                self.under_way.fetch_add(1, Ordering::Relaxed);
                self.count(which, |count| count.begun += 1);
                What::Begin(which)
            }
        };
        locked(&self.ready).push_back(Due { arrival, what });
    }

    /// When the next step of a journey comes, where one is known.
    pub(super) fn step_due(&self) -> Option<Duration> {
        locked(&self.later).peek().map(|later| later.due)
    }

    /// Whether journeys may still bring a step before the end.
    pub(super) fn is_under_way(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) > 0
    }

    /// Moves a step whose time has come to those that are taken up. Whether there was one.
    pub(super) fn release_step(&self, now: Duration, arrival: impl FnOnce(Duration) -> Arrival) -> bool {
        let mut later = locked(&self.later);
        if later.peek().is_none_or(|step| step.due > now) {
            return false;
        }
        let Some(step) = later.pop() else { return false };
        drop(later);
        let (arrival, what) = (arrival(step.due), What::Step(step.user, step.journey));
        locked(&self.ready).push_back(Due { arrival, what });
        true
    }

    /// The arrival that waits longest.
    pub(super) fn take(&self) -> Option<Due> {
        locked(&self.ready).pop_front()
    }

    /// When it was due.
    pub(super) fn oldest(&self) -> Option<Duration> {
        locked(&self.ready).front().map(|due| due.arrival.due)
    }

    /// A user at the beginning of a journey.
    pub(super) fn begin(&self, which: usize) -> Option<Box<dyn Visitor>> {
        self.journeys.begin(which)
    }

    /// What a journey does after a step: it goes on when its user has thought, or is over. `answered` is when the answer was
    /// there, after the start of the load.
    pub(super) fn go_on(
        &self,
        (mut user, journey): (Box<dyn Visitor>, usize),
        answered: Duration,
        right: bool,
    ) {
        match user.think(right) {
            Some(think) => {
                let due = answered.saturating_add(think);
                // What would come after the end is not asked, and the journey stays under way.
                if due >= self.ends {
                    return;
                }
                let mut later = locked(&self.later);
                let first = later.peek().is_none_or(|first| due < first.due);
                later.push(Later { due, user, journey });
                drop(later);
                if let Some(pacer) = self.pacer.get().filter(|_| first) {
                    pacer.unpark();
                }
            }
            None => self.end(journey, right),
        }
    }

    /// A journey is over.
    pub(super) fn end(&self, journey: usize, finished: bool) {
        self.under_way.fetch_sub(1, Ordering::Relaxed);
        self.count(journey, |count| {
            *(if finished { &mut count.finished } else { &mut count.broken }) += 1;
        });
    }

    /// The kind of what is to be sent, for one that is never sent.
    pub(super) fn kind(&self, what: &What) -> &'static str {
        match what {
            What::Next(_) => "",
            What::Request(which) => {
                let which = usize::try_from(*which).unwrap_or(usize::MAX);
                self.kinds.get(which).copied().unwrap_or("")
            }
            What::Begin(which) => self.journeys.first(*which),
            What::Step(user, _) => user.kind(),
        }
    }

    /// How the journeys went, by their number.
    pub(super) fn counts(&self) -> Vec<JourneyCount> {
        locked(&self.counts).clone()
    }

    fn count(&self, journey: usize, add: impl FnOnce(&mut JourneyCount)) {
        if let Some(count) = locked(&self.counts).get_mut(journey) {
            add(count);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
