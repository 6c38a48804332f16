//! Figures of one kind of state, per shard.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use crate::StoreKind;
use crate::histogram::{BOUNDS, HistogramSet, HistogramSnapshot};
use crate::stripe::{self, CurrentStripe, Padded};
use crate::thread::{self, StoreOperation};

/// Most shards that are told apart; a higher number is counted at its remainder.
pub const MAX_SHARDS: u32 = 1 << 16;

/// Shards in the first block; every further block doubles the room.
const FIRST_BLOCK_BITS: u32 = 6;
const BLOCKS: usize = (u32::BITS - (MAX_SHARDS - 1).leading_zeros() - FIRST_BLOCK_BITS + 1) as usize;

const QUEUE_WAIT: usize = 0;
const WALL: usize = 1;

#[derive(Debug, Default)]
struct ShardCell {
    operations: AtomicU64,
    errors: AtomicU64,
    queue_wait_ns: AtomicU64,
    wall_ns: AtomicU64,
}

/// More stripes would bring less than their memory costs: 32 bytes per shard each.
const STRIPES_AT_MOST: usize = 16;

/// Cells that nobody uses at the end of a block, so that what follows it is on other cache lines.
const GUARD_CELLS: usize = 4;

/// The part of the figures in which one thread counts, or a few.
#[derive(Debug, Default)]
struct Stripe {
    blocks: [OnceLock<Box<[ShardCell]>>; BLOCKS],
}

impl Stripe {
    #[inline]
    fn cell(&self, shard: u32) -> Option<&ShardCell> {
        let index = block_of(shard);
        let block = self.blocks.get(index)?.get_or_init(|| {
            (0..block_length(index) as usize + GUARD_CELLS).map(|_| ShardCell::default()).collect()
        });
        block.get((shard - first_shard(index)) as usize)
    }
}

/// Counters and sums per shard, and two histograms for the kind.
///
/// Each thread counts in its own stripe: every thread uses every shard, and a cache line that two cores write in turn
/// costs more than the counting.
///
/// The number of shards may change while others record: blocks of shards are added when first used and never
/// go away, so an id of an older generation with a higher shard number keeps its own figures. Shards of
/// different generations with the same number are counted together.
#[derive(Debug)]
pub struct ShardFigures {
    kind: StoreKind,
    stripes: Box<[Padded<Stripe>]>,
    shards: AtomicU32,
    histograms: HistogramSet,
}

impl ShardFigures {
    /// Figures of a kind at zero, for so many shards.
    pub fn new(kind: StoreKind, shards: u32) -> Self {
        let figures = Self {
            kind,
            stripes: (0..stripe::count().min(STRIPES_AT_MOST)).map(|_| Padded::default()).collect(),
            shards: AtomicU32::new(0),
            histograms: HistogramSet::new(&BOUNDS, 2),
        };
        figures.set_shards(shards);
        figures
    }

    /// The number of shards of the newest generation: so many shards are always reported, beyond them only
    /// those that saw operations.
    pub fn set_shards(&self, shards: u32) {
        self.shards.store(shards.clamp(1, MAX_SHARDS), Ordering::Relaxed);
    }

    /// One finished operation: nanoseconds that it waited for the shard (lock, queue, connection), nanoseconds
    /// from asking to the answer (waiting included), and whether the store worked. `ok` is about the store: an
    /// outcome such as "unknown" or "replayed" is `true`, an I/O error or an overfull queue is `false`.
    #[inline]
    pub fn record(&self, shard: u32, queue_wait_ns: u64, wall_ns: u64, ok: bool) {
        let here = CurrentStripe::of(self.stripes.len());
        if let Some(cell) = self.cell(here, shard) {
            here.add(&cell.operations, 1);
            if !ok {
                here.add(&cell.errors, 1);
            }
            if queue_wait_ns > 0 {
                here.add(&cell.queue_wait_ns, queue_wait_ns);
            }
            if wall_ns > 0 {
                here.add(&cell.wall_ns, wall_ns);
            }
        }
        // Operations that did not wait are told from those that did when the figures are read: that is nearly all.
        if queue_wait_ns > 0 {
            self.histograms.record(QUEUE_WAIT, queue_wait_ns);
        }
        self.histograms.record(WALL, wall_ns);
        let kind = self.kind;
        thread::record(wall_ns, || StoreOperation {
            kind,
            shard,
            queue_wait_ns,
            wall_ns,
            ended: machine_now(),
            ok,
        });
    }

    /// One operation on a shard that memory answered: reading the clock would take as long, so that its time counts as
    /// nothing.
    #[inline]
    pub fn hit(&self, shard: u32) {
        self.record(shard, 0, 0, true);
    }

