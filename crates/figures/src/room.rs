//! How many bytes the single-use records of one kind take, and how many they may take.

use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes of one kind of record and their bound. The store refuses a record beyond the bound, and removes none for it.
#[derive(Debug)]
pub struct Room {
    bytes: AtomicU64,
    most: AtomicU64,
    refused: AtomicU64,
}

impl Room {
    /// A room without bound, and nothing in it.
    pub const fn new() -> Self {
        Self { bytes: AtomicU64::new(0), most: AtomicU64::new(u64::MAX), refused: AtomicU64::new(0) }
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

    /// Whether there is room for one more; if not, that is counted as a refusal.
    #[inline]
    pub fn admits(&self) -> bool {
        let is_free = self.bytes.load(Ordering::Relaxed) < self.most.load(Ordering::Relaxed);
        if !is_free {
            self.refuse();
        }
        is_free
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
        assert!(room.admits());
        room.set_most(100);
        assert!(!room.admits());
        room.moved(100, 40);
        assert!(room.admits());
        assert_eq!(room.snapshot(), RoomSnapshot { bytes: 40, most: 100, refused: 1 });
    }
}
