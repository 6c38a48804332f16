//! What runs gave, as it stands in `results.json`: read back for reports and comparisons.

mod agents;
mod busy;
mod capacity;
mod day;
mod replayed;
mod run;
mod server;
mod soak;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use agents::AgentShare;
pub(crate) use busy::Waited;
pub use capacity::{Bottleneck, Capacity, Gain, gains};
pub use day::{Day, Journey, Storm};
pub use replayed::Replayed;
pub(crate) use run::is_zero;
pub use run::{
    ConnectionUse, Example, Generator, Kind, Latency, Repeat, Reshard, Run, Second, Stage, StepLatency,
    Threshold, WorstSecond,
};
pub use server::{CacheFigures, Percentiles, ServerFigures, ShardFigures, StoreFigures};
pub use soak::{Aborted, Leak, QUANTITIES, Quantity, SingleRise, Soak, Window};

/// The version of the form; a reader refuses a newer one.
pub const VERSION: u32 = 2;

/// The file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// [`VERSION`].
    pub version: u32,
    /// What the runs were for: a scenario, the name of a suite.
    pub title: String,
    /// When the first run began, in UTC: `2026-11-21T22:00:00Z`.
    pub started: String,
    /// The machine that the generator, and mostly the provider too, ran on.
    pub machine: Machine,
    /// The provider under load.
    pub provider: Provider,
    /// What it ran with, as far as that is known: its limits, its store, its settings, and what was planted in it, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Whether the report is to stand beside those of December 2025, whatever was run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub december_2025: bool,
    /// Why there is less than was asked for; a complete file has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<String>,
    /// The runs, in their order.
    pub runs: Vec<Run>,
    /// What a search for the limit found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacities: Vec<Capacity>,
}

impl Results {
    /// Whether the report stands beside those of December 2025: their own suite, or who asks for it.
    pub fn is_beside_december_2025(&self) -> bool {
        self.december_2025 || self.title.split('/').next() == Some("december-2025")
    }

    /// Why the last run was ended, where a rule did that.
    pub fn aborted(&self) -> Option<String> {
        let run = self.runs.last()?;
        Some(format!("{}: {}", run.name, run.aborted.as_ref()?))
    }

    /// Whether everything was run and every threshold held. Tries of a search may fail; the search must have found a
    /// limit, and it must be the provider's.
    pub fn passed(&self) -> bool {
        self.partial.is_none()
            && !self.runs.is_empty()
            && self.runs.iter().all(|run| run.probe || run.passed())
            && self.capacities.iter().all(Capacity::is_claimed)
    }
}

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub processor: String,
    /// Cores that may be used.
    pub cores: usize,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// The operating system.
    pub system: String,
}

/// A provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provider {
    /// Its issuer.
    pub issuer: String,
    /// Its name and version where it says so.
    pub software: Option<String>,
    /// What it signs with.
    pub algorithm: Option<String>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use crate::report::sample;

    /// Members whose names are data: kinds, caches, algorithms.
    const MAPS: [&str; 11] = [
        "store_mib",
        "sent_as",
        "left_out",
        "environment",
        "failure_kinds",
        "wrong_kinds",
        "unasked_kinds",
        "besides_kinds",
        "examples",
        "caches",
        "signatures",
    ];

    fn members(value: &Value, into: &mut BTreeSet<String>) {
        match value {
            Value::Array(list) => list.iter().for_each(|one| members(one, into)),
            Value::Object(object) => {
                for (name, value) in object {
                    into.insert(name.clone());
                    if !MAPS.contains(&name.as_str()) {
                        members(value, into);
                    }
                }
            }
            _ => {}
        }
    }

    #[test]
    fn the_reference_names_every_member() {
        let mut results = sample::full();
        results.partial = Some("interrupted".into());
        results.capacities = vec![sample::capacity()];
        let mut names = BTreeSet::new();
        members(&serde_json::to_value(&results).unwrap(), &mut names);
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/results-file.md");
        let reference = std::fs::read_to_string(path).unwrap();
        for name in &names {
            assert!(
                reference.contains(&format!("`{name}`")),
                "{name} is not in docs/reference/results-file.md"
            );
        }
        assert!(names.len() > 60, "{names:?}");
    }
}
