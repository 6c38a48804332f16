//! Rounds: the embedded store, then the cluster at every number of nodes, with the same requests.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use symbolon_loadtest::LoadtestError;
use symbolon_loadtest::executor::{Closed, Load, Open, Outcome, Schedule, Until, closed, open};
use symbolon_loadtest::scenario::{Mix, Scenario, Visitor};
use symbolon_loadtest::seed::{Seed, harvest_codes, plant};
use symbolon_store_cluster::engines::Engines;
use tokio::runtime::Runtime;

use super::node::Provider;
use super::reading::Reading;
use super::report::Track;
use super::traffic::Counted;
use super::{Background, CostOptions, CostReport, Figures};

/// Load before every slice, which does not count.
const WARM_UP: Duration = Duration::from_millis(200);

/// How long idle nodes are measured at least: heartbeats come twice a second.
const IDLE: Duration = Duration::from_secs(2);

/// Codes per second of a slice: more than are redeemed at saturation.
const CODES: f64 = 8_000.0;

/// A provider under load, with what was planted in it.
struct Side<'a> {
    provider: Provider,
    engines: Option<&'a Engines>,
    seed: Arc<Seed>,
    /// Visitors keep their state, a family's token for example, from slice to slice.
    visitors: BTreeMap<Scenario, Vec<Box<dyn Visitor>>>,
    /// Bytes that the visitors have sent and read so far.
    http_bytes: Arc<AtomicU64>,
}

pub(super) fn run(
    runtime: &Runtime,
    engines: &Engines,
    options: &CostOptions,
    progress: &mut (dyn Write + Send),
) -> Result<CostReport, LoadtestError> {
    let most = options.nodes.iter().copied().max().unwrap_or(1);
    let mut embedded = runtime.block_on(async {
        let provider = Provider::embedded(&options.binary).await?;
        Side::plant(provider, None, options, progress).await
    })?;
    let mut cluster = runtime.block_on(async {
        let place = (&engines.postgres, &engines.redis, &*options.name);
        let provider = Provider::clustered(&options.binary, most, place).await?;
        Side::plant(provider, Some(engines), options, progress).await
    })?;
    let background = Background::watch(&cluster.provider, engines, options.slice.max(IDLE))?;
    let mut tracks: Vec<Track> = options.scenarios.iter().map(|scenario| Track::new(*scenario)).collect();
    for round in 0..=options.rounds {
        for track in &mut tracks {
            let slicer = Slicer { runtime, options, scenario: track.scenario };
            let counts = round > 0;
            let slice = slicer.slice(&mut embedded, 1)?;
            track.take(None, slice, counts);
            // Every other round in reverse order, so that the effects of earlier slices do not favour one number of
            // nodes.
            let mut nodes = options.nodes.clone();
            if round % 2 == 1 {
                nodes.reverse();
            }
            for count in nodes {
                let slice = slicer.slice(&mut cluster, count)?;
                track.take(Some(count), slice, counts);
            }
        }
        writeln!(progress, "round {round} of {}", options.rounds)?;
    }
    runtime.block_on(embedded.provider.end());
    runtime.block_on(cluster.provider.end());
    Ok(CostReport::of(options, background, &tracks))
}

impl<'a> Side<'a> {
    async fn plant(
        provider: Provider,
        engines: Option<&'a Engines>,
        options: &CostOptions,
        progress: &mut (dyn Write + Send),
    ) -> Result<Self, LoadtestError> {
        let mut seeding = options.seed.clone();
        seeding.algorithm = Some(options.algorithm);
        let seed = Arc::new(plant(provider.target().await?, &seeding, progress).await?);
        let (mut visitors, http_bytes) = (BTreeMap::new(), Arc::default());
        for scenario in &options.scenarios {
            let counted = scenario.visitors(&seed, options.connections, Mix::Pure)?.into_iter();
            let counted = counted.map(|visitor| Counted::boxed(visitor, Arc::clone(&http_bytes)));
            visitors.insert(*scenario, counted.collect());
        }
        Ok(Self { provider, engines, seed, visitors, http_bytes })
    }
}

/// The result of a slice.
pub(super) struct Slice {
    pub(super) figures: Figures,
    pub(super) outcome: Outcome,
}

struct Slicer<'a> {
    runtime: &'a Runtime,
    options: &'a CostOptions,
    scenario: Scenario,
}

impl Slicer<'_> {
    /// Loads the first `nodes` nodes, between two readings of them and of their engines.
    fn slice(&self, side: &mut Side<'_>, nodes: usize) -> Result<Slice, LoadtestError> {
        let mut visitors = side.visitors.remove(&self.scenario).unwrap_or_default();
        let mut peers = side.provider.peers(nodes)?.into_iter();
        let Some(first) = peers.next() else { return Err(LoadtestError::Options("no nodes".into())) };
        let load = Load { threads: self.options.threads, others: peers.collect(), ..Load::to(first) };
        if self.scenario == Scenario::Code {
            // The codes are counted, so none can be spent on a warm-up: the round that does not count has to serve as
            // one.
            let codes = (self.options.slice.as_secs_f64() * self.options.rate.unwrap_or(CODES)).ceil();
            self.runtime.block_on(harvest_codes(&side.seed, codes as usize))?;
        } else {
            let until = Until::Elapsed(WARM_UP.min(self.options.slice));
            visitors = closed(&Closed { load: load.clone(), until }, visitors)?.visitors;
        }
        let loaded = side.provider.nodes.get(..nodes).unwrap_or_default();
        let before = Reading::before(loaded, side.engines)?;
        let sent = side.http_bytes.load(Ordering::Relaxed);
        let mut outcome = self.load(load, visitors)?;
        let sent = side.http_bytes.load(Ordering::Relaxed) - sent;
        let used = Reading::after(loaded, side.engines)?.since(&before);
        side.visitors.insert(self.scenario, std::mem::take(&mut outcome.visitors));
        Ok(Slice { figures: Figures::of(&outcome, &used, sent), outcome })
    }

    fn load(&self, load: Load, visitors: Vec<Box<dyn Visitor>>) -> Result<Outcome, LoadtestError> {
        let Some(rate) = self.options.rate else {
            return closed(&Closed { load, until: Until::Elapsed(self.options.slice) }, visitors);
        };
        let schedule = Schedule::constant(rate, self.options.slice)?;
        Ok(open(&Open { load, schedule }, visitors, &mut |_, _| {})?.outcome)
    }
}