    /// Starts measuring an operation on a shard.
    #[inline]
    pub fn start(&self, shard: u32) -> OperationTimer<'_> {
        OperationTimer { figures: self, shard, started: machine_now(), queue_wait_ns: 0 }
    }

    /// The figures as of now.
    pub fn snapshot(&self) -> KindSnapshot {
        let current = self.shards.load(Ordering::Relaxed);
        let mut shards = Vec::new();
        for index in 0..BLOCKS {
            let in_use = self.stripes.iter().filter_map(|stripe| stripe.0.blocks.get(index)?.get());
            let blocks: Vec<_> = in_use.collect();
            let first = first_shard(index);
            let all = first.saturating_add(block_length(index));
            let end = if blocks.is_empty() { all.min(current) } else { all };
            let sums = (first..end).zip(0..).map(|(shard, place)| {
                let cells = blocks.iter().filter_map(|block| block.get(place));
                cells.fold(ShardSnapshot::zero(shard), ShardSnapshot::with)
            });
            shards.extend(sums.filter(|shard| shard.shard < current || shard.operations > 0));
        }
        let wall = self.histograms.snapshot(WALL);
        KindSnapshot { kind: self.kind, shards, queue_wait: self.waits(wall.count()), wall }
    }

    /// The waits of so many operations, those of zero included.
    fn waits(&self, operations: u64) -> HistogramSnapshot {
        let mut waits = self.histograms.snapshot(QUEUE_WAIT);
        let none = operations.saturating_sub(waits.count());
        if let Some(shortest) = waits.buckets.first_mut() {
            *shortest += none;
        }
        waits
    }

    #[inline]
    fn cell(&self, here: CurrentStripe, shard: u32) -> Option<&ShardCell> {
        self.stripes.get(here.stripe)?.0.cell(shard % MAX_SHARDS)
    }
}

/// Block 0 holds shards 0..64, block 1 holds 64..128, block 2 holds 128..256, and so on.
const fn block_of(shard: u32) -> usize {
    (u32::BITS - (shard >> FIRST_BLOCK_BITS).leading_zeros()) as usize
}

const fn first_shard(block: usize) -> u32 {
    if block == 0 { 0 } else { 1 << (FIRST_BLOCK_BITS + block as u32 - 1) }
}

const fn block_length(block: usize) -> u32 {
    if block == 0 { 1 << FIRST_BLOCK_BITS } else { first_shard(block) }
}

/// The machine's own clock, not the injected one: how long something took is a fact about the machine, whatever time
/// a test lets it be, and goes into figures only.
#[inline]
#[allow(
    clippy::disallowed_methods,
    reason = "a duration of the machine, for figures only: no reading decides anything"
)]
pub fn machine_now() -> Instant {
    Instant::now()
}

/// Measures one operation. Three readings of the monotonic clock at most, about 25 ns each; drop it without
/// [`finish`](Self::finish) and nothing is recorded (the request was abandoned).
#[derive(Debug)]
#[must_use = "an operation is recorded by finish"]
pub struct OperationTimer<'a> {
    figures: &'a ShardFigures,
    shard: u32,
    started: Instant,
    queue_wait_ns: u64,
}

impl OperationTimer<'_> {
    /// The shard is ours: the time until here was waiting. Leave it out where the lock was free (a successful
    /// `try_lock`), and no clock is read for a wait that did not happen.
    #[inline]
    pub fn admitted(&mut self) {
        self.queue_wait_ns = nanoseconds(self.started);
    }

    /// Records the operation; for `ok` see [`ShardFigures::record`].
    #[inline]
    pub fn finish(self, ok: bool) {
        self.figures.record(self.shard, self.queue_wait_ns, nanoseconds(self.started), ok);
    }
}

#[inline]
fn nanoseconds(since: Instant) -> u64 {
    u64::try_from(machine_now().saturating_duration_since(since).as_nanos()).unwrap_or(u64::MAX)
}

/// One kind of state at one moment.
#[derive(Debug, Clone)]
pub struct KindSnapshot {
    /// The kind.
    pub kind: StoreKind,
    /// Its shards, ascending.
    pub shards: Vec<ShardSnapshot>,
    /// Distribution of the waits for a shard.
    pub queue_wait: HistogramSnapshot,
    /// Distribution of the wall times, waiting included.
    pub wall: HistogramSnapshot,
}

/// One shard at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardSnapshot {
    /// Number of the shard.
    pub shard: u32,
    /// Operations, failed ones included.
    pub operations: u64,
    /// Operations that the store failed.
    pub errors: u64,
    /// Sum of the waits, in nanoseconds.
    pub queue_wait_ns: u64,
    /// Sum of the wall times, in nanoseconds, waiting included.
    pub wall_ns: u64,
}

