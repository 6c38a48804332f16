//! What coordinator and agents say to each other.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::LoadtestError;
use crate::executor::{Connections, Counted, CountedSecond, Schedule, Stage};
use crate::run::Traffic;
use crate::scenario::Scenario;
use crate::seed::{Code, Family};
use crate::tally::{GeneratorNow, Tally, TallyParts};

/// The version of all of this. Both sides must have the same.
pub(super) const PROTOCOL: u32 = 2;

/// This program's version, to be told.
pub(super) const SOFTWARE: &str = env!("CARGO_PKG_VERSION");

/// The first message, the coordinator's. Its form is the same in every version of the protocol.
#[derive(Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) protocol: u32,
    pub(super) software: String,
    /// In Base64 for URLs.
    pub(super) proof: String,
}

/// The agent's answer to it.
#[derive(Serialize, Deserialize)]
pub(super) enum Answer {
    /// The agent's own proof.
    Welcome { proof: String },
    /// It speaks another version.
    OtherProtocol { protocol: u32, software: String },
    /// The proof is not of its secret.
    WrongSecret,
    /// Another coordinator has it.
    Busy { with: String },
}

/// What a coordinator says to an agent.
#[derive(Serialize, Deserialize)]
pub(super) enum ToAgent {
    /// It is still there.
    Alive,
    /// What the agent's clocks say; the number comes back.
    Clock(u32),
    /// Its part of a load: it is to open its first connections.
    Prepare(Box<Job>),
    /// The load begins when the agent's own clock ([`Clocks::monotonic`]) says so.
    Begin(Duration),
    /// The load ends early.
    Stop,
    /// There is nothing more to do.
    Goodbye,
}

/// What an agent says to its coordinator.
#[derive(Serialize, Deserialize)]
pub(super) enum ToCoordinator {
    /// It is still there.
    Alive,
    /// The clocks when a question came in and when the answer went out.
    Clock { number: u32, received: Clocks, sent: Clocks },
    /// Its first connections are open.
    Ready,
    /// Its part of the load cannot be run.
    Failed(String),
    /// What it counted since the last second.
    Second(Box<Second>),
    /// What it counted since then, and what came of all of it.
    Done(Box<Done>),
}

/// A reading of a machine's clocks.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Clocks {
    /// Since the agent's start.
    pub(super) monotonic: Duration,
    /// Since 1970.
    pub(super) wall: Duration,
}

/// An agent's part of a load.
#[derive(Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) scenario: Scenario,
    /// The target's nodes, and the issuer that they must announce.
    pub(super) urls: Vec<String>,
    pub(super) issuer: String,
    /// Requests in flight on a connection of HTTP/2; none asks by HTTP/1.1.
    pub(super) http2_streams: Option<usize>,
    /// Its part of the seed, as in a seed file, and of the codes.
    pub(super) seed: Box<RawValue>,
    pub(super) codes: Vec<Code>,
    pub(super) traffic: TrafficParts,
    /// Which of the agents it is, from 0, and how many there are.
    pub(super) turn: usize,
    pub(super) of: usize,
    pub(super) warm_up: Duration,
    pub(super) connections: usize,
    pub(super) threads: usize,
    pub(super) timeout: Duration,
}

/// When requests are sent. Rates are told by their bits: two schedules that differ in the last digit are not the same.
#[derive(Serialize, Deserialize)]
pub(super) enum TrafficParts {
    /// Stages from a rate to a rate.
    Open(Vec<(u64, u64, Duration)>),
    Closed(Duration),
}

impl TrafficParts {
    /// What is told of it.
    ///
    /// # Errors
    /// [`LoadtestError::Options`] for a mixture, of which agents cannot have parts.
    pub(super) fn of(traffic: &Traffic) -> Result<Self, LoadtestError> {
        Ok(match traffic {
            Traffic::Open(schedule) => Self::Open(
                schedule.stages().map(|of| (of.from.to_bits(), of.to.to_bits(), of.duration)).collect(),
            ),
            Traffic::Closed(duration) => Self::Closed(*duration),
            Traffic::Mixture(_) => return Err(mixture()),
        })
    }

