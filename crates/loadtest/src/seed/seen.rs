//! What a provider handed out lately, so that the same once more is noticed.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// Places in which a value may stand: a value is forgotten when so many others came to the same ones after it.
const WAYS: usize = 4;
/// Groups of places. With 4 ways and 64-bit digests this is 8 MiB, for about a million values.
const GROUPS: usize = 1 << 18;

/// How much of a value's end is looked at.
const TAIL: usize = 64;

/// A memory of codes and tokens, shared by all connections. It knows values by digests of 64 bits, of which two are the same
/// by accident once in 10¹³ pairs; and it forgets the oldest, so that a run of any length fits.
pub struct Seen {
    hasher: RandomState,
    digests: Box<[AtomicU64]>,
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            digests: std::iter::repeat_with(AtomicU64::default).take(GROUPS * WAYS).collect(),
        }
    }
}

impl Seen {
    /// Remembers a value. Whether it was not known.
    pub fn is_new(&self, value: &str) -> bool {
        // The end of a signed token is its signature, which no two have in common.
        let end = value.as_bytes().get(value.len().saturating_sub(TAIL)..).unwrap_or_default();
        let digest = self.hasher.hash_one(end).max(1);
        let group = usize::try_from(digest).unwrap_or(0) % GROUPS * WAYS;
        let Some(group) = self.digests.get(group..group + WAYS) else { return true };
        // Each place hands its value on to the next, so that the oldest falls out.
        let mut handed = digest;
        for place in group {
            handed = place.swap(handed, Ordering::Relaxed);
            if handed == digest {
                return false;
            }
            if handed == 0 {
                return true;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_once_more_is_known_for_long() {
        let seen = Seen::default();
        let value = |number: u32| format!("code-{number}");
        assert!((0..100_000).all(|number| seen.is_new(&value(number))));
        let known = (0..100_000).filter(|number| !seen.is_new(&value(*number))).count();
        // Where two fall to one place by chance, the earlier one is forgotten: how many depends on the hasher's random keys.
        assert!(known > 99_500, "{known}");
        assert!(!seen.is_new(&value(99_999)));
    }

    #[test]
    fn it_forgets_rather_than_grows() {
        let seen = Seen::default();
        let new = (0..4_000_000_u32).filter(|number| seen.is_new(&number.to_string())).count();
        assert_eq!(new, 4_000_000);
        assert!(seen.is_new("0"), "it was long ago");
    }
}
