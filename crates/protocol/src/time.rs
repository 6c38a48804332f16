//! Points in time, in whole milliseconds of the one injected clock.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The epoch.
    pub const EPOCH: Self = Self(0);
    /// Later than any time that can occur.
    pub const FOREVER: Self = Self(u64::MAX);

    /// From milliseconds since the epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// From whole seconds since the epoch (a JWT's NumericDate, RFC 7519 2).
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Milliseconds since the epoch.
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// Whole seconds since the epoch, rounded down.
    pub const fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// The time from `earlier` to this; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// How long ended state is kept before it may be deleted, because the clocks of two processes may differ by this
/// much.
pub const KEPT_AFTER_END: Duration = Duration::from_secs(15 * 60);
