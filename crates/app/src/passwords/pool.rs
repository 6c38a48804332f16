//! A few threads that serve one bounded queue.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::Busy;
use super::fair_queue::{FairQueue, FairnessKey, Turn};
use symbolon_telemetry::{Exposition, MetricSource, MetricType};

/// The assumed time of one job before any was measured.
const FIRST_GUESS: Duration = Duration::from_millis(50);
/// The highest Retry-After, in seconds.
const MAX_RETRY_AFTER: u64 = 60;

/// A job for a thread of the pool.
pub(super) trait Job: Send {
    /// Whether its caller still waits.
    fn is_wanted(&self) -> bool;
    /// Runs the job.
    fn run(self: Box<Self>);
    /// Tells its caller that it will not be run.
    fn refuse(self: Box<Self>, busy: Busy);
}

/// Threads that run jobs in the order of their turns.
pub(super) struct Pool {
    queue: Mutex<Queue>,
    came: Condvar,
    threads: AtomicUsize,
    figures: Arc<Figures>,
}

struct Queue {
    jobs: FairQueue<Box<dyn Job>>,
    stopped: bool,
}

impl Pool {
    /// Starts the threads; at most `limit` jobs may wait.
    pub(super) fn start(threads: usize, limit: usize) -> Arc<Self> {
        let pool = Arc::new(Self {
            queue: Mutex::new(Queue { jobs: FairQueue::new(limit), stopped: false }),
            came: Condvar::new(),
            threads: AtomicUsize::new(0),
            figures: Arc::new(Figures::default()),
        });
        for number in 0..threads {
            let of_thread = Arc::clone(&pool);
            let started = std::thread::Builder::new()
                .name(format!("password-{number}"))
                .spawn(move || while of_thread.next() {});
            match started {
                Ok(_) => {
                    pool.threads.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => {
                    tracing::error!(target: "symbolon::password", %error, "a thread for passwords did not start");
                }
            }
        }
        pool
    }

    /// Reserves a place for a job. If the queue is full, the place with the latest turn is lost: the new one, or another,
    /// whose job is [refused](Job::refuse).
    ///
    /// # Errors
    /// [`Busy`]: there is no place for this fairness key now.
    pub(super) fn reserve(self: &Arc<Self>, fairness: FairnessKey) -> Result<ReservedPlace, Busy> {
        let mut queue = self.queue.lock();
        self.make_room(&mut queue);
        let ready = self.threads.load(Ordering::Relaxed) > 0 && !queue.stopped;
        let reserved = if ready { queue.jobs.reserve(fairness) } else { None };
        let waiting = queue.jobs.len();
        self.figures.waiting.store(waiting, Ordering::Relaxed);
        drop(queue);
        let Some((turn, displaced)) = reserved else { return Err(self.refused(waiting)) };
        if let Some(displaced) = displaced {
            displaced.refuse(self.refused(waiting));
        }
        Ok(ReservedPlace { pool: Arc::clone(self), turn })
    }

    /// Counts a refusal.
    fn refused(&self, waiting: usize) -> Busy {
        self.figures.add(&self.figures.refused, 1);
        self.figures.busy(waiting, self.threads.load(Ordering::Relaxed))
    }

    /// Drops the jobs whose callers have gone, where the queue is full.
    fn make_room(&self, queue: &mut Queue) {
        if queue.jobs.is_full() {
            let gone = queue.jobs.retain(|job| job.is_wanted());
            self.figures.add(&self.figures.skipped, gone);
        }
    }

    /// The number of waiting jobs.
    pub(super) fn waiting(&self) -> usize {
        self.queue.lock().jobs.len()
    }

    /// Metrics of the pool.
    pub(super) const fn figures(&self) -> &Arc<Figures> {
        &self.figures
    }

    /// Drops the waiting jobs; each thread ends after its present job.
    pub(super) fn stop(&self) {
        let mut queue = self.queue.lock();
        queue.stopped = true;
        queue.jobs.clear();
        drop(queue);
        self.came.notify_all();
    }

    /// Waits for a job and runs it. False once the pool was stopped.
    fn next(&self) -> bool {
        let mut queue = self.queue.lock();
        let (fairness, job) = loop {
            if queue.stopped {
                return false;
            }
            match queue.jobs.pop() {
                Some(next) => break next,
                None => self.came.wait(&mut queue),
            }
        };
        self.figures.waiting.store(queue.jobs.len(), Ordering::Relaxed);
        drop(queue);
        if job.is_wanted() {
            self.figures.timed(|| {
                // The panic hook has reported the panic; the thread goes on with the next job.
                let _ = catch_unwind(AssertUnwindSafe(|| job.run()));
            });
        } else {
            self.figures.add(&self.figures.skipped, 1);
        }
        self.queue.lock().jobs.done(fairness);
        true
    }
}

/// A place in the queue, before its job is known. Dropping it gives the place back.
pub struct ReservedPlace {
    pool: Arc<Pool>,
    turn: Turn,
}

impl ReservedPlace {
    /// Puts the job at this place; it is [refused](Job::refuse) if a job with an earlier turn has taken the place.
    pub(super) fn submit(self, job: Box<dyn Job>) {
        let mut queue = self.pool.queue.lock();
        let refused = queue.jobs.fill(self.turn, job);
        let waiting = queue.jobs.len();
        drop(queue);
        match refused {
            Some(refused) => refused.refuse(self.pool.refused(waiting)),
            None => {
                self.pool.came.notify_one();
            }
        }
    }
}

impl Drop for ReservedPlace {
    fn drop(&mut self) {
        let mut queue = self.pool.queue.lock();
        queue.jobs.release(self.turn);
        self.pool.figures.waiting.store(queue.jobs.len(), Ordering::Relaxed);
    }
}

/// Counters of the jobs.
#[derive(Default)]
pub(super) struct Figures {
    waiting: AtomicUsize,
    done: AtomicU64,
    skipped: AtomicU64,
    refused: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Figures {
    fn add(&self, counter: &AtomicU64, amount: usize) {
        counter.fetch_add(u64::try_from(amount).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    #[allow(
        clippy::disallowed_methods,
        reason = "measures how long hashing takes; decides nothing by the time"
    )]
    fn timed(&self, run: impl FnOnce()) {
        let begun = Instant::now();
        run();
        let took = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(took, Ordering::Relaxed);
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Estimates when the waiting jobs will be done.
    fn busy(&self, waiting: usize, threads: usize) -> Busy {
        let total = Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed));
        let mean = match u32::try_from(self.done.load(Ordering::Relaxed)) {
            Ok(0) => FIRST_GUESS,
            Ok(done) => total / done,
            Err(_) => total / u32::MAX,
        };
        let rounds = u32::try_from(waiting / threads.max(1)).unwrap_or(u32::MAX);
        Busy { retry_after_seconds: (mean.saturating_mul(rounds).as_secs() + 1).min(MAX_RETRY_AFTER) }
    }
}

impl MetricSource for Figures {
    fn expose(&self, page: &mut Exposition) {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let help = "Passwords that wait for a thread, or for their user to be looked up.";
        page.family("symbolon_password_queue_length", MetricType::Gauge, help);
        page.count(&[], u64::try_from(self.waiting.load(Ordering::Relaxed)).unwrap_or(u64::MAX));
        let help = "Passwords hashed or verified, skipped because their request was gone, and refused by a full queue.";
        page.family("symbolon_password_hashing_total", MetricType::Counter, help);
        page.count(&[("result", "done")], value(&self.done));
        page.count(&[("result", "skipped")], value(&self.skipped));
        page.count(&[("result", "refused")], value(&self.refused));
        let help = "Time that threads spent on hashing passwords.";
        page.family("symbolon_password_hashing_seconds_total", MetricType::Counter, help);
        page.seconds(&[], value(&self.nanoseconds));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_follows_what_was_measured() {
        let figures = Figures::default();
        assert_eq!(figures.busy(100, 2).retry_after_seconds, 3);
        figures.done.store(10, Ordering::Relaxed);
        figures.nanoseconds.store(2_000_000_000, Ordering::Relaxed);
        assert_eq!(figures.busy(100, 1).retry_after_seconds, 21);
        assert_eq!(figures.busy(100_000, 1).retry_after_seconds, MAX_RETRY_AFTER);
        assert_eq!(figures.busy(0, 0).retry_after_seconds, 1);
    }
}
