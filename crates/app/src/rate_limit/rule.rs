//! One limit: a burst of so many requests, refilled evenly over a period.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use symbolon_config::Rate;

/// A limit in nanoseconds: each request adds `interval` to the debt of its key, and the debt may reach `burst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) interval: u64,
    pub(super) burst: u64,
}

/// The highest debt that [`charge`](super::table::Table::charge) builds up, so that every delay ends.
const MOST_OWED: u64 = Duration::from_secs(15 * 60).as_nanos() as u64;

impl Rule {
    /// The cap on a key's debt, however much is counted.
    pub(super) fn most_owed(self) -> u64 {
        self.burst.saturating_mul(2).max(MOST_OWED)
    }

    /// The same limit for so many times as many requests.
    pub(super) fn times(self, factor: u64) -> Self {
        Self { interval: (self.interval / factor).max(1), ..self }
    }
}

/// A rule that can be replaced while it is read. Reading is one atomic load.
///
/// The upper half holds the number of requests, the lower half the period in seconds; 0 means no limit.
#[derive(Debug, Default)]
pub(super) struct RuleCell(AtomicU64);

impl RuleCell {
    /// Sets the limit; `None` removes it.
    pub(super) fn set(&self, rate: Option<Rate>) {
        let packed = rate.map_or(0, |rate| {
            let seconds = u32::try_from(rate.per.as_secs()).unwrap_or(u32::MAX).max(1);
            u64::from(rate.count) << 32 | u64::from(seconds)
        });
        self.0.store(packed, Ordering::Relaxed);
    }

    /// The limit, if there is one.
    #[inline]
    pub(super) fn get(&self) -> Option<Rule> {
        let packed = self.0.load(Ordering::Relaxed);
        let count = packed >> 32;
        if count == 0 {
            return None;
        }
        // At most 2^32 s, so about 136 years: its nanoseconds fit into 64 bits.
        let burst = (packed & u64::from(u32::MAX)) * 1_000_000_000;
        Some(Rule { interval: (burst / count).max(1), burst })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_survives_packing() {
        let cell = RuleCell::default();
        assert_eq!(cell.get(), None);
        cell.set(Some(Rate { count: 2_000, per: Duration::from_secs(1) }));
        assert_eq!(cell.get(), Some(Rule { interval: 500_000, burst: 1_000_000_000 }));
        cell.set(Some(Rate { count: u32::MAX, per: Duration::from_secs(3_600) }));
        assert_eq!(cell.get(), Some(Rule { interval: 838, burst: 3_600_000_000_000 }));
        cell.set(None);
        assert_eq!(cell.get(), None);
    }
}
