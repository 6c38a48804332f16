//! The workers of one thread of an open run, each with a connection, and those who join them when arrivals wait.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use super::open::{Gate, Span};
use super::queue::{Due, What};
use super::worker::{Turn, Worker, locked};
use super::{Load, panicked};
use crate::client::generator_lacks;
use crate::scenario::Visitor;
use crate::tally::Tally;
use crate::{LoadtestError, clock};

/// Connections that a run begins with, where its bound allows so many.
const AT_FIRST: usize = 64;

pub(super) type Visitors = Vec<Box<dyn Visitor>>;

/// The visitors of one thread of several.
pub(super) struct Hand {
    pub(super) thread: usize,
    pub(super) of: usize,
    pub(super) visitors: Visitors,
}

/// Visitors that have no connection yet.
pub(super) struct Spare {
    thread: usize,
    /// How many the thread has asked a connection for.
    asked: usize,
    visitors: Visitors,
}

impl Hand {
    /// Connects this thread's share of those that a run begins with.
    pub(super) async fn connect(mut self, load: &Load) -> Result<(Vec<Worker>, Spare), LoadtestError> {
        // The first threads have a visitor more than the others.
        let share = AT_FIRST / self.of + usize::from(self.thread < AT_FIRST % self.of);
        let streams = load.peer.protocol().streams();
        let first = share.max(1).next_multiple_of(streams).min(self.visitors.len());
        let spare = self.visitors.split_off(first);
        let workers = Worker::connect(load, self.thread, self.visitors).await;
        let workers = workers.map_err(|(error, _)| LoadtestError::http("load")(error))?;
        Ok((workers, Spare { thread: self.thread, asked: first, visitors: spare }))
    }
}

impl Spare {
    /// Visitors for one connection, and where it stands among the thread's connections.
    fn next(&mut self, streams: usize) -> Option<(usize, Visitors)> {
        let rest = self.visitors.split_off(streams.min(self.visitors.len()));
        let visitors = std::mem::replace(&mut self.visitors, rest);
        let position = self.thread + self.asked / streams;
        self.asked += visitors.len();
        (!visitors.is_empty()).then_some((position, visitors))
    }
}

/// What one thread counted.
pub(super) struct Part {
    /// By phase, as [`Phase::index`] says.
    pub(super) tallies: Vec<Tally>,
    pub(super) cpu: Duration,
    /// Connections that it opened.
    pub(super) open: usize,
    pub(super) visitors: Visitors,
}

/// What the workers of a thread share.
struct Crew {
    load: Load,
    gate: Arc<Gate>,
    start: Instant,
    /// When answers to the plateau's arrivals must be there to count for the rate.
    deadline: Instant,
    tallies: Vec<Arc<Mutex<Tally>>>,
}

/// Takes arrivals up as connections become free, and opens those that are asked for, until the gate is closed and empty.
pub(super) async fn serve(
    (load, span): (&Load, Span),
    gate: &Arc<Gate>,
    (workers, mut spare, mut grown): (Vec<Worker>, Spare, UnboundedReceiver<usize>),
    start: Instant,
) -> Result<Part, LoadtestError> {
    let tallies = gate.tallies()?;
    let crew = Arc::new(Crew {
        load: load.clone(),
        gate: Arc::clone(gate),
        start,
        deadline: start + load.warm_up + span.answers_due,
        tallies,
    });
    let cpu = clock::thread_cpu();
    let streams = load.peer.protocol().streams();
    let mut open = workers.len().div_ceil(streams);
    let mut tasks = JoinSet::new();
    for worker in workers {
        tasks.spawn(Arc::clone(&crew).take_arrivals(worker));
    }
    let mut joining = JoinSet::new();
    while let Some(mut asked) = grown.recv().await {
        while asked > 0 {
            let next = spare.next(streams.min(asked));
            let Some((position, visitors)) = next else { break };
            asked -= visitors.len();
            joining.spawn(Arc::clone(&crew).join(position, visitors));
        }
        crew.gate.opening.fetch_sub(asked, Ordering::Relaxed);
    }
    let mut visitors = spare.visitors;
    while let Some(worker) = tasks.join_next().await {
        visitors.push(worker.map_err(|_| panicked())?.visitor);
    }
    while let Some(joined) = joining.join_next().await {
        let (is_open, back) = joined.map_err(|_| panicked())??;
        open += usize::from(is_open);
        visitors.extend(back);
    }
    let cpu = clock::thread_cpu().saturating_sub(cpu);
    let taken = taken(&crew.tallies)?;
    Ok(Part { tallies: taken, cpu, open, visitors })
}

/// What was counted in these, phase by phase.
pub(super) fn taken(tallies: &[Arc<Mutex<Tally>>]) -> Result<Vec<Tally>, LoadtestError> {
    let take = |tally: &Arc<Mutex<Tally>>| tally.lock().unwrap_or_else(PoisonError::into_inner).take();
    let taken = tallies.iter().map(take).collect::<Result<_, _>>();
    taken.map_err(|error| LoadtestError::Options(error.to_string()))
}

