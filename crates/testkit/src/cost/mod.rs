//! What a request costs on the cluster store: on the nodes, on Redis and on PostgreSQL; compared with its cost on the
//! embedded store.
//!
//! Real engines, real nodes, one binary, one load generator. A round loads the embedded store and then the cluster at
//! every number of nodes with the same requests, one after the other, so that the compared figures were taken within
//! seconds. Rounds repeat, and medians count. `cargo run --profile dist -p symbolon-testkit --example measure_cluster`
//! runs it.

mod background;
mod claims;
mod figures;
mod footprint;
mod node;
mod planning;
mod reading;
mod report;
mod rotation;
mod round;
mod served;
mod traffic;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use symbolon_crypto::algorithm::Algorithm;
use symbolon_loadtest::LoadtestError;
use symbolon_loadtest::scenario::Scenario;
use symbolon_loadtest::seed::SeedOptions;
use symbolon_store_cluster::engines::Engines;

pub use background::Background;
pub use claims::{ClaimsOptions, ClaimsReport, MOST_US, measure_claims};
pub use figures::Figures;
pub use planning::{PlanningOptions, measure_costs};
pub use report::{Cell, CostReport, LIMIT_US};
pub use rotation::{LIMIT_RATIO, RotationOptions, RotationReport, Rotations, measure_rotation};
pub use served::ServedCluster;

/// What to measure.
pub struct CostOptions {
    /// The binary that is measured.
    pub binary: PathBuf,
    /// The name of the database, which is created, and the prefix of the keys in Redis: a plain lower-case identifier.
    pub name: String,
    /// The numbers of nodes at which the cluster is loaded.
    pub nodes: Vec<usize>,
    /// The scenarios to measure.
    pub scenarios: Vec<Scenario>,
    /// The providers' signing algorithm.
    pub algorithm: Algorithm,
    /// Rounds that count; one more runs before them as a warm-up.
    pub rounds: usize,
    /// How long a slice of load lasts.
    pub slice: Duration,
    /// Requests per second; if `None`, every connection sends again as soon as it is answered.
    pub rate: Option<f64>,
    /// Connections, spread over the nodes; each has at most one request in flight.
    pub connections: usize,
    /// Threads of the generator.
    pub threads: usize,
    /// What is planted in each store.
    pub seed: SeedOptions,
}

impl CostOptions {
    /// Silent authentication and UserInfo with RS256 at one node: 32 connections at saturation, 5 rounds of 2 s.
    pub fn new(binary: PathBuf, name: &str) -> Self {
        Self {
            binary,
            name: name.to_owned(),
            nodes: vec![1],
            scenarios: vec![Scenario::Silent, Scenario::Userinfo],
            algorithm: Algorithm::Rs256,
            rounds: 5,
            slice: Duration::from_secs(2),
            rate: None,
            connections: 32,
            threads: 1,
            seed: SeedOptions::default(),
        }
    }
}

/// Measures on these engines, which should have nothing else to do. Reports its progress on `progress`.
///
/// # Errors
/// [`LoadtestError`] if a node does not start, or a seed cannot be planted. Wrong answers are no error: the report
/// lists them.
///
/// # Panics
/// If an engine does not answer.
pub fn measure(
    engines: &Engines,
    options: &CostOptions,
    progress: &mut (dyn Write + Send),
) -> Result<CostReport, LoadtestError> {
    if options.nodes.is_empty() || options.nodes.contains(&0) || options.rounds == 0 {
        return Err(LoadtestError::Options("nothing to measure: no nodes, or no rounds".into()));
    }
    // The nodes' output is read on this runtime while the slices block.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let report = round::run(&runtime, engines, options, progress);
    runtime.shutdown_background();
    report
}
