//! A clock that stands still until the test moves it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use symbolon_app::clock::Clock;
use symbolon_protocol::time::Timestamp;

/// A clock that the test sets. It starts at 2026-01-01.
pub struct TestClock(AtomicU64);

impl Default for TestClock {
    fn default() -> Self {
        Self(AtomicU64::new(1_767_225_600_000))
    }
}

impl TestClock {
    /// A clock that starts at this many milliseconds since 1970-01-01T00:00:00Z.
    pub fn at(millis: u64) -> Self {
        Self(AtomicU64::new(millis))
    }

    /// Lets time pass.
    pub fn advance(&self, span: Duration) {
        let millis = u64::try_from(span.as_millis()).expect("a span of a test");
        self.0.fetch_add(millis, Ordering::SeqCst);
    }

    /// Sets the clock back. A running server's clock never runs backwards: only for a stopped one.
    pub fn set_back(&self, span: Duration) {
        let millis = u64::try_from(span.as_millis()).expect("a span of a test");
        self.0.fetch_sub(millis, Ordering::SeqCst);
    }
}

impl TestClock {
    /// Steps the clock back, which the server's own clock never does.
    pub fn step_back(&self, span: Duration) {
        let millis = u64::try_from(span.as_millis()).expect("a span of a test");
        self.0.fetch_sub(millis, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}
