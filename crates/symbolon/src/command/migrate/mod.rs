//! `symbolon store migrate` and `symbolon store thaw`.

mod progress;
mod source;
mod thaw;

pub(super) use thaw::{command as thaw_command, run as thaw};

use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, ArgMatches, Command};
use serde_json::{Value, json};
use symbolon_app::clock::{Clock, SystemClock};
use symbolon_app::issuer;
use symbolon_config::{Config, ConfigErrors, Sources, process_env};
use symbolon_crypto::seal::MasterKey;
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::StoreError;
use symbolon_store::transfer::{Class, Export, FreezeError, Import, Record, Tally, copy, tally};
use symbolon_store_cluster::ClusterOptions;
use symbolon_store_cluster::transfer::{ClusterImport, ImportError as ClusterImportError};
use symbolon_store_embedded::backup::BackupFailure;
use symbolon_store_embedded::directory::OpenError;
use symbolon_store_embedded::transfer::{EmbeddedImport, ImportError as EmbeddedImportError};

use super::CommandError;
use super::output::{Column, print, table};
use crate::cli::{at_home, flags};
use crate::process::ProcessError;
use crate::process::secrets;
use crate::process::store::{cluster_options, embedded_options};
use progress::Progress;
use source::Source;

/// The least timeout of each engine: thousands of records are written at once, and no request waits for them.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a store was not moved.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub(crate) enum MigrateError {
    #[error("there is no data directory {}: name it by data_dir (SYMBOLON_DATA_DIR, --data-dir)", .0.display())]
    NoDirectory(std::path::PathBuf),
    #[error("the target: {0}")]
    Cluster(#[from] ClusterImportError),
    #[error("the target: {0}")]
    Embedded(#[from] EmbeddedImportError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Freeze(#[from] FreezeError),
    #[error(transparent)]
    Snapshot(#[from] BackupFailure),
    #[error(transparent)]
    Directory(#[from] OpenError),
    #[error("the target does not have the same records as the source: {0}")]
    Differs(String),
    #[error(
        "this store was moved: take it back with --force, without anything that happened on the other one since"
    )]
    Moved,
}

impl MigrateError {
    /// Whether the caller made a mistake.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(self, Self::NoDirectory(_) | Self::Moved)
    }
}

pub(super) fn command() -> Command {
    let to =
        Arg::new("to").long("to").required(true).value_name("STORE").value_parser(["cluster", "embedded"]);
    let about = "Move everything to the other store, while the one in use goes on answering reads";
    at_home(
        Command::new("migrate")
            .about(about)
            .arg(to.help("Where to: the other store is the one that is in use"))
            .after_help(
                "The settings of both stores are read, whatever store says. From the first record on the one in use takes \
                 no writes (503); at the end nothing starts on it any more.",
            ),
    )
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let config = of_both(matches)?;
    // Two threads, so that the cluster's lease is renewed even while one of them computes.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let clock = SystemClock::start();
    let to_cluster = matches.get_one::<String>("to").is_some_and(|to| to == "cluster");
    let tallies = if to_cluster {
        runtime.block_on(to_cluster_from(config, &clock))
    } else {
        runtime.block_on(to_embedded_from(config, &clock))
    };
    summary(matches, to_cluster, &tallies?)
}

/// The configuration with the settings of both stores. Those of the data directory are part of any configuration.
pub(super) fn of_both(matches: &ArgMatches) -> Result<Config, ConfigErrors> {
    let mut flags: Vec<_> = flags(matches).into_iter().filter(|(flag, _)| flag != "--store").collect();
    flags.push(("--store".to_owned(), "cluster".to_owned()));
    Config::load(Sources { file: None, env: process_env(), flags })
}

fn engines(config: &Config, clock: &Arc<SystemClock>) -> Result<ClusterOptions, CommandError> {
    let missing = || CommandError::Usage("the settings of the cluster store are missing".into());
    let mut options = cluster_options(config, clock, false).ok_or_else(missing)?;
    options.postgres.timeout = options.postgres.timeout.max(PATIENCE);
    options.redis.timeout = options.redis.timeout.max(PATIENCE);
    Ok(options)
}

async fn to_cluster_from(config: Config, clock: &Arc<SystemClock>) -> Result<Tallies, CommandError> {
    let data = config.storage.data_dir.clone();
    let from = source::find(&config)?;
    let keys = Keys::of(&config, Some(&data.join(secrets::MASTER_KEY_FILE)))?;
    // The target first: if it cannot be used, nothing has happened to the source.
    let target = ClusterImport::begin(engines(&config, clock)?).await.map_err(MigrateError::from)?;
    let source = from.freeze(Arc::new(config), clock).await?;
    moved(source, Box::new(target), &keys, clock).await
}