    pub(super) fn traffic(&self) -> Result<Traffic, LoadtestError> {
        Ok(match self {
            Self::Open(stages) => {
                let stage = |(from, to, duration): &(u64, u64, Duration)| Stage {
                    from: f64::from_bits(*from),
                    to: f64::from_bits(*to),
                    duration: *duration,
                };
                Traffic::Open(Schedule::new(&stages.iter().map(stage).collect::<Vec<_>>())?)
            }
            Self::Closed(duration) => Traffic::Closed(*duration),
        })
    }
}

/// Agents share one scenario: a mixture's arrivals and journeys are those of one generator.
pub(super) fn mixture() -> LoadtestError {
    LoadtestError::Options("agents cannot share a mixture of scenarios; run it without agents".into())
}

/// What was counted in a second.
#[derive(Serialize, Deserialize)]
pub(super) struct Second {
    /// After the start.
    pub(super) at: Duration,
    pub(super) phases: Vec<TallyParts>,
    /// Right answers that came too late for the rate, from the start to now.
    pub(super) late: u64,
    /// What the agent was doing at its end.
    #[serde(default)]
    pub(super) generator: GeneratorNow,
}

impl From<CountedSecond> for Second {
    fn from(CountedSecond { at, phases, late, generator }: CountedSecond) -> Self {
        Self { at, phases: phases.iter().map(TallyParts::from).collect(), late, generator }
    }
}

impl TryFrom<Second> for CountedSecond {
    type Error = LoadtestError;

    fn try_from(Second { at, phases, late, generator }: Second) -> Result<Self, Self::Error> {
        Ok(Self { at, phases: tallies(phases)?, late, generator })
    }
}

/// What came of an agent's part of a load.
#[derive(Serialize, Deserialize)]
pub(super) struct Done {
    /// When its last answer was there, after the start.
    pub(super) took: Duration,
    /// How late it began.
    pub(super) began_late: Duration,
    /// What was counted after the last second that was told.
    phases: Vec<TallyParts>,
    late: u64,
    cpu: Duration,
    worst_lag: Duration,
    connections: Connections,
    /// Of a closed load, which has no phase for it.
    warm_up: TallyParts,
    /// The refresh-token families with their newest tokens.
    pub(super) families: Vec<Family>,
}

impl Done {
    pub(super) fn new(
        counted: &Counted,
        families: Vec<Family>,
        (took, began_late): (Duration, Duration),
    ) -> Self {
        Self {
            took,
            began_late,
            phases: counted.phases.iter().map(TallyParts::from).collect(),
            late: counted.late,
            cpu: counted.cpu,
            worst_lag: counted.worst_lag,
            connections: counted.connections.clone(),
            warm_up: TallyParts::from(&counted.warm_up),
            families,
        }
    }

    /// What was counted since the last second. The late answers are those of the whole run.
    pub(super) fn counted(self) -> Result<Counted, LoadtestError> {
        Ok(Counted {
            phases: tallies(self.phases)?,
            late: self.late,
            cpu: self.cpu,
            worst_lag: self.worst_lag,
            connections: self.connections,
            warm_up: self.warm_up.tally()?,
        })
    }
}

fn tallies(parts: Vec<TallyParts>) -> Result<Vec<Tally>, LoadtestError> {
    parts.into_iter().map(TallyParts::tally).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite;

    #[test]
    fn a_schedule_comes_as_it_was_sent() {
        let traffic = suite::plateau(1.0 / 3.0, Duration::from_secs(7), Duration::from_millis(333)).unwrap();
        let text = serde_json::to_string(&TrafficParts::of(&traffic).unwrap()).unwrap();
        let came = serde_json::from_str::<TrafficParts>(&text).unwrap().traffic().unwrap();
        let stages = |traffic: &Traffic| match traffic {
            Traffic::Open(schedule) => schedule.stages().collect(),
            Traffic::Closed(_) | Traffic::Mixture(_) => Vec::new(),
        };
        assert_eq!(stages(&came), stages(&traffic));
        assert!(serde_json::from_str::<TrafficParts>(r#"{"Open":[]}"#).unwrap().traffic().is_err());
    }
}
