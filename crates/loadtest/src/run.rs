//! One load test: a provider, a seed, a schedule, and what came of it.

mod admin;
mod live;
mod threshold;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use symbolon_crypto::{Algorithm, SecretString};
use tokio::signal::unix::{SignalKind, signal};

pub use threshold::Rule;

use crate::executor::{Load, Open, OpenOutcome, Schedule, Stop, open};
use crate::provider::{Provider, RunningTarget, Start};
use crate::results::{self, Results, Run, Second, ServerFigures};
use crate::scenario::{Scenario, Visitor};
use crate::scrape::{Between, Page};
use crate::seed::{Seed, SeedOptions, harvest_codes, plant};
use crate::{LoadtestError, Target, machine};
use live::{Live, millis};

/// What to run.
pub struct RunOptions {
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
    /// What the provider is to sign with.
    pub algorithm: Algorithm,
    /// Shards of every kind of state, for a provider that is started here.
    pub shards: Option<u32>,
    /// What decides whether the run passed.
    pub thresholds: Vec<Rule>,
    /// A running provider; without one `program serve` is started on free ports with fresh data.
    pub target: Option<RunningTarget>,
    /// Where the started provider's data goes: a disk, not memory, or durable commits would seem free.
    pub data_parent: PathBuf,
    /// The binary that has `serve`.
    pub program: PathBuf,
    /// The file that gets the log of the provider that is started; without, it goes where this process's errors go.
    pub log: Option<PathBuf>,
    /// When the run begins, for the report: `2026-11-21T22:00:00Z`.
    pub started: String,
    /// Whether progress goes to a terminal, where a line is written over and over.
    pub terminal: bool,
}

impl RunOptions {
    /// RS256, 64 connections, the usual thresholds, against a provider that `program` starts.
    pub fn new(program: PathBuf, scenario: Scenario, schedule: Schedule) -> Self {
        Self {
            scenario,
            schedule,
            warm_up: Duration::from_secs(2),
            connections: 64,
            threads: 1,
            algorithm: Algorithm::Rs256,
            shards: None,
            thresholds: Rule::usual(),
            target: None,
            data_parent: PathBuf::from("/var/tmp"),
            program,
            log: None,
            started: String::new(),
            terminal: false,
        }
    }

    /// What the scenario needs, as much of it as the reports had.
    fn seed(&self) -> SeedOptions {
        let usual = SeedOptions { algorithm: Some(self.algorithm), ..SeedOptions::default() };
        match self.scenario {
            Scenario::Userinfo => SeedOptions { tokens: 4_000, ..usual },
            Scenario::Introspect => SeedOptions { tokens: 3_000, ..usual },
            // A family for every connection at least, or two would rotate the same.
            Scenario::Refresh => SeedOptions { families: usual.families.max(4 * self.connections), ..usual },
            _ => usual,
        }
    }

    /// The kind of state that its shards matter for.
    fn main_kind(&self) -> Option<&'static str> {
        match self.scenario {
            Scenario::Silent | Scenario::Code => Some("code"),
            Scenario::Refresh => Some("refresh"),
            Scenario::Userinfo | Scenario::Introspect | Scenario::Exchange => Some("revocation"),
            Scenario::ClientCredentials | Scenario::Discovery => None,
        }
    }

    fn name(&self, shards: Option<u32>) -> String {
        let shards = shards.map(|shards| format!(", {shards} shards")).unwrap_or_default();
        format!("{} {:.0}/s{shards}", self.scenario, self.schedule.rate())
    }

    fn load(&self, target: &Target, pid: Option<u32>, stop: &Stop) -> Load {
        Load {
            threads: self.threads,
            warm_up: self.warm_up,
            pid,
            stop: stop.clone(),
            ..Load::to(target.address)
        }
    }
}

