//! Load tests: a provider, a seed, schedules, and what came of them.

mod live;
mod threshold;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use symbolon_crypto::{Algorithm, SecretString};
use tokio::signal::unix::{SignalKind, signal};

pub use threshold::Rule;

use crate::admin::{self, Admin};
use crate::executor::{Load, Open, OpenOutcome, Schedule, Stop, open};
use crate::provider::{Provider, RunningTarget, Start};
use crate::results::{self, Results, Run, Second, ServerFigures};
use crate::scenario::{Mix, Scenario, Visitor};
use crate::scrape::{Between, Page};
use crate::seed::{Seed, SeedOptions, harvest_codes, plant};
use crate::{LoadtestError, Target, machine};
use live::{Live, millis};

/// The longest that a code may live (RFC 6749 4.1.2), in seconds.
const CODE_SECONDS: u64 = 600;

/// One load: what is asked, when, and what must hold.
#[derive(Clone)]
pub struct Plan {
    /// What is asked.
    pub scenario: Scenario,
    /// When.
    pub schedule: Schedule,
    /// Load before the schedule that is not measured.
    pub warm_up: Duration,
    /// Connections at most; one request is in flight on each.
    pub connections: usize,
    /// Threads of the generator.
    pub threads: usize,
    /// What decides whether the run passed.
    pub thresholds: Vec<Rule>,
}

impl Plan {
    /// Two seconds of warm-up, 64 connections, one thread, the usual thresholds.
    pub fn new(scenario: Scenario, schedule: Schedule) -> Self {
        Self {
            scenario,
            schedule,
            warm_up: Duration::from_secs(2),
            connections: 64,
            threads: 1,
            thresholds: Rule::usual(),
        }
    }

    /// Where the number of shards stands of the kind of state that they matter for.
    fn shards(&self) -> Option<&'static str> {
        match self.scenario {
            Scenario::Silent | Scenario::Code => Some(admin::CODE_SHARDS),
            Scenario::Refresh => Some(admin::REFRESH_SHARDS),
            Scenario::Userinfo | Scenario::Introspect | Scenario::Exchange => Some(admin::REVOCATION_SHARDS),
            Scenario::Login => Some(admin::SESSION_SHARDS),
            Scenario::ClientCredentials | Scenario::Discovery => None,
        }
    }

    fn name(&self, shards: Option<u32>) -> String {
        let shards = shards.map(|shards| format!(", {shards} shards")).unwrap_or_default();
        format!("{} {:.0}/s{shards}", self.scenario, self.schedule.rate())
    }

    fn whole(&self) -> Duration {
        self.schedule.duration() + self.warm_up
    }
}

/// Plans that meet the same provider, one after the other.
pub struct Group {
    /// Shards of every kind of state, for a provider that is started for them.
    pub shards: Option<u32>,
    /// The loads.
    pub plans: Vec<Plan>,
}

impl Group {
    /// What the scenarios need, as much of it as the reports had.
    fn seed(&self, algorithm: Algorithm) -> SeedOptions {
        // Only these are mixed; what the mix needs is not to be had at every provider.
        let mixed = |plan: &Plan| matches!(plan.scenario, Scenario::Introspect | Scenario::Exchange);
        let mix = if self.plans.iter().any(mixed) { Mix::Report } else { Mix::Pure };
        let mut seed = SeedOptions { algorithm: Some(algorithm), mix, ..SeedOptions::default() };
        // Tokens outlive the group.
        let whole: Duration = self.plans.iter().map(Plan::whole).sum();
        seed.session_seconds = seed.session_seconds.max(2 * whole.as_secs());
        for plan in &self.plans {
            match plan.scenario {
                Scenario::Userinfo => seed.tokens = seed.tokens.max(4_000),
                Scenario::Introspect => seed.tokens = seed.tokens.max(3_000),
                // A family for every connection at least, or two would rotate the same.
                Scenario::Refresh => seed.families = seed.families.max(4 * plan.connections),
                _ => {}
            }
        }
        seed
    }
}

