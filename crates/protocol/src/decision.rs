//! What somebody decides about a request that waits for it while its client asks again and again: of a device (RFC 8628), or of
//! a client that named the person itself (CIBA Core 1.0).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::code::CodeGrant;
use crate::id::{ClientId, UserId};
use crate::time::Timestamp;

/// How long a client waits between two polls (`interval`, RFC 8628 3.2, CIBA Core 7.3).
pub const INTERVAL: Duration = Duration::from_secs(5);

/// By how much each poll that comes too early lengthens the interval (RFC 8628 3.5, CIBA Core 11).
pub const SLOWED_BY: Duration = Duration::from_secs(5);

/// The longest interval. A client that polled too fast for a while still learns of the decision within a minute.
pub const LONGEST_INTERVAL: Duration = Duration::from_secs(60);

/// How much too early a poll may come: the network delays one poll and not the next.
pub const JITTER: Duration = Duration::from_secs(1);

/// What a client asks for, and what waits for a decision.
pub trait Undecided {
    /// The client that asks, and that alone may poll.
    fn client(&self) -> &ClientId;
    /// When it ends, decided or not.
    fn expires_at(&self) -> Timestamp;
}

/// What somebody decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The client gets tokens for this.
    Allowed(Box<CodeGrant>),
    /// It gets none of this user.
    Denied(UserId),
}

impl Decision {
    /// Whose decision it is.
    pub fn user(&self) -> &UserId {
        match self {
            Self::Allowed(grant) => &grant.user,
            Self::Denied(user) => user,
        }
    }

    /// Whether the client was allowed what it asked for.
    pub const fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }
}

/// When a client polled, and how long it has to wait (RFC 8628 3.5, CIBA Core 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polling {
    last: Option<Timestamp>,
    interval: Duration,
}

impl Default for Polling {
    fn default() -> Self {
        Self { last: None, interval: INTERVAL }
    }
}

impl Polling {
    /// Notes a poll; returns whether it came in time. One that came too early lengthens the interval for all that follow.
    pub fn poll(&mut self, now: Timestamp) -> bool {
        let is_early = self.last.is_some_and(|last| now + JITTER < last + self.interval);
        self.last = Some(now);
        if is_early {
            self.interval = (self.interval + SLOWED_BY).min(LONGEST_INTERVAL);
        }
        !is_early
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::fixture::{NOW, after};

    #[test]
    fn who_polls_too_fast_is_slowed_down_for_good() {
        let mut polling = Polling::default();
        assert!(polling.poll(NOW) && polling.poll(after(5)));
        assert!(polling.poll(NOW + Duration::from_millis(9_100)), "the network was quicker this time");
        assert!(!polling.poll(after(11)));
        assert!(!polling.poll(after(17)), "ten seconds from now on");
        assert!(polling.poll(after(32)), "fifteen");
        for second in 33..60 {
            assert!(!polling.poll(after(second)));
        }
        assert!(
            !polling.poll(after(59 + 58)) && polling.poll(after(59 + 58 + 60)),
            "never more than a minute"
        );
    }
}
