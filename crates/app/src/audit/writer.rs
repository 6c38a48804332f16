//! The one task that writes audit records to the store.

use std::sync::Arc;
use std::time::Duration;

use symbolon_protocol::event::AuditRecord;
use symbolon_protocol::id::IssuerId;
use symbolon_store::StoreError;
use symbolon_store::port::Audit;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::Queued;
use super::figures::AuditFigures;
use super::queue::Queue;

/// The most records in one batch.
pub(super) const BATCH: usize = 20_000;
/// How long the first record of a batch waits for others.
const GATHER: Duration = Duration::from_millis(250);
/// How long the first record of a batch waits where at least [`MANY`] others came within [`GATHER`]. The pages of the
/// index of users are written once for a batch, and the embedded store has one index row for all records of a user in a
/// batch: larger batches write less.
const GATHER_MANY: Duration = Duration::from_secs(1);
/// Records waiting after [`GATHER`] from which on a batch is gathered for [`GATHER_MANY`].
pub(super) const MANY: usize = 500;
/// The first and the longest wait between attempts while the store is out of reach; each wait is twice the one
/// before.
const FIRST_RETRY: Duration = Duration::from_millis(250);
const LAST_RETRY: Duration = Duration::from_secs(5);
/// Attempts per batch at shutdown: about four seconds.
const LAST_ATTEMPTS: u32 = 5;

pub(super) struct Writer<'a> {
    store: &'a dyn Audit,
    queue: &'a Queue,
    figures: &'a AuditFigures,
}

impl<'a> Writer<'a> {
    pub(super) fn new(store: &'a dyn Audit, queue: &'a Queue, figures: &'a AuditFigures) -> Self {
        Self { store, queue, figures }
    }

    /// Writes until `closing` is true and the queue is empty.
    pub(super) async fn run(self, mut closing: watch::Receiver<bool>) {
        let mut batch = Vec::new();
        loop {
            self.gather(&mut batch, &mut closing).await;
            if batch.is_empty() {
                return;
            }
            let awaited: Vec<_> = batch.iter_mut().filter_map(|queued| queued.written.take()).collect();
            if self.write(batch.drain(..).map(Queued::into_record).collect(), &mut closing).await {
                for written in awaited {
                    // The receiver is gone if the caller gave up waiting: that is no error.
                    let _ = written.send(());
                }
            }
        }
    }

    /// Takes the next batch: when it is full, when a caller waits for one of its records, or when its gathering time
    /// is over. The batch stays empty only if the queue is closed and empty.
    async fn gather(&self, batch: &mut Vec<Queued>, closing: &mut watch::Receiver<bool>) {
        let mut since: Option<Instant> = None;
        let mut time = GATHER;
        loop {
            let ending = *closing.borrow();
            if ending {
                self.queue.close();
            }
            let waiting = self.queue.len();
            if ending || waiting >= BATCH || self.queue.is_awaited() {
                break;
            }
            if waiting > 0 {
                since.get_or_insert_with(Instant::now);
            }
            tokio::select! {
                biased;
                () = closed(closing) => {}
                () = self.queue.changed() => {}
                () = sleep_until(since.unwrap_or_else(Instant::now) + time), if since.is_some() => {
                    if time == GATHER_MANY || self.queue.len() < MANY {
                        break;
                    }
                    time = GATHER_MANY;
                }
            }
        }
        self.queue.take(batch);
    }

    /// Writes a batch, with retries. True if the records are durable.
    async fn write(
        &self,
        batch: Arc<[(IssuerId, AuditRecord)]>,
        closing: &mut watch::Receiver<bool>,
    ) -> bool {
        let mut wait = FIRST_RETRY;
        let mut last_attempts = 0;
        loop {
            let error = match self.store.write_audit(Arc::clone(&batch)).await {
                Ok(()) => {
                    self.figures.wrote(batch.len());
                    return true;
                }
                Err(error) => error,
            };
            last_attempts += u32::from(*closing.borrow());
            let worth_another = matches!(error, StoreError::Unavailable(_) | StoreError::Conflict);
            if !worth_another || last_attempts >= LAST_ATTEMPTS {
                tracing::error!(target: "symbolon::audit", %error, records = batch.len(), "audit records were lost");
                self.figures.lost(batch.len());
                return false;
            }
            tracing::warn!(target: "symbolon::audit", %error, "audit records wait for the store");
            sleep(wait).await;
            wait = (wait * 2).min(LAST_RETRY);
        }
    }
}

/// Returns when the log is being closed, or its sender was dropped.
async fn closed(closing: &mut watch::Receiver<bool>) {
    let _ = closing.wait_for(|closing| *closing).await;
}
