//! The open executor: arrivals are fixed in advance and do not slow down when the server does.
//!
//! A request's latency counts from its intended arrival, so a stall of the server shows in every request that
//! should have been sent meanwhile (no coordinated omission). Connections are bounded: an arrival that finds
//! none free waits, and is counted as missed when it waited longer than a request may take.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::schedule::Schedule;
use super::seconds::{OnSecond, Teller, ThreadTallies};
use super::worker::{Turn, Worker};
use super::{Edge, Load, Outcome, deal, new_tally, panicked, runtime};
use crate::scenario::Visitor;
use crate::tally::Tally;
use crate::{LoadtestError, clock};

/// An open run.
pub struct Open {
    /// Where to, and how.
    pub load: Load,
    /// When requests arrive.
    pub schedule: Schedule,
}

/// What an open run gave.
pub struct OpenOutcome {
    /// Counts and CPU times; latencies count from the intended arrival.
    pub outcome: Outcome,
    /// Arrivals that the schedule had in the measured phase.
    pub arrivals: u64,
    /// Arrivals that found no free connection in time and were never sent.
    pub missed: u64,
    /// Answers per second of the plateau. Those that came more than half a second after its end, or more than a
    /// twentieth of it, were not answered at that rate.
    pub achieved_rate: f64,
    /// How late the generator let arrivals go, at worst: its own share of the latencies.
    pub worst_lag: Duration,
}

impl OpenOutcome {
    /// The same of a closed run, which has no arrivals to miss.
    pub(crate) fn closed(outcome: Outcome) -> Self {
        let arrivals = outcome.tally.requests();
        let answered = outcome.tally.right + outcome.tally.wrong_total();
        let achieved_rate = answered as f64 / outcome.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        Self { outcome, arrivals, missed: 0, achieved_rate, worst_lag: Duration::ZERO }
    }
}

/// Runs the schedule to its end; blocks the calling thread. One connection per visitor.
///
/// # Errors
/// As [`super::closed`].
pub fn open(
    options: &Open,
    visitors: Vec<Box<dyn Visitor>>,
    on_second: OnSecond<'_>,
) -> Result<OpenOutcome, LoadtestError> {
    let schedule = options.schedule.after(options.load.warm_up);
    let hands = deal(visitors, options.load.threads);
    let (ready, readies) = std::sync::mpsc::channel();
    let gate = Arc::new(Gate {
        schedule,
        arrivals: Semaphore::new(0),
        next: AtomicU64::new(0),
        lag: AtomicU64::new(0),
        busy: AtomicU64::new(0),
        watched: ThreadTallies::default(),
    });
    std::thread::scope(|scope| {
        let mut starts = Vec::new();
        let mut threads = Vec::new();
        for hand in hands.into_iter().enumerate() {
            let (start, starting) = std::sync::mpsc::channel::<Instant>();
            let (ready, gate) = (ready.clone(), Arc::clone(&gate));
            starts.push(start);
            threads.push(scope.spawn(move || run_thread(options, &gate, hand, (ready, starting))));
        }
        drop(ready);
        // A thread that cannot connect drops its sender; the run then ends with its error.
        let all_ready = readies.iter().take(threads.len()).count() == threads.len();
        let edges = all_ready.then(|| {
            let start = clock::now();
            for thread in &starts {
                let _ = thread.send(start);
            }
            let teller = Teller::new(&gate.watched, start);
            let cpu = clock::thread_cpu();
            let paced = Pacer { options, gate: &gate, teller, first: None, last: None }.pace(on_second);
            paced.map(|(first, last)| (first, last, clock::thread_cpu().saturating_sub(cpu)))
        });
        drop(starts);
        gate.arrivals.close();
        let mut parts = Vec::new();
        for thread in threads {
            parts.push(thread.join().map_err(|_| panicked())??);
        }
        let (first, last, pacing) = edges.ok_or_else(panicked)??;
        let last = last.map_or_else(|| Edge::read(options.load.pid), Ok)?;
        merge(options, parts, &gate, (&first, &last, pacing))
    })
}

