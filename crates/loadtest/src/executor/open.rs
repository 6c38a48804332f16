//! The open executor: arrivals are fixed in advance and do not slow down when the server does.
//!
//! A request's latency counts from its intended arrival, so a stall of the server shows in every request that
//! should have been sent meanwhile (no coordinated omission). Connections grow by need up to a bound: an arrival that
//! finds none free waits, and is counted as missed when it waited longer than a request may take.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::arrivals::{Source, Waiting};
use super::counted::{Asked, Counted, Plateau, open_outcome};
use super::crew::{self, Hand, Part, Visitors};
use super::mixture::{JourneyCount, Streams};
use super::pacer::{Paced, Pacer};
use super::queue::Due;
use super::schedule::{Phase, Schedule, patience};
use super::seconds::{OnSecond, Teller, ThreadTallies};
use super::worker::locked;
use super::{Edge, Load, Outcome, deal, new_tally, panicked};
use crate::tally::{GeneratorNow, Tally};
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
    /// Counts and CPU times of the plateau; latencies count from the intended arrival.
    pub outcome: Outcome,
    /// Arrivals that the schedule had in the plateau.
    pub arrivals: u64,
    /// The same per second; where somebody stopped the run, of the time until then.
    pub offered_rate: f64,
    /// Right answers per second of the plateau. Those that came more than half a second after its end, or more than a
    /// twentieth of it, were not given at that rate.
    pub achieved_rate: f64,
    /// How late the generator let arrivals go, at worst: its own share of the latencies.
    pub worst_lag: Duration,
    /// How the connections were used.
    pub connections: Connections,
    /// What was counted before the schedule.
    pub warm_up: Tally,
    /// What was counted beside the plateau.
    pub ramps: Tally,
    /// How long the arrivals of each third of the plateau took.
    pub thirds: Vec<crate::latency::Latencies>,
    /// How the journeys of a mixture went, by their number.
    pub journeys: Vec<JourneyCount>,
}

/// How the connections of a run were used.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Connections {
    /// Requests in flight at most: the bound.
    pub bound: usize,
    /// For how many connections were open in the end.
    pub open: usize,
    /// How many were in flight at once, at most.
    pub most_in_use: usize,
    /// For how long of the plateau all that the bound allows were in use, and arrivals waited.
    pub exhausted: Duration,
    /// Why a further connection could not be opened.
    pub refused: Option<String>,
    /// Whether that was for want of something of the generator's own: files, ports.
    #[serde(default)]
    pub lacking: bool,
    /// Arrivals for which the seed had nothing left to ask.
    pub nothing_to_ask: u64,
}

impl Connections {
    /// Adds those of another generator of the same run. Where arrivals waited at both, it was for the longer time at least.
    pub(super) fn add(&mut self, other: Self) {
        self.bound += other.bound;
        self.open += other.open;
        self.most_in_use += other.most_in_use;
        self.exhausted = self.exhausted.max(other.exhausted);
        self.refused = self.refused.take().or(other.refused);
        self.lacking |= other.lacking;
        self.nothing_to_ask += other.nothing_to_ask;
    }
}

impl OpenOutcome {
    /// The same of a closed run, which has no arrivals to miss and so many connections all the time.
    pub(crate) fn closed(
        mut outcome: Outcome,
        (connections, open): (usize, usize),
    ) -> Result<Self, LoadtestError> {
        let warm_up = std::mem::replace(&mut outcome.warm_up, new_tally()?);
        let arrivals = outcome.tally.requests();
        let achieved_rate = outcome.rate();
        Ok(Self {
            outcome,
            arrivals,
            offered_rate: achieved_rate,
            achieved_rate,
            worst_lag: Duration::ZERO,
            connections: Connections {
                bound: connections,
                open,
                most_in_use: connections,
                ..Connections::default()
            },
            warm_up,
            ramps: new_tally()?,
            thirds: Vec::new(),
            journeys: Vec::new(),
        })
    }
}

