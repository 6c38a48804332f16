//! The closed executor: each connection sends its next request as soon as the last one is answered.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::counted::{Counted, Leader, MEASURED, Plateau, closed_outcome};
use super::crew::Visitors;
use super::open::Connections;
use super::seconds::{OnSecond, Teller, ThreadTallies};
use super::worker::{Turn, Worker};
use super::{Edge, Load, Outcome, deal, new_tally, panicked, runtime};
use crate::tally::{GeneratorNow, Tally};
use crate::{LoadtestError, clock};

/// How often it is looked whether a second is over.
const TELLING: Duration = Duration::from_millis(20);

/// When the measured phase ends. A visitor with nothing left to ask ends its connection earlier.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// After this time; requests in flight are waited for.
    Elapsed(Duration),
    /// After this many requests in all.
    Requests(u64),
}

/// A closed run.
pub struct Closed {
    /// Where to, and how.
    pub load: Load,
    /// For how long.
    pub until: Until,
}

/// Runs until the end; blocks the calling thread. One connection per visitor.
///
/// # Errors
/// When the target cannot be reached at the start, or the CPU time of its process cannot be read. Failures in
/// mid-run are counted instead.
pub fn closed(options: &Closed, visitors: Visitors) -> Result<Outcome, LoadtestError> {
    run(options, visitors, None)
}

/// The same, told second by second.
///
/// # Errors
/// As [`closed`].
pub fn saturate(
    options: &Closed,
    visitors: Visitors,
    on_second: OnSecond<'_>,
) -> Result<Outcome, LoadtestError> {
    run(options, visitors, Some(on_second))
}

/// The same as one of several generators: what it counted is not put together yet.
///
/// # Errors
/// As [`closed`].
pub(crate) fn closed_part(
    options: &Closed,
    visitors: Visitors,
    on_second: OnSecond<'_>,
) -> Result<(Counted, Visitors), LoadtestError> {
    count(options, visitors, Some(on_second)).map(|(counted, visitors, _)| (counted, visitors))
}

fn run(
    options: &Closed,
    visitors: Visitors,
    on_second: Option<OnSecond<'_>>,
) -> Result<Outcome, LoadtestError> {
    let (counted, visitors, plateau) = count(options, visitors, on_second)?;
    closed_outcome(counted, &plateau, visitors)
}

fn count(
    options: &Closed,
    visitors: Visitors,
    on_second: Option<OnSecond<'_>>,
) -> Result<(Counted, Visitors, Plateau), LoadtestError> {
    let bound = visitors.len();
    let hands = deal(visitors, options.load.threads);
    let phases = Phases {
        barrier: Barrier::new(hands.len() + 1),
        threads: u64::try_from(hands.len()).unwrap_or(1),
        budget: AtomicU64::new(match options.until {
            Until::Requests(requests) => requests,
            Until::Elapsed(_) => u64::MAX,
        }),
        visitors: hands.iter().map(Vec::len).sum(),
        watched: on_second.is_some().then(ThreadTallies::default),
        done: AtomicU64::new(0),
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = hands
            .into_iter()
            .enumerate()
            .map(|hand| scope.spawn(|| run_thread(options, &phases, hand)))
            .collect();
        // Every thread meets every barrier, whatever happens to it, so that none waits for ever.
        phases.barrier.wait();
        if options.load.begin().is_none() {
            options.load.stop.stop();
        }
        phases.barrier.wait();
        phases.barrier.wait();
        let start = Edge::read(options.load.pid);
        phases.barrier.wait();
        let leader = options.load.led.leader();
        let told = on_second.map_or(Ok(()), |on_second| phases.tell(leader, on_second));
        phases.barrier.wait();
        let end = Edge::read(options.load.pid);
        let mut parts = Vec::new();
        for thread in threads {
            parts.push(thread.join().map_err(|_| panicked())??);
        }
        told?;
        let (mut counted, visitors) = gather(parts)?;
        counted.connections = Connections {
            bound,
            open: options.load.connections(bound),
            most_in_use: bound,
            ..Connections::default()
        };
        Ok((counted, visitors, Plateau::between(&start?, &end?)))
    })
}

struct Phases {
    barrier: Barrier,
    threads: u64,
    budget: AtomicU64,
    /// How many send, each as soon as it is answered.
    visitors: usize,
    /// What the measured phase is counted in, where somebody watches.
    watched: Option<ThreadTallies>,
    /// Threads that are through with it.
    done: AtomicU64,
}

impl Phases {
    /// Tells until the last thread is through.
    fn tell(&self, leader: Option<&dyn Leader>, on_second: OnSecond<'_>) -> Result<(), LoadtestError> {
        let Some(watched) = &self.watched else { return Ok(()) };
        // All of them are always at it.
        let all = self.visitors;
        let generator =
            || GeneratorNow { in_flight: all, bound: all, workers: all, ..GeneratorNow::default() };
        let mut teller = Teller::new(watched, &generator, clock::now()).led_by(leader);
        while self.done.load(Ordering::Relaxed) < self.threads {
            std::thread::sleep(TELLING);
            teller.tell(teller.now(), on_second)?;
        }
        teller.end(on_second)
    }
}

