//! Adjusts the clock to the wall clock, and logs when the wall clock steps forward or falls behind.

use std::sync::Arc;

use symbolon_app::clock::{Adjusted, SystemClock};

/// The real clock, and whether the wall clock was behind it at the last adjustment.
pub(super) struct ClockAdjuster {
    clock: Arc<SystemClock>,
    behind: bool,
}

/// Adjustments that are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Report {
    Stepped(u128),
    Behind(u128),
    CaughtUp,
}

impl ClockAdjuster {
    pub(super) fn new(clock: Arc<SystemClock>) -> Self {
        Self { clock, behind: false }
    }

    /// Adjusts the clock once.
    pub(super) fn adjust(&mut self) {
        match report(&mut self.behind, self.clock.adjust()) {
            Some(Report::Stepped(ms)) => {
                tracing::warn!(target: "symbolon::clock", ms, "the wall clock stepped forward and was followed");
            }
            Some(Report::Behind(ms)) => {
                tracing::warn!(target: "symbolon::clock", ms, "the wall clock was set back; ours waits for it slowly");
            }
            Some(Report::CaughtUp) => {
                tracing::info!(target: "symbolon::clock", "the wall clock has caught up");
            }
            None => {}
        }
    }
}

/// Logs a wall clock that is behind only when that begins and ends, not every second.
fn report(behind: &mut bool, adjusted: Adjusted) -> Option<Report> {
    let was_behind = std::mem::replace(behind, matches!(adjusted, Adjusted::Behind(_)));
    match adjusted {
        Adjusted::Stepped(by) => Some(Report::Stepped(by.as_millis())),
        Adjusted::Behind(by) => (!was_behind).then_some(Report::Behind(by.as_millis())),
        Adjusted::Slewed => was_behind.then_some(Report::CaughtUp),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn steps_are_reported_each_and_waiting_once() {
        let mut behind = false;
        let hour = Duration::from_secs(3_600);
        let seen = [
            Adjusted::Slewed,
            Adjusted::Stepped(hour),
            Adjusted::Stepped(hour),
            Adjusted::Behind(hour),
            Adjusted::Behind(hour),
            Adjusted::Slewed,
            Adjusted::Slewed,
        ];
        let reports: Vec<_> = seen.into_iter().map(|adjusted| report(&mut behind, adjusted)).collect();
        let stepped = Some(Report::Stepped(3_600_000));
        let expected =
            [None, stepped, stepped, Some(Report::Behind(3_600_000)), None, Some(Report::CaughtUp), None];
        assert_eq!(reports, expected);
    }
}
