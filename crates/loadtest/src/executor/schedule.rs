//! When each request should be sent.

use std::sync::Arc;
use std::time::Duration;

use super::listed::Arrivals;
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
    /// What it is counted with.
    pub(super) phase: Phase,
    /// What it asks, in a list that says so.
    pub(super) asks: Option<u32>,
}

/// What is counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Before the schedule.
    WarmUp,
    /// Stages beside the plateau.
    Ramp,
    /// The plateau: its first, second or last third.
    Plateau(Third),
}

/// A third of the plateau.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Third {
    First,
    Second,
    Last,
}

impl Phase {
    /// All of them, in the order of [`index`](Self::index).
    pub(super) const ALL: [Self; 5] = [
        Self::WarmUp,
        Self::Ramp,
        Self::Plateau(Third::First),
        Self::Plateau(Third::Second),
        Self::Plateau(Third::Last),
    ];

    /// Its place in [`ALL`](Self::ALL).
    pub(super) const fn index(self) -> usize {
        match self {
            Self::WarmUp => 0,
            Self::Ramp => 1,
            Self::Plateau(Third::First) => 2,
            Self::Plateau(Third::Second) => 3,
            Self::Plateau(Third::Last) => 4,
        }
    }

    /// Whether it is of the plateau.
    pub(super) const fn is_measured(self) -> bool {
        matches!(self, Self::Plateau(_))
    }
}

/// When requests arrive: stage after stage. The plateau, which is measured, is the stages whose rate is the highest of
/// all and does not change; without such a stage every one of them is.
#[derive(Clone, Debug)]
pub struct Schedule {
    parts: Arc<[Part]>,
    /// The arrivals of the plateau, where they do not follow from its rate.
    listed: Option<Arrivals>,
    /// Which arrivals are this generator's: of so many in turn, the one of this number, from 0.
    turn: u64,
    of: u64,
}

#[derive(Clone, Debug)]
struct Part {
    stage: Stage,
    begins: Duration,
    /// Arrivals before its beginning; a fraction, so that none is lost at the seams.
    before: f64,
    /// [`Stage::arrivals`] and [`Stage::slope`], which every arrival needs.
    arrivals: f64,
    slope: f64,
    place: Place,
}

/// What a stage is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    WarmUp,
    Ramp,
    /// The plateau, or a part of it, and where its first and its second third end, after the beginning of the schedule. Of a
    /// part that begins after one of them, that is its own beginning.
    Plateau {
        first_ends: Duration,
        second_ends: Duration,
    },
}

impl Place {
    /// A part of the plateau that begins at `begins`, after `before` of it, of `whole`.
    fn of_plateau(begins: Duration, before: Duration, whole: Duration) -> Self {
        let ends = |thirds: u32| begins + (whole * thirds / 3).saturating_sub(before);
        Self::Plateau { first_ends: ends(1), second_ends: ends(2) }
    }
}

impl Part {
    fn new(stage: Stage, begins: Duration, before: f64, place: Place) -> Self {
        Self { stage, begins, before, arrivals: stage.arrivals(), slope: stage.slope(), place }
    }

    /// When `arrivals` have come since its beginning, after the beginning of the schedule.
    fn due(&self, arrivals: f64) -> Duration {
        // Far below the 2^64 nanoseconds of 584 years. `Duration::from_secs_f64`, which refuses what is negative or too
        // large, takes 170 instructions.
        let nanos = self.stage.time_of(arrivals, self.slope) * 1e9 + 0.5;
        self.begins + Duration::from_nanos(nanos as u64)
    }

    const fn is_measured(&self) -> bool {
        matches!(self.place, Place::Plateau { .. })
    }

    fn phase(&self, due: Duration) -> Phase {
        match self.place {
            Place::WarmUp => Phase::WarmUp,
            Place::Ramp => Phase::Ramp,
            Place::Plateau { first_ends, .. } if due < first_ends => Phase::Plateau(Third::First),
            Place::Plateau { second_ends, .. } if due < second_ends => Phase::Plateau(Third::Second),
            Place::Plateau { .. } => Phase::Plateau(Third::Last),
        }
    }
}