/// Runs the schedule to its end; blocks the calling thread. At most one connection per visitor.
///
/// # Errors
/// As [`super::closed`].
pub fn open(
    options: &Open,
    visitors: Visitors,
    on_second: OnSecond<'_>,
) -> Result<OpenOutcome, LoadtestError> {
    let (done, visitors) = drive(&options.load, Driven::schedule(options), visitors, on_second)?;
    let asked = Asked::by(&options.schedule, &options.load);
    done.outcome(asked, &options.load, visitors)
}

/// The same as one of several generators: what it counted is not put together yet.
///
/// # Errors
/// As [`super::closed`].
pub(crate) fn open_part(
    options: &Open,
    visitors: Visitors,
    on_second: OnSecond<'_>,
) -> Result<(Counted, Visitors), LoadtestError> {
    let driven = drive(&options.load, Driven::schedule(options), visitors, on_second)?;
    Ok((driven.0.counted, driven.1))
}

/// What a run lets arrive.
pub(super) struct Driven {
    pub(super) span: Span,
    pub(super) waiting: Waiting,
    /// What brings the arrivals of a mixture.
    pub(super) streams: Option<Streams>,
}

impl Driven {
    fn schedule(options: &Open) -> Self {
        let Open { load, schedule } = options;
        let span = Span { answers_due: schedule.answers_due() };
        Self { span, waiting: Waiting::Schedule(schedule.after(load.warm_up)), streams: None }
    }
}

/// What was done.
pub(super) struct Done {
    counted: Counted,
    paced: Paced,
    /// How the journeys of a mixture went.
    pub(super) journeys: Vec<JourneyCount>,
}

impl Done {
    /// Arrivals that were let go, of those that are measured.
    pub(super) fn measured(&self) -> u64 {
        self.paced.measured
    }

    pub(super) fn outcome(
        self,
        asked: Asked,
        load: &Load,
        visitors: Visitors,
    ) -> Result<OpenOutcome, LoadtestError> {
        let last = self.paced.last.map_or_else(|| Edge::read(load.pid), Ok)?;
        let plateau = Plateau::between(&self.paced.first, &last);
        let outcome = open_outcome(self.counted, asked, &plateau, load, visitors)?;
        Ok(OpenOutcome { journeys: self.journeys, ..outcome })
    }
}

/// Lets arrivals go to their end, and visitors take them up.
pub(super) fn drive(
    load: &Load,
    Driven { span, waiting, streams }: Driven,
    visitors: Visitors,
    on_second: OnSecond<'_>,
) -> Result<(Done, Visitors), LoadtestError> {
    let gate = Arc::new(Gate::new(waiting, visitors.len()));
    let hands = deal(visitors, load.threads);
    let (ready, readies) = mpsc::channel();
    std::thread::scope(|scope| {
        let (mut starts, mut growing, mut threads) = (Vec::new(), Vec::new(), Vec::new());
        let count = hands.len();
        for (number, visitors) in hands.into_iter().enumerate() {
            let (start, starting) = mpsc::channel::<Instant>();
            let (grow, grown) = unbounded_channel();
            let (ready, gate) = (ready.clone(), Arc::clone(&gate));
            starts.push(start);
            growing.push(grow);
            let hand = Hand { thread: number, of: count, visitors };
            threads
                .push(scope.spawn(move || run_thread((load, span), &gate, hand, (ready, starting, grown))));
        }
        drop(ready);
        // A thread that cannot connect drops its sender; the run then ends with its error.
        let all_ready = readies.iter().take(count).count() == count;
        let running = all_ready.then(|| load.begin()).flatten().inspect(|start| {
            for thread in &starts {
                let _ = thread.send(*start);
            }
        });
        drop(starts);
        let paced = running.map(|start| {
            let cpu = clock::thread_cpu();
            let generator = || gate.now();
            let mut teller = Teller::new(&gate.watched, &generator, start).led_by(load.led.leader());
            let source = gate.source(streams);
            let paced = source.and_then(|source| {
                Pacer::new(load, source, &gate, &growing).pace(&mut teller, &mut *on_second)
            });
            // The threads end when nothing can arrive, and nobody can ask for more connections.
            gate.arrivals.close();
            drop(growing);
            let untaken = paced.as_ref().map_or(Ok(Vec::new()), |paced| {
                tell_to_the_end(&threads, (&gate, paced), &mut teller, on_second)
            });
            let paced = paced.and_then(|paced| untaken.map(|untaken| (paced, untaken)));
            paced.map(|(paced, untaken)| (paced, untaken, clock::thread_cpu().saturating_sub(cpu)))
        });
        let mut parts = Vec::new();
        for thread in threads {
            parts.push(thread.join().map_err(|_| panicked())??);
        }
        let (paced, untaken, pacing) = paced.ok_or_else(panicked)??;
        let (counted, visitors) = gather((parts, untaken), &gate, (&paced, pacing))?;
        Ok((Done { counted, paced, journeys: gate.waiting.journeys() }, visitors))
    })
}

