//! Limits that decide whether a run passed.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::LoadtestError;
use crate::results::{Run, Threshold};

/// A limit for one figure of a run: `p95_ms<300`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rule {
    figure: Figure,
    comparison: Comparison,
    limit: f64,
}

#[derive(Clone, Copy, Debug)]
enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The figures that can be limited, by name.
#[derive(Clone, Copy, Debug)]
struct Figure {
    name: &'static str,
    of: fn(&Run) -> f64,
}

const P99_MS: Figure = Figure { name: "p99_ms", of: |run| run.p99_ms };
const FAILURE_SHARE: Figure = Figure { name: "failure_share", of: failure_share };
const ACHIEVED_SHARE: Figure =
    Figure { name: "achieved_share", of: |run| run.achieved_rate / run.rate.max(f64::MIN_POSITIVE) };
const FIGURES: [Figure; 12] = [
    Figure { name: "mean_ms", of: |run| run.mean_ms },
    Figure { name: "p50_ms", of: |run| run.p50_ms },
    Figure { name: "p75_ms", of: |run| run.p75_ms },
    Figure { name: "p90_ms", of: |run| run.p90_ms },
    Figure { name: "p95_ms", of: |run| run.p95_ms },
    P99_MS,
    Figure { name: "p999_ms", of: |run| run.p999_ms },
    Figure { name: "max_ms", of: |run| run.max_ms },
    FAILURE_SHARE,
    Figure { name: "success_share", of: |run| 1.0 - failure_share(run) },
    ACHIEVED_SHARE,
    Figure { name: "server_cpu_us_per_request", of: |run| run.server_cpu_us_per_request.unwrap_or(0.0) },
];

/// What was not answered as it must be, or never sent, of all arrivals.
fn failure_share(run: &Run) -> f64 {
    let bad = run.failures + run.wrong + run.missed;
    bad as f64 / (run.requests + run.missed).max(1) as f64
}

impl Rule {
    /// What holds where nothing else is said: one arrival in a thousand may fail, and the rate is reached within 1 %.
    /// Wrong answers fail a run in any case.
    pub fn usual() -> Vec<Self> {
        vec![
            Self { figure: FAILURE_SHARE, comparison: Comparison::LessOrEqual, limit: 0.001 },
            Self::rate_reached(),
        ]
    }

    /// The rate is reached within 1 %.
    pub fn rate_reached() -> Self {
        Self { figure: ACHIEVED_SHARE, comparison: Comparison::GreaterOrEqual, limit: 0.99 }
    }

    /// Every arrival is answered as it must be.
    pub fn no_failure() -> Self {
        Self { figure: FAILURE_SHARE, comparison: Comparison::LessOrEqual, limit: 0.0 }
    }

    /// 99 % of the answers come in less than so many milliseconds.
    pub fn p99_below(ms: f64) -> Self {
        Self { figure: P99_MS, comparison: Comparison::Less, limit: ms }
    }

    /// Looks at a run.
    pub fn judge(&self, run: &Run) -> Threshold {
        let value = (self.figure.of)(run);
        let held = match self.comparison {
            Comparison::Less => value < self.limit,
            Comparison::LessOrEqual => value <= self.limit,
            Comparison::Greater => value > self.limit,
            Comparison::GreaterOrEqual => value >= self.limit,
        };
        let sign = self.comparison.sign();
        // Without an answer there is no latency to praise.
        let held = held && run.requests > 0;
        Threshold { name: self.figure.name.into(), limit: format!("{sign} {}", self.limit), value, held }
    }
}

impl Comparison {
    const fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> Self {
        format!("{}{}{}", rule.figure.name, rule.comparison.sign(), rule.limit)
    }
}

impl TryFrom<String> for Rule {
    type Error = LoadtestError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl FromStr for Rule {
    type Err = LoadtestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || {
            let names: Vec<_> = FIGURES.iter().map(|figure| figure.name).collect();
            let names = names.join(", ");
            LoadtestError::Options(format!(
                "threshold {text}: write FIGURE<NUMBER, with <, <=, > or >= and one of {names}"
            ))
        };
        let at = text.find(['<', '>']).ok_or_else(invalid)?;
        let (name, rest) = text.split_at(at);
        let (comparison, limit) = match (rest.strip_prefix("<="), rest.strip_prefix(">=")) {
            (Some(limit), _) => (Comparison::LessOrEqual, limit),
            (_, Some(limit)) => (Comparison::GreaterOrEqual, limit),
            _ if rest.starts_with('<') => (Comparison::Less, rest.trim_start_matches('<')),
            _ => (Comparison::Greater, rest.trim_start_matches('>')),
        };
        let figure = FIGURES.into_iter().find(|figure| figure.name == name.trim()).ok_or_else(invalid)?;
        let limit = limit.trim().parse().ok().filter(|limit: &f64| limit.is_finite()).ok_or_else(invalid)?;
        Ok(Self { figure, comparison, limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Run {
        Run {
            requests: 1_000,
            failures: 1,
            rate: 100.0,
            achieved_rate: 99.0,
            p95_ms: 300.0,
            ..Run::default()
        }
    }

    #[test]
    fn rules_are_read_and_judged() {
        for (text, limit, held) in [
            ("p95_ms<300", "< 300", false),
            ("p95_ms <= 300", "<= 300", true),
            ("p95_ms>299.5", "> 299.5", true),
            ("failure_share<=0.001", "<= 0.001", true),
            ("failure_share<0.001", "< 0.001", false),
            ("success_share>=0.999", ">= 0.999", true),
            ("achieved_share>=0.991", ">= 0.991", false),
        ] {
            let threshold = text.parse::<Rule>().unwrap().judge(&run());
            assert_eq!((threshold.limit.as_str(), threshold.held), (limit, held), "{text}");
        }
        assert!(Rule::usual().iter().all(|rule| rule.judge(&run()).held));
        assert!(Rule::usual().iter().all(|rule| !rule.judge(&Run::default()).held), "nothing was asked");
    }

    #[test]
    fn what_is_no_rule_is_told() {
        for text in
            ["", "p95_ms", "p95_ms=3", "p95<3", "p95_ms<", "p95_ms<fast", "p95_ms<NaN", "<3", "p95_ms<<3x"]
        {
            let error = text.parse::<Rule>().unwrap_err().to_string();
            assert!(error.contains("p999_ms"), "{error}");
        }
    }
}
