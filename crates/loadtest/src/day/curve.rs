//! How the load goes up and down over a day.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use crate::executor::Stage;

/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// A time of day: `09:30`, or `09:30:15`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub(super) struct TimeOfDay(pub(super) f64);

impl TimeOfDay {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let mut part = |most: u32| -> Option<f64> {
            let part = parts.next()?;
            let written = part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_digit());
            let number: u32 = part.parse().ok().filter(|number| written && *number <= most)?;
            Some(f64::from(number))
        };
        let (hours, minutes) = (part(24)?, part(59)?);
        let seconds = match text.matches(':').count() {
            1 => 0.0,
            2 => part(59)?,
            _ => return None,
        };
        Some(Self(hours * 3_600.0 + minutes * 60.0 + seconds)).filter(|time| time.0 <= DAY)
    }

    /// How long after `begins` it is, on the same day or the next.
    pub(super) fn after(self, begins: Self) -> f64 {
        (self.0 - begins.0).rem_euclid(DAY)
    }
}

impl<'de> Deserialize<'de> for TimeOfDay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            serde::de::Error::custom(format!("{text:?} is no time of day: write \"09:30\" or \"09:30:15\""))
        })
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = (self.0 / 60.0).round() as u32;
        write!(f, "{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

/// A point of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Point {
    /// When.
    pub(super) at: TimeOfDay,
    /// The share of the peak, from 0 to 1.
    pub(super) share: f64,
}

/// A curve that repeats every day: straight lines between its points. Of no points it is the peak all day.
pub(super) struct Curve<'a>(pub(super) &'a [Point]);