async fn to_embedded_from(config: Config, clock: &Arc<SystemClock>) -> Result<Tallies, CommandError> {
    let keys = Keys::of(&config, None)?;
    let options = embedded_options(&config, clock, false);
    let begun = tokio::task::spawn_blocking(move || EmbeddedImport::begin(options)).await;
    let target = begun.map_err(std::io::Error::from)?.map_err(MigrateError::from)?;
    let source = source::freeze_cluster(engines(&config, clock)?).await?;
    moved(source, Box::new(target), &keys, clock).await
}

/// The master keys of the source and of the target.
struct Keys {
    old: MasterKey,
    new: MasterKey,
}

impl Keys {
    /// The old key is the one in `kept`, the file of a data directory, if there is one, else the configuration's; the
    /// new key is the configuration's.
    fn of(config: &Config, kept: Option<&std::path::Path>) -> Result<Self, CommandError> {
        let given = config.security.master_key.as_ref().ok_or(ProcessError::NoDirectory)?;
        let again = || MasterKey::parse(&given.to_base64()).map_err(ProcessError::from);
        let old = match kept.map(secrets::read_master_key).transpose()?.flatten() {
            Some(kept) => kept,
            None => again()?,
        };
        Ok(Self { old, new: again()? })
    }

    /// Seals an issuer's secrets under the key of the target. What neither key opens is refused.
    fn seal(&self, record: Record) -> Result<Record, StoreError> {
        let Record::Issuer(whole) = record else { return Ok(record) };
        let (record, settings, keys) = *whole;
        let failed = |error: issuer::IssuerError| StoreError::Failed(error.to_string());
        let (record, keys) = issuer::rewrap(&record, &keys, &self.old, &self.new).map_err(failed)?;
        Ok(Record::Issuer(Box::new((record, settings, keys))))
    }
}

/// The sums of both stores' records.
struct Tallies {
    source: Tally,
    target: Tally,
}

/// Moves everything, and ends the source when the target is complete.
async fn moved(
    source: Source,
    target: Box<dyn Import>,
    keys: &Keys,
    clock: &Arc<SystemClock>,
) -> Result<Tallies, CommandError> {
    let done = copied(source.export(), &*target, keys, clock.now(), clock).await;
    let tallies = match done {
        Ok(tallies) => tallies,
        Err(error) => {
            progress::say(
                "the store in use takes no writes still: begin again, or give it back with `symbolon store thaw`",
            );
            target.leave().await.map_err(MigrateError::from)?;
            source.leave().await?;
            return Err(error.into());
        }
    };
    target.finish().await.map_err(MigrateError::from)?;
    source.end().await?;
    Ok(tallies)
}

async fn copied(
    source: &dyn Export,
    target: &dyn Import,
    keys: &Keys,
    now: Timestamp,
    clock: &Arc<SystemClock>,
) -> Result<Tallies, MigrateError> {
    let mut progress = Progress::new(clock);
    // What ended is moved for as long as the stores themselves would keep it.
    let ended = now - KEPT_AFTER_END;
    let change = |record| keys.seal(record);
    copy(source, target, ended, &change, &mut |class, count| progress.tell(class, count)).await?;
    progress.end();
    progress::say("comparing");
    // Compares only what has not ended: meanwhile, either store may delete what ended long ago.
    let now = clock.now();
    let (mut quiet, mut silent) = (|_, _| {}, |_, _| {});
    let (source, target) = tokio::try_join!(tally(source, now, &mut quiet), tally(target, now, &mut silent))?;
    let differing = source.differing(&target);
    if differing.is_empty() {
        return Ok(Tallies { source, target });
    }
    let counts = differing.into_iter().map(|class| {
        let (there, here) = (source.of(class).count, target.of(class).count);
        format!("{} ({there} there, {here} here)", class.as_str())
    });
    Err(MigrateError::Differs(counts.collect::<Vec<_>>().join(", ")))
}

fn summary(matches: &ArgMatches, to_cluster: bool, tallies: &Tallies) -> Result<(), CommandError> {
    const COLUMNS: [Column; 3] = [("RECORDS", "class"), ("SOURCE", "source"), ("TARGET", "target")];
    let row = |class: Class| {
        json!({
            "class": class.as_str(),
            "source": tallies.source.of(class).count,
            "target": tallies.target.of(class).count,
        })
    };
    let rows: Vec<Value> = Class::ALL.into_iter().map(row).collect();
    let next = if to_cluster {
        "Both stores have the same. Start the nodes with store = \"cluster\" and the same master key, send them the \
         requests, then stop the server of before: it answers reads until then, and does not start again.\n"
    } else {
        "Both stores have the same. Start the server with store = \"embedded\" and the same master key, send it the \
         requests, then stop the nodes: they answer reads until then, and do not start again.\n"
    };
    let value = json!({ "to": if to_cluster { "cluster" } else { "embedded" }, "records": rows });
    Ok(print(matches, &value, |_| format!("{}{next}", table(&COLUMNS, &rows)))?)
}
