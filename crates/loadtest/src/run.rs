//! Load tests: a provider, a seed, loads, and what came of them.

mod abort;
pub(crate) mod before;
pub(crate) mod figure;
mod figures;
mod generators;
mod live;
mod once;
mod own;
mod plan;
mod ready;
mod relay;
mod replay;
mod soak;
mod threshold;
mod turns;
mod watch;
mod watched;
mod work;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use symbolon_crypto::Algorithm;

pub use abort::AbortRule;
pub use before::restore;
pub(crate) use live::Live;
pub(crate) use plan::CODE_SECONDS;
pub use plan::{Group, Plan, Reshard, Traffic};
pub(crate) use ready::{Ready, Seeding};
pub use soak::{SoakOptions, Tolerance};
pub use threshold::Rule;
pub use turns::run_in_turns;
pub(crate) use watch::Watchers;
pub use work::Work;

use crate::LoadtestError;
use crate::agents::{self, Agents, AgentsOptions};
use crate::machine;
use crate::provider::ProviderOptions;
use crate::results::{self, Repeat, Results};
use crate::watch::Watch;

/// Where progress goes, and whether that is a terminal, where a line is written over and over.
pub(crate) type Progress<'a> = (&'a mut (dyn Write + Send), bool);

/// What to run, and against what.
#[derive(Clone)]
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
    /// How often each plan is run.
    pub repeat: usize,
    /// Who sends the requests; without, this process does.
    pub agents: Option<Arc<AgentsOptions>>,
    /// Who watches it, if anybody.
    pub watch: Watch,
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
            repeat: 1,
            agents: None,
            watch: Watch::default(),
        }
    }

    pub(crate) fn check(&self) -> Result<(), LoadtestError> {
        let mut plans = self.groups.iter().flat_map(|group| &group.plans).peekable();
        if plans.peek().is_none() {
            return Err(LoadtestError::Options("there is nothing to run".into()));
        }
        plans.try_for_each(|plan| {
            if self.agents.is_some() {
                agents::scenario(plan)?;
            }
            plan.check()
        })?;
        match &self.agents {
            Some(agents) if self.provider.target.is_none() && !agents.are_on_loopback() => {
                let reason = "the provider that is started here listens on loopback, where agents on other machines do not \
                              reach it: name one by --target";
                Err(LoadtestError::Options(reason.into()))
            }
            _ => Ok(()),
        }
    }

    /// What the runs will be called, each so many times.
    fn names(&self, times: usize) -> Vec<String> {
        let repeats = times * self.repeat.max(1);
        let of_group = |group: &Group| {
            let name = |plan: &Plan| std::iter::repeat_n(plan.name(group.shards), repeats);
            group.plans.iter().flat_map(name).collect::<Vec<_>>()
        };
        self.groups.iter().flat_map(of_group).collect()
    }

    /// Results without a run.
    pub(crate) fn results(&self) -> Results {
        Results {
            version: results::VERSION,
            title: self.title.clone(),
            started: self.started.clone(),
            machine: machine::describe(),
            provider: results::Provider::default(),
            environment: std::collections::BTreeMap::new(),
            december_2025: false,
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
            None if !group.needs_seed() => Seeding::Nothing,
            None => Seeding::Plant(group.seed(self.algorithm)),
        };
        let works: Vec<_> = group.plans.iter().map(|plan| &*plan.work).collect();
        self.watch.doing("A provider is made ready");
        let agents = match &self.agents {
            Some(options) => Some(Agents::connect(options, progress).await?),
            None => None,
        };
        let ready = Ready::prepare(&self.provider, group.shards, (seeding, &works), progress).await?;
        Ok(ready.by(agents).watched_by(self.watch.clone()))
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
    options.watch.plan(&options.title, || options.names(1));
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

/// Notes why there is less than was asked for: a signal or a rule that ended the last run (`Ok(true)`), or an error after
/// something was run. Whether that was so.
///
/// # Errors
/// The error, where nothing was run before it.
pub(crate) fn cut_short(
    results: &mut Results,
    ended: Result<bool, LoadtestError>,
) -> Result<bool, LoadtestError> {
    match ended {
        Ok(false) => {}
        Ok(true) => results.partial = Some(results.aborted().unwrap_or_else(|| "interrupted".into())),
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
    let loaded =
        run_plans(&mut ready, (&group.plans, options.repeat), (results, (&mut *progress, options.terminal)))
            .await;
    let stopped = ready.is_stopped();
    ready.end(progress).await;
    loaded.map(|()| stopped)
}

/// The plans one after the other, each so often, until a signal.
async fn run_plans(
    ready: &mut Ready,
    (plans, repeat): (&[Plan], usize),
    (results, (progress, terminal)): (&mut Results, Progress<'_>),
) -> Result<(), LoadtestError> {
    results.provider = ready.description().await?;
    results.environment = ready.environment().await;
    for plan in plans {
        for number in 1..=repeat.max(1) {
            let run = ready.run_repeat(plan, (number, repeat), (&mut *progress, terminal)).await?;
            let loss = run.loss();
            results.runs.push(run);
            if let Some(loss) = loss {
                // Later runs would lack the agent too.
                return Err(LoadtestError::AgentsLost(loss));
            }
            if ready.is_stopped() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Which of so many runs it is, where there are several.
fn repeat((number, of): (usize, usize)) -> Option<Repeat> {
    (of > 1).then_some(Repeat { number, of })
}
