//! Group commit: requests that arrive while earlier ones are being written are sent to the engine together.

use std::future::Future;
use std::sync::Arc;

use symbolon_store::StoreError;
use tokio::sync::{Semaphore, mpsc, oneshot};

/// Capacity of a queue. A request that finds it full fails at once.
const QUEUE: usize = 16_384;

struct Job<R, T> {
    request: R,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

/// The queue of one kind of request to an engine.
pub(crate) struct Batch<R, T> {
    queue: mpsc::Sender<Job<R, T>>,
    name: &'static str,
}

impl<R: Send + 'static, T: Send + 'static> Batch<R, T> {
    /// Starts a queue that passes its requests to `flush`, at most `most` in a batch. At most `lanes` batches run at a
    /// time; while all of them are busy, requests wait in the queue. `flush` returns one result per request, in the
    /// same order.
    pub(crate) fn start<F>(
        name: &'static str,
        most: usize,
        lanes: usize,
        flush: impl Fn(Vec<R>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Vec<Result<T, StoreError>>, StoreError>> + Send + 'static,
    {
        let (queue, mut jobs) = mpsc::channel::<Job<R, T>>(QUEUE);
        tokio::spawn(async move {
            let lanes = Arc::new(Semaphore::new(lanes));
            while let Ok(lane) = Arc::clone(&lanes).acquire_owned().await {
                let mut batch = Vec::new();
                if jobs.recv_many(&mut batch, most).await == 0 {
                    return;
                }
                let (requests, answers): (Vec<R>, Vec<_>) =
                    batch.into_iter().map(|job| (job.request, job.answer)).unzip();
                let flushed = flush(requests);
                tokio::spawn(async move {
                    answer(flushed.await, answers);
                    drop(lane);
                });
            }
        });
        Self { queue, name }
    }

    /// Queues a request and waits for its result.
    pub(crate) async fn submit(&self, request: R) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let full = |_| StoreError::Unavailable(format!("too many {} wait for the database", self.name));
        self.queue.try_send(Job { request, answer }).map_err(full)?;
        answered.await.map_err(|_| StoreError::Unavailable("the store is closed".into()))?
    }
}

fn answer<T>(
    flushed: Result<Vec<Result<T, StoreError>>, StoreError>,
    answers: Vec<oneshot::Sender<Result<T, StoreError>>>,
) {
    match flushed {
        Ok(results) => {
            for (result, answer) in results.into_iter().zip(answers) {
                // The caller may have given up waiting.
                let _ = answer.send(result);
            }
        }
        Err(error) => {
            for answer in answers {
                let _ = answer.send(Err(error.clone()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn requests_gather_while_a_batch_is_written() {
        let (sizes, mut seen) = mpsc::unbounded_channel();
        let gate = Arc::new(Semaphore::new(0));
        let opened = Arc::clone(&gate);
        let batch = Arc::new(Batch::start("numbers", 100, 1, move |numbers: Vec<u32>| {
            let (sizes, gate) = (sizes.clone(), Arc::clone(&gate));
            async move {
                sizes.send(numbers.len()).unwrap();
                gate.acquire().await.unwrap().forget();
                Ok(numbers.into_iter().map(|number| Ok(number * 2)).collect())
            }
        }));
        let submit = |number| {
            let batch = Arc::clone(&batch);
            tokio::spawn(async move { batch.submit(number).await })
        };
        let first = submit(1);
        assert_eq!(seen.recv().await, Some(1));
        let others: Vec<_> = (2..=50).map(submit).collect();
        while batch.queue.capacity() > QUEUE - 49 {
            tokio::task::yield_now().await;
        }
        opened.add_permits(2);
        assert_eq!(seen.recv().await, Some(49));
        assert_eq!(first.await.unwrap().unwrap(), 2);
        for (number, other) in (2..).zip(others) {
            assert_eq!(other.await.unwrap().unwrap(), number * 2);
        }
    }

    #[tokio::test]
    async fn a_batch_that_fails_fails_for_everyone() {
        let batch = Batch::<(), ()>::start("nothing", 10, 1, |_| async {
            Err(StoreError::Unavailable("away".into()))
        });
        assert!(matches!(batch.submit(()).await, Err(StoreError::Unavailable(_))));
    }
}
