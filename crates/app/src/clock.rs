//! The one clock of the process. It advances with the monotonic clock, slews towards the wall clock, and never runs
//! backwards.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use symbolon_protocol::time::Timestamp;

/// Tells the time. Injected, so that tests control it.
pub trait Clock: Send + Sync {
    /// The current time; never earlier than an earlier result.
    fn now(&self) -> Timestamp;
}

/// If the wall clock is ahead by this much, the clock steps: the machine was suspended, or its clock was wrong
/// before.
const STEP: Duration = Duration::from_secs(1);
/// How far the clock moves towards the wall clock, in thousandths of the time that passes.
const SLEW_PER_MILLE: i64 = 50;

/// A linear piece of the clock: `nanos` since the epoch at the instant `began`, advancing at `rate` thousandths of
/// real speed.
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

/// The result of [`SystemClock::adjust`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adjusted {
    /// The clocks agree, or a small difference is being slewed away.
    Slewed,
    /// The wall clock was ahead by this much, and the clock stepped to it.
    Stepped(Duration),
    /// The wall clock is behind by this much. The clock does not step back: it runs slower until the wall clock has
    /// caught up.
    Behind(Duration),
}

/// The clock of a real process. Call [`adjust`](Self::adjust) about once a second.
pub struct SystemClock {
    piece: ArcSwap<Piece>,
}

impl SystemClock {
    /// Starts at the wall clock's time.
    pub fn start() -> Arc<Self> {
        let piece = Piece { began: monotonic(), nanos: wall(), rate: 1000 };
        Arc::new(Self { piece: ArcSwap::from_pointee(piece) })
    }

    /// Compares with the wall clock and sets the rate for the next piece.
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
