//! Lifts the freeze of a store that was to be moved, so that it takes writes again.

use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches, Command};
use http::Method;
use serde_json::json;
use symbolon_app::clock::SystemClock;
use symbolon_config::Config;
use symbolon_store::Store;
use symbolon_store::transfer::Freeze;
use symbolon_store_cluster::{ClusterOptions, ClusterStore};
use symbolon_store_embedded::directory::{DataDirectory, OpenError};
use symbolon_store_embedded::freeze;

use super::super::output::print;
use super::super::{CommandError, load};
use super::{MigrateError, source};
use crate::cli::at_home;
use crate::process::ProcessError;
use crate::process::store::cluster_options;

pub(in super::super) fn command() -> Command {
    let force = Arg::new("force").long("force").action(ArgAction::SetTrue);
    at_home(Command::new("thaw").about("Take writes again on a store that `migrate` left frozen").arg(
        force.help("Also where it was moved: what happened on the other store since is not on this one"),
    ))
}

pub(in super::super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    let config = load(matches)?;
    let force = matches.get_flag("force");
    let note = match cluster_options(&config, &SystemClock::start(), false) {
        Some(options) => {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
            runtime.block_on(cluster(options, force))?;
            "Every node takes writes."
        }
        None => embedded(config, force)?,
    };
    Ok(print(matches, &json!({ "thawed": true }), |_| format!("{note}\n"))?)
}

/// Refuses to take back a store that was moved, unless forced.
fn check(found: Freeze, force: bool) -> Result<(), MigrateError> {
    if found == Freeze::Migrated && !force { Err(MigrateError::Moved) } else { Ok(()) }
}

async fn cluster(options: ClusterOptions, force: bool) -> Result<(), CommandError> {
    let store = ClusterStore::open_whatever_moves(options).await.map_err(ProcessError::from)?;
    let thawed = async {
        check(store.frozen().await?, force)?;
        Ok::<_, MigrateError>(store.freeze(Freeze::Lifted).await?)
    };
    let thawed = thawed.await;
    store.close().await.map_err(MigrateError::from)?;
    Ok(thawed?)
}

fn embedded(config: Config, force: bool) -> Result<&'static str, CommandError> {
    let data = config.storage.data_dir.clone();
    if !data.is_dir() {
        return Err(MigrateError::NoDirectory(data).into());
    }
    check(freeze::stored(&data).map_err(MigrateError::from)?, force)?;
    match DataDirectory::open(&data) {
        Ok(_held) => {
            freeze::store(&data, Freeze::Lifted).map_err(MigrateError::from)?;
            Ok("The next start takes writes.")
        }
        Err(OpenError::Locked(_)) => {
            source::ask(Arc::new(config), Method::DELETE, "/migration", None)?;
            Ok("Restart the server: it takes writes from then on.")
        }
        Err(error) => Err(MigrateError::from(error).into()),
    }
}
