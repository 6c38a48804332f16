//! Wakes the tasks that wait for commits, with one wake per runtime and commit.
//!
//! Waking a task from another thread costs a system call, and an interrupt if its core sleeps. Dozens of requests wait
//! for the same commit. So the writer wakes one task of each runtime, the listener. The listener wakes the others from
//! inside the runtime, which costs next to nothing, and all of them are polled in one turn.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tokio::runtime::Id;

use super::watermark::{Waiters, Watermark};

/// Takes out the waiters whose commit is durable.
pub(super) fn reached(waiters: &mut Waiters, durable: u64) -> impl Iterator<Item = Waker> {
    waiters.extract_if(.., move |(commit, _)| *commit <= durable).map(|(_, waker)| waker)
}

/// The waiters of one runtime.
#[derive(Debug)]
pub(super) struct OfRuntime {
    runtime: Id,
    waiters: Waiters,
    /// The earliest commit that is waited for; the largest number if there is no waiter.
    earliest: u64,
    /// `None` until the listener is polled for the first time. That poll checks the watermark, so it needs no wake.
    listener: Option<Waker>,
}

impl OfRuntime {
    /// With the first waiter of a runtime; the caller has to spawn the listener.
    pub(super) fn with(runtime: Id, waiter: (u64, Waker)) -> Self {
        Self { runtime, earliest: waiter.0, waiters: vec![waiter], listener: None }
    }

    pub(super) fn is_of(&self, runtime: Id) -> bool {
        self.runtime == runtime
    }

    pub(super) fn push(&mut self, waiter: (u64, Waker)) {
        self.earliest = self.earliest.min(waiter.0);
        self.waiters.push(waiter);
    }

    /// The listener, if a waiter waits for no more than `durable`.
    pub(super) fn listener(&self, durable: u64) -> Option<Waker> {
        if self.earliest <= durable { self.listener.clone() } else { None }
    }

    fn listen(&mut self, durable: u64, listener: &Waker, woken: &mut Vec<Waker>) {
        woken.extend(reached(&mut self.waiters, durable));
        self.earliest = self.waiters.iter().map(|(commit, _)| *commit).min().unwrap_or(u64::MAX);
        if !self.listener.as_ref().is_some_and(|known| known.will_wake(listener)) {
            self.listener = Some(listener.clone());
        }
    }
}

/// The task of a runtime that wakes its waiters. It lives as long as the runtime.
#[derive(Debug)]
pub(super) struct CommitListener {
    watermark: Arc<Watermark>,
    runtime: Id,
    woken: Vec<Waker>,
}

impl CommitListener {
    pub(super) fn new(watermark: Arc<Watermark>, runtime: Id) -> Self {
        Self { watermark, runtime, woken: Vec::new() }
    }
}

impl Future for CommitListener {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { watermark, runtime, woken } = &mut *self;
        if let Some(own) = watermark.waiting.lock().runtimes.iter_mut().find(|own| own.is_of(*runtime)) {
            // Read under the lock, under which the writer reads the wakers too: if the watermark is raised later, the
            // writer finds this waker.
            own.listen(watermark.durable(), context.waker(), woken);
        }
        for waker in woken.drain(..) {
            waker.wake();
        }
        Poll::Pending
    }
}

impl Drop for CommitListener {
    /// The runtime ends, but its waiters may be polled elsewhere: from now on each of them is woken by itself.
    fn drop(&mut self) {
        {
            let mut waiting = self.watermark.waiting.lock();
            if let Some(at) = waiting.runtimes.iter().position(|own| own.is_of(self.runtime)) {
                let own = waiting.runtimes.swap_remove(at);
                waiting.alone.extend(own.waiters);
            }
            self.woken.extend(reached(&mut waiting.alone, self.watermark.durable()));
        }
        for waker in self.woken.drain(..) {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::watermark::{CommitNumber, DurableCommit};
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().build().unwrap()
    }

    fn raise(watermark: &Watermark, number: u64) {
        watermark.raise(number, &mut Vec::new());
    }

    fn wait(watermark: &Arc<Watermark>, commit: u64) -> DurableCommit {
        DurableCommit::new(Arc::clone(watermark), CommitNumber(commit))
    }

    /// Waits for each commit in a task, and counts the tasks that are done.
    fn spawn(watermark: &Arc<Watermark>, commits: std::ops::Range<u64>) -> Arc<AtomicUsize> {
        let done = Arc::new(AtomicUsize::new(0));
        for commit in commits {
            let (wait, done) = (wait(watermark, commit), Arc::clone(&done));
            tokio::spawn(async move {
                wait.await;
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        done
    }

    async fn settle() {
        for _ in 0..4 {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn the_writer_wakes_each_runtime_once_and_everybody_is_told() {
        let watermark = Arc::new(Watermark::default());
        runtime().block_on(async {
            let done = spawn(&watermark, 1..11);
            settle().await;
            assert_eq!(watermark.waiting.lock().runtimes.iter().filter_map(|own| own.listener(5)).count(), 1);
            raise(&watermark, 5);
            settle().await;
            assert_eq!(done.load(Ordering::Relaxed), 5);
            assert!(watermark.waiting.lock().alone.is_empty());
            raise(&watermark, 10);
            settle().await;
            assert_eq!(done.load(Ordering::Relaxed), 10);
        });
    }

    #[test]
    fn a_mark_raised_before_the_listener_ran_is_not_missed() {
        let watermark = Arc::new(Watermark::default());
        runtime().block_on(async {
            let (first, mark) = (wait(&watermark, 1), Arc::clone(&watermark));
            // The waiter registers and spawns the listener; the watermark is raised before the listener is polled.
            let raised = std::future::poll_fn(move |_| {
                raise(&mark, 1);
                Poll::Ready(())
            });
            tokio::join!(biased; first, raised);
        });
    }

    #[test]
    fn a_waiter_that_outlives_its_runtime_is_woken_all_the_same() {
        let watermark = Arc::new(Watermark::default());
        let mut wait = Box::pin(wait(&watermark, 1));
        let ended = runtime();
        ended.block_on(async {
            let first = std::future::poll_fn(|context| Poll::Ready(wait.as_mut().poll(context).is_ready()));
            assert!(!first.await);
        });
        drop(ended);
        assert_eq!(watermark.waiting.lock().alone.len(), 1);
        let mark = Arc::clone(&watermark);
        let raising = std::thread::spawn(move || raise(&mark, 1));
        runtime().block_on(wait);
        raising.join().unwrap();
    }
}
