//! Lets arrivals go when their time has come, and asks for connections when they wait for one.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::arrivals::Source;
use super::open::{Gate, Growing};
use super::schedule::{Arrival, Phase};
use super::seconds::{OnSecond, Teller};
use super::{Edge, Load};
use crate::{LoadtestError, clock};

/// An arrival that waited so long for a connection is given one more, where there may be one. Long enough that a busy
/// machine's scheduling is no reason, short beside the latencies that are looked for.
const PATIENCE: Duration = Duration::from_millis(2);
/// How long the pacer sleeps at most, and while arrivals wait.
const SLEEP: Duration = Duration::from_millis(100);
const SHORT_SLEEP: Duration = Duration::from_millis(1);
/// Arrivals that are let go at once, at most.
const BATCH: usize = 10_000;

/// Lets arrivals go by the operating system's timer: the runtime's has 1 ms steps.
pub(super) struct Pacer<'a> {
    load: &'a Load,
    source: Source<'a>,
    gate: &'a Gate,
    growing: &'a Growing,
    /// The thread that the next connection is asked of.
    next_thread: usize,
    /// Arrivals that were let go, and those of them that are measured.
    released: u64,
    measured: u64,
    /// Where the plateau begins and ends.
    first: Option<Edge>,
    last: Option<Edge>,
    /// For how long of the plateau no connection was left, and since when that is so.
    exhausted: Duration,
    exhausted_since: Option<Instant>,
}

/// What the pacer saw.
pub(super) struct Paced {
    /// Where the plateau begins.
    pub(super) first: Edge,
    /// Where it ends; where nothing came after it, with the last answer.
    pub(super) last: Option<Edge>,
    /// Arrivals that were let go.
    pub(super) released: u64,
    /// Those of them that are measured.
    pub(super) measured: u64,
    /// For how long of the plateau no connection was left.
    pub(super) exhausted: Duration,
}

impl<'a> Pacer<'a> {
    pub(super) fn new(load: &'a Load, source: Source<'a>, gate: &'a Gate, growing: &'a Growing) -> Self {
        Self {
            load,
            source,
            gate,
            growing,
            next_thread: 0,
            released: 0,
            measured: 0,
            first: None,
            last: None,
            exhausted: Duration::ZERO,
            exhausted_since: None,
        }
    }

    pub(super) fn pace(
        mut self,
        teller: &mut Teller<'_>,
        on_second: OnSecond<'_>,
    ) -> Result<Paced, LoadtestError> {
        let (gate, load) = (self.gate, self.load);
        teller.offered = self.source.is_mixture().then_some(0);
        let mut next = self.source.next(self.released, Duration::ZERO);
        while let Some(arrival) = next {
            if load.stop.is_stopped() {
                break;
            }
            let now = teller.now();
            teller.tell(now, on_second)?;
            let waiting = self.look_after_those_who_wait(now);
            if arrival.due > now {
                let most = if waiting { SHORT_SLEEP } else { SLEEP };
                self.source.sleep((arrival.due - now).min(most));
                if self.source.is_mixture() {
                    next = self.source.next(self.released, now);
                }
                continue;
            }
            self.edges(arrival.phase)?;
            if arrival.phase.is_measured() {
                let lag = u64::try_from((now - arrival.due).as_nanos()).unwrap_or(u64::MAX);
                gate.lag.fetch_max(lag, Ordering::Relaxed);
            }
            let before = self.released;
            next = self.release(arrival, now);
            teller.offered = teller.offered.map(|offered| offered + self.released - before);
        }
        // Arrivals that still wait are given the time that a request may take. The gate must not close before the
        // last one is taken up, or a permit that is on its way to a connection would be lost.
        let patience = clock::now() + load.timeouts.request;
        while gate.next.load(Ordering::Relaxed) < self.released
            && gate.workers.load(Ordering::Relaxed) + gate.opening.load(Ordering::Relaxed) > 0
            && clock::now() < patience
            && !load.stop.is_stopped()
        {
            std::thread::sleep(SHORT_SLEEP);
            let now = teller.now();
            teller.tell(now, on_second)?;
            self.look_after_those_who_wait(now);
        }
        self.note_exhausted(false);
        let first = self.first.map_or_else(|| Edge::read(load.pid), Ok)?;
        let Self { last, released, measured, exhausted, .. } = self;
        Ok(Paced { first, last, released, measured, exhausted })
    }

    /// Reads the clock and the CPU where the plateau begins and ends.
    fn edges(&mut self, phase: Phase) -> Result<(), LoadtestError> {
        let pid = self.load.pid;
        if phase.is_measured() {
            if self.first.is_none() {
                self.first = Some(Edge::read(pid)?);
            }
        } else if self.first.is_some() && self.last.is_none() {
            self.last = Some(Edge::read(pid)?);
        }
        Ok(())
    }

    /// Lets go what is due, from `next` on; what comes after it.
    fn release(&mut self, next: Arrival, now: Duration) -> Option<Arrival> {
        let (mut released, mut next) = (0, Some(next));
        while released < BATCH
            && let Some(arrival) = next.filter(|next| next.due <= now)
        {
            let came = self.source.release(now);
            if came {
                self.released += 1;
                self.measured += u64::from(arrival.phase.is_measured());
                released += 1;
            }
            next = self.source.next(self.released, now);
            if !came {
                break;
            }
        }
        self.gate.arrivals.add_permits(released);
        next
    }

    /// Asks for connections where arrivals wait for one, and notes when there can be no more. Whether some wait.
    fn look_after_those_who_wait(&mut self, now: Duration) -> bool {
        let gate = self.gate;
        // With an idle worker there would be none left: it takes a permit at once.
        let waiting = gate.arrivals.available_permits();
        if waiting == 0 {
            self.note_exhausted(false);
            return false;
        }
        let oldest = gate.waiting.oldest(&gate.next);
        let waited = oldest.map_or(Duration::ZERO, |due| now.saturating_sub(due));
        if waited >= PATIENCE {
            let opening = gate.opening.load(Ordering::Relaxed);
            let workers = gate.workers.load(Ordering::Relaxed);
            let room = gate.bound.saturating_sub(workers + opening);
            self.note_exhausted(room == 0 && opening == 0);
            // At most twice as many at once; what is being opened is waited for.
            if opening == 0 {
                self.ask_for(room.min(waiting).min(workers.max(1)));
            }
        }
        true
    }

    fn ask_for(&mut self, connections: usize) {
        let refused = self.gate.refused.lock().is_ok_and(|refused| refused.is_some());
        if refused {
            return;
        }
        self.gate.opening.fetch_add(connections, Ordering::Relaxed);
        let threads = self.growing.len().max(1);
        for thread in 0..threads {
            let share = connections / threads + usize::from(thread < connections % threads);
            let asked = self.growing.get((self.next_thread + thread) % threads);
            if share > 0 && asked.is_none_or(|thread| thread.send(share).is_err()) {
                self.gate.opening.fetch_sub(share, Ordering::Relaxed);
            }
        }
        self.next_thread += connections % threads;
    }

    /// Counts the time in the plateau in which arrivals wait and the bound allows no further connection.
    fn note_exhausted(&mut self, exhausted: bool) {
        if !exhausted && self.exhausted_since.is_none() {
            return;
        }
        let measured = self.first.is_some() && self.last.is_none();
        match (self.exhausted_since, exhausted && measured) {
            (None, true) => self.exhausted_since = Some(clock::now()),
            (Some(since), false) => {
                self.exhausted += clock::now().saturating_duration_since(since);
                self.exhausted_since = None;
            }
            _ => {}
        }
    }
}
