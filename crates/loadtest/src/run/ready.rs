//! A provider with its seed, ready for plans one after the other.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::before::Before;
use super::live::Live;
use super::plan::{Plan, Reshard, Traffic};
use super::{Progress, figures};
use crate::admin::{self, Admin};
use crate::client::Timeouts;
use crate::executor::{Closed, Load, Open, OpenOutcome, Stop, Until, open, saturate};
use crate::machine::Busy;
use crate::provider::{Provider, ProviderOptions};
use crate::results::{self, Run};
use crate::scenario::{Mix, Scenario, Visitor};
use crate::scrape::{Between, Page};
use crate::seed::{Seed, SeedOptions, harvest_codes, plant};
use crate::{LoadtestError, clock};

/// The longest that a code may live (RFC 6749 4.1.2), in seconds.
const CODE_SECONDS: u64 = 600;

/// Where a seed comes from.
pub(crate) enum Seeding<'a> {
    /// It is planted.
    Plant(SeedOptions),
    /// It was planted before.
    File(&'a Path),
}

/// A provider that can be loaded.
pub(crate) struct Ready {
    provider: Provider,
    /// What is to be put back at the end.
    before: Option<Before>,
    seed: Arc<Seed>,
    /// Whether a run went on with the families, so that their first tokens are used.
    rotated: bool,
    stop: Stop,
    interrupted: Signal,
    terminated: Signal,
}

impl Ready {
    /// Takes or starts the provider, and plants or reads its seed. Signals are heard from here on: the first ends the
    /// preparing, later ones a load. Nothing is planted where the provider does not offer what the scenarios ask for.
    ///
    /// # Errors
    /// [`LoadtestError::Interrupted`] by a signal, [`LoadtestError::NotOffered`], and what kept the provider or its seed from being ready.
    pub(crate) async fn prepare(
        options: &ProviderOptions,
        shards: Option<u32>,
        (seeding, scenarios): (Seeding<'_>, &[Scenario]),
        progress: &mut (dyn Write + Send),
    ) -> Result<Self, LoadtestError> {
        let mut signals = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let from_file = matches!(seeding, Seeding::File(_));
        let reaching = async {
            let provider = Provider::get(options, shards).await?;
            let target = provider.discover().await?;
            scenarios.iter().try_for_each(|scenario| scenario.check_offer(&target))?;
            let before = Before::read(&provider, &target).await;
            Ok::<_, LoadtestError>((provider, target, before))
        };
        let (provider, target, before) = unless_signalled(&mut signals, reaching).await?;
        let planting = async {
            match seeding {
                Seeding::Plant(options) => plant(target, &options, progress).await,
                Seeding::File(path) => Seed::load(path, target, clock::unix_seconds()),
            }
        };
        let seed = match (unless_signalled(&mut signals, planting).await, &before) {
            (Err(error), Some(before)) => {
                before.put_back(&provider, progress).await;
                return Err(error);
            }
            (seed, _) => Arc::new(seed?),
        };
        // Whether what stands in a file was used before, nobody knows. Where families cannot be had anew, it must do.
        let rotated = from_file && seed.target.admin_secret.is_some();
        let (interrupted, terminated) = signals;
        Ok(Self { provider, before, seed, rotated, stop: Stop::default(), interrupted, terminated })
    }

    pub(crate) fn seed(&self) -> &Seed {
        &self.seed
    }

    /// Where the provider is, in words.
    pub(crate) fn whereabouts(&self) -> String {
        let Provider { url, pid, metrics, .. } = &self.provider;
        let process = pid.map(|pid| format!(" (process {pid})")).unwrap_or_default();
        let figures = metrics.as_ref().map(|url| format!(", its figures are on {url}")).unwrap_or_default();
        format!("the provider{process} listens on {url}{figures}")
    }

    /// Whether a signal came.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_stopped()
    }

