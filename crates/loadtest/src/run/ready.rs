//! A provider with its seed, ready for plans one after the other.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::before::Before;
use super::generators::Generators;
use super::once::run_plan;
use super::plan::Plan;
use super::{Progress, Work, repeat};
use crate::admin::{self, Admin};
use crate::agents::{Agents, Whereto};
use crate::executor::Stop;
use crate::provider::{Provider, ProviderOptions};
use crate::results::{self, Repeat, Run};
use crate::scenario::Scenario;
use crate::scrape::Page;
use crate::seed::{Family, Seed, SeedOptions, plant};
use crate::watch::Watch;
use crate::{LoadtestError, clock};

/// Where a seed comes from.
pub(crate) enum Seeding<'a> {
    /// It is planted.
    Plant(SeedOptions),
    /// It was planted before.
    File(&'a Path),
    /// There is none: nothing of it is asked for.
    Nothing,
}

/// A provider that can be loaded.
pub(crate) struct Ready {
    provider: Provider,
    /// What is to be put back at the end.
    before: Option<Before>,
    seed: Arc<Seed>,
    /// Where the seed stands, if in a file.
    seed_file: Option<PathBuf>,
    /// How many refresh-token families it had.
    families: usize,
    /// Whether somebody else may have used them: k6, which writes nothing back to the file.
    doubtful: bool,
    /// How long planting it took, where it was planted here.
    seeding: Option<Duration>,
    /// Who sends the requests, where it is not this process.
    agents: Option<Agents>,
    stop: Stop,
    interrupted: Signal,
    terminated: Signal,
    watch: Watch,
}

