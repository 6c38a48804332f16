//! The threads that read, each with its own connection: some for look-ups, one for scans.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use super::stats::{Counters, take_counted};

/// A type-erased closure; returns whether SQLite reported an error.
pub(super) type Query = Box<dyn FnOnce(&Connection) -> bool + Send>;

#[derive(Default)]
struct Waiting {
    queries: std::collections::VecDeque<Query>,
    closed: bool,
}

/// The queries that wait for a reader.
#[derive(Default)]
pub(super) struct Queries {
    waiting: Mutex<Waiting>,
    wake: Condvar,
}

impl Queries {
    /// Queues a query. After closing it is dropped, and its caller gets an error.
    pub(super) fn push(&self, query: Query) {
        {
            let mut waiting = self.waiting.lock();
            if waiting.closed {
                return;
            }
            waiting.queries.push_back(query);
        }
        self.wake.notify_one();
    }

    pub(super) fn close(&self) {
        self.waiting.lock().closed = true;
        self.wake.notify_all();
    }

    fn next(&self) -> Option<Query> {
        let mut waiting = self.waiting.lock();
        loop {
            if let Some(query) = waiting.queries.pop_front() {
                return Some(query);
            }
            if waiting.closed {
                return None;
            }
            self.wake.wait(&mut waiting);
        }
    }
}

/// Runs queries until the queue is closed and drained. Holds the value that `begin` returns while a query runs.
pub(super) fn run<Held>(
    connection: &Connection,
    queries: &Arc<Queries>,
    counters: &Counters,
    begin: impl Fn() -> Held,
) {
    while let Some(query) = queries.next() {
        let _held = begin();
        take_counted();
        // A panic drops the caller's channel, so the caller gets an error; the reader continues.
        let refused = catch_unwind(AssertUnwindSafe(|| query(connection))).unwrap_or(true);
        let (started, rows) = take_counted();
        Counters::add(&counters.reads, 1);
        Counters::add(&counters.read_queries, started);
        Counters::add(&counters.rows_read, rows);
        if refused {
            Counters::add(&counters.errors, 1);
        }
    }
}
