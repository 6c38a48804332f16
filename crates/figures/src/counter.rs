//! Counters that belong to no shard: the SQL database, the group commit, the caches.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::histogram::{BOUNDS, HistogramSet, HistogramSnapshot};
use crate::stripe::{self, CurrentStripe, Padded};

/// A counter for hot paths: each thread adds in its own cache line, reading adds the stripes up.
#[derive(Debug)]
pub struct StripedCounter {
    stripes: Box<[Padded<AtomicU64>]>,
}

impl StripedCounter {
    /// A counter at zero.
    pub fn new() -> Self {
        Self { stripes: (0..stripe::count()).map(|_| Padded::default()).collect() }
    }

    /// Adds to the counter.
    #[inline]
    pub fn add(&self, amount: u64) {
        let here = CurrentStripe::of(self.stripes.len());
        if let Some(stripe) = self.stripes.get(here.stripe) {
            here.add(&stripe.0, amount);
        }
    }

    /// The sum over all threads.
    pub fn value(&self) -> u64 {
        self.stripes.iter().fold(0, |sum, stripe| sum.wrapping_add(stripe.0.load(Ordering::Relaxed)))
    }
}

impl Default for StripedCounter {
    fn default() -> Self {
        Self::new()
    }
}

/// Stands in place of the size of the write-ahead log where the store has no such log.
const NO_LOG: u64 = u64::MAX;

/// Queries against the SQL database (SQLite or PostgreSQL), never the key-value engines.
#[derive(Debug)]
pub struct DatabaseFigures {
    read_queries: StripedCounter,
    write_queries: StripedCounter,
    rows_read: StripedCounter,
    rows_written: StripedCounter,
    log_bytes: AtomicU64,
}

impl DatabaseFigures {
    /// Figures at zero.
    pub fn new() -> Self {
        Self {
            read_queries: StripedCounter::new(),
            write_queries: StripedCounter::new(),
            rows_read: StripedCounter::new(),
            rows_written: StripedCounter::new(),
            log_bytes: AtomicU64::new(NO_LOG),
        }
    }

    /// The size of the write-ahead log, where the store has it on its own disk.
    pub fn set_log_bytes(&self, bytes: u64) {
        self.log_bytes.store(bytes, Ordering::Relaxed);
    }

    /// One query that only reads, and the rows that it returned.
    pub fn read(&self, rows: u64) {
        self.read_queries.add(1);
        self.rows_read.add(rows);
    }

    /// One statement that writes, and the rows that it changed.
    pub fn write(&self, rows: u64) {
        self.write_queries.add(1);
        self.rows_written.add(rows);
    }

    /// The figures as of now.
    pub fn snapshot(&self) -> DatabaseSnapshot {
        DatabaseSnapshot {
            read_queries: self.read_queries.value(),
            write_queries: self.write_queries.value(),
            rows_read: self.rows_read.value(),
            rows_written: self.rows_written.value(),
            log_bytes: Some(self.log_bytes.load(Ordering::Relaxed)).filter(|bytes| *bytes != NO_LOG),
        }
    }
}

impl Default for DatabaseFigures {
    fn default() -> Self {
        Self::new()
    }
}

/// [`DatabaseFigures`] at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DatabaseSnapshot {
    /// Queries that only read.
    pub read_queries: u64,
    /// Statements that write.
    pub write_queries: u64,
    /// Rows returned by reads.
    pub rows_read: u64,
    /// Rows changed by writes.
    pub rows_written: u64,
    /// Bytes of the write-ahead log; none where the store has none on its own disk.
    pub log_bytes: Option<u64>,
}

/// How many of the lowest bounds of a histogram are left out for syncs, because no disk syncs in so short a time. The first
/// bound that is kept is 20 µs.
const FASTER_THAN_A_DISK: usize = 5;

/// The group commit: how many operations went to disk together, and what the sync took.
#[derive(Debug)]
pub struct CommitFigures {
    operations: AtomicU64,
    sync: HistogramSet,
}

impl CommitFigures {
    /// Figures at zero.
    pub fn new() -> Self {
        Self {
            operations: AtomicU64::new(0),
            sync: HistogramSet::new(BOUNDS.split_at(FASTER_THAN_A_DISK).1, 1),
        }
    }

    /// One batch made durable: the operations in it, and the wall time of write and fsync in nanoseconds.
    pub fn batch(&self, operations: u64, sync_ns: u64) {
        self.operations.fetch_add(operations, Ordering::Relaxed);
        self.sync.record(0, sync_ns);
    }

    /// The figures as of now.
    pub fn snapshot(&self) -> CommitSnapshot {
        CommitSnapshot { operations: self.operations.load(Ordering::Relaxed), sync: self.sync.snapshot(0) }
    }
}

impl Default for CommitFigures {
    fn default() -> Self {
        Self::new()
    }
}

/// [`CommitFigures`] at one moment.
#[derive(Debug, Clone)]
pub struct CommitSnapshot {
    /// Operations made durable.
    pub operations: u64,
    /// Wall time per batch; its count is the number of batches.
    pub sync: HistogramSnapshot,
}

impl CommitSnapshot {
    /// Batches made durable.
    pub fn batches(&self) -> u64 {
        self.sync.count()
    }
}

/// Hits and misses of one cache.
#[derive(Debug)]
pub struct CacheFigures {
    name: &'static str,
    hits: StripedCounter,
    misses: StripedCounter,
}

impl CacheFigures {
    /// Figures at zero. `name` is the `cache` label: a word of `[a-z_]`, for example `client`.
    pub fn new(name: &'static str) -> Self {
        Self { name, hits: StripedCounter::new(), misses: StripedCounter::new() }
    }

    /// The cache's name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// An answer came from the cache.
    #[inline]
    pub fn hit(&self) {
        self.hits.add(1);
    }

    /// An answer had to be fetched.
    #[inline]
    pub fn miss(&self) {
        self.misses.add(1);
    }

    /// The figures as of now.
    pub fn snapshot(&self) -> CacheSnapshot {
        CacheSnapshot { name: self.name, hits: self.hits.value(), misses: self.misses.value() }
    }
}

/// [`CacheFigures`] at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheSnapshot {
    /// The cache's name.
    pub name: &'static str,
    /// Answers that came from the cache.
    pub hits: u64,
    /// Answers that had to be fetched.
    pub misses: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn striped_counters_lose_nothing() {
        let counter = StripedCounter::new();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..10_000).for_each(|_| counter.add(3)));
            }
        });
        assert_eq!(counter.value(), 240_000);
    }

    #[test]
    fn database_reads_and_writes_are_apart() {
        let database = DatabaseFigures::new();
        database.read(3);
        database.read(0);
        database.write(7);
        let expected = DatabaseSnapshot {
            read_queries: 2,
            write_queries: 1,
            rows_read: 3,
            rows_written: 7,
            ..DatabaseSnapshot::default()
        };
        assert_eq!(database.snapshot(), expected);
    }

    #[test]
    fn commits_count_batches_and_operations() {
        let commit = CommitFigures::new();
        commit.batch(12, 60_000);
        commit.batch(1, 40_000);
        let snapshot = commit.snapshot();
        assert_eq!((snapshot.batches(), snapshot.operations, snapshot.sync.sum_ns), (2, 13, 100_000));
    }
}
