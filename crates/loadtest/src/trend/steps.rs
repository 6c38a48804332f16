//! Single rises of a series: a pool of threads that grows once, a buffer that doubles. They are no leak, however high they are.

use super::slope::Point;
use crate::gate::rank::median;

/// Rises that are looked for; of fewer points than [`FEW`] one less, because each takes some of a steady growth with it.
const MOST: usize = 2;
const FEW: usize = 20;
/// A rise is looked for between the middles of this share of the points before and after it.
const SHARE: usize = 8;

/// A single rise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rise {
    /// When, in hours.
    pub at: f64,
    /// By how much.
    pub by: f64,
}

/// The series without its greatest single rises, and these. A steady growth loses little by it: what it grows by in a quarter
/// of the points at most.
pub(super) fn levelled(points: &[Point]) -> (Vec<Point>, Vec<Rise>) {
    let (mut points, mut rises) = (points.to_vec(), Vec::new());
    let most = if points.len() < FEW { MOST - 1 } else { MOST };
    for _ in 0..most {
        let Some((place, rise)) = greatest(&points) else { break };
        points.iter_mut().skip(place).for_each(|(_, value)| *value -= rise.by);
        rises.push(rise);
    }
    (points, rises)
}

/// The greatest rise, and the place of the first point after it.
fn greatest(points: &[Point]) -> Option<(usize, Rise)> {
    let width = (points.len() / SHARE).max(2);
    let middle = |from: usize, to: usize| {
        let values: Vec<f64> = points.get(from..to)?.iter().map(|(_, value)| *value).collect();
        median(&values)
    };
    let rise = |place: usize| Some(middle(place, place + width)? - middle(place.checked_sub(width)?, place)?);
    let rises = || (width..points.len()).filter_map(|place| Some((place, rise(place)?)));
    let most = rises().map(|(_, by)| by).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    // Next to a rise the middles differ as much: it is where neighbours differ most.
    let jump = |place: usize| {
        let value = |place: usize| points.get(place).map_or(0.0, |(_, value)| *value);
        value(place) - value(place.saturating_sub(1))
    };
    let near = rises().filter(|(_, by)| *by >= 0.9 * most);
    let (place, _) = near.max_by(|one, other| jump(one.0).total_cmp(&jump(other.0)))?;
    Some((place, Rise { at: points.get(place)?.0, by: most }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rises_are_found_where_they_are() {
        let value = |at: i32| {
            f64::from(at % 3) + if at >= 13 { 40.0 } else { 0.0 } + if at >= 30 { 20.0 } else { 0.0 }
        };
        let points: Vec<Point> = (0..48).map(|at| (f64::from(at), value(at))).collect();
        let (level, rises) = levelled(&points);
        let told: Vec<_> = rises.iter().map(|rise| (rise.at, rise.by.round())).collect();
        assert!(matches!(told.as_slice(), [(13.0, 40.0..42.0), (30.0, 20.0..22.0)]), "{told:?}");
        assert!(level.iter().all(|(_, value)| value.abs() < 4.0), "{level:?}");
    }

    #[test]
    fn what_falls_has_no_rise() {
        let points: Vec<Point> = (0..20).map(|at| (f64::from(at), -f64::from(at))).collect();
        assert_eq!(levelled(&points), (points.clone(), Vec::new()));
        assert_eq!(levelled(&[]), (Vec::new(), Vec::new()));
    }
}