/// What to run, and against what.
pub struct RunOptions {
    /// What the report calls it.
    pub title: String,
    /// The loads, by provider.
    pub groups: Vec<Group>,
    /// What the provider is to sign with.
    pub algorithm: Algorithm,
    /// A running provider for all groups; without one `program serve` is started for each, on free ports, with fresh
    /// data.
    pub target: Option<RunningTarget>,
    /// Where a started provider's data goes: a disk, not memory, or durable commits would seem free.
    pub data_parent: PathBuf,
    /// The binary that has `serve`.
    pub program: PathBuf,
    /// The file that gets the log of a provider that is started; without, it goes where this process's errors go.
    pub log: Option<PathBuf>,
    /// When the first run begins, for the report: `2026-11-21T22:00:00Z`.
    pub started: String,
    /// Whether progress goes to a terminal, where a line is written over and over.
    pub terminal: bool,
}

impl RunOptions {
    /// RS256, against a provider that `program` starts.
    pub fn new(program: PathBuf, title: &str, groups: Vec<Group>) -> Self {
        Self {
            title: title.into(),
            groups,
            algorithm: Algorithm::Rs256,
            target: None,
            data_parent: PathBuf::from("/var/tmp"),
            program,
            log: None,
            started: String::new(),
            terminal: false,
        }
    }

    fn check(&self) -> Result<(), LoadtestError> {
        let mut plans = self.groups.iter().flat_map(|group| &group.plans).peekable();
        if plans.peek().is_none() || plans.any(|plan| plan.connections == 0 || plan.threads == 0) {
            return Err(LoadtestError::Options("a run needs a plan, a connection and a thread".into()));
        }
        Ok(())
    }
}

/// Runs; blocks the calling thread, which must not be one of an asynchronous runtime. Says on `progress` how it goes.
/// A provider that it starts ends with it, also on an error. Ctrl-C, SIGTERM and, where something was run before, an
/// error end it early: the results are marked as partial then.
///
/// # Errors
/// [`LoadtestError`] when nothing could be run. Wrong answers and thresholds that did not hold are no error: see
/// [`Results::passed`].
pub fn run(options: &RunOptions, progress: &mut (dyn Write + Send)) -> Result<Results, LoadtestError> {
    options.check()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ran = runtime.block_on(async {
        let mut results = Results {
            version: results::VERSION,
            title: options.title.clone(),
            started: options.started.clone(),
            machine: machine::describe(),
            provider: results::Provider::default(),
            partial: None,
            runs: Vec::new(),
        };
        let stop = Stop::default();
        for group in &options.groups {
            if let Err(error) = run_group(options, group, &stop, (&mut results, progress)).await {
                if results.runs.is_empty() {
                    return Err(error);
                }
                results.partial = Some(error.to_string());
            }
            if stop.is_stopped() {
                results.partial = Some("interrupted".into());
            }
            if results.partial.is_some() {
                break;
            }
        }
        Ok(results)
    });
    // Seeding under way ends by itself, its provider being gone; nobody waits for it.
    runtime.shutdown_background();
    ran
}

