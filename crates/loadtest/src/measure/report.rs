//! What was measured, for people and for programs.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use symbolon_crypto::Algorithm;

use crate::scenario::Scenario;

/// The version of the JSON form.
pub(super) const VERSION: u32 = 1;

/// The whole measurement. All times are medians over the rounds, in µs of CPU unless they say otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The version of this form.
    pub version: u32,
    /// The processor and its cores.
    pub machine: String,
    /// What tokens were signed with.
    pub algorithm: Algorithm,
    /// Keep-alive connections, one request in flight on each.
    pub connections: usize,
    /// Rounds that counted.
    pub rounds: usize,
    /// Signing and verifying on this machine.
    pub primitives: Vec<PrimitiveFigures>,
    /// The bare axum server on this machine.
    pub hello: HelloFigures,
    /// The scenarios.
    pub scenarios: Vec<ScenarioFigures>,
}

/// One algorithm's cost.
#[derive(Clone, Debug, Serialize)]
pub struct PrimitiveFigures {
    /// The algorithm; RSA keys have 2048 bits.
    pub algorithm: Algorithm,
    /// One signature.
    pub sign_us: f64,
    /// One verification.
    pub verify_us: f64,
}

/// The hello server's CPU per request.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HelloFigures {
    /// GET, axum's defaults.
    pub get_us: f64,
    /// POST of 200 bytes answered by 900, axum's defaults.
    pub post_us: f64,
    /// GET, one runtime per core.
    pub per_core_get_us: f64,
    /// POST, one runtime per core.
    pub per_core_post_us: f64,
    /// GET requests per second, axum's defaults.
    pub get_rate: f64,
    /// The generator's own CPU per GET request.
    pub generator_get_us: f64,
    /// The generator's own CPU per POST request.
    pub generator_post_us: f64,
}

/// One scenario's figures.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioFigures {
    /// The scenario.
    pub scenario: Scenario,
    /// The server's CPU per right answer.
    pub server_us: f64,
    /// The least and the most of the rounds.
    pub server_us_range: (f64, f64),
    /// Signed tokens per answer.
    pub signatures: f64,
    /// The limit in words.
    pub formula: Option<String>,
    /// The limit, from the median of the rounds' floors.
    pub limit_us: Option<f64>,
    /// The median of each round's figure ÷ the same round's limit; at most 1 holds it.
    pub ratio: Option<f64>,
    /// Right answers.
    pub requests: u64,
    /// Wrong answers by kind.
    pub wrong: BTreeMap<String, u64>,
    /// The first wrong answer.
    pub first_wrong: Option<String>,
    /// Requests without an answer, by kind.
    pub failures: BTreeMap<String, u64>,
    /// Right answers per second.
    pub rate: f64,
    /// Latency that half of the answers did not exceed, in ms.
    pub p50_ms: f64,
    /// Latency that 99 % of the answers did not exceed, in ms.
    pub p99_ms: f64,
    /// The generator's own CPU per request.
    pub generator_us: f64,
    /// Whether the limit held and every answer was right.
    pub passed: bool,
}

impl Report {
    /// Whether every limit held and every answer was right.
    pub fn passed(&self) -> bool {
        self.scenarios.iter().all(|scenario| scenario.passed)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(
            f,
            "CPU (user + system) per operation; {} keep-alive connections, one request in flight on each; median of {} rounds\n",
            self.connections, self.rounds
        )?;
        writeln!(f, "{:<22}{:>10}{:>10}", "signature", "sign µs", "verify µs")?;
        for primitive in &self.primitives {
            let (name, sign, verify) = (primitive.algorithm.as_str(), primitive.sign_us, primitive.verify_us);
            writeln!(f, "{name:<22}{sign:>10.1}{verify:>10.1}")?;
        }
        let hello = &self.hello;
        writeln!(f, "\n{:<22}{:>10}{:>10}", "bare axum server", "GET µs", "POST µs")?;
        writeln!(f, "{:<22}{:>10.2}{:>10.2}", "defaults", hello.get_us, hello.post_us)?;
        writeln!(
            f,
            "{:<22}{:>10.2}{:>10.2}",
            "runtime per core", hello.per_core_get_us, hello.per_core_post_us
        )?;
        writeln!(
            f,
            "{:<22}{:>10.2}{:>10.2}   ({:.0} GET/s)\n",
            "the generator itself", hello.generator_get_us, hello.generator_post_us, hello.get_rate
        )?;
        if self.scenarios.is_empty() {
            return Ok(());
        }
        writeln!(
            f,
            "{:<20}{:>10}{:>16}  {:<32}{:>9}{:>7}  {:<6}{:>9}{:>9}{:>9}",
            format!("scenario ({})", self.algorithm.as_str()),
            "µs/req",
            "range",
            "limit",
            "limit µs",
            "ratio",
            "",
            "req/s",
            "P50 ms",
            "P99 ms"
        )?;
        for scenario in &self.scenarios {
            scenario.fmt_row(f)?;
        }
        Ok(())
    }
}

impl ScenarioFigures {
    fn fmt_row(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = self.server_us_range;
        let number = |value: Option<f64>, digits: usize| match value {
            Some(value) => format!("{value:.digits$}"),
            None => "-".into(),
        };
        writeln!(
            f,
            "{:<20}{:>10.2}{:>16}  {:<32}{:>9}{:>7}  {:<6}{:>9.0}{:>9.2}{:>9.2}",
            self.scenario,
            self.server_us,
            format!("{low:.2}..{high:.2}"),
            self.formula.as_deref().unwrap_or("none stated"),
            number(self.limit_us, 2),
            number(self.ratio, 2),
            if self.passed { "pass" } else { "FAIL" },
            self.rate,
            self.p50_ms,
            self.p99_ms
        )?;
        if !self.wrong.is_empty() || !self.failures.is_empty() {
            writeln!(f, "    wrong answers {:?}, no answer {:?}", self.wrong, self.failures)?;
        }
        match &self.first_wrong {
            Some(first) => writeln!(f, "    the first one: {first}"),
            None => Ok(()),
        }
    }
}