impl Curve<'_> {
    /// What is wrong with it; none where nothing is.
    pub(super) fn contradiction(&self) -> Option<String> {
        let wrong = self.0.iter().find(|point| !(0.0..=1.0).contains(&point.share));
        if let Some(Point { at, share }) = wrong {
            return Some(format!("the share {share} at {at}: write a share of the peak, from 0 to 1"));
        }
        let unordered =
            self.0.windows(2).find(|pair| matches!(pair, [before, after] if before.at >= after.at));
        if let Some([before, after]) = unordered {
            return Some(format!(
                "{} after {}: write the points in the order of the day",
                after.at, before.at
            ));
        }
        (!self.0.is_empty() && self.0.iter().all(|point| point.share == 0.0))
            .then(|| "every share is 0: nothing would be sent".to_owned())
    }

    /// The share at so many seconds after midnight.
    fn share(&self, at: f64) -> f64 {
        let at = at.rem_euclid(DAY);
        let (Some(first), Some(last)) = (self.0.first(), self.0.last()) else { return 1.0 };
        let after = self.0.iter().find(|point| point.at.0 > at);
        let before = self.0.iter().rev().find(|point| point.at.0 <= at);
        // The last point of yesterday, and the first of tomorrow.
        let (from, begins) = before.map_or((last, last.at.0 - DAY), |point| (point, point.at.0));
        let (to, ends) = after.map_or((first, first.at.0 + DAY), |point| (point, point.at.0));
        if ends <= begins {
            return from.share;
        }
        from.share + (to.share - from.share) * (at - begins) / (ends - begins)
    }

    /// The stages of a run that stands for `day` seconds from `begins` on, at this peak.
    pub(super) fn stages(
        &self,
        (begins, day): (TimeOfDay, f64),
        duration: Duration,
        peak: f64,
    ) -> Vec<Stage> {
        let days = (day / DAY).ceil() as u32 + 1;
        let points = self.0.iter().flat_map(|point| {
            let first = point.at.after(begins);
            (0..days).map(move |number| first + f64::from(number) * DAY)
        });
        let mut edges: Vec<f64> = points.filter(|at| (0.0..day).contains(at)).chain([0.0, day]).collect();
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        let stage = |pair: &[f64]| {
            let [from, to] = pair else { return None };
            let share = |after: f64| self.share(begins.0 + after);
            Some(Stage {
                from: peak * share(*from),
                to: peak * share(*to),
                duration: duration.mul_f64((to - from) / day),
            })
        };
        edges.windows(2).filter_map(stage).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at: &str, share: f64) -> Point {
        Point { at: TimeOfDay::parse(at).unwrap(), share }
    }

    const SHOP: [(&str, f64); 4] = [("04:00", 0.1), ("09:00", 0.6), ("20:00", 1.0), ("23:00", 0.5)];

    fn shop() -> Vec<Point> {
        SHOP.map(|(at, share)| point(at, share)).to_vec()
    }

    #[test]
    fn times_of_day() {
        for (text, seconds) in
            [("00:00", 0.0), ("09:30", 34_200.0), ("09:30:15", 34_215.0), ("24:00", 86_400.0)]
        {
            assert_eq!(TimeOfDay::parse(text).map(|time| time.0), Some(seconds), "{text}");
        }
        for text in ["", "9:30", "09", "09:60", "25:00", "24:01", "09:30:15:01", "nine", "-1:00", "+1:00"] {
            assert_eq!(TimeOfDay::parse(text), None, "{text}");
        }
        assert_eq!(TimeOfDay::parse("01:00").unwrap().after(TimeOfDay::parse("23:00").unwrap()), 7_200.0);
        assert_eq!(TimeOfDay(34_200.0).to_string(), "09:30");
    }

    #[test]
    fn shares_lie_on_straight_lines_also_over_midnight() {
        let points = shop();
        let curve = Curve(&points);
        let at = |text: &str| curve.share(TimeOfDay::parse(text).unwrap().0);
        for (text, share) in
            [("04:00", 0.1), ("06:30", 0.35), ("20:00", 1.0), ("23:00", 0.5), ("01:30", 0.3), ("24:00", 0.42)]
        {
            assert!((at(text) - share).abs() < 1e-9, "{text}: {}", at(text));
        }
        assert_eq!(Curve(&[]).share(5.0), 1.0);
        assert_eq!(Curve(&[point("12:00", 0.3)]).share(5.0), 0.3);
    }

    #[test]
    fn a_day_is_compressed_into_stages() {
        let points = shop();
        let begins = TimeOfDay::parse("08:00").unwrap();
        let stages = Curve(&points).stages((begins, DAY), Duration::from_secs(240), 50.0);
        // 08:00 to 09:00, 20:00, 23:00, 04:00, 08:00: an hour is ten seconds.
        let seconds: Vec<f64> = stages.iter().map(|stage| stage.duration.as_secs_f64()).collect();
        assert_eq!(seconds.len(), 5);
        for (got, expected) in seconds.iter().zip([10.0, 110.0, 30.0, 50.0, 40.0]) {
            assert!((got - expected).abs() < 1e-6, "{seconds:?}");
        }
        let ends: Vec<f64> = stages.iter().map(|stage| stage.to).collect();
        for (got, expected) in ends.iter().zip([30.0, 50.0, 25.0, 5.0, 25.0]) {
            assert!((got - expected).abs() < 1e-6, "{ends:?}");
        }
        assert!(stages.windows(2).all(|pair| (pair[0].to - pair[1].from).abs() < 1e-9), "it never jumps");
        // Without points, one stage; two days, twice the points.
        assert_eq!(Curve(&[]).stages((begins, 60.0), Duration::from_secs(60), 5.0).len(), 1);
        assert_eq!(Curve(&points).stages((begins, 2.0 * DAY), Duration::from_secs(60), 5.0).len(), 9);
    }

    #[test]
    fn what_contradicts_itself_is_told() {
        let told = |points: &[Point]| Curve(points).contradiction();
        assert_eq!(told(&shop()), None);
        assert!(told(&[point("01:00", 1.5)]).unwrap().contains("the share 1.5 at 01:00"));
        assert!(told(&[point("02:00", 1.0), point("01:00", 1.0)]).unwrap().contains("01:00 after 02:00"));
        assert!(told(&[point("02:00", 0.0)]).unwrap().contains("nothing would be sent"));
        assert!(told(&[point("02:00", f64::NAN)]).is_some());
    }
}
