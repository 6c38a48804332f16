//! How much each key has used: a table of fixed size, in shards with a lock each.

use parking_lot::Mutex;
use symbolon_protocol::time::Timestamp;

use super::Limited;
use super::rule::Rule;

/// Keys per set. A key's hash names the one set that may hold it.
const WAYS: usize = 8;
/// Shards of a table, each with its own lock.
const SHARDS: usize = 64;

/// A key, and when its bucket will be full again, in nanoseconds since the epoch. A key whose bucket is full counts
/// as absent.
#[derive(Clone, Copy, Default)]
struct Slot {
    key: u64,
    full_at: u64,
}

type Set = [Slot; WAYS];

/// The table. A shard's memory is allocated on its first use and never grows.
pub(super) struct Table {
    shards: Box<[Mutex<Box<[Set]>>]>,
    sets_per_shard: usize,
}

impl Table {
    /// An empty table of at least `sets` sets, rounded up to a multiple of the shards.
    pub(super) fn new(sets: usize) -> Self {
        let sets_per_shard = sets.div_ceil(SHARDS).max(1);
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect(), sets_per_shard }
    }

    /// Takes one token from a key's bucket, or refuses.
    pub(super) fn take(&self, key: u64, rule: Rule, now: Timestamp) -> Result<(), Limited> {
        let now = nanoseconds(now);
        self.with(key, now, |slot| {
            // Stored even on refusal: if the rule became stricter, the debt from the old rule is capped once and for
            // all.
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

    /// Whether a key's bucket holds a token. Takes none.
    pub(super) fn look(&self, key: u64, rule: Rule, now: Timestamp) -> Result<(), Limited> {
        let now = nanoseconds(now);
        let full_at = self.full_at(key).unwrap_or(0);
        let wait =
            (owed_until(full_at, rule.most_owed(), now) + rule.interval).saturating_sub(now + rule.burst);
        if wait > 0 { Err(Rule::limited(wait)) } else { Ok(()) }
    }

    /// Takes one token from a key's bucket even if it is empty. Requests that passed [`look`](Self::look) at the same
    /// moment thereby prolong their key's delay.
    pub(super) fn charge(&self, key: u64, rule: Rule, now: Timestamp) {
        let now = nanoseconds(now);
        self.with(key, now, |slot| {
            let full_at = owed_until(slot.full_at, rule.most_owed(), now) + rule.interval;
            slot.full_at = full_at.min(now + rule.most_owed());
        });
    }

    /// Gives nine tenths of a token back to a key's bucket. A bucket that is full, or of no known key, stays as it is.
    pub(super) fn give_back(&self, key: u64, rule: Rule) {
        let (shard, set) = self.place(key);
        let Some(mut shard) = self.shards.get(shard).map(Mutex::lock) else { return };
        let mut slots = shard.get_mut(set).into_iter().flatten();
        if let Some(slot) = slots.find(|slot| slot.key == key) {
            slot.full_at = slot.full_at.saturating_sub(rule.interval / 10 * 9);
        }
    }

    fn place(&self, key: u64) -> (usize, usize) {
        // The two halves of the hash are independent, and both counts are far below 2^32.
        let shard = (key & 0xffff_ffff) as usize % SHARDS;
        (shard, (key >> 32) as usize % self.sets_per_shard)
    }

    fn full_at(&self, key: u64) -> Option<u64> {
        let (shard, set) = self.place(key);
        let shard = self.shards.get(shard)?.lock();
        shard.get(set)?.iter().find(|slot| slot.key == key && slot.full_at > 0).map(|slot| slot.full_at)
    }

    /// Runs `work` on a key's slot. A new key evicts the key of its set that owes least. A slot that `work` leaves
    /// with a full bucket is free.
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

/// When the bucket will be full again: not before now, and no later than the present rule allows, which may differ
/// from the rule at the time.
fn owed_until(full_at: u64, most: u64, now: u64) -> u64 {
    full_at.clamp(now, now + most)
}

/// Capped in the year 2262, so that sums do not overflow.
fn nanoseconds(now: Timestamp) -> u64 {
    now.millis().saturating_mul(1_000_000).min(u64::MAX / 2)
}