    /// Waits for Ctrl-C or SIGTERM.
    pub(crate) async fn signalled(&mut self) {
        tokio::select! {
            _ = self.interrupted.recv() => {}
            _ = self.terminated.recv() => {}
        }
    }

    /// What the report says of the provider.
    pub(crate) async fn description(&self) -> Result<results::Provider, LoadtestError> {
        Ok(results::Provider {
            issuer: self.seed.target.issuer.clone(),
            software: self.scrape().await?.and_then(|page| page.software()),
            algorithm: Some(self.seed.algorithm.to_string()),
        })
    }

    /// Loads, between two readings of the provider's figures. A signal ends the load early.
    pub(crate) async fn run(&mut self, plan: &Plan, progress: Progress<'_>) -> Result<Run, LoadtestError> {
        plan.check()?;
        if plan.scenario == Scenario::Refresh && std::mem::replace(&mut self.rotated, true) {
            // A run goes on with its families; a used token would end its family (RFC 9700 4.14.2).
            let seed = Arc::get_mut(&mut self.seed);
            let seed = seed.ok_or_else(|| LoadtestError::Options("the seed is still in use".into()))?;
            seed.renew_families().await?;
        }
        let (seed, provider, stop) = (&self.seed, &self.provider, &self.stop);
        let running = run_plan(plan, (provider, seed, stop), progress);
        tokio::pin!(running);
        loop {
            tokio::select! {
                run = &mut running => return run,
                _ = self.interrupted.recv() => stop.stop(),
                _ = self.terminated.recv() => stop.stop(),
            }
        }
    }

    /// Leaves the provider as its seed needs it: the seed is for later runs.
    pub(crate) fn keep_settings(&mut self) {
        self.before = None;
    }

    /// Puts the settings of a running provider back, and ends one that was started here.
    pub(crate) async fn end(self, progress: &mut (dyn Write + Send)) {
        if let Some(before) = &self.before {
            before.put_back(&self.provider, progress).await;
        }
        self.provider.end().await;
    }

    async fn scrape(&self) -> Result<Option<Page>, LoadtestError> {
        scrape(&self.provider).await
    }
}

/// What comes of a task, unless a signal comes first.
async fn unless_signalled<T>(
    (interrupted, terminated): &mut (Signal, Signal),
    task: impl Future<Output = Result<T, LoadtestError>>,
) -> Result<T, LoadtestError> {
    tokio::select! {
        done = task => done,
        _ = interrupted.recv() => Err(LoadtestError::Interrupted),
        _ = terminated.recv() => Err(LoadtestError::Interrupted),
    }
}

async fn run_plan(
    plan: &Plan,
    (provider, seed, stop): (&Provider, &Arc<Seed>, &Stop),
    (progress, terminal): Progress<'_>,
) -> Result<Run, LoadtestError> {
    if let (Scenario::Code, Some(rate)) = (plan.scenario, plan.traffic.rate()) {
        obtain_codes((plan.whole().as_secs_f64() * rate).ceil() as usize, seed, progress).await?;
    }
    let shards = match plan.shards() {
        Some(path) if seed.target.admin_secret.is_some() => shards(seed, path).await,
        _ => None,
    };
    let mix = plan.scenario.mix(seed);
    let mut name = plan.name(shards);
    if mix == Some(Mix::Pure) {
        name.push_str(", valid tokens only");
    }
    let visitors = plan.scenario.visitors(seed, plan.connections, mix.unwrap_or_default())?;
    let before = scrape(provider).await?;
    let load = Load {
        threads: plan.threads,
        warm_up: plan.warm_up,
        pid: provider.pid,
        stop: stop.clone(),
        timeouts: Timeouts { request: plan.timeout, ..Timeouts::default() },
        ..seed.target.load()
    };
    let connections = load.connections(plan.connections);
    let idle_since = Busy::now();
    let mut live = Live::new(&name, plan.whole(), (progress, terminal), provider.pid);
    let loading = load_on_a_thread(load, plan.traffic.clone(), visitors, &mut live);
    let resharding = reshard(plan, seed, stop);
    let (outcome, resharded) = tokio::join!(loading, resharding);
    let (outcome, timeline) = (outcome?, live.end());
    let busy = idle_since.zip(Busy::now()).and_then(|(before, now)| now.cores_since(&before));
    let after = scrape(provider).await?;
    let server = before.zip(after).map(|(before, after)| Between(&before, &after).figures());
    let mut run = figures::run(plan, &outcome, timeline, server);
    (run.name, run.mix, run.shards, run.reshard) = (name, mix, shards, resharded?);
    run.machine_busy_cores = busy;
    figures::carried(&mut run, &seed.target.peer, connections);
    run.thresholds = plan.thresholds.iter().map(|rule| rule.judge(&run)).collect();
    Ok(run)
}

