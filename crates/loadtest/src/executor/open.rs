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

use super::worker::{Turn, Worker};
use super::{Edge, Load, Outcome, deal, new_tally, panicked, runtime};
use crate::scenario::Visitor;
use crate::tally::Tally;
use crate::{LoadtestError, clock};

/// When each request should be sent.
#[derive(Clone, Copy, Debug)]
pub enum Schedule {
    /// The same number every second.
    ConstantRate {
        /// Requests per second.
        rate: f64,
        /// For how long, after the warm-up, which has the same rate.
        duration: Duration,
    },
}

impl Schedule {
    /// The time of arrival `index` after the start, or none when the schedule has ended.
    fn arrival(&self, index: u64, warm_up: Duration) -> Option<Duration> {
        match *self {
            Self::ConstantRate { rate, duration } => {
                let at = Duration::from_secs_f64(index as f64 / rate);
                (at < warm_up + duration).then_some(at)
            }
        }
    }

    /// The number of arrivals within the measured phase.
    fn measured(&self, warm_up: Duration) -> u64 {
        match *self {
            Self::ConstantRate { rate, duration } => {
                let count = |until: Duration| (until.as_secs_f64() * rate).ceil() as u64;
                count(warm_up + duration) - count(warm_up)
            }
        }
    }

    fn duration(&self) -> Duration {
        match *self {
            Self::ConstantRate { duration, .. } => duration,
        }
    }
}

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
    /// Answers per second of the schedule's duration.
    pub achieved_rate: f64,
    /// How late the generator let arrivals go, at worst: its own share of the latencies.
    pub worst_lag: Duration,
}

/// Runs the schedule to its end; blocks the calling thread. One connection per visitor.
///
/// # Errors
/// As [`super::closed`]; also a rate that is no positive number.
pub fn open(options: &Open, visitors: Vec<Box<dyn Visitor>>) -> Result<OpenOutcome, LoadtestError> {
    let Schedule::ConstantRate { rate, .. } = options.schedule;
    if !(rate.is_finite() && rate > 0.0) {
        return Err(LoadtestError::Options("the rate must be a positive number".into()));
    }
    let hands = deal(visitors, options.load.threads);
    let (ready, readies) = std::sync::mpsc::channel();
    let gate = Arc::new(Gate {
        arrivals: Semaphore::new(0),
        next: AtomicU64::new(0),
        lag: AtomicU64::new(0),
        busy: AtomicU64::new(0),
    });
    std::thread::scope(|scope| {
        let mut starts = Vec::new();
        let mut threads = Vec::new();
        for hand in hands {
            let (start, starting) = std::sync::mpsc::channel::<Instant>();
            let (ready, gate) = (ready.clone(), Arc::clone(&gate));
            starts.push(start);
            threads.push(scope.spawn(move || run_thread(options, &gate, hand, (ready, starting))));
        }
        drop(ready);
        // A thread that cannot connect drops its sender; the run then ends with its error.
        let all_ready = readies.iter().take(threads.len()).count() == threads.len();
        let first = all_ready.then(|| {
            let start = clock::now();
            for thread in &starts {
                let _ = thread.send(start);
            }
            pace(options, &gate, start)
        });
        drop(starts);
        gate.arrivals.close();
        let mut parts = Vec::new();
        for thread in threads {
            parts.push(thread.join().map_err(|_| panicked())??);
        }
        let first = first.ok_or_else(panicked)??;
        merge(options, parts, &gate, (&first, &Edge::read(options.load.pid)?))
    })
}

/// Where arrivals wait for a connection.
struct Gate {
    /// One permit per arrival whose time has come; closed after the last one.
    arrivals: Semaphore,
    /// The index of the next arrival to be taken up.
    next: AtomicU64,
    /// The pacer's worst lateness in ns.
    lag: AtomicU64,
    /// Connections that still take arrivals up.
    busy: AtomicU64,
}

struct Part {
    tally: Tally,
    warm_up_errors: u64,
    missed: u64,
    cpu: Duration,
    visitors: Vec<Box<dyn Visitor>>,
}

