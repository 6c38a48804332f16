//! A read-through cache of records that is never stale.
//!
//! A reader that asked the database before a write's commit has the older record. If it put that record into the cache
//! after the commit, the record would stay there. So drops are counted: a reader notes the count before it asks the
//! database, and its record is put only if nothing was dropped since.
//!
//! Between a commit and its announcement, some readers would get the newer record from the database and others the
//! older one from the cache. So a write [holds](RecordCache::hold) the entry from before its commit until the
//! announcement: the entry is dropped, and nothing is put in its place. Therefore a caller who has seen the newer
//! record never gets the older one. A write of another process cannot hold entries here: its entry is dropped when the
//! announcement arrives.

mod copies;
mod records;

use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use parking_lot::Mutex;
use quick_cache::sync::Cache;
use quick_cache::{Equivalent, Weighter};
use smol_str::SmolStr;
use symbolon_figures::{CacheFigures, ShardFigures};
use symbolon_protocol::id::IssuerId;

use crate::StoreError;
use copies::Copies;

pub use records::RecordCaches;

/// Counters of dropped entries. Entries whose names hash to the same counter share it. A reader that asked the database
/// puts its record into the cache only if its counter did not change meanwhile. If another entry of the counter was
/// dropped, the record is not put either, and the next reader asks the database once more.
const COUNTERS: usize = 64;

#[derive(Clone, PartialEq, Eq, Hash)]
struct Name {
    issuer: IssuerId,
    id: SmolStr,
}

/// A [`Name`] to look up, without owning it.
#[derive(Hash)]
struct Probe<'a> {
    issuer: &'a IssuerId,
    id: &'a str,
}

impl Equivalent<Name> for Probe<'_> {
    fn equivalent(&self, name: &Name) -> bool {
        self.id == name.id && *self.issuer == name.issuer
    }
}

/// The number of drops before a reader asked the database; the reader passes it back with the record that it read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropsSeen(u64);

#[derive(Default)]
struct Counter {
    drops: u64,
    /// Writes that are not announced yet.
    held: u32,
}

/// While this exists, nothing is put into the entries of its counters, and a record that is read meanwhile is not put
/// later.
#[must_use = "nothing is held once it is gone"]
pub struct Held<'a>(&'a [Mutex<Counter>]);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        for counter in self.0 {
            let mut counter = counter.lock();
            counter.held -= 1;
            counter.drops += 1;
        }
    }
}

/// How much of the cache's capacity a record takes.
struct WeightOf<T>(fn(&T) -> u64);

impl<T> Clone for WeightOf<T> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<T> Weighter<Name, Arc<T>> for WeightOf<T> {
    fn weight(&self, _: &Name, record: &Arc<T>) -> u64 {
        (self.0)(record)
    }
}

/// Records of one kind, by issuer and id.
pub struct RecordCache<T> {
    entries: Cache<Name, Arc<T>, WeightOf<T>>,
    copies: Option<Copies<T>>,
    counters: [Mutex<Counter>; COUNTERS],
    hasher: std::hash::RandomState,
    figures: Arc<CacheFigures>,
}

impl<T> RecordCache<T> {
    /// A cache of at most `capacity` records.
    pub fn new(capacity: usize, figures: Arc<CacheFigures>) -> Self {
        Self::weighed(capacity, |_| 1, figures)
    }

    /// A cache of records whose weights, 1 or more, are `capacity` together at most: for records of which some are much
    /// larger than most.
    pub fn weighed(capacity: usize, weight: fn(&T) -> u64, figures: Arc<CacheFigures>) -> Self {
        Self {
            entries: Cache::with_weighter(capacity, capacity as u64, WeightOf(weight)),
            copies: None,
            counters: std::array::from_fn(|_| Mutex::default()),
            hasher: std::hash::RandomState::new(),
            figures,
        }
    }

    /// The record in the cache that all threads share.
    fn shared(&self, issuer: &IssuerId, id: &str) -> Result<Arc<T>, DropsSeen> {
        let probe = Probe { issuer, id };
        if let Some(record) = self.entries.get(&probe) {
            self.figures.hit();
            return Ok(record);
        }
        self.figures.miss();
        Err(DropsSeen(self.counter(&probe).lock().drops))
    }

    /// Puts a record from the database, unless the entry is held, or was dropped since `seen`.
    pub fn put(&self, issuer: &IssuerId, id: &str, record: Arc<T>, seen: DropsSeen) {
        // Locked during the insertion: a drop either comes before, and is seen here, or comes after, and finds the
        // entry.
        let counter = self.counter(&Probe { issuer, id }).lock();
        if counter.drops == seen.0 && counter.held == 0 {
            self.entries.insert(Name { issuer: issuer.clone(), id: SmolStr::new(id) }, record);
        }
    }

