//! What each agent gets of a load and of the seed.

use serde_json::value::RawValue;

use super::message::{Job, TrafficParts};
use crate::LoadtestError;
use crate::client::Protocol;
use crate::provider::Provider;
use crate::run::Plan;
use crate::scenario::Scenario;
use crate::seed::Seed;

/// Where the load goes.
pub(crate) struct Whereto {
    /// The target's nodes.
    pub(super) urls: Vec<String>,
    /// What is spoken there.
    pub(super) protocol: Protocol,
}

/// The parts of a plan for so many agents. The codes of the seed go to them.
///
/// # Errors
/// [`LoadtestError::Options`] where the plan cannot be shared out: its work is made of several scenarios, or the seed has
/// fewer refresh-token families than there are agents.
pub(super) fn deal(
    plan: &Plan,
    seed: &Seed,
    whereto: &Whereto,
    agents: usize,
) -> Result<Vec<Job>, LoadtestError> {
    let scenario = scenario(plan)?;
    if plan.work.rotates_families() && seed.families.len() < agents {
        let families = seed.families.len();
        return Err(LoadtestError::Options(format!(
            "{agents} agents need a refresh-token family each, and the seed has {families}; seed again"
        )));
    }
    let mut jobs = Vec::new();
    for turn in 0..agents {
        let damaged = |error: serde_json::Error| LoadtestError::Options(error.to_string());
        let part = RawValue::from_string(seed.part(turn, agents).map_err(damaged)?).map_err(damaged)?;
        jobs.push(Job {
            scenario,
            urls: whereto.urls.clone(),
            issuer: seed.target.issuer.clone(),
            http2_streams: match whereto.protocol {
                Protocol::Http1 => None,
                Protocol::Http2 { streams } => Some(streams),
            },
            seed: part,
            codes: Vec::new(),
            traffic: TrafficParts::of(&plan.traffic)?,
            turn,
            of: agents,
            warm_up: plan.warm_up,
            connections: share(plan.connections, turn, agents),
            threads: share(plan.threads, turn, agents),
            timeout: plan.timeout,
        });
    }
    // As arrivals are: code i is redeemed by agent i mod n.
    let mut next = 0;
    while let Some(code) = seed.codes.take() {
        if let Some(job) = jobs.get_mut(next % agents.max(1)) {
            job.codes.push(code);
        }
        next += 1;
    }
    Ok(jobs)
}

/// What agents are to ask.
///
/// # Errors
/// [`LoadtestError::Options`] where it is no built-in scenario, or one that needs the admin secret.
pub(crate) fn scenario(plan: &Plan) -> Result<Scenario, LoadtestError> {
    let refused = |why: &str| {
        Err(LoadtestError::Options(format!(
            "{} cannot be run by agents, who {why}: leave --agents out",
            plan.work.name()
        )))
    };
    match plan.work.scenario() {
        Some(Scenario::LoginEmailCode) => refused("get no admin secret to read codes with"),
        Some(scenario) => Ok(scenario),
        None => refused("run the scenarios that are built in"),
    }
}

/// The part of a number that goes to one of several; one at least.
pub(super) fn share(number: usize, turn: usize, of: usize) -> usize {
    let of = of.max(1);
    (number / of + usize::from(turn < number % of)).max(1)
}

impl Whereto {
    /// A provider that is there.
    pub(crate) fn of(provider: &Provider) -> Self {
        let urls = std::iter::once(&provider.url).chain(&provider.others).cloned().collect();
        Self { urls, protocol: provider.way.protocol }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::suite::Load;

    #[test]
    fn what_needs_the_admin_secret_is_not_for_agents() {
        let asked = |of: Scenario| {
            scenario(&Load::at(of, 10.0, Duration::from_secs(1)).plan().unwrap())
                .map_err(|error| error.to_string())
        };
        assert_eq!(asked(Scenario::LoginPasskey), Ok(Scenario::LoginPasskey));
        let told = asked(Scenario::LoginEmailCode).unwrap_err();
        assert_eq!(
            told,
            "login-email-code cannot be run by agents, who get no admin secret to read codes with: leave --agents out"
        );
    }

    #[test]
    fn shares_are_even_and_lose_nothing() {
        for (number, of) in [(64, 4), (10, 4), (7, 3), (1_024, 5)] {
            let shares: Vec<_> = (0..of).map(|turn| share(number, turn, of)).collect();
            assert_eq!(shares.iter().sum::<usize>(), number);
            assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1, "{shares:?}");
        }
        assert_eq!((0..4).map(|turn| share(1, turn, 4)).collect::<Vec<_>>(), [1; 4], "each has one at least");
    }
}
