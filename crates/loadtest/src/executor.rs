//! Drives visitors over connections: closed ([`closed`]) or with arrivals fixed in advance ([`open`]).
//!
//! Each executor runs on threads of its own, one single-threaded runtime each, so that a caller's runtime is
//! neither needed nor disturbed and the generator's CPU time can be told apart.

mod arrivals;
mod closed;
mod counted;
mod crew;
mod example;
mod listed;
mod mixture;
mod open;
mod pacer;
mod queue;
mod schedule;
mod seconds;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(crate) use closed::closed_part;
pub use closed::{Closed, Until, closed, saturate};
pub use counted::Led;
pub(crate) use counted::{
    Asked, Counted, CountedSecond, Leader, Plateau, closed_outcome, is_measured, open_outcome,
};
pub(crate) use example::shown;
pub use listed::Arrivals;
pub use mixture::{Ask, JourneyCount, Journeys, Mixture, NoJourneys, Stream, mixture};
pub(crate) use open::open_part;
pub use open::{Connections, Open, OpenOutcome, open};
pub use schedule::{Schedule, Stage};
pub use seconds::OnSecond;

use crate::client::{Peer, Timeouts};
use crate::cpu::CpuReading;
use crate::scenario::Visitor;
use crate::tally::Tally;
use crate::{LoadtestError, clock};

/// Where the load goes and what carries it.
#[derive(Clone)]
pub struct Load {
    /// The target.
    pub peer: Peer,
    /// Further nodes of the same target: connections go to all of them in turn.
    pub others: Vec<Peer>,
    /// Threads of the generator; connections are spread over them.
    pub threads: usize,
    /// How long to wait for connections and answers.
    pub timeouts: Timeouts,
    /// Requests are sent, and answers checked but not counted, for so long before the measured phase.
    pub warm_up: Duration,
    /// Read the CPU time of this process around the measured phase.
    pub pid: Option<u32>,
    /// Ends the run early.
    pub stop: Stop,
    /// Who leads the run, where it is one of several generators'.
    pub led: Led,
}

impl Load {
    /// One thread, no warm-up, default timeouts.
    pub fn to(peer: impl Into<Peer>) -> Self {
        Self {
            peer: peer.into(),
            others: Vec::new(),
            threads: 1,
            timeouts: Timeouts::default(),
            warm_up: Duration::ZERO,
            pid: None,
            stop: Stop::default(),
            led: Led::default(),
        }
    }

    /// The node that a connection of this number goes to.
    fn node(&self, connection: usize) -> &Peer {
        let position = connection % (self.others.len() + 1);
        position.checked_sub(1).and_then(|other| self.others.get(other)).unwrap_or(&self.peer)
    }
}

impl Load {
    /// How many connections so many visitors make: each thread has its own, and HTTP/2's are shared.
    pub fn connections(&self, visitors: usize) -> usize {
        let threads = self.threads.clamp(1, visitors.max(1));
        let streams = self.peer.protocol().streams();
        // The first threads have a visitor more than the others.
        let (each, more) = (visitors / threads, visitors % threads);
        more * (each + 1).div_ceil(streams) + (threads - more) * each.div_ceil(streams)
    }
}

/// Stops runs that share it, from any thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// No new request after the ones in flight.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody stopped it.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a run gave.
pub struct Outcome {
    /// The counts of the measured phase.
    pub tally: Tally,
    /// What went wrong outside of the measured phase, in counts; zero in a clean run.
    pub warm_up_errors: u64,
    /// What was counted in the warm-up of a closed run. An open run has it beside its ramps.
    pub warm_up: Tally,
    /// How long the measured phase took, until its last answer.
    pub elapsed: Duration,
    /// The generator's own CPU time in the measured phase.
    pub generator_cpu: Duration,
    /// The CPU time of [`Load::pid`] in the measured phase.
    pub server_cpu: Option<Duration>,
    /// The visitors, for the next run: they keep what they hold.
    pub visitors: Vec<Box<dyn Visitor>>,
}