    /// Drops an entry, and keeps it from being put again while a write of its record is under way. The other entries of
    /// its counter cannot be put meanwhile either.
    pub fn hold(&self, issuer: &IssuerId, id: &str) -> Held<'_> {
        let probe = Probe { issuer, id };
        let held = Self::held(std::slice::from_ref(self.counter(&probe)));
        self.entries.remove(&probe);
        self.forget_copies();
        held
    }

    /// Drops the entries of an issuer, and keeps any entry from being put while the write is under way.
    pub fn hold_issuer(&self, issuer: &IssuerId) -> Held<'_> {
        let held = Self::held(&self.counters);
        self.entries.retain(|name, _| name.issuer != *issuer);
        self.forget_copies();
        held
    }

    fn held(counters: &[Mutex<Counter>]) -> Held<'_> {
        for counter in counters {
            counter.lock().held += 1;
        }
        Held(counters)
    }

    /// Drops every entry, and keeps out the records that are being read from the database at this moment.
    pub fn drop_all(&self) {
        // Counted before the entries are removed: a reader that began earlier finds its counter changed, and puts
        // nothing.
        for counter in &self.counters {
            counter.lock().drops += 1;
        }
        self.entries.clear();
        self.forget_copies();
    }

    fn forget_copies(&self) {
        if let Some(copies) = &self.copies {
            copies.forget();
        }
    }

    fn counter(&self, probe: &Probe<'_>) -> &Mutex<Counter> {
        let index = self.hasher.hash_one(probe) as usize % COUNTERS;
        // The index is a remainder by COUNTERS, so it always finds a counter; `first` is never used instead.
        let [first, ..] = &self.counters;
        self.counters.get(index).unwrap_or(first)
    }
}

impl<T: Clone> RecordCache<T> {
    /// With copies for each thread: for records of which a few are read all the time.
    #[must_use]
    pub fn with_copies(self) -> Self {
        Self { copies: Some(Copies::new()), ..self }
    }

    /// The record from the cache, else from the database by `read`; `read` is called only then, and its record is
    /// cached.
    ///
    /// Hits are counted here as operations of the record's kind; `read` counts itself.
    ///
    /// # Errors
    /// Those of `read`.
    pub async fn read_through<F>(
        &self,
        issuer: &IssuerId,
        id: &str,
        operations: &ShardFigures,
        read: impl FnOnce() -> F,
    ) -> Result<Option<Arc<T>>, StoreError>
    where
        F: Future<Output = Result<Option<T>, StoreError>>,
    {
        let seen = match self.get(issuer, id) {
            Ok(record) => {
                operations.hit(0);
                return Ok(Some(record));
            }
            Err(seen) => seen,
        };
        let Some(record) = read().await?.map(Arc::new) else { return Ok(None) };
        self.put(issuer, id, Arc::clone(&record), seen);
        Ok(Some(record))
    }

