//! The figures with which a change is compared.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Counts;

/// How much more than its baseline an operation may take, in percent.
pub const ALLOWED_PERCENT: u64 = 3;

/// The committed figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The reason for the figures: what the last change that raised one gained. Never empty.
    pub reason: String,
    /// Instructions per request.
    pub operations: Counts,
}

impl Baseline {
    /// Reads the committed file.
    ///
    /// # Errors
    /// What is wrong with the file: it cannot be read, is not a baseline, or gives no reason.
    pub fn read(path: &Path) -> Result<Self, String> {
        let named = |problem: String| format!("{}: {problem}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| named(error.to_string()))?;
        Self::parse(&text).map_err(named)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let baseline: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if baseline.reason.trim().is_empty() {
            return Err("`reason` is empty: say what the instructions buy".into());
        }
        Ok(baseline)
    }

    /// Compares counts with the baseline.
    pub fn compare(&self, counts: &Counts) -> Comparison {
        let row = |(name, now): (&String, &u64)| (name.clone(), self.operations.get(name).copied(), *now);
        Comparison { rows: counts.iter().map(row).collect() }
    }
}

/// Operation, its baseline, and now.
type Row = (String, Option<u64>, u64);

/// Whether an operation takes too much; `None` without a baseline.
fn is_over((_, baseline, now): &Row) -> Option<bool> {
    baseline.map(|baseline| now * 100 > baseline * (100 + ALLOWED_PERCENT))
}

/// Counts next to their baselines.
pub struct Comparison {
    rows: Vec<Row>,
}

impl Comparison {
    /// Whether every operation has a baseline, and none takes more than [`ALLOWED_PERCENT`] above it.
    pub fn passed(&self) -> bool {
        self.rows.iter().all(|row| is_over(row) == Some(false))
    }

    /// The operations that take more than [`ALLOWED_PERCENT`] above their baseline.
    pub fn over(&self) -> BTreeSet<&str> {
        self.rows.iter().filter(|row| is_over(row) == Some(true)).map(|(name, ..)| name.as_str()).collect()
    }

    /// Whether an operation takes so much less that its baseline should be lowered, because otherwise the gain could be
    /// lost again unnoticed.
    pub fn improved(&self) -> bool {
        let least = |baseline: u64| baseline * (100 - ALLOWED_PERCENT);
        self.rows
            .iter()
            .any(|(_, baseline, now)| baseline.is_some_and(|baseline| now * 100 < least(baseline)))
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| operation | baseline | now | change |\n|---|---:|---:|---:|")?;
        for (name, baseline, now) in &self.rows {
            let before = baseline.map_or_else(|| "none".to_owned(), |baseline| baseline.to_string());
            let change = baseline.map(|baseline| (*now as f64 / baseline.max(1) as f64 - 1.0) * 100.0);
            let change = change.map_or_else(|| "none".to_owned(), |percent| format!("{percent:+.1} %"));
            writeln!(f, "| {name} | {before} | {now} | {change} |")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(silent: u64) -> Counts {
        [("silent".to_owned(), silent)].into()
    }

    fn baseline() -> Baseline {
        Baseline { reason: "the first".into(), operations: counts(100_000) }
    }

    #[test]
    fn three_percent_more_pass_and_not_one_instruction_beyond() {
        assert!(baseline().compare(&counts(103_000)).passed());
        assert!(!baseline().compare(&counts(103_001)).passed());
        assert!(baseline().compare(&counts(103_000)).over().is_empty());
        assert!(baseline().compare(&counts(103_001)).over().contains("silent"));
        assert!(!baseline().compare(&counts(97_000)).improved());
        assert!(baseline().compare(&counts(96_999)).improved());
    }

    #[test]
    fn an_operation_without_a_baseline_does_not_pass() {
        let none = Baseline { reason: "none".into(), operations: Counts::new() };
        let comparison = none.compare(&counts(1));
        assert!(!comparison.passed() && !comparison.improved() && comparison.over().is_empty());
        assert!(comparison.to_string().contains("| silent | none | 1 | none |"), "{comparison}");
    }

    #[test]
    fn a_baseline_says_why_it_is_so() {
        let json = serde_json::to_string(&baseline()).unwrap();
        assert_eq!(Baseline::parse(&json), Ok(baseline()));
        assert!(Baseline::parse(&json.replace("the first", " ")).is_err());
        assert!(Baseline::parse(r#"{"operations":{}}"#).is_err());
    }
}
