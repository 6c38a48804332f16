//! The bounded queue between requests and the audit writer.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::Queued;
use super::writer::BATCH;

#[derive(Default)]
struct Waiting {
    records: VecDeque<Queued>,
    /// How many records were ever added.
    pushed: u64,
    /// How many of them, from the first on, are [settled](Queue::settle).
    settled: u64,
    /// Whether a caller waits until one of the queued records is written.
    is_awaited: bool,
    closed: bool,
}

/// A bounded queue with one reader. It wakes the reader only for the first record, for the first record that a caller
/// waits for, and for a full batch: waking on every record would cost a request more than queueing the record.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    ready: Notify,
    capacity: usize,
}

impl Queue {
    pub(super) fn new(capacity: usize) -> Self {
        Self { waiting: Mutex::default(), ready: Notify::new(), capacity }
    }

    /// Adds a record. False if the queue is full or closed: the record is dropped.
    pub(super) fn push(&self, record: Queued) -> bool {
        let (length, hurries) = {
            let mut waiting = self.waiting.lock();
            if waiting.closed || waiting.records.len() >= self.capacity {
                return false;
            }
            let hurries = record.written.is_some() && !waiting.is_awaited;
            waiting.is_awaited |= hurries;
            waiting.records.push_back(record);
            waiting.pushed += 1;
            (waiting.records.len(), hurries)
        };
        if length == 1 || length == BATCH || hurries {
            self.ready.notify_one();
        }
        true
    }

    /// Records that the writer has not taken yet.
    pub(super) fn len(&self) -> usize {
        self.waiting.lock().records.len()
    }

    /// Whether a caller waits until one of the queued records is written.
    pub(super) fn is_awaited(&self) -> bool {
        self.waiting.lock().is_awaited
    }

    /// Whether the queue refuses new records.
    pub(super) fn is_closed(&self) -> bool {
        self.waiting.lock().closed
    }

    /// Records that are not [settled](Self::settle), whether the writer took them or not.
    pub(super) fn unsettled(&self) -> u64 {
        let waiting = self.waiting.lock();
        waiting.pushed - waiting.settled
    }

    /// How many records were ever added.
    pub(super) fn pushed(&self) -> u64 {
        self.waiting.lock().pushed
    }

    /// Whether the first so many records that were ever added are settled.
    pub(super) fn is_settled(&self, first: u64) -> bool {
        self.waiting.lock().settled >= first
    }

    /// Moves the oldest records, at most one batch, to the end of `batch`.
    pub(super) fn take(&self, batch: &mut Vec<Queued>) {
        let mut waiting = self.waiting.lock();
        let count = waiting.records.len().min(BATCH);
        batch.extend(waiting.records.drain(..count));
        waiting.is_awaited = waiting.records.iter().any(|record| record.written.is_some());
    }

    /// Marks so many of the taken records as written or lost.
    pub(super) fn settle(&self, records: usize) {
        let mut waiting = self.waiting.lock();
        waiting.settled += records as u64;
    }

    /// Refuses new records from now on.
    pub(super) fn close(&self) {
        self.waiting.lock().closed = true;
    }

    /// Waits for a wake-up: the first record, one that a caller waits for, or a full batch. May also return without
    /// any of these.
    pub(super) async fn changed(&self) {
        self.ready.notified().await;
    }
}
