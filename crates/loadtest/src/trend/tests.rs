//! How often series without a leak raise an alarm, and how often a leak is found, over many seeded series of each kind.

use super::*;

/// Series of each kind; a share of them is known within about 2 %.
const SERIES: u64 = 150;
const HOURS: f64 = 8.0;

/// A generator of numbers that are the same each time.
struct Chance(u64);

impl Chance {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// From 0 to 1.
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Normal, of deviation 1: twelve of them together are as good as that.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// Some values are wild, as measured ones are.
    fn wild(&mut self) -> f64 {
        let value = self.normal();
        if self.unit() < 0.05 { 8.0 * value } else { value }
    }
}

/// So many windows of a series of eight hours.
fn series(windows: usize, mut value: impl FnMut(usize, f64) -> f64) -> Vec<Point> {
    let hour = |place: usize| HOURS * (place as f64 + 1.0) / windows as f64;
    (0..windows).map(|place| (hour(place), value(place, hour(place)))).collect()
}

/// The share of series in which this is found.
fn share(of: impl Fn(&mut Chance) -> Vec<Point>, found: impl Fn(&Trend) -> bool) -> f64 {
    let hits = (1..=SERIES).filter(|seed| found(&Trend::of(&of(&mut Chance::new(*seed))))).count();
    hits as f64 / SERIES as f64
}

fn grows(trend: &Trend) -> bool {
    trend.growth == Growth::Steady
}

/// At most one in twenty, and what chance adds to that in so many series.
const ALARMS: f64 = 0.05 + 0.02;

#[test]
fn what_is_flat_raises_no_alarm() {
    for windows in [10, 16, 30, 60, 96] {
        let flat = |chance: &mut Chance| series(windows, |_, _| 200.0 + chance.normal());
        assert!(share(flat, grows) <= ALARMS, "{windows}: {}", share(flat, grows));
        let wild = |chance: &mut Chance| series(windows, |_, _| 200.0 + chance.wild());
        assert!(share(wild, grows) <= ALARMS, "{windows} wild: {}", share(wild, grows));
        let whole = |chance: &mut Chance| series(windows, |_, _| (30.0 + chance.normal()).round());
        assert!(share(whole, grows) <= ALARMS, "{windows} whole: {}", share(whole, grows));
    }
}

#[test]
fn neighbours_that_resemble_each_other_raise_none_either() {
    for (windows, likeness) in [(24, 0.5), (48, 0.5), (96, 0.5), (96, 0.7)] {
        let slow = |chance: &mut Chance| {
            let mut last = chance.normal();
            series(windows, |_, _| {
                last = likeness * last + chance.normal();
                200.0 + last
            })
        };
        assert!(share(slow, grows) <= ALARMS, "{windows}, {likeness}: {}", share(slow, grows));
    }
}

#[test]
fn a_saw_tooth_raises_none() {
    for windows in [30, 60, 96] {
        let saw = |chance: &mut Chance| {
            let (period, phase, height) =
                (3.0 + 7.0 * chance.unit(), chance.unit(), 5.0 + 30.0 * chance.unit());
            series(windows, |place, _| {
                200.0 + height * (place as f64 / period + phase).fract() + chance.normal()
            })
        };
        assert!(share(saw, grows) <= ALARMS, "{windows}: {}", share(saw, grows));
    }
}

#[test]
fn steps_raise_none_and_are_told() {
    for windows in [24, 48, 96] {
        let step = |chance: &mut Chance| {
            let (at, by) = ((0.2 + 0.6 * chance.unit()) * HOURS, 10.0 + 40.0 * chance.unit());
            series(windows, |_, hour| 200.0 + if hour >= at { by } else { 0.0 } + chance.normal())
        };
        assert!(share(step, grows) <= ALARMS, "{windows}: {}", share(step, grows));
        let told = share(step, |trend| trend.growth == Growth::Rose);
        assert!(told > 0.8, "{windows}: {told}");
    }
}

#[test]
fn what_fills_and_comes_to_rest_raises_none() {
    for windows in [24, 48, 96] {
        let filling = |chance: &mut Chance| {
            let (hours, height) = (0.2 + 0.6 * chance.unit(), 10.0 + 60.0 * chance.unit());
            series(windows, |_, hour| 200.0 + height * (1.0 - (-hour / hours).exp()) + chance.normal())
        };
        assert!(share(filling, grows) <= ALARMS, "{windows}: {}", share(filling, grows));
        let until_full = |chance: &mut Chance| {
            let full = HOURS * (0.15 + 0.25 * chance.unit());
            series(windows, |_, hour| 200.0 + 40.0 * (hour / full).min(1.0) + chance.normal())
        };
        assert!(share(until_full, grows) <= ALARMS, "{windows} until full: {}", share(until_full, grows));
    }
}

#[test]
fn a_clear_leak_is_found_with_its_slope() {
    for (windows, deviations) in [(12, 25.0), (24, 15.0), (48, 10.0), (96, 10.0)] {
        let leak = |chance: &mut Chance| {
            series(windows, |_, hour| 200.0 + deviations * hour / HOURS + chance.wild())
        };
        assert!(share(leak, grows) >= 0.95, "{windows}: {}", share(leak, grows));
        let within = share(leak, |trend| {
            trend.slope.is_some_and(|slope| (slope.least..=slope.most).contains(&(deviations / HOURS)))
        });
        assert!(within >= 0.93, "{windows}: the interval holds the slope in {within}");
    }
}

#[test]
fn a_leak_is_found_under_a_saw_tooth_beside_a_filling_cache_and_in_small_stairs() {
    for windows in [48, 96] {
        let saw = |chance: &mut Chance| {
            let (period, phase) = (3.0 + 5.0 * chance.unit(), chance.unit());
            series(windows, |place, hour| {
                200.0 + 5.0 * hour + 10.0 * (place as f64 / period + phase).fract() + chance.normal()
            })
        };
        assert!(share(saw, grows) >= 0.95, "{windows} saw: {}", share(saw, grows));
        let beside = |chance: &mut Chance| {
            let hours = 0.2 + 0.3 * chance.unit();
            series(windows, |_, hour| {
                200.0 + 3.0 * hour + 40.0 * (1.0 - (-hour / hours).exp()) + chance.normal()
            })
        };
        assert!(share(beside, grows) >= 0.95, "{windows} cache: {}", share(beside, grows));
        let stairs = |chance: &mut Chance| {
            series(windows, |_, hour| 200.0 + 8.0 * (hour * 1.5).floor() + chance.normal())
        };
        assert!(share(stairs, grows) >= 0.95, "{windows} stairs: {}", share(stairs, grows));
    }
}

#[test]
fn few_windows_say_nothing() {
    let leak: Vec<Point> = (0..9).map(|at| (f64::from(at), 100.0 * f64::from(at))).collect();
    let trend = Trend::of(&leak);
    assert_eq!((trend.growth, trend.windows), (Growth::TooShort, 9));
    assert!(trend.slope.is_some(), "and yet it can be told what was seen");
    assert_eq!(Trend::of(&leak[..3]).slope, None);
    assert_eq!(Trend::of(&[]).growth, Growth::TooShort);
}