/// Codes for a whole plan, obtained before it.
async fn obtain_codes(
    count: usize,
    seed: &Arc<Seed>,
    progress: &mut (dyn Write + Send),
) -> Result<(), LoadtestError> {
    if seed.target.admin_secret.is_some() {
        let lifetime = json!({ "lifetimes": { "code": CODE_SECONDS } });
        Admin::connect(&seed.target).await?.change(admin::SETTINGS, &lifetime).await?;
    }
    writeln!(progress, "obtaining {count} codes")?;
    harvest_codes(seed, count).await
}

/// A number of shards; nothing if the provider does not say.
async fn shards(seed: &Seed, path: &'static str) -> Option<u32> {
    let answer = Admin::connect(&seed.target).await.ok()?.show(path).await.ok()?;
    u32::try_from(answer.get("shards")?.as_u64()?).ok()
}

/// Changes the number of shards when the plan says so.
async fn reshard(plan: &Plan, seed: &Seed, stop: &Stop) -> Result<Option<results::Reshard>, LoadtestError> {
    let (Some(Reshard { after, to }), Some(path)) = (plan.reshard, plan.shards()) else { return Ok(None) };
    let began = clock::now();
    tokio::time::sleep(after).await;
    if stop.is_stopped() {
        return Ok(None);
    }
    let changed = async {
        Admin::connect(&seed.target).await?.replace(path, &json!({ "shards": to })).await?;
        Ok(Some(results::Reshard { at: clock::now().duration_since(began).as_secs_f64(), to }))
    };
    // Without the change the rest of the load would show nothing.
    changed.await.inspect_err(|_: &LoadtestError| stop.stop())
}

async fn scrape(provider: &Provider) -> Result<Option<Page>, LoadtestError> {
    match &provider.metrics {
        Some(url) => Page::fetch(url, &provider.way).await.map(Some),
        None => Ok(None),
    }
}

/// Runs the executor on a thread of its own, so that signals are heard meanwhile.
async fn load_on_a_thread(
    load: Load,
    traffic: Traffic,
    visitors: Vec<Box<dyn Visitor>>,
    live: &mut Live<'_>,
) -> Result<OpenOutcome, LoadtestError> {
    let (told, mut seconds) = tokio::sync::mpsc::unbounded_channel();
    let loading = tokio::task::spawn_blocking(move || {
        // Nobody listens any more only when the run is being given up.
        let on_second =
            &mut |now: Duration, lately: &crate::tally::Lately| drop(told.send((now, lately.clone())));
        match traffic {
            Traffic::Open(schedule) => open(&Open { load, schedule }, visitors, on_second),
            Traffic::Closed(duration) => {
                saturate(&Closed { load, until: Until::Elapsed(duration) }, visitors, on_second)
                    .map(OpenOutcome::closed)
            }
        }
    });
    while let Some((now, lately)) = seconds.recv().await {
        live.second(now, &lately);
    }
    loading.await.map_err(|_| LoadtestError::Interrupted)?
}
