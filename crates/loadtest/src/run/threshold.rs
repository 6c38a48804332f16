//! Limits that decide whether a run passed.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::figure::{self, ACHIEVED_SHARE, FAILURE_SHARE, Figure, P99_MS, SERVER_CPU};
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

    /// Looks at a run. What was not measured holds no limit.
    pub fn judge(&self, run: &Run) -> Threshold {
        let value = (self.figure.of)(run);
        // A latency that is a lower bound says nothing of how much lower than another figure it is not.
        let bound = value.is_some_and(|value| self.figure.is_latency() && run.latency.is_at_least(value));
        let held = value.is_some_and(|value| match self.comparison {
            Comparison::Less => value < self.limit && !bound,
            Comparison::LessOrEqual => value <= self.limit && !bound,
            Comparison::Greater => value > self.limit,
            Comparison::GreaterOrEqual => value >= self.limit,
        });
        let sign = self.comparison.sign();
        let (name, limit) = (self.figure.name.into(), format!("{sign} {}", self.limit));
        Threshold { scenario: None, name, limit, value, held }
    }

    /// What must hold of each scenario of several where nothing else is said: one arrival in a thousand may fail.
    pub fn usual_of_a_scenario() -> Vec<Self> {
        vec![Self { figure: FAILURE_SHARE, comparison: Comparison::LessOrEqual, limit: 0.001 }]
    }

    /// The figure that it limits, as it is written.
    pub fn figure(&self) -> &'static str {
        self.figure.name
    }

    /// Whether that is known of one scenario of several too, and not of the run as a whole alone.
    pub fn is_of_a_scenario(&self) -> bool {
        self.figure.name != SERVER_CPU
    }

    /// Whether it limits a latency.
    pub fn is_of_latency(&self) -> bool {
        self.figure.is_latency()
    }

    /// The usual rules together with these, which add to them and replace none.
    pub fn with_usual(rules: impl IntoIterator<Item = Self>) -> Vec<Self> {
        Self::usual().into_iter().chain(rules).collect()
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
            let names = figure::names().join(", ");
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
        let figure = figure::named(name.trim()).ok_or_else(invalid)?;
        let limit = limit.trim().parse().ok().filter(|limit: &f64| limit.is_finite()).ok_or_else(invalid)?;
        Ok(Self { figure, comparison, limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Latency;

    fn run() -> Run {
        Run {
            requests: 1_000,
            failures: 1,
            rate: 100.0,
            achieved_rate: 99.0,
            latency: Latency { p95_ms: Some(300.0), ..Latency::default() },
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
    fn what_was_not_measured_holds_no_limit() {
        for text in ["p99_ms<100", "p99_ms>0", "server_cpu_us_per_request<100"] {
            let threshold = text.parse::<Rule>().unwrap().judge(&run());
            assert_eq!((threshold.value, threshold.held), (None, false), "{text}");
        }
    }

    #[test]
    fn a_wait_that_was_given_up_is_below_no_limit() {
        let mut run = run();
        run.latency.at_least_from_ms = Some(200.0);
        let held = |text: &str| text.parse::<Rule>().unwrap().judge(&run).held;
        assert!(!held("p95_ms<1000") && !held("p95_ms<=1000"), "it would have taken longer");
        assert!(held("p95_ms>100"));
    }

    #[test]
    fn rules_add_to_the_usual_ones() {
        let rules = Rule::with_usual(["p95_ms<1000".parse().unwrap()]);
        let mut run = run();
        run.failures = 100;
        let held: Vec<_> = rules.iter().map(|rule| rule.judge(&run).held).collect();
        assert_eq!(held, [false, true, true]);
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
