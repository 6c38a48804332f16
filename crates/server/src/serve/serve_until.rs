//! Serving a connection until the server stops or the connection's time is over.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Runs `work` until it is complete or `end` resolves. When `stop` resolves, `tell` informs the work.
///
/// `stop` and `end` are polled only if one of them woke the task, not at every wake-up of the work. So a request need
/// not check the stop signal, nor a timer that fires every few seconds.
pub(super) async fn serve_until<W: Future>(
    work: W,
    stop: impl Future<Output = ()>,
    tell: impl FnOnce(Pin<&mut W>),
    end: impl Future<Output = ()>,
) {
    let (mut work, mut stop, mut end) = (pin!(work), pin!(stop), pin!(end));
    let mut tell = Some(tell);
    let mut reason: Option<(Arc<WakeReason>, Waker)> = None;
    poll_fn(|context| {
        let known = reason.take().filter(|(reason, _)| reason.task.will_wake(context.waker()));
        let (reason, waker) = reason.insert(known.unwrap_or_else(|| WakeReason::of(context.waker())));
        if reason.is_stop_or_end() {
            let mut for_them = Context::from_waker(waker);
            if let Some(tell) = tell.take_if(|_| stop.as_mut().poll(&mut for_them).is_ready()) {
                tell(work.as_mut());
            }
            if end.as_mut().poll(&mut for_them).is_ready() {
                return Poll::Ready(());
            }
        }
        work.as_mut().poll(context).map(drop)
    })
    .await;
}

/// A waker for `stop` and `end` that wakes the connection's task and remembers that they were the reason.
struct WakeReason {
    is_stop_or_end: AtomicBool,
    task: Waker,
}

impl WakeReason {
    /// Starts as woken, so that `stop` and `end` are polled a first time.
    fn of(task: &Waker) -> (Arc<Self>, Waker) {
        let reason = Arc::new(Self { is_stop_or_end: AtomicBool::new(true), task: task.clone() });
        (Arc::clone(&reason), Waker::from(reason))
    }

    /// Whether `stop` or `end` has woken the task since the last call.
    fn is_stop_or_end(&self) -> bool {
        self.is_stop_or_end.load(Ordering::Relaxed) && self.is_stop_or_end.swap(false, Ordering::AcqRel)
    }
}

impl Wake for WakeReason {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_stop_or_end.store(true, Ordering::Release);
        self.task.wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::pending;
    use std::time::Duration;

    use tokio::time::{Instant, sleep};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Counts how often a future is polled.
    async fn counted<F: Future>(polls: &Cell<u32>, future: F) -> F::Output {
        let mut future = pin!(future);
        poll_fn(|context| {
            polls.set(polls.get() + 1);
            future.as_mut().poll(context)
        })
        .await
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_is_asked_when_its_time_has_come_and_not_with_each_piece_of_work() {
        let (began, polls, done) = (Instant::now(), Cell::new(0), Cell::new(0));
        let work = async {
            loop {
                sleep(SECOND / 10).await;
                done.set(done.get() + 1);
            }
        };
        let end = async {
            sleep(SECOND).await;
            sleep(SECOND).await;
        };
        let stops = Cell::new(0);
        serve_until(work, counted(&stops, pending()), |_| {}, counted(&polls, end)).await;
        assert_eq!(began.elapsed(), 2 * SECOND);
        assert_eq!((polls.get(), stops.get()), (3, 3));
        assert!(done.get() >= 18, "{}", done.get());
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_is_done_waits_for_no_end() {
        let began = Instant::now();
        serve_until(sleep(SECOND), pending(), |_| {}, sleep(60 * SECOND)).await;
        assert_eq!(began.elapsed(), SECOND);
        serve_until(async {}, pending(), |_| {}, pending()).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_others_poll_too_is_woken_by_the_end() {
        let began = Instant::now();
        let mut both = pin!(serve_until(pending::<()>(), pending(), |_| {}, sleep(SECOND)));
        // Polled with another waker first.
        let first = both.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(first.is_pending());
        both.await;
        assert_eq!(began.elapsed(), SECOND);
    }

    /// Goes on for a second after it was told to stop.
    #[derive(Default)]
    struct Stoppable {
        last: Option<Pin<Box<tokio::time::Sleep>>>,
    }

    impl Future for Stoppable {
        type Output = ();

        fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
            self.last.as_mut().map_or(Poll::Pending, |last| last.as_mut().poll(context))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn work_is_told_once_to_stop_and_comes_to_its_own_end() {
        let (began, told) = (Instant::now(), Cell::new(0));
        let tell = |mut work: Pin<&mut Stoppable>| {
            told.set(told.get() + 1);
            work.last = Some(Box::pin(sleep(SECOND)));
        };
        serve_until(Stoppable::default(), sleep(SECOND), tell, sleep(60 * SECOND)).await;
        assert_eq!((began.elapsed(), told.get()), (2 * SECOND, 1));
        // Its time is limited all the same.
        serve_until(pending::<()>(), sleep(SECOND), |_| {}, sleep(3 * SECOND)).await;
        assert_eq!(began.elapsed(), 5 * SECOND);
    }
}