/// What the connections know of the times of a run.
#[derive(Clone, Copy)]
pub(super) struct Span {
    /// When answers to what is measured must be there to count for the rate, after the end of the warm-up.
    pub(super) answers_due: Duration,
}

impl Span {
    /// Of a mixture all is measured.
    pub(super) fn whole(measured: Duration) -> Self {
        Self { answers_due: measured + patience(measured) }
    }
}

/// Tells of every second until the last answer is there: a stall at the end of a run is a part of its course. What nobody
/// took up until then, by phase.
fn tell_to_the_end<T>(
    threads: &[ScopedJoinHandle<'_, T>],
    (gate, paced): (&Gate, &Paced),
    teller: &mut Teller<'_>,
    on_second: OnSecond<'_>,
) -> Result<Vec<Tally>, LoadtestError> {
    while threads.iter().any(|thread| !thread.is_finished()) {
        std::thread::sleep(Duration::from_millis(2));
        teller.tell(teller.now(), on_second)?;
    }
    let tallies = gate.tallies()?;
    count_untaken(gate, paced.released, teller.now(), &tallies);
    let untaken = crew::taken(&tallies)?;
    teller.end(on_second)?;
    Ok(untaken)
}

/// Where arrivals wait for a connection.
pub(super) struct Gate {
    /// Those whose time has come.
    pub(super) waiting: Waiting,
    /// One permit per arrival whose time has come; closed after the last one.
    pub(super) arrivals: Semaphore,
    /// The index of the next arrival to be taken up.
    pub(super) next: AtomicU64,
    /// The pacer's worst lateness in ns.
    pub(super) lag: AtomicU64,
    /// Those who take arrivals up, each with a connection.
    pub(super) workers: AtomicUsize,
    /// Connections that are being opened.
    pub(super) opening: AtomicUsize,
    /// Requests in flight, and how many there were at most.
    pub(super) in_use: AtomicUsize,
    pub(super) most_in_use: AtomicUsize,
    /// Workers at most.
    pub(super) bound: usize,
    /// Why a further connection could not be opened.
    pub(super) refused: Mutex<Option<String>>,
    /// Whether the generator lacked something for it.
    pub(super) lacking: AtomicBool,
    /// Arrivals for which a visitor had nothing left to ask.
    pub(super) nothing_to_ask: AtomicU64,
    /// What the threads count in, to be looked at every second.
    pub(super) watched: ThreadTallies,
}

impl Gate {
    fn new(waiting: Waiting, bound: usize) -> Self {
        Self {
            waiting,
            arrivals: Semaphore::new(0),
            next: AtomicU64::new(0),
            lag: AtomicU64::new(0),
            workers: AtomicUsize::new(0),
            opening: AtomicUsize::new(0),
            in_use: AtomicUsize::new(0),
            most_in_use: AtomicUsize::new(0),
            bound,
            refused: Mutex::default(),
            lacking: AtomicBool::new(false),
            nothing_to_ask: AtomicU64::new(0),
            watched: ThreadTallies::default(),
        }
    }

    /// What brings the arrivals that wait here.
    fn source(&self, streams: Option<Streams>) -> Result<Source<'_>, LoadtestError> {
        match (&self.waiting, streams) {
            (Waiting::Schedule(schedule), _) => Ok(Source::Schedule(schedule)),
            (Waiting::Mixture(queue), Some(streams)) => {
                queue.is_paced_here();
                Ok(Source::Mixture { streams, queue })
            }
            (Waiting::Mixture(_), None) => Err(panicked()),
        }
    }

    /// Tallies for one thread to count in, by phase.
    pub(super) fn tallies(&self) -> Result<Vec<Arc<Mutex<Tally>>>, LoadtestError> {
        Phase::ALL.iter().map(|phase| self.watched.tally(phase.index())).collect()
    }

    /// What the generator is doing at the moment.
    fn now(&self) -> GeneratorNow {
        GeneratorNow {
            in_flight: self.in_use.load(Ordering::Relaxed),
            bound: self.bound,
            workers: self.workers.load(Ordering::Relaxed),
            waiting: self.arrivals.available_permits(),
            worst_lag_ns: self.lag.load(Ordering::Relaxed),
            refused: self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            lacking: self.lacking.load(Ordering::Relaxed),
            nothing_to_ask: self.nothing_to_ask.load(Ordering::Relaxed),
        }
    }

    fn connections(&self, open: usize, exhausted: Duration) -> Connections {
        Connections {
            bound: self.bound,
            open,
            most_in_use: self.most_in_use.load(Ordering::Relaxed),
            exhausted,
            refused: self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            lacking: self.lacking.load(Ordering::Relaxed),
            nothing_to_ask: self.nothing_to_ask.load(Ordering::Relaxed),
        }
    }
}

