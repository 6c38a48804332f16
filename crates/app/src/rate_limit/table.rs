//! Who has used how much: a table of fixed size, in shards with a lock each.

use parking_lot::Mutex;
use symbolon_protocol::time::Timestamp;

use super::Limited;
use super::rule::Rule;

/// Keys of one set; a key can only be in the set that its hash names.
const WAYS: usize = 8;
/// Locks of a table.
const SHARDS: usize = 64;

/// A key, and when its bucket will be full again, in nanoseconds since the epoch. Full by now is the same as absent.
#[derive(Clone, Copy, Default)]
struct Slot {
    key: u64,
    full_at: u64,
}

type Set = [Slot; WAYS];

/// The table. Its memory is taken shard by shard when first used, and never grows after that.
pub(super) struct Table {
    shards: Box<[Mutex<Box<[Set]>>]>,
    sets_per_shard: usize,
}

impl Table {
    /// An empty table of so many sets, rounded up to the number of shards.
    pub(super) fn new(sets: usize) -> Self {
        let sets_per_shard = sets.div_ceil(SHARDS).max(1);
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), sets_per_shard }
    }

    /// Takes one from the bucket of a key.
    pub(super) fn take(&self, key: u64, rule: Rule, now: Timestamp) -> Result<(), Limited> {
        let now = nanoseconds(now);
        self.with(key, now, |slot| {
            // Kept where the answer is no, too: what was owed under a more generous rule shrinks once, for good.
            slot.full_at = owed_until(slot.full_at, rule.burst, now);
            let wait = (slot.full_at + rule.interval).saturating_sub(now + rule.burst);
            if wait > 0 {
                return Err(Rule::limited(wait));
            }
            slot.full_at += rule.interval;
            Ok(())
        })
        .unwrap_or(Ok(()))
    }

    /// Whether there is one in the bucket of a key.
    pub(super) fn look(&self, key: u64, rule: Rule, now: Timestamp) -> Result<(), Limited> {
        let now = nanoseconds(now);
        let full_at = self.full_at(key).unwrap_or(0);
        let wait =
            (owed_until(full_at, rule.most_owed(), now) + rule.interval).saturating_sub(now + rule.burst);
        if wait > 0 { Err(Rule::limited(wait)) } else { Ok(()) }
    }

    /// Takes one from the bucket of a key even where there is none: those who raced past [`look`](Self::look) pay
    /// with a longer delay.
    pub(super) fn charge(&self, key: u64, rule: Rule, now: Timestamp) {
        let now = nanoseconds(now);
        self.with(key, now, |slot| {
            let full_at = owed_until(slot.full_at, rule.most_owed(), now) + rule.interval;
            slot.full_at = full_at.min(now + rule.most_owed());
        });
    }

    fn place(&self, key: u64) -> (usize, usize) {
        // Lower and upper half of the hash are independent; both counts are far below 2^32.
        let shard = (key & 0xffff_ffff) as usize % SHARDS;
        (shard, (key >> 32) as usize % self.sets_per_shard)
    }

    fn full_at(&self, key: u64) -> Option<u64> {
        let (shard, set) = self.place(key);
        let shard = self.shards.get(shard)?.lock();
        shard.get(set)?.iter().find(|slot| slot.key == key && slot.full_at > 0).map(|slot| slot.full_at)
    }

    /// Works on the slot of a key; a new key takes the slot of whoever owes least. What `work` leaves at a full
    /// bucket is free for the next.
    fn with<R>(&self, key: u64, now: u64, work: impl FnOnce(&mut Slot) -> R) -> Option<R> {
        let (shard, set) = self.place(key);
        let mut shard = self.shards.get(shard)?.lock();
        if shard.is_empty() {
            *shard = vec![Set::default(); self.sets_per_shard].into_boxed_slice();
        }
        let set = shard.get_mut(set)?;
        if let Some(slot) = set.iter_mut().find(|slot| slot.key == key && slot.full_at > 0) {
            return Some(work(slot));
        }
        let slot = set.iter_mut().min_by_key(|slot| slot.full_at)?;
        let mut fresh = Slot { key, full_at: now };
        let result = work(&mut fresh);
        *slot = fresh;
        Some(result)
    }

    #[cfg(test)]
    pub(super) fn slots_taken(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len() * WAYS).sum()
    }
}

/// When the bucket will be full again, seen from now: not in the past, and, where a rule became stricter or more
/// generous meanwhile, not beyond what the present one lets anybody owe.
fn owed_until(full_at: u64, most: u64, now: u64) -> u64 {
    full_at.clamp(now, now + most)
}

/// Until the year 2262; what lies beyond counts as that, so that sums never overflow.
fn nanoseconds(now: Timestamp) -> u64 {
    now.millis().saturating_mul(1_000_000).min(u64::MAX / 2)
}
