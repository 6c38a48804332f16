//! The watermark: which commits are durable, and which tasks wait for later ones.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use tokio::runtime::Handle;

use super::listener::{CommitListener, OfRuntime, reached};

/// The number of a batch. It is given when a change enters memory and counts from 1 in each process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitNumber(pub(super) u64);

impl CommitNumber {
    /// The number of what was on disk when the journal was opened: always durable. Used for a record that was loaded,
    /// not changed.
    pub const LOADED: Self = Self(0);

    /// The number, for logs.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

/// Waiters: the commit that each waits for, and its waker.
pub(super) type Waiters = Vec<(u64, Waker)>;

/// All waiters.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Waiters outside of every runtime: each is woken by itself.
    pub(super) alone: Waiters,
    /// Waiters on a runtime: its listener is woken, and wakes them from inside the runtime.
    pub(super) runtimes: Vec<OfRuntime>,
}

/// The number of the latest durable batch, and the waiters for later ones.
#[derive(Debug, Default)]
pub(super) struct Watermark {
    durable: AtomicU64,
    pub(super) waiting: Mutex<Waiting>,
}

impl Watermark {
    pub(super) fn has_reached(&self, commit: CommitNumber) -> bool {
        commit.0 <= self.durable.load(Ordering::Acquire)
    }

    pub(super) fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    /// Raises the watermark and wakes the tasks that waited for it. `woken` is the writer's scratch space.
    pub(super) fn raise(&self, number: u64, woken: &mut Vec<Waker>) {
        self.durable.store(number, Ordering::Release);
        {
            let Waiting { alone, runtimes } = &mut *self.waiting.lock();
            woken.extend(reached(alone, number));
            woken.extend(runtimes.iter().filter_map(|own| own.listener(number)));
        }
        // Outside the lock: a woken task on another core is polled at once, and would have to wait for the lock.
        for waker in woken.drain(..) {
            waker.wake();
        }
    }

    /// Registers a waker; false if the watermark has reached the commit meanwhile.
    fn register(self: &Arc<Self>, commit: CommitNumber, waker: &Waker) -> bool {
        let runtime = Handle::try_current().ok();
        let mut waiting = self.waiting.lock();
        // Checked under the lock, because the writer raises the watermark before it takes the lock: either this check
        // sees the new watermark, or the writer sees the waker.
        if self.has_reached(commit) {
            return false;
        }
        let waiter = (commit.0, waker.clone());
        let Some(runtime) = runtime else {
            waiting.alone.push(waiter);
            return true;
        };
        if let Some(own) = waiting.runtimes.iter_mut().find(|own| own.is_of(runtime.id())) {
            own.push(waiter);
            return true;
        }
        waiting.runtimes.push(OfRuntime::with(runtime.id(), waiter));
        drop(waiting);
        runtime.spawn(CommitListener::new(Arc::clone(self), runtime.id()));
        true
    }
}

/// Resolves when a commit number is durable. From then on, polling it costs one atomic load.
#[derive(Debug)]
#[must_use = "nothing is acknowledged before it is durable"]
pub struct DurableCommit {
    watermark: Arc<Watermark>,
    commit: CommitNumber,
    registered: Option<Waker>,
}

impl DurableCommit {
    pub(super) fn new(watermark: Arc<Watermark>, commit: CommitNumber) -> Self {
        Self { watermark, commit, registered: None }
    }
}

impl Future for DurableCommit {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.watermark.has_reached(self.commit) {
            return Poll::Ready(());
        }
        // A future that is polled again for another reason must not be registered twice.
        if self.registered.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            return Poll::Pending;
        }
        if !self.watermark.register(self.commit, context.waker()) {
            return Poll::Ready(());
        }
        self.registered = Some(context.waker().clone());
        Poll::Pending
    }
}
