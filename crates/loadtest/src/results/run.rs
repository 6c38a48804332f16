//! One run: what was asked, what was answered, and how long it took.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Aborted, AgentShare, Day, Replayed, ServerFigures, Soak};
use crate::scenario::Mix;

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// What tells it from the other runs of the file, for instance `silent 500/s, 64 shards`.
    pub name: String,
    /// Which repeat of its plan it is, where that was run several times; the name ends with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
    /// The scenario.
    pub scenario: String,
    /// Which mix it was, for a scenario that has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<Mix>,
    /// When it began and ended, in UTC; empty in older files.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub began: String,
    /// The same.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ended: String,
    /// `constant-arrival-rate`, `ramping-arrival-rate`, `replay`, `mixture` or `closed`.
    pub executor: String,
    /// Whether it is a try of a search for the limit, which may fail.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub probe: bool,
    /// What sent the requests.
    #[serde(default, skip_serializing_if = "Generator::is_own")]
    pub generator: Generator,
    /// Requests per second that the plateau asked for; what was answered where nothing was asked for.
    pub rate: f64,
    /// Right answers per second of the plateau. Files of version 1 count all answers.
    pub achieved_rate: f64,
    /// The plateau's length in seconds. All counts and latencies are of the plateau unless they say otherwise.
    pub seconds: f64,
    /// How many seconds of load there were before the schedule.
    #[serde(default)]
    pub warm_up_seconds: f64,
    /// The schedule.
    pub stages: Vec<Stage>,
    /// Threads of the generator that sent the requests; 0 in files that do not say.
    #[serde(default)]
    pub threads: usize,
    /// Connections of the generator.
    pub connections: usize,
    /// Requests in flight at most on each of them: more than one with HTTP/2 alone. Older files do not say.
    #[serde(default)]
    pub streams: usize,
    /// What they speak, `HTTP/1.1` or `HTTP/2`; empty in older files, which is HTTP/1.1.
    #[serde(default)]
    pub protocol: String,
    /// Whether they are encrypted.
    #[serde(default)]
    pub tls: bool,
    /// Requests over HTTP in the whole run, warm-up and ramps included: a login makes several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
    /// Requests that were sent.
    pub requests: u64,
    /// Requests that failed without an answer.
    pub failures: u64,
    /// Answers that said something else than they must.
    pub wrong: u64,
    /// Arrivals that found no free connection in time and were never sent.
    pub missed: u64,
    /// Wrong answers and failures outside of the plateau.
    pub errors_besides: u64,
    /// The same by kind; arrivals that found no free connection are `never_sent`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub besides_kinds: BTreeMap<String, u64>,
    /// Failures by kind.
    pub failure_kinds: BTreeMap<String, u64>,
    /// Wrong answers by kind.
    pub wrong_kinds: BTreeMap<String, u64>,
    /// Answers that nobody had asked for, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unasked_kinds: BTreeMap<String, u64>,
    /// An example of a wrong answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_wrong: Option<String>,
    /// The first failure, wrong answer or unasked answer of each kind, of the plateau where it had one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub examples: BTreeMap<String, Example>,
    /// How long all arrivals took, whatever their end; those that were given up or missed took at least so long. They
    /// count from the intended arrival, or from the sending ([`Generator`]).
    #[serde(flatten)]
    pub latency: Latency,
    /// How long the right answers took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Latency>,
    /// How long the wrong answers took, refusals among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusals: Option<Latency>,
    /// What a day was besides: its storms and journeys. Its scenarios are the kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<Day>,
    /// By kind of request, where the scenario mixes several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<Kind>,
    /// By step, in their order, where several requests count as one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepLatency>,
    /// What came of the lines of its log, where one was replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replayed>,
    /// How long what came before the schedule took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<Latency>,
    /// How long the first, the second and the last third of the plateau took.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thirds: Vec<Latency>,
    /// CPU time of the provider's process per right answer, in µs; unknown for a remote one.
    pub server_cpu_us_per_request: Option<f64>,
    /// CPU time of the generator per request, in µs.
    pub generator_cpu_us_per_request: f64,
    /// Cores of the generator's machine that were busy with anything, ramps included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_busy_cores: Option<f64>,
    /// How the generator's connections were used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_use: Option<ConnectionUse>,
    /// How late the generator itself let an arrival go, at worst, in milliseconds.
    pub generator_lag_ms: f64,
    /// Why the generator, and not the provider, was the limit; none where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_limit: Option<String>,
    /// The same without what `--connections` allows, for a search that has tried more of them. In no file.
    #[serde(skip)]
    pub limit_besides_connections: Option<String>,
    /// Each agent's part, where agents sent the requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentShare>,
    /// Arrivals of agents that were lost, of which nobody knows what became of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub arrivals_lost: u64,
    /// Shards of the scenario's main kind of state.
    pub shards: Option<u32>,
    /// A change of their number while the load went on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reshard: Option<Reshard>,
    /// The course of the run, second by second, ramps included.
    pub timeline: Vec<Second>,
    /// What hours of load did to the provider, where it was watched for leaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak: Option<Soak>,
    /// Why it was ended before its time, where a rule did that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<Aborted>,
    /// What the provider's own figures say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerFigures>,
    /// The limits that were set, and how they were kept.
    pub thresholds: Vec<Threshold>,
}

