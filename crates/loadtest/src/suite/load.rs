//! One load of a suite as it is written in a file.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::LoadtestError;
use crate::executor::{Schedule, Stage};
use crate::run::{AbortRule, Plan, Reshard, Rule, Traffic};
use crate::scenario::{OwnScenarios, Scenario};

/// A load: a scenario, when it is asked, and what must hold. It has either a rate, or stages, or is closed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// What is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<Scenario>,
    /// A file with scenarios of one's own instead; relative to the suite's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario_file: Option<PathBuf>,
    /// Shards of every kind of state, of a provider that is started for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<u32>,
    /// Requests per second of the plateau.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// The plateau's length, or a closed load's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Time>,
    /// From half the rate to the rate before the plateau, and to nothing after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Time>,
    /// Rates that change: the highest constant one is the plateau.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageForm>,
    /// Every connection sends again as soon as it is answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// Load before all of that, which is not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<Time>,
    /// Requests in flight at most; connections too, unless HTTP/2 shares them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<usize>,
    /// Threads of the generator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// What must hold besides the usual rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<Rule>,
    /// Whether the usual rules need not hold.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_thresholds: bool,
    /// A change of the number of shards while the load goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reshard: Option<ReshardForm>,
    /// What ends the load at once, and the suite with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abort_on: Vec<AbortRule>,
}

/// A part of a schedule.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageForm {
    /// Requests per second at its beginning; without, those of the end of the one before, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<f64>,
    /// Requests per second at its end.
    pub to: f64,
    /// How long it takes.
    pub duration: Time,
}

/// A change of the number of shards.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReshardForm {
    /// After the beginning, warm-up included.
    pub after: Time,
    /// Their new number.
    pub to: u32,
}

/// A length of time, as people write it: `90s`, `3m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub Duration);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_duration(self.0))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_duration(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

impl Load {
    /// What is asked, for messages.
    pub fn asks(&self) -> String {
        let file = || self.scenario_file.as_ref().map(|file| file.display().to_string());
        self.scenario.map(|scenario| scenario.to_string()).or_else(file).unwrap_or_default()
    }

    /// A load with a rate.
    pub fn at(scenario: Scenario, rate: f64, duration: Duration) -> Self {
        Self { rate: Some(rate), duration: Some(Time(duration)), ..Self::of(scenario) }
    }

    fn of(scenario: Scenario) -> Self {
        Self {
            scenario: Some(scenario),
            scenario_file: None,
            shards: None,
            rate: None,
            duration: None,
            ramp: None,
            stages: Vec::new(),
            closed: false,
            warm_up: None,
            connections: None,
            threads: None,
            thresholds: Vec::new(),
            only_thresholds: false,
            reshard: None,
            abort_on: Vec::new(),
        }
    }

    /// The plan that is meant.
    ///
    /// # Errors
    /// [`LoadtestError::Options`]: what contradicts itself or is missing.
    pub fn plan(&self) -> Result<Plan, LoadtestError> {
        if self.only_thresholds && self.thresholds.is_empty() {
            let reason =
                "only_thresholds = true goes with thresholds; without them nothing would have to hold";
            return Err(LoadtestError::Options(reason.into()));
        }
        let traffic = self.traffic()?;
        let mut plan = match (self.scenario, &self.scenario_file) {
            (Some(scenario), None) => Plan::new(scenario, traffic),
            (None, Some(file)) => Plan::new(OwnScenarios::read(file)?, traffic),
            _ => return Err(LoadtestError::Options("give one of scenario and scenario_file".into())),
        };
        if let Some(Time(warm_up)) = self.warm_up {
            plan.warm_up = warm_up;
        }
        plan.connections = self.connections.unwrap_or(plan.connections);
        plan.threads = self.threads.unwrap_or(plan.threads);
        if self.only_thresholds {
            plan.thresholds.clone_from(&self.thresholds);
        } else if !self.thresholds.is_empty() {
            plan.thresholds = Rule::with_usual(self.thresholds.iter().cloned());
        }
        plan.reshard = self.reshard.map(|form| Reshard { after: form.after.0, to: form.to });
        plan.abort_on.clone_from(&self.abort_on);
        Ok(plan)
    }

    fn traffic(&self) -> Result<Traffic, LoadtestError> {
        let refused = |reason: &str| Err(LoadtestError::Options(reason.into()));
        let Time(ramp) = self.ramp.unwrap_or(Time(Duration::ZERO));
        let ways = [self.rate.is_some(), self.closed, !self.stages.is_empty()];
        match (self.rate, self.duration) {
            _ if ways.into_iter().filter(|way| *way).count() != 1 => {
                refused("give one of rate, stages and closed")
            }
            (Some(rate), Some(Time(duration))) => plateau(rate, duration, ramp),
            _ if self.ramp.is_some() => refused("a ramp goes with a rate"),
            (None, Some(Time(duration))) if self.closed => Ok(Traffic::Closed(duration)),
            (None, None) if !self.closed => self.staged(),
            (None, Some(_)) => refused("each stage has its duration; the run has none"),
            (_, None) => refused("a duration is missing"),
        }
    }

    fn staged(&self) -> Result<Traffic, LoadtestError> {
        Ok(Traffic::Open(Schedule::new(&stages(&self.stages))?))
    }
}

/// The stages that are meant: each begins where the one before ends, unless it says otherwise.
pub(crate) fn stages(forms: &[StageForm]) -> Vec<Stage> {
    let mut before = 0.0;
    let stage = |form: &StageForm| {
        let from = form.from.unwrap_or(before);
        before = form.to;
        Stage { from, to: form.to, duration: form.duration.0 }
    };
    forms.iter().map(stage).collect()
}

/// A rate for a time, with ramps: from half the rate before it, to nothing after it.
///
/// # Errors
/// [`LoadtestError::Options`] as [`Schedule::new`].
pub fn plateau(rate: f64, duration: Duration, ramp: Duration) -> Result<Traffic, LoadtestError> {
    Ok(Traffic::Open(Schedule::new(&[
        Stage { from: rate / 2.0, to: rate, duration: ramp },
        Stage::constant(rate, duration),
        Stage { from: rate, to: 0.0, duration: ramp },
    ])?))
}
