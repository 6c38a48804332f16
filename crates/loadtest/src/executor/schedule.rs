//! When each request should be sent.

use std::sync::Arc;
use std::time::Duration;

use crate::LoadtestError;

/// A part of a schedule: the rate goes from one figure to another in a straight line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// Requests per second at its beginning.
    pub from: f64,
    /// Requests per second at its end.
    pub to: f64,
    /// How long it takes.
    pub duration: Duration,
}

/// One request's place in a schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Arrival {
    /// After the start.
    pub(super) due: Duration,
    /// Whether it belongs to the plateau.
    pub(super) measured: bool,
}

/// When requests arrive: stage after stage. The plateau, which is measured, is the stages whose rate is the highest of
/// all and does not change; without such a stage every one of them is.
#[derive(Clone, Debug)]
pub struct Schedule(Arc<[Part]>);

#[derive(Clone, Debug)]
struct Part {
    stage: Stage,
    begins: Duration,
    /// Arrivals before its beginning; a fraction, so that none is lost at the seams.
    before: f64,
    measured: bool,
}

impl Stage {
    /// The same rate throughout.
    pub fn constant(rate: f64, duration: Duration) -> Self {
        Self { from: rate, to: rate, duration }
    }

    fn arrivals(&self) -> f64 {
        f64::midpoint(self.from, self.to) * self.duration.as_secs_f64()
    }

    /// How long after its beginning `arrivals` have come: the inverse of `from·t + slope·t²/2`.
    fn time_of(&self, arrivals: f64) -> f64 {
        let slope = (self.to - self.from) / self.duration.as_secs_f64();
        if arrivals <= 0.0 {
            return 0.0;
        }
        // Written so that a slope of nothing, or nearly, loses no digits.
        let root = (self.from * self.from + 2.0 * slope * arrivals).max(0.0).sqrt();
        2.0 * arrivals / (self.from + root)
    }
}

impl Schedule {
    /// Stage after stage.
    ///
    /// # Errors
    /// [`LoadtestError::Options`]: there is nothing to send, or a rate is no number that is possible.
    pub fn new(stages: &[Stage]) -> Result<Self, LoadtestError> {
        let stages: Vec<Stage> = stages.iter().copied().filter(|stage| !stage.duration.is_zero()).collect();
        let possible = |rate: f64| rate.is_finite() && (0.0..=10_000_000.0).contains(&rate);
        if stages.iter().any(|stage| !possible(stage.from) || !possible(stage.to)) {
            return Err(LoadtestError::Options("a rate must be a number from 0 to 10,000,000".into()));
        }
        if stages.iter().map(Stage::arrivals).sum::<f64>() < 1.0 {
            return Err(LoadtestError::Options(
                "the schedule sends nothing: give a positive rate and a duration".into(),
            ));
        }
        let highest = stages.iter().map(|stage| stage.from.max(stage.to)).fold(0.0, f64::max);
        // No figure exceeds the highest.
        let is_plateau = |stage: &Stage| stage.from.min(stage.to) >= highest;
        let all = !stages.iter().any(is_plateau);
        let (mut begins, mut before) = (Duration::ZERO, 0.0);
        let part = |stage: &Stage| {
            let part = Part { stage: *stage, begins, before, measured: all || is_plateau(stage) };
            begins += stage.duration;
            before += stage.arrivals();
            part
        };
        Ok(Self(stages.iter().map(part).collect()))
    }

