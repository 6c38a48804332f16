//! Hot state in memory, split into shards by kind, with generations that can be added while running.
//!
//! Each shard has one lock. Ids that the server draws carry their generation and shard. All other records are found by
//! hash in one of 1,024 constant slots, which share 64 locks and have the generation number 0.

use std::cell::Cell;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use symbolon_figures::{ShardFigures, StoreFigures, StoreKind, thread_stripe};
use symbolon_protocol::grant::SLOTS;
use symbolon_protocol::id::IssuerId;
use symbolon_store::shard::{Generation, Route, ShardKind};

/// The locks that the 1,024 constant slots share.
const HASHED_LOCKS: u32 = 64;

/// A record's key: a digest. All bits are uniform, except those of the time with which a key may begin.
pub(crate) type Key = [u8; 16];

/// The constant slot of a record that is found by its key alone.
pub(crate) fn slot_of_key(key: &Key) -> u32 {
    let [.., high, low] = *key;
    u32::from(u16::from_be_bytes([high, low]) % SLOTS)
}

/// A map from digests.
pub(crate) type KeyMap<V> = hashbrown::HashMap<Key, V>;

/// The shards of one generation. The description may change (a generation is closed), the state stays.
struct Shards<T> {
    generation: Generation,
    shards: Arc<[Mutex<T>]>,
}

impl<T: Default> Shards<T> {
    fn new(generation: Generation) -> Self {
        let shards = (0..generation.shards.max(1)).map(|_| Mutex::default()).collect();
        Self { generation, shards }
    }
}

/// All shards of one kind.
pub(crate) struct Sharded<T> {
    kind: ShardKind,
    figures: Arc<StoreFigures>,
    hashed: Box<[Mutex<T>]>,
    generations: ArcSwap<Vec<Shards<T>>>,
}

/// How many ids in a row a thread gives to one shard. From the id before, the thread's core still has the shard's lock,
/// tables and end of log in its cache.
const RUN: u32 = 16;

thread_local! {
    /// How many ids the thread has given out, by kind. Each thread counts for itself: a counter that all threads share
    /// would be a cache line that moves from core to core with each request.
    static GIVEN: [Cell<Option<u32>>; ShardKind::ALL.len()] = const { [const { Cell::new(None) }; ShardKind::ALL.len()] };
}

/// The number of the run of [`RUN`] ids that the next id of a kind belongs to, on this thread; the run names the shard.
/// Threads begin at runs that are far apart and give ids out at about the same speed, so that two of them seldom use
/// the same shard at the same time.
fn next_run(kind: ShardKind) -> u32 {
    GIVEN.with(|given| {
        let Some(given) = given.get(kind as usize) else { return 0 };
        let next = given.get().unwrap_or_else(|| RUN.wrapping_mul(first_run()));
        given.set(Some(next.wrapping_add(1)));
        next / RUN
    })
}

/// The first run of a thread. 29 is odd, so with any power of two of shards the threads begin at different ones.
fn first_run() -> u32 {
    u32::try_from(thread_stripe()).unwrap_or(0).wrapping_mul(29)
}

impl<T: Default> Sharded<T> {
    /// Makes the shards of the given generations, the current one last.
    pub(crate) fn new(kind: ShardKind, figures: Arc<StoreFigures>, generations: &[Generation]) -> Self {
        let hashed = (0..HASHED_LOCKS).map(|_| Mutex::default()).collect();
        let sharded = Self {
            kind,
            figures,
            hashed,
            generations: ArcSwap::from_pointee(generations.iter().copied().map(Shards::new).collect()),
        };
        sharded.figures().set_shards(generations.last().map_or(1, |current| current.shards));
        sharded
    }

    fn figures(&self) -> &ShardFigures {
        self.figures.kind(match self.kind {
            ShardKind::Code => StoreKind::Code,
            ShardKind::Session => StoreKind::Session,
            ShardKind::Challenge => StoreKind::Challenge,
            ShardKind::Refresh => StoreKind::Refresh,
            ShardKind::Revocation => StoreKind::Revocation,
            ShardKind::Assertion => StoreKind::Assertion,
        })
    }

    /// Where a new id should live: the shards of the current generation in turn, [`RUN`] ids each.
    pub(crate) fn place(&self) -> Route {
        let generations = self.generations.load();
        let Some(current) = generations.last() else { return Route { generation: 0, shard: 0 } };
        Route {
            generation: current.generation.generation,
            shard: next_run(self.kind).checked_rem(current.generation.shards).unwrap_or(0),
        }
    }

    /// Where an id lives: in the shard that it names if that exists here, else in the slot of its hash.
    pub(crate) fn route(&self, issuer: &IssuerId, id: &str) -> Route {
        Route::of_id(self.kind, id)
            .filter(|route| self.exists(*route))
            .unwrap_or_else(|| Route::hashed(issuer, id))
    }

