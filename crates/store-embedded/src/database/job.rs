//! A closure on its way to the writer and its answer on the way back.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::Transaction;
use tokio::sync::oneshot;

use super::error::WriteError;

/// What became of the transaction that a job was part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobOutcome {
    /// It is durable.
    Committed,
    /// It was rolled back for want of room.
    Full,
    /// It was rolled back, or what became of it is unknown.
    Failed,
}

/// A job that has run, waiting for its transaction.
pub(super) struct Ran {
    /// Whether its changes are to be kept.
    pub(super) keep: bool,
    /// Whether SQLite refused, rather than the closure.
    pub(super) failed: bool,
    /// Tells the caller.
    pub(super) settle: Box<dyn FnOnce(JobOutcome)>,
}

/// A closure, its types forgotten. Without a transaction it does not run.
pub(super) type Job = Box<dyn FnOnce(Option<&Transaction<'_>>) -> Ran + Send>;

/// Wraps a write into a job; the answer comes when the transaction has ended.
pub(super) fn job<T, E, F>(write: F) -> (Job, oneshot::Receiver<Result<T, WriteError<E>>>)
where
    T: Send + 'static,
    E: Send + 'static,
    F: FnOnce(&Transaction<'_>) -> Result<T, WriteError<E>> + Send + 'static,
{
    let (sender, receiver) = oneshot::channel();
    let job = Box::new(move |transaction: Option<&Transaction<'_>>| {
        let result = match transaction {
            // A panic of one caller must not take the writer from all others; its changes are rolled back.
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
                // Refusals too: they may rest on changes of other callers that are gone now.
                JobOutcome::Full => Err(WriteError::Full),
                JobOutcome::Failed => Err(WriteError::Unavailable),
            };
            // The caller may have gone away; the write stands.
            drop(sender.send(answer));
        });
        Ran { keep, failed, settle: settle as Box<dyn FnOnce(JobOutcome)> }
    });
    (job, receiver)
}
