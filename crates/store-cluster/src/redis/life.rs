//! How long a process of Redis may have been silent before it is believed no more.
//!
//! A primary that stood still for longer than the others wait for it (`cluster-node-timeout`) has a successor, and does
//! not know: when it goes on, it answers what was sent to it meanwhile from what it has, before it hears of that. Such an
//! answer lacks what its successor acknowledged: a session, a revocation. Nothing in the answer tells; only its time does.
//! So an answer counts only where the process was heard shortly before: then nobody can have taken over yet. Where
//! nothing is asked, a beat is, so that a process which runs is never silent; and one that was silent for too long is
//! connected to anew, and asked a moment after that, when it knows what it is (docs/decisions/023-silence.md).

use std::io;
use std::time::Duration;

use tokio::time::Instant;

/// More than this between two proofs of life, and the connection is over. A successor is chosen after
/// `cluster-node-timeout` at the earliest, of which the [check](crate::check) wants more.
pub(crate) const SILENCE: Duration = Duration::from_millis(1_500);

/// How often, at least, a connection on which nothing is asked is tried.
pub(super) const BEAT: Duration = Duration::from_millis(400);

/// After a connection was made, how long nothing is asked that matters: what the cluster's other nodes told a process
/// while it stood still waits for it, and is read within milliseconds once it goes on.
pub(super) const SETTLING: Duration = Duration::from_millis(100);

/// What is known of the life of a process, by one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life {
    /// It ran then, or later.
    proved: Instant,
    is_over: bool,
}

impl Life {
    /// The process has just answered for the first time.
    pub(super) fn begin(now: Instant) -> Self {
        Self { proved: now, is_over: false }
    }

    /// Nothing to say against it, up to `now`.
    ///
    /// # Errors
    /// It was silent for too long. Once it was, it stays so: the connection is as good as lost, and says so.
    pub(super) fn goes_on(&mut self, now: Instant) -> io::Result<()> {
        self.is_over |= now.saturating_duration_since(self.proved) > SILENCE;
        if self.is_over {
            let silent = "the process was silent for too long to be believed";
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, silent));
        }
        Ok(())
    }

    /// An answer came `now` to what was `asked` then.
    ///
    /// # Errors
    /// It may not be believed, as [`goes_on`](Self::goes_on) says.
    pub(super) fn hear(&mut self, asked: Instant, now: Instant) -> io::Result<()> {
        self.goes_on(now)?;
        // It ran at some time between question and answer, and nobody knows when.
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
        let mut life = Life::begin(began);
        assert!(life.hear(after(10), after(1_500)).is_ok());
        // It may have stood still since it was asked.
        assert!(life.hear(after(1_500), after(1_511)).is_err());
        assert!(life.hear(after(1_511), after(1_512)).is_err());
    }

    #[test]
    fn answers_out_of_their_order_take_nothing_back() {
        let began = Instant::now();
        let after = |millis| began + Duration::from_millis(millis);
        let mut life = Life::begin(began);
        assert!(life.hear(after(1_000), after(1_001)).is_ok());
        assert!(life.hear(after(900), after(1_002)).is_ok());
        assert!(life.hear(after(2_400), after(2_500)).is_ok());
    }
}
