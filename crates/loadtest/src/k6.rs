//! Runs that k6 made with the scripts of `loadtest/k6`: their `summary.json` files as results like this generator's
//! own.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use serde::Deserialize;

use crate::LoadtestError;
use crate::latency::needed;
use crate::results::{self, Generator, Machine, Provider, Results, Run, Stage};
use crate::run::Rule;
use crate::scenario::Scenario;

/// The form of the file.
const VERSION: u32 = 1;
/// A run that ended so many seconds before its schedule was cut short.
const EARLY: f64 = 1.0;

/// Instances of one run begin together: so many seconds apart at most, or so large a part of the run.
const APART_SECONDS: f64 = 3.0;
const APART_SHARE: f64 = 0.02;

const fn epoch() -> SystemTime {
    SystemTime::UNIX_EPOCH
}

/// What is looked at first: whether it is such a file at all.
#[derive(Deserialize)]
struct Versioned {
    symbolon_k6: u32,
}

/// One file: what one instance did. Counts and latencies are of the plateau unless they say otherwise.
#[derive(Clone, Deserialize)]
struct Summary {
    scenario: Scenario,
    started: String,
    /// The same, as a time.
    #[serde(skip, default = "epoch")]
    start: SystemTime,
    issuer: String,
    algorithm: String,
    /// Requests per second of all instances together.
    rate: f64,
    seconds: f64,
    stages: Vec<Stage>,
    /// Virtual users of this instance.
    vus: usize,
    instance: u32,
    instances: u32,
    planned_seconds: f64,
    ran_seconds: f64,
    requests: u64,
    failures: u64,
    wrong: u64,
    missed: u64,
    errors_besides: u64,
    failure_kinds: BTreeMap<String, u64>,
    wrong_kinds: BTreeMap<String, u64>,
    latency_ms: Option<Latency>,
}

/// In milliseconds, from the sending of the request.
#[derive(Clone, Copy, Deserialize)]
struct Latency {
    min: f64,
    mean: f64,
    p50: f64,
    p75: f64,
    p90: f64,
    p95: f64,
    p99: f64,
    p999: f64,
    max: f64,
}

impl Summary {
    fn parse(text: &str) -> Result<Self, String> {
        let damaged = |error: serde_json::Error| format!("it is damaged: {error}");
        let value: serde_json::Value = serde_json::from_str(text).map_err(damaged)?;
        let Ok(Versioned { symbolon_k6 }) = serde_json::from_value(value.clone()) else {
            return Err("it is no summary of the scripts in loadtest/k6".into());
        };
        if symbolon_k6 != VERSION {
            return Err(format!("it has version {symbolon_k6}, and this program reads version {VERSION}"));
        }
        let mut summary: Self = serde_json::from_value(value).map_err(damaged)?;
        let start = humantime::parse_rfc3339(&summary.started);
        summary.start = start.map_err(|error| format!("it is damaged: started: {error}"))?;
        summary.check().map_err(|reason| format!("it is damaged: {reason}"))?;
        Ok(summary)
    }

