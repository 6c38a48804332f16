//! How much of each key is in flight at this moment.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

use symbolon_config::Cap;

/// Locks of a table.
const SHARDS: usize = 16;

/// Counts per key. What is not in flight takes no memory, so the table is no larger than what is bounded elsewhere:
/// connections, and requests on them.
#[derive(Default)]
pub(crate) struct InFlight {
    shards: [Mutex<HashMap<u64, u64>>; SHARDS],
}

impl InFlight {
    /// Counts one more of a key, unless as many are in flight as may be. It counts until it is dropped.
    pub(crate) fn begin(self: &Arc<Self>, key: u64, most: u32) -> Option<Counted> {
        let mut held = self.hold(key);
        held.grow(1, u64::from(most)).then_some(held)
    }

    /// Something of a key that may [grow](Counted::grow), and counts for nothing yet.
    pub(crate) fn hold(self: &Arc<Self>, key: u64) -> Counted {
        Counted { table: Arc::clone(self), key, count: 0 }
    }

    fn shard(&self, key: u64) -> Option<&Mutex<HashMap<u64, u64>>> {
        self.shards.get((key & 0xffff_ffff) as usize % SHARDS)
    }
}

/// What is in flight of a key.
#[must_use = "it counts until it is dropped"]
pub struct Counted {
    table: Arc<InFlight>,
    key: u64,
    count: u64,
}

impl Counted {
    /// Counts more, and says whether there was room: beyond `most` of the key nothing is counted.
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

impl Drop for Counted {
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

/// A number that can be changed while it is read; 0 is no limit.
#[derive(Debug, Default)]
pub(super) struct CapCell(AtomicU32);

impl CapCell {
    /// Sets the number; none lifts it.
    pub(super) fn set(&self, cap: Cap) {
        self.0.store(cap.map_or(0, |most| most.get()), Ordering::Relaxed);
    }

    /// The number, if there is one.
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
