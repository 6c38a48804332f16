//! Where the arrivals of an open run come from: one schedule, or a mixture with several streams and journeys.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::mixture::{JourneyCount, Streams};
use super::queue::{Due, Queue, What};
use super::schedule::{Arrival, Schedule};

/// Those that wait for a connection, shared by the pacer and all connections.
pub(super) enum Waiting {
    /// Found by their number.
    Schedule(Schedule),
    /// Standing in a queue.
    Mixture(Queue),
}

impl Waiting {
    /// The next arrival to be taken up, of those whose time has come. `next` counts them.
    pub(super) fn take(&self, next: &AtomicU64) -> Option<Due> {
        match self {
            Self::Schedule(schedule) => {
                let index = next.fetch_add(1, Ordering::Relaxed);
                schedule.arrival(index).map(|arrival| Due { arrival, what: What::Next(arrival.asks) })
            }
            Self::Mixture(queue) => {
                let due = queue.take();
                next.fetch_add(1, Ordering::Relaxed);
                due
            }
        }
    }

    /// When the one that waits longest was due.
    pub(super) fn oldest(&self, next: &AtomicU64) -> Option<Duration> {
        match self {
            Self::Schedule(schedule) => {
                schedule.arrival(next.load(Ordering::Relaxed)).map(|arrival| arrival.due)
            }
            Self::Mixture(queue) => queue.oldest(),
        }
    }

    /// The queue of a mixture.
    pub(super) fn queue(&self) -> Option<&Queue> {
        match self {
            Self::Schedule(_) => None,
            Self::Mixture(queue) => Some(queue),
        }
    }

    /// The kind of what is never sent.
    pub(super) fn kind(&self, what: &What) -> &'static str {
        self.queue().map_or("", |queue| queue.kind(what))
    }

    /// How the journeys went.
    pub(super) fn journeys(&self) -> Vec<JourneyCount> {
        self.queue().map(Queue::counts).unwrap_or_default()
    }
}

/// Lets arrivals go when their time has come; the pacer's own.
pub(super) enum Source<'a> {
    /// One after the other.
    Schedule(&'a Schedule),
    /// The earliest of all streams and journeys.
    Mixture { streams: Streams, queue: &'a Queue },
}

impl Source<'_> {
    /// The next arrival; none where there will be none. In a mixture whose journeys may bring one at any time, it is at the
    /// latest its end.
    pub(super) fn next(&self, released: u64, now: Duration) -> Option<Arrival> {
        match self {
            Self::Schedule(schedule) => schedule.arrival(released),
            Self::Mixture { streams, queue } => {
                let known = [streams.due(), queue.step_due()].into_iter().flatten().min();
                let may_come = (queue.is_under_way() && now < streams.ends()).then_some(streams.ends());
                known.or(may_come).map(|due| streams.arrival(due))
            }
        }
    }

    /// Lets the one go that [`next`](Self::next) told, whose time has come. Whether there was one: at the end of a mixture
    /// nothing may have come.
    pub(super) fn release(&mut self, now: Duration) -> bool {
        match self {
            Self::Schedule(_) => true,
            Self::Mixture { streams, queue } => {
                if let Some((arrival, ask)) = streams.take(now) {
                    queue.release(arrival, ask);
                    return true;
                }
                queue.release_step(now, |due| streams.arrival(due))
            }
        }
    }

    /// Waits; in a mixture until a step comes earlier.
    pub(super) fn sleep(&self, time: Duration) {
        match self {
            Self::Schedule(_) => std::thread::sleep(time),
            Self::Mixture { .. } => std::thread::park_timeout(time),
        }
    }

    /// Whether what comes next may change while nobody looks: the steps of journeys come when they come.
    pub(super) fn is_mixture(&self) -> bool {
        matches!(self, Self::Mixture { .. })
    }
}
