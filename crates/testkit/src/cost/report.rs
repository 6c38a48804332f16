//! The report of a measurement, for people and for programs.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_loadtest::machine;
use symbolon_loadtest::scenario::Scenario;

use super::figures::median;
use super::round::Slice;
use super::{Background, CostOptions, Figures};

/// The version of the JSON form.
const VERSION: u32 = 1;

/// How much CPU silent authentication and UserInfo may cost a node above the embedded store, in µs.
pub const LIMIT_US: f64 = 15.0;

/// The slices of a scenario over the rounds.
pub(super) struct Track {
    pub(super) scenario: Scenario,
    /// By the number of nodes; `None` is the embedded store.
    slices: BTreeMap<Option<usize>, Vec<Figures>>,
    requests: BTreeMap<Option<usize>, u64>,
    errors: u64,
    first_error: Option<String>,
}

impl Track {
    pub(super) fn new(scenario: Scenario) -> Self {
        Self { scenario, slices: BTreeMap::new(), requests: BTreeMap::new(), errors: 0, first_error: None }
    }

    /// Takes a slice. The slices of the first round do not count, but their errors do.
    pub(super) fn take(&mut self, nodes: Option<usize>, slice: Slice, counts: bool) {
        let tally = slice.outcome.tally;
        self.errors += tally.wrong_total() + tally.failures_total();
        let failure = tally.failures.keys().next().map(|kind| (*kind).to_owned());
        self.first_error = self.first_error.take().or(tally.first_wrong()).or(failure);
        if counts && tally.right > 0 {
            *self.requests.entry(nodes).or_default() += tally.right;
            self.slices.entry(nodes).or_default().push(slice.figures);
        }
    }

    fn cells(&self) -> impl Iterator<Item = Cell> {
        self.slices.iter().map(|(nodes, slices)| self.cell(*nodes, slices))
    }

    fn cell(&self, nodes: Option<usize>, slices: &[Figures]) -> Cell {
        let embedded = self.slices.get(&None).map_or(&[][..], Vec::as_slice);
        // Differences within one round, because the machine's speed changes from minute to minute.
        let above =
            || slices.iter().zip(embedded).map(|(cluster, embedded)| cluster.node_us - embedded.node_us);
        let node = || slices.iter().map(|figures| figures.node_us);
        Cell {
            scenario: self.scenario,
            nodes,
            requests: self.requests.get(&nodes).copied().unwrap_or(0),
            figures: Figures::medians(slices),
            node_us_range: (node().fold(f64::INFINITY, f64::min), node().fold(0.0, f64::max)),
            above_embedded_us: nodes.map(|_| median(above())),
        }
    }
}

/// A scenario on one store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cell {
    /// The scenario.
    pub scenario: Scenario,
    /// How many nodes of the cluster were loaded; `None` for the embedded store.
    pub nodes: Option<usize>,
    /// Right answers in all rounds that count.
    pub requests: u64,
    /// The medians over the rounds, each figure for itself.
    pub figures: Figures,
    /// The least and the greatest CPU time of the nodes in a round.
    pub node_us_range: (f64, f64),
    /// The median over the rounds of the nodes' CPU time minus the embedded store's in the same round.
    pub above_embedded_us: Option<f64>,
}

/// The whole measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CostReport {
    /// The version of this form.
    pub version: u32,
    /// The processor and its cores.
    pub machine: String,
    /// The signing algorithm.
    pub algorithm: Algorithm,
    /// Connections of the generator.
    pub connections: usize,
    /// Rounds that counted.
    pub rounds: usize,
    /// The length of a slice, in seconds.
    pub slice_seconds: f64,
    /// The wanted requests per second; `None` for a closed loop at saturation.
    pub rate: Option<f64>,
    /// The cost of idle nodes.
    pub background: Background,
    /// Every scenario on every store.
    pub cells: Vec<Cell>,
    /// Wrong answers and failures, including those of the warm-up round.
    pub errors: u64,
    /// The first of them.
    pub first_error: Option<String>,
}

impl CostReport {
    pub(super) fn of(options: &CostOptions, background: Background, tracks: &[Track]) -> Self {
        let machine = machine::describe();
        Self {
            version: VERSION,
            machine: format!("{}, {} cores", machine.processor, machine.cores),
            algorithm: options.algorithm,
            connections: options.connections,
            rounds: options.rounds,
            slice_seconds: options.slice.as_secs_f64(),
            rate: options.rate,
            background,
            cells: tracks.iter().flat_map(Track::cells).collect(),
            errors: tracks.iter().map(|track| track.errors).sum(),
            first_error: tracks.iter().find_map(|track| track.first_error.clone()),
        }
    }

