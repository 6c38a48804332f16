//! Between which changes the true one lies, whatever the distributions: the estimate of Hodges and Lehmann with the interval
//! that its rank test gives. Changes are ratios, because figures of one machine lie apart by shares of themselves.

use super::{Pairing, SIGNIFICANT, rank};

/// With more repeats on a side the ranks are taken as normally distributed, which they are by then.
const COUNTED_OUT: usize = 50;
/// Beyond so many standard deviations lies a twentieth of a normal distribution.
const TWENTIETH: f64 = 1.645;

/// By what figures have changed: 1.1 where they are a tenth higher.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ratio {
    /// The estimate.
    pub(super) estimate: f64,
    /// The ends of the interval: the true ratio lies below the first, and above the second, with a probability of a twentieth at
    /// most each.
    pub(super) ends: (f64, f64),
}

/// The ratio of `now` to `before`; none where a figure is not above 0, or where there are too few.
pub(super) fn ratio(before: &[f64], now: &[f64], pairing: Pairing) -> Option<Ratio> {
    if before.iter().chain(now).any(|value| !(value.is_finite() && *value > 0.0)) {
        return None;
    }
    let logarithms = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
    let (before, now) = (logarithms(before), logarithms(now));
    let (mut changes, outside) = match pairing {
        Pairing::Apart => {
            let each = now.iter().flat_map(|now| before.iter().map(move |before| now - before));
            (each.collect::<Vec<f64>>(), outside_of_choices(before.len(), now.len()))
        }
        Pairing::Turns => {
            let pairs: Vec<f64> = now.iter().zip(&before).map(|(now, before)| now - before).collect();
            (means(&pairs), outside_of_signs(pairs.len()))
        }
    };
    changes.sort_by(f64::total_cmp);
    let least = changes.get(outside.checked_sub(1)?)?;
    let most = changes.get(changes.len().checked_sub(outside)?)?;
    Some(Ratio { estimate: rank::median(&changes)?.exp(), ends: (least.exp(), most.exp()) })
}

/// The means of every two values, each value with itself too.
fn means(values: &[f64]) -> Vec<f64> {
    let with_later = |(place, one): (usize, &f64)| {
        let one = *one;
        values.iter().skip(place).map(move |other| f64::midpoint(one, *other)).collect::<Vec<f64>>()
    };
    values.iter().enumerate().flat_map(with_later).collect()
}

/// How many of the sorted differences lie outside of the interval at each end, by the test of Mann and Whitney.
fn outside_of_choices(before: usize, now: usize) -> usize {
    let pairs = before * now;
    if before.max(now) > COUNTED_OUT {
        let variance = (pairs * (before + now + 1)) as f64 / 12.0;
        return normal(pairs as f64 / 2.0, variance);
    }
    // Ways to choose ours with so many pairs in which they are above: the product of (1 - q^(before + i)) / (1 - q^i).
    let mut ways = vec![0.0; pairs + 1];
    if let Some(none) = ways.first_mut() {
        *none = 1.0;
    }
    let mut total = 1.0;
    for of in 1..=now {
        for place in (0..ways.len()).rev() {
            let below = place.checked_sub(before + of).and_then(|place| ways.get(place)).copied();
            add(&mut ways, place, -below.unwrap_or(0.0));
        }
        for place in 0..ways.len() {
            let below = place.checked_sub(of).and_then(|place| ways.get(place)).copied();
            add(&mut ways, place, below.unwrap_or(0.0));
        }
        total *= (before + of) as f64 / of as f64;
    }
    outside(&ways, total)
}