/// Runs; blocks the calling thread, which must not be one of an asynchronous runtime. Says on `progress` how it goes.
/// A provider that it starts ends with it, also on an error. Ctrl-C or SIGTERM end the load early: the results are
/// marked as partial then, or, before there are any, it is an error.
///
/// # Errors
/// [`LoadtestError`] when it could not run. Wrong answers and thresholds that did not hold are no error: see
/// [`Results::passed`].
pub fn run(options: &RunOptions, progress: &mut (dyn Write + Send)) -> Result<Results, LoadtestError> {
    if options.connections == 0 || options.threads == 0 {
        return Err(LoadtestError::Options("a run needs a connection and a thread".into()));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ran = runtime.block_on(async {
        let stop = Stop::default();
        let mut terminated = signal(SignalKind::terminate())?;
        let mut interrupted = signal(SignalKind::interrupt())?;
        let start = Start {
            program: &options.program,
            data_parent: &options.data_parent,
            shards: options.shards,
            log: options.log.as_deref(),
        };
        let preparing = async {
            let provider = Provider::get(options.target.as_ref(), &start).await?;
            let seeded = prepare(options, &provider, progress).await;
            Ok::<_, LoadtestError>((provider, seeded?))
        };
        let (provider, seed) = tokio::select! {
            prepared = preparing => prepared?,
            _ = interrupted.recv() => return Err(LoadtestError::Interrupted),
            _ = terminated.recv() => return Err(LoadtestError::Interrupted),
        };
        let run = {
            let measuring = measure(options, &provider, (&seed, &stop), progress);
            tokio::pin!(measuring);
            loop {
                tokio::select! {
                    run = &mut measuring => break run,
                    _ = interrupted.recv() => stop.stop(),
                    _ = terminated.recv() => stop.stop(),
                }
            }
        };
        provider.end().await;
        let partial = stop.is_stopped().then(|| "interrupted".to_owned());
        Ok(Results {
            version: results::VERSION,
            title: options.scenario.name().into(),
            started: options.started.clone(),
            machine: machine::describe(),
            provider: results::Provider {
                issuer: seed.target.issuer.clone(),
                software: None,
                algorithm: Some(seed.algorithm.to_string()),
            },
            partial,
            runs: vec![run?],
        })
    });
    // Seeding under way ends by itself, its provider being gone; nobody waits for it.
    runtime.shutdown_background();
    ran
}

/// Seeds the provider.
async fn prepare(
    options: &RunOptions,
    provider: &Provider,
    progress: &mut (dyn Write + Send),
) -> Result<Arc<Seed>, LoadtestError> {
    let secret = SecretString::new(provider.secret.expose().to_owned());
    let target = Target::discover(&provider.url, Some(secret)).await?;
    let seed = Arc::new(plant(target, &options.seed(), progress).await?);
    if options.scenario == Scenario::Code {
        admin::lengthen_codes(&seed.target).await?;
        let whole = options.schedule.duration() + options.warm_up;
        let codes = (whole.as_secs_f64() * options.schedule.rate()).ceil() as usize;
        writeln!(progress, "obtaining {codes} codes")?;
        harvest_codes(&seed, codes).await?;
    }
    Ok(seed)
}

/// Loads, between two readings of the provider's figures.
async fn measure(
    options: &RunOptions,
    provider: &Provider,
    (seed, stop): (&Arc<Seed>, &Stop),
    progress: &mut (dyn Write + Send),
) -> Result<Run, LoadtestError> {
    let shards = match options.main_kind() {
        Some(kind) => admin::shards(&seed.target, kind).await,
        None => None,
    };
    let name = options.name(shards);
    let visitors = options.scenario.visitors(seed, options.connections)?;
    let before = scrape(provider.metrics.as_deref()).await?;
    let opening =
        Open { load: options.load(&seed.target, provider.pid, stop), schedule: options.schedule.clone() };
    let (outcome, timeline) = {
        let whole = (&options.schedule, options.warm_up);
        let mut live = Live::new(&name, whole, (progress, options.terminal), provider.pid);
        let outcome = load(opening, visitors, &mut live).await?;
        (outcome, live.end())
    };
    let after = scrape(provider.metrics.as_deref()).await?;
    let server = before.zip(after).map(|(before, after)| Between(&before, &after).figures());
    let mut run = figures(options, &outcome, timeline, server);
    (run.name, run.shards) = (name, shards);
    run.thresholds = options.thresholds.iter().map(|rule| rule.judge(&run)).collect();
    Ok(run)
}

async fn scrape(url: Option<&str>) -> Result<Option<Page>, LoadtestError> {
    match url {
        Some(url) => Page::fetch(url).await.map(Some),
        None => Ok(None),
    }
}

/// Runs the executor on a thread of its own, so that signals are heard meanwhile.
async fn load(
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

fn figures(
    options: &RunOptions,
    open: &OpenOutcome,
    timeline: Vec<Second>,
    server: Option<ServerFigures>,
) -> Run {
    let (outcome, tally) = (&open.outcome, &open.outcome.tally);
    let counted = |kinds: &std::collections::BTreeMap<&'static str, u64>| {
        kinds.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect()
    };
    let stages: Vec<_> = options
        .schedule
        .stages()
        .map(|stage| results::Stage { from: stage.from, to: stage.to, seconds: stage.duration.as_secs_f64() })
        .collect();
    let latency = |percentile: f64| millis(tally.latency(percentile));
    Run {
        scenario: options.scenario.name().into(),
        executor: if stages.len() > 1 { "ramping-arrival-rate" } else { "constant-arrival-rate" }.into(),
        rate: options.schedule.rate(),
        achieved_rate: open.achieved_rate,
        seconds: options.schedule.plateau().as_secs_f64(),
        stages,
        connections: options.connections,
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
        generator_limit: generator_limit(options, open),
        timeline,
        server,
        ..Run::default()
    }
}

/// Why the generator was the limit: it says so itself, lest its own trouble pass for the provider's.
fn generator_limit(options: &RunOptions, open: &OpenOutcome) -> Option<String> {
    /// A thread that is busier has no time left to send when it should.
    const BUSY: f64 = 0.9;
    /// More than the system's timer and a busy core explain.
    const LATE: Duration = Duration::from_millis(100);
    let threads = options.threads as f64;
    let busy =
        open.outcome.generator_cpu.as_secs_f64() / open.outcome.elapsed.as_secs_f64().max(0.001) / threads;
    if busy > BUSY {
        return Some(format!("its {threads} threads were busy {:.0} % of the time", busy * 100.0));
    }
    (open.worst_lag > LATE).then(|| format!("it sent {:.0} ms late at worst", millis(open.worst_lag)))
}
