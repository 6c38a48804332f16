//! Deletes records some time after their end, when fjall rewrites the tables that hold them.

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use fjall::compaction::filter::{
    CompactionFilter, CompactionFilterResult, Context, Factory, ItemAccessor, Verdict,
};

use super::options::UnixMillis;
use super::table::{NEVER, split_value};

/// How long after its end a record is kept, so that a clock that is set forward by up to this much deletes nothing.
pub const GRACE_MILLIS: u64 = 15 * 60 * 1000;

/// Whether a record with this end may be deleted at `now`, both Unix milliseconds.
#[must_use]
pub fn may_be_deleted(end: u64, now: u64) -> bool {
    end != NEVER && end.saturating_add(GRACE_MILLIS) < now
}

/// Makes a filter for every compaction, with the time at its start.
pub(super) struct ExpiryFactory(Now);

struct Now(UnixMillis);

/// The clock is only read: a panic in it leaves no inconsistent state.
impl RefUnwindSafe for Now {}
impl UnwindSafe for Now {}

impl ExpiryFactory {
    pub(super) fn shared(now: UnixMillis) -> Arc<dyn Factory> {
        Arc::new(Self(Now(now)))
    }
}

impl Factory for ExpiryFactory {
    fn name(&self) -> &str {
        "expiry"
    }

    fn make_filter(&self, _: &Context) -> Box<dyn CompactionFilter> {
        Box::new(Expiry { now: (self.0.0)() })
    }
}

struct Expiry {
    now: u64,
}

impl CompactionFilter for Expiry {
    /// `Remove` leaves a tombstone, unlike `Destroy`: an older version of the key in a deeper level, perhaps with a
    /// later end, must not reappear. The tombstone is dropped when it reaches the last level.
    fn filter_item(&mut self, item: ItemAccessor<'_>, _: &Context) -> CompactionFilterResult {
        let value = item.value()?;
        let expired = split_value(&value).is_some_and(|(end, _)| may_be_deleted(end, self.now));
        Ok(if expired { Verdict::Remove } else { Verdict::Keep })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_ended_a_quarter_of_an_hour_ago_may_go() {
        assert!(!may_be_deleted(NEVER, u64::MAX));
        assert!(!may_be_deleted(1_000, 1_000 + GRACE_MILLIS));
        assert!(may_be_deleted(1_000, 1_001 + GRACE_MILLIS));
        assert!(!may_be_deleted(u64::MAX, u64::MAX));
    }
}
