//! The threads that read, each with a connection of its own: for look-ups, and one for scans.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use super::stats::{Counters, take_counted};

/// A closure, its types forgotten; answers whether SQLite refused.
pub(super) type Query = Box<dyn FnOnce(&Connection) -> bool + Send>;

#[derive(Default)]
struct Waiting {
    queries: std::collections::VecDeque<Query>,
    closed: bool,
}

/// What waits for a reader.
#[derive(Default)]
pub(super) struct Queries {
    waiting: Mutex<Waiting>,
    wake: Condvar,
}

impl Queries {
    /// Hands a query over; after closing it is dropped, which its caller notices.
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

/// Runs queries until the queue is closed and drained, and holds on to what `begin` answers during each.
pub(super) fn run<Held>(
    connection: &Connection,
    queries: &Arc<Queries>,
    counters: &Counters,
    begin: impl Fn() -> Held,
) {
    while let Some(query) = queries.next() {
        let _held = begin();
        take_counted();
        // A panic drops the caller's channel, which says so; the reader lives on.
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
