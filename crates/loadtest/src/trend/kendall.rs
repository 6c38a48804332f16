//! The test of Mann and Kendall: whether values rise in the order of their times by more than chance explains, whatever their
//! distribution.

/// Up to so many values the distribution of the score is counted out; beyond it is as good as normal.
const COUNTED: usize = 20;
/// Of fewer values the likeness of neighbours is told as it is seen.
const FEW: usize = 24;
/// What a normal variable exceeds once in forty times: 95 % lie between it and its negative.
const NORMAL_97_5: f64 = 1.959_964;

/// What is known of a series by its order alone.
pub(super) struct Order {
    /// Pairs that rise less those that fall.
    pub(super) score: i64,
    /// How many values there are.
    count: usize,
    /// By how much the score varies by chance, its square: with ties and, where neighbours resemble each other, with that.
    variance: f64,
    /// How probable each score is, from the lowest on in steps of 2; none where there are too many values to count them out.
    distribution: Option<Vec<f64>>,
}

impl Order {
    /// Of values in the order of their times. `likeness` is how much the score varies more than it would if neighbours were
    /// independent: see [`likeness`].
    pub(super) fn of(values: &[f64], likeness: f64) -> Self {
        let ties = ties(values);
        let count = values.len();
        let counted = count <= COUNTED;
        Self {
            score: score(values),
            count,
            variance: variance(count, &ties) * likeness.max(1.0),
            distribution: counted.then(|| distribution(&ties)),
        }
    }

    /// The probability of so high a score or a higher one by chance.
    pub(super) fn probability(&self) -> f64 {
        let counted = self.distribution.as_ref().map_or(0.0, |all| at_least(all, self.score));
        counted.max(self.by_the_normal())
    }

    /// The same by the normal distribution, with a correction because scores are whole.
    fn by_the_normal(&self) -> f64 {
        if self.variance <= 0.0 {
            return 1.0;
        }
        above((self.score as f64 - 1.0) / self.variance.sqrt())
    }

    /// By how much more pairs must rise than fall, so that chance does that once in forty times at most; none where there are too
    /// few values for so improbable a score.
    pub(super) fn critical(&self) -> Option<f64> {
        if self.variance <= 0.0 {
            return Some(0.0);
        }
        let pairs = (self.count * self.count.saturating_sub(1) / 2) as f64;
        let normal = NORMAL_97_5 * self.variance.sqrt();
        let counted = match &self.distribution {
            Some(all) => {
                let most = all.len() as i64 - 1;
                // The first score that is improbable enough; the interval reaches to the one before it.
                let first =
                    (0..=most).map(|step| 2 * step - most).find(|score| at_least(all, *score) <= 0.025)?;
                first as f64 - 2.0
            }
            None => normal,
        };
        Some(counted.max(normal).clamp(0.0, pairs))
    }
}

fn score(values: &[f64]) -> i64 {
    let later = |(place, one): (usize, &f64)| -> i64 {
        let rest = values.get(place + 1..).unwrap_or_default();
        rest.iter().map(|other| i64::from(other > one) - i64::from(other < one)).sum()
    };
    values.iter().enumerate().map(later).sum()
}