impl Outcome {
    /// Adds what came of the same load when it went on later; the visitors stay those of before.
    pub(crate) fn go_on(&mut self, later: Self) {
        self.tally.merge(later.tally);
        self.warm_up_errors += later.warm_up_errors;
        self.warm_up.merge(later.warm_up);
        self.elapsed += later.elapsed;
        self.generator_cpu += later.generator_cpu;
        self.server_cpu = self.server_cpu.zip(later.server_cpu).map(|(own, later)| own + later);
    }

    /// Adds its share of what the server put off. `loaded` is the server's CPU time under load, with the warm-ups; `used`
    /// that of the whole time, with what it did between and after.
    pub(crate) fn charge(&mut self, used: Duration, loaded: Duration) {
        let share = used.as_secs_f64() / loaded.as_secs_f64().max(f64::MIN_POSITIVE);
        self.server_cpu = self.server_cpu.map(|cpu| cpu.mul_f64(share.max(1.0)));
    }

    /// The server's CPU time per right answer, in µs.
    pub fn server_us_per_request(&self) -> Option<f64> {
        self.server_cpu.map(|cpu| per_request(cpu, self.tally.right))
    }

    /// The generator's CPU time per request, in µs.
    pub fn generator_us_per_request(&self) -> f64 {
        per_request(self.generator_cpu, self.tally.requests())
    }

    /// Right answers per second.
    pub fn rate(&self) -> f64 {
        self.tally.right as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

impl Plateau {
    /// What lies between two edges.
    pub(crate) fn between(start: &Edge, end: &Edge) -> Self {
        Self { elapsed: end.at.saturating_duration_since(start.at), server_cpu: end.server_cpu_since(start) }
    }
}

fn per_request(cpu: Duration, requests: u64) -> f64 {
    cpu.as_secs_f64() * 1e6 / requests.max(1) as f64
}

/// The figures at one edge of the measured phase.
pub(crate) struct Edge {
    at: std::time::Instant,
    cpu: Option<CpuReading>,
}

impl Edge {
    pub(crate) fn read(pid: Option<u32>) -> Result<Self, LoadtestError> {
        let cpu = pid.map(CpuReading::of).transpose()?;
        Ok(Self { at: clock::now(), cpu })
    }

    fn server_cpu_since(&self, start: &Self) -> Option<Duration> {
        Some(self.cpu.as_ref()?.since(start.cpu.as_ref()?))
    }
}

/// A runtime for one generator thread.
fn runtime() -> Result<tokio::runtime::Runtime, LoadtestError> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// Deals the visitors out to the threads.
fn deal(visitors: Vec<Box<dyn Visitor>>, threads: usize) -> Vec<Vec<Box<dyn Visitor>>> {
    let mut hands: Vec<Vec<_>> = Vec::new();
    hands.resize_with(threads.clamp(1, visitors.len().max(1)), Vec::new);
    let count = hands.len();
    for (position, visitor) in visitors.into_iter().enumerate() {
        if let Some(hand) = hands.get_mut(position % count) {
            hand.push(visitor);
        }
    }
    hands
}

pub(crate) fn new_tally() -> Result<Tally, LoadtestError> {
    Tally::new().map_err(|error| LoadtestError::Options(error.to_string()))
}

fn panicked() -> LoadtestError {
    LoadtestError::Io(std::io::Error::other("a thread of the generator panicked"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_put_off_is_shared_out_by_its_work() {
        let edge = Edge { at: clock::now(), cpu: None };
        let plateau = Plateau::between(&edge, &edge);
        let mut outcome = closed_outcome(Counted::new().unwrap(), &plateau, Vec::new()).unwrap();
        outcome.charge(Duration::from_millis(300), Duration::from_millis(200));
        assert_eq!(outcome.server_cpu, None, "nobody read it");
        // Half of its work under load was warm-up, and half of what it put off is of that.
        outcome.server_cpu = Some(Duration::from_millis(100));
        outcome.charge(Duration::from_millis(300), Duration::from_millis(200));
        assert_eq!(outcome.server_cpu, Some(Duration::from_millis(150)));
        outcome.charge(Duration::ZERO, Duration::ZERO);
        assert_eq!(outcome.server_cpu, Some(Duration::from_millis(150)));
    }
}
