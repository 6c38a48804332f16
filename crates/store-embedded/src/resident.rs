//! Records in memory in front of the journal: loaded on demand, changed under the shard's lock, ended with a marker.

use hashbrown::DefaultHashBuilder;
use indexmap::IndexMap;
use indexmap::map::{self, VacantEntry};
use symbolon_protocol::time::Timestamp;

use crate::journal::CommitNumber;
use crate::sharded::Key;

/// How many entries are compared when one has to be evicted.
const CANDIDATES: usize = 8;

/// Eviction counters of a shard, one for each bucket of keys. A record that was read from the disk is thrown away, and
/// read again, if a record of its bucket was evicted since the read began. More buckets mean fewer such repeats.
const BUCKETS: usize = 16;

/// A record, and what its readers must wait for.
pub(crate) struct Entry<V> {
    /// The record. `None` once it has ended: the entry then stays as a marker until the end is durable, because until
    /// then the disk still has the record.
    pub(crate) value: Option<V>,
    /// The last change of the record. No answer that rests on the record is sent before this is durable.
    pub(crate) commit: CommitNumber,
    /// When it was last used.
    pub(crate) used_at: Timestamp,
}

impl<V> Entry<V> {
    /// Ends the record. The entry stays as a marker, so that the older record is not loaded from the disk again.
    pub(crate) fn end(&mut self, commit: CommitNumber) -> Option<V> {
        self.commit = commit;
        self.value.take()
    }
}

/// When a record ends by itself.
pub(crate) trait Ends {
    /// From this time on the record has ended.
    fn ends_at(&self) -> Timestamp;
}

/// The records of one shard.
pub(crate) struct Resident<V> {
    /// The records side by side in one vector, and a hash table of their places in it. A hash table of the records
    /// themselves would take twice the memory, because half of it is empty whenever it has just grown.
    entries: IndexMap<Key, Entry<V>, DefaultHashBuilder>,
    /// Where the next search for an entry to evict begins.
    hand: usize,
    /// Number of evictions from memory, by bucket of keys. A record that was read from the disk before an eviction may
    /// be older than the record that was evicted.
    evictions: [u64; BUCKETS],
    /// No record ends before this time.
    first_end: Timestamp,
    /// Whether an entry was handed out for changes since the last sweep: its record may have ended, or may end earlier.
    handed_out: bool,
}

impl<V> Default for Resident<V> {
    fn default() -> Self {
        Self {
            entries: IndexMap::default(),
            hand: 0,
            evictions: [0; BUCKETS],
            first_end: Timestamp::FOREVER,
            handed_out: false,
        }
    }
}

/// The free place of a key that is not in memory.
pub(crate) struct Vacancy<'a, V> {
    place: VacantEntry<'a, Key, Entry<V>>,
    first_end: &'a mut Timestamp,
    /// As in [`Known::Absent`].
    pub(crate) evictions: u64,
}

impl<V: Ends> Vacancy<'_, V> {
    /// Puts a new record there.
    pub(crate) fn put(self, value: V, commit: CommitNumber, now: Timestamp) {
        *self.first_end = value.ends_at().min(*self.first_end);
        self.place.insert(Entry { value: Some(value), commit, used_at: now });
    }
}

/// What memory knows of a key.
pub(crate) enum Known<'a, V> {
    /// The record is in memory.
    Live(&'a mut Entry<V>),
    /// The record has ended: the change to wait for.
    Ended(CommitNumber),
    /// The key is not in memory, so the disk has to be read. Holds the number of evictions in the key's bucket, with
    /// which the record from the disk is [put](Resident::loaded).
    Absent(u64),
}