/// One provider and its plans.
async fn run_group(
    options: &RunOptions,
    group: &Group,
    stop: &Stop,
    (results, progress): (&mut Results, &mut (dyn Write + Send)),
) -> Result<(), LoadtestError> {
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    let start = Start {
        program: &options.program,
        data_parent: &options.data_parent,
        shards: group.shards,
        log: options.log.as_deref(),
    };
    let preparing = async {
        let provider = Provider::get(options.target.as_ref(), &start).await?;
        let seed = prepare(&group.seed(options.algorithm), &provider, progress).await?;
        Ok::<_, LoadtestError>((provider, seed))
    };
    let (provider, mut seed) = tokio::select! {
        prepared = preparing => prepared?,
        _ = interrupted.recv() => return Err(LoadtestError::Interrupted),
        _ = terminated.recv() => return Err(LoadtestError::Interrupted),
    };
    results.provider = results::Provider {
        issuer: seed.target.issuer.clone(),
        software: scrape(provider.metrics.as_deref()).await?.and_then(|page| page.software()),
        algorithm: Some(seed.algorithm.to_string()),
    };
    let mut rotated = false;
    for plan in &group.plans {
        if plan.scenario == Scenario::Refresh && std::mem::replace(&mut rotated, true) {
            // The run before went on with its families, and their first tokens are used.
            let seed = Arc::get_mut(&mut seed);
            let seed = seed.ok_or_else(|| LoadtestError::Options("the seed is still in use".into()))?;
            seed.renew_families().await?;
        }
        let running = run_plan(plan, &provider, (&seed, stop), (progress, options.terminal));
        tokio::pin!(running);
        let run = loop {
            tokio::select! {
                run = &mut running => break run?,
                _ = interrupted.recv() => stop.stop(),
                _ = terminated.recv() => stop.stop(),
            }
        };
        results.runs.push(run);
        if stop.is_stopped() {
            break;
        }
    }
    provider.end().await;
    Ok(())
}

async fn prepare(
    seed: &SeedOptions,
    provider: &Provider,
    progress: &mut (dyn Write + Send),
) -> Result<Arc<Seed>, LoadtestError> {
    let secret = SecretString::new(provider.secret.expose().to_owned());
    let target = Target::discover(&provider.url, Some(secret)).await?;
    Ok(Arc::new(plant(target, seed, progress).await?))
}

/// Codes for the whole plan, obtained before it.
async fn obtain_codes(
    plan: &Plan,
    seed: &Arc<Seed>,
    progress: &mut (dyn Write + Send),
) -> Result<(), LoadtestError> {
    let lifetime = json!({ "lifetimes": { "code": CODE_SECONDS } });
    Admin::connect(&seed.target).await?.change(admin::SETTINGS, &lifetime).await?;
    let codes = (plan.whole().as_secs_f64() * plan.schedule.rate()).ceil() as usize;
    writeln!(progress, "obtaining {codes} codes")?;
    harvest_codes(seed, codes).await
}

/// Loads, between two readings of the provider's figures.
async fn run_plan(
    plan: &Plan,
    provider: &Provider,
    (seed, stop): (&Arc<Seed>, &Stop),
    (progress, terminal): (&mut (dyn Write + Send), bool),
) -> Result<Run, LoadtestError> {
    if plan.scenario == Scenario::Code {
        obtain_codes(plan, seed, progress).await?;
    }
    let shards = match plan.shards() {
        Some(path) => shards(&seed.target, path).await,
        None => None,
    };
    let name = plan.name(shards);
    let visitors = plan.scenario.visitors(seed, plan.connections, Mix::Report)?;
    let before = scrape(provider.metrics.as_deref()).await?;
    let load = Load {
        threads: plan.threads,
        warm_up: plan.warm_up,
        pid: provider.pid,
        stop: stop.clone(),
        ..Load::to(seed.target.address)
    };
    let opening = Open { load, schedule: plan.schedule.clone() };
    let (outcome, timeline) = {
        let mut live = Live::new(&name, plan.whole(), (progress, terminal), provider.pid);
        let outcome = load_on_a_thread(opening, visitors, &mut live).await?;
        (outcome, live.end())
    };
    let after = scrape(provider.metrics.as_deref()).await?;
    let server = before.zip(after).map(|(before, after)| Between(&before, &after).figures());
    let mut run = figures(plan, &outcome, timeline, server);
    (run.name, run.shards) = (name, shards);
    run.thresholds = plan.thresholds.iter().map(|rule| rule.judge(&run)).collect();
    Ok(run)
}

/// A number of shards; nothing if the provider does not say.
async fn shards(target: &Target, path: &'static str) -> Option<u32> {
    let answer = Admin::connect(target).await.ok()?.show(path).await.ok()?;
    u32::try_from(answer.get("shards")?.as_u64()?).ok()
}