impl Run {
    /// What was asked: the scenario, and the mix where it is not the reports'.
    pub fn what(&self) -> &str {
        match (self.mix, &*self.scenario) {
            (Some(Mix::Pure), "introspect") => "introspect, valid tokens only",
            (Some(Mix::Pure), "exchange") => "exchange, valid tokens only",
            (_, scenario) => scenario,
        }
    }

    /// The name that all repeats of a plan have in common.
    pub fn base_name(&self) -> &str {
        let suffix = self.repeat.map(|repeat| repeat.to_string());
        suffix.and_then(|suffix| self.name.strip_suffix(&suffix)).unwrap_or(&self.name)
    }

    /// When the plateau begins and ends, in seconds after the beginning of the load, warm-up included: with the stages whose
    /// rate is the highest and does not change, or with all where there is no such stage.
    pub fn plateau_edges(&self) -> (f64, f64) {
        let highest = self.stages.iter().map(|stage| stage.from.max(stage.to)).fold(0.0, f64::max);
        let is_plateau = |stage: &Stage| stage.from.min(stage.to) >= highest;
        // All of a day is measured.
        let all = self.day.is_some() || !self.stages.iter().any(is_plateau);
        let (mut at, mut edges) = (self.warm_up_seconds, None);
        for stage in &self.stages {
            let begins = at;
            at += stage.seconds;
            if all || is_plateau(stage) {
                edges = Some((edges.map_or(begins, |(first, _)| first), at));
            }
        }
        edges.unwrap_or((self.warm_up_seconds, self.warm_up_seconds + self.seconds))
    }

    /// Whether every answer was right, also outside of the plateau, every threshold held, and no agent was lost.
    pub fn passed(&self) -> bool {
        self.wrong == 0
            && self.loss().is_none()
            && self.unasked_kinds.is_empty()
            && self.errors_besides == 0
            && self.thresholds.iter().all(|threshold| threshold.held)
    }
}

/// Which of several runs of one plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeat {
    /// From 1 on.
    pub number: usize,
    /// How many there are.
    pub of: usize,
}

impl std::fmt::Display for Repeat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, " ({} of {})", self.number, self.of)
    }
}

/// How long requests took, in milliseconds. A percentile is there where there are enough requests for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The smallest.
    pub min_ms: Option<f64>,
    /// The mean.
    pub mean_ms: Option<f64>,
    /// The median.
    pub p50_ms: Option<f64>,
    /// What 75 % did not exceed.
    pub p75_ms: Option<f64>,
    /// What 90 % did not exceed.
    pub p90_ms: Option<f64>,
    /// What 95 % did not exceed.
    pub p95_ms: Option<f64>,
    /// What 99 % did not exceed.
    pub p99_ms: Option<f64>,
    /// What 99.9 % did not exceed.
    pub p999_ms: Option<f64>,
    /// The longest.
    pub max_ms: Option<f64>,
    /// The shortest wait that was given up: from here on the figures are lower bounds. None where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least_from_ms: Option<f64>,
}

impl Latency {
    /// Whether this figure of them is a lower bound: waits that were given up stand at it or below.
    pub fn is_at_least(&self, ms: f64) -> bool {
        self.at_least_from_ms.is_some_and(|from| ms >= from)
    }
}

/// The requests of one kind of a mix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Kind {
    /// What it is called.
    pub name: String,
    /// Answered as they must be.
    pub right: u64,
    /// Answered otherwise.
    pub wrong: u64,
    /// Not answered.
    pub failures: u64,
    /// Never sent, where it is known which kind it would have been.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed: u64,
    /// How long they took, whatever their end.
    #[serde(flatten)]
    pub latency: Latency,
    /// How long the right answers took, where not all were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Latency>,
    /// How long the wrong answers took, refusals among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusals: Option<Latency>,
}