impl Stage {
    /// The same rate throughout.
    pub fn constant(rate: f64, duration: Duration) -> Self {
        Self { from: rate, to: rate, duration }
    }

    fn arrivals(&self) -> f64 {
        f64::midpoint(self.from, self.to) * self.duration.as_secs_f64()
    }

    /// By how much the rate grows in a second.
    fn slope(&self) -> f64 {
        (self.to - self.from) / self.duration.as_secs_f64()
    }

    /// How many seconds after its beginning `arrivals` have come: the inverse of `from·t + slope·t²/2`.
    fn time_of(&self, arrivals: f64, slope: f64) -> f64 {
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
        let is_measured = |stage: &Stage| all || is_plateau(stage);
        let whole: Duration =
            stages.iter().filter(|stage| is_measured(stage)).map(|stage| stage.duration).sum();
        let (mut begins, mut before, mut measured) = (Duration::ZERO, 0.0, Duration::ZERO);
        let part = |stage: &Stage| {
            let place = if is_measured(stage) {
                let place = Place::of_plateau(begins, measured, whole);
                measured += stage.duration;
                place
            } else {
                Place::Ramp
            };
            let part = Part::new(*stage, begins, before, place);
            begins += stage.duration;
            before += stage.arrivals();
            part
        };
        Ok(Self { parts: stages.iter().map(part).collect(), listed: None, turn: 0, of: 1 })
    }