/// How many values of each kind are the same.
fn ties(values: &[f64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.chunk_by(|one, other| one == other).map(<[f64]>::len).collect()
}

/// Of the score of `count` values, of which as many as `ties` says are the same.
fn variance(count: usize, ties: &[usize]) -> f64 {
    let term = |of: usize| {
        let of = of as f64;
        of * (of - 1.0) * (2.0 * of + 5.0)
    };
    (term(count) - ties.iter().copied().map(term).sum::<f64>()) / 18.0
}

/// How probable each number of rising pairs is, if every order of the values is as probable as another. Pairs of the same value
/// neither rise nor fall: what is left are the inversions of a multiset, counted group by group.
fn distribution(ties: &[usize]) -> Vec<f64> {
    let (mut all, mut placed) = (vec![1.0], 0);
    for group in ties {
        all = product(&all, &interleaved(placed, *group));
        placed += group;
    }
    let sum: f64 = all.iter().sum();
    all.iter().map(|ways| ways / sum).collect()
}

/// In how many ways `group` equal values stand among `others`, by the number of pairs in which one of the others comes first.
fn interleaved(others: usize, group: usize) -> Vec<f64> {
    // ways[k]: with k of the group placed among those of the others that were looked at.
    let mut ways: Vec<Vec<f64>> = vec![vec![1.0]; group + 1];
    for _ in 0..others {
        for placed in 1..=group {
            // One more of the others comes before all that are placed, or the last that is placed comes after none of them.
            let shifted = ways.get(placed).map(|own| [vec![0.0; placed], own.clone()].concat());
            let before = placed.checked_sub(1).and_then(|less| ways.get(less)).cloned();
            if let (Some(place), Some(shifted), Some(before)) = (ways.get_mut(placed), shifted, before) {
                *place = sum(&shifted, &before);
            }
        }
    }
    ways.pop().unwrap_or_default()
}

fn sum(one: &[f64], other: &[f64]) -> Vec<f64> {
    let at = |of: &[f64], place: usize| of.get(place).copied().unwrap_or(0.0);
    (0..one.len().max(other.len())).map(|place| at(one, place) + at(other, place)).collect()
}

fn product(one: &[f64], other: &[f64]) -> Vec<f64> {
    let mut all = vec![0.0; (one.len() + other.len()).saturating_sub(1)];
    for (place, ways) in one.iter().enumerate() {
        for (further, more) in other.iter().enumerate() {
            if let Some(sum) = all.get_mut(place + further) {
                *sum += ways * more;
            }
        }
    }
    all
}

/// The probability of this score or a higher one. The distribution is by rising pairs; the score is those less the falling.
fn at_least(distribution: &[f64], score: i64) -> f64 {
    let most = distribution.len() as i64 - 1;
    let probable = distribution.iter().zip(0_i64..).filter(|(_, rising)| 2 * rising - most >= score);
    probable.map(|(probability, _)| probability).sum()
}

/// By how much more the score varies where what is left of the values beside their trend resembles its neighbour: a saw-tooth
/// and a slow wave rise for some windows together. 1 where they are independent.
pub(super) fn likeness(rest: &[f64]) -> f64 {
    let squares: f64 = rest.iter().map(|value| value * value).sum();
    let neighbours: f64 = rest.windows(2).map(|pair| pair.iter().product::<f64>()).sum();
    if squares <= 0.0 {
        return 1.0;
    }
    let count = rest.len() as f64;
    let correlation = neighbours / squares;
    // The trend that was taken off took some of the likeness with it (Kendall 1954). Of few values that is not known well enough.
    let whole = (count * correlation + 1.0) / (count - 4.0).max(1.0);
    let correlation = if rest.len() < FEW { correlation.min(0.5) } else { whole };
    let correlation = correlation.clamp(0.0, 0.9);
    (1.0 + correlation) / (1.0 - correlation)
}

/// The probability that a normal variable exceeds `z`, within 10⁻⁷ of itself (the approximation of `erfc` in Numerical Recipes,
/// second edition, 6.2).
fn above(z: f64) -> f64 {
    const TERMS: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * x);
    let series = TERMS.iter().rev().fold(0.0, |sum, term| sum * t + term);
    let upper = 0.5 * t * (series - x * x).exp();
    if z >= 0.0 { upper } else { 1.0 - upper }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_the_tables() {
        // Kaarsemaker and van Wijngaarden 1953: of 4 values a score of 6 once in 24 orders, of 4 four times; of 10 a score of 21
        // with probability 0.036.
        let probability =
            |values: &[f64]| Order::of(values, 1.0).distribution.map(|all| at_least(&all, score(values)));
        assert!((probability(&[1.0, 2.0, 3.0, 4.0]).unwrap() - 1.0 / 24.0).abs() < 1e-12);
        assert!((probability(&[1.0, 2.0, 4.0, 3.0]).unwrap() - 4.0 / 24.0).abs() < 1e-12);
        assert!((at_least(&distribution(&[1; 10]), 21) - 0.036).abs() < 5e-4);
        assert!((distribution(&[1; 20]).iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn ties_are_counted_out_as_all_orders_are() {
        // Every order of 1, 1, 2, 3, 3: 30 of them.
        let values = [1.0, 1.0, 2.0, 3.0, 3.0];
        let mut scores = Vec::new();
        let mut orders = vec![Vec::new()];
        for _ in 0..5 {
            orders = orders
                .iter()
                .flat_map(|order: &Vec<usize>| {
                    (0..5)
                        .filter(|next| !order.contains(next))
                        .map(|next| [order.clone(), vec![next]].concat())
                        .collect::<Vec<_>>()
                })
                .collect();
        }
        for order in &orders {
            scores.push(score(&order.iter().map(|place| values[*place]).collect::<Vec<_>>()));
        }
        let all = distribution(&ties(&values));
        for wanted in [-8, -2, 0, 4, 8] {
            let share = scores.iter().filter(|score| **score >= wanted).count() as f64 / scores.len() as f64;
            assert!((at_least(&all, wanted) - share).abs() < 1e-12, "{wanted}: {share}");
        }
        let mean_square =
            scores.iter().map(|score| (score * score) as f64).sum::<f64>() / scores.len() as f64;
        assert!((variance(5, &ties(&values)) - mean_square).abs() < 1e-9);
    }

    #[test]
    fn the_normal_takes_over_where_counting_ends() {
        let values: Vec<f64> =
            (0..20).map(|place| f64::from((place * 7) % 20) + f64::from(place) / 2.0).collect();
        let order = Order::of(&values, 1.0);
        let counted = at_least(order.distribution.as_ref().unwrap(), order.score);
        assert!((counted - order.by_the_normal()).abs() < 0.01, "{counted} {}", order.by_the_normal());
        let critical = order.critical().unwrap();
        assert!((critical - 60.0).abs() <= 2.0, "{critical}");
        assert!(Order::of(&values, 4.0).critical().unwrap() > 1.9 * critical);
        for (z, probability) in [(0.0, 0.5), (1.959_964, 0.025), (-1.0, 0.841_345), (4.0, 3.167e-5)] {
            assert!((above(z) - probability).abs() < 1e-6, "{z}: {}", above(z));
        }
    }

    #[test]
    fn what_never_changes_shows_nothing() {
        let order = Order::of(&[3.0; 12], 1.0);
        assert_eq!((order.score, order.probability()), (0, 1.0));
        assert_eq!(Order::of(&[3.0; 40], 1.0).critical(), Some(0.0));
        assert!(Order::of(&[1.0, 2.0, 3.0], 1.0).critical().is_none(), "three values prove nothing");
        assert_eq!(Order::of(&[1.0, 2.0, 3.0, 4.0, 5.0], 1e6).critical(), Some(10.0), "all pairs at most");
        assert_eq!((likeness(&[0.0; 5]), likeness(&[])), (1.0, 1.0));
    }
}
