//! The settings of a provider that runs already, its numbers of shards among them, which a seed and a load change, and which are
//! put back after them: at the end, or, where that end never came, by the next load test or by `symbolon loadtest restore`, from
//! a note on disk.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use symbolon_crypto::{digest, encoding};

use crate::admin::{self, Admin};
use crate::provider::{Provider, ProviderOptions};
use crate::{LoadtestError, Target, clock};

/// A provider that restarts, or is too busy, is asked again for so long.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(500);

/// What load tests change, as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Settings {
    code_lifetime: Value,
    introspection: Value,
    /// How many shards the kinds had whose number was changed, by their place in the admin API. They are the whole provider's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    shards: BTreeMap<String, Value>,
}

/// Where numbers of shards are changed by a load.
const SHARDS: [&str; 4] =
    [admin::CODE_SHARDS, admin::SESSION_SHARDS, admin::REFRESH_SHARDS, admin::REVOCATION_SHARDS];

impl Settings {
    async fn of(target: &Target) -> Result<Self, LoadtestError> {
        let mut admin = Admin::connect(target).await?;
        let settings = admin.show(admin::SETTINGS).await?;
        let code_lifetime = settings.pointer("/settings/lifetimes/code").cloned().unwrap_or_default();
        let introspection = admin.show(admin::INTROSPECTION).await?;
        // No number of shards was changed yet.
        Ok(Self { code_lifetime, introspection, shards: BTreeMap::new() })
    }

    /// Puts back what is not so.
    async fn put_back(&self, target: &Target) -> Result<(), LoadtestError> {
        let now = Self::of(target).await?;
        let mut admin = Admin::connect(target).await?;
        if now.introspection != self.introspection {
            admin.replace(admin::INTROSPECTION, &self.introspection).await?;
        }
        if now.code_lifetime != self.code_lifetime {
            let lifetime = json!({ "lifetimes": { "code": self.code_lifetime } });
            admin.change(admin::SETTINGS, &lifetime).await?;
        }
        for path in SHARDS {
            let Some(shards) = self.shards.get(path) else { continue };
            if admin.show(path).await?.get("shards") != Some(shards) {
                admin.replace(path, &json!({ "shards": shards })).await?;
            }
        }
        Ok(())
    }

    /// What they were, in words.
    fn told(&self) -> String {
        let Self { code_lifetime, introspection, shards } = self;
        let shards = shards
            .iter()
            .map(|(path, shards)| format!(", {} {shards}", path.rsplit('/').next().unwrap_or(path)));
        format!("lifetimes.code {code_lifetime}, introspection {introspection}{}", shards.collect::<String>())
    }
}

/// Whose changes a note is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    /// A run, which puts them back.
    Run,
    /// `loadtest seed`, which leaves them for the runs to come.
    Seed,
}

/// A file that says what a provider's settings were before they were changed. It holds no secret.
#[derive(Serialize, Deserialize)]
struct Note {
    issuer: String,
    /// The load test that changed them.
    process: u32,
    settings: Settings,
}

impl Note {
    fn path(directory: &Path, issuer: &str, of: Of) -> PathBuf {
        let name = encoding::encode(&digest::sha256(&[issuer.as_bytes()]));
        let suffix = if of == Of::Seed { "seed" } else { "run" };
        directory.join(format!("{}-{suffix}.json", name.get(..22).unwrap_or(&name)))
    }

    fn read(directory: &Path, issuer: &str, of: Of) -> Option<Self> {
        let text = fs::read(Self::path(directory, issuer, of)).ok()?;
        serde_json::from_slice(&text).ok().filter(|note: &Self| note.issuer == issuer)
    }

    fn write(directory: &Path, issuer: &str, of: Of, settings: &Settings) -> io::Result<()> {
        fs::create_dir_all(directory)?;
        let note =
            Self { issuer: issuer.to_owned(), process: std::process::id(), settings: settings.clone() };
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        serde_json::to_writer(&mut file, &note)?;
        file.as_file().sync_all()?;
        file.persist(Self::path(directory, issuer, of)).map_err(|error| error.error)?;
        Ok(())
    }

    fn remove(directory: &Path, issuer: &str, of: Of) {
        // It may have been removed by `restore`.
        let _ = fs::remove_file(Self::path(directory, issuer, of));
    }

    /// Whether the load test still runs, and will put them back itself.
    fn is_of_a_running_process(&self) -> bool {
        self.process != std::process::id()
            && fs::read_to_string(format!("/proc/{}/cmdline", self.process))
                .is_ok_and(|line| line.contains("loadtest"))
    }
}

/// What the settings were before this load test.
pub(crate) struct Before {
    settings: Mutex<Settings>,
    issuer: String,
    notes: PathBuf,
}