impl ShardSnapshot {
    const fn zero(shard: u32) -> Self {
        Self { shard, operations: 0, errors: 0, queue_wait_ns: 0, wall_ns: 0 }
    }

    fn with(self, cell: &ShardCell) -> Self {
        let sum = |sum: u64, counter: &AtomicU64| sum.wrapping_add(counter.load(Ordering::Relaxed));
        Self {
            shard: self.shard,
            operations: sum(self.operations, &cell.operations),
            errors: sum(self.errors, &cell.errors),
            queue_wait_ns: sum(self.queue_wait_ns, &cell.queue_wait_ns),
            wall_ns: sum(self.wall_ns, &cell.wall_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread_work;

    #[test]
    fn what_memory_answered_is_an_operation_that_took_no_time() {
        let figures = ShardFigures::new(StoreKind::Client, 1);
        figures.hit(0);
        let KindSnapshot { shards, queue_wait, wall, .. } = figures.snapshot();
        assert_eq!(shards, [ShardSnapshot { operations: 1, ..ShardSnapshot::zero(0) }]);
        assert_eq!((wall.count(), queue_wait.count()), (1, 1));
    }

    #[test]
    fn blocks_cover_every_shard_once() {
        let mut expected = 0;
        for block in 0..BLOCKS {
            assert_eq!(first_shard(block), expected);
            assert_eq!(block_of(expected), block);
            expected += block_length(block);
            assert_eq!(block_of(expected - 1), block);
        }
        assert_eq!(expected, MAX_SHARDS);
    }

    #[test]
    fn sums_and_errors_are_kept_per_shard() {
        let figures = ShardFigures::new(StoreKind::Code, 2);
        figures.record(0, 5, 20, true);
        figures.record(1, 0, 30, false);
        figures.record(1, 7, 40, true);
        let snapshot = figures.snapshot();
        let zero = ShardSnapshot { shard: 0, operations: 1, errors: 0, queue_wait_ns: 5, wall_ns: 20 };
        let one = ShardSnapshot { shard: 1, operations: 2, errors: 1, queue_wait_ns: 7, wall_ns: 70 };
        assert_eq!(snapshot.shards, [zero, one]);
        assert_eq!((snapshot.wall.count(), snapshot.wall.sum_ns), (3, 90));
        assert_eq!((snapshot.queue_wait.count(), snapshot.queue_wait.sum_ns), (3, 12));
        assert_eq!(snapshot.queue_wait.buckets[0], 3, "one of them did not wait at all");
    }

    #[test]
    fn shards_of_an_older_generation_stay_visible() {
        let figures = ShardFigures::new(StoreKind::Code, 256);
        figures.record(200, 0, 1, true);
        figures.set_shards(4);
        let shards: Vec<u32> = figures.snapshot().shards.iter().map(|s| s.shard).collect();
        assert_eq!(shards, [0, 1, 2, 3, 200]);
        figures.set_shards(100);
        assert_eq!(figures.snapshot().shards.len(), 101);
    }

    #[test]
    fn a_shard_number_beyond_all_bounds_is_counted() {
        let figures = ShardFigures::new(StoreKind::Code, 1);
        figures.record(u32::MAX, 0, 1, true);
        let shards = figures.snapshot().shards;
        assert_eq!(shards.iter().map(|s| s.operations).sum::<u64>(), 1);
    }

    #[test]
    fn the_number_of_shards_changes_under_load() {
        let figures = ShardFigures::new(StoreKind::Code, 8);
        std::thread::scope(|scope| {
            for thread in 0..4_u32 {
                let figures = &figures;
                scope
                    .spawn(move || (0..5_000_u32).for_each(|n| figures.record(n * (thread + 1), 1, 2, true)));
            }
            (1..500).for_each(|shards| figures.set_shards(shards));
        });
        let snapshot = figures.snapshot();
        assert_eq!(snapshot.shards.iter().map(|s| s.operations).sum::<u64>(), 20_000);
        assert_eq!(snapshot.shards.iter().map(|s| s.wall_ns).sum::<u64>(), 40_000);
    }

    #[test]
    fn a_timer_counts_the_wait_inside_the_wall_time() {
        let figures = ShardFigures::new(StoreKind::Code, 1);
        let before = thread_work();
        let mut timer = figures.start(0);
        timer.admitted();
        timer.finish(true);
        let shard = figures.snapshot().shards[0];
        assert_eq!(shard.operations, 1);
        assert!(shard.queue_wait_ns <= shard.wall_ns);
        let after = thread_work();
        assert_eq!(after.operations - before.operations, 1);
        assert_eq!(after.wall_ns - before.wall_ns, shard.wall_ns);
        drop(figures.start(0));
        assert_eq!(figures.snapshot().shards[0].operations, 1, "abandoned, not counted");
    }
}
