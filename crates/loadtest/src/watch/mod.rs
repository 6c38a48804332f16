//! Watching a load test while it runs: a page with its course, and metrics for whoever collects them.
//!
//! The load test writes down what happens, once a second, and never waits for anybody. Everything else is done on one
//! thread of its own: the page is drawn there at most once a second, and only while somebody looks; metrics leave in
//! batches through short queues, and what nobody takes is lost, counted and told.

mod course;
mod destination;
mod export;
mod metrics;
mod otlp;
mod page;
mod remote_write;
mod server;
mod totals;

use std::net::SocketAddr;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::watch;

use crate::LoadtestError;
use crate::cpu::CpuReading;
use crate::results::{Results, Run, Second};
use crate::run::Rule;
use crate::tally::Lately;
pub(crate) use course::{Course, Current, Ending, Told};
pub use destination::Destination;
use export::Exports;
pub use server::Listen;
pub(crate) use totals::Part;

/// How often metrics leave where nothing else is said.
const EVERY: Duration = Duration::from_secs(5);

/// What is to be shown, and to whom.
#[derive(Default)]
pub struct WatchOptions {
    /// Where the page is served.
    pub live: Option<Listen>,
    /// Where metrics go by OTLP over HTTP.
    pub otlp: Option<Destination>,
    /// Where they go by Prometheus' remote write.
    pub remote_write: Option<Destination>,
    /// How often they go; every 5 s without, and at the end of each run.
    pub every: Option<Duration>,
}

/// Where a load test writes down how it goes. Without [`Watching`] nobody reads it, and it costs nothing.
#[derive(Clone, Default)]
pub struct Watch(Option<Arc<Shared>>);

/// What the load test and the watching thread share.
struct Shared {
    course: Mutex<Course>,
    /// Grows with every change of the course.
    version: watch::Sender<u64>,
    /// Metrics of runs that ended, and what is still to be told of those who take them.
    exports: Exports,
}

impl Shared {
    fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Course)) {
        change(&mut self.course());
        self.version.send_modify(|version| *version += 1);
    }

    /// Tells the page's viewers, and the terminal when the load test looks next.
    fn note(&self, note: String) {
        self.exports.note(note.clone());
        self.change(|course| course.notes.push(note));
    }
}

impl Watch {
    fn change(&self, change: impl FnOnce(&mut Course)) {
        if let Some(shared) = &self.0 {
            shared.change(change);
        }
    }

    /// What will be run, where that is known.
    pub(crate) fn plan(&self, title: &str, runs: impl FnOnce() -> Vec<String>) {
        self.change(|course| (course.title, course.planned) = (title.to_owned(), runs()));
    }

    /// What is done between two runs.
    pub(crate) fn doing(&self, what: &str) {
        self.change(|course| what.clone_into(&mut course.doing));
    }

    /// A run begins. `run` says what is asked.
    pub(crate) fn begin(&self, run: Run, rules: &[Rule], (whole, threads): (Duration, usize)) -> Process {
        self.change(|course| course.current = Some(Current::new(run, rules.to_vec(), (whole, threads))));
        Process(self.0.as_ref().and_then(|_| CpuReading::of(std::process::id()).ok()))
    }

    /// A second of it is over.
    pub(crate) fn second(&self, (now, second): (Duration, Second), lately: &Lately, process: &Process) {
        let Some(shared) = &self.0 else { return };
        let generator_cpu = process.used();
        shared.change(|course| {
            if let Some(current) = &mut course.current {
                current.second(&Told { now, second, lately, generator_cpu });
            }
        });
    }

    /// It has ended; what came of it.
    pub(crate) fn ended(&self, run: &Run) {
        let Some(shared) = &self.0 else { return };
        shared.change(|course| {
            if let Some(current) = course.current.take() {
                shared.exports.ended(&current);
            }
            course.finished.push(run.clone());
        });
    }

    /// What the terminal is to be told.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        self.0.as_ref().map(|shared| shared.exports.take_notes()).unwrap_or_default()
    }
}

/// The CPU time of this process since a run began; none where nobody watches, or it is not the generator.
#[derive(Default)]
pub(crate) struct Process(Option<CpuReading>);

impl Process {
    fn used(&self) -> Option<Duration> {
        Some(CpuReading::of(std::process::id()).ok()?.since(&self.0?))
    }
}

/// Those who watch, on a thread of their own, until [`end`](Self::end).
pub struct Watching {
    shared: Arc<Shared>,
    address: Option<SocketAddr>,
    thread: Option<JoinHandle<()>>,
}

impl Watching {
    /// Begins to serve the page and to send metrics; none where nothing is asked for.
    ///
    /// # Errors
    /// [`LoadtestError::Options`] where the page's address cannot be listened on, or a URL cannot be used. That nobody takes
    /// the metrics is no error.
    pub fn start(options: WatchOptions) -> Result<Option<Self>, LoadtestError> {
        let WatchOptions { live, otlp, remote_write, every } = options;
        let every = every.unwrap_or(EVERY);
        let page = live.as_ref().map(Listen::bind).transpose()?;
        let exporters: Vec<_> = [
            otlp.map(|to| export::Exporter::new(to, export::Form::Otlp)),
            remote_write.map(|to| export::Exporter::new(to, export::Form::RemoteWrite)),
        ]
        .into_iter()
        .flatten()
        .collect::<Result<_, _>>()?;
        if page.is_none() && exporters.is_empty() {
            return Ok(None);
        }
        let address = page.as_ref().map(|page| page.address());
        let shared = Arc::new(Shared {
            course: Mutex::default(),
            version: watch::Sender::new(0),
            exports: Exports::default(),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let watched = Arc::clone(&shared);
        let (started, starting) = mpsc::channel();
        let thread = std::thread::Builder::new().name("watch".into()).spawn(move || {
            runtime.block_on(async {
                let _ = started.send(());
                let served = async {
                    if let Some(page) = page {
                        server::serve(page, &watched).await;
                    }
                };
                tokio::join!(served, export::run(exporters, every, &watched));
            });
            // Nobody waits for a viewer who holds the connection open.
            runtime.shutdown_background();
        })?;
        // A thread that could not begin is told by its end.
        let _ = starting.recv();
        Ok(Some(Self { shared, address, thread: Some(thread) }))
    }

    /// What the load test is to write to: [`RunOptions::watch`](crate::RunOptions::watch).
    pub fn watch(&self) -> Watch {
        Watch(Some(Arc::clone(&self.shared)))
    }

    /// Where the page is.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// The load test is over: the page shows what came out and says where the report is, and what metrics are left leave.
    /// Takes a few seconds at most, whoever still looks. What is left to be told the terminal.
    pub fn end(mut self, results: Option<&Results>, says: &str) -> Vec<String> {
        self.finish(results.cloned(), says);
        self.shared.exports.take_notes()
    }

    fn finish(&mut self, results: Option<Results>, says: &str) {
        let Some(thread) = self.thread.take() else { return };
        self.shared.change(|course| {
            if let Some(current) = course.current.take() {
                self.shared.exports.ended(&current);
            }
            course.end = Some(Ending { results, says: says.to_owned() });
        });
        let _ = thread.join();
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.finish(None, "The load test ended without results.");
    }
}
