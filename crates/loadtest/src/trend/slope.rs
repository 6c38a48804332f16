//! The slope of a series that some wild values do not bend (Theil 1950, Sen 1968): the middle of the slopes of all pairs.

use super::kendall::{Order, likeness};
use crate::gate::rank::{median, median_of_sorted};

/// A value and its time in hours.
pub(super) type Point = (f64, f64);

/// How a series goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Per hour.
    pub per_hour: f64,
    /// With a confidence of 95 % it lies from here …
    pub least: f64,
    /// … to here.
    pub most: f64,
    /// The probability that chance lets a series rise so evenly that does not grow.
    pub probability: f64,
}

impl Slope {
    /// Of points by rising time. None where there are too few for an interval.
    pub(super) fn of(points: &[Point]) -> Option<Self> {
        let slopes = of_pairs(points);
        let per_hour = median_of_sorted(&slopes)?;
        let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
        let order = Order::of(&values, likeness(&rest(points, per_hour)));
        let critical = order.critical()?;
        // Where neighbours resemble each other very much, all slopes are within.
        let outside = (((slopes.len() as f64 - critical) / 2.0).floor() as usize).max(1);
        let least = *slopes.get(outside - 1)?;
        let most = *slopes.len().checked_sub(outside).and_then(|place| slopes.get(place))?;
        Some(Self { per_hour, least, most, probability: order.probability() })
    }
}

/// The slopes of all pairs of points with different times, sorted.
fn of_pairs(points: &[Point]) -> Vec<f64> {
    let mut slopes = Vec::with_capacity(points.len() * points.len().saturating_sub(1) / 2);
    for (place, (at, value)) in points.iter().enumerate() {
        let later = points.get(place + 1..).unwrap_or_default();
        slopes.extend(
            later.iter().filter(|(then, _)| then > at).map(|(then, other)| (other - value) / (then - at)),
        );
    }
    slopes.sort_by(f64::total_cmp);
    slopes
}

/// What is left of the values beside a line of this slope.
pub(super) fn rest(points: &[Point], per_hour: f64) -> Vec<f64> {
    let without: Vec<f64> = points.iter().map(|(at, value)| value - per_hour * at).collect();
    let middle = median(&without).unwrap_or(0.0);
    without.iter().map(|value| value - middle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wild_value_does_not_bend_the_line() {
        let mut points: Vec<Point> = (0..20).map(|at| (f64::from(at), 100.0 + 3.0 * f64::from(at))).collect();
        points[7].1 = 9_000.0;
        let slope = Slope::of(&points).unwrap();
        assert_eq!(slope.per_hour, 3.0);
        assert!(slope.least > 2.0 && slope.most < 4.0 && slope.probability < 1e-4, "{slope:?}");
    }

    #[test]
    fn the_slope_is_the_middle_of_all_pairs() {
        // By hand: 1, 3, 2, 5, 2, -1 sorted; two points of one time have no slope.
        let points = [(0.0, 0.0), (1.0, 1.0), (2.0, 6.0), (3.0, 5.0), (3.0, 9.0)];
        let slopes = of_pairs(&points[..4]);
        let rounded: Vec<f64> = slopes.iter().map(|slope| (slope * 100.0).round() / 100.0).collect();
        assert_eq!(rounded, [-1.0, 1.0, 1.67, 2.0, 3.0, 5.0]);
        assert!((median_of_sorted(&slopes).unwrap() - (2.0 + 5.0 / 3.0) / 2.0).abs() < 1e-9);
        assert_eq!(of_pairs(&points).len(), 9);
    }

    #[test]
    fn few_points_have_no_interval() {
        assert_eq!(Slope::of(&[]), None);
        assert_eq!(Slope::of(&[(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]), None);
        let flat: Vec<Point> = (0..12).map(|at| (f64::from(at), 5.0)).collect();
        assert_eq!(Slope::of(&flat), Some(Slope { per_hour: 0.0, least: 0.0, most: 0.0, probability: 1.0 }));
    }
}