impl<V: Ends> Resident<V> {
    pub(crate) fn get(&mut self, key: &Key) -> Known<'_, V> {
        let evictions = *self.evictions_of(key);
        match self.entries.get_mut(key) {
            None => Known::Absent(evictions),
            Some(entry) if entry.value.is_none() => Known::Ended(entry.commit),
            Some(entry) => {
                self.handed_out = true;
                Known::Live(entry)
            }
        }
    }

    /// The place for a new record; or, if the key is in memory, the last change of its entry.
    pub(crate) fn vacancy(&mut self, key: Key) -> Result<Vacancy<'_, V>, CommitNumber> {
        let evictions = *self.evictions_of(&key);
        match self.entries.entry(key) {
            map::Entry::Vacant(place) => Ok(Vacancy { place, first_end: &mut self.first_end, evictions }),
            map::Entry::Occupied(taken) => Err(taken.get().commit),
        }
    }

    /// Puts a changed or new record.
    pub(crate) fn put(&mut self, key: Key, value: V, commit: CommitNumber, now: Timestamp) {
        self.first_end = value.ends_at().min(self.first_end);
        self.entries.insert(key, Entry { value: Some(value), commit, used_at: now });
    }

    /// Puts a record that was read from the disk. Does nothing if the key is in memory by now, or if its bucket has had
    /// more than `evictions` evictions: then a newer record may have been evicted after the disk was read. The caller
    /// looks again, and reads the disk again if need be.
    pub(crate) fn loaded(&mut self, key: Key, value: V, evictions: u64, now: Timestamp) {
        if !self.entries.contains_key(&key) && *self.evictions_of(&key) == evictions {
            self.put(key, value, CommitNumber::LOADED, now);
        }
    }

    /// Drops durable markers, and durable records that ended at or before `until`; returns how many. If there can be
    /// none, looks at no entry.
    pub(crate) fn sweep(&mut self, durable: impl Fn(CommitNumber) -> bool, until: Timestamp) -> u64 {
        if !self.handed_out && self.first_end > until {
            return 0;
        }
        let before = self.entries.len();
        (self.first_end, self.handed_out) = (Timestamp::FOREVER, false);
        // Backwards, because the last entry takes the place of a removed one.
        for place in (0..before).rev() {
            let Some((_, entry)) = self.entries.get_index(place) else { continue };
            // A marker may go at once.
            let end = entry.value.as_ref().map_or(until, Ends::ends_at);
            if end <= until && durable(entry.commit) {
                self.drop_at(place);
            } else {
                self.first_end = end.min(self.first_end);
            }
        }
        if self.entries.capacity() > 4 * self.entries.len() + 64 {
            self.entries.shrink_to_fit();
        }
        (before - self.entries.len()) as u64
    }

    /// If there are `most` entries or more, evicts one: of the next few, the least recently used one that is durable.
    /// The search continues where the last one stopped, so that every entry is compared from time to time. To be
    /// called before a record is put, never between reading the disk and [`loaded`](Self::loaded).
    pub(crate) fn make_room(&mut self, most: usize, durable: impl Fn(CommitNumber) -> bool) {
        if self.entries.len() < most {
            return;
        }
        let mut least: Option<(Timestamp, usize)> = None;
        for _ in 0..CANDIDATES.min(self.entries.len()) {
            let place = if self.hand < self.entries.len() { self.hand } else { 0 };
            self.hand = place + 1;
            let Some((_, entry)) = self.entries.get_index(place) else { break };
            if durable(entry.commit) && least.is_none_or(|(used_at, _)| entry.used_at < used_at) {
                least = Some((entry.used_at, place));
            }
        }
        if let Some((_, place)) = least {
            self.drop_at(place);
        }
    }

    fn drop_at(&mut self, place: usize) {
        if let Some((key, _)) = self.entries.swap_remove_index(place) {
            *self.evictions_of(&key) += 1;
        }
    }

    fn evictions_of(&mut self, key: &Key) -> &mut u64 {
        counter_of(&mut self.evictions, key)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// The counter of a key's bucket. The bucket comes from the key's last byte, because the first bytes may be a time,
/// which is the same for many keys.
fn counter_of<'a>(counters: &'a mut [u64; BUCKETS], key: &Key) -> &'a mut u64 {
    let [.., last] = key;
    // `others` has one counter fewer than there are buckets; the highest remainder therefore gets `first`.
    let [first, others @ ..] = counters;
    others.get_mut(usize::from(*last) % BUCKETS).unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1);

    /// A record that never ends.
    impl Ends for &str {
        fn ends_at(&self) -> Timestamp {
            Timestamp::FOREVER
        }
    }

    /// A record that ends at the time that it is.
    impl Ends for Timestamp {
        fn ends_at(&self) -> Timestamp {
            *self
        }
    }

    #[test]
    fn a_sweep_finds_what_is_over_whenever_it_came() {
        let at = Timestamp::from_millis;
        let mut shard = Resident::default();
        shard.put([5; 16], at(50), CommitNumber::LOADED, NOW);
        for (key, end) in [(3, 30), (9, 90)] {
            let Ok(vacancy) = shard.vacancy([key; 16]) else { panic!("nothing is here yet") };
            vacancy.put(at(end), CommitNumber::LOADED, NOW);
        }
        assert_eq!([29, 30, 49].map(|until| shard.sweep(|_| true, at(until))), [0, 1, 0]);
        // What is not durable stays, and the next sweep looks at it again.
        assert_eq!(shard.sweep(|_| false, at(60)), 0);
        shard.loaded([7; 16], at(55), 0, NOW);
        assert_eq!(shard.sweep(|_| true, at(60)), 2);
        // While a record is handed out, it may end, or its end may come nearer.
        for end in [Some(at(70)), None] {
            shard.put([9; 16], at(90), CommitNumber::LOADED, NOW);
            let Known::Live(entry) = shard.get(&[9; 16]) else { panic!("it is here") };
            entry.value = end;
            assert_eq!([70, 70].map(|until| shard.sweep(|_| true, at(until))), [1, 0]);
        }
    }

    #[test]
    fn a_record_read_before_an_eviction_is_not_put() {
        let mut shard = Resident::default();
        let Known::Absent(evictions) = shard.get(&[1; 16]) else { panic!("nothing is here yet") };
        shard.put([1; 16], "newer", CommitNumber::LOADED, NOW);
        shard.make_room(1, |_| true);
        assert_eq!(shard.len(), 0);
        shard.loaded([1; 16], "older", evictions, NOW);
        assert!(matches!(shard.get(&[1; 16]), Known::Absent(_)));
    }

    #[test]
    fn a_record_is_loaded_into_a_full_shard_and_the_least_used_makes_room() {
        let mut shard = Resident::default();
        for n in 0..8_u8 {
            let used_at = Timestamp::from_millis(if n == 5 { 1 } else { 10 + u64::from(n) });
            shard.put([n; 16], "here", CommitNumber::LOADED, used_at);
        }
        let Known::Absent(_) = shard.get(&[9; 16]) else { panic!("nothing is here yet") };
        shard.make_room(8, |_| true);
        let Known::Absent(evictions) = shard.get(&[9; 16]) else { panic!("nothing is here yet") };
        shard.loaded([9; 16], "loaded", evictions, NOW);
        assert!(matches!(shard.get(&[9; 16]), Known::Live(_)));
        assert!(matches!(shard.get(&[5; 16]), Known::Absent(_)));
        assert_eq!(shard.len(), 8);
        // An entry that is not durable stays, however old.
        shard.make_room(8, |_| false);
        assert_eq!(shard.len(), 8);
        for _ in 0..8 {
            shard.make_room(1, |_| true);
        }
        assert_eq!(shard.len(), 0);
    }

    #[test]
    fn a_place_is_vacant_until_a_record_was_put_and_again_once_it_is_gone() {
        let mut shard = Resident::default();
        let Ok(vacancy) = shard.vacancy([1; 16]) else { panic!("nothing is here yet") };
        vacancy.put("here", CommitNumber::LOADED, NOW);
        assert_eq!(shard.vacancy([1; 16]).err(), Some(CommitNumber::LOADED));
        let Known::Live(entry) = shard.get(&[1; 16]) else { panic!("it is here") };
        entry.end(CommitNumber::LOADED);
        assert_eq!(shard.vacancy([1; 16]).err(), Some(CommitNumber::LOADED), "ended, but known");
        shard.sweep(|_| true, NOW);
        assert!(shard.vacancy([1; 16]).is_ok());
    }

    #[test]
    fn an_ended_record_is_not_loaded_again() {
        let mut shard = Resident::default();
        shard.put([1; 16], "live", CommitNumber::LOADED, NOW);
        let Known::Live(entry) = shard.get(&[1; 16]) else { panic!("it is here") };
        assert_eq!(entry.end(CommitNumber::LOADED), Some("live"));
        shard.loaded([1; 16], "from disk", 0, NOW);
        assert!(matches!(shard.get(&[1; 16]), Known::Ended(_)));
        shard.sweep(|_| true, NOW);
        shard.loaded([1; 16], "from disk", 0, NOW);
        assert!(matches!(shard.get(&[1; 16]), Known::Absent(_)));
    }
}
