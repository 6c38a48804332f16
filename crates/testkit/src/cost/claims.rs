//! What groups and claims of one's own cost at a refresh: one server on the embedded store, refreshed with and without them in
//! turn, so that the compared figures were taken within seconds.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use symbolon_crypto::algorithm::Algorithm;
use symbolon_loadtest::LoadtestError;
use symbolon_loadtest::cpu::CpuReading;
use symbolon_loadtest::executor::{Closed, Load, Until, closed};
use symbolon_loadtest::scenario::{Mix, Scenario, Visitor};
use symbolon_loadtest::seed::{Seed, SeedOptions, plant};

use super::figures::median;
use super::node::Provider;
use crate::group_claims::{self, GroupClaims, LOOP};

/// How much more CPU time a refresh with 20 groups and one claim by an expression may take, in µs.
pub const MOST_US: f64 = 8.0;

/// Load after each change of the settings, which does not count.
const WARM_UP: Duration = Duration::from_millis(300);

/// What a client's ID tokens carry, by what is added: nothing, the groups, the groups and a claim by an expression.
const SIDES: [(&str, bool, Option<&str>); 5] = [
    ("no groups, no definitions", false, None),
    ("20 groups", true, None),
    ("20 groups and a condition", true, Some("'admin' in groups ? 'Admin' : 'Viewer'")),
    ("20 groups and a loop over them", true, Some(LOOP)),
    (
        "20 groups and two loops over them",
        true,
        Some("groups.filter(g, g.startsWith('app:')).map(g, g.substring(4))"),
    ),
];

/// The side that must stay below [`MOST_US`]. A loop makes a list as long as that of the groups, and signing it alone takes two to
/// three microseconds more with EdDSA.
const LIMITED: usize = 2;

/// What to measure.
pub struct ClaimsOptions {
    /// The binary.
    pub binary: PathBuf,
    /// Rounds that count; one more runs before them.
    pub rounds: usize,
    /// How long each side is asked in a round.
    pub slice: Duration,
    /// Connections, each with families of its own.
    pub connections: usize,
}

/// Medians over the rounds.
#[derive(Clone, Debug)]
pub struct ClaimsReport {
    /// CPU time of the server for a refresh, in µs, for each of the sides.
    us: [f64; SIDES.len()],
    /// How much more than the first side of its round.
    more: [f64; SIDES.len()],
}

impl ClaimsReport {
    /// Whether 20 groups and one claim by an expression cost no more than they may.
    pub fn passed(&self) -> bool {
        self.more[LIMITED] <= MOST_US
    }
}

impl fmt::Display for ClaimsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| a refresh with | µs | more |\n|---|---:|---:|")?;
        for (((what, ..), us), more) in SIDES.iter().zip(self.us).zip(self.more) {
            writeln!(f, "| {what} | {us:.1} | {more:+.1} |")?;
        }
        Ok(())
    }
}

/// Measures. Reports its progress on `progress`.
///
/// # Errors
/// [`LoadtestError`] if the server does not start, cannot be planted, or gives a wrong answer.
pub fn measure_claims(
    options: &ClaimsOptions,
    progress: &mut (dyn Write + Send),
) -> Result<ClaimsReport, LoadtestError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let seeding = SeedOptions {
        users: options.connections,
        families: 4 * options.connections,
        algorithm: Some(Algorithm::EdDsa),
        ..SeedOptions::default()
    };
    let (provider, seed) = runtime.block_on(async {
        let provider = Provider::embedded(&options.binary).await?;
        let seed = plant(provider.target().await?, &seeding, progress).await?;
        Ok::<_, LoadtestError>((provider, Arc::new(seed)))
    })?;
    let visitors = Scenario::Refresh.visitors(&seed, options.connections, Mix::Pure)?;
    let mut refreshing = Refreshing { provider: &provider, seed, visitors };
    let report = refreshing.rounds(options, progress);
    runtime.block_on(provider.end());
    runtime.shutdown_background();
    report
}

struct Refreshing<'a> {
    provider: &'a Provider,
    seed: Arc<Seed>,
    visitors: Vec<Box<dyn Visitor>>,
}

impl Refreshing<'_> {
    fn rounds(
        &mut self,
        options: &ClaimsOptions,
        progress: &mut (dyn Write + Send),
    ) -> Result<ClaimsReport, LoadtestError> {
        let url = self.provider.nodes.first().map(|node| node.server.url.clone()).unwrap_or_default();
        let admin = GroupClaims { url: &url, secret: self.provider.admin_secret() };
        admin.plant(&self.seed)?;
        let mut counted: Vec<[f64; SIDES.len()]> = Vec::new();
        for round in 0..=options.rounds {
            let mut us = [0.0; SIDES.len()];
            // Every other round in reverse order, so that the effects of earlier slices favour no side.
            let mut order: Vec<usize> = (0..SIDES.len()).collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for side in order {
                let (_, has_groups, expression) = SIDES[side];
                let settings =
                    if has_groups { group_claims::settings(expression) } else { group_claims::no_settings() };
                admin.set(&self.seed.client.id, &settings)?;
                self.refresh(WARM_UP)?;
                us[side] = self.refresh(options.slice)?;
            }
            writeln!(progress, "round {round} of {}: {us:.1?} µs", options.rounds)?;
            if round > 0 {
                counted.push(us);
            }
        }
        let us = |side: usize| median(counted.iter().map(move |round| round[side]));
        let more = |side: usize| median(counted.iter().map(move |round| round[side] - round[0]));
        Ok(ClaimsReport { us: std::array::from_fn(us), more: std::array::from_fn(more) })
    }

    /// CPU time of the server for each refresh of a slice, in µs.
    fn refresh(&mut self, slice: Duration) -> Result<f64, LoadtestError> {
        let pid = self.provider.nodes.first().map(|node| node.server.pid()).unwrap_or_default();
        let load = Load::to(self.seed.target.peer.clone());
        let before = CpuReading::of(pid)?;
        let outcome =
            closed(&Closed { load, until: Until::Elapsed(slice) }, std::mem::take(&mut self.visitors))?;
        let used = CpuReading::of(pid)?.since(&before);
        self.visitors = outcome.visitors;
        if !outcome.tally.is_clean() || outcome.tally.right == 0 {
            let detail = format!("{:?} {:?}", outcome.tally.first_wrong(), outcome.tally.failures);
            return Err(LoadtestError::Refused { what: "a refresh", status: 0, detail });
        }
        Ok(used.as_secs_f64() * 1e6 / outcome.tally.right as f64)
    }
}