struct Part {
    tally: Tally,
    warm_up: Tally,
    cpu: Duration,
    visitors: Visitors,
}

fn gather(parts: Vec<Part>) -> Result<(Counted, Visitors), LoadtestError> {
    let (mut counted, mut visitors) = (Counted::new()?, Vec::new());
    for part in parts {
        if let Some(tally) = counted.phases.get_mut(MEASURED) {
            tally.merge(part.tally);
        }
        counted.warm_up.merge(part.warm_up);
        counted.cpu += part.cpu;
        visitors.extend(part.visitors);
    }
    Ok((counted, visitors))
}

/// A thread of this number with its visitors.
fn run_thread(options: &Closed, phases: &Phases, hand: (usize, Visitors)) -> Result<Part, LoadtestError> {
    let connected = connect(&options.load, hand);
    phases.barrier.wait();
    phases.barrier.wait();
    let prepared = connected.and_then(|(runtime, workers)| {
        let (workers, tally) = runtime.block_on(warm_up(options, workers))?;
        Ok((runtime, workers, tally))
    });
    phases.barrier.wait();
    phases.barrier.wait();
    let measured = prepared.and_then(|(runtime, workers, warm_up)| {
        let (began, cpu) = (clock::now(), clock::thread_cpu());
        let end = match options.until {
            Until::Elapsed(elapsed) => Some(began + elapsed),
            Until::Requests(_) => None,
        };
        let (workers, tally) = runtime.block_on(phase(options, workers, end, Some(phases)))?;
        let cpu = clock::thread_cpu().saturating_sub(cpu);
        let visitors = workers.into_iter().map(|worker| worker.visitor).collect();
        Ok(Part { tally, warm_up, cpu, visitors })
    });
    phases.done.fetch_add(1, Ordering::Relaxed);
    phases.barrier.wait();
    measured
}

/// Opens the connections of a thread.
fn connect(
    load: &Load,
    (thread, hand): (usize, Visitors),
) -> Result<(tokio::runtime::Runtime, Vec<Worker>), LoadtestError> {
    let runtime = runtime()?;
    let workers = runtime.block_on(Worker::connect(load, thread, hand));
    let workers = workers.map_err(|(error, _)| LoadtestError::http("load")(error))?;
    Ok((runtime, workers))
}

/// Load before what is measured, and what was counted in it.
async fn warm_up(options: &Closed, workers: Vec<Worker>) -> Result<(Vec<Worker>, Tally), LoadtestError> {
    let warm_up = options.load.warm_up;
    if warm_up.is_zero() {
        return Ok((workers, new_tally()?));
    }
    phase(options, workers, Some(clock::now() + warm_up), None).await
}

/// Lets every worker go until the end, or until the budget is spent, and waits for all of them.
async fn phase(
    options: &Closed,
    workers: Vec<Worker>,
    end: Option<Instant>,
    phases: Option<&Phases>,
) -> Result<(Vec<Worker>, Tally), LoadtestError> {
    let tally = match phases.and_then(|phases| phases.watched.as_ref()) {
        Some(watched) => watched.tally(MEASURED)?,
        None => Arc::new(Mutex::new(new_tally()?)),
    };
    // Tasks want what they share to live on its own; the threads' part of the budget is drawn in advance.
    let budget = Arc::new(AtomicU64::new(share(options, phases)));
    let mut tasks = JoinSet::new();
    for mut worker in workers {
        let (load, tally, budget) = (options.load.clone(), Arc::clone(&tally), Arc::clone(&budget));
        tasks.spawn(async move {
            while !load.stop.is_stopped() && draw(&budget, 1) == 1 {
                if let Turn::Exhausted = worker.turn(&load, None, &tally).await {
                    break;
                }
                if end.is_some_and(|end| clock::now() >= end) {
                    break;
                }
            }
            // What came after its last answer is counted too.
            worker.is_connected(&tally);
            worker
        });
    }
    let mut back = Vec::new();
    while let Some(worker) = tasks.join_next().await {
        back.push(worker.map_err(|_| panicked())?);
    }
    let counts = tally.lock().unwrap_or_else(PoisonError::into_inner).take();
    Ok((back, counts.map_err(|error| LoadtestError::Options(error.to_string()))?))
}

/// This thread's part of the requests: an even share, the last to ask gets the remainder.
fn share(options: &Closed, phases: Option<&Phases>) -> u64 {
    match (options.until, phases) {
        (Until::Requests(requests), Some(phases)) => {
            draw(&phases.budget, requests.div_ceil(phases.threads.max(1)))
        }
        _ => u64::MAX,
    }
}

/// Takes up to `wanted` from the budget and returns how many it got.
fn draw(budget: &AtomicU64, wanted: u64) -> u64 {
    let taken =
        budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(wanted)));
    taken.map_or(0, |before| before.min(wanted))
}
