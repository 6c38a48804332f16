//! The simulation of what was measured.

use super::model::{Latency, Loss, SimulationOptions, simulate};
use crate::LoadtestError;
use crate::plan::{Costs, Deployment, Hardware, Point, Preset};

/// On one machine, in ms.
const LOOPBACK: f64 = 0.05;

/// What the simulation says of a point: one node and its engines on one machine.
///
/// # Errors
/// As [`simulate`].
pub fn at_point(costs: &Costs, point: &Point) -> Result<Latency, LoadtestError> {
    let mut costs = costs.clone();
    costs.operations.insert(point.scenario, point.cost);
    let hardware = Hardware {
        node_cores: f64::from(point.cores),
        round_trip_ms: LOOPBACK,
        survive_zone: false,
        ..Hardware::default()
    };
    let mut one = Deployment::of(&costs, &Preset::Consumer.workload(1.0), &hardware)?;
    one.rates = [(point.scenario, point.rate)].into();
    one.nodes.count = 1;
    one.nodes.busy_cores = point.rate * point.cost.node_us / 1e6;
    let options = SimulationOptions { seed: 1, requests: 20_000, loss: Loss::Nothing };
    let simulated = simulate(&one, &costs, &options)?;
    let latency = simulated.latencies.get(&point.scenario).copied();
    latency.ok_or_else(|| LoadtestError::Options(format!("{}: nothing came of it", point.scenario)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Within what a machine whose cores engines, node and generator share makes of it: the simulation knows of no
    /// scheduler, and of no generator.
    #[test]
    fn the_simulation_says_what_was_measured() {
        let costs = Costs::built_in().unwrap();
        assert!(!costs.points.is_empty());
        for point in &costs.points {
            let simulated = at_point(&costs, point).unwrap();
            let ratio = point.p50_ms / simulated.p50_ms;
            assert!((0.4..=2.5).contains(&ratio), "{}: {} ms, {simulated:?}", point.scenario, point.p50_ms);
        }
    }
}
