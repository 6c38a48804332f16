//! The one clock of the process: it follows the monotonic clock, slews to the wall clock, and never runs backwards.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use symbolon_protocol::time::Timestamp;

/// What tells the time. Injected, so that tests own it.
pub trait Clock: Send + Sync {
    /// Now; never earlier than an earlier answer.
    fn now(&self) -> Timestamp;
}

/// A wall clock this far ahead is followed at once: the machine was suspended, or its clock was wrong before.
const STEP: Duration = Duration::from_secs(1);
/// How far the clock moves toward the wall clock per time that passes, in thousandths.
const SLEW_PER_MILLE: i64 = 50;

/// A straight piece of the clock: from `began`, `nanos` since the epoch, at `rate` thousandths of real speed.
#[derive(Clone, Copy)]
struct Piece {
    began: Instant,
    nanos: u64,
    rate: u64,
}

impl Piece {
    fn at(&self, instant: Instant) -> u64 {
        let passed =
            u64::try_from(instant.saturating_duration_since(self.began).as_nanos()).unwrap_or(u64::MAX);
        let scaled = if self.rate == 1000 { passed } else { passed / 1000 * self.rate };
        self.nanos.saturating_add(scaled)
    }
}

/// What [`SystemClock::adjust`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adjusted {
    /// The clocks agree, or the difference is being slewed away.
    Slewed,
    /// The wall clock was ahead by this much and is followed at once.
    Stepped(Duration),
    /// The wall clock is behind by this much: ours only runs slower until it is caught up.
    Behind(Duration),
}

/// The clock of a real process. [`adjust`](Self::adjust) is to be called about once a second.
pub struct SystemClock {
    piece: ArcSwap<Piece>,
}

impl SystemClock {
    /// Starts at the wall clock's time.
    pub fn start() -> Arc<Self> {
        let piece = Piece { began: monotonic(), nanos: wall(), rate: 1000 };
        Arc::new(Self { piece: ArcSwap::from_pointee(piece) })
    }

    /// Compares with the wall clock and sets the speed accordingly.
    pub fn adjust(&self) -> Adjusted {
        let (piece, adjusted) = next_piece(&self.piece.load(), monotonic(), wall());
        self.piece.store(Arc::new(piece));
        adjusted
    }
}

fn next_piece(old: &Piece, instant: Instant, wall: u64) -> (Piece, Adjusted) {
    let ours = old.at(instant);
    let ahead = Duration::from_nanos(wall.saturating_sub(ours));
    let behind = Duration::from_nanos(ours.saturating_sub(wall));
    if ahead > STEP {
        return (Piece { began: instant, nanos: wall, rate: 1000 }, Adjusted::Stepped(ahead));
    }
    // A difference below a millisecond is noise.
    let drift = if ahead > Duration::from_millis(1) {
        SLEW_PER_MILLE
    } else if behind > Duration::from_millis(1) {
        -SLEW_PER_MILLE
    } else {
        0
    };
    let piece = Piece { began: instant, nanos: ours, rate: 1000_u64.saturating_add_signed(drift) };
    (piece, if behind > STEP { Adjusted::Behind(behind) } else { Adjusted::Slewed })
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.piece.load().at(monotonic()) / 1_000_000)
    }
}

#[allow(clippy::disallowed_methods, reason = "this is the clock that is injected everywhere else")]
fn monotonic() -> Instant {
    Instant::now()
}

#[allow(clippy::disallowed_methods, reason = "this is the clock that is injected everywhere else")]
fn wall() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_wall_clock_set_back_only_slows_the_clock_down() {
        let began = monotonic();
        let old = Piece { began, nanos: 10_000 * SECOND, rate: 1000 };
        let at = began + Duration::from_secs(1);
        let (piece, adjusted) = next_piece(&old, at, 6_400 * SECOND);
        assert_eq!(adjusted, Adjusted::Behind(Duration::from_secs(3_601)));
        assert_eq!(piece.at(at), 10_001 * SECOND);
        assert_eq!(piece.at(at + Duration::from_secs(100)), 10_096 * SECOND);
    }

    #[test]
    fn a_wall_clock_set_forward_is_followed_at_once() {
        let began = monotonic();
        let old = Piece { began, nanos: 10_000 * SECOND, rate: 1000 };
        let (piece, adjusted) = next_piece(&old, began, 13_600 * SECOND);
        assert_eq!(adjusted, Adjusted::Stepped(Duration::from_secs(3_600)));
        assert_eq!(piece.at(began), 13_600 * SECOND);
    }

    #[test]
    fn small_differences_are_slewed() {
        let began = monotonic();
        let old = Piece { began, nanos: 10_000 * SECOND, rate: 1000 };
        let (piece, adjusted) = next_piece(&old, began, 10_000 * SECOND + SECOND / 2);
        assert_eq!((piece.rate, adjusted), (1050, Adjusted::Slewed));
    }
}