    /// The same rate, all the time.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn constant(rate: f64, duration: Duration) -> Result<Self, LoadtestError> {
        Self::new(&[Stage::constant(rate, duration)])
    }

    /// The same with a warm-up in front, at the first stage's rate, which is not measured.
    pub(super) fn after(&self, warm_up: Duration) -> Self {
        let Some(first) = self.0.first().filter(|_| !warm_up.is_zero()) else { return self.clone() };
        let rate = if first.stage.from > 0.0 { first.stage.from } else { first.stage.to };
        let stage = Stage::constant(rate, warm_up);
        let warming = Part { stage, begins: Duration::ZERO, before: 0.0, measured: false };
        let later = self.0.iter().map(|part| Part {
            begins: part.begins + warm_up,
            before: part.before + stage.arrivals(),
            ..part.clone()
        });
        Self(std::iter::once(warming).chain(later).collect())
    }

    /// Arrival `index`, or none when the schedule has ended.
    pub(super) fn arrival(&self, index: u64) -> Option<Arrival> {
        let number = index as f64;
        let part = self.0.iter().rev().find(|part| part.before <= number)?;
        let within = number - part.before;
        if within >= part.stage.arrivals() {
            // Of the last stage: it is over. Of another: what rounding left between two, the next one's first.
            let next = self.0.iter().find(|next| next.begins > part.begins)?;
            return Some(Arrival { due: next.begins, measured: next.measured });
        }
        let due = part.begins + Duration::from_secs_f64(part.stage.time_of(within));
        Some(Arrival { due, measured: part.measured })
    }

    /// The number of arrivals in the plateau.
    pub(super) fn measured(&self) -> u64 {
        let parts = self.0.iter().filter(|part| part.measured);
        // From the first arrival at or after its beginning to the last before its end.
        parts.map(|part| ((part.before + part.stage.arrivals()).ceil() - part.before.ceil()) as u64).sum()
    }

    /// The length of the plateau.
    pub fn plateau(&self) -> Duration {
        self.0.iter().filter(|part| part.measured).map(|part| part.stage.duration).sum()
    }

    /// From the first arrival to the end of the last stage.
    pub fn duration(&self) -> Duration {
        self.0.iter().map(|part| part.stage.duration).sum()
    }

    /// When answers to the plateau's arrivals must be there to count for the rate: at its end, and a little for those
    /// that are always on their way.
    pub(super) fn answers_due(&self) -> Duration {
        const PATIENCE: Duration = Duration::from_millis(500);
        let ends = self.0.iter().filter(|part| part.measured).map(|part| part.begins + part.stage.duration);
        ends.max().unwrap_or_default() + (self.plateau() / 20).min(PATIENCE)
    }

    /// The highest rate of the plateau.
    pub fn rate(&self) -> f64 {
        self.0
            .iter()
            .filter(|part| part.measured)
            .map(|part| part.stage.from.max(part.stage.to))
            .fold(0.0, f64::max)
    }

    /// Its stages.
    pub fn stages(&self) -> impl Iterator<Item = Stage> + '_ {
        self.0.iter().map(|part| part.stage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(from: f64, to: f64, seconds: u64) -> Stage {
        Stage { from, to, duration: Duration::from_secs(seconds) }
    }

    fn arrivals(schedule: &Schedule) -> Vec<Arrival> {
        (0..).map_while(|index| schedule.arrival(index)).collect()
    }

    #[test]
    fn a_constant_rate_is_even_to_its_end() {
        let schedule = Schedule::constant(400.0, Duration::from_secs(3)).unwrap();
        let all = arrivals(&schedule);
        assert_eq!((all.len(), schedule.measured(), schedule.rate()), (1_200, 1_200, 400.0));
        for (index, arrival) in all.iter().enumerate() {
            let due = Duration::from_micros(2_500) * u32::try_from(index).unwrap();
            assert!(arrival.due.abs_diff(due) < Duration::from_nanos(10), "{index}: {arrival:?}");
            assert!(arrival.measured);
        }
    }

    #[test]
    fn the_reports_shape_has_exact_counts_and_only_its_plateau_is_measured() {
        // Half the rate to the rate in 15 s, the rate for 180 s, down to nothing in 15 s.
        let rate = 1_000.0;
        let schedule =
            Schedule::new(&[stage(rate / 2.0, rate, 15), stage(rate, rate, 180), stage(rate, 0.0, 15)])
                .unwrap();
        let all = arrivals(&schedule);
        assert_eq!(all.len(), 11_250 + 180_000 + 7_500);
        assert!(all.windows(2).all(|pair| pair[0].due <= pair[1].due), "in order");
        let measured: Vec<_> = all.iter().filter(|arrival| arrival.measured).collect();
        assert_eq!((measured.len() as u64, schedule.measured()), (180_000, 180_000));
        assert_eq!(measured[0].due, Duration::from_secs(15));
        assert!(all.last().unwrap().due < schedule.duration());
        assert_eq!(schedule.plateau(), Duration::from_secs(180));
        // 33.3 a second more every second: 550 in the second one, three quarters in the middle of the ramp.
        let second = |at: u64| all.iter().filter(|arrival| arrival.due.as_secs() == at).count();
        assert!(second(1).abs_diff(550) <= 1 && second(7).abs_diff(750) <= 1, "{} {}", second(1), second(7));
    }

    #[test]
    fn ramps_from_nothing_and_fractions_lose_no_arrival() {
        for stages in [
            vec![stage(0.0, 10.0, 3), stage(10.0, 10.0, 2), stage(10.0, 3.3, 7)],
            vec![stage(0.7, 0.7, 10), stage(0.3, 0.3, 11), stage(5.0, 1.0, 1)],
            vec![stage(0.0, 1_000.0, 10)],
        ] {
            let schedule = Schedule::new(&stages).unwrap();
            let all = arrivals(&schedule);
            let expected: f64 = stages.iter().map(Stage::arrivals).sum();
            assert!((all.len() as f64 - expected).abs() <= 1.0, "{} of {expected}", all.len());
            assert!(all.windows(2).all(|pair| pair[0].due <= pair[1].due), "in order: {all:?}");
            let measured = all.iter().filter(|arrival| arrival.measured).count() as u64;
            assert_eq!(measured, schedule.measured());
        }
    }

    #[test]
    fn a_warm_up_goes_before_and_is_not_measured() {
        let schedule =
            Schedule::constant(100.0, Duration::from_secs(1)).unwrap().after(Duration::from_secs(2));
        let all = arrivals(&schedule);
        assert_eq!((all.len(), schedule.measured()), (300, 100));
        assert!(all.iter().all(|arrival| arrival.measured == (arrival.due >= Duration::from_secs(2))));
    }

    #[test]
    fn what_sends_nothing_is_refused() {
        for stages in [vec![], vec![stage(0.0, 0.0, 5)], vec![stage(5.0, 5.0, 0)], vec![stage(0.01, 0.01, 1)]]
        {
            assert!(Schedule::new(&stages).is_err(), "{stages:?}");
        }
        for rate in [-1.0, f64::NAN, f64::INFINITY, 1e12] {
            assert!(Schedule::constant(rate, Duration::from_secs(1)).is_err(), "{rate}");
        }
    }
}
