//! This node's clock against those of the engines.

use super::Finding;
use crate::ClusterOptions;
use crate::nodes::CLOCK_SKEW;

/// With clocks this far apart, a node takes other nodes' new tokens for not yet valid, and accepts expired ones.
#[allow(clippy::cast_possible_truncation, reason = "ten seconds")]
const REFUSED_BEYOND: i64 = CLOCK_SKEW.as_millis() as i64;

/// Synchronized clocks are never this far apart.
const WARNED_BEYOND: i64 = 1_000;

/// The time that a server reported, and this node's clock before it was asked and after it answered. Milliseconds since
/// 1970.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    pub(super) asked: u64,
    pub(super) told: u64,
    pub(super) answered: u64,
}

impl Reading {
    /// By how much this node's clock is ahead, at least: any time between `asked` and `answered` counts as no
    /// difference.
    fn ahead(self) -> i64 {
        let between = |later: u64, earlier: u64| later.cast_signed().saturating_sub(earlier.cast_signed());
        if self.told < self.asked {
            between(self.asked, self.told)
        } else if self.told > self.answered {
            between(self.answered, self.told)
        } else {
            0
        }
    }
}

/// Compares a server's clock with this node's.
pub(super) fn compare(options: &ClusterOptions, server: &str, reading: Reading) -> Finding {
    let ahead = reading.ahead();
    let apart = ahead.saturating_abs();
    let direction = if ahead > 0 { "ahead of" } else { "behind" };
    let seconds = apart as f64 / 1_000.0;
    let what = format!("the clock of this node is {seconds:.1} s {direction} that of {server}");
    let mend = "set the clocks of both machines by NTP (`timedatectl set-ntp true`)";
    if apart <= WARNED_BEYOND {
        Finding::fine(format!("the clock of this node agrees with that of {server}, by {apart} ms"))
    } else if apart <= REFUSED_BEYOND {
        Finding::warning(what, mend)
    } else if options.accept_clock {
        Finding::warning(format!("{what}, and --accept-clock was given"), mend)
    } else {
        let mend = format!("{mend}, or start with --accept-clock");
        Finding::refused(format!("{what}, more than {} s", REFUSED_BEYOND / 1_000), mend)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_question_took_is_nobodys_fault() {
        let reading = |told| Reading { asked: 20_000, told, answered: 30_000 };
        let ahead = [10_000, 20_000, 25_000, 30_000, 31_500].map(|told| reading(told).ahead());
        assert_eq!(ahead, [10_000, 0, 0, 0, -1_500]);
    }
}