    /// The same rate, all the time.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn constant(rate: f64, duration: Duration) -> Result<Self, LoadtestError> {
        Self::new(&[Stage::constant(rate, duration)])
    }

    /// At the instants of a list. All of it is the plateau, and its rate is the mean.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn listed(arrivals: Arrivals) -> Result<Self, LoadtestError> {
        let duration = arrivals.duration();
        let rate = arrivals.len() as f64 / duration.as_secs_f64();
        Ok(Self { listed: Some(arrivals), ..Self::constant(rate, duration)? })
    }

    /// Whether its arrivals stand in a list.
    pub fn is_listed(&self) -> bool {
        self.listed.is_some()
    }

    /// How many arrivals its stages have, as a fraction.
    pub(super) fn arrivals(&self) -> f64 {
        self.parts.iter().map(|part| part.arrivals).sum()
    }

    /// The same with a warm-up in front, at the first stage's rate, which is not measured.
    pub(crate) fn after(&self, warm_up: Duration) -> Self {
        let Some(first) = self.parts.first().filter(|_| !warm_up.is_zero()) else { return self.clone() };
        let rate = if first.stage.from > 0.0 { first.stage.from } else { first.stage.to };
        let stage = Stage::constant(rate, warm_up);
        let warming = Part::new(stage, Duration::ZERO, 0.0, Place::WarmUp);
        let later = self.parts.iter().map(|part| Part {
            begins: part.begins + warm_up,
            before: part.before + stage.arrivals(),
            place: match part.place {
                Place::Plateau { first_ends, second_ends } => {
                    Place::Plateau { first_ends: first_ends + warm_up, second_ends: second_ends + warm_up }
                }
                place => place,
            },
            ..part.clone()
        });
        Self { parts: std::iter::once(warming).chain(later).collect(), ..self.clone() }
    }

    /// The arrivals that are left to one of `of` generators, number `turn` from 0: every one of that many in turn, so that
    /// those of all generators together are exactly the schedule.
    pub(crate) fn share(&self, turn: usize, of: usize) -> Self {
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        Self {
            parts: Arc::clone(&self.parts),
            listed: self.listed.clone(),
            turn: self.turn + self.of.saturating_mul(number(turn)),
            of: self.of.saturating_mul(number(of.max(1))),
        }
    }

    /// Arrival `index` of this generator, or none when the schedule has ended.
    pub(super) fn arrival(&self, index: u64) -> Option<Arrival> {
        let number = self.turn.checked_add(index.checked_mul(self.of)?)?;
        match &self.listed {
            None => self.arrival_by_rate(number),
            Some(listed) => self.arrival_of(listed, number),
        }
    }

    /// Those before the plateau ask what the list begins with, again and again.
    fn arrival_of(&self, listed: &Arrivals, index: u64) -> Option<Arrival> {
        let plateau = self.parts.last()?;
        let before = plateau.before.ceil() as u64;
        if let Some(place) = index.checked_sub(before) {
            let (after, what) = listed.get(place)?;
            let due = plateau.begins + after;
            return Some(Arrival { due, phase: plateau.phase(due), asks: Some(what) });
        }
        let arrival = self.arrival_by_rate(index)?;
        let (_, what) = listed.get(index % u64::try_from(listed.len()).unwrap_or(1).max(1))?;
        Some(Arrival { asks: Some(what), ..arrival })
    }

    fn arrival_by_rate(&self, index: u64) -> Option<Arrival> {
        let number = index as f64;
        let part = self.parts.iter().rev().find(|part| part.before <= number)?;
        let within = number - part.before;
        if within >= part.arrivals {
            // Of the last stage: it is over. Of another: what rounding left between two, the next one's first.
            let next = self.parts.iter().find(|next| next.begins > part.begins)?;
            return Some(Arrival { due: next.begins, phase: next.phase(next.begins), asks: None });
        }
        let due = part.due(within);
        Some(Arrival { due, phase: part.phase(due), asks: None })
    }

    /// The number of this generator's arrivals in the plateau.
    pub(crate) fn measured(&self) -> u64 {
        if let Some(listed) = &self.listed {
            let from = self.parts.last().map_or(0, |plateau| plateau.before.ceil() as u64);
            let to = from.saturating_add(u64::try_from(listed.len()).unwrap_or(u64::MAX));
            return self.own_below(to) - self.own_below(from);
        }
        let parts = self.parts.iter().filter(|part| part.is_measured());
        // From the first arrival at or after its beginning to the last before its end.
        parts
            .map(|part| {
                let (from, to) = (part.before.ceil() as u64, (part.before + part.arrivals).ceil() as u64);
                self.own_below(to) - self.own_below(from)
            })
            .sum()
    }

    /// How many of the arrivals before this number are this generator's.
    fn own_below(&self, number: u64) -> u64 {
        number.saturating_sub(self.turn).div_ceil(self.of)
    }

    /// The length of the plateau.
    pub fn plateau(&self) -> Duration {
        self.parts.iter().filter(|part| part.is_measured()).map(|part| part.stage.duration).sum()
    }

    /// From the first arrival to the end of the last stage.
    pub fn duration(&self) -> Duration {
        self.parts.iter().map(|part| part.stage.duration).sum()
    }

    /// When answers to the plateau's arrivals must be there to count for the rate: at its end, and a little for those
    /// that are always on their way.
    pub(super) fn answers_due(&self) -> Duration {
        let ends =
            self.parts.iter().filter(|part| part.is_measured()).map(|part| part.begins + part.stage.duration);
        ends.max().unwrap_or_default() + patience(self.plateau())
    }

    /// When the plateau begins and ends, after the start; of several, the first's beginning and the last's end.
    pub fn plateau_edges(&self) -> (Duration, Duration) {
        let mut parts = self.parts.iter().filter(|part| part.is_measured());
        let first = parts.next();
        let last = parts.next_back().or(first);
        let ends = last.map(|part| part.begins + part.stage.duration);
        (first.map(|part| part.begins).unwrap_or_default(), ends.unwrap_or_default())
    }

    /// The highest rate of the plateau.
    pub fn rate(&self) -> f64 {
        self.parts
            .iter()
            .filter(|part| part.is_measured())
            .map(|part| part.stage.from.max(part.stage.to))
            .fold(0.0, f64::max)
    }

    /// Its stages.
    pub fn stages(&self) -> impl Iterator<Item = Stage> + '_ {
        self.parts.iter().map(|part| part.stage)
    }
}

