//! A job: a closure for the writer, and the way its result returns.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::Transaction;
use tokio::sync::oneshot;

use super::error::WriteError;

/// The outcome of the transaction that a job was part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobOutcome {
    /// It is durable.
    Committed,
    /// It was rolled back because the disk is full.
    Full,
    /// It was rolled back, or its outcome is unknown.
    Failed,
}

/// A job that has run, waiting for its transaction.
pub(super) struct Ran {
    /// Whether its changes are to be kept.
    pub(super) keep: bool,
    /// Whether SQLite reported an error; a refusal by the closure does not count.
    pub(super) failed: bool,
    /// Sends the result to the caller.
    pub(super) settle: Box<dyn FnOnce(JobOutcome)>,
}

/// A type-erased closure. Without a transaction, the wrapped write does not run.
pub(super) type Job = Box<dyn FnOnce(Option<&Transaction<'_>>) -> Ran + Send>;

/// Wraps a write into a job. The result is sent when the transaction has ended.
pub(super) fn job<T, E, F>(write: F) -> (Job, oneshot::Receiver<Result<T, WriteError<E>>>)
where
    T: Send + 'static,
    E: Send + 'static,
    F: FnOnce(&Transaction<'_>) -> Result<T, WriteError<E>> + Send + 'static,
{
    let (sender, receiver) = oneshot::channel();
    let job = Box::new(move |transaction: Option<&Transaction<'_>>| {
        let result = match transaction {
            // A panic in one caller's closure must not end the writer, which all others need. The closure's changes are
            // rolled back.
            Some(transaction) => {
                catch_unwind(AssertUnwindSafe(|| write(transaction))).unwrap_or(Err(WriteError::Unavailable))
            }
            None => Err(WriteError::Unavailable),
        };
        let keep = result.is_ok();
        let failed = matches!(result, Err(WriteError::Sqlite(_) | WriteError::Full));
        let settle = Box::new(move |outcome| {
            let answer = match outcome {
                JobOutcome::Committed => result,
                // Applies to refusals too: they may rest on changes of other callers that were rolled back.
                JobOutcome::Full => Err(WriteError::Full),
                JobOutcome::Failed => Err(WriteError::Unavailable),
            };
            // The caller may be gone; the write stands.
            drop(sender.send(answer));
        });
        Ran { keep, failed, settle: settle as Box<dyn FnOnce(JobOutcome)> }
    });
    (job, receiver)
}