impl Crew {
    /// Opens a connection for these visitors, who then take arrivals up; whether it could be opened, and the visitors at the end.
    /// One that cannot be opened is noted: the run goes on with those that there are.
    async fn join(
        self: Arc<Self>,
        position: usize,
        visitors: Visitors,
    ) -> Result<(bool, Visitors), LoadtestError> {
        let count = visitors.len();
        let workers = Worker::connect(&self.load, position, visitors).await;
        self.gate.opening.fetch_sub(count, Ordering::Relaxed);
        let workers = match workers {
            Ok(workers) => workers,
            Err((error, visitors)) => {
                let own = generator_lacks(error.kind());
                self.gate.lacking.fetch_or(own.is_some(), Ordering::Relaxed);
                let mut refused = self.gate.refused.lock().unwrap_or_else(PoisonError::into_inner);
                refused.get_or_insert_with(|| own.map_or_else(|| error.to_string(), str::to_owned));
                return Ok((false, visitors));
            }
        };
        self.gate.workers.fetch_add(count, Ordering::Relaxed);
        let mut tasks = JoinSet::new();
        for worker in workers {
            tasks.spawn(Arc::clone(&self).take_arrivals(worker));
        }
        let mut back = Vec::new();
        while let Some(worker) = tasks.join_next().await {
            back.push(worker.map_err(|_| panicked())?.visitor);
        }
        Ok((true, back))
    }

    async fn take_arrivals(self: Arc<Self>, mut worker: Worker) -> Worker {
        let gate = &*self.gate;
        let mut last_tally = self.tallies.first();
        while let Ok(permit) = gate.arrivals.acquire().await {
            permit.forget();
            let Some(Due { arrival, what }) = gate.waiting.take(&gate.next) else { break };
            let Some(tally) = self.tallies.get(arrival.phase.index()) else { break };
            last_tally = Some(tally);
            let intended = self.start + arrival.due;
            let waited = clock::now().saturating_duration_since(intended);
            if waited > self.load.timeouts.request {
                self.miss((what, tally), waited);
                continue;
            }
            let in_use = gate.in_use.fetch_add(1, Ordering::Relaxed) + 1;
            if in_use > gate.most_in_use.load(Ordering::Relaxed) {
                gate.most_in_use.fetch_max(in_use, Ordering::Relaxed);
            }
            let kind = gate.waiting.kind(&what);
            let turn = match what {
                What::Next(asks) => {
                    if let Some(asks) = asks {
                        worker.visitor.arrives(asks);
                    }
                    worker.turn(&self.load, Some(intended), tally).await
                }
                // Apart, so that a request of one scenario does not carry the state of a mixture's.
                what => Box::pin(self.turn_of_mixture(&mut worker, what, (intended, tally))).await,
            };
            gate.in_use.fetch_sub(1, Ordering::Relaxed);
            match turn {
                Turn::Answered { right: true }
                    if arrival.phase.is_measured() && worker.used() > self.deadline =>
                {
                    gate.watched.count_late();
                }
                Turn::Answered { .. } | Turn::Failed => {}
                Turn::Exhausted => {
                    gate.nothing_to_ask.fetch_add(1, Ordering::Relaxed);
                    locked(tally, |tally| tally.missed(kind, waited));
                    // In a mixture there may be something else to ask.
                    if gate.waiting.queue().is_none() {
                        break;
                    }
                }
            }
        }
        if let Some(tally) = last_tally {
            // What came after its last answer is counted too.
            worker.is_connected(tally);
        }
        gate.workers.fetch_sub(1, Ordering::Relaxed);
        worker
    }

    /// Sends what is to be sent over the worker's connection: by its own visitor, or by the user of a journey.
    async fn turn_of_mixture(
        &self,
        worker: &mut Worker,
        what: What,
        (intended, tally): (Instant, &Arc<Mutex<Tally>>),
    ) -> Turn {
        let queue = self.gate.waiting.queue();
        let (user, journey) = match what {
            What::Next(_) => return Turn::Exhausted,
            What::Request(which) => {
                worker.visitor.arrives(which);
                return worker.turn(&self.load, Some(intended), tally).await;
            }
            What::Begin(which) => (queue.and_then(|queue| queue.begin(which)), which),
            What::Step(user, journey) => (Some(user), journey),
        };
        let Some(user) = user else { return Turn::Exhausted };
        let own = std::mem::replace(&mut worker.visitor, user);
        let turn = worker.turn(&self.load, Some(intended), tally).await;
        let user = std::mem::replace(&mut worker.visitor, own);
        if let Some(queue) = queue {
            let right = matches!(turn, Turn::Answered { right: true });
            let answered = worker.used().saturating_duration_since(self.start);
            queue.go_on((user, journey), answered, right);
        }
        turn
    }

    /// Counts what is never sent, because it waited too long; a journey ends with it.
    fn miss(&self, (what, tally): (What, &Mutex<Tally>), waited: Duration) {
        let gate = &*self.gate;
        locked(tally, |tally| tally.missed(gate.waiting.kind(&what), waited));
        if let (What::Begin(journey) | What::Step(_, journey), Some(queue)) = (what, gate.waiting.queue()) {
            queue.end(journey, false);
        }
    }
}