    /// What holds of every run.
    fn check(&self) -> Result<(), &'static str> {
        let of_kinds =
            |kinds: &BTreeMap<String, u64>| kinds.values().try_fold(0, |sum: u64, n| sum.checked_add(*n));
        let answered = self.requests.checked_sub(self.failures);
        let rising =
            self.latency_ms.is_none_or(|latency| latency.figures().is_sorted() && latency.min >= 0.0);
        match () {
            () if !(self.rate > 0.0 && self.seconds > 0.0) => Err("rate and seconds must be above 0"),
            () if self.instance == 0 || self.instance > self.instances => {
                Err("instance is none of instances")
            }
            () if answered.is_none_or(|answered| answered < self.wrong) => {
                Err("there are more failed and wrong requests than requests")
            }
            () if of_kinds(&self.failure_kinds) != Some(self.failures) => {
                Err("failure_kinds do not add up to failures")
            }
            () if of_kinds(&self.wrong_kinds) != Some(self.wrong) => {
                Err("wrong_kinds do not add up to wrong")
            }
            () if !rising => Err("the latencies do not rise with the percentile"),
            () if self.latency_ms.is_some() != (answered > Some(0)) => {
                Err("there must be latencies where there are answers, and only there")
            }
            () => Ok(()),
        }
    }

    fn answered(&self) -> u64 {
        self.requests.saturating_sub(self.failures)
    }

    /// Whether both are instances of one run.
    fn belongs_with(&self, other: &Self) -> bool {
        let run = |of: &Self| (of.scenario, of.instances, of.stages.clone());
        run(self) == run(other) && self.instance != other.instance && self.ran_with(other)
    }

    /// Whether both ran at the same time, or nearly: rates add up only then.
    fn ran_with(&self, other: &Self) -> bool {
        let apart = self.start.duration_since(other.start);
        let apart = apart.unwrap_or_else(|error| error.duration()).as_secs_f64();
        apart <= APART_SECONDS.max(APART_SHARE * self.planned_seconds)
    }
}

impl Latency {
    /// By rising percentile; the mean is none.
    fn figures(&self) -> [f64; 8] {
        [self.min, self.p50, self.p75, self.p90, self.p95, self.p99, self.p999, self.max]
    }
}

