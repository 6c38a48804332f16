//! The parts of a run that several generators had.

use serde::{Deserialize, Serialize};

use super::Run;

/// One of several generators of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentShare {
    /// Where it listens.
    pub address: String,
    /// How far its wall clock was ahead of the coordinator's, in milliseconds; behind where negative.
    pub clock_offset_ms: f64,
    /// How far off that may be, and so may the moment at which it began: half of the shortest round trip, and what the two
    /// clocks went apart by during the run.
    pub clock_doubt_ms: f64,
    /// The shortest round trip, in milliseconds.
    pub round_trip_ms: f64,
    /// How late it began; unknown where it was lost, like the next three.
    pub began_late_ms: Option<f64>,
    /// CPU time of its threads over the whole run.
    pub cpu_seconds: Option<f64>,
    /// How late it let an arrival go, at worst.
    pub worst_lag_ms: Option<f64>,
    /// The arrivals of the plateau that were its own; 0 in a closed run.
    pub arrivals: u64,
    /// The answers to them, right or wrong.
    pub answered: u64,
    /// Of its arrivals, those of which it never told what became of them.
    pub arrivals_lost: u64,
    /// When it was lost, after the start, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_after_seconds: Option<f64>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_because: Option<String>,
}

impl AgentShare {
    /// What became of it.
    pub fn fate(&self) -> String {
        match (&self.lost_because, self.lost_after_seconds) {
            (None, _) => "ended".into(),
            (Some(reason), Some(after)) => format!("lost after {after:.1} s: {reason}"),
            (Some(reason), None) => reason.clone(),
        }
    }
}

impl Run {
    /// Which agents were lost, and what is missing with them; none where all of them reached the end.
    pub fn loss(&self) -> Option<String> {
        let lost: Vec<_> = self
            .agents
            .iter()
            .filter(|agent| agent.lost_because.is_some())
            .map(|agent| format!("agent {} {}", agent.address, agent.fate()))
            .collect();
        if lost.is_empty() {
            return None;
        }
        let arrivals: u64 = self.agents.iter().map(|agent| agent.arrivals).sum();
        let missing = if arrivals > 0 {
            let percent = 100.0 * self.arrivals_lost as f64 / arrivals as f64;
            format!("what became of {percent:.1} % of the arrivals is not known")
        } else {
            "what it sent afterwards is not known".to_owned()
        };
        Some(format!("{}; {missing}", lost.join(", ")))
    }
}
