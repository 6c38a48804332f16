//! Requests that go from station to station, event by event.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use crate::scenario::Picker;

/// One thing after another, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// A server of this station is taken for so long in the mean.
    Work { station: usize, mean: f64 },
    /// Nobody is taken.
    Wait(f64),
    /// Joins the next batch of this committer.
    Commit { committer: usize },
}

/// How service times scatter around their mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Service {
    /// Exponentially.
    Exponential,
    /// Not at all.
    #[cfg(test)]
    Fixed,
}

/// Some servers and one queue, first come, first served.
struct Station {
    free: usize,
    queue: VecDeque<(usize, f64)>,
}

/// Takes all who wait at once, one batch at a time.
struct Committer {
    /// How long a batch takes, and how long each in it.
    batch: f64,
    each: f64,
    waiting: Vec<usize>,
    busy: bool,
}

/// A request.
struct Job {
    class: usize,
    began: f64,
    steps: Vec<Step>,
    next: usize,
}

#[derive(Clone, Debug)]
enum Happening {
    Arrival,
    /// A job is through with a step, and leaves a server of the station.
    Done {
        job: usize,
        station: Option<usize>,
    },
    Committed {
        committer: usize,
        jobs: Vec<usize>,
    },
}

struct Event {
    at: f64,
    number: u64,
    happening: Happening,
}

/// The earliest is the greatest; of two at the same time, the one that was foreseen first.
impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.total_cmp(&self.at).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Event {}

/// Stations, and requests that arrive independently of each other.
pub(super) struct Engine {
    stations: Vec<Station>,
    committers: Vec<Committer>,
    jobs: Vec<Job>,
    events: BinaryHeap<Event>,
    now: f64,
    foreseen: u64,
    service: Service,
    random: Picker,
}

impl Engine {
    pub(super) fn new(service: Service, random: Picker) -> Self {
        Self {
            stations: Vec::new(),
            committers: Vec::new(),
            jobs: Vec::new(),
            events: BinaryHeap::new(),
            now: 0.0,
            foreseen: 0,
            service,
            random,
        }
    }

    /// Adds a station; its number.
    pub(super) fn station(&mut self, servers: usize) -> usize {
        self.stations.push(Station { free: servers.max(1), queue: VecDeque::new() });
        self.stations.len() - 1
    }

    /// Adds a committer; its number.
    pub(super) fn committer(&mut self, batch: f64, each: f64) -> usize {
        self.committers.push(Committer { batch, each, waiting: Vec::new(), busy: false });
        self.committers.len() - 1
    }

    /// Lets `count` requests come at `rate` per second, each of a class with steps that `draw` says, and tells `answered`
    /// class and latency of each, in the order of their arrival.
    pub(super) fn run(
        &mut self,
        (rate, count): (f64, usize),
        mut draw: impl FnMut(&mut Picker) -> (usize, Vec<Step>),
        mut answered: impl FnMut(usize, f64),
    ) {
        let mut latencies = vec![0.0; count];
        self.foresee(0.0, Happening::Arrival);
        while let Some(event) = self.events.pop() {
            self.now = event.at;
            match event.happening {
                Happening::Arrival => {
                    let (class, steps) = draw(&mut self.random);
                    self.jobs.push(Job { class, began: self.now, steps, next: 0 });
                    if self.jobs.len() < count {
                        let gap = self.random.exponential() / rate;
                        self.foresee(gap, Happening::Arrival);
                    }
                    self.go_on(self.jobs.len() - 1, &mut latencies);
                }
                Happening::Done { job, station } => {
                    if let Some(station) = station {
                        self.leave(station);
                    }
                    self.go_on(job, &mut latencies);
                }
                Happening::Committed { committer, jobs } => {
                    self.begin_batch(committer);
                    jobs.into_iter().for_each(|job| self.go_on(job, &mut latencies));
                }
            }
        }
        for (job, latency) in self.jobs.drain(..).zip(latencies) {
            answered(job.class, latency);
        }
    }

    fn foresee(&mut self, after: f64, happening: Happening) {
        self.foreseen += 1;
        self.events.push(Event { at: self.now + after, number: self.foreseen, happening });
    }

    /// The next step of a job, or its end.
    fn go_on(&mut self, number: usize, latencies: &mut [f64]) {
        let Some(job) = self.jobs.get_mut(number) else { return };
        let step = job.steps.get(job.next).copied();
        job.next += 1;
        match step {
            None => {
                job.steps = Vec::new();
                if let Some(latency) = latencies.get_mut(number) {
                    *latency = self.now - job.began;
                }
            }
            Some(Step::Wait(time)) => self.foresee(time, Happening::Done { job: number, station: None }),
            Some(Step::Work { station, mean }) => {
                let time = match self.service {
                    Service::Exponential => mean * self.random.exponential(),
                    #[cfg(test)]
                    Service::Fixed => mean,
                };
                self.enter(station, number, time);
            }
            Some(Step::Commit { committer }) => {
                if let Some(waits) = self.committers.get_mut(committer) {
                    waits.waiting.push(number);
                    if !waits.busy {
                        self.begin_batch(committer);
                    }
                }
            }
        }
    }

    fn enter(&mut self, number: usize, job: usize, time: f64) {
        let Some(station) = self.stations.get_mut(number) else { return };
        if station.free == 0 {
            return station.queue.push_back((job, time));
        }
        station.free -= 1;
        self.foresee(time, Happening::Done { job, station: Some(number) });
    }

    /// A server of the station is free, and takes who waits longest.
    fn leave(&mut self, number: usize) {
        let Some(station) = self.stations.get_mut(number) else { return };
        match station.queue.pop_front() {
            Some((job, time)) => self.foresee(time, Happening::Done { job, station: Some(number) }),
            None => station.free += 1,
        }
    }

    fn begin_batch(&mut self, number: usize) {
        let Some(committer) = self.committers.get_mut(number) else { return };
        let jobs = std::mem::take(&mut committer.waiting);
        committer.busy = !jobs.is_empty();
        if committer.busy {
            let time = committer.batch + committer.each * jobs.len() as f64;
            self.foresee(time, Happening::Committed { committer: number, jobs });
        }
    }
}

#[cfg(test)]
mod tests;
