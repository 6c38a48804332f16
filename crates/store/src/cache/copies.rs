//! Copies of the records that are read most, one set for each thread, or for a few threads.
//!
//! A record that every request needs, such as the one client of a busy application, is used by all cores at once: the
//! cache's lock and the count of its references then move from core to core with each request. A copy is a record of
//! its own, which only its threads touch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use smol_str::SmolStr;
use symbolon_protocol::id::IssuerId;

use symbolon_figures::{Padded, thread_stripe};

/// Copies in one set, at most.
const PLACES: usize = 64;

/// Sets, at most: further threads share them.
const SETS: usize = 16;

struct Copy<T> {
    issuer: IssuerId,
    id: SmolStr,
    record: Arc<T>,
    /// The number of changes when the record was requested.
    changes: u64,
}

type Set<T> = Padded<Mutex<Vec<Option<Copy<T>>>>>;

/// The number of changes when the cache was asked: a copy that is put with an older number is not used.
#[derive(Clone, Copy)]
pub(super) struct Changes(u64);

pub(super) struct Copies<T> {
    sets: [Set<T>; SETS],
    /// Changes so far, of any record. A change makes every earlier copy unusable, which costs little because changes
    /// are rare.
    changes: Padded<AtomicU64>,
}

impl<T: Clone> Copies<T> {
    pub(super) fn new() -> Self {
        let sets = std::array::from_fn(|_| Padded::default());
        Self { sets, changes: Padded::default() }
    }

    /// The copy, if no record changed since it was made. Otherwise the number of changes, which the caller passes to
    /// [`put`](Self::put) together with the record that it then reads from the cache.
    pub(super) fn get(&self, issuer: &IssuerId, id: &str) -> Result<Arc<T>, Changes> {
        // Read before the cache is asked: if the cache drops the record after this, the number rises, and a copy of the
        // dropped record is not used.
        let changes = self.changes.0.load(Ordering::Acquire);
        let set = self.set().lock();
        let known = set.get(place(id)).and_then(Option::as_ref);
        known
            .filter(|copy| copy.changes == changes && copy.id == id && copy.issuer == *issuer)
            .map(|copy| Arc::clone(&copy.record))
            .ok_or(Changes(changes))
    }

    /// Keeps a copy of a record from the cache, in place of any other copy in that place.
    pub(super) fn put(&self, issuer: &IssuerId, id: &str, record: &T, changes: Changes) -> Arc<T> {
        let record = Arc::new(record.clone());
        let (issuer, id) = (issuer.clone(), SmolStr::new(id));
        let place = place(&id);
        let mut set = self.set().lock();
        if set.is_empty() {
            set.resize_with(PLACES, || None);
        }
        if let Some(copy) = set.get_mut(place) {
            *copy = Some(Copy { issuer, id, record: Arc::clone(&record), changes: changes.0 });
        }
        record
    }

    fn set(&self) -> &Mutex<Vec<Option<Copy<T>>>> {
        #[allow(clippy::indexing_slicing, reason = "the remainder is below the length, a constant above 0")]
        &self.sets[thread_stripe() % SETS].0
    }
}

impl<T> Copies<T> {
    /// Makes every copy unusable. To be called after the cache has dropped the record that changed.
    pub(super) fn forget(&self) {
        self.changes.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// The place of an id in a set, from the last eight bytes of the id: ids differ most at their end.
fn place(id: &str) -> usize {
    let end = id.bytes().rev().take(8).fold(0_u64, |end, byte| end << 8 | u64::from(byte));
    // Fibonacci hashing.
    (end.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % PLACES
}