    /// The cells that are above [`LIMIT_US`].
    pub fn above_limit(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(|cell| {
            matches!(cell.scenario, Scenario::Silent | Scenario::Userinfo)
                && cell.above_embedded_us.is_some_and(|above| above > LIMIT_US)
        })
    }

    /// What a request costs the nodes, divided by what it costs at the fewest nodes.
    fn growth(&self, cell: &Cell) -> Option<f64> {
        let fewest =
            self.cells.iter().filter(|other| other.scenario == cell.scenario && other.nodes.is_some());
        let fewest = fewest.min_by_key(|other| other.nodes)?;
        (cell.nodes.is_some() && cell.nodes != fewest.nodes)
            .then(|| cell.figures.node_us / fewest.figures.node_us.max(f64::MIN_POSITIVE))
    }
}

/// Markdown.
impl fmt::Display for CostReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let traffic = self.rate.map_or_else(|| "closed loop".to_owned(), |rate| format!("{rate} requests/s"));
        writeln!(
            f,
            "{}; {}; {} connections, {traffic}, {} rounds of {} s; medians\n",
            self.machine,
            self.algorithm.as_str(),
            self.connections,
            self.rounds,
            self.slice_seconds
        )?;
        writeln!(
            f,
            "CPU in µs per request (all nodes, all primaries, all replicas, all processes together)\n"
        )?;
        writeln!(
            f,
            "| scenario | store | node | range | above embedded | ÷ fewest nodes | Redis primaries | replicas | PostgreSQL | requests/s | p50 ms | p99 ms |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|---|---|---|---|")?;
        for cell in &self.cells {
            self.write_cpu(f, cell)?;
        }
        writeln!(f, "\nper request, on the engines\n")?;
        writeln!(
            f,
            "| scenario | nodes | commands on primaries | Redis bytes in / out | HTTP bytes | statements read / write | rows written | WAL bytes |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        for cell in self.cells.iter().filter(|cell| cell.nodes.is_some()) {
            write_engines(f, cell)?;
        }
        let Background { nodes, node_us, redis_primary_us, redis_replica_us, postgres_us } = self.background;
        let redis_us = redis_primary_us + redis_replica_us;
        writeln!(
            f,
            "\nidle (contained in the figures above), {nodes} nodes, µs of CPU per second: {node_us:.0} a node, Redis {redis_us:.0}, PostgreSQL {postgres_us:.0}\n"
        )?;
        for cell in self.above_limit() {
            let (scenario, nodes) = (cell.scenario, cell.nodes.unwrap_or(0));
            writeln!(
                f,
                "{scenario} with {nodes} nodes costs more than {LIMIT_US} µs above the embedded store"
            )?;
        }
        match &self.first_error {
            Some(first) => writeln!(f, "{} wrong answers or failures, the first: {first}", self.errors),
            None => writeln!(f, "every answer was right"),
        }
    }
}

impl CostReport {
    fn write_cpu(&self, f: &mut fmt::Formatter<'_>, cell: &Cell) -> fmt::Result {
        let figures = &cell.figures;
        let store = cell.nodes.map_or_else(|| "embedded".to_owned(), |nodes| format!("{nodes} nodes"));
        let (least, most) = cell.node_us_range;
        let above = cell.above_embedded_us.map(|above| format!("{above:+.1}")).unwrap_or_default();
        let growth = self.growth(cell).map(|growth| format!("{growth:.2}")).unwrap_or_default();
        writeln!(
            f,
            "| {} | {store} | {:.1} | {least:.1}–{most:.1} | {above} | {growth} | {:.1} | {:.1} | {:.1} | {:.0} | {:.2} | {:.2} |",
            cell.scenario,
            figures.node_us,
            figures.redis_primary_us,
            figures.redis_replica_us,
            figures.postgres_us,
            figures.rate,
            figures.p50_ms,
            figures.p99_ms,
        )
    }
}

fn write_engines(f: &mut fmt::Formatter<'_>, cell: &Cell) -> fmt::Result {
    let figures = &cell.figures;
    let commands = figures.commands.iter().filter(|(_, calls)| **calls >= 0.005);
    let commands: Vec<String> = commands.map(|(name, calls)| format!("{name} {calls:.2}")).collect();
    writeln!(
        f,
        "| {} | {} | {} | {:.0} / {:.0} | {:.0} | {:.2} / {:.2} | {:.2} | {:.0} |",
        cell.scenario,
        cell.nodes.unwrap_or(0),
        commands.join(", "),
        figures.redis_bytes_in,
        figures.redis_bytes_out,
        figures.http_bytes,
        figures.reads,
        figures.writes,
        figures.rows_written,
        figures.wal_bytes,
    )
}
