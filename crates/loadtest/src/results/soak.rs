//! What hours of load did to a provider, window by window, and how each quantity goes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::trend::Growth;

/// The windows of a run, and the trends over them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Soak {
    /// How long a window is.
    pub window_seconds: f64,
    /// Windows that are left out of the trends, from the first on, because the provider was still settling.
    pub settling: usize,
    /// The windows of the plateau, in their order.
    pub windows: Vec<Window>,
    /// How each quantity goes.
    pub leaks: Vec<Leak>,
}

/// A window. What is sampled is the middle of its samples; what cannot be known is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Its end, in seconds since the start of the load.
    pub at: f64,
    /// How long it is, in seconds.
    pub seconds: f64,
    /// Requests that were answered in it.
    pub answered: u64,
    /// Failures and wrong answers.
    pub errors: u64,
    /// The median latency.
    pub p50_ms: Option<f64>,
    /// What 99 % did not exceed.
    pub p99_ms: Option<f64>,
    /// The longest.
    pub max_ms: Option<f64>,
    /// The provider's CPU time per answer, in µs.
    pub cpu_us_per_request: Option<f64>,
    /// Its resident memory, in MiB.
    pub memory_mib: Option<f64>,
    /// Its open files and connections.
    pub descriptors: Option<f64>,
    /// Its threads.
    pub threads: Option<f64>,
    /// What its data take on the disk, in MiB.
    pub disk_mib: Option<f64>,
    /// What its stores hold, in MiB, by name, where it says so.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub store_mib: BTreeMap<String, f64>,
}

/// How one quantity goes over the windows. Slopes are per hour.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Leak {
    /// What grows or not, as [`Quantity`] names it.
    pub quantity: String,
    /// What it is measured in; empty for a number.
    pub unit: String,
    /// What it does.
    pub growth: Growth,
    /// Windows that were looked at.
    pub windows: usize,
    /// Its slope; none of too few windows.
    pub per_hour: Option<f64>,
    /// With a confidence of 95 % the slope is no less.
    pub least_per_hour: Option<f64>,
    /// And no more.
    pub most_per_hour: Option<f64>,
    /// The probability that chance lets what does not grow rise so evenly.
    pub probability: Option<f64>,
    /// The slope of the first half of the windows.
    pub first_half_per_hour: Option<f64>,
    /// That of the last half.
    pub last_half_per_hour: Option<f64>,
    /// A single rise: when, in hours since the start of the load, and by how much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rise: Option<SingleRise>,
    /// What it may grow by; none where it is told only.
    pub tolerance_per_hour: Option<f64>,
    /// How much there may be, where that is known.
    pub limit: Option<f64>,
    /// When it would be there if it went on like this; only of what grows.
    pub days_to_limit: Option<f64>,
}

/// A rise that did not go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SingleRise {
    /// In hours since the start of the load.
    pub at_hours: f64,
    /// How high.
    pub by: f64,
}

/// What is watched of a provider.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// Its name in results and options.
    pub name: &'static str,
    /// What it is called in a sentence.
    pub words: &'static str,
    /// What it is measured in; empty for a number.
    pub unit: &'static str,
    /// Of a window.
    pub of: fn(&Window) -> Option<f64>,
}

/// All of them but the stores', whose names are the provider's.
pub const QUANTITIES: [Quantity; 7] = [
    Quantity { name: "memory", words: "resident memory", unit: "MiB", of: |window| window.memory_mib },
    Quantity {
        name: "descriptors",
        words: "open files and connections",
        unit: "",
        of: |window| window.descriptors,
    },
    Quantity { name: "threads", words: "threads", unit: "", of: |window| window.threads },
    Quantity { name: "disk", words: "disk taken by its data", unit: "MiB", of: |window| window.disk_mib },
    Quantity {
        name: "cpu",
        words: "CPU time per request",
        unit: "µs",
        of: |window| window.cpu_us_per_request,
    },
    Quantity { name: "p50", words: "P50", unit: "ms", of: |window| window.p50_ms },
    Quantity { name: "p99", words: "P99", unit: "ms", of: |window| window.p99_ms },
];

/// Why a run was ended before its time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Aborted {
    /// The rule, as it was written.
    pub rule: String,
    /// When, in seconds since the start of the load.
    pub at: f64,
    /// What was measured then.
    pub value: f64,
}

impl std::fmt::Display for Aborted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rule, at, value } = self;
        write!(f, "stopped after {at:.0} s by --abort-on '{rule}': it was {value:.4}")
    }
}
