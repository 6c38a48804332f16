//! Records on their way from requests to the writer.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::Queued;
use super::writer::BATCH;

#[derive(Default)]
struct Waiting {
    records: VecDeque<Queued>,
    /// How many were taken and are not settled yet.
    taken: usize,
    /// Whether somebody waits until one of them is written.
    is_awaited: bool,
    closed: bool,
}

/// A bounded queue that wakes its one reader for the first record, for the first that somebody waits for, and for a full
/// batch only: a wake for every record would cost a request more than the record itself.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    ready: Notify,
    capacity: usize,
}

impl Queue {
    pub(super) fn new(capacity: usize) -> Self {
        Self { waiting: Mutex::default(), ready: Notify::new(), capacity }
    }

    /// Adds a record unless the queue is full or closed, and says whether it did.
    pub(super) fn push(&self, record: Queued) -> bool {
        let (length, hurries) = {
            let mut waiting = self.waiting.lock();
            if waiting.closed || waiting.records.len() >= self.capacity {
                return false;
            }
            let hurries = record.written.is_some() && !waiting.is_awaited;
            waiting.is_awaited |= hurries;
            waiting.records.push_back(record);
            (waiting.records.len(), hurries)
        };
        if length == 1 || length == BATCH || hurries {
            self.ready.notify_one();
        }
        true
    }

    /// How many wait to be taken.
    pub(super) fn len(&self) -> usize {
        self.waiting.lock().records.len()
    }

    /// Whether somebody waits until one of those is written.
    pub(super) fn is_awaited(&self) -> bool {
        self.waiting.lock().is_awaited
    }

    /// Whether it takes no more records.
    pub(super) fn is_closed(&self) -> bool {
        self.waiting.lock().closed
    }

    /// How many are not [settled](Self::settle), taken or not.
    pub(super) fn unsettled(&self) -> usize {
        let waiting = self.waiting.lock();
        waiting.records.len() + waiting.taken
    }

    /// Moves the oldest records, a batch at most, to the end of `batch`.
    pub(super) fn take(&self, batch: &mut Vec<Queued>) {
        let mut waiting = self.waiting.lock();
        let count = waiting.records.len().min(BATCH);
        batch.extend(waiting.records.drain(..count));
        waiting.taken += count;
        waiting.is_awaited = waiting.records.iter().any(|record| record.written.is_some());
    }

    /// So many of those that were taken are written, or lost.
    pub(super) fn settle(&self, records: usize) {
        let mut waiting = self.waiting.lock();
        waiting.taken = waiting.taken.saturating_sub(records);
    }

    /// Takes no more records.
    pub(super) fn close(&self) {
        self.waiting.lock().closed = true;
    }

    /// Returns soon after the first record came, or the one that makes a batch full; now and then without either.
    pub(super) async fn changed(&self) {
        self.ready.notified().await;
    }
}
