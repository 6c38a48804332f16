//! Rank tests: whether one sample lies above another by more than chance explains, whatever their distributions.

/// The probability of so high ranks of `ours` beside `theirs` if both were of one distribution: the one-sided test of Mann and
/// Whitney, exact, with ties counted half. Small where ours are greater.
pub(super) fn greater(ours: &[f64], theirs: &[f64]) -> f64 {
    let u = doubled_u(ours, theirs);
    let all: Vec<f64> = ours.iter().chain(theirs).copied().collect();
    // Every way to choose which of them are ours is as probable as another.
    let (mut as_high, mut ways) = (0_u64, 0_u64);
    choose(all.len(), ours.len(), &mut |chosen| {
        let pick = |wanted: bool| -> Vec<f64> {
            let of = all.iter().zip(chosen).filter(|(_, is)| **is == wanted);
            of.map(|(value, _)| *value).collect()
        };
        ways += 1;
        as_high += u64::from(doubled_u(&pick(true), &pick(false)) >= u);
    });
    as_high as f64 / ways.max(1) as f64
}

/// Twice the number of pairs in which ours is greater; a tie counts once.
fn doubled_u(ours: &[f64], theirs: &[f64]) -> u64 {
    let pairs = ours.iter().flat_map(|one| theirs.iter().map(move |other| one.total_cmp(other)));
    let counted = pairs.map(|order| match order {
        std::cmp::Ordering::Greater => 2,
        std::cmp::Ordering::Equal => 1,
        std::cmp::Ordering::Less => 0,
    });
    counted.sum()
}

/// Calls `seen` with every choice of `wanted` out of `count`.
fn choose(count: usize, wanted: usize, seen: &mut impl FnMut(&[bool])) {
    fn go(chosen: &mut Vec<bool>, (count, wanted): (usize, usize), seen: &mut impl FnMut(&[bool])) {
        let rest = count - chosen.len();
        if rest == 0 {
            seen(chosen);
            return;
        }
        for is in [true, false] {
            let left = wanted.checked_sub(usize::from(is));
            if let Some(left) = left.filter(|left| *left < rest) {
                chosen.push(is);
                go(chosen, (count, left), seen);
                chosen.pop();
            }
        }
    }
    go(&mut Vec::with_capacity(count), (count, wanted), seen);
}

/// The same for differences of pairs: the signed-rank test of Wilcoxon, exact. Small where most differences, the great ones
/// above all, are above 0. Differences of 0 say nothing and are left out.
pub(super) fn positive(differences: &[f64]) -> f64 {
    let mut known: Vec<f64> = differences.iter().copied().filter(|difference| *difference != 0.0).collect();
    known.sort_by(|one, other| one.abs().total_cmp(&other.abs()));
    if known.is_empty() {
        return 1.0;
    }
    let sum: u64 = (1..).zip(&known).filter(|(_, difference)| **difference > 0.0).map(|(rank, _)| rank).sum();
    // Every combination of signs is as probable as another.
    let ways = 1_u64 << known.len().min(30);
    let rank_sum = |signs: u64| -> u64 {
        (0..known.len() as u64).filter(|bit| signs >> bit & 1 == 1).map(|bit| bit + 1).sum()
    };
    let as_high = (0..ways).filter(|signs| rank_sum(*signs) >= sum).count();
    as_high as f64 / ways as f64
}

/// The middle of all values; the mean of the two in the middle of an even number.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    median_of_sorted(&sorted)
}

/// The same of values that are sorted already.
pub(crate) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let upper = sorted.get(sorted.len() / 2)?;
    let lower = sorted.get(sorted.len().checked_sub(1)? / 2)?;
    Some(f64::midpoint(*lower, *upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_the_tables() {
        // Five above five: one way of 252.
        let (low, high) = ([1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]);
        assert!((greater(&high, &low) - 1.0 / 252.0).abs() < 1e-12);
        assert!((greater(&low, &high) - 1.0).abs() < 1e-12);
        // U = 24 of 25: two ways of 252.
        assert!(
            (greater(&[5.5, 7.0, 8.0, 9.0, 10.0], &[1.0, 2.0, 3.0, 4.0, 6.0]) - 2.0 / 252.0).abs() < 1e-12
        );
        assert!((positive(&[1.0, 2.0, 3.0, 4.0, 5.0]) - 1.0 / 32.0).abs() < 1e-12);
        // Only the smallest below 0: two ways of 32.
        assert!((positive(&[-0.1, 2.0, 3.0, 4.0, 5.0]) - 2.0 / 32.0).abs() < 1e-12);
    }

    #[test]
    fn equal_samples_show_nothing() {
        assert!(greater(&[1.0; 5], &[1.0; 5]) > 0.99);
        assert!(positive(&[0.0; 5]) > 0.99 && positive(&[]) > 0.99);
        assert_eq!(
            (median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0]), median(&[])),
            (Some(2.0), Some(2.5), None)
        );
    }
}
