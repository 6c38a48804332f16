//! Numbers as people read them: three significant digits, thousands apart, and never a `NaN`.

use crate::results::Latency;

/// What stands where nothing was measured.
pub(super) const NONE: &str = "–";

/// A count with thousands apart: `73,124`.
pub(super) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut written = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            written.push(',');
        }
        written.push(digit);
    }
    written
}

/// A measured value with three significant digits, or whole above 1,000.
pub(super) fn figure(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return NONE.to_owned();
    }
    if size == 0.0 {
        return "0".to_owned();
    }
    if size < 0.0005 {
        return "<0.001".to_owned();
    }
    // The bounds are where rounding brings one digit more.
    if size >= 999.5 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", count(size.round() as u64));
    }
    let decimals = match size {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// [`figure`], or a dash.
pub(super) fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), figure)
}

/// One of these latencies, with `≥` where it is a lower bound; or a dash.
pub(super) fn latency(of: &Latency, value: Option<f64>) -> String {
    match value {
        Some(ms) if of.is_at_least(ms) => format!("≥ {}", figure(ms)),
        value => optional(value),
    }
}

/// A rate: whole where it is nearly so.
pub(super) fn rate(value: f64) -> String {
    if value >= 1.0 && (value - value.round()).abs() < 0.005 {
        count(value.round() as u64)
    } else {
        figure(value)
    }
}

/// A share in per cent, which says 100 only where nothing is missing.
pub(super) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return NONE.to_owned();
    }
    let percent = part as f64 / whole as f64 * 100.0;
    match (part < whole, percent) {
        (true, percent) if percent > 99.99 => ">99.99 %".to_owned(),
        (_, percent) => format!("{} %", figure(percent)),
    }
}

/// How many times less the second is than the first: `662×`, `0.50×`.
pub(super) fn times(reference: f64, ours: f64) -> Option<f64> {
    let ratio = reference / ours;
    (ours > 0.0 && ratio.is_finite() && ratio >= 0.0).then_some(ratio)
}

/// Between which bounds a percentile of the provider's own histograms lies: they go by 1, 2, 5, 10 and so on, or are finer,
/// and in which place between two of them it lies is not known.
pub(super) fn bucket(value: f64) -> Option<(f64, f64)> {
    if !(value > 0.0 && value.is_finite()) {
        return None;
    }
    // A bound belongs to the bucket below it.
    let inside = value * (1.0 - 1e-9);
    let decade = 10_f64.powi(inside.log10().floor() as i32);
    let (lower, upper) = match inside / decade {
        part if part <= 2.0 => (1.0, 2.0),
        part if part <= 5.0 => (2.0, 5.0),
        _ => (5.0, 10.0),
    };
    Some((lower * decade, upper * decade))
}

/// A ratio of which little is known, with two digits, rounded by `round`.
pub(super) fn roughly(ratio: f64, round: fn(f64) -> f64) -> String {
    if !(ratio > 0.0 && ratio.is_finite()) {
        return NONE.to_owned();
    }
    let step = 10_f64.powi(ratio.log10().floor() as i32 - 1);
    match round(ratio / step) * step {
        whole if whole >= 10.0 => count(whole.round() as u64),
        small if small >= 1.0 => format!("{small:.1}"),
        part => format!("{part:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_as_many_as_are_worth_reading() {
        let read: Vec<String> =
            [0.0, 0.0001, 0.0123, 0.612, 0.9996, 1.0, 9.999, 12.345, 99.96, 123.4, 999.6, 58617.8]
                .map(figure)
                .to_vec();
        assert_eq!(
            read,
            [
                "0", "<0.001", "0.012", "0.612", "1.00", "1.00", "10.0", "12.3", "100", "123", "1,000",
                "58,618"
            ]
        );
        assert_eq!(figure(-1234.0), "-1,234");
        assert_eq!((figure(f64::NAN), figure(f64::INFINITY)), (NONE.to_owned(), NONE.to_owned()));
    }

    #[test]
    fn counts_have_their_thousands_apart() {
        assert_eq!(
            [0, 999, 1000, 73_124, 1_796_556].map(count),
            ["0", "999", "1,000", "73,124", "1,796,556"]
        );
        assert_eq!((rate(4000.0), rate(1499.998), rate(0.5), rate(37.25)).0, "4,000");
        assert_eq!(rate(1499.998), "1,500");
        assert_eq!(rate(37.25), "37.2");
    }

    #[test]
    fn a_share_is_whole_only_where_nothing_is_missing() {
        assert_eq!(share(1, 0), NONE);
        assert_eq!(share(10, 10), "100 %");
        assert_eq!(share(999_999, 1_000_000), ">99.99 %");
        assert_eq!(share(1, 8), "12.5 %");
    }

    #[test]
    fn nothing_is_no_times_less() {
        assert_eq!(times(10.0, 0.0), None);
        assert_eq!(times(f64::NAN, 2.0), None);
        assert_eq!(times(10.0, 2.0), Some(5.0));
    }

    #[test]
    fn a_percentile_lies_between_two_bounds() {
        let close = |value: f64, (lower, upper): (f64, f64)| {
            let bucket = bucket(value).unwrap();
            assert!(
                (bucket.0 - lower).abs() < 1e-9 && (bucket.1 - upper).abs() < 1e-9,
                "{value}: {bucket:?}"
            );
        };
        close(0.018, (0.01, 0.02));
        close(1.998_000_000_000_000_7, (1.0, 2.0));
        close(2.000_000_000_000_000_4, (1.0, 2.0));
        close(0.05, (0.02, 0.05));
        close(1.0, (0.5, 1.0));
        close(7_000.0, (5_000.0, 10_000.0));
        assert_eq!((bucket(0.0), bucket(f64::NAN), bucket(f64::INFINITY)), (None, None, None));
    }

    #[test]
    fn what_is_known_roughly_has_two_digits() {
        assert_eq!(roughly(65_050.0, f64::floor), "65,000");
        assert_eq!(roughly(130_100.0, f64::ceil), "140,000");
        assert_eq!(
            (roughly(1.19, f64::floor), roughly(0.341, f64::ceil)),
            ("1.1".to_owned(), "0.35".to_owned())
        );
        assert_eq!(
            (roughly(0.0, f64::floor), roughly(f64::INFINITY, f64::ceil)),
            (NONE.to_owned(), NONE.to_owned())
        );
    }
}
