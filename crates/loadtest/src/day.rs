//! A real day: a weighted mix of single requests and journeys of users, at rates that go up and down, with storms on top, and
//! a verdict for each scenario.

mod build;
mod curve;
mod file;
mod metrics;
mod preset;
mod work;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use symbolon_crypto::Algorithm;

use build::Builder;
use curve::TimeOfDay;
use file::Form;
pub use metrics::{MeasuredMix, measured_mix};
pub use preset::{preset, presets};

use crate::LoadtestError;
use crate::run::{AbortRule, Group, Plan, Rule, Traffic};
use crate::scenario::Scenario;
use crate::suite::Time;

/// A day that was read.
#[derive(Clone, Debug)]
pub struct Day(Form);

/// What else than the file says how it is run.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// How long the run takes: the day is compressed into it. No rate changes by that, nor does that of a storm, of which less
    /// comes in a shorter run.
    pub duration: Option<Duration>,
    /// So many times the rates, and the storms.
    pub scale: Option<f64>,
    /// Another mix of single requests, by weight.
    pub mix: Option<BTreeMap<Scenario, u32>>,
    /// Threads of the generator.
    pub threads: Option<usize>,
    /// What ends the run at once, besides what the file says.
    pub abort_on: Vec<AbortRule>,
}

impl Day {
    /// Reads a TOML file.
    ///
    /// # Errors
    /// [`LoadtestError::Options`] with the file's name, the place and what is wrong there.
    pub fn read(path: &Path) -> Result<Self, LoadtestError> {
        let refused = |reason: String| LoadtestError::Options(format!("{}: {reason}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        Self::parse(&text).map_err(|error| refused(error.to_string()))
    }

    /// Reads the text of such a file.
    ///
    /// # Errors
    /// [`LoadtestError::Options`] with the place and what is wrong there.
    pub fn parse(text: &str) -> Result<Self, LoadtestError> {
        let form: Form = toml::from_str(text).map_err(|error| LoadtestError::Options(error.to_string()))?;
        let day = Self(form);
        // What contradicts itself is told at once.
        day.plan()?;
        Ok(day)
    }

    /// Another way to run it.
    ///
    /// # Errors
    /// [`LoadtestError::Options`]: what does not go together with the file.
    pub fn changed(mut self, changes: Changes) -> Result<Self, LoadtestError> {
        let form = &mut self.0;
        if let Some(duration) = changes.duration {
            if !form.stages.is_empty() {
                return refused("--duration goes with a curve; stages say themselves how long they are");
            }
            // What it stands for stays, and so do the rates of its storms.
            let before = form.duration.map_or(duration, |before| before.0);
            scale_storms(form, duration.as_secs_f64() / before.as_secs_f64().max(f64::MIN_POSITIVE));
            form.day = form.day.or(form.duration);
            form.duration = Some(Time(duration));
        }
        if let Some(scale) = changes.scale {
            if !(scale.is_finite() && scale > 0.0) {
                return refused(&format!("--scale {scale}: write a positive number"));
            }
            form.peak = form.peak.map(|peak| peak * scale);
            for stage in &mut form.stages {
                (stage.from, stage.to) = (stage.from.map(|from| from * scale), stage.to * scale);
            }
            for journey in &mut form.journeys {
                journey.rate = journey.rate.map(|rate| rate * scale);
            }
            scale_storms(form, scale);
        }
        form.mix = changes.mix.unwrap_or_else(|| std::mem::take(&mut form.mix));
        form.threads = changes.threads.or(form.threads);
        form.abort_on.extend(changes.abort_on);
        self.plan()?;
        Ok(self)
    }

    /// What the report calls it.
    pub fn title(&self) -> &str {
        &self.0.title
    }

    /// What the provider is to sign with, where nobody says otherwise.
    pub fn algorithm(&self) -> Option<Algorithm> {
        self.0.algorithm
    }

    /// The one plan, and its provider.
    ///
    /// # Errors
    /// [`LoadtestError::Options`] with what contradicts itself or is missing.
    pub fn group(&self) -> Result<Group, LoadtestError> {
        Ok(Group { shards: self.0.shards, plans: vec![self.plan()?] })
    }

    fn plan(&self) -> Result<Plan, LoadtestError> {
        let form = &self.0;
        let (work, mixture) = Builder::new(form)?.build()?;
        let mut plan = Plan::new(work, Traffic::Mixture(mixture));
        if let Some(Time(warm_up)) = form.warm_up {
            plan.warm_up = warm_up;
        }
        if let Some(Time(timeout)) = form.timeout {
            plan.timeout = timeout;
        }
        plan.connections = form.connections.unwrap_or(plan.connections);
        plan.threads = form.threads.unwrap_or(plan.threads);
        plan.thresholds = Rule::with_usual(form.thresholds.iter().cloned());
        plan.abort_on.clone_from(&form.abort_on);
        plan.check()?;
        Ok(plan)
    }
}

fn scale_storms(form: &mut Form, factor: f64) {
    for storm in &mut form.storms {
        storm.requests = ((storm.requests as f64 * factor).round() as u64).max(1);
    }
}

fn refused<T>(reason: &str) -> Result<T, LoadtestError> {
    Err(LoadtestError::Options(reason.into()))
}

/// A time of day for the report: `09:00`.
pub(crate) fn time_of_day(seconds: f64) -> String {
    TimeOfDay(seconds.rem_euclid(86_400.0)).to_string()
}
