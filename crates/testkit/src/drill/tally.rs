//! Counts of what was done and checked, by kind, and the violations.

use std::collections::BTreeMap;
use std::fmt;

/// How many violations are reported in full; the others are only counted.
const TOLD: usize = 20;

/// Counts of a drill.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    counts: BTreeMap<String, u64>,
    violations: Vec<String>,
}

impl Tally {
    /// Counts one more of a kind, such as `acknowledged rotation`.
    pub fn count(&mut self, kind: &str) {
        self.add(kind, 1);
    }

    /// Counts several.
    pub fn add(&mut self, kind: &str, number: u64) {
        *self.counts.entry(kind.to_owned()).or_default() += number;
    }

    /// How many of a kind.
    pub fn of(&self, kind: &str) -> u64 {
        self.counts.get(kind).copied().unwrap_or_default()
    }

    /// Notes a violation.
    pub fn violation(&mut self, what: String) {
        self.violations.push(what);
    }

    /// Counts a check, and a violation if it failed.
    pub fn check(&mut self, kind: &str, holds: bool, what: impl FnOnce() -> String) {
        self.count(&format!("checked {kind}"));
        if !holds {
            self.violation(format!("{kind}: {}", what()));
        }
    }

    /// How many operations were acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.counts
            .iter()
            .filter(|(kind, _)| kind.starts_with("acknowledged"))
            .map(|(_, number)| number)
            .sum()
    }

    /// The number of violations.
    pub fn violations(&self) -> usize {
        self.violations.len()
    }

    /// The number of violations whose text contains these words.
    pub fn violations_like(&self, words: &str) -> usize {
        self.violations.iter().filter(|what| what.contains(words)).count()
    }

    /// Adds the counts and violations of another tally.
    pub fn merge(&mut self, other: Self) {
        for (kind, number) in other.counts {
            self.add(&kind, number);
        }
        self.violations.extend(other.violations);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, number) in &self.counts {
            writeln!(f, "{number:>9}  {kind}")?;
        }
        for what in self.violations.iter().take(TOLD) {
            writeln!(f, "VIOLATION  {what}")?;
        }
        write!(f, "{:>9}  violations", self.violations.len())
    }
}