/// Lets arrivals go when their time has come, by the operating system's timer: the runtime's has 1 ms steps.
fn pace(options: &Open, gate: &Gate, start: Instant) -> Result<Edge, LoadtestError> {
    let warm_up = options.load.warm_up;
    let mut first = None;
    let mut index = 0;
    while let Some(due) = options.schedule.arrival(index, warm_up) {
        if options.load.stop.is_stopped() {
            break;
        }
        let now = clock::now().saturating_duration_since(start);
        if due > now {
            std::thread::sleep((due - now).min(Duration::from_millis(100)));
            continue;
        }
        if first.is_none() && due >= warm_up {
            first = Some(Edge::read(options.load.pid)?);
        }
        if due >= warm_up {
            let lag = u64::try_from((now - due).as_nanos()).unwrap_or(u64::MAX);
            gate.lag.fetch_max(lag, Ordering::Relaxed);
        }
        let mut released = 0;
        while options.schedule.arrival(index, warm_up).is_some_and(|due| due <= now) && released < 10_000 {
            index += 1;
            released += 1;
        }
        gate.arrivals.add_permits(released);
    }
    // Arrivals that still wait are given the time that a request may take. The gate must not close before the
    // last one is taken up, or a permit that is on its way to a connection would be lost.
    let patience = clock::now() + options.load.timeouts.request;
    while gate.next.load(Ordering::Relaxed) < index
        && gate.busy.load(Ordering::Relaxed) > 0
        && clock::now() < patience
        && !options.load.stop.is_stopped()
    {
        std::thread::sleep(Duration::from_millis(1));
    }
    first.map_or_else(|| Edge::read(options.load.pid), Ok)
}

fn run_thread(
    options: &Open,
    gate: &Arc<Gate>,
    hand: Vec<Box<dyn Visitor>>,
    (ready, starting): (std::sync::mpsc::Sender<()>, std::sync::mpsc::Receiver<Instant>),
) -> Result<Part, LoadtestError> {
    let runtime = runtime()?;
    let load = &options.load;
    let workers = runtime.block_on(async {
        let mut workers = Vec::new();
        for visitor in hand {
            workers.push(Worker::connect(load, visitor).await.map_err(LoadtestError::http("load"))?);
        }
        Ok::<_, LoadtestError>(workers)
    })?;
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
    let tally = Arc::new(Mutex::new(new_tally()?));
    let warming = Arc::new(Mutex::new(new_tally()?));
    let missed = Arc::new(AtomicU64::new(0));
    let cpu = clock::thread_cpu();
    let mut tasks = JoinSet::new();
    for mut worker in workers {
        let (load, schedule, gate) = (options.load.clone(), options.schedule, Arc::clone(gate));
        let (tally, warming, missed) = (Arc::clone(&tally), Arc::clone(&warming), Arc::clone(&missed));
        tasks.spawn(async move {
            while let Ok(permit) = gate.arrivals.acquire().await {
                permit.forget();
                let index = gate.next.fetch_add(1, Ordering::Relaxed);
                let Some(due) = schedule.arrival(index, load.warm_up) else { break };
                let measured = due >= load.warm_up;
                let intended = start + due;
                if clock::now().saturating_duration_since(intended) > load.timeouts.request {
                    missed.fetch_add(u64::from(measured), Ordering::Relaxed);
                    continue;
                }
                let tally = if measured { &tally } else { &warming };
                if let Turn::Exhausted = worker.turn(&load, Some(intended), tally).await {
                    missed.fetch_add(u64::from(measured), Ordering::Relaxed);
                    break;
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
    let warming = warming.lock().map_or(0, |tally| tally.wrong_total() + tally.failures_total());
    let tally = Arc::into_inner(tally).ok_or_else(panicked)?;
    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Part { tally, warm_up_errors: warming, missed: missed.load(Ordering::Relaxed), cpu, visitors })
}

fn merge(
    options: &Open,
    parts: Vec<Part>,
    gate: &Gate,
    (start, end): (&Edge, &Edge),
) -> Result<OpenOutcome, LoadtestError> {
    let mut outcome = Outcome::between(start, end)?;
    let mut missed = 0;
    for part in parts {
        outcome.tally.merge(part.tally);
        outcome.warm_up_errors += part.warm_up_errors;
        outcome.generator_cpu += part.cpu;
        outcome.visitors.extend(part.visitors);
        missed += part.missed;
    }
    let arrivals = options.schedule.measured(options.load.warm_up);
    // What nobody took up before the end was missed too: all but the sent ones.
    let missed = missed.max(arrivals.saturating_sub(outcome.tally.requests()));
    let answered = outcome.tally.right + outcome.tally.wrong_total();
    let achieved_rate = answered as f64 / options.schedule.duration().as_secs_f64();
    let worst_lag = Duration::from_nanos(gate.lag.load(Ordering::Relaxed));
    Ok(OpenOutcome { outcome, arrivals, missed, achieved_rate, worst_lag })
}
