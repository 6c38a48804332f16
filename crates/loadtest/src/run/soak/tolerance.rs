//! By how much a quantity may grow: `memory=1MiB/h`.

use std::str::FromStr;

use crate::LoadtestError;
use crate::results::QUANTITIES;

/// The units that a tolerance may be written in, each as so many of the quantity's own.
const UNITS: [(&str, &str, f64); 9] = [
    ("MiB", "KiB", 1.0 / 1_024.0),
    ("MiB", "MiB", 1.0),
    ("MiB", "GiB", 1_024.0),
    ("ms", "us", 0.001),
    ("ms", "µs", 0.001),
    ("ms", "ms", 1.0),
    ("µs", "us", 1.0),
    ("µs", "µs", 1.0),
    ("", "", 1.0),
];

/// By how much a quantity may grow, beyond doubt, before the run fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// The quantity's name.
    pub(super) quantity: &'static str,
    /// In its unit; none where it may grow as it likes.
    pub(super) per_hour: Option<f64>,
}

impl Tolerance {
    /// What a run fails by where nothing else is said: memory may grow by 1 MiB an hour, open files and threads by one. Disk,
    /// CPU time and latency are told and fail nothing: an audit log grows by design.
    pub fn usual() -> Vec<Self> {
        [("memory", 1.0), ("descriptors", 1.0), ("threads", 1.0)]
            .map(|(quantity, per_hour)| Self { quantity, per_hour: Some(per_hour) })
            .into()
    }

    /// What is tolerated of a quantity.
    pub(super) fn of(tolerances: &[Self], quantity: &str) -> Option<f64> {
        tolerances.iter().rfind(|tolerance| tolerance.quantity == quantity)?.per_hour
    }
}

impl FromStr for Tolerance {
    type Err = LoadtestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || {
            let names = QUANTITIES.map(|quantity| quantity.name).join(", ");
            LoadtestError::Options(format!(
                "leak tolerance {text}: write QUANTITY=NUMBER/h with its unit, or /day instead of /h, for instance memory=1MiB/h, \
                 descriptors=5/day, p99=0.5ms/h, or QUANTITY=any; quantities are {names}"
            ))
        };
        let (name, amount) = text.split_once('=').ok_or_else(invalid)?;
        let quantity = QUANTITIES.iter().find(|quantity| quantity.name == name.trim()).ok_or_else(invalid)?;
        let amount = amount.trim();
        if amount == "any" {
            return Ok(Self { quantity: quantity.name, per_hour: None });
        }
        let (amount, hours) = match (amount.strip_suffix("/h"), amount.strip_suffix("/day")) {
            (Some(amount), _) => (amount, 1.0),
            (_, Some(amount)) => (amount, 24.0),
            _ => return Err(invalid()),
        };
        let digits = amount.trim_end_matches(|character: char| character.is_alphabetic());
        let unit = amount.strip_prefix(digits).unwrap_or_default();
        let times = UNITS
            .iter()
            .find(|(own, written, _)| *own == quantity.unit && *written == unit)
            .ok_or_else(invalid)?
            .2;
        let number: f64 = digits.trim().parse().map_err(|_| invalid())?;
        let per_hour = Some(number * times / hours).filter(|number| number.is_finite() && *number >= 0.0);
        Ok(Self { quantity: quantity.name, per_hour: Some(per_hour.ok_or_else(invalid)?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_are_read_in_their_units() {
        let read = |text: &str| text.parse::<Tolerance>().map(|read| (read.quantity, read.per_hour)).unwrap();
        assert_eq!(read("memory=1MiB/h"), ("memory", Some(1.0)));
        assert_eq!(read("memory = 512KiB/h"), ("memory", Some(0.5)));
        assert_eq!(read("disk=24GiB/day"), ("disk", Some(1_024.0)));
        assert_eq!(read("descriptors=0/h"), ("descriptors", Some(0.0)));
        assert_eq!((read("p99=500us/h"), read("cpu=2µs/h")), (("p99", Some(0.5)), ("cpu", Some(2.0))));
        assert_eq!(read("memory=any"), ("memory", None));
        let mut all = Tolerance::usual();
        all.push("memory=3MiB/h".parse().unwrap());
        let of = |name| Tolerance::of(&all, name);
        assert_eq!((of("memory"), of("threads"), of("disk")), (Some(3.0), Some(1.0), None));
    }

    #[test]
    fn what_is_no_tolerance_is_told_with_what_is() {
        for text in [
            "",
            "memory",
            "memory=1",
            "memory=1MiB",
            "memory=1/h",
            "threads=1MiB/h",
            "heap=1MiB/h",
            "memory=-1MiB/h",
            "memory=NaNMiB/h",
            "memory=MiB/h",
            "p99=1MiB/h",
            "memory=1e999MiB/h",
        ] {
            let told = text.parse::<Tolerance>().unwrap_err().to_string();
            assert!(
                told.contains("memory=1MiB/h") && told.contains("descriptors, threads"),
                "{text}: {told}"
            );
        }
    }
}
