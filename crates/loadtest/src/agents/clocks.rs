//! How far an agent's clocks are from the coordinator's: as NTP asks (RFC 5905 8), by the round trip that was shortest.

use std::time::{Duration, Instant};

use super::link::{Agents, Event};
use super::message::{Clocks, ToAgent, ToCoordinator};
use crate::{LoadtestError, clock};

/// Round trips of which the shortest is believed.
const ROUNDS: u32 = 8;

/// An agent's clocks beside the coordinator's. Offsets are in ns, positive where the agent's is ahead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Comparison {
    /// The agent's monotonic clock, beside the coordinator's since its `origin`.
    pub(super) monotonic: i128,
    /// The wall clocks.
    pub(super) wall: i128,
    /// The shortest round trip, without the time that the agent took.
    pub(super) round_trip: Duration,
}

impl Comparison {
    /// How far off the offsets may be: the whole round trip may have been the way in one direction.
    pub(super) fn doubt(&self) -> Duration {
        self.round_trip / 2
    }

    /// What the agent's monotonic clock says at this moment.
    pub(super) fn at_agent(&self, origin: Instant, moment: Instant) -> Duration {
        let here = nanos(moment.saturating_duration_since(origin));
        Duration::from_nanos(u64::try_from(here + self.monotonic).unwrap_or(0))
    }

    fn of(asked: Clocks, received: Clocks, sent: Clocks, heard: Clocks) -> Self {
        let offset = |read: fn(&Clocks) -> Duration| {
            let [asked, received, sent, heard] = [asked, received, sent, heard].map(|of| nanos(read(&of)));
            ((received - asked) + (sent - heard)) / 2
        };
        let there = sent.monotonic.saturating_sub(received.monotonic);
        Self {
            monotonic: offset(|clocks| clocks.monotonic),
            wall: offset(|clocks| clocks.wall),
            round_trip: heard.monotonic.saturating_sub(asked.monotonic).saturating_sub(there),
        }
    }
}

fn nanos(time: Duration) -> i128 {
    i128::try_from(time.as_nanos()).unwrap_or(i128::MAX)
}

impl Agents {
    /// Compares the clocks of an agent with those here. None where it is lost meanwhile.
    ///
    /// # Errors
    /// [`LoadtestError::Interrupted`] where nothing can be heard any more.
    pub(super) async fn compare_clocks(
        &mut self,
        place: usize,
        origin: Instant,
    ) -> Result<Option<Comparison>, LoadtestError> {
        let mut best: Option<Comparison> = None;
        for round in 0..ROUNDS {
            if self.links.get(place).is_none_or(|link| link.lost.is_some()) {
                return Ok(None);
            }
            let asked = here(origin, clock::now());
            self.say(place, ToAgent::Clock(round));
            let (received, sent, heard) = loop {
                match self.heard().await? {
                    (from, Event::Said(message, at)) if from == place => {
                        if let ToCoordinator::Clock { number, received, sent } = *message
                            && number == round
                        {
                            break (received, sent, at);
                        }
                    }
                    (from, Event::Lost(_)) if from == place => return Ok(None),
                    _ => {}
                }
            };
            let compared = Comparison::of(asked, received, sent, here(origin, heard));
            best = best.filter(|best| best.round_trip <= compared.round_trip).or(Some(compared));
        }
        Ok(best)
    }
}

/// The clocks here, at a moment of the monotonic one.
fn here(origin: Instant, at: Instant) -> Clocks {
    let passed = clock::now().saturating_duration_since(at);
    Clocks { monotonic: at.saturating_duration_since(origin), wall: clock::wall().saturating_sub(passed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn clocks(monotonic: Duration, wall: Duration) -> Clocks {
        Clocks { monotonic, wall }
    }

    #[test]
    fn the_offset_is_right_where_both_ways_take_the_same_and_within_the_doubt_where_not() {
        // The agent's monotonic clock is 500 ms behind, its wall clock 40 ms ahead.
        let here = |ms: u32| clocks(ms * MS, 1_000_000 * MS + ms * MS);
        let there = |ms: u32| clocks(ms * MS - 500 * MS, 1_000_040 * MS + ms * MS);
        for (out, back) in [(3, 3), (6, 0), (0, 6)] {
            let compared =
                Comparison::of(here(900), there(900 + out), there(904 + out), here(904 + out + back));
            assert_eq!(compared.round_trip, 6 * MS);
            let off = [compared.monotonic + 500_000_000, compared.wall - 40_000_000];
            assert!(off.iter().all(|off| off.unsigned_abs() <= compared.doubt().as_nanos()), "{compared:?}");
            assert!(out != back || off == [0, 0], "{compared:?}");
        }
    }

    #[test]
    fn a_moment_is_told_by_the_agents_clock() {
        let origin = clock::now();
        let compared = Comparison { monotonic: -500_000_000, wall: 0, round_trip: MS };
        assert_eq!(compared.at_agent(origin, origin + 2_000 * MS), 1_500 * MS);
        assert_eq!(compared.at_agent(origin, origin), Duration::ZERO, "it had not begun yet");
    }
}
