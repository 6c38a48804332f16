//! Who sends the requests of a load: this process, or agents.

use std::sync::Arc;
use std::time::Duration;

use super::plan::{Plan, Traffic};
use super::relay;
use super::watch::Watchers;
use crate::LoadtestError;
use crate::agents::{Agents, Begun, Gathered, Whereto};
use crate::executor::{Closed, Journeys, Load, Open, OpenOutcome, Until, mixture, open, saturate};
use crate::results::{AgentShare, Run};
use crate::scenario::Visitor;
use crate::seed::{Family, Seed};
use crate::tally::Lately;

/// Who sends the requests.
pub(super) enum Generators<'a> {
    /// This process.
    Own,
    /// Agents, to a provider that is there.
    Agents(&'a mut Agents, Whereto),
}

/// A load that is ready to run in this process, or has just begun at the agents.
pub(super) enum Prepared {
    Own(Asking),
    Agents(Box<Begun>),
}

/// Who asks, in this process.
pub(super) struct Asking {
    visitors: Vec<Box<dyn Visitor>>,
    /// The names of what a mixture deals out, and who begins its journeys.
    kinds: Vec<&'static str>,
    journeys: Arc<dyn Journeys>,
}

/// What came of a load.
pub(super) struct Loaded {
    pub(super) outcome: OpenOutcome,
    /// The refresh-token families that came out of it.
    pub(super) families: Vec<Family>,
    agents: Vec<AgentShare>,
    /// Threads of all generators.
    pub(super) threads: usize,
    limit: Option<String>,
}

impl Generators<'_> {
    /// Prepares a load. Agents have begun with it when this returns.
    ///
    /// # Errors
    /// The seed or the target lacks something; an agent cannot run its part.
    pub(super) async fn prepare(
        &mut self,
        plan: &Plan,
        seed: &Arc<Seed>,
        load: &Load,
        watchers: &mut Watchers<'_>,
    ) -> Result<Prepared, LoadtestError> {
        Ok(match self {
            Self::Own => Prepared::Own(Asking {
                visitors: plan.work.visitors(seed, plan.connections)?,
                kinds: plan.work.kinds(),
                journeys: plan.work.journeys(seed)?,
            }),
            Self::Agents(agents, whereto) => {
                Prepared::Agents(Box::new(agents.begin(plan, (seed, whereto), load, watchers).await?))
            }
        })
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// It cannot begin; the CPU time of the provider cannot be read.
    pub(super) async fn run(
        &mut self,
        prepared: Prepared,
        plan: &Plan,
        load: Load,
        watchers: &mut Watchers<'_>,
    ) -> Result<Loaded, LoadtestError> {
        match (self, prepared) {
            (Self::Agents(agents, _), Prepared::Agents(begun)) => {
                let gathered = agents.gather(*begun, plan, &load, watchers).await?;
                let Gathered { outcome, families, agents, threads, limit } = gathered;
                Ok(Loaded { outcome, families, agents, threads, limit })
            }
            (_, Prepared::Own(asking)) => {
                let threads = load.threads;
                let mut outcome = load_on_a_thread(load, plan.traffic.clone(), asking, watchers).await?;
                let visitors = outcome.outcome.visitors.drain(..);
                let families = visitors.flat_map(|mut visitor| visitor.give_back()).collect();
                Ok(Loaded { outcome, families, agents: Vec::new(), threads, limit: None })
            }
            (Self::Own, Prepared::Agents(_)) => Err(LoadtestError::Interrupted),
        }
    }

    /// Whether the machine of this process is that of the generator.
    pub(super) const fn are_here(&self) -> bool {
        matches!(self, Self::Own)
    }
}

impl Loaded {
    /// Puts the agents' parts into the results.
    pub(super) fn tell_agents(self, run: &mut Run) {
        run.generator_limit = run.generator_limit.take().or_else(|| self.limit.clone());
        run.limit_besides_connections = run.limit_besides_connections.take().or(self.limit);
        run.arrivals_lost = self.agents.iter().map(|agent| agent.arrivals_lost).sum();
        run.agents = self.agents;
    }
}

/// Runs the executor on a thread of its own, so that signals are heard meanwhile.
async fn load_on_a_thread(
    load: Load,
    traffic: Traffic,
    Asking { visitors, kinds, journeys }: Asking,
    watchers: &mut Watchers<'_>,
) -> Result<OpenOutcome, LoadtestError> {
    let (told, mut seconds) = relay::seconds();
    let loading = tokio::task::spawn_blocking(move || {
        let mut told = told;
        let on_second = &mut |now: Duration, lately: &Lately| told.tell(now, lately);
        let loaded = match traffic {
            Traffic::Mixture(plan) => mixture(&load, &plan, (visitors, kinds), journeys, on_second),
            Traffic::Open(schedule) => open(&Open { load, schedule }, visitors, on_second),
            Traffic::Closed(duration) => {
                let connections = (visitors.len(), load.connections(visitors.len()));
                saturate(&Closed { load, until: Until::Elapsed(duration) }, visitors, on_second)
                    .and_then(|outcome| OpenOutcome::closed(outcome, connections))
            }
        };
        told.end();
        loaded
    });
    while let Some((now, lately)) = seconds.recv().await {
        watchers.second(now, &lately).await?;
    }
    loading.await.map_err(|_| LoadtestError::Interrupted)?
}
