//! Times on the command line: read as a day, a time or an age; shown as RFC 3339 in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

/// The first time that needs a year of five digits, in milliseconds. The form of RFC 3339 ends before it.
const YEAR_10000: u64 = 253_402_300_800_000;

/// Reads a time in milliseconds since 1970: `2026-11-28T09:30:00Z`, `2026-11-28` (its first moment, in UTC), or an age
/// such as `2h` or `7d`, which is counted back from `now`.
///
/// # Errors
/// What is accepted.
pub(super) fn parse(text: &str, now: u64) -> Result<u64, String> {
    let whole = if text.len() == "2026-11-28".len() { format!("{text}T00:00:00Z") } else { text.to_owned() };
    if let Ok(at) = humantime::parse_rfc3339(&whole) {
        return millis(at).ok_or_else(|| format!("{text} is before 1970"));
    }
    match humantime::parse_duration(text) {
        Ok(age) => Ok(now.saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX))),
        Err(_) => Err(format!(
            "{text} is no time: give 2026-11-28T09:30:00Z, 2026-11-28 (both in UTC), or an age such as 2h or 7d"
        )),
    }
}

fn millis(at: SystemTime) -> Option<u64> {
    u64::try_from(at.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

/// A record whose times are written as people read them. Only its own members are changed.
pub(super) fn dated(record: &Value) -> Value {
    let mut record = record.clone();
    for (name, value) in record.as_object_mut().into_iter().flatten() {
        if is_time(name)
            && let Some(at) = value.as_u64().filter(|at| (1..YEAR_10000).contains(at))
        {
            let at = UNIX_EPOCH + Duration::from_millis(at);
            *value = Value::from(humantime::format_rfc3339_seconds(at).to_string());
        }
    }
    record
}

/// Whether a member of the admin API's answers is a time, in milliseconds. A secret that does not expire has the time
/// 0 (RFC 7591 3.2.1), which is none.
fn is_time(name: &str) -> bool {
    matches!(name, "at" | "since" | "auth_time") || name.ends_with("_at")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOON: u64 = 1_795_521_600_000;

    #[test]
    fn a_time_is_a_moment_a_day_or_an_age() {
        assert_eq!(parse("2026-11-24T12:00:00Z", 0), Ok(NOON));
        assert_eq!(parse("2026-11-24", 0), Ok(NOON - 12 * 3_600_000));
        assert_eq!(parse("90min", NOON), Ok(NOON - 5_400_000));
        assert_eq!(parse("7d", NOON), Ok(NOON - 7 * 86_400_000));
        assert_eq!(parse("100years", 5), Ok(0), "no time is before 1970");
        for bad in
            ["", "yesterday", "2026-13-01", "24.11.2026", "2026-11-24T12:00:00+01:00", "-2h", "1234567890"]
        {
            assert!(parse(bad, NOON).is_err_and(|why| why.contains("is no time")), "{bad}");
        }
    }

    #[test]
    fn times_are_shown_as_people_read_them_and_nothing_else_is_changed() {
        let record = json!({
            "at": NOON, "created_at": NOON, "client_secret_expires_at": 0, "rat": 5, "gone_at": null,
            "far_at": YEAR_10000, "named_at": "soon",
        });
        let shown = dated(&record);
        assert_eq!(shown["at"], "2026-11-24T12:00:00Z");
        assert_eq!(shown["created_at"], shown["at"]);
        for same in ["client_secret_expires_at", "rat", "gone_at", "far_at", "named_at"] {
            assert_eq!(shown[same], record[same], "{same}");
        }
        assert_eq!(dated(&json!(["x"])), json!(["x"]));
    }
}
