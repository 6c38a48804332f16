//! Measures all inputs of the capacity model in one run.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use symbolon_loadtest::LoadtestError;
use symbolon_loadtest::plan::{self, Costs, OPERATIONS, OperationCost, Point, RotationCost};
use symbolon_loadtest::scenario::Scenario;
use symbolon_store_cluster::engines::Engines;

use super::{
    Background, Cell, CostOptions, CostReport, Figures, RotationOptions, footprint, measure, measure_rotation,
};

/// The scenarios with which the simulation is compared.
const POINTS: [Scenario; 3] = [Scenario::Silent, Scenario::Userinfo, Scenario::Introspect];

/// Commands that only scripts call, if the operation has a script.
const WITHIN_SCRIPTS: [&str; 4] = ["get", "set", "getrange", "setrange"];

/// How thoroughly to measure.
pub struct PlanningOptions {
    /// What is measured, and how; scenarios, nodes and rate are chosen here.
    pub cost: CostOptions,
    /// Requests per second of the points with which the simulation is compared.
    pub rate: f64,
    /// How many users, sessions, families and codes are created to measure their size.
    pub kept: usize,
    /// The options of the measurement of rotations.
    pub rotation: RotationOptions,
}

impl PlanningOptions {
    /// The values of the documentation: 5 rounds of 2 s, 20,000 users.
    pub fn new(cost: CostOptions) -> Self {
        let mut rotation = RotationOptions::new(&format!("{}_rotation", cost.name));
        (rotation.rounds, rotation.slice) = (cost.rounds, cost.slice);
        Self { cost, rate: 200.0, kept: 20_000, rotation }
    }
}

/// Measures the costs of every operation of a workload at one node, the size of state, and rotations. Returns the costs
/// and the reports behind them.
///
/// # Errors
/// As [`measure`], and [`LoadtestError::Options`] if an answer was wrong.
///
/// # Panics
/// If an engine does not answer.
pub fn measure_costs(
    engines: &Engines,
    mut options: PlanningOptions,
    progress: &mut (dyn Write + Send),
) -> Result<(Costs, [CostReport; 2]), LoadtestError> {
    let name = options.cost.name.clone();
    (options.cost.nodes, options.cost.rate) = (vec![1], None);
    options.cost.scenarios = OPERATIONS.to_vec();
    let saturated = right(measure(engines, &options.cost, progress)?)?;
    options.cost.name = format!("{name}_points");
    (options.cost.rate, options.cost.scenarios) = (Some(options.rate), POINTS.to_vec());
    let paced = right(measure(engines, &options.cost, progress)?)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let place = (options.cost.binary.as_path(), &*format!("{name}_kept"), options.kept);
    let footprint = footprint::measure((&runtime, &engines.postgres), place, progress)?;
    runtime.shutdown_timeout(Duration::from_secs(1));
    let rotation = measure_rotation(engines, &options.rotation)?;

    let mut costs = Costs::new(format!("{}, {}", saturated.machine, saturated.algorithm.as_str()));
    costs.operations = on_cluster(&saturated)
        .map(|cell| (cell.scenario, operation(&cell.figures, &saturated.background)))
        .collect();
    costs.background = plan::Background {
        node_us: rounded(saturated.background.node_us),
        postgres_us: rounded(saturated.background.postgres_us),
    };
    costs.footprint = plan::Footprint {
        session: rounded(footprint.session),
        code: rounded(footprint.code),
        tombstone: rounded(footprint.tombstone),
        tombstone_row: rounded(footprint.tombstone_row),
        user: rounded(footprint.user),
        family: rounded(footprint.family),
    };
    costs.rotation = RotationCost {
        batched_per_second: rounded(rotation.batched.per_second),
        single_per_second: rounded(rotation.one_by_one.per_second),
    };
    costs.points = on_cluster(&paced).map(|cell| point(cell, options.rate, &paced.background)).collect();
    Ok((costs, [saturated, paced]))
}

fn right(report: CostReport) -> Result<CostReport, LoadtestError> {
    match &report.first_error {
        Some(first) => Err(LoadtestError::Options(format!("{} wrong answers: {first}", report.errors))),
        None => Ok(report),
    }
}

fn on_cluster(report: &CostReport) -> impl Iterator<Item = &Cell> {
    report.cells.iter().filter(|cell| cell.nodes.is_some())
}

/// The cost of an operation without the cost of idle nodes and engines, which is a large part of it at few requests.
fn operation(figures: &Figures, idle: &Background) -> OperationCost {
    let beyond = |us: f64, per_second: f64| rounded((us - per_second / figures.rate.max(1.0)).max(0.0));
    OperationCost {
        node_us: beyond(figures.node_us, idle.node_us),
        redis_primary_us: beyond(figures.redis_primary_us, idle.redis_primary_us),
        redis_replica_us: beyond(figures.redis_replica_us, idle.redis_replica_us),
        postgres_us: beyond(figures.postgres_us, idle.postgres_us),
        redis_trips: trips(&figures.commands),
        redis_bytes: rounded(figures.redis_bytes_in + figures.redis_bytes_out),
        http_bytes: rounded(figures.http_bytes),
        rows_written: rounded(figures.rows_written),
        wal_bytes: rounded(figures.wal_bytes),
    }
}

fn point(cell: &Cell, rate: f64, idle: &Background) -> Point {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Point {
        scenario: cell.scenario,
        rate,
        cores: cores as u32,
        cost: operation(&cell.figures, idle),
        p50_ms: (cell.figures.p50_ms * 1e3).round() / 1e3,
        p99_ms: (cell.figures.p99_ms * 1e3).round() / 1e3,
    }
}

/// The number of round trips to Redis that a node waits for: without the commands within its scripts, and with one WAIT
/// if the node shares a WAIT with other requests.
fn trips(commands: &BTreeMap<String, f64>) -> f64 {
    let scripts = commands.get("evalsha").is_some_and(|calls| *calls > 0.5);
    let waited = commands.iter().filter(|(name, _)| !(scripts && WITHIN_SCRIPTS.contains(&name.as_str())));
    waited
        .map(|(name, calls)| if name == "wait" && *calls > 0.01 { 1.0 } else { *calls })
        .sum::<f64>()
        .round()
}

fn rounded(figure: f64) -> f64 {
    (figure * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trips_are_what_a_node_waits_for() {
        let of = |commands: &[(&str, f64)]| {
            trips(&commands.iter().map(|(name, calls)| ((*name).to_owned(), *calls)).collect())
        };
        assert_eq!(of(&[("mget", 1.0), ("set", 1.0), ("zrange", 0.03)]), 2.0);
        assert_eq!(of(&[("evalsha", 1.0), ("get", 1.0), ("mget", 1.0), ("wait", 0.2)]), 3.0);
    }
}