/// A step of what counts as one request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepLatency {
    /// What it is called.
    pub name: String,
    /// How often it was answered, whatever the answer says.
    pub count: u64,
    /// How long it took, from its sending to its answer.
    #[serde(flatten)]
    pub latency: Latency,
}

/// Whether a count need not be written down.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A request and what came of it. What may be a secret is shortened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// What was wrong.
    pub detail: String,
    /// The request.
    pub request: String,
    /// The answer; empty where there was none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub answer: String,
}

/// How the generator's connections were used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ConnectionUse {
    /// Requests in flight at most: the bound.
    pub bound: usize,
    /// How many were in flight at once, at most.
    pub most_in_use: usize,
    /// For how many seconds of the plateau the bound was reached while arrivals waited.
    pub exhausted_seconds: f64,
    /// Why a further connection could not be opened, where one could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Whether that was for want of something of the generator's own: files, ports.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacking: bool,
}

/// What sends requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Generator {
    /// This crate; latencies count from the intended arrival.
    #[default]
    Own,
    /// k6 with the scripts of `loadtest/k6`; latencies count from the sending.
    K6 {
        /// How many ran at once. Of several, a percentile is the highest of theirs.
        instances: u32,
    },
}

impl Generator {
    /// Whether it is this crate.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    fn is_own(&self) -> bool {
        *self == Self::Own
    }
}

/// A part of a schedule: the rate goes in a straight line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Requests per second at its beginning.
    pub from: f64,
    /// Requests per second at its end.
    pub to: f64,
    /// How long it takes.
    pub seconds: f64,
}

/// A change of the number of shards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reshard {
    /// When it was made, in seconds after the beginning of the load, warm-up included.
    pub at: f64,
    /// Their new number.
    pub to: u32,
}

/// One second of a run; of a long run, several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Its end, in seconds since the start.
    pub at: u32,
    /// Requests that were answered.
    pub answered: u64,
    /// Failures and wrong answers.
    pub errors: u64,
    /// The median of how long what ended in it took, whatever its end.
    pub p50_ms: Option<f64>,
    /// What 99 % of it did not exceed.
    pub p99_ms: Option<f64>,
    /// Cores that the provider kept busy, where that is known.
    pub server_cores: Option<f64>,
    /// Arrivals whose time came in it, where no schedule says that: in a day, with the steps of journeys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered: Option<u64>,
    /// How many seconds it covers, where that is not one: less at the end, more where the generator was held up, and 2, 4, 8
    /// and so on in a long run, whose seconds are put together. Its counts and percentiles are of all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers: Option<f64>,
    /// The worst of the seconds that it was put together of; none of a single one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<WorstSecond>,
}

impl Second {
    /// How many seconds it covers.
    pub fn seconds(&self) -> f64 {
        self.covers.unwrap_or(1.0)
    }

    /// Its middle, in seconds since the start; of a single second its end, which is what is told of it.
    pub fn place(&self) -> f64 {
        (f64::from(self.at) - (self.seconds() - 1.0).max(0.0) / 2.0).max(0.0)
    }

    /// The highest P99 of a second in it.
    pub fn worst_p99_ms(&self) -> Option<f64> {
        self.worst.map_or(self.p99_ms, |worst| worst.p99_ms)
    }

    /// The most cores that the provider kept busy in a second of it.
    pub fn most_cores(&self) -> Option<f64> {
        self.worst.map_or(self.server_cores, |worst| worst.server_cores)
    }
}

/// The worst of several seconds, figure by figure: not all of the same second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorstSecond {
    /// The highest P99 of a second that had enough requests for one.
    pub p99_ms: Option<f64>,
    /// The longest that a request took, within 1 %.
    pub max_ms: Option<f64>,
    /// The most errors.
    pub errors: u64,
    /// The lowest rate of answers.
    pub fewest_answered: f64,
    /// The most cores that the provider kept busy.
    pub server_cores: Option<f64>,
}

/// A limit and how it was kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The scenario of a day that it is about; none where it is about the run as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// What is limited, for instance `p95_ms`.
    pub name: String,
    /// The limit as it is read, for instance `< 300`.
    pub limit: String,
    /// What was measured; none where nothing was, and then it does not hold.
    pub value: Option<f64>,
    /// Whether it held.
    pub held: bool,
}

impl Threshold {
    /// What is limited, with its scenario where it is not the run as a whole: `login p99_ms`.
    pub fn what(&self) -> String {
        self.scenario
            .as_ref()
            .map_or_else(|| self.name.clone(), |scenario| format!("{scenario} {}", self.name))
    }
}
