//! Work that is completed even if its caller is dropped.
//!
//! A server drops a request's future when the connection closes. A change of several steps (deactivate a user, end
//! their sessions, write the audit record) would then stop half way. [`Detached::finish_even_if_dropped`] prevents
//! this: when such a future is dropped, its remaining steps are spawned as a task, and a stopping server waits for
//! these tasks.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::runtime::Handle;
use tokio::sync::watch;

/// Keeps track of the tasks that outlive their callers.
#[derive(Debug)]
pub struct Detached(watch::Sender<()>);

impl Detached {
    /// With no such tasks yet.
    pub fn new() -> Self {
        Self(watch::Sender::new(()))
    }

    /// Wraps `work`, which is completed even if the returned future is dropped. Exception: if the future is dropped
    /// before it was first polled, `work` has not begun and is not run.
    pub fn finish_even_if_dropped<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> FinishedEvenIfDropped<T> {
        FinishedEvenIfDropped {
            work: Some(Box::pin(work)),
            begun: false,
            must_complete: None,
            detached: self.0.clone(),
        }
    }

    /// Like [`finish_even_if_dropped`](Self::finish_even_if_dropped), where `must_complete` is set when the returned future is
    /// dropped; otherwise the work goes with it.
    pub fn finish_if_it_must<T: Send + 'static>(
        &self,
        must_complete: Arc<AtomicBool>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> FinishedEvenIfDropped<T> {
        let mut work = self.finish_even_if_dropped(work);
        work.must_complete = Some(must_complete);
        work
    }

    /// Returns when all such tasks have ended.
    pub async fn settled(&self) {
        self.0.closed().await;
    }
}

impl Default for Detached {
    fn default() -> Self {
        Self::new()
    }
}

/// A future that continues in a task of its own when it is dropped.
pub struct FinishedEvenIfDropped<T: Send + 'static> {
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    begun: bool,
    /// Whether it must be completed; `None`: always.
    must_complete: Option<Arc<AtomicBool>>,
    detached: watch::Sender<()>,
}

impl<T: Send + 'static> Future for FinishedEvenIfDropped<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        self.begun = true;
        let Some(work) = &mut self.work else { return Poll::Pending };
        let done = ready!(work.as_mut().poll(context));
        self.work = None;
        Poll::Ready(done)
    }
}

impl<T: Send + 'static> Drop for FinishedEvenIfDropped<T> {
    fn drop(&mut self) {
        // A future that panicked must not be polled again.
        let must_complete = self.must_complete.as_ref().is_none_or(|must| must.load(Ordering::Relaxed));
        if !self.begun || !must_complete || std::thread::panicking() {
            return;
        }
        let Some(work) = self.work.take() else { return };
        let Ok(runtime) = Handle::try_current() else { return };
        let going_on = self.detached.subscribe();
        runtime.spawn(async move {
            drop(work.await);
            drop(going_on);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Waker;

    use tokio::sync::Semaphore;

    use super::*;

    fn is_pending(work: impl Future) -> bool {
        pin!(work).poll(&mut Context::from_waker(Waker::noop())).is_pending()
    }

    /// Takes a permit, then makes one of `done`'s.
    fn two_steps(may: &Arc<Semaphore>, done: &Arc<Semaphore>) -> impl Future<Output = ()> + Send + use<> {
        let (may, done) = (Arc::clone(may), Arc::clone(done));
        async move {
            may.acquire().await.unwrap().forget();
            done.add_permits(1);
        }
    }

    #[tokio::test]
    async fn what_was_begun_ends_and_is_waited_for() {
        let (may, done) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let detached = Detached::new();
        detached.settled().await;
        let mut work = detached.finish_even_if_dropped(two_steps(&may, &done));
        assert!(is_pending(&mut work));
        drop(work);
        assert!(is_pending(detached.settled()), "it goes on");
        may.add_permits(1);
        detached.settled().await;
        assert_eq!(done.available_permits(), 1);
    }

    #[tokio::test]
    async fn what_must_complete_ends_and_the_rest_goes() {
        let (may, done) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (detached, flag) = (Detached::new(), Arc::new(AtomicBool::new(false)));
        for must in [false, true] {
            let mut work = detached.finish_if_it_must(Arc::clone(&flag), two_steps(&may, &done));
            assert!(is_pending(&mut work));
            flag.store(must, Ordering::Relaxed);
            drop(work);
        }
        may.add_permits(2);
        detached.settled().await;
        assert_eq!(done.available_permits(), 1);
    }

    #[tokio::test]
    async fn what_was_not_begun_goes_and_what_ended_is_over() {
        let (may, done) = (Arc::new(Semaphore::new(2)), Arc::new(Semaphore::new(0)));
        let detached = Detached::new();
        drop(detached.finish_even_if_dropped(two_steps(&may, &done)));
        detached.finish_even_if_dropped(two_steps(&may, &done)).await;
        detached.settled().await;
        assert_eq!(done.available_permits(), 1);
    }
}