/// The same of means of pairs' differences, by Wilcoxon's signed ranks.
fn outside_of_signs(pairs: usize) -> usize {
    let most = pairs * (pairs + 1) / 2;
    if pairs > COUNTED_OUT {
        let variance = (most * (2 * pairs + 1)) as f64 / 12.0;
        return normal(most as f64 / 2.0, variance);
    }
    // Combinations of signs with this sum of ranks: the product of 1 + q^rank.
    let mut ways = vec![0.0; most + 1];
    if let Some(none) = ways.first_mut() {
        *none = 1.0;
    }
    let mut total = 1.0;
    for rank in 1..=pairs {
        for place in (0..ways.len()).rev() {
            let below = place.checked_sub(rank).and_then(|place| ways.get(place)).copied();
            add(&mut ways, place, below.unwrap_or(0.0));
        }
        total *= 2.0;
    }
    outside(&ways, total)
}

fn add(ways: &mut [f64], place: usize, more: f64) {
    if let Some(ways) = ways.get_mut(place) {
        *ways += more;
    }
}

/// How many of the lowest places together are as improbable as an accident may be.
fn outside(ways: &[f64], total: f64) -> usize {
    let mut sum = 0.0;
    let improbable = ways.iter().take_while(|ways| {
        sum += **ways;
        sum / total <= SIGNIFICANT
    });
    improbable.count()
}

fn normal(mean: f64, variance: f64) -> usize {
    (mean - TWENTIETH * variance.sqrt()).max(0.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_lie_outside_as_in_the_tables() {
        // Of Mann and Whitney's U the highest value of 5 % on one side, and one more: 0, 4, 27, 42, 138.
        let choices = [(3, 3), (5, 5), (10, 10), (12, 12), (20, 20)];
        assert_eq!(choices.map(|(before, now)| outside_of_choices(before, now)), [1, 5, 28, 43, 139]);
        assert_eq!((outside_of_choices(2, 3), outside_of_choices(3, 5)), (0, 2));
        // Of Wilcoxon's sum of signed ranks: 0, 2, 10, 17, 60.
        assert_eq!([5, 6, 10, 12, 20].map(outside_of_signs), [1, 3, 11, 18, 61]);
        assert_eq!(outside_of_signs(4), 0);
    }

    #[test]
    fn where_ranks_are_no_longer_counted_out_hardly_anything_changes() {
        let variance = |pairs: f64, all: f64| pairs * (all + 1.0) / 12.0;
        let close =
            |counted: usize, normal: usize| assert!(counted.abs_diff(normal) <= 2, "{counted}, {normal}");
        close(outside_of_choices(50, 50), normal(1_250.0, variance(2_500.0, 100.0)));
        close(outside_of_signs(50), normal(637.5, variance(1_275.0, 100.0)));
    }

    #[test]
    fn the_estimate_lies_in_the_middle_of_its_interval() {
        let before = [1.00, 1.02, 0.98, 1.01, 0.99];
        let slower = before.map(|value| value * 1.2);
        for pairing in [Pairing::Apart, Pairing::Turns] {
            let found = ratio(&before, &slower, pairing).unwrap();
            assert!((found.estimate - 1.2).abs() < 1e-9, "{found:?}");
            assert!(found.ends.0 <= 1.2 + 1e-9 && found.ends.1 >= 1.2 - 1e-9, "{found:?}");
        }
        // Each pair says the same, however the machine drifts.
        let drifting = [1.0, 1.3, 1.7, 2.2, 2.9];
        let slower = drifting.map(|value| value * 1.2);
        let apart = ratio(&drifting, &slower, Pairing::Apart).unwrap();
        let turns = ratio(&drifting, &slower, Pairing::Turns).unwrap();
        assert!(turns.ends.1 - turns.ends.0 < 1e-9 && apart.ends.0 < 1.0 && apart.ends.1 > 1.5, "{apart:?}");
    }

    #[test]
    fn of_too_few_and_of_nothing_no_interval_is_told() {
        assert_eq!(ratio(&[1.0; 2], &[1.0; 2], Pairing::Apart), None);
        assert_eq!(ratio(&[1.0; 4], &[1.0; 4], Pairing::Turns), None);
        assert_eq!(ratio(&[0.0; 5], &[1.0; 5], Pairing::Turns), None);
        assert_eq!(ratio(&[], &[], Pairing::Apart), None);
    }
}
