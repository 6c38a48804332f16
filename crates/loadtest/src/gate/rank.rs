//! Rank tests: whether one sample lies above another by more than chance explains, whatever their distributions.

/// The probability of so high ranks of `ours` beside `theirs` if both were of one distribution: the one-sided test of Mann and
/// Whitney, exact, with ties counted half. Small where ours are greater.
pub(super) fn greater(ours: &[f64], theirs: &[f64]) -> f64 {
    let all: Vec<f64> = ours.iter().chain(theirs).copied().collect();
    let ranks: Vec<usize> = all.iter().map(|value| doubled_rank(*value, &all)).collect();
    let sum: usize = ranks.iter().take(ours.len()).sum();
    // Every way to choose which of them are ours is as probable as another.
    share_from(&choices(&ranks, ours.len()), sum)
}

/// Twice the rank of a value among all, from 1: equal ones share the mean of their ranks.
fn doubled_rank(value: f64, all: &[f64]) -> usize {
    let counted = all.iter().map(|other| match other.total_cmp(&value) {
        std::cmp::Ordering::Less => 2,
        std::cmp::Ordering::Equal => 1,
        std::cmp::Ordering::Greater => 0,
    });
    counted.sum::<usize>() + 1
}

/// How many choices of `wanted` of these ranks have each sum, by the sum. What is below 2^53 is counted exactly: 25 out of 50
/// have 1.3e14 choices.
fn choices(ranks: &[usize], wanted: usize) -> Vec<f64> {
    let most = ranks.iter().sum::<usize>();
    // By how many are chosen, among the ranks so far.
    let mut ways: Vec<Vec<f64>> = vec![vec![0.0; most + 1]; wanted + 1];
    if let Some(none) = ways.first_mut().and_then(|none| none.first_mut()) {
        *none = 1.0;
    }
    for rank in ranks {
        // From the most down, so that no rank is chosen twice.
        for chosen in (1..=wanted).rev() {
            let (fewer, more) = ways.split_at_mut(chosen);
            if let (Some(fewer), Some(more)) = (fewer.last(), more.first_mut()) {
                more.iter_mut().skip(*rank).zip(fewer).for_each(|(more, fewer)| *more += fewer);
            }
        }
    }
    ways.pop().unwrap_or_default()
}

/// The share of those ways whose sum is so high or higher.
fn share_from(ways: &[f64], sum: usize) -> f64 {
    ways.iter().skip(sum).sum::<f64>() / ways.iter().sum::<f64>()
}

/// The same for differences of pairs: the signed-rank test of Wilcoxon, exact. Small where most differences, the great ones
/// above all, are above 0. Differences of 0 say nothing and are left out.
pub(super) fn positive(differences: &[f64]) -> f64 {
    let mut known: Vec<f64> = differences.iter().copied().filter(|difference| *difference != 0.0).collect();
    known.sort_by(|one, other| one.abs().total_cmp(&other.abs()));
    if known.is_empty() {
        return 1.0;
    }
    let sum: usize =
        (1..).zip(&known).filter(|(_, difference)| **difference > 0.0).map(|(rank, _)| rank).sum();
    // Every combination of signs is as probable as another.
    share_from(&signs(known.len()), sum)
}

