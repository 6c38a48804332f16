//! The database's counters: queries and rows, per kind of connection.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::trace::{TraceEvent, TraceEventCodes};

thread_local! {
    /// Counted per thread: every connection is used by one thread only, and SQLite's trace calls a plain function
    /// without state.
    static QUERIES: Cell<u64> = const { Cell::new(0) };
    static ROWS: Cell<u64> = const { Cell::new(0) };
}

/// Counts statements and result rows of `connection` in the thread that uses it.
pub(super) fn count_on(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT | TraceEventCodes::SQLITE_TRACE_ROW, Some(count))
}

#[allow(clippy::needless_pass_by_value, reason = "the signature that SQLite's trace takes")]
fn count(event: TraceEvent<'_>) {
    match event {
        TraceEvent::Stmt(..) => QUERIES.set(QUERIES.get() + 1),
        TraceEvent::Row(_) => ROWS.set(ROWS.get() + 1),
        _ => {}
    }
}

/// Statements started and rows returned in this thread since the last call.
pub(super) fn take_counted() -> (u64, u64) {
    (QUERIES.take(), ROWS.take())
}

/// Counters of all threads.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) reads: AtomicU64,
    pub(super) read_queries: AtomicU64,
    pub(super) writes: AtomicU64,
    pub(super) write_queries: AtomicU64,
    pub(super) rows_read: AtomicU64,
    pub(super) rows_written: AtomicU64,
    pub(super) errors: AtomicU64,
    pub(super) commits: AtomicU64,
    pub(super) commit_nanos: AtomicU64,
    pub(super) commit_nanos_max: AtomicU64,
    pub(super) queue_nanos: AtomicU64,
    pub(super) log_bytes: AtomicU64,
}

/// Sums since the database was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseStats {
    /// Calls of `read` and `scan`.
    pub reads: u64,
    /// Statements run on the readers' connections.
    pub read_queries: u64,
    /// Calls of `write`.
    pub writes: u64,
    /// Statements run on the writer's connection, without those that frame transactions.
    pub write_queries: u64,
    /// Rows that statements returned, on all connections.
    pub rows_read: u64,
    /// Rows inserted, changed or deleted.
    pub rows_written: u64,
    /// Reads and writes that ended in an error of SQLite.
    pub errors: u64,
    /// Transactions committed, which is the number of fsyncs (checkpoints aside).
    pub commits: u64,
    /// Time spent committing.
    pub commit_time: Duration,
    /// The longest commit.
    pub commit_time_max: Duration,
    /// Sum over the batches of the time from the first write's arrival to the start of the transaction.
    pub queue_wait: Duration,
    /// The write-ahead log's size on disk after the last commit.
    pub log_bytes: u64,
}

impl Counters {
    pub(super) fn add(counter: &AtomicU64, by: u64) {
        counter.fetch_add(by, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> DatabaseStats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        DatabaseStats {
            reads: get(&self.reads),
            read_queries: get(&self.read_queries),
            writes: get(&self.writes),
            write_queries: get(&self.write_queries),
            rows_read: get(&self.rows_read),
            rows_written: get(&self.rows_written),
            errors: get(&self.errors),
            commits: get(&self.commits),
            commit_time: Duration::from_nanos(get(&self.commit_nanos)),
            commit_time_max: Duration::from_nanos(get(&self.commit_nanos_max)),
            queue_wait: Duration::from_nanos(get(&self.queue_nanos)),
            log_bytes: get(&self.log_bytes),
        }
    }
}
