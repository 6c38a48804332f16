//! Whether something grows without end in hours of load: memory, open files, latency. A trend that chance explains is none, and
//! a cache that fills, or a pool that grows once, is no leak.
//!
//! The slope is that of Theil and Sen with its interval of 95 %, the test that of Mann and Kendall; where neighbouring windows
//! resemble each other, as they do while a garbage collector lets memory rise and fall, both ask for more.

mod kendall;
mod slope;
mod steps;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use slope::Slope;
pub use steps::Rise;

use crate::gate::rank::median;
use slope::Point;

/// With fewer windows nothing is said.
pub const WINDOWS: usize = 10;
/// Growth beside single rises must be less probable by chance than this.
const CHANCE: f64 = 0.1;
/// What grows by less than this part of what it grew by before, grows ever more slowly.
const SLOWER: f64 = 0.5;
/// A single rise is one where it is so many times as high as values differ otherwise.
const HIGH: f64 = 5.0;
/// From the middle of all distances to the standard deviation, of a normal distribution.
const TO_DEVIATION: f64 = 1.4826;

/// What a series does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    /// It grows steadily, beyond doubt.
    Steady,
    /// It grew and came to rest: a cache that was filled.
    AtRest,
    /// It grows ever more slowly, and whether it comes to rest is not known yet.
    Slowing,
    /// It rose once, or twice, and does not grow besides.
    Rose,
    /// No growth is seen.
    None,
    /// There are too few windows, or too many of them have the same value.
    #[default]
    TooShort,
}

/// How a series goes, and how that is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    /// What it does.
    pub growth: Growth,
    /// Its slope: of the whole, or of its last part where it grew more slowly in it; none of too few windows.
    pub slope: Option<Slope>,
    /// The slopes of both halves.
    pub halves: Option<(Slope, Slope)>,
    /// The greatest single rise, where it is high.
    pub rise: Option<Rise>,
    /// Windows that were looked at.
    pub windows: usize,
}

impl Trend {
    /// Of values with their times in hours, by rising time.
    pub fn of(points: &[(f64, f64)]) -> Self {
        let windows = points.len();
        let slope = Slope::of(points);
        let Some(whole) = slope.filter(|_| windows >= WINDOWS) else {
            return Self { growth: Growth::TooShort, slope, halves: None, rise: None, windows };
        };
        let (level, rises) = steps::levelled(points);
        let besides = Slope::of(&level);
        let (first, last) = points.split_at(windows / 2);
        let trend = Self {
            growth: Growth::None,
            slope,
            halves: Slope::of(first).zip(Slope::of(last)),
            rise: high_rise(&level, &rises, besides),
            windows,
        };
        let steady = besides.is_some_and(|besides| besides.probability <= CHANCE);
        match whole.least > 0.0 && steady {
            true => trend.steady_or_slower(last),
            false if trend.rise.is_some() => Self { growth: Growth::Rose, slope: besides, ..trend },
            // What it grew by was single rises.
            false if whole.least > 0.0 => Self { slope: besides, ..trend },
            false => trend,
        }
    }

    /// A series that grows is judged by its last half where it grew less there.
    fn steady_or_slower(self, last: &[Point]) -> Self {
        let slower = self.halves.is_some_and(|(first, last)| {
            last.per_hour < SLOWER * first.per_hour && last.most < first.per_hour
        });
        if !slower {
            return Self { growth: Growth::Steady, ..self };
        }
        let later = Self::of(last);
        let growth = match later.growth {
            Growth::Steady => Growth::Steady,
            Growth::None | Growth::Rose | Growth::AtRest => Growth::AtRest,
            Growth::Slowing | Growth::TooShort => Growth::Slowing,
        };
        Self { growth, slope: later.slope.or(self.slope), ..self }
    }
}

/// The greatest rise, where it is high beside what values differ by otherwise.
fn high_rise(level: &[Point], rises: &[Rise], besides: Option<Slope>) -> Option<Rise> {
    let rest = slope::rest(level, besides.map_or(0.0, |slope| slope.per_hour));
    let distances: Vec<f64> = rest.iter().map(|value| value.abs()).collect();
    let deviation = TO_DEVIATION * median(&distances)?;
    let greatest = rises.iter().copied().max_by(|one, other| one.by.total_cmp(&other.by))?;
    (greatest.by > HIGH * deviation).then_some(greatest)
}