async fn scrape(url: Option<&str>) -> Result<Option<Page>, LoadtestError> {
    match url {
        Some(url) => Page::fetch(url).await.map(Some),
        None => Ok(None),
    }
}

/// Runs the executor on a thread of its own, so that signals are heard meanwhile.
async fn load_on_a_thread(
    opening: Open,
    visitors: Vec<Box<dyn Visitor>>,
    live: &mut Live<'_>,
) -> Result<OpenOutcome, LoadtestError> {
    let (told, mut seconds) = tokio::sync::mpsc::unbounded_channel();
    let loading = tokio::task::spawn_blocking(move || {
        // Nobody listens any more only when the run is being given up.
        open(&opening, visitors, &mut |now, lately| drop(told.send((now, lately.clone()))))
    });
    while let Some((now, lately)) = seconds.recv().await {
        live.second(now, &lately);
    }
    loading.await.map_err(|_| LoadtestError::Interrupted)?
}

fn figures(plan: &Plan, open: &OpenOutcome, timeline: Vec<Second>, server: Option<ServerFigures>) -> Run {
    let (outcome, tally) = (&open.outcome, &open.outcome.tally);
    let counted = |kinds: &std::collections::BTreeMap<&'static str, u64>| {
        kinds.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect()
    };
    let stages: Vec<_> = plan
        .schedule
        .stages()
        .map(|stage| results::Stage { from: stage.from, to: stage.to, seconds: stage.duration.as_secs_f64() })
        .collect();
    let latency = |percentile: f64| millis(tally.latency(percentile));
    Run {
        scenario: plan.scenario.name().into(),
        executor: if stages.len() > 1 { "ramping-arrival-rate" } else { "constant-arrival-rate" }.into(),
        rate: plan.schedule.rate(),
        achieved_rate: open.achieved_rate,
        seconds: plan.schedule.plateau().as_secs_f64(),
        stages,
        connections: plan.connections,
        requests: tally.requests(),
        failures: tally.failures_total(),
        wrong: tally.wrong_total(),
        missed: open.missed,
        errors_besides: outcome.warm_up_errors,
        failure_kinds: counted(&tally.failures),
        wrong_kinds: counted(&tally.wrong),
        first_wrong: tally.first_wrong.clone(),
        min_ms: millis(tally.min_latency()),
        mean_ms: millis(tally.mean_latency()),
        p50_ms: latency(50.0),
        p75_ms: latency(75.0),
        p90_ms: latency(90.0),
        p95_ms: latency(95.0),
        p99_ms: latency(99.0),
        p999_ms: latency(99.9),
        max_ms: millis(tally.max_latency()),
        server_cpu_us_per_request: outcome.server_us_per_request(),
        generator_cpu_us_per_request: outcome.generator_us_per_request(),
        generator_lag_ms: millis(open.worst_lag),
        generator_limit: generator_limit(plan, open),
        timeline,
        server,
        ..Run::default()
    }
}

/// Why the generator was the limit: it says so itself, lest its own trouble pass for the provider's.
fn generator_limit(plan: &Plan, open: &OpenOutcome) -> Option<String> {
    /// A thread that is busier has no time left to send when it should.
    const BUSY: f64 = 0.9;
    /// More than the system's timer and a busy core explain.
    const LATE: Duration = Duration::from_millis(100);
    let threads = plan.threads as f64;
    let busy =
        open.outcome.generator_cpu.as_secs_f64() / open.outcome.elapsed.as_secs_f64().max(0.001) / threads;
    if busy > BUSY {
        return Some(format!("its {threads} threads were busy {:.0} % of the time", busy * 100.0));
    }
    let in_the_tail = open.worst_lag > open.outcome.tally.latency(99.0) / 2;
    (open.worst_lag > LATE && in_the_tail)
        .then(|| format!("it sent {:.0} ms late at worst", millis(open.worst_lag)))
}
