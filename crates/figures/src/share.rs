//! What each issuer takes of a [`Room`](crate::Room).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many issuers have an entry of their own. Those beyond share one.
const OWN: u16 = 1_024;

/// How many entries an issuer may find taken before it goes to the one that is shared.
const TRIED: u16 = 16;

/// The number of an issuer's entry in the shares of one room of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShareNumber(u16);

impl ShareNumber {
    /// Of a record that counts for no issuer.
    pub const NOBODY: Self = Self(0);

    /// The entry of all issuers that have none of their own.
    pub const OTHERS: Self = Self(OWN + 1);

    /// How many numbers there are.
    pub const COUNT: usize = Self::OTHERS.0 as usize + 1;

    /// The number that [`to_u16`](Self::to_u16) returned.
    pub const fn of_u16(number: u16) -> Self {
        Self(number)
    }

    /// As a number below [`COUNT`](Self::COUNT).
    pub const fn to_u16(self) -> u16 {
        self.0
    }

    /// As an index below [`COUNT`](Self::COUNT).
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The bytes that each issuer takes. An issuer is found without a lock, because every record that is stored asks.
#[derive(Debug)]
pub(crate) struct Shares(Box<[Entry]>);

#[derive(Debug, Default)]
struct Entry {
    issuer: OnceLock<Box<str>>,
    bytes: AtomicU64,
}

impl Shares {
    pub(crate) fn new() -> Self {
        Self((0..ShareNumber::COUNT).map(|_| Entry::default()).collect())
    }

    /// The entry of an issuer, which gets one if it has none.
    pub(crate) fn of(&self, issuer: &str) -> ShareNumber {
        let mut hasher = DefaultHasher::new();
        issuer.hash(&mut hasher);
        let first = hasher.finish() % u64::from(OWN);
        for tried in 0..u64::from(TRIED) {
            let number = u16::try_from((first + tried) % u64::from(OWN) + 1).unwrap_or_default();
            let Some(entry) = self.0.get(usize::from(number)) else { break };
            if **entry.issuer.get_or_init(|| issuer.into()) == *issuer {
                return ShareNumber(number);
            }
        }
        ShareNumber::OTHERS
    }

    fn bytes(&self, share: ShareNumber) -> Option<&AtomicU64> {
        self.0.get(share.index()).filter(|_| share != ShareNumber::NOBODY).map(|entry| &entry.bytes)
    }

    /// Follows what an issuer takes; see [`Room::moved`](crate::Room::moved).
    #[inline]
    pub(crate) fn moved(&self, share: ShareNumber, before: usize, after: usize) {
        if let Some(bytes) = self.bytes(share) {
            bytes.fetch_add((after as u64).wrapping_sub(before as u64), Ordering::Relaxed);
        }
    }

    /// Says what an issuer takes now, in bytes.
    pub(crate) fn set(&self, share: ShareNumber, bytes: u64) {
        if let Some(own) = self.bytes(share) {
            own.store(bytes, Ordering::Relaxed);
        }
    }

    /// What an issuer takes, in bytes.
    pub(crate) fn get(&self, share: ShareNumber) -> u64 {
        self.bytes(share).map_or(0, |bytes| bytes.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_issuer_has_its_own_entry_and_those_beyond_share_one() {
        let shares = Shares::new();
        let names: Vec<String> = (0..4_000).map(|number| format!("issuer-{number}")).collect();
        let given: Vec<ShareNumber> = names.iter().map(|name| shares.of(name)).collect();
        let mut own: Vec<u16> =
            given.iter().filter(|share| **share != ShareNumber::OTHERS).map(|share| share.to_u16()).collect();
        assert!(own.len() > usize::from(OWN) * 9 / 10, "only {} have their own", own.len());
        assert!(!own.contains(&ShareNumber::NOBODY.to_u16()));
        own.sort_unstable();
        assert!(own.windows(2).all(|pair| pair[0] != pair[1]), "two have one");
        let again: Vec<ShareNumber> = names.iter().map(|name| shares.of(name)).collect();
        assert_eq!(given, again, "and keep it");
        assert!(given[..100].iter().all(|share| *share != ShareNumber::OTHERS), "while there is room");
    }

    #[test]
    fn what_an_issuer_takes_is_followed_and_nobodys_is_not() {
        let shares = Shares::new();
        let (one, other) = (shares.of("one"), shares.of("other"));
        shares.moved(one, 0, 100);
        shares.moved(one, 40, 0);
        shares.moved(ShareNumber::NOBODY, 0, 100);
        shares.set(other, 7);
        assert_eq!([shares.get(one), shares.get(other), shares.get(ShareNumber::NOBODY)], [60, 7, 0]);
    }
}
