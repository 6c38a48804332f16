//! Presets: the loads of the December 2025 reports, rate by rate.

use std::time::Duration;

use crate::LoadtestError;
use crate::executor::{Schedule, Stage};
use crate::report::reference::Reference;
use crate::run::{Group, Plan, Traffic};
use crate::scenario::Scenario;

/// How long each load of a suite is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// As in the reports: three minutes and ramps of a quarter, two minutes for codes and refresh tokens.
    Reports,
    /// Seconds: enough for every verdict, and for a figure.
    Short,
}

/// Connections for any rate: requests in flight while a provider stalls for a tenth of a second at the highest.
const CONNECTIONS: usize = 256;

/// What the reports did not load, at rates that a small machine bears. Logins here are by password, whose hash takes
/// tens of milliseconds on purpose; the reports' were by e-mail code.
const BESIDES: [(Scenario, f64); 3] =
    [(Scenario::ClientCredentials, 1_000.0), (Scenario::Discovery, 2_000.0), (Scenario::Login, 10.0)];

/// Every rate of the December 2025 reports at its number of shards, a provider for each scenario and number of shards.
///
/// # Errors
/// [`LoadtestError::Options`], only if the reference's figures made no schedule.
pub fn december_2025(length: Length, threads: usize) -> Result<Vec<Group>, LoadtestError> {
    let broken = || LoadtestError::Options("the reference figures cannot be read".into());
    let reference = Reference::december_2025().ok_or_else(broken)?;
    let mut groups: Vec<Group> = Vec::new();
    for scenario in Scenario::ALL {
        let mut shards: Vec<_> = reference.rows(scenario.name()).iter().map(|row| row.shards).collect();
        shards.dedup();
        for shards in shards {
            let rows = reference.rows(scenario.name()).iter().filter(|row| row.shards == shards);
            let mut rates: Vec<f64> = rows.map(|row| row.rate).collect();
            rates.dedup();
            let plan = |rate| plan(scenario, rate, length, threads);
            groups.push(Group { shards, plans: rates.into_iter().map(plan).collect::<Result<_, _>>()? });
        }
    }
    let besides = BESIDES.into_iter().map(|(scenario, rate)| plan(scenario, rate, length, threads));
    groups.push(Group { shards: None, plans: besides.collect::<Result<_, _>>()? });
    Ok(groups)
}

fn plan(scenario: Scenario, rate: f64, length: Length, threads: usize) -> Result<Plan, LoadtestError> {
    let (ramp, plateau) = match (length, scenario) {
        (Length::Short, _) => (1, 6),
        (Length::Reports, Scenario::Code) => (0, 120),
        (Length::Reports, Scenario::Refresh) => (10, 120),
        (Length::Reports, _) => (15, 180),
    };
    let (ramp, plateau) = (Duration::from_secs(ramp), Duration::from_secs(plateau));
    let schedule = Schedule::new(&[
        Stage { from: rate / 2.0, to: rate, duration: ramp },
        Stage::constant(rate, plateau),
        Stage { from: rate, to: 0.0, duration: ramp },
    ])?;
    let warm_up = Duration::from_secs(if length == Length::Short { 1 } else { 5 });
    Ok(Plan { warm_up, connections: CONNECTIONS, threads, ..Plan::new(scenario, Traffic::Open(schedule)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_has_every_rate_of_the_reports_and_every_scenario() {
        let groups = december_2025(Length::Short, 1).unwrap();
        let rates = |scenario: Scenario, shards: Option<u32>| -> Vec<u32> {
            let of = groups.iter().filter(|group| group.shards == shards).flat_map(|group| &group.plans);
            of.filter(|plan| plan.scenario == scenario)
                .map(|plan| plan.traffic.rate().unwrap_or(0.0) as u32)
                .collect()
        };
        assert_eq!(rates(Scenario::Silent, Some(64)), [500, 1000, 1500, 2000, 2500, 3000, 3500, 4000]);
        assert_eq!(rates(Scenario::Silent, Some(128)), [4000, 4500]);
        assert_eq!(rates(Scenario::Refresh, Some(48)), [3000, 4000]);
        assert_eq!(rates(Scenario::Introspect, Some(32)), [500, 750]);
        assert_eq!(rates(Scenario::Code, Some(128)), [50, 100, 200, 300]);
        for scenario in Scenario::ALL {
            assert!(
                groups.iter().flat_map(|group| &group.plans).any(|plan| plan.scenario == scenario),
                "{scenario}"
            );
        }
        // The short form stays far below ten minutes of load.
        let whole = |plan: &Plan| plan.traffic.duration() + plan.warm_up;
        let short: Duration = groups.iter().flat_map(|group| &group.plans).map(whole).sum();
        assert!(short < Duration::from_secs(6 * 60), "{short:?}");
    }
}
