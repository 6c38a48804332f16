//! How a session ends by itself.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};

/// How often a session's last use is written, at most. What is not written counts as no use, so this long is added to the time
/// that a session may be idle: none ends before that time.
pub const USE_WRITTEN_EVERY: Duration = Duration::from_secs(60);

/// How long after it ended by itself a session is kept whose clients are to be told, so that they are, although no process was
/// there when it ended.
pub const TOLD_WITHIN: Duration = Duration::from_secs(86_400);

/// The bits that hold seconds; the one above says whether clients are told.
const SECONDS: u32 = u32::MAX >> 1;

/// How a session ends by itself, besides at the end of its longest life. In four bytes, because there are millions of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
pub struct EndByTime(u32);

impl From<u32> for EndByTime {
    fn from(packed: u32) -> Self {
        Self(packed)
    }
}

impl From<EndByTime> for u32 {
    fn from(end: EndByTime) -> Self {
        end.0
    }
}

impl EndByTime {
    /// Of a session that ends when it was not used for `idle`, in whole seconds; if that is zero, it may be idle as long as it
    /// likes.
    #[must_use]
    pub fn after_idle(idle: Duration) -> Self {
        Self(u32::try_from(idle.as_secs()).unwrap_or(SECONDS).min(SECONDS))
    }

    /// How long it may be unused; `None`: as long as it lives.
    #[must_use]
    pub fn idle(self) -> Option<Duration> {
        let seconds = self.0 & SECONDS;
        (seconds != 0).then(|| Duration::from_secs(seconds.into()))
    }

    /// The same, and its clients are told.
    #[must_use]
    pub fn told(self) -> Self {
        Self(self.0 | !SECONDS)
    }

    /// Whether one of its clients at least is to be told when it ends by itself (OpenID Connect Back-Channel Logout 1.0).
    #[must_use]
    pub fn is_told(self) -> bool {
        self.0 & !SECONDS != 0
    }

    /// Whether somebody must look when it ends by itself: to tell its clients, or to end what hangs on one that is idle, whose own
    /// time does not end with it.
    #[must_use]
    pub fn is_looked_at(self) -> bool {
        self.0 != 0
    }

    /// Whether it ends at the end of its longest life alone, and nobody is told.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        !self.is_looked_at()
    }
}

/// Reads a last field that records of earlier versions lack.
pub(super) fn at_the_end<'de, D: Deserializer<'de>>(deserializer: D) -> Result<EndByTime, D::Error> {
    if deserializer.is_human_readable() {
        return EndByTime::deserialize(deserializer);
    }
    Ok(EndByTime::deserialize(deserializer).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_kept_and_none_means_never() {
        assert_eq!(EndByTime::after_idle(Duration::ZERO), EndByTime::default());
        assert_eq!(EndByTime::default().idle(), None);
        for seconds in [1, 1_800, 31_536_000, u64::from(SECONDS)] {
            let idle = Duration::from_secs(seconds);
            assert_eq!(EndByTime::after_idle(idle).idle(), Some(idle));
        }
        let told = EndByTime::after_idle(Duration::from_secs(60)).told();
        assert_eq!((told.idle(), told.is_told()), (Some(Duration::from_secs(60)), true));
        assert!(!EndByTime::after_idle(Duration::MAX).is_told());
        let longest = Duration::from_secs(SECONDS.into());
        assert_eq!(EndByTime::after_idle(Duration::MAX).idle(), Some(longest));
    }
}
