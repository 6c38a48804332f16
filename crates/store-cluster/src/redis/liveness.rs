//! How long a Redis process may be silent before its answers are refused.
//!
//! A primary that was paused for longer than `cluster-node-timeout` has been replaced by one of its replicas. When it
//! resumes, it first answers the commands that had queued up, from stale data, and only then learns that it was replaced.
//! Such an answer lacks what the new primary has acknowledged meanwhile, a revocation for example, and nothing in the
//! answer shows that.
//!
//! So an answer is accepted only if the process proved to be running within the last [`SILENCE`], which is shorter than
//! `cluster-node-timeout`: then nobody can have replaced it. A connection without commands sends a PING every [`BEAT`], so
//! that only a process which does not run is silent. A connection that was silent for longer is closed. A new one to the
//! same process is used after [`SETTLING`], when the process has learnt whether it is still a primary
//! (docs/decisions/023-silence.md).

use std::io;
use std::time::Duration;

use tokio::time::Instant;

/// The longest time between two proofs that the process runs; after more, the connection is closed. A replica takes over
/// after `cluster-node-timeout` at the earliest, and the [check](crate::check) refuses a cluster where that is not longer.
pub(crate) const SILENCE: Duration = Duration::from_millis(1_500);

/// How often a connection without commands sends one of its own.
pub(super) const BEAT: Duration = Duration::from_millis(400);

/// How long a new connection waits before its first command. A process that has just resumed finds the messages of the
/// other nodes waiting, and reads within milliseconds that it was replaced.
pub(super) const SETTLING: Duration = Duration::from_millis(100);

/// What one connection knows about whether its process runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Liveness {
    /// The process was running at this time or later.
    proved: Instant,
    is_over: bool,
}

impl Liveness {
    /// The process has just answered for the first time.
    pub(super) fn begin(now: Instant) -> Self {
        Self { proved: now, is_over: false }
    }

    /// Checks that the process was not silent for too long before `now`.
    ///
    /// # Errors
    /// The process was silent for too long. From then on every call fails: the connection counts as lost.
    pub(super) fn goes_on(&mut self, now: Instant) -> io::Result<()> {
        self.is_over |= now.saturating_duration_since(self.proved) > SILENCE;
        if self.is_over {
            let silent = "the process was silent for too long to be believed";
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, silent));
        }
        Ok(())
    }

    /// Records that an answer came at `now` to a command that was sent at `asked`.
    ///
    /// # Errors
    /// The answer must not be accepted, as for [`goes_on`](Self::goes_on).
    pub(super) fn hear(&mut self, asked: Instant, now: Instant) -> io::Result<()> {
        self.goes_on(now)?;
        // The process ran at some time between `asked` and `now`; only the earlier time is safe to assume.
        self.proved = self.proved.max(asked);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_silent_for_too_long_is_not_believed_again() {
        let began = Instant::now();
        let after = |millis| began + Duration::from_millis(millis);
        let mut life = Liveness::begin(began);
        assert!(life.hear(after(10), after(1_500)).is_ok());
        // The process may have been paused since this command was sent.
        assert!(life.hear(after(1_500), after(1_511)).is_err());
        assert!(life.hear(after(1_511), after(1_512)).is_err());
    }

    #[test]
    fn answers_out_of_their_order_take_nothing_back() {
        let began = Instant::now();
        let after = |millis| began + Duration::from_millis(millis);
        let mut life = Liveness::begin(began);
        assert!(life.hear(after(1_000), after(1_001)).is_ok());
        assert!(life.hear(after(900), after(1_002)).is_ok());
        assert!(life.hear(after(2_400), after(2_500)).is_ok());
    }
}
