//! From windows to verdicts: how each quantity goes, and what that fails.

use std::collections::BTreeSet;

use super::tolerance::Tolerance;
use crate::results::{Leak, QUANTITIES, SingleRise, Soak, Threshold, Window};
use crate::trend::{Growth, Trend};
use crate::vitals::Vitals;

const HOUR: f64 = 3_600.0;

/// How each quantity that was measured goes, over the windows after those in which the provider settled.
pub(super) fn of(
    (windows, settling): (&[Window], usize),
    tolerances: &[Tolerance],
    limits: &Vitals,
) -> Vec<Leak> {
    let settled = windows.get(settling..).unwrap_or_default();
    let known = QUANTITIES.iter().filter_map(|quantity| {
        let tolerance = Tolerance::of(tolerances, quantity.name);
        let limit = match quantity.name {
            "memory" => limits.memory,
            "descriptors" => limits.descriptors,
            "disk" => limits.disk,
            _ => None,
        };
        leak(settled, (quantity.name, quantity.unit), (quantity.of, tolerance, limit))
    });
    let names: BTreeSet<&String> = settled.iter().flat_map(|window| window.store_mib.keys()).collect();
    let stores = names.into_iter().filter_map(|name| {
        leak(settled, (name, "MiB"), (|window: &Window| window.store_mib.get(name).copied(), None, None))
    });
    known.chain(stores).collect()
}

/// How one goes; none where it was not measured.
fn leak(
    windows: &[Window],
    (quantity, unit): (&str, &str),
    (of, tolerance, limit): (impl Fn(&Window) -> Option<f64>, Option<f64>, Option<f64>),
) -> Option<Leak> {
    let hours = |window: &Window| (window.at - window.seconds / 2.0) / HOUR;
    let points: Vec<_> = windows.iter().filter_map(|window| Some((hours(window), of(window)?))).collect();
    let last = points.last()?.1;
    let trend = Trend::of(&points);
    let slope = trend.slope;
    let left = limit.map(|limit| (limit - last).max(0.0));
    let grows = slope.filter(|slope| trend.growth == Growth::Steady && slope.per_hour > 0.0);
    Some(Leak {
        quantity: quantity.to_owned(),
        unit: unit.to_owned(),
        growth: trend.growth,
        windows: trend.windows,
        per_hour: slope.map(|slope| slope.per_hour),
        least_per_hour: slope.map(|slope| slope.least),
        most_per_hour: slope.map(|slope| slope.most),
        probability: slope.map(|slope| slope.probability),
        first_half_per_hour: trend.halves.map(|(first, _)| first.per_hour),
        last_half_per_hour: trend.halves.map(|(_, last)| last.per_hour),
        rise: trend.rise.map(|rise| SingleRise { at_hours: rise.at, by: rise.by }),
        tolerance_per_hour: tolerance,
        limit,
        days_to_limit: grows.zip(left).map(|(slope, left)| left / slope.per_hour / 24.0),
    })
}

impl Soak {
    /// What must hold of what has a tolerance: growth that is beyond doubt is no more. Of too few windows nothing is said.
    pub(crate) fn thresholds(&self) -> Vec<Threshold> {
        let told = self.leaks.iter().filter(|leak| leak.growth != Growth::TooShort);
        told.filter_map(|leak| {
            let tolerance = leak.tolerance_per_hour?;
            let sure = leak.least_per_hour.filter(|_| leak.growth == Growth::Steady).unwrap_or(0.0).max(0.0);
            let unit =
                if leak.unit.is_empty() { String::new() } else { format!("_{}", leak.unit.to_lowercase()) };
            Some(Threshold {
                scenario: None,
                name: format!("{}_growth{unit}_per_hour", leak.quantity),
                limit: format!("<= {tolerance}"),
                value: Some(sure),
                held: sure <= tolerance,
            })
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 48 windows of ten minutes.
    fn windows(memory: impl Fn(f64) -> f64) -> Vec<Window> {
        let window = |place: u32| {
            let hours = f64::from(place) / 6.0;
            Window {
                at: hours * HOUR,
                seconds: 600.0,
                answered: 1_000,
                memory_mib: Some(memory(hours) + f64::from(place * 7 % 5) * 0.1),
                descriptors: Some(64.0),
                store_mib: [("codes".to_owned(), 3.0)].into(),
                ..Window::default()
            }
        };
        (1..=48).map(window).collect()
    }

    fn soak(memory: impl Fn(f64) -> f64) -> Soak {
        let windows = windows(memory);
        let limits = Vitals { memory: Some(8_192.0), ..Vitals::default() };
        let leaks = of((&windows, 5), &Tolerance::usual(), &limits);
        Soak { window_seconds: 600.0, settling: 5, windows, leaks }
    }

    #[test]
    fn a_leak_fails_with_its_slope_and_its_end() {
        let soak = soak(|hours| 100.0 + 12.0 * hours);
        let names: Vec<_> = soak.leaks.iter().map(|leak| leak.quantity.as_str()).collect();
        assert_eq!(names, ["memory", "descriptors", "codes"], "what was not measured is not told");
        let memory = &soak.leaks[0];
        assert_eq!((memory.growth, memory.windows), (Growth::Steady, 43));
        assert!((memory.per_hour.unwrap() - 12.0).abs() < 0.1, "{memory:?}");
        // 8,192 MiB less 196, at 12 an hour.
        assert!((memory.days_to_limit.unwrap() - 27.8).abs() < 0.5, "{memory:?}");
        let [memory, descriptors] = soak.thresholds().try_into().unwrap();
        assert_eq!(
            (memory.name.as_str(), memory.limit.as_str(), memory.held),
            ("memory_growth_mib_per_hour", "<= 1", false)
        );
        assert!(memory.value > Some(11.5) && descriptors.held, "{memory:?} {descriptors:?}");
    }

    #[test]
    fn what_is_flat_fills_or_is_tolerated_fails_nothing() {
        let flat = soak(|_| 100.0);
        assert_eq!((flat.leaks[0].growth, flat.leaks[0].days_to_limit), (Growth::None, None));
        let filling = soak(|hours| 100.0 + 50.0 * (1.0 - (-2.0 * hours).exp()));
        assert_ne!(filling.leaks[0].growth, Growth::Steady);
        let slow = soak(|hours| 100.0 + 0.8 * hours);
        assert_eq!(slow.leaks[0].growth, Growth::Steady, "it is told");
        for soak in [flat, filling, slow] {
            assert!(soak.thresholds().iter().all(|threshold| threshold.held), "{soak:?}");
        }
    }

    #[test]
    fn few_windows_judge_nothing() {
        let windows = windows(|hours| 100.0 * hours);
        let leaks = of((&windows[..12], 5), &Tolerance::usual(), &Vitals::default());
        assert!(leaks.iter().all(|leak| leak.growth == Growth::TooShort), "{leaks:?}");
        assert!(leaks[0].most_per_hour.is_some());
        let soak = Soak { leaks, ..Soak::default() };
        assert!(soak.thresholds().is_empty());
        assert!(of((&[], 0), &[], &Vitals::default()).is_empty());
    }
}