/// How many combinations of signs of so many ranks have each sum of those above 0, by the sum.
fn signs(count: usize) -> Vec<f64> {
    let mut ways: Vec<f64> = vec![0.0; count * (count + 1) / 2 + 1];
    if let Some(none) = ways.first_mut() {
        *none = 1.0;
    }
    for rank in 1..=count {
        let with_it = std::iter::repeat_n(0.0, rank).chain(ways.iter().copied());
        ways = ways.iter().zip(with_it).map(|(without, with)| without + with).collect();
    }
    ways
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

    /// Twice the number of pairs in which ours is greater; a tie counts once.
    fn doubled_u(ours: &[f64], theirs: &[f64]) -> u64 {
        let pairs = ours.iter().flat_map(|one| theirs.iter().map(move |other| one.total_cmp(other)));
        pairs.map(|order| 1 + order as i64).sum::<i64>().try_into().unwrap()
    }

    /// The test of Mann and Whitney by looking at every choice.
    fn greater_by_looking(ours: &[f64], theirs: &[f64]) -> f64 {
        let all = [ours, theirs].concat();
        let (mut as_high, mut ways) = (0, 0);
        for chosen in (0_u32..1 << all.len()).filter(|chosen| chosen.count_ones() as usize == ours.len()) {
            let (mine, others): (Vec<_>, Vec<_>) =
                all.iter().enumerate().partition(|(place, _)| chosen >> place & 1 == 1);
            let values = |of: Vec<(usize, &f64)>| of.into_iter().map(|(_, value)| *value).collect::<Vec<_>>();
            ways += 1;
            as_high += u32::from(doubled_u(&values(mine), &values(others)) >= doubled_u(ours, theirs));
        }
        f64::from(as_high) / f64::from(ways)
    }

    /// The test of Wilcoxon by looking at every combination of signs.
    fn positive_by_looking(differences: &[f64]) -> f64 {
        let mut known = differences.to_vec();
        known.sort_by(|one, other| one.abs().total_cmp(&other.abs()));
        let sum = |is_above: &dyn Fn(usize) -> bool| -> usize {
            (0..known.len()).filter(|place| is_above(*place)).map(|place| place + 1).sum()
        };
        let ours = sum(&|place| known[place] > 0.0);
        let all = 0_u32..1 << known.len();
        let ways = f64::from(all.end);
        all.filter(|signs| sum(&|place| signs >> place & 1 == 1) >= ours).count() as f64 / ways
    }

    #[test]
    fn what_is_counted_by_sums_is_what_looking_at_all_finds() {
        // Few values, so that many are equal.
        let value = |number: usize, of: usize| (number * number + number / 3) as f64 % of as f64;
        for (n, m, of) in [(3, 3, 2), (4, 5, 3), (5, 4, 7), (6, 6, 4), (3, 8, 5), (7, 7, 100)] {
            let ours: Vec<f64> = (1..=n).map(|number| value(number, of)).collect();
            let theirs: Vec<f64> = (1..=m).map(|number| value(number + 20, of)).collect();
            for (one, other) in [(&ours, &theirs), (&theirs, &ours)] {
                let (counted, seen) = (greater(one, other), greater_by_looking(one, other));
                assert!((counted - seen).abs() < 1e-12, "{one:?} {other:?}: {counted} {seen}");
            }
            let differences: Vec<f64> =
                ours.iter().zip(&theirs).map(|(one, other)| one - other + 0.5).collect();
            let (counted, seen) = (positive(&differences), positive_by_looking(&differences));
            assert!((counted - seen).abs() < 1e-12, "{differences:?}: {counted} {seen}");
        }
    }

    #[test]
    fn twenty_five_repeats_and_more_are_counted_too() {
        // No more can be asked for at once; looking at all 1.3e14 choices would never end.
        let (low, high): (Vec<_>, Vec<_>) = (0..50).map(f64::from).partition(|value| *value < 25.0);
        let choices = 126_410_606_437_752.0;
        assert!((greater(&high, &low) * choices - 1.0).abs() < 1e-9);
        assert!((greater(&low, &high) - 1.0).abs() < 1e-12);
        // Every second one is ours.
        let (even, odd): (Vec<_>, Vec<_>) = (0..50).map(f64::from).partition(|value| value % 2.0 == 0.0);
        assert!(greater(&even, &odd) > 0.5 && greater(&odd, &even) > 0.1, "{}", greater(&odd, &even));
        // One in 2^40 where all of forty are above 0; of the greatest ten below 0 the others do not make up.
        let all: Vec<f64> = (1..=40).map(f64::from).collect();
        assert!((positive(&all) * 2_f64.powi(40) - 1.0).abs() < 1e-9);
        let worst_below: Vec<f64> =
            all.iter().map(|value| if *value > 30.0 { -value } else { *value }).collect();
        assert!(positive(&worst_below) > 0.1, "{}", positive(&worst_below));
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