/// Reads the files as runs in their order. Files of several instances of one run become one run, at the place of the
/// first, where they ran at the same time. Percentiles of several instances are not told: see `latency`.
/// The usual thresholds ([`Rule::usual`]) must hold.
///
/// # Errors
/// [`LoadtestError::Options`] names the file that cannot be read, is damaged, was written by something else, or tells of
/// another provider than the first.
pub fn read(paths: &[PathBuf]) -> Result<Results, LoadtestError> {
    let mut summaries = Vec::with_capacity(paths.len());
    for path in paths {
        let unusable = |reason: String| LoadtestError::Options(format!("{}: {reason}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| unusable(error.to_string()))?;
        let summary = Summary::parse(&text).map_err(unusable)?;
        let provider = |of: &Summary| (of.issuer.clone(), of.algorithm.clone());
        if let Some(first) = summaries.first().filter(|first| provider(first) != provider(&summary)) {
            let ((issuer, algorithm), first) = (provider(&summary), provider(first));
            return Err(unusable(format!(
                "its provider is {issuer} with {algorithm}, that of the first file is {} with {}",
                first.0, first.1
            )));
        }
        summaries.push(summary);
    }
    results(summaries).ok_or_else(|| LoadtestError::Options("there is no summary to read".into()))
}

fn results(summaries: Vec<Summary>) -> Option<Results> {
    let first = summaries.first()?.clone();
    let same = summaries.iter().all(|summary| summary.scenario == first.scenario);
    let runs = by_run(summaries);
    let partial: Vec<String> = runs.iter().flat_map(|instances| shortcomings(instances)).collect();
    Some(Results {
        version: results::VERSION,
        title: if same { format!("{} by k6", first.scenario) } else { "k6".into() },
        started: first.started,
        // It is k6's, which does not say.
        machine: Machine::default(),
        provider: Provider { issuer: first.issuer, software: None, algorithm: Some(first.algorithm) },
        environment: BTreeMap::new(),
        december_2025: false,
        partial: (!partial.is_empty()).then(|| partial.join("; ")),
        runs: runs.iter().filter_map(|instances| run(instances)).collect(),
        capacities: Vec::new(),
    })
}

/// Puts instances of one run together.
fn by_run(summaries: Vec<Summary>) -> Vec<Vec<Summary>> {
    let mut runs: Vec<Vec<Summary>> = Vec::new();
    for summary in summaries {
        let own = runs.iter_mut().find(|run| run.iter().all(|other| summary.belongs_with(other)));
        match own {
            Some(run) => run.push(summary),
            None => runs.push(vec![summary]),
        }
    }
    runs
}

/// Why there is less than the run was to have.
fn shortcomings(instances: &[Summary]) -> Vec<String> {
    let Some(first) = instances.first() else { return Vec::new() };
    let name = name(first);
    let missing = (1..=first.instances)
        .filter(|number| instances.iter().all(|summary| summary.instance != *number))
        .map(|number| {
            format!("{name}: instance {number} of {} is missing or ran at another time", first.instances)
        });
    let short = instances.iter().filter(|summary| summary.ran_seconds < summary.planned_seconds - EARLY).map(
        |summary| format!("{name}: it ran {:.0} of {:.0} s", summary.ran_seconds, summary.planned_seconds),
    );
    missing.chain(short).collect()
}

fn name(summary: &Summary) -> String {
    format!("{} {:.0}/s", summary.scenario, summary.rate)
}

/// One run of its instances.
fn run(instances: &[Summary]) -> Option<Run> {
    let first = instances.first()?;
    let total = |count: fn(&Summary) -> u64| instances.iter().map(count).sum::<u64>();
    let kinds = |of: fn(&Summary) -> &BTreeMap<String, u64>| {
        let mut sums = BTreeMap::new();
        for (kind, count) in instances.iter().flat_map(of) {
            *sums.entry(kind.clone()).or_default() += *count;
        }
        sums
    };
    let answered = total(Summary::answered);
    let ramps = first.stages.len() > 1;
    let mut run = Run {
        name: name(first),
        scenario: first.scenario.name().into(),
        executor: if ramps { "ramping-arrival-rate" } else { "constant-arrival-rate" }.into(),
        generator: Generator::K6 { instances: first.instances },
        rate: first.rate,
        achieved_rate: answered as f64 / first.seconds,
        seconds: first.seconds,
        stages: first.stages.clone(),
        connections: instances.iter().map(|summary| summary.vus).sum(),
        requests: total(|summary| summary.requests),
        failures: total(|summary| summary.failures),
        wrong: total(|summary| summary.wrong),
        missed: total(|summary| summary.missed),
        errors_besides: total(|summary| summary.errors_besides),
        failure_kinds: kinds(|summary| &summary.failure_kinds),
        wrong_kinds: kinds(|summary| &summary.wrong_kinds),
        ..Run::default()
    };
    run.latency = latency(instances, answered);
    run.thresholds = Rule::usual().iter().map(|rule| rule.judge(&run)).collect();
    Some(run)
}

/// The latencies of one instance. Percentiles of several cannot be put together without their histograms, which k6 does
/// not give; of the smallest, the mean and the longest that is no question.
fn latency(instances: &[Summary], answered: u64) -> results::Latency {
    let measured: Vec<(Latency, u64)> = instances
        .iter()
        .filter_map(|summary| summary.latency_ms.map(|latency| (latency, summary.answered())))
        .collect();
    let told = |percentile: f64, ms: f64| (answered >= needed(percentile)).then_some(ms);
    match measured.as_slice() {
        [] => results::Latency::default(),
        [(latency, _)] => results::Latency {
            min_ms: Some(latency.min),
            mean_ms: Some(latency.mean),
            p50_ms: told(50.0, latency.p50),
            p75_ms: told(75.0, latency.p75),
            p90_ms: told(90.0, latency.p90),
            p95_ms: told(95.0, latency.p95),
            p99_ms: told(99.0, latency.p99),
            p999_ms: told(99.9, latency.p999),
            max_ms: Some(latency.max),
            at_least_from_ms: None,
        },
        several => {
            let sum: f64 = several.iter().map(|(latency, count)| latency.mean * *count as f64).sum();
            results::Latency {
                min_ms: several.iter().map(|(latency, _)| latency.min).reduce(f64::min),
                mean_ms: Some(sum / answered as f64),
                max_ms: several.iter().map(|(latency, _)| latency.max).reduce(f64::max),
                ..results::Latency::default()
            }
        }
    }
}

#[cfg(test)]
mod tests;