    /// Whether a route names a shard of a live generation, or a slot.
    pub(crate) fn exists(&self, route: Route) -> bool {
        let generations = self.generations.load();
        generations
            .iter()
            .any(|g| g.generation.generation == route.generation && route.shard < g.generation.shards)
    }

    /// The live generations, the current one last.
    pub(crate) fn generations(&self) -> Vec<Generation> {
        self.generations.load().iter().map(|shards| shards.generation).collect()
    }

    /// Replaces the list of generations; those that stay keep their state.
    pub(crate) fn set_generations(&self, generations: &[Generation]) {
        self.generations.rcu(|old| {
            let keep = |wanted: &Generation| {
                let found = old.iter().find(|shards| shards.generation.generation == wanted.generation);
                match found {
                    Some(known) => Shards { generation: *wanted, shards: Arc::clone(&known.shards) },
                    None => Shards::new(*wanted),
                }
            };
            generations.iter().map(keep).collect::<Vec<_>>()
        });
        self.figures().set_shards(generations.last().map_or(1, |current| current.shards));
    }

    /// Runs `work` on the shard of a route, under its lock and measured.
    pub(crate) fn with<R>(&self, route: Route, work: impl FnOnce(&mut T) -> R) -> R {
        let generations = self.generations.load();
        let (lock, number) = self.lock(&generations, route);
        let mut timer = self.figures().start(number);
        let mut shard = match lock.try_lock() {
            Some(shard) => shard,
            None => {
                let shard = lock.lock();
                timer.admitted();
                shard
            }
        };
        let result = work(&mut shard);
        drop(shard);
        timer.finish(true);
        result
    }

    /// Runs `work`, a short read, without timing it: reading the clock would cost as much as the read. If another
    /// thread holds the lock, `work` runs through [`with`](Self::with), which measures the wait.
    pub(crate) fn glance<R>(&self, route: Route, work: impl FnOnce(&T) -> R) -> R {
        let generations = self.generations.load();
        let (lock, number) = self.lock(&generations, route);
        if let Some(shard) = lock.try_lock() {
            let result = work(&shard);
            drop(shard);
            self.figures().hit(number);
            return result;
        }
        self.with(route, |shard| work(shard))
    }

    /// The lock of a route, and the number under which its figures are counted.
    fn lock<'a>(&'a self, generations: &'a [Shards<T>], route: Route) -> (&'a Mutex<T>, u32) {
        let found = generations
            .iter()
            .rev()
            .find(|shards| shards.generation.generation == route.generation)
            .and_then(|shards| Some((shards.shards.get(route.shard as usize)?, route.shard)));
        found.unwrap_or_else(|| self.by_slot(generations, route.shard))
    }

    /// The lock of a constant slot, and the number under which its figures are counted.
    fn by_slot<'a>(&'a self, generations: &[Shards<T>], slot: u32) -> (&'a Mutex<T>, u32) {
        let current = generations.last().map_or(1, |shards| shards.generation.shards.max(1));
        let index = slot.checked_rem(HASHED_LOCKS).unwrap_or(0) as usize;
        #[allow(
            clippy::indexing_slicing,
            reason = "the remainder is below the length, which is a constant above 0"
        )]
        let lock = &self.hashed[index];
        (lock, slot % current)
    }

    /// Runs `work` on one shard after the other, each under its lock, and adds up its results. Between two shards other
    /// tasks of the caller's thread may run.
    pub(crate) async fn each(&self, mut work: impl FnMut(&mut T) -> u64 + Send) -> u64
    where
        T: Send,
    {
        let mut sum = 0;
        for lock in &self.hashed {
            sum += work(&mut lock.lock());
            tokio::task::yield_now().await;
        }
        let generations: Vec<Arc<[Mutex<T>]>> =
            self.generations.load().iter().map(|shards| Arc::clone(&shards.shards)).collect();
        for lock in generations.iter().flat_map(|shards| shards.iter()) {
            sum += work(&mut lock.lock());
            tokio::task::yield_now().await;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use symbolon_protocol::time::Timestamp;

    use super::*;

    #[tokio::test]
    async fn others_have_a_turn_between_the_shards() {
        let opened_at = Timestamp::from_millis(1);
        let generation = Generation { generation: 1, shards: 8, opened_at, closed_at: None };
        let sharded = Sharded::<u64>::new(ShardKind::Code, Arc::new(StoreFigures::new()), &[generation]);
        let turns = Arc::new(AtomicU64::new(0));
        let of_task = Arc::clone(&turns);
        let other = tokio::spawn(async move {
            loop {
                of_task.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
        let shards = sharded.each(|_| 1).await;
        other.abort();
        assert_eq!(shards, u64::from(HASHED_LOCKS) + 8);
        assert!(turns.load(Ordering::Relaxed) >= shards / 2, "{turns:?} of {shards}");
    }
}
