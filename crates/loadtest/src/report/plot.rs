//! Scales, axes and lines in SVG.

use std::fmt::Write as _;

use super::number::count;
use super::text;

/// From values to pixels, on a straight or a logarithmic scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    values: (f64, f64),
    pixels: (f64, f64),
    logarithmic: bool,
}

impl Scale {
    /// A straight scale from 0 to at least `most`.
    pub(super) fn linear(most: f64, pixels: (f64, f64)) -> Self {
        let most = if most.is_finite() && most > 0.0 { most } else { 1.0 };
        Self { values: (0.0, most), pixels, logarithmic: false }
    }

    /// A straight scale from 0 to a round value, of at most `wanted` steps.
    pub(super) fn rounded(most: f64, wanted: f64, pixels: (f64, f64)) -> Self {
        let most = if most.is_finite() && most > 0.0 { most } else { 1.0 };
        let step = round_step(most / wanted);
        Self::linear((most / step).ceil() * step, pixels)
    }

    /// A logarithmic scale over whole decades that holds all values above 0.
    pub(super) fn logarithmic(values: impl Iterator<Item = f64>, pixels: (f64, f64)) -> Self {
        let known = values.filter(|value| value.is_finite() && *value > 0.0).map(f64::log10);
        let (least, most) = known.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
            (least.min(value), most.max(value))
        });
        let (least, most) = if least > most { (0.0, 1.0) } else { (least.floor(), most.ceil()) };
        let most = if most > least { most } else { least + 1.0 };
        Self { values: (10f64.powf(least), 10f64.powf(most)), pixels, logarithmic: true }
    }

    /// Where a value stands; values outside stand at the end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let (least, most) = self.values;
        let value = if value.is_nan() { least } else { value.clamp(least, most) };
        let share = if self.logarithmic {
            (value / least).log10() / (most / least).log10()
        } else {
            (value - least) / (most - least)
        };
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }

    /// Where the axis has its lines: decades, or about `wanted` round values.
    pub(super) fn ticks(&self, wanted: f64) -> Vec<f64> {
        let (least, most) = self.values;
        if self.logarithmic {
            let decades = (most / least).log10().round() as i32;
            return (0..=decades).map(|decade| least * 10f64.powi(decade)).collect();
        }
        let step = round_step(most / wanted.max(1.0));
        (0..=20).map(|tick| f64::from(tick) * step).take_while(|tick| *tick <= most * 1.0001).collect()
    }
}

/// The next 1, 2 or 5 times a power of ten.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|step| step * power).find(|step| *step >= least).unwrap_or(10.0 * power)
}

/// The rectangle that lines are drawn in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Its left edge.
    pub(super) left: f64,
    /// Its upper edge.
    pub(super) top: f64,
    /// Its right edge.
    pub(super) right: f64,
    /// Its lower edge.
    pub(super) bottom: f64,
}

impl Frame {
    /// The horizontal axis: values below the frame.
    pub(super) fn write_x(&self, svg: &mut String, scale: &Scale, wanted: f64) {
        let y = self.bottom + 16.0;
        for tick in scale.ticks(wanted) {
            let x = scale.at(tick);
            let _ = write!(
                svg,
                "<path class=\"tick\" d=\"M{x:.1} {:.1}v4\"/><text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>",
                self.bottom,
                tick_text(tick)
            );
        }
    }

    /// The vertical axis: values on the left of the frame, lines through it.
    pub(super) fn write_y(&self, svg: &mut String, scale: &Scale, wanted: f64) {
        for tick in scale.ticks(wanted) {
            let y = scale.at(tick);
            let _ = write!(
                svg,
                "<path class=\"grid\" d=\"M{:.1} {y:.1}H{:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                self.left,
                self.right,
                self.left - 6.0,
                y + 4.0,
                tick_text(tick)
            );
        }
    }
}

/// A value at an axis: no more digits than it needs.
fn tick_text(value: f64) -> String {
    if value == 0.0 || value >= 10.0 {
        return count(value.round() as u64);
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Opens a plot that says in `label` what it shows.
pub(super) fn open(width: f64, height: f64, label: &str) -> String {
    format!(
        "<svg role=\"img\" aria-label=\"{}\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">",
        text::html(label)
    )
}

/// A line through points in pixels.
pub(super) fn write_line(svg: &mut String, points: impl Iterator<Item = (f64, f64)>, class: &str) {
    let mut path = String::new();
    for (x, y) in points {
        let _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { 'M' } else { 'L' });
    }
    if !path.is_empty() {
        let _ = write!(svg, "<path class=\"line {class}\" d=\"{path}\"/>");
    }
}

/// Moves labels that stand at these heights apart, keeping their order; within `bounds` where they fit.
pub(super) fn spread(heights: &[f64], apart: f64, bounds: (f64, f64)) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> = heights.iter().copied().enumerate().collect();
    order.sort_by(|one, other| one.1.total_cmp(&other.1));
    let mut floor = bounds.0;
    for (_, height) in &mut order {
        *height = height.max(floor);
        floor = *height + apart;
    }
    let mut ceiling = bounds.1;
    for (_, height) in order.iter_mut().rev() {
        *height = height.min(ceiling);
        ceiling = *height - apart;
    }
    order.sort_by_key(|(place, _)| *place);
    order.into_iter().map(|(_, height)| height).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_scale_has_round_ticks() {
        let scale = Scale::linear(4500.0, (0.0, 450.0));
        assert_eq!(scale.ticks(6.0), [0.0, 1000.0, 2000.0, 3000.0, 4000.0]);
        assert_eq!(scale.at(1000.0), 100.0);
        assert_eq!(scale.at(9000.0), 450.0);
        assert_eq!(Scale::rounded(1500.0, 2.0, (0.0, 1.0)).ticks(2.0), [0.0, 1000.0, 2000.0]);
        assert_eq!(Scale::rounded(0.0, 2.0, (0.0, 1.0)).ticks(2.0), [0.0, 0.5, 1.0]);
    }

    #[test]
    fn a_logarithmic_scale_has_decades() {
        let scale = Scale::logarithmic([0.0, 0.31, f64::NAN, 58.0].into_iter(), (300.0, 0.0));
        let ticks: Vec<String> = scale.ticks(0.0).into_iter().map(tick_text).collect();
        assert_eq!(ticks, ["0.1", "1", "10", "100"]);
        assert!((scale.at(1.0) - 200.0).abs() < 1e-9);
        assert_eq!(scale.at(0.0), 300.0);
    }

    #[test]
    fn scales_without_values_still_stand() {
        for scale in [
            Scale::linear(0.0, (0.0, 10.0)),
            Scale::linear(f64::NAN, (0.0, 10.0)),
            Scale::logarithmic([].into_iter(), (0.0, 10.0)),
        ] {
            assert!(scale.at(0.5).is_finite() && scale.ticks(4.0).len() > 1);
        }
        assert_eq!(Scale::logarithmic([10.0].into_iter(), (0.0, 10.0)).ticks(0.0), [10.0, 100.0]);
    }

    #[test]
    fn labels_keep_apart_in_order() {
        assert_eq!(spread(&[50.0, 48.0, 10.0], 14.0, (0.0, 60.0)), [60.0, 46.0, 10.0]);
        assert_eq!(spread(&[], 14.0, (0.0, 60.0)), Vec::<f64>::new());
    }
}
