//! Work that is finished even if whoever asked for it goes away.
//!
//! A server drops the future of a request when its connection is closed. A change of several steps (a user is made inactive,
//! then signed out, then the event is audited) would stop half way. So its future is [finished even if it is
//! dropped](Detached::finish_even_if_dropped): what is left of it becomes a task of its own, and the server waits for such
//! tasks when it stops.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::runtime::Handle;
use tokio::sync::watch;

/// The work that goes on without its caller.
#[derive(Debug)]
pub struct Detached(watch::Sender<()>);

impl Detached {
    /// Nothing yet.
    pub fn new() -> Self {
        Self(watch::Sender::new(()))
    }

    /// `work`, which is finished even if the answer is dropped. Dropped before it was polled once, it has begun nothing and is
    /// not run.
    pub fn finish_even_if_dropped<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> FinishedEvenIfDropped<T> {
        FinishedEvenIfDropped { work: Some(Box::pin(work)), begun: false, detached: self.0.clone() }
    }

    /// Returns when nothing is left.
    pub async fn settled(&self) {
        self.0.closed().await;
    }
}

impl Default for Detached {
    fn default() -> Self {
        Self::new()
    }
}

/// Work that goes on in a task of its own when it is dropped.
pub struct FinishedEvenIfDropped<T: Send + 'static> {
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    begun: bool,
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
        // What panicked cannot go on.
        if !self.begun || std::thread::panicking() {
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
    use std::sync::Arc;
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
    async fn what_was_not_begun_goes_and_what_ended_is_over() {
        let (may, done) = (Arc::new(Semaphore::new(2)), Arc::new(Semaphore::new(0)));
        let detached = Detached::new();
        drop(detached.finish_even_if_dropped(two_steps(&may, &done)));
        detached.finish_even_if_dropped(two_steps(&may, &done)).await;
        detached.settled().await;
        assert_eq!(done.available_permits(), 1);
    }
}
