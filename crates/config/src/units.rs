//! Durations, sizes and rates as people write them: `60s`, `30d`, `1h30m`, `1MiB`, `600/m`.

use std::fmt;
use std::time::Duration;

use super::error::Mistake;

/// Units of a duration with their length in microseconds, longest first.
const DURATION_UNITS: [(&str, u64); 6] = [
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("m", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("us", 1),
];

/// Units of a size with their number of bytes, largest first.
const SIZE_UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// A number of requests per time: a bucket of `count`, refilled evenly over `per`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Requests per period, and the size of a burst. Never 0.
    pub count: u32,
    /// The period: some whole seconds.
    pub per: Duration,
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.per.as_secs();
        let units = RATE_UNITS.iter().find(|(_, length)| seconds.is_multiple_of(*length));
        let (unit, length) = units.copied().unwrap_or(("s", 1));
        match seconds / length {
            1 => write!(f, "{}/{unit}", self.count),
            times => write!(f, "{}/{times}{unit}", self.count),
        }
    }
}

/// The units of a rate's period, in seconds, the longest first.
const RATE_UNITS: [(&str, u64); 3] = [("h", 3600), ("m", 60), ("s", 1)];

/// The longest period of a rate, in seconds.
const LONGEST_PERIOD: u64 = 86_400;

/// Splits leading digits from what follows; `None` without a digit or beyond `u64`.
fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, rest))
}

/// Parses a duration: numbers with the units `us`, `ms`, `s`, `m`, `h`, `d` in sequence, or `0` alone.
pub(super) fn parse_duration(text: &str) -> Result<Duration, Mistake> {
    let wrong = || {
        let mend = match text.parse::<u64>() {
            Ok(n) => format!("say the unit: \"{n}s\", \"{n}ms\" or \"{n}m\""),
            Err(_) => {
                "write a number with a unit (us, ms, s, m, h, d): \"60s\", \"30d\", \"1h30m\"".to_owned()
            }
        };
        Mistake::new("is not a duration", mend)
    };
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text;
    let mut micros: u64 = 0;
    loop {
        let (count, tail) = number(rest).ok_or_else(wrong)?;
        let end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(end).ok_or_else(wrong)?;
        let (_, length) = DURATION_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        micros = count.checked_mul(*length).and_then(|m| micros.checked_add(m)).ok_or_else(wrong)?;
        rest = tail;
        if rest.is_empty() {
            return Ok(Duration::from_micros(micros));
        }
    }
}

/// Writes a duration in the largest unit that divides it, so that [`parse_duration`] restores it.
pub(super) fn format_duration(duration: Duration) -> String {
    let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    if micros == 0 {
        return "0".to_owned();
    }
    in_largest_unit(micros, &DURATION_UNITS)
}

/// Parses a size in bytes: a number with the unit `B`, `KiB`, `MiB` or `GiB`.
pub(super) fn parse_size(text: &str) -> Result<u64, Mistake> {
    let wrong = || {
        let mend = match text.parse::<u64>() {
            Ok(n) => format!("say the unit: \"{n}B\", \"{n}KiB\" or \"{n}MiB\""),
            Err(_) => "write a number with a unit (B, KiB, MiB, GiB): \"64KiB\", \"1MiB\"".to_owned(),
        };
        Mistake::new("is not a size", mend)
    };
    let (count, unit) = number(text).ok_or_else(wrong)?;
    let (_, bytes) = SIZE_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
    count.checked_mul(*bytes).ok_or_else(wrong)
}

/// Writes a size in the largest unit that divides it.
pub(super) fn format_size(bytes: u64) -> String {
    if bytes == 0 {
        return "0B".to_owned();
    }
    in_largest_unit(bytes, &SIZE_UNITS)
}

/// Parses a rate (`100/s`, `600/m`, `3/15m`); `None` for `off`, which means no limit.
pub(super) fn parse_rate(text: &str) -> Result<Option<Rate>, Mistake> {
    let wrong = |problem| {
        Mistake::new(problem, "write requests per s, m or h: \"100/s\", \"600/m\", \"3/15m\", or \"off\"")
    };
    if text == "off" {
        return Ok(None);
    }
    let (count, period) = text.split_once('/').ok_or_else(|| wrong("is not a rate"))?;
    let (times, unit) = number(period).unwrap_or((1, period));
    let length = RATE_UNITS.iter().find(|(name, _)| *name == unit).map(|(_, length)| *length);
    let seconds = length.and_then(|length| times.checked_mul(length));
    let seconds = seconds.filter(|seconds| (1..=LONGEST_PERIOD).contains(seconds));
    let seconds = seconds.ok_or_else(|| wrong("is not a rate"))?;
    if !count.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong("is not a rate"));
    }
    match count.parse() {
        Ok(0) => Err(wrong("would refuse every request")),
        Ok(count) => Ok(Some(Rate { count, per: Duration::from_secs(seconds) })),
        Err(_) => Err(wrong("is not a rate")),
    }
}

fn in_largest_unit(amount: u64, units: &[(&str, u64)]) -> String {
    for (name, length) in units {
        if amount.is_multiple_of(*length) {
            return format!("{}{name}", amount / length);
        }
    }
    amount.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_read_as_written() {
        for (text, millis) in
            [("60s", 60_000), ("30d", 2_592_000_000), ("1h30m", 5_400_000), ("0", 0), ("5ms", 5)]
        {
            assert_eq!(parse_duration(text).unwrap(), Duration::from_millis(millis), "{text}");
        }
        assert_eq!(parse_duration("250us").unwrap(), Duration::from_micros(250));
    }

    #[test]
    fn a_duration_without_its_unit_is_refused_with_the_units() {
        let mistake = parse_duration("60").unwrap_err();
        assert!(mistake.mend.contains("\"60s\""), "{}", mistake.mend);
        for text in ["", "s", "1x", "1 s", "-1s", "1.5s", "1s ", "99999999999999999999s", "300000000d", "1sm"]
        {
            assert!(parse_duration(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn sizes_read_as_written() {
        for (text, bytes) in [("1MiB", 1 << 20), ("64KiB", 65_536), ("10GiB", 10 << 30), ("7B", 7)] {
            assert_eq!(parse_size(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "1", "1MB", "1mib", "-1B", "99999999999GiB"] {
            assert!(parse_size(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn rates_read_as_written() {
        let rate = parse_rate("600/m").unwrap().unwrap();
        assert_eq!(rate, Rate { count: 600, per: Duration::from_secs(60) });
        let seldom = parse_rate("3/15m").unwrap().unwrap();
        assert_eq!(seldom, Rate { count: 3, per: Duration::from_secs(900) });
        assert_eq!(parse_rate("off").unwrap(), None);
        for text in
            ["", "0/s", "600", "600/d", "/s", "+6/s", "6/s/s", "6/0s", "6/15", "6/25h", "4294967296/s"]
        {
            assert!(parse_rate(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(micros in 0..u64::MAX / 2, bytes in any::<u64>(), count in 1..u32::MAX) {
            let duration = Duration::from_micros(micros);
            prop_assert_eq!(parse_duration(&format_duration(duration)).unwrap(), duration);
            prop_assert_eq!(parse_size(&format_size(bytes)).unwrap(), bytes);
            for per in [1, 60, 90, 900, 3600, 7200] {
                let rate = Rate { count, per: Duration::from_secs(per) };
                prop_assert_eq!(parse_rate(&rate.to_string()).unwrap(), Some(rate));
            }
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,20}") {
            let _ = (parse_duration(&text), parse_size(&text), parse_rate(&text));
        }
    }
}