    /// The record, or the number of drops with which to [put](Self::put) it once it was read.
    pub fn get(&self, issuer: &IssuerId, id: &str) -> Result<Arc<T>, DropsSeen> {
        let Some(copies) = &self.copies else { return self.shared(issuer, id) };
        match copies.get(issuer, id) {
            Ok(record) => {
                self.figures.hit();
                Ok(record)
            }
            Err(changes) => self.shared(issuer, id).map(|record| copies.put(issuer, id, &record, changes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use symbolon_figures::StoreFigures;

    use super::*;

    fn cache() -> (RecordCache<&'static str>, Arc<StoreFigures>, IssuerId) {
        let figures = Arc::new(StoreFigures::new());
        (RecordCache::new(100, figures.cache("test")), figures, IssuerId::default_issuer())
    }

    #[test]
    fn a_record_read_before_a_drop_is_not_put_after_it() {
        let (cache, figures, issuer) = cache();
        let before = cache.get(&issuer, "a").unwrap_err();
        drop(cache.hold(&issuer, "a"));
        cache.put(&issuer, "a", Arc::new("older"), before);
        let after = cache.get(&issuer, "a").unwrap_err();
        cache.put(&issuer, "a", Arc::new("newer"), after);
        assert_eq!(*cache.get(&issuer, "a").unwrap(), "newer");
        let seen = figures.snapshot().caches[0];
        assert_eq!((seen.hits, seen.misses), (1, 2));
    }

    #[test]
    fn an_issuer_is_dropped_with_what_is_being_read() {
        let (cache, _, issuer) = cache();
        let other = IssuerId::parse("other").unwrap();
        for (issuer, id) in [(&issuer, "a"), (&issuer, "b"), (&other, "a")] {
            let seen = cache.get(issuer, id).unwrap_err();
            cache.put(issuer, id, Arc::new("here"), seen);
        }
        let before = cache.get(&issuer, "c").unwrap_err();
        drop(cache.hold_issuer(&issuer));
        cache.put(&issuer, "c", Arc::new("older"), before);
        for id in ["a", "b", "c"] {
            assert!(cache.get(&issuer, id).is_err(), "{id}");
        }
        assert!(cache.get(&other, "a").is_ok());
        let before = cache.get(&issuer, "c").unwrap_err();
        cache.drop_all();
        cache.put(&issuer, "c", Arc::new("older"), before);
        assert!(cache.get(&issuer, "c").is_err() && cache.get(&other, "a").is_err());
    }

    #[test]
    fn nothing_is_put_while_a_write_is_on_its_way() {
        let (cache, _, issuer) = cache();
        let put = |record| {
            let seen = cache.get(&issuer, "a").unwrap_err();
            cache.put(&issuer, "a", Arc::new(record), seen);
        };
        let hold = |all| if all { cache.hold_issuer(&issuer) } else { cache.hold(&issuer, "a") };
        for all in [false, true] {
            let before = cache.get(&issuer, "a").unwrap_err();
            let (first, second) = (hold(all), hold(all));
            put("older");
            drop(first);
            put("older");
            let meanwhile = cache.get(&issuer, "a").unwrap_err();
            drop(second);
            for seen in [before, meanwhile] {
                cache.put(&issuer, "a", Arc::new("older"), seen);
            }
            put("newer");
            assert_eq!(*cache.get(&issuer, "a").unwrap(), "newer");
            let held = hold(all);
            assert!(cache.get(&issuer, "a").is_err(), "what is there goes");
            drop(held);
        }
    }

    #[test]
    fn a_copy_is_given_out_until_anything_changes() {
        let (cache, figures, issuer) = cache();
        let cache = cache.with_copies();
        let put = |record| {
            let seen = cache.get(&issuer, "a").unwrap_err();
            cache.put(&issuer, "a", Arc::new(record), seen);
        };
        put("first");
        let copy = cache.get(&issuer, "a").unwrap();
        assert!(Arc::ptr_eq(&copy, &cache.get(&issuer, "a").unwrap()));
        assert!(!Arc::ptr_eq(&copy, &cache.shared(&issuer, "a").unwrap()));
        let changes: [&dyn Fn(); 3] =
            [&|| cache.drop_all(), &|| drop(cache.hold(&issuer, "a")), &|| drop(cache.hold_issuer(&issuer))];
        for change in changes {
            assert_eq!(*cache.get(&issuer, "a").unwrap(), "first");
            change();
            assert!(cache.get(&issuer, "a").is_err());
            put("first");
        }
        // A record that was requested before a change makes no copy that outlives the change.
        let copies = cache.copies.as_ref().unwrap();
        drop(cache.hold(&issuer, "b"));
        let Err(before) = copies.get(&issuer, "a") else { panic!("a copy outlived a change") };
        drop(cache.hold(&issuer, "a"));
        copies.put(&issuer, "a", &"older", before);
        assert!(cache.get(&issuer, "a").is_err());
        put("newer");
        assert_eq!(*cache.get(&issuer, "a").unwrap(), "newer");
        assert!(cache.get(&IssuerId::parse("other").unwrap(), "a").is_err(), "another issuer's");
        let seen = figures.snapshot().caches[0];
        assert_eq!(seen.hits, 7);
    }

    #[test]
    fn large_records_leave_room_for_fewer() {
        let figures = StoreFigures::new();
        let issuer = IssuerId::default_issuer();
        let cache: RecordCache<u64> = RecordCache::weighed(10_000, |weight| *weight, figures.cache("test"));
        let kept = |weight: u64| {
            cache.drop_all();
            let ids: Vec<String> = (0..10_000).map(|id| id.to_string()).collect();
            for id in &ids {
                let seen = cache.get(&issuer, id).unwrap_err();
                cache.put(&issuer, id, Arc::new(weight), seen);
            }
            ids.iter().filter(|id| cache.get(&issuer, id).is_ok()).count()
        };
        assert!((5_000..=10_000).contains(&kept(1)));
        // The cache is divided, and each part may be a little too large or too small.
        assert!((500..=1_100).contains(&kept(10)));
    }

    #[test]
    fn issuers_do_not_share_entries() {
        let (cache, _, issuer) = cache();
        let other = IssuerId::parse("other").unwrap();
        let seen = cache.get(&issuer, "a").unwrap_err();
        cache.put(&issuer, "a", Arc::new("mine"), seen);
        assert!(cache.get(&other, "a").is_err());
        drop(cache.hold(&other, "a"));
        assert!(cache.get(&issuer, "a").is_ok());
    }
}
