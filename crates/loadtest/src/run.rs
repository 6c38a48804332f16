//! Load tests: a provider, a seed, loads, and what came of them.

pub(crate) mod before;
mod figures;
mod live;
mod plan;
mod ready;
mod threshold;

use std::io::Write;
use std::path::PathBuf;

use symbolon_crypto::Algorithm;

pub use plan::{Group, Plan, Reshard, Traffic};
pub(crate) use ready::{Ready, Seeding};
pub use threshold::Rule;

use crate::LoadtestError;
use crate::machine;
use crate::provider::ProviderOptions;
use crate::results::{self, Results};

/// Where progress goes, and whether that is a terminal, where a line is written over and over.
pub(crate) type Progress<'a> = (&'a mut (dyn Write + Send), bool);

/// What to run, and against what.
pub struct RunOptions {
    /// What the report calls it.
    pub title: String,
    /// The loads, by provider.
    pub groups: Vec<Group>,
    /// What the provider is to sign with.
    pub algorithm: Algorithm,
    /// The provider for all groups; each has one of its own where they are started here.
    pub provider: ProviderOptions,
    /// A seed that was planted in the target before; without, one is planted.
    pub seed: Option<PathBuf>,
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
            provider: ProviderOptions::new(program),
            seed: None,
            started: String::new(),
            terminal: false,
        }
    }

    fn check(&self) -> Result<(), LoadtestError> {
        let mut plans = self.groups.iter().flat_map(|group| &group.plans).peekable();
        if plans.peek().is_none() {
            return Err(LoadtestError::Options("there is nothing to run".into()));
        }
        plans.try_for_each(Plan::check)
    }

    /// Results without a run.
    pub(crate) fn results(&self) -> Results {
        Results {
            version: results::VERSION,
            title: self.title.clone(),
            started: self.started.clone(),
            machine: machine::describe(),
            provider: results::Provider::default(),
            partial: None,
            runs: Vec::new(),
            capacities: Vec::new(),
        }
    }

    /// A provider that is ready for the group's plans.
    pub(crate) async fn ready(
        &self,
        group: &Group,
        progress: &mut (dyn Write + Send),
    ) -> Result<Ready, LoadtestError> {
        let seeding = match &self.seed {
            Some(path) => Seeding::File(path),
            None => Seeding::Plant(group.seed(self.algorithm)),
        };
        let scenarios: Vec<_> = group.plans.iter().map(|plan| plan.scenario).collect();
        Ready::prepare(&self.provider, group.shards, (seeding, &scenarios), progress).await
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
    on_a_runtime(async {
        let mut results = options.results();
        for group in &options.groups {
            let ended = run_group(options, group, (&mut results, progress)).await;
            if cut_short(&mut results, ended)? {
                break;
            }
        }
        Ok(results)
    })
}

/// Notes why there is less than was asked for: a signal (`Ok(true)`), or an error after something was run. Whether
/// that was so.
///
/// # Errors
/// The error, where nothing was run before it.
pub(crate) fn cut_short(
    results: &mut Results,
    ended: Result<bool, LoadtestError>,
) -> Result<bool, LoadtestError> {
    match ended {
        Ok(false) => {}
        Ok(true) => results.partial = Some("interrupted".into()),
        Err(error) if results.runs.is_empty() => return Err(error),
        Err(error) => results.partial = Some(error.to_string()),
    }
    Ok(results.partial.is_some())
}

/// Runs something on a runtime of its own. What it left under way ends by itself, its provider being gone; nobody
/// waits for it.
pub(crate) fn on_a_runtime<T>(
    task: impl Future<Output = Result<T, LoadtestError>>,
) -> Result<T, LoadtestError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(task);
    runtime.shutdown_background();
    done
}

/// One provider and its plans. Whether a signal ended it early.
async fn run_group(
    options: &RunOptions,
    group: &Group,
    (results, progress): (&mut Results, &mut (dyn Write + Send)),
) -> Result<bool, LoadtestError> {
    let mut ready = options.ready(group, progress).await?;
    let loaded = run_plans(&mut ready, &group.plans, (results, (&mut *progress, options.terminal))).await;
    let stopped = ready.is_stopped();
    ready.end(progress).await;
    loaded.map(|()| stopped)
}

/// The plans one after the other, until a signal.
async fn run_plans(
    ready: &mut Ready,
    plans: &[Plan],
    (results, (progress, terminal)): (&mut Results, Progress<'_>),
) -> Result<(), LoadtestError> {
    results.provider = ready.description().await?;
    for plan in plans {
        results.runs.push(ready.run(plan, (&mut *progress, terminal)).await?);
        if ready.is_stopped() {
            break;
        }
    }
    Ok(())
}
