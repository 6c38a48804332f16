//! Counts what each key has in flight.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

use symbolon_config::Cap;

/// Shards of a table, each with its own lock.
const SHARDS: usize = 16;

/// Counts per key. A key with nothing in flight takes no memory, so the size is bounded by what others bound:
/// connections, and requests on them.
#[derive(Default)]
pub(crate) struct InFlight {
    shards: [Mutex<HashMap<u64, u64>>; SHARDS],
}

impl InFlight {
    /// Counts one more for a key. `None` if that would exceed `most`. It counts until the returned value is dropped.
    pub(crate) fn begin(self: &Arc<Self>, key: u64, most: u32) -> Option<InFlightGuard> {
        let mut held = self.hold(key);
        held.grow(1, u64::from(most)).then_some(held)
    }

    /// A counter for a key that starts at zero and may [grow](InFlightGuard::grow).
    pub(crate) fn hold(self: &Arc<Self>, key: u64) -> InFlightGuard {
        InFlightGuard { table: Arc::clone(self), key, count: 0 }
    }

    fn shard(&self, key: u64) -> Option<&Mutex<HashMap<u64, u64>>> {
        self.shards.get((key & 0xffff_ffff) as usize % SHARDS)
    }
}

/// What one holder has in flight under a key.
#[must_use = "it counts until it is dropped"]
pub struct InFlightGuard {
    table: Arc<InFlight>,
    key: u64,
    count: u64,
}

impl InFlightGuard {
    /// Counts `by` more. False if the key would exceed `most`: then nothing is counted.
    pub(crate) fn grow(&mut self, by: u64, most: u64) -> bool {
        let Some(shard) = self.table.shard(self.key) else { return false };
        let mut shard = shard.lock();
        let all = shard.get(&self.key).map_or(by, |count| count.saturating_add(by));
        if all <= most {
            shard.insert(self.key, all);
            self.count += by;
        }
        all <= most
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let Some(shard) = self.table.shard(self.key).filter(|_| self.count > 0) else { return };
        let mut shard = shard.lock();
        if let Some(count) = shard.get_mut(&self.key) {
            *count -= self.count;
            if *count == 0 {
                shard.remove(&self.key);
            }
        }
    }
}

/// A limit that can be replaced while it is read; 0 means no limit.
#[derive(Debug, Default)]
pub(super) struct CapCell(AtomicU32);

impl CapCell {
    /// Sets the limit; `None` removes it.
    pub(super) fn set(&self, cap: Cap) {
        self.0.store(cap.map_or(0, |most| most.get()), Ordering::Relaxed);
    }

    /// The limit, if there is one.
    pub(super) fn get(&self) -> Option<u32> {
        Some(self.0.load(Ordering::Relaxed)).filter(|most| *most > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_makes_room_and_leaves_nothing() {
        let table = Arc::new(InFlight::default());
        let first = table.begin(7, 2).unwrap();
        let second = table.begin(7, 2).unwrap();
        assert!(table.begin(7, 2).is_none());
        let other = table.begin(8, 2).unwrap();
        drop(first);
        let third = table.begin(7, 2).unwrap();
        drop((second, third, other));
        assert!(table.shards.iter().all(|shard| shard.lock().is_empty()));
    }
}