impl Ready {
    /// Takes or starts the provider, and plants or reads its seed. Signals are heard from here on: the first ends the
    /// preparing, later ones a load. Nothing is planted where the provider does not offer what the plans ask for.
    ///
    /// # Errors
    /// [`LoadtestError::Interrupted`] by a signal, [`LoadtestError::NotOffered`], and what kept the provider or its seed from
    /// being ready.
    pub(crate) async fn prepare(
        options: &ProviderOptions,
        shards: Option<u32>,
        (seeding, works): (Seeding<'_>, &[&dyn Work]),
        progress: &mut (dyn Write + Send),
    ) -> Result<Self, LoadtestError> {
        let mut signals = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let seed_file = match &seeding {
            Seeding::File(path) => Some(path.to_path_buf()),
            Seeding::Plant(_) | Seeding::Nothing => None,
        };
        let reaching = async {
            let provider = Provider::get(options, shards).await?;
            let target = provider.discover().await?;
            works.iter().try_for_each(|work| work.check_offer(&target))?;
            let before = Before::read(&provider, &target, progress).await?;
            Ok::<_, LoadtestError>((provider, target, before))
        };
        let is_planted = matches!(seeding, Seeding::Plant(_));
        let (provider, target, before) = unless_signalled(&mut signals, reaching).await?;
        let began = clock::now();
        let planting = async {
            match seeding {
                Seeding::Plant(options) => plant(target, &options, progress).await,
                Seeding::File(path) => Seed::load(path, target, clock::unix_seconds()),
                Seeding::Nothing => Ok(Seed::empty(target)),
            }
        };
        let seed = match unless_signalled(&mut signals, planting).await {
            Ok(seed) => Arc::new(seed),
            Err(error) => {
                if let Some(before) = before {
                    before.put_back(&provider, progress).await;
                }
                return Err(error);
            }
        };
        let families = seed.families.len();
        let doubtful = seed_file.is_some();
        let seeding = is_planted.then(|| clock::now().saturating_duration_since(began));
        let (interrupted, terminated) = signals;
        Ok(Self {
            provider,
            before,
            seed,
            seed_file,
            families,
            doubtful,
            seeding,
            agents: None,
            stop: Stop::default(),
            interrupted,
            terminated,
            watch: Watch::default(),
        })
    }

    /// Lets agents send the requests.
    pub(crate) fn by(self, agents: Option<Agents>) -> Self {
        Self { agents, ..self }
    }

    /// Tells them of each run.
    pub(crate) fn watched_by(self, watch: Watch) -> Self {
        Self { watch, ..self }
    }

    pub(crate) fn seed(&self) -> &Seed {
        &self.seed
    }

    /// Whether there is one: planted here, or in a file.
    fn has_seed(&self) -> bool {
        self.seeding.is_some() || self.seed_file.is_some()
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
            software: self.about().await?.and_then(|page| page.software()),
            // Without a seed nobody looked.
            algorithm: self.has_seed().then(|| self.seed.algorithm.to_string()),
        })
    }

    /// What the provider ran with, by name.
    pub(crate) async fn environment(&self) -> BTreeMap<String, String> {
        let page = self.about().await.ok().flatten();
        let mut told: BTreeMap<_, _> = page.iter().flat_map(Page::environment).collect();
        // Of a provider that was started here more is known.
        told.extend(self.provider.environment());
        let seed = &self.seed;
        let (users, tokens, families) = (seed.users.len(), seed.tokens.len(), self.families);
        let planted = format!(
            "{users} users, {} sessions, {tokens} access tokens, {families} refresh families",
            seed.sessions.len()
        );
        told.insert(
            "Seed".into(),
            match self.seeding {
                Some(took) => format!("{planted}, planted in {:.1} s", took.as_secs_f64()),
                None if self.has_seed() => format!("{planted}, from a file"),
                None => "none".into(),
            },
        );
        if let Ok(mut admin) = Admin::connect(&seed.target).await
            && let Ok(settings) = admin.show(admin::SETTINGS).await
        {
            let settings = settings.get("settings").cloned().unwrap_or(settings);
            let mut listed = Vec::new();
            list(&settings, "", &mut listed);
            told.insert("Settings".into(), listed.join(", "));
        }
        told
    }

    /// Loads, between two readings of the provider's figures. A signal ends the load early.
    pub(crate) async fn run(&mut self, plan: &Plan, progress: Progress<'_>) -> Result<Run, LoadtestError> {
        self.run_repeat(plan, (1, 1), progress).await
    }

    /// The same for the first, second and so on of several runs of a plan, whose names end with that.
    pub(crate) async fn run_repeat(
        &mut self,
        plan: &Plan,
        number_of: (usize, usize),
        progress: Progress<'_>,
    ) -> Result<Run, LoadtestError> {
        plan.check()?;
        let rotates = plan.work.rotates_families();
        if rotates {
            self.take_families().await?;
        }
        let repeat = repeat(number_of);
        let (mut run, families) = self.run_unless_signalled((plan, repeat), progress).await?;
        run.repeat = repeat;
        self.watch.ended(&run);
        if rotates {
            self.give_families_back(families)?;
        }
        Ok(run)
    }

    /// Loads; a signal ends the load early.
    async fn run_unless_signalled(
        &mut self,
        (plan, repeat): (&Plan, Option<Repeat>),
        progress: Progress<'_>,
    ) -> Result<(Run, Vec<Family>), LoadtestError> {
        let (seed, provider, stop, watch) = (&self.seed, &self.provider, &self.stop, &self.watch);
        watch.doing(&format!("{} is made ready", plan.work.name()));
        let generators = match &mut self.agents {
            None => Generators::Own,
            Some(agents) => Generators::Agents(agents, Whereto::of(provider)),
        };
        let provider = (provider, self.before.as_ref());
        let running = run_plan((plan, repeat), (provider, seed, stop, watch), generators, progress);
        tokio::pin!(running);
        loop {
            tokio::select! {
                ran = &mut running => return ran,
                _ = self.interrupted.recv() => stop.stop(),
                _ = self.terminated.recv() => stop.stop(),
            }
        }
    }

    /// Families that no run before left in doubt; the seed's file is told that they are in use.
    async fn take_families(&mut self) -> Result<(), LoadtestError> {
        let seed = own(&mut self.seed)?;
        let doubtful = std::mem::replace(&mut self.doubtful, false);
        let lost = doubtful || seed.families_in_use || seed.families.len() < self.families;
        if lost && seed.target.admin_secret.is_some() {
            seed.renew_families(self.families).await?;
        }
        seed.check(Scenario::Refresh, 0)?;
        seed.families_in_use = true;
        self.save()
    }

    /// A later run goes on with the newest tokens: a used one would end its family (RFC 9700 4.14.2).
    fn give_families_back(&mut self, families: Vec<Family>) -> Result<(), LoadtestError> {
        let seed = own(&mut self.seed)?;
        (seed.families, seed.families_in_use) = (families, false);
        self.save()
    }

    fn save(&self) -> Result<(), LoadtestError> {
        self.seed_file.as_ref().map_or(Ok(()), |path| self.seed.save(path))
    }

    /// Leaves the provider as its seed needs it: the seed is for later runs.
    pub(crate) fn keep_settings(&mut self) {
        if let Some(before) = self.before.take() {
            before.leave();
        }
    }

    /// Puts the settings of a running provider back, and ends one that was started here.
    pub(crate) async fn end(self, progress: &mut (dyn Write + Send)) {
        if let Some(agents) = self.agents {
            agents.end().await;
        }
        if let Some(before) = self.before {
            before.put_back(&self.provider, progress).await;
        }
        self.provider.end().await;
    }

    /// What the provider says of itself beside its figures.
    async fn about(&self) -> Result<Option<Page>, LoadtestError> {
        match &self.provider.about {
            Some(url) => Page::fetch(url, &self.provider.way).await.map(Some),
            None => Ok(None),
        }
    }
}

/// The values of a JSON document with their names, those of inner objects behind a dot.
fn list(value: &Value, name: &str, listed: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            let dot = if name.is_empty() { "" } else { "." };
            members.iter().for_each(|(member, value)| list(value, &format!("{name}{dot}{member}"), listed));
        }
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(|value| value.as_str().unwrap_or("…")).collect();
            listed.push(format!("{name} {}", values.join(" ")));
        }
        Value::String(text) => listed.push(format!("{name} {text}")),
        other => listed.push(format!("{name} {other}")),
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

/// The seed, of which nobody else holds a part between two loads.
fn own(seed: &mut Arc<Seed>) -> Result<&mut Seed, LoadtestError> {
    Arc::get_mut(seed).ok_or_else(|| LoadtestError::Options("the seed is still in use".into()))
}
