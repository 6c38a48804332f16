//! The groups and roles from which claims are made, and a warning where a user has more than tokens carry.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use symbolon_protocol::entitlement::MOST_HELD;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::time::Timestamp;
use symbolon_telemetry::{Exposition, MetricSource, MetricType};

/// The shortest interval between two warnings, whoever they are about.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// Counts how often claims were made from entitlements that are [cut](symbolon_protocol::entitlement::Entitlements::is_cut).
#[derive(Default)]
pub(crate) struct CutEntitlements {
    total: AtomicU64,
    warned: Mutex<Warned>,
}

/// The last warning.
#[derive(Default)]
struct Warned {
    at: Option<Timestamp>,
    /// The total at that time.
    total: u64,
}

impl CutEntitlements {
    /// Counts one, and warns if a warning is due.
    #[cold]
    pub(crate) fn tell(&self, issuer: &IssuerId, user: &UserId, now: Timestamp) {
        if let Some(times) = self.note(now) {
            tracing::warn!(
                issuer = issuer.as_str(),
                user = user.as_str(),
                times,
                "a user has more than {MOST_HELD} groups or roles: those beyond, in the order of their names, are left \
                 out of tokens"
            );
        }
    }

    /// Counts one. If a warning is due, returns how many there were since the last one.
    fn note(&self, now: Timestamp) -> Option<u64> {
        let total = self.total.fetch_add(1, Ordering::Relaxed) + 1;
        let mut warned = self.warned.lock();
        if warned.at.is_some_and(|at| now.since(at) < WARN_EVERY) {
            return None;
        }
        // Another thread may have counted later and warned earlier.
        let since = total.saturating_sub(warned.total).max(1);
        *warned = Warned { at: Some(now), total };
        Some(since)
    }
}

impl MetricSource for CutEntitlements {
    fn expose(&self, page: &mut Exposition) {
        let help = "Answers about users who have more groups or roles than tokens carry.";
        page.family("symbolon_entitlements_cut_total", MetricType::Counter, help);
        page.count(&[], self.total.load(Ordering::Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_comes_once_a_minute_and_says_how_often_it_happened() {
        let cut = CutEntitlements::default();
        let begin = Timestamp::from_seconds(1_800_000_000);
        assert_eq!(cut.note(begin), Some(1));
        for _ in 0..5 {
            assert_eq!(cut.note(begin + WARN_EVERY - Duration::from_millis(1)), None);
        }
        assert_eq!(cut.note(begin + WARN_EVERY), Some(6));
        assert_eq!(cut.note(begin + 3 * WARN_EVERY), Some(1));
        assert_eq!(cut.total.load(Ordering::Relaxed), 8);
    }
}