/// Where arrivals wait for a connection.
struct Gate {
    /// With the warm-up.
    schedule: Schedule,
    /// One permit per arrival whose time has come; closed after the last one.
    arrivals: Semaphore,
    /// The index of the next arrival to be taken up.
    next: AtomicU64,
    /// The pacer's worst lateness in ns.
    lag: AtomicU64,
    /// Connections that still take arrivals up.
    busy: AtomicU64,
    /// What the threads count in, to be looked at every second.
    watched: ThreadTallies,
}

struct Part {
    tally: Tally,
    besides: Tally,
    missed: u64,
    /// Answers that came too late to count for the rate.
    late: u64,
    cpu: Duration,
    visitors: Vec<Box<dyn Visitor>>,
}

/// Lets arrivals go when their time has come, by the operating system's timer: the runtime's has 1 ms steps.
struct Pacer<'a> {
    options: &'a Open,
    gate: &'a Gate,
    teller: Teller<'a>,
    /// Where the plateau begins and ends.
    first: Option<Edge>,
    last: Option<Edge>,
}

impl Pacer<'_> {
    fn pace(mut self, on_second: OnSecond<'_>) -> Result<(Edge, Option<Edge>), LoadtestError> {
        let (gate, load) = (self.gate, &self.options.load);
        let mut index = 0;
        while let Some(arrival) = gate.schedule.arrival(index) {
            if load.stop.is_stopped() {
                break;
            }
            let now = self.teller.now();
            self.teller.tell(now, on_second)?;
            if arrival.due > now {
                std::thread::sleep((arrival.due - now).min(Duration::from_millis(100)));
                continue;
            }
            if arrival.measured {
                if self.first.is_none() {
                    self.first = Some(Edge::read(load.pid)?);
                }
                let lag = u64::try_from((now - arrival.due).as_nanos()).unwrap_or(u64::MAX);
                gate.lag.fetch_max(lag, Ordering::Relaxed);
            } else if self.first.is_some() && self.last.is_none() {
                self.last = Some(Edge::read(load.pid)?);
            }
            let mut released = 0;
            while released < 10_000 && gate.schedule.arrival(index).is_some_and(|arrival| arrival.due <= now)
            {
                index += 1;
                released += 1;
            }
            gate.arrivals.add_permits(released);
        }
        // Arrivals that still wait are given the time that a request may take. The gate must not close before the
        // last one is taken up, or a permit that is on its way to a connection would be lost.
        let patience = clock::now() + load.timeouts.request;
        while gate.next.load(Ordering::Relaxed) < index
            && gate.busy.load(Ordering::Relaxed) > 0
            && clock::now() < patience
            && !load.stop.is_stopped()
        {
            std::thread::sleep(Duration::from_millis(1));
            self.teller.tell(self.teller.now(), on_second)?;
        }
        let first = self.first.map_or_else(|| Edge::read(load.pid), Ok)?;
        Ok((first, self.last))
    }
}

fn run_thread(
    options: &Open,
    gate: &Arc<Gate>,
    (thread, hand): (usize, Vec<Box<dyn Visitor>>),
    (ready, starting): (std::sync::mpsc::Sender<()>, std::sync::mpsc::Receiver<Instant>),
) -> Result<Part, LoadtestError> {
    let runtime = runtime()?;
    let load = &options.load;
    let workers = runtime.block_on(Worker::connect(load, thread, hand));
    let workers = workers.map_err(LoadtestError::http("load"))?;
    gate.busy.fetch_add(u64::try_from(workers.len()).unwrap_or(0), Ordering::Relaxed);
    let _ = ready.send(());
    drop(ready);
    let start = starting.recv().map_err(|_| LoadtestError::Interrupted)?;
    runtime.block_on(serve(options, gate, workers, start))
}

