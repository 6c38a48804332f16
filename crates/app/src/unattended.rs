//! Work that goes on without whoever asked for it.
//!
//! A server drops what it does for a request when the connection goes away. A change that has several steps (a user is
//! made inactive, then signed out, then it is put down) would be cut in half by that, so it [is carried
//! on](Unattended::carry): dropped, what is left of it becomes a task of its own, for which the server waits when it
//! stops.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::runtime::Handle;
use tokio::sync::watch;

/// What goes on without its caller.
#[derive(Debug)]
pub struct Unattended(watch::Sender<()>);

impl Unattended {
    /// Nothing yet.
    pub fn new() -> Self {
        Self(watch::Sender::new(()))
    }

    /// `work`, which ends even where whoever waits for it does not. What was never polled has begun nothing and goes.
    pub fn carry<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Carried<T> {
        Carried { work: Some(Box::pin(work)), begun: false, unattended: self.0.clone() }
    }

    /// Returns when nothing is left.
    pub async fn settled(&self) {
        self.0.closed().await;
    }
}

impl Default for Unattended {
    fn default() -> Self {
        Self::new()
    }
}

/// Work that is carried on when it is dropped.
pub struct Carried<T: Send + 'static> {
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    begun: bool,
    unattended: watch::Sender<()>,
}

impl<T: Send + 'static> Future for Carried<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        self.begun = true;
        let Some(work) = &mut self.work else { return Poll::Pending };
        let done = ready!(work.as_mut().poll(context));
        self.work = None;
        Poll::Ready(done)
    }
}

impl<T: Send + 'static> Drop for Carried<T> {
    fn drop(&mut self) {
        // What panicked cannot go on.
        if !self.begun || std::thread::panicking() {
            return;
        }
        let Some(work) = self.work.take() else { return };
        let Ok(runtime) = Handle::try_current() else { return };
        let going_on = self.unattended.subscribe();
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
        let unattended = Unattended::new();
        unattended.settled().await;
        let mut work = unattended.carry(two_steps(&may, &done));
        assert!(is_pending(&mut work));
        drop(work);
        assert!(is_pending(unattended.settled()), "it goes on");
        may.add_permits(1);
        unattended.settled().await;
        assert_eq!(done.available_permits(), 1);
    }

    #[tokio::test]
    async fn what_was_not_begun_goes_and_what_ended_is_over() {
        let (may, done) = (Arc::new(Semaphore::new(2)), Arc::new(Semaphore::new(0)));
        let unattended = Unattended::new();
        drop(unattended.carry(two_steps(&may, &done)));
        unattended.carry(two_steps(&may, &done)).await;
        unattended.settled().await;
        assert_eq!(done.available_permits(), 1);
    }
}