/// How long answers may be on their way at the end of what is measured, which is so long.
pub(super) fn patience(measured: Duration) -> Duration {
    const MOST: Duration = Duration::from_millis(500);
    (measured / 20).min(MOST)
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
            assert!(arrival.phase.is_measured());
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
        let measured: Vec<_> = all.iter().filter(|arrival| arrival.phase.is_measured()).collect();
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
            let measured = all.iter().filter(|arrival| arrival.phase.is_measured()).count() as u64;
            assert_eq!(measured, schedule.measured());
        }
    }

    #[test]
    fn a_warm_up_goes_before_and_is_not_measured() {
        let schedule =
            Schedule::constant(100.0, Duration::from_secs(1)).unwrap().after(Duration::from_secs(2));
        let all = arrivals(&schedule);
        assert_eq!((all.len(), schedule.measured()), (300, 100));
        assert!(
            all.iter().all(|arrival| arrival.phase.is_measured() == (arrival.due >= Duration::from_secs(2)))
        );
    }

    #[test]
    fn a_plateau_has_three_parts_of_the_same_length() {
        let stages = [stage(10.0, 30.0, 3), stage(30.0, 30.0, 9), stage(30.0, 0.0, 3)];
        let schedule = Schedule::new(&stages).unwrap();
        assert_eq!(schedule.plateau_edges(), (Duration::from_secs(3), Duration::from_secs(12)));
        let schedule = schedule.after(Duration::from_secs(1));
        let all = arrivals(&schedule);
        let of = |phase: Phase| all.iter().filter(|arrival| arrival.phase == phase).count();
        assert_eq!(Phase::ALL.map(of), [10, 60 + 45, 90, 90, 90]);
        assert!(Phase::ALL.iter().enumerate().all(|(place, phase)| phase.index() == place));
        assert!(all.windows(2).all(|pair| pair[0].phase <= pair[1].phase || pair[1].phase == Phase::Ramp));
    }

    #[test]
    fn the_shares_of_generators_are_together_the_schedule() {
        let stages = [stage(0.0, 37.0, 3), stage(37.0, 37.0, 7), stage(37.0, 0.3, 5)];
        let whole = Schedule::new(&stages).unwrap().after(Duration::from_secs(1));
        for of in [1, 2, 3, 4, 7, 400] {
            let shares: Vec<_> = (0..of).map(|turn| whole.share(turn, of)).collect();
            let dealt: Vec<_> = shares.iter().map(arrivals).collect();
            for (index, arrival) in arrivals(&whole).iter().enumerate() {
                assert_eq!(dealt[index % of].get(index / of), Some(arrival), "arrival {index} of {of}");
            }
            assert_eq!(dealt.iter().map(Vec::len).sum::<usize>(), arrivals(&whole).len());
            for (share, dealt) in shares.iter().zip(&dealt) {
                let measured = dealt.iter().filter(|arrival| arrival.phase.is_measured()).count() as u64;
                assert_eq!((share.measured(), share.rate()), (measured, whole.rate()));
            }
        }
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

    #[test]
    fn a_list_is_kept_to_the_microsecond_behind_a_warm_up_at_its_mean_rate() {
        let at = |millis: u64, what| (Duration::from_millis(millis), what);
        let listed = Arrivals::new([at(0, 5), at(0, 3), at(1_500, 1), at(1_501, 2), at(4_000, 4)]).unwrap();
        let schedule = Schedule::listed(listed).unwrap();
        assert_eq!((schedule.measured(), schedule.rate(), schedule.duration().as_secs()), (5, 1.0, 5));
        let told = |schedule: &Schedule| {
            let told =
                |arrival: Arrival| (arrival.due.as_millis(), arrival.asks.unwrap(), arrival.phase.index());
            arrivals(schedule).into_iter().map(told).collect::<Vec<_>>()
        };
        let plateau = [(0, 3, 2), (0, 5, 2), (1_500, 1, 2), (1_501, 2, 2), (4_000, 4, 4)];
        assert_eq!(told(&schedule), plateau);
        let warm = told(&schedule.after(Duration::from_millis(2_500)));
        assert_eq!(warm[..3], [(0, 3, 0), (1_000, 5, 0), (2_000, 1, 0)]);
        assert_eq!(warm[3..], plateau.map(|(due, what, phase)| (due + 2_500, what, phase)));
    }
}
