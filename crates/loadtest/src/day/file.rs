//! A day as it is written in a file.

use std::collections::BTreeMap;

use serde::Deserialize;
use symbolon_crypto::Algorithm;

use super::curve::{Point, TimeOfDay};
use crate::run::{AbortRule, Rule};
use crate::scenario::{Scenario, Think};
use crate::suite::{StageForm, Time};

/// A day: when how much arrives, what it asks, and what must hold.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Form {
    /// What the report calls it.
    pub(super) title: String,
    /// What the provider is to sign with, where nobody says otherwise.
    pub(super) algorithm: Option<Algorithm>,
    /// How long the run takes; not with `stages`.
    pub(super) duration: Option<Time>,
    /// How long a time it stands for; as long as it takes without.
    pub(super) day: Option<Time>,
    /// The time of day at which it begins.
    #[serde(default)]
    pub(super) begins: TimeOfDay,
    /// Whether users think as long as they do, or less by as much as the day is shorter.
    pub(super) think_times: Option<ThinkTimes>,
    /// Arrivals per second where the curve is 1.
    pub(super) peak: Option<f64>,
    /// Shares of the peak over the day; the peak all day without.
    #[serde(default)]
    pub(super) curve: Vec<Point>,
    /// Arrivals per second, instead of a curve and its peak.
    #[serde(default)]
    pub(super) stages: Vec<StageForm>,
    /// Single requests, by weight.
    #[serde(default)]
    pub(super) mix: BTreeMap<Scenario, u32>,
    /// Users who ask one thing after another.
    #[serde(default, rename = "journey")]
    pub(super) journeys: Vec<JourneyForm>,
    /// What comes on top of the curve.
    #[serde(default, rename = "storm")]
    pub(super) storms: Vec<StormForm>,
    /// What must hold of the run as a whole, besides the usual rules.
    #[serde(default)]
    pub(super) thresholds: Vec<Rule>,
    /// What must hold of every scenario that has no limit of its own on the same figure.
    pub(super) each_scenario: Option<Vec<Rule>>,
    /// What must hold of one scenario.
    #[serde(default, rename = "limit")]
    pub(super) limits: Vec<LimitForm>,
    /// What ends the day at once.
    #[serde(default)]
    pub(super) abort_on: Vec<AbortRule>,
    /// Load before all of that, which is not measured.
    pub(super) warm_up: Option<Time>,
    /// Requests in flight at most.
    pub(super) connections: Option<usize>,
    /// Threads of the generator.
    pub(super) threads: Option<usize>,
    /// How long a request may take.
    pub(super) timeout: Option<Time>,
    /// Shards of every kind of state, of a provider that is started for it.
    pub(super) shards: Option<u32>,
}

/// What becomes of think times in a day that is shorter than what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ThinkTimes {
    /// They stay.
    Real,
    /// They become shorter by as much.
    Compressed,
}

/// A journey, by weight beside the single requests, or at a rate of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JourneyForm {
    /// Its name.
    pub(super) name: String,
    /// Its weight among all arrivals.
    pub(super) weight: Option<u32>,
    /// How many begin per second where the curve is 1, besides all other arrivals.
    pub(super) rate: Option<f64>,
    /// What its user asks, one after the other.
    pub(super) steps: Vec<StepForm>,
}

/// A step of a journey.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepForm {
    /// How long the user thinks before it.
    pub(super) think: Option<ThinkForm>,
    /// What is asked.
    pub(super) ask: Scenario,
}

/// A think time: one of three forms.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ThinkForm {
    /// Always so long.
    fixed: Option<Time>,
    /// At least so long, with `to`.
    from: Option<Time>,
    /// At most so long.
    to: Option<Time>,
    /// Exponentially distributed, with this mean.
    mean: Option<Time>,
}

impl ThinkForm {
    /// What is meant, or what is wrong.
    pub(super) fn think(self) -> Result<Think, String> {
        match (self.fixed, self.from, self.to, self.mean) {
            (Some(Time(time)), None, None, None) => Ok(Think::Fixed(time)),
            (None, Some(Time(from)), Some(Time(to)), None) if from <= to => Ok(Think::Uniform(from, to)),
            (None, Some(Time(from)), Some(Time(to)), None) => {
                Err(format!("think: from {from:?} is more than to {to:?}; exchange them"))
            }
            (None, None, None, Some(Time(mean))) => Ok(Think::Exponential(mean)),
            _ => Err("think: write { fixed = \"5s\" }, { from = \"2s\", to = \"5s\" } or { mean = \"20s\" }"
                .into()),
        }
    }
}

/// Many arrivals in a short time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StormForm {
    /// When it begins.
    pub(super) at: TimeOfDay,
    /// How long it lasts, in the time of the day.
    pub(super) within: Time,
    /// How many arrive.
    pub(super) requests: u64,
    /// What they ask; logins where nothing is said.
    pub(super) scenario: Option<Scenario>,
    /// The journey that they begin, instead.
    pub(super) journey: Option<String>,
}

/// What must hold of one scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitForm {
    /// Which one.
    pub(super) scenario: Scenario,
    /// What.
    pub(super) thresholds: Vec<Rule>,
}