impl Before {
    /// Reads it and notes it on disk, where there is somebody to give it back to: nothing of a provider that was started here,
    /// nothing where it is not told (its settings are then not changed either, or whoever changes them hears why not), and
    /// nothing while another load test has it. What one that was killed left changed is put back first.
    ///
    /// # Errors
    /// The note cannot be written: nothing is changed that could then not be put back.
    pub(crate) async fn read(
        provider: &Provider,
        target: &Target,
        progress: &mut (dyn Write + Send),
    ) -> Result<Option<Self>, LoadtestError> {
        if provider.is_ours() {
            return Ok(None);
        }
        let Ok(mut settings) = Settings::of(target).await else { return Ok(None) };
        let (issuer, notes) = (target.issuer.clone(), provider.notes.clone());
        if let Some(mut left) = Note::read(&notes, &issuer, Of::Run) {
            if left.is_of_a_running_process() {
                return Ok(None);
            }
            writeln!(progress, "a load test before this one was cut off: what it changed is put back")?;
            left.settings.put_back(target).await?;
            left.settings.shards.clear();
            settings = left.settings;
        }
        let before = Self { settings: Mutex::new(settings), issuer, notes };
        before.note(&before.settings())?;
        Ok(Some(before))
    }

    fn settings(&self) -> Settings {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, settings: &Settings) -> Result<(), LoadtestError> {
        Note::write(&self.notes, &self.issuer, Of::Run, settings).map_err(|error| {
            let directory = self.notes.display();
            LoadtestError::Options(format!("no note of the settings can be written to {directory}: {error}"))
        })
    }

    /// Notes how many shards a kind has, before their number is changed. A later change of the same kind changes nothing of it.
    ///
    /// # Errors
    /// As of [`read`](Self::read).
    pub(super) fn note_shards(&self, path: &'static str, shards: &Value) -> Result<(), LoadtestError> {
        let mut settings = self.settings();
        settings.shards.entry(path.to_owned()).or_insert_with(|| shards.clone());
        self.note(&settings)?;
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = settings;
        Ok(())
    }

    /// Leaves the settings as they are; `restore` can put them back.
    pub(crate) fn leave(self) {
        let settings = self.settings();
        let Self { issuer, notes, .. } = self;
        // What an earlier seed noted is older, and is what they were.
        if Note::read(&notes, &issuer, Of::Seed).is_none() {
            let _ = Note::write(&notes, &issuer, Of::Seed, &settings);
        }
        Note::remove(&notes, &issuer, Of::Run);
    }

    /// Puts back what is not as it was. Where that cannot be done, it says what it was and how it is put back later.
    pub(crate) async fn put_back(self, provider: &Provider, progress: &mut (dyn Write + Send)) {
        let settings = self.settings();
        let Self { issuer, notes, .. } = self;
        let putting_back = async || settings.put_back(&provider.discover().await?).await;
        match patiently(putting_back).await {
            Ok(()) => Note::remove(&notes, &issuer, Of::Run),
            Err(error) => {
                let told = settings.told();
                let how = "`symbolon loadtest restore`, or the next load test, puts them back";
                // Where nobody listens, there is nobody to tell.
                drop(writeln!(
                    progress,
                    "the provider's settings were not put back ({told}): {error}; {how}"
                ));
            }
        }
    }
}

/// Tries until it is done, or fails for another reason than that the provider does not answer at the moment.
async fn patiently(mut task: impl AsyncFnMut() -> Result<(), LoadtestError>) -> Result<(), LoadtestError> {
    let until = clock::now() + PATIENCE;
    loop {
        match task().await {
            Err(error) if error.is_of_the_moment() && clock::now() < until => tokio::time::sleep(PAUSE).await,
            done => return done,
        }
    }
}

/// Puts the settings of a running provider back as they were before the load tests that were cut off, and before
/// `loadtest seed`. Whether there was something to put back.
///
/// # Errors
/// The provider cannot be asked, or refuses; the notes then stay.
pub fn restore(options: &ProviderOptions) -> Result<bool, LoadtestError> {
    super::on_a_runtime(async {
        let provider = Provider::get(options, None).await?;
        let target = provider.discover().await?;
        let of = |of| Note::read(&provider.notes, &target.issuer, of);
        let (seed, run) = (of(Of::Seed), of(Of::Run));
        // A seed changes no number of shards.
        let shards = run.as_ref().map(|run| run.settings.shards.clone()).unwrap_or_default();
        // What was before the seed is older.
        let Some(note) = seed.or(run) else { return Ok(false) };
        let settings = Settings { shards, ..note.settings };
        patiently(async || settings.put_back(&target).await).await?;
        for kind in [Of::Run, Of::Seed] {
            Note::remove(&provider.notes, &target.issuer, kind);
        }
        Ok(true)
    })
}

/// Where notes go where nothing else is said: `$XDG_STATE_HOME/symbolon/loadtest`, or below `~/.local/state`, or, without a
/// home, in the directory for temporary files that survives a restart.
pub(crate) fn default_notes() -> PathBuf {
    let of = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = of("XDG_STATE_HOME").or_else(|| Some(of("HOME")?.join(".local/state")));
    state.unwrap_or_else(|| PathBuf::from("/var/tmp")).join("symbolon/loadtest")
}
