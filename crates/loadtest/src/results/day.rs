//! What a run of a day was beside its requests.

use serde::{Deserialize, Serialize};

/// A day: its storms and its journeys. The scenarios are the run's kinds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Day {
    /// How long a time the run stands for, in seconds.
    pub day_seconds: f64,
    /// The time of day at which it begins, in seconds after midnight.
    pub begins_seconds: f64,
    /// What came on top of the curve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub storms: Vec<Storm>,
    /// How its journeys went.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journeys: Vec<Journey>,
}

/// Many arrivals in a short time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Storm {
    /// When it begins, in seconds after the beginning of the load, warm-up included.
    pub at: f64,
    /// How long it lasts.
    pub seconds: f64,
    /// How many arrive.
    pub requests: u64,
    /// What they ask: a scenario, or the name of a journey.
    pub of: String,
}

/// The journeys of one kind. Those that were neither finished nor broken off were under way at the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Journey {
    /// Its name.
    pub name: String,
    /// How many were begun.
    pub begun: u64,
    /// How many came to their last answer.
    pub finished: u64,
    /// How many ended early, because a step failed, was answered wrongly or was never sent.
    pub broken: u64,
}