fn run_thread(
    (load, span): (&Load, Span),
    gate: &Arc<Gate>,
    hand: Hand,
    (ready, starting, grown): (mpsc::Sender<()>, mpsc::Receiver<Instant>, UnboundedReceiver<usize>),
) -> Result<Part, LoadtestError> {
    let runtime = super::runtime()?;
    let (workers, spare) = runtime.block_on(hand.connect(load))?;
    gate.workers.fetch_add(workers.len(), Ordering::Relaxed);
    let _ = ready.send(());
    drop(ready);
    let start = starting.recv().map_err(|_| LoadtestError::Interrupted)?;
    runtime.block_on(crew::serve((load, span), gate, (workers, spare, grown), start))
}

/// Senders by which the pacer asks the threads for so many more connections.
pub(super) type Growing = [UnboundedSender<usize>];

fn gather(
    (parts, untaken): (Vec<Part>, Vec<Tally>),
    gate: &Gate,
    (paced, pacing): (&Paced, Duration),
) -> Result<(Counted, Visitors), LoadtestError> {
    let (mut counted, mut visitors, mut open) = (Counted::new()?, Vec::new(), 0);
    counted.cpu = pacing;
    for part in parts {
        counted.add_phases(part.tallies);
        counted.cpu += part.cpu;
        visitors.extend(part.visitors);
        open += part.open;
    }
    counted.add_phases(untaken);
    counted.late = gate.watched.late();
    counted.worst_lag = Duration::from_nanos(gate.lag.load(Ordering::Relaxed));
    counted.connections = gate.connections(open, paced.exhausted);
    Ok((counted, visitors))
}

/// What nobody took up before the end was missed too. `released` arrivals had their time before it.
fn count_untaken(gate: &Gate, released: u64, ended: Duration, phases: &[Arc<Mutex<Tally>>]) {
    while gate.next.load(Ordering::Relaxed) < released {
        let Some(Due { arrival, what }) = gate.waiting.take(&gate.next) else { break };
        if let Some(tally) = phases.get(arrival.phase.index()) {
            let (kind, waited) = (gate.waiting.kind(&what), ended.saturating_sub(arrival.due));
            locked(tally, |tally| tally.missed(kind, waited));
        }
    }
}
