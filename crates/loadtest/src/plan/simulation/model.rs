//! A deployment as stations: nodes, primaries of Redis, and the commits of PostgreSQL.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::engine::{Engine, Service, Step};
use crate::LoadtestError;
use crate::plan::{Costs, Deployment, Hardware, OperationCost};
use crate::scenario::{Picker, Scenario};

/// Batches that a node has under way at a time, as the store has lanes for rotations.
const LANES: usize = 2;

/// No work holds a core for longer, in s: the system shares it out.
const TIME_SLICE: f64 = 0.001;

/// Requests at the beginning that do not count, as a part: everything begins empty.
const WARM_UP: f64 = 0.1;

/// Fewer answers of a kind than this say nothing of their tail.
const FEWEST: usize = 200;

/// What is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Nothing.
    Nothing,
    /// One node.
    Node,
    /// One zone; of Redis and PostgreSQL as many serve as before, the others having taken over.
    Zone,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Nothing => "nothing lost",
            Self::Node => "one node lost",
            Self::Zone => "one zone lost",
        })
    }
}

/// How to simulate.
#[derive(Clone, Copy, Debug)]
pub struct SimulationOptions {
    /// The same seed is the same run.
    pub seed: usize,
    /// Requests, in all.
    pub requests: usize,
    /// What is gone.
    pub loss: Loss,
}

/// Latencies of one kind of request, in ms; the way of the user to the node not included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// What half of the answers did not exceed.
    pub p50_ms: f64,
    /// What 99 % of them did not exceed.
    pub p99_ms: f64,
}

/// What a simulation gave.
#[derive(Clone, Debug, Serialize)]
pub struct Outlook {
    /// What was gone.
    pub loss: Loss,
    /// The part of the nodes' cores that is busy.
    pub node_utilisation: f64,
    /// Latencies at the peak, where enough came.
    pub latencies: BTreeMap<Scenario, Latency>,
}

/// Markdown.
impl fmt::Display for Outlook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: nodes {:.0} % busy\n", self.loss, self.node_utilisation * 100.0)?;
        writeln!(f, "| | P50 ms | P99 ms |\n|---|---|---|")?;
        for (scenario, Latency { p50_ms, p99_ms }) in &self.latencies {
            writeln!(f, "| {scenario} | {p50_ms:.1} | {p99_ms:.1} |")?;
        }
        Ok(())
    }
}

/// The stations, and what goes through them.
struct Model<'a> {
    engine: Engine,
    hardware: &'a Hardware,
    nodes: usize,
    /// The first `nodes` stations are nodes; primaries follow.
    primaries: f64,
    skew: f64,
    rate: f64,
}

/// Simulates the peak. Of a deployment that would answer all the requests in less than a second, a smaller one with as
/// much load on each machine.
///
/// # Errors
/// [`LoadtestError::Options`]: there is nothing to ask, or more than can be answered.
pub fn simulate(
    deployment: &Deployment,
    costs: &Costs,
    options: &SimulationOptions,
) -> Result<Outlook, LoadtestError> {
    let rate: f64 = deployment.rates.values().sum();
    if rate <= 0.0 || options.requests == 0 {
        return Err(LoadtestError::Options("nothing to simulate: no requests".into()));
    }
    let hardware = &deployment.hardware;
    let left = match options.loss {
        Loss::Nothing => deployment.nodes.count,
        Loss::Node => deployment.nodes.count.saturating_sub(1).max(1),
        Loss::Zone => deployment.nodes_left(),
    };
    let node_utilisation = deployment.nodes.busy_cores / (f64::from(left) * hardware.node_cores);
    if node_utilisation >= 1.0 {
        return Err(LoadtestError::Options(format!("{}: the nodes cannot answer all", options.loss)));
    }
    let operations: Vec<(Scenario, f64, &OperationCost)> = deployment
        .rates
        .iter()
        .map(|(scenario, rate)| Ok((*scenario, *rate, costs.of(*scenario)?)))
        .collect::<Result<_, LoadtestError>>()?;
    let mut model = Model::of(deployment, &operations, (f64::from(left), rate), options);
    let latencies = model.run(&operations, options.requests);
    Ok(Outlook { loss: options.loss, node_utilisation, latencies })
}

impl<'a> Model<'a> {
    fn of(
        deployment: &'a Deployment,
        operations: &[(Scenario, f64, &OperationCost)],
        (left, rate): (f64, f64),
        options: &SimulationOptions,
    ) -> Self {
        let hardware = &deployment.hardware;
        let nodes = (left * (options.requests as f64 / rate).min(1.0)).round().max(1.0);
        let part = nodes / left;
        let primaries = f64::from(deployment.redis.primaries) * part;
        let mut engine = Engine::new(Service::Exponential, Picker::new(options.seed));
        for _ in 0..nodes as usize {
            engine.station(hardware.node_cores.round() as usize);
        }
        for _ in 0..primaries.ceil() as usize {
            engine.station(1);
        }
        let durable = operations.iter().filter(|(_, _, cost)| cost.is_durable());
        let (rows, us) = durable
            .fold((0.0, 0.0), |(rows, us), (_, rate, cost)| (rows + rate, us + rate * cost.postgres_us));
        for _ in 0..nodes as usize * LANES {
            engine.committer(hardware.commit_ms / 1e3, if rows > 0.0 { us / rows / 1e6 } else { 0.0 });
        }
        let skew = deployment.redis.skew.min(primaries.max(1.0));
        Self { engine, hardware, nodes: nodes as usize, primaries, skew, rate: rate * part }
    }

