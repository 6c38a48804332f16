//! How many bytes the single-use records of one kind take, and how many they may take.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::share::{ShareNumber, Shares};

/// The share of a single issuer, in percent.
const WHOLE: u64 = 100;

/// The bytes of one kind of record and their bound. The store refuses a record beyond the bound, and removes none for it.
///
/// Where there are several issuers, each may take a share of the room at most, so that one cannot fill it for the others.
#[derive(Debug)]
pub struct Room {
    bytes: AtomicU64,
    most: AtomicU64,
    refused: AtomicU64,
    /// The most that one issuer may take of it, in percent.
    share: AtomicU64,
    shares: Shares,
}

impl Room {
    /// A room without bound, for one issuer, and nothing in it.
    pub fn new() -> Self {
        Self {
            bytes: AtomicU64::new(0),
            most: AtomicU64::new(u64::MAX),
            refused: AtomicU64::new(0),
            share: AtomicU64::new(WHOLE),
            shares: Shares::new(),
        }
    }

    /// Sets the most that one issuer may take, in percent; 100 where there is only one.
    pub fn set_share(&self, percent: u64) {
        self.share.store(percent.min(WHOLE), Ordering::Relaxed);
    }

    /// The most that one issuer may take, in percent; `None` where it may take all.
    #[inline]
    pub fn share_percent(&self) -> Option<u64> {
        Some(self.share.load(Ordering::Relaxed)).filter(|share| *share < WHOLE)
    }

    /// The number under which an issuer's bytes are counted.
    pub fn share_of(&self, issuer: &str) -> ShareNumber {
        self.shares.of(issuer)
    }

    /// Follows what an issuer takes, as [`moved`](Self::moved) follows the whole.
    #[inline]
    pub fn moved_of(&self, share: ShareNumber, before: usize, after: usize) {
        self.shares.moved(share, before, after);
    }

    /// Says what an issuer takes now, in bytes.
    pub fn set_bytes_of(&self, share: ShareNumber, bytes: u64) {
        self.shares.set(share, bytes);
    }

    /// What an issuer takes, in bytes.
    pub fn bytes_of(&self, share: ShareNumber) -> u64 {
        self.shares.get(share)
    }

    /// Sets the most that may be taken, in bytes.
    pub fn set_most(&self, bytes: u64) {
        self.most.store(bytes, Ordering::Relaxed);
    }

    /// Says what is taken now, in bytes.
    pub fn set_bytes(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Follows what one part of it takes, which was `before` and is `after` now, in bytes. Nothing is written where the
    /// two are the same.
    #[inline]
    pub fn moved(&self, before: usize, after: usize) {
        if before != after {
            // Modulo 2^64, so that a difference below zero takes away.
            self.bytes.fetch_add((after as u64).wrapping_sub(before as u64), Ordering::Relaxed);
        }
    }

    /// Counts a refusal.
    pub fn refuse(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether an issuer takes less than it may.
    #[inline]
    pub fn is_within_share(&self, share: ShareNumber) -> bool {
        let most = self.most.load(Ordering::Relaxed);
        self.share_percent().is_none_or(|percent| self.bytes_of(share) < most / WHOLE * percent)
    }

    /// Whether there is room for one more of an issuer.
    #[inline]
    pub fn is_free(&self, share: ShareNumber) -> bool {
        self.bytes.load(Ordering::Relaxed) < self.most.load(Ordering::Relaxed) && self.is_within_share(share)
    }

    /// Whether there is room for one more of an issuer; if not, that is counted as a refusal.
    #[inline]
    pub fn admits(&self, share: ShareNumber) -> bool {
        let is_free = self.is_free(share);
        if !is_free {
            self.refuse();
        }
        is_free
    }

    /// Whether so many percent of it are taken: what may wait is refused from then on, so that the rest stays for what may not.
    pub fn is_taken_to(&self, percent: u64) -> bool {
        let most = self.most.load(Ordering::Relaxed);
        self.bytes.load(Ordering::Relaxed) >= most / 100 * percent.min(100)
    }

    /// Everything as of now.
    pub fn snapshot(&self) -> RoomSnapshot {
        RoomSnapshot {
            bytes: self.bytes.load(Ordering::Relaxed),
            most: self.most.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }
}

impl Default for Room {
    fn default() -> Self {
        Self::new()
    }
}

/// A [`Room`] at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoomSnapshot {
    /// What is taken, in bytes.
    pub bytes: u64,
    /// The most that may be taken, in bytes; [`u64::MAX`] is no bound.
    pub most: u64,
    /// How often there was none for one more.
    pub refused: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_follows_what_is_taken_and_given_back() {
        let room = Room::new();
        room.moved(0, 100);
        assert!(room.admits(ShareNumber::NOBODY));
        room.set_most(100);
        assert!(!room.admits(ShareNumber::NOBODY));
        room.moved(100, 40);
        assert!(room.admits(ShareNumber::NOBODY));
        assert_eq!(room.snapshot(), RoomSnapshot { bytes: 40, most: 100, refused: 1 });
    }

    #[test]
    fn one_of_several_issuers_takes_its_share_and_a_single_one_everything() {
        let room = Room::new();
        let (one, other) = (room.share_of("one"), room.share_of("other"));
        room.set_most(1_000);
        room.moved(0, 500);
        room.moved_of(one, 0, 500);
        assert!(room.admits(one), "it is alone");
        room.set_share(50);
        assert!(!room.admits(one));
        assert!(room.admits(other));
        room.moved_of(one, 1, 0);
        assert!(room.admits(one));
        assert_eq!(room.snapshot().refused, 1);
        room.moved(500, 1_000);
        assert!(!room.admits(other), "a share is no promise of room");
    }
}
