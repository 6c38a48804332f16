//! Sends metrics in batches. A destination that does not take them is told once, and costs the load test nothing.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::destination::{Destination, NotTaken, Sender};
use super::metrics::{self, Metric};
use super::{Current, Shared, otlp, remote_write};
use crate::{LoadtestError, clock};

/// Batches that wait for a destination at most: five minutes of them.
const QUEUE: usize = 64;
/// The first wait before a batch is sent again; each further one is twice as long.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const ATTEMPTS: u32 = 5;
/// How long what is left may take when the load test is over.
const CLOSING: Duration = Duration::from_secs(5);
/// Runs that ended and whose last figures nobody has fetched yet, at most.
const ENDED: usize = 64;

/// How metrics are written.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// OTLP over HTTP, in protobuf.
    Otlp,
    /// Prometheus' remote write, version 1.
    RemoteWrite,
}

/// The metrics of a run at a moment.
pub(super) struct Reading {
    /// When, in ms since 1970.
    pub(super) at: u64,
    /// When the run began.
    pub(super) since: u64,
    /// What they are.
    pub(super) metrics: Vec<Metric>,
}

/// What the load test leaves to be sent, and what is left for it to tell.
#[derive(Default)]
pub(super) struct Exports(Mutex<Pending>);

#[derive(Default)]
struct Pending {
    ended: VecDeque<Reading>,
    notes: Vec<String>,
    /// When the last reading was made: no two have the same time, lest one replace the other.
    last: u64,
}

impl Exports {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the last figures of a run.
    pub(super) fn ended(&self, current: &Current) {
        let reading = self.read(current, false);
        let ended = &mut self.pending().ended;
        if ended.len() < ENDED {
            ended.push_back(reading);
        }
    }

    pub(super) fn note(&self, note: String) {
        self.pending().notes.push(note);
    }

    pub(super) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.pending().notes)
    }

    fn read(&self, current: &Current, running: bool) -> Reading {
        let pending = &mut self.pending();
        let at = clock::unix_millis().max(pending.last + 1);
        pending.last = at;
        let since = at.saturating_sub(u64::try_from(current.now.as_millis()).unwrap_or(at));
        Reading { at, since, metrics: metrics::of(current, running) }
    }
}

/// A destination and its form.
pub(super) struct Exporter {
    sender: Sender,
    form: Form,
}

impl Exporter {
    pub(super) fn new(destination: Destination, form: Form) -> Result<Self, LoadtestError> {
        if destination.url.scheme() == "https" && destination.trust.is_none() {
            let reason = format!("{}: it is https, and nobody is trusted", destination.url);
            return Err(LoadtestError::Options(reason));
        }
        let path = match form {
            Form::Otlp => "/v1/metrics",
            Form::RemoteWrite => "/api/v1/write",
        };
        Ok(Self { sender: Sender::new(destination, path), form })
    }

    fn fields(&self) -> &'static [(&'static str, &'static str)] {
        match self.form {
            Form::Otlp => &[("content-type", "application/x-protobuf"), ("user-agent", "symbolon-loadtest")],
            Form::RemoteWrite => &[
                ("content-type", "application/x-protobuf"),
                ("content-encoding", "snappy"),
                ("x-prometheus-remote-write-version", "0.1.0"),
                ("user-agent", "symbolon-loadtest"),
            ],
        }
    }
}

/// Sends until the load test has ended and everything has left, or the time for that is over.
pub(super) async fn run(exporters: Vec<Exporter>, every: Duration, shared: &Arc<Shared>) {
    if exporters.is_empty() {
        return;
    }
    let (closing, closed) = watch::channel(false);
    let mut tasks = JoinSet::new();
    let mut queues = Vec::new();
    for exporter in exporters {
        let (batches, waiting) = mpsc::channel(QUEUE);
        let overflowed = Arc::new(AtomicU64::new(0));
        queues.push(Queue { form: exporter.form, batches, overflowed: Arc::clone(&overflowed) });
        tasks.spawn(send(exporter, (waiting, overflowed), (Arc::clone(shared), closed.clone())));
    }
    read(&queues, every, shared).await;
    drop(queues);
    closing.send_replace(true);
    let all = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(CLOSING, all).await.is_err() {
        shared.note("metrics: the load test ended before all of them were taken".into());
    }
}

/// Where batches wait for a destination.
struct Queue {
    form: Form,
    batches: mpsc::Sender<Vec<u8>>,
    /// Batches that found it full.
    overflowed: Arc<AtomicU64>,
}

/// Reads the metrics every so often and at the end of each run, until the load test ends.
async fn read(queues: &[Queue], every: Duration, shared: &Shared) {
    let mut versions = shared.version.subscribe();
    let mut next = tokio::time::interval(every);
    next.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let due = tokio::select! {
            _ = next.tick() => true,
            // The sender is in `shared`: this cannot fail.
            _ = versions.changed() => false,
        };
        let ended = std::mem::take(&mut shared.exports.pending().ended);
        let (current, is_over) = {
            let course = shared.course();
            let current = course.current.as_ref().filter(|_| due);
            (current.map(|current| shared.exports.read(current, true)), course.end.is_some())
        };
        for reading in ended.into_iter().chain(current) {
            for queue in queues {
                let batch = match queue.form {
                    Form::Otlp => otlp::encode(&reading),
                    Form::RemoteWrite => remote_write::encode(&reading),
                };
                if queue.batches.try_send(batch).is_err() {
                    queue.overflowed.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        if is_over {
            return;
        }
    }
}

/// Sends batches in their order.
async fn send(
    mut exporter: Exporter,
    (mut batches, overflowed): (mpsc::Receiver<Vec<u8>>, Arc<AtomicU64>),
    (shared, mut closed): (Arc<Shared>, watch::Receiver<bool>),
) {
    let name = exporter.sender.name();
    let (mut sent, mut lost, mut told) = (0_u64, 0_u64, false);
    while let Some(batch) = batches.recv().await {
        match send_one(&mut exporter, &batch, (&shared, &mut told), &mut closed).await {
            Ok(()) => sent += 1,
            Err(_) => lost += 1,
        }
    }
    lost += overflowed.load(Ordering::Relaxed);
    if lost > 0 {
        shared.note(format!("metrics: {name} took {sent} batches, and {lost} were lost"));
    }
}

/// Sends a batch, again where that may help. The first failure of all is told.
async fn send_one(
    exporter: &mut Exporter,
    batch: &[u8],
    (shared, told): (&Shared, &mut bool),
    closed: &mut watch::Receiver<bool>,
) -> Result<(), NotTaken> {
    let mut wait = FIRST_RETRY;
    let mut attempts = 1;
    loop {
        let fields = exporter.fields();
        let answered = exporter.sender.send(fields, batch).await;
        let taken = answered.and_then(|answer| match exporter.form {
            Form::Otlp => otlp::check_answer(&answer),
            Form::RemoteWrite => Ok(()),
        });
        let Err(failed) = taken else { return Ok(()) };
        if !std::mem::replace(told, true) {
            let name = exporter.sender.name();
            shared.note(format!("metrics: {name}: {}; the load goes on without", failed.reason));
        }
        if !failed.later || attempts >= ATTEMPTS {
            return Err(failed);
        }
        tokio::select! {
            // What is left is tried once more at the end.
            _ = closed.wait_for(|closed| *closed) => attempts = ATTEMPTS,
            () = tokio::time::sleep(wait) => attempts += 1,
        }
        wait *= 2;
    }
}