/// Takes arrivals up as connections become free, until the gate is closed and empty.
async fn serve(
    options: &Open,
    gate: &Arc<Gate>,
    workers: Vec<Worker>,
    start: Instant,
) -> Result<Part, LoadtestError> {
    let (tally, besides) = (gate.watched.tally()?, gate.watched.tally()?);
    let (missed, late) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let deadline = start + options.load.warm_up + options.schedule.answers_due();
    let cpu = clock::thread_cpu();
    let mut tasks = JoinSet::new();
    for mut worker in workers {
        let (load, gate) = (options.load.clone(), Arc::clone(gate));
        let (tally, besides) = (Arc::clone(&tally), Arc::clone(&besides));
        let (missed, late) = (Arc::clone(&missed), Arc::clone(&late));
        tasks.spawn(async move {
            while let Ok(permit) = gate.arrivals.acquire().await {
                permit.forget();
                let index = gate.next.fetch_add(1, Ordering::Relaxed);
                let Some(arrival) = gate.schedule.arrival(index) else { break };
                let intended = start + arrival.due;
                if clock::now().saturating_duration_since(intended) > load.timeouts.request {
                    missed.fetch_add(u64::from(arrival.measured), Ordering::Relaxed);
                    continue;
                }
                let tally = if arrival.measured { &tally } else { &besides };
                match worker.turn(&load, Some(intended), tally).await {
                    Turn::Answered if arrival.measured && clock::now() > deadline => {
                        late.fetch_add(1, Ordering::Relaxed);
                    }
                    Turn::Answered | Turn::Failed => {}
                    Turn::Exhausted => {
                        missed.fetch_add(u64::from(arrival.measured), Ordering::Relaxed);
                        break;
                    }
                }
            }
            gate.busy.fetch_sub(1, Ordering::Relaxed);
            worker
        });
    }
    let mut visitors = Vec::new();
    while let Some(worker) = tasks.join_next().await {
        visitors.push(worker.map_err(|_| panicked())?.visitor);
    }
    let cpu = clock::thread_cpu().saturating_sub(cpu);
    let taken = |tally: &Mutex<Tally>| -> Result<Tally, LoadtestError> {
        let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::replace(&mut *tally, new_tally()?))
    };
    let (missed, late) = (missed.load(Ordering::Relaxed), late.load(Ordering::Relaxed));
    Ok(Part { tally: taken(&tally)?, besides: taken(&besides)?, missed, late, cpu, visitors })
}

fn merge(
    options: &Open,
    parts: Vec<Part>,
    gate: &Gate,
    (start, end, pacing): (&Edge, &Edge, Duration),
) -> Result<OpenOutcome, LoadtestError> {
    let mut outcome = Outcome::between(start, end)?;
    outcome.generator_cpu = pacing;
    let (mut missed, mut late, mut besides) = (0, 0, new_tally()?);
    for part in parts {
        outcome.tally.merge(part.tally);
        besides.merge(part.besides);
        outcome.generator_cpu += part.cpu;
        outcome.visitors.extend(part.visitors);
        missed += part.missed;
        late += part.late;
    }
    outcome.warm_up_errors = besides.wrong_total() + besides.failures_total();
    // The threads' time cannot be told apart by phase: the plateau gets its share by requests.
    let all = outcome.tally.requests() + besides.requests();
    let share = outcome.tally.requests() as f64 / all.max(1) as f64;
    outcome.generator_cpu = outcome.generator_cpu.mul_f64(share);
    let requests = outcome.tally.requests();
    let (arrivals, time) = if options.load.stop.is_stopped() {
        // What would have come later was not missed.
        (requests + missed, outcome.elapsed)
    } else {
        (gate.schedule.measured(), options.schedule.plateau())
    };
    // What nobody took up before the end was missed too: all but the sent ones.
    let missed = missed.max(arrivals.saturating_sub(requests));
    let answered = (outcome.tally.right + outcome.tally.wrong_total()).saturating_sub(late);
    let achieved_rate = answered as f64 / time.as_secs_f64().max(f64::MIN_POSITIVE);
    let worst_lag = Duration::from_nanos(gate.lag.load(Ordering::Relaxed));
    Ok(OpenOutcome { outcome, arrivals, missed, achieved_rate, worst_lag })
}
