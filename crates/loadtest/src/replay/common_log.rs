//! The Common Log Format, and the Combined one, which has more fields behind it:
//! `127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /userinfo HTTP/1.1" 200 2326`.

use std::time::UNIX_EPOCH;

use regex::Regex;

use super::Line;
use super::mapping::Logged;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

pub(super) struct Reader(Regex);

impl Reader {
    pub(super) fn new() -> Result<Self, String> {
        let expression = Regex::new(r#"^\S+ \S+ .*?\[([^\]]+)\] "([A-Z]+) (\S+)[^"]*" (\d{3}) "#);
        expression.map(Self).map_err(|error| error.to_string())
    }

    /// Reads a line. Its time is in whole seconds.
    pub(super) fn read(&self, line: &str) -> Line {
        // Some leave the last field out.
        let line = format!("{line} ");
        let Some(groups) = self.0.captures(&line) else { return Line::Unreadable };
        let group = |number: usize| groups.get(number).map_or("", |group| group.as_str());
        let (Some(at), Ok(status)) = (seconds(group(1)), group(4).parse()) else { return Line::Unreadable };
        let logged = Logged::Path { method: group(2).to_owned(), path: group(3).to_owned(), status };
        Line::Request(at.saturating_mul(1_000_000), logged)
    }
}

/// Seconds since 1970 at `10/Oct/2000:13:55:36 -0700`.
fn seconds(time: &str) -> Option<u64> {
    let (local, zone) = time.split_once(' ')?;
    let (date, clock) = local.split_once(':')?;
    let mut parts = date.split('/');
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let utc = humantime::parse_rfc3339(&format!("{year}-{month:02}-{day}T{clock}Z")).ok()?;
    let local = i64::try_from(utc.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()?;
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = digits.split_at_checked(2)?;
    let east = sign * (hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?) * 60;
    u64::try_from(local - east).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_of_their_zone() {
        assert_eq!(seconds("10/Oct/2000:13:55:36 -0700"), Some(971_211_336));
        assert_eq!(seconds("10/Oct/2000:20:55:36 +0000"), Some(971_211_336));
        assert_eq!(seconds("11/Oct/2000:02:25:36 +0530"), Some(971_211_336));
        for none in ["10/Oct/2000:13:55:36", "10/Okt/2000:13:55:36 +0000", "31/Feb/2000:00:00:00 +0000", ""] {
            assert_eq!(seconds(none), None, "{none}");
        }
    }

    #[test]
    fn both_formats_are_read() {
        let reader = Reader::new().unwrap();
        let start = r#"10.0.0.1 - bob smith [10/Oct/2000:13:55:36 -0700] "GET /a?b=c HTTP/1.1" 304"#;
        for line in [format!("{start} -"), format!("{start} 5 \"-\" \"curl [8.0] x\""), start.to_owned()] {
            let Line::Request(971_211_336_000_000, Logged::Path { method, path, status: 304 }) =
                reader.read(&line)
            else {
                panic!("{line}");
            };
            assert_eq!((&*method, &*path), ("GET", "/a?b=c"));
        }
        for line in [r#"10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "\x16\x03\x01" 400 0"#, "ready"] {
            assert!(matches!(reader.read(line), Line::Unreadable), "{line}");
        }
    }
}
