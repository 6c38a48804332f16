//! Letting the others go first.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;

thread_local! {
    /// Whether the request whose future is being polled has let the others go first before its end.
    static TAKEN: Cell<bool> = const { Cell::new(false) };
}

/// Ends when every other task that is ready on this worker has had its turn.
///
/// Not tokio's `yield_now`, which asks the driver for more first: measured, that gains nothing here, and costs a
/// system call where there is nothing to wait for.
pub(crate) async fn turn() {
    let mut over = false;
    poll_fn(|context| {
        if over {
            return Poll::Ready(());
        }
        over = true;
        // A task that wakes itself goes to the end of the queue.
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Says that the request which ends now has let the others go first, once its work was done.
pub(crate) fn taken() {
    TAKEN.set(true);
}

/// [`turn`], between a request's end and its answer, unless it was [`taken`]. To be called when the request ends, in
/// the same poll.
pub(crate) async fn last_turn() {
    if !TAKEN.take() {
        turn().await;
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    #[tokio::test]
    async fn whoever_is_ready_is_handled_before_the_first_goes_on() {
        let steps = Arc::new(Mutex::new(Vec::new()));
        let tasks = ["first", "second", "third"].map(|name| {
            let steps = Arc::clone(&steps);
            tokio::spawn(async move {
                steps.lock().push((name, "handled"));
                last_turn().await;
                steps.lock().push((name, "answered"));
            })
        });
        for task in tasks {
            task.await.unwrap();
        }
        let expected =
            ["handled", "answered"].map(|step| ["first", "second", "third"].map(|name| (name, step)));
        assert_eq!(*steps.lock(), expected.concat());
    }

    #[tokio::test]
    async fn a_turn_that_was_taken_is_not_taken_again() {
        let polls = |taken_before: bool| async move {
            let mut future = Box::pin(async move {
                if taken_before {
                    taken();
                }
                last_turn().await;
            });
            let mut polls = 0;
            poll_fn(|context| {
                polls += 1;
                future.as_mut().poll(context)
            })
            .await;
            polls
        };
        assert_eq!((polls(true).await, polls(false).await), (1, 2));
    }
}