    fn run(
        &mut self,
        operations: &[(Scenario, f64, &OperationCost)],
        requests: usize,
    ) -> BTreeMap<Scenario, Latency> {
        let mut seen = 0;
        let warm = (requests as f64 * WARM_UP) as usize;
        let mut answered: Vec<Vec<f64>> = vec![Vec::new(); operations.len()];
        let whole: f64 = operations.iter().map(|(_, rate, _)| rate).sum();
        let route =
            Route { hardware: self.hardware, nodes: self.nodes, primaries: self.primaries, skew: self.skew };
        self.engine.run(
            (self.rate, requests),
            |random| {
                let mut at = random.fraction() * whole;
                let class = operations.iter().position(|(_, rate, _)| {
                    at -= rate;
                    at < 0.0
                });
                let class = class.unwrap_or(0);
                let steps = operations.get(class).map(|(_, _, cost)| route.steps(cost, random));
                (class, steps.unwrap_or_default())
            },
            |class, latency| {
                seen += 1;
                if let (true, Some(answered)) = (seen > warm, answered.get_mut(class)) {
                    answered.push(latency * 1e3);
                }
            },
        );
        let kinds = operations.iter().zip(answered);
        kinds.filter_map(|((scenario, ..), latencies)| Some((*scenario, percentiles(latencies)?))).collect()
    }
}

fn percentiles(mut latencies: Vec<f64>) -> Option<Latency> {
    latencies.sort_by(f64::total_cmp);
    let at = |part: f64| latencies.get((latencies.len() as f64 * part) as usize).copied();
    let enough = latencies.len() >= FEWEST;
    enough.then(|| Some(Latency { p50_ms: at(0.5)?, p99_ms: at(0.99)? })).flatten()
}

/// The way of a request through the stations.
struct Route<'a> {
    hardware: &'a Hardware,
    nodes: usize,
    primaries: f64,
    skew: f64,
}

impl Route<'_> {
    /// Half of the node's work, Redis, the commit, the other half.
    fn steps(&self, cost: &OperationCost, random: &mut Picker) -> Vec<Step> {
        let node = random.index(self.nodes);
        let way = self.hardware.round_trip_ms / 1e3;
        let mut steps = Vec::new();
        work(&mut steps, node, cost.node_us / 2e6);
        let trips = cost.redis_trips.round();
        for _ in 0..trips as usize {
            let station = self.nodes + self.primary(random.fraction());
            steps.push(Step::Wait(way));
            work(&mut steps, station, cost.redis_primary_us / trips / 1e6);
        }
        if cost.is_durable() {
            steps.push(Step::Wait(way));
            steps.push(Step::Commit { committer: node * LANES + random.index(LANES) });
        }
        work(&mut steps, node, cost.node_us / 2e6);
        steps
    }

    /// The first primary is the fullest; the last may be there in part only.
    fn primary(&self, fraction: f64) -> usize {
        let at = fraction * self.primaries;
        let others = (self.primaries - self.skew).max(0.0);
        if at < self.skew || others <= 0.0 {
            return 0;
        }
        1 + ((at - self.skew) / others * (self.primaries - 1.0)) as usize
    }
}

/// In pieces that others can come between.
fn work(steps: &mut Vec<Step>, station: usize, mean: f64) {
    let pieces = (mean / TIME_SLICE).ceil().max(1.0);
    steps.extend((0..pieces as usize).map(|_| Step::Work { station, mean: mean / pieces }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Preset, Workload};

    fn outlook(workload: &Workload, hardware: &Hardware, loss: Loss) -> Outlook {
        let costs = Costs::built_in().unwrap();
        let deployment = Deployment::of(&costs, workload, hardware).unwrap();
        simulate(&deployment, &costs, &SimulationOptions { seed: 1, requests: 30_000, loss }).unwrap()
    }

    #[test]
    fn what_is_planned_for_a_loss_answers_with_it() {
        for preset in Preset::ALL {
            for users in [1e4, 1e8] {
                let of = |loss| outlook(&preset.workload(users), &Hardware::default(), loss);
                let (whole, zone) = (of(Loss::Nothing), of(Loss::Zone));
                assert!(whole.node_utilisation < zone.node_utilisation, "{preset:?} {users}");
                assert!(zone.node_utilisation <= Hardware::default().utilisation, "{preset:?} {users}");
                for (scenario, latency) in &zone.latencies {
                    // A login hashes a password; everything else is a matter of a few round trips.
                    let most = if *scenario == Scenario::Login { 1_000.0 } else { 25.0 };
                    assert!(
                        latency.p50_ms > 0.0 && latency.p50_ms <= latency.p99_ms,
                        "{preset:?} {scenario}"
                    );
                    assert!(latency.p99_ms < most, "{preset:?} {users} {scenario}: {latency:?}");
                }
            }
        }
    }

    #[test]
    fn more_load_on_as_many_machines_waits_longer() {
        let costs = Costs::built_in().unwrap();
        let workload = Preset::ApiHeavy.workload(2e6);
        let planned = Deployment::of(&costs, &workload, &Hardware::default()).unwrap();
        let p99 = |times: f64| {
            let mut loaded = planned.clone();
            loaded.rates.values_mut().for_each(|rate| *rate *= times);
            loaded.nodes.busy_cores *= times;
            let options = SimulationOptions { seed: 1, requests: 60_000, loss: Loss::Nothing };
            simulate(&loaded, &costs, &options).unwrap().latencies[&Scenario::Introspect].p99_ms
        };
        let most = 0.97 / (planned.nodes.busy_cores / (f64::from(planned.nodes.count) * 4.0));
        assert!(p99(1.0) < p99(most), "{} and {}", p99(1.0), p99(most));
        let mut beyond = planned.clone();
        beyond.nodes.busy_cores *= 2.0 * most;
        let options = SimulationOptions { seed: 1, requests: 10, loss: Loss::Nothing };
        assert!(simulate(&beyond, &costs, &options).is_err());
    }
}
