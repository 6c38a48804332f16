//! That a document of another server could not be read: kept for a while, so that one request waits for a server that is down, and
//! the others are told at once.

use std::time::Duration;

use symbolon_protocol::time::Timestamp;

/// For how long a document that could not be read is not asked for again.
pub(crate) const FAILED_FOR: Duration = Duration::from_secs(30);

/// Why a document could not be read.
pub(crate) struct FailedRead {
    /// When it was last asked for.
    at: Timestamp,
    why: String,
}

impl FailedRead {
    pub(crate) const fn new(why: String, now: Timestamp) -> Self {
        Self { at: now, why }
    }

    /// Whether nobody may ask again yet.
    pub(crate) fn is_recent(&self, now: Timestamp) -> bool {
        now.since(self.at) < FAILED_FOR
    }

    /// Lets whoever asks first after a while ask again.
    ///
    /// # Errors
    /// Why it could not be read the last time.
    pub(crate) fn may_read_again(&mut self, now: Timestamp) -> Result<(), String> {
        if self.is_recent(now) {
            return Err(self.why.clone());
        }
        self.at = now;
        Ok(())
    }
}
