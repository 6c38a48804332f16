//! Calls to clients, of which one that does not answer keeps nobody else waiting: few to it are under way at a time, and after
//! failures none for some seconds.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::time::Timestamp;

/// The most calls to one client at a time.
const MOST_AT_ONCE: u32 = 4;
/// The longest pause after a failed call: so soon calls go on when the client is back.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long after its last failure a client is remembered for it: some are gone for good, and are never called again.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(3_600);
/// When a call is tried again for which none was free.
const SOON: Duration = Duration::from_secs(1);

/// How calls to one client went.
#[derive(Default)]
struct Line {
    under_way: u32,
    failures: u32,
    /// Until when none is tried.
    until: Option<Timestamp>,
}

/// A client of an issuer.
pub(super) type Key = (IssuerId, ClientId);

/// The calls of one kind. Only clients with calls under way, or with failures lately, have a line.
#[derive(Default)]
pub(super) struct ClientCalls {
    lines: Mutex<Lines>,
}

#[derive(Default)]
struct Lines {
    of_clients: HashMap<Key, Line>,
    /// When old failures are forgotten next.
    forgets_at: Option<Timestamp>,
}

impl Lines {
    /// Forgets failures of long ago. Looks at all lines, but only once in that time.
    fn forget(&mut self, now: Timestamp) {
        if self.forgets_at.is_none_or(|at| at <= now) {
            let is_recent = |line: &Line| line.until.is_some_and(|until| now < until + FORGOTTEN_AFTER);
            self.of_clients.retain(|_, line| line.under_way > 0 || is_recent(line));
            self.forgets_at = Some(now + FORGOTTEN_AFTER);
        }
    }
}

impl ClientCalls {
    /// Begins a call, unless the client may not be called now; else says when it may.
    pub(super) fn begin<'c>(&'c self, key: &'c Key, now: Timestamp) -> Result<UnderWay<'c>, Timestamp> {
        self.enter(key, now).map(|()| UnderWay { calls: self, key })
    }

    /// Whether a client may be called now; else when it may.
    fn enter(&self, key: &Key, now: Timestamp) -> Result<(), Timestamp> {
        let mut lines = self.lines.lock();
        lines.forget(now);
        let line = lines.of_clients.entry(key.clone()).or_default();
        match line.until.filter(|until| now < *until) {
            Some(until) => Err(until),
            None if line.under_way >= MOST_AT_ONCE => Err(now + SOON),
            None => {
                line.under_way += 1;
                Ok(())
            }
        }
    }

    /// Notes how a call went.
    pub(super) fn note(&self, key: &Key, is_taken: bool, now: Timestamp) {
        let mut lines = self.lines.lock();
        let Some(line) = lines.of_clients.get_mut(key) else { return };
        if is_taken {
            (line.failures, line.until) = (0, None);
        } else {
            line.failures = line.failures.saturating_add(1);
            line.until = Some(now + pause(line.failures));
        }
    }

    fn leave(&self, key: &Key) {
        let mut lines = self.lines.lock();
        if let Some(line) = lines.of_clients.get_mut(key) {
            line.under_way = line.under_way.saturating_sub(1);
            if line.under_way == 0 && line.failures == 0 {
                lines.of_clients.remove(key);
            }
        }
    }
}

/// A call that is under way, until it is dropped.
pub(super) struct UnderWay<'c> {
    calls: &'c ClientCalls,
    key: &'c Key,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.calls.leave(self.key);
    }
}

/// How long nothing is tried after so many failures in a row.
fn pause(failures: u32) -> Duration {
    Duration::from_secs(1).saturating_mul(1 << failures.saturating_sub(1).min(8)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        (IssuerId::default_issuer(), ClientId::trusted("rp"))
    }

    #[test]
    fn few_calls_to_one_client_are_under_way_and_after_failures_none() {
        let calls = ClientCalls::default();
        let now = Timestamp::from_seconds(1_000);
        for _ in 0..MOST_AT_ONCE {
            assert_eq!(calls.enter(&key(), now), Ok(()));
        }
        assert_eq!(calls.enter(&key(), now), Err(now + SOON));
        let other = (IssuerId::default_issuer(), ClientId::trusted("other"));
        assert_eq!(calls.enter(&other, now), Ok(()));
        calls.note(&key(), false, now);
        calls.leave(&key());
        assert_eq!(calls.enter(&key(), now), Err(now + Duration::from_secs(1)));
        let later = now + Duration::from_secs(1);
        assert_eq!(calls.enter(&key(), later), Ok(()));
        calls.note(&key(), false, later);
        assert_eq!(calls.enter(&key(), later), Err(later + Duration::from_secs(2)));
        // When it answers again, and nothing is under way, nothing is kept of it.
        calls.note(&key(), true, later);
        (0..MOST_AT_ONCE).for_each(|_| calls.leave(&key()));
        calls.leave(&other);
        assert!(calls.lines.lock().of_clients.is_empty());
    }

    #[test]
    fn failures_of_long_ago_are_forgotten_and_calls_under_way_are_not() {
        let calls = ClientCalls::default();
        let client = |number: u32| (IssuerId::default_issuer(), ClientId::trusted(format!("rp-{number}")));
        let now = Timestamp::from_seconds(1_000);
        for number in 0..100 {
            assert_eq!(calls.enter(&client(number), now), Ok(()));
            calls.note(&client(number), false, now);
            calls.leave(&client(number));
        }
        assert_eq!(calls.enter(&client(100), now), Ok(()));
        assert_eq!(calls.lines.lock().of_clients.len(), 101);
        let later = now + FORGOTTEN_AFTER + pause(1);
        assert_eq!(calls.enter(&key(), later), Ok(()));
        let left: Vec<Key> = calls.lines.lock().of_clients.keys().cloned().collect();
        assert_eq!(left.len(), 2, "{left:?}");
        assert!(left.contains(&client(100)) && left.contains(&key()), "{left:?}");
        // Whoever failed a moment ago is remembered.
        calls.note(&client(100), false, later);
        calls.leave(&client(100));
        assert_eq!(calls.enter(&client(100), later), Err(later + pause(1)));
    }

    #[test]
    fn a_client_that_is_back_is_noticed_within_half_a_minute() {
        assert_eq!([1, 2, 3, 5, 6, 50].map(|failures| pause(failures).as_secs()), [1, 2, 4, 16, 30, 30]);
    }
}
