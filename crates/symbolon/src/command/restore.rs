//! `symbolon restore`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Value, json};
use symbolon_app::clock::{Clock, SystemClock};
use symbolon_config::Config;
use symbolon_protocol::time::Timestamp;
use symbolon_store::port::{Clients, Issuers, PageRequest, Sessions, Store, UserFilter, Users};
use symbolon_store_embedded::EmbeddedError;
use symbolon_store_embedded::backup::{self, RestoreOptions};
use symbolon_store_embedded::directory::DataDirectory;
use symbolon_store_embedded::journal::{Journal, JournalError, JournalOptions, NEVER, Table, split_value};

use super::output::{Column, facts, print};
use super::{CommandError, given, load, on_embedded};
use crate::cli::at_home;
use crate::process::store::open_embedded;
use crate::process::{ProcessError, master_key};

pub(super) fn command() -> Command {
    let source = Arg::new("directory").required(true).value_name("DIR").help("The backup");
    let keep = Arg::new("keep-sessions").long("keep-sessions").action(ArgAction::SetTrue);
    at_home(
        Command::new("restore")
            .about("Make the data directory from a backup; sessions and access tokens of before are refused")
            .arg(source)
            .arg(keep.help("Keep them, also those that were ended since: for a move, not after a loss")),
    )
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    const SHOWN: [Column; 7] = [
        ("data directory", "data_dir"),
        ("issuers", "issuers"),
        ("users", "users"),
        ("clients", "clients"),
        ("sessions", "sessions"),
        ("refresh families", "families"),
        ("revocations", "revocations"),
    ];
    let config = load(matches)?;
    on_embedded(&config)?;
    let source = Path::new(given(matches, "directory"));
    // Checked before anything is created.
    config.refuse(master_key::check_backup(&config, source).into_iter().collect())?;
    let clock = SystemClock::start();
    let now = {
        let clock = Arc::clone(&clock);
        Arc::new(move || clock.now().millis())
    };
    let options = RestoreOptions { keep_sessions: matches.get_flag("keep-sessions"), now };
    let data = config.storage.data_dir.as_path();
    let restored = backup::restore(source, data, &options)?;
    if let Some(epoch) = restored.epoch {
        // Tokens carry their time in whole seconds, so none may be issued within the second of the epoch: waits for its
        // end.
        std::thread::sleep(rest_of_the_second(epoch));
    }
    let mut answer = count(&config, &clock)?;
    for (name, value) in
        [("data_dir", json!(data)), ("made_at", json!(restored.made_at)), ("epoch", json!(restored.epoch))]
    {
        answer.insert(name.to_owned(), value);
    }
    let told = |answer: &Value| {
        let fate = if restored.epoch.is_some() { "are refused" } else { "are kept" };
        let key = if config.security.master_key.is_none() {
            format!(
                "Put the master.key of the lost data directory into {} before the start.\n",
                data.display()
            )
        } else {
            String::new()
        };
        format!("{}Sessions and access tokens of before {fate}.\n{key}", facts(&SHOWN, answer))
    };
    Ok(print(matches, &Value::Object(answer), told)?)
}

/// Counts the records in the data directory by opening it, which also proves that the restore succeeded.
fn count(config: &Config, clock: &Arc<SystemClock>) -> Result<serde_json::Map<String, Value>, CommandError> {
    let [families, revocations] = in_journal(config, clock).map_err(ProcessError::from)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let store = open_embedded(config, clock, false)?;
    let first = PageRequest { page: 1, limit: 1, search: None };
    let counted = runtime.block_on(async {
        let (mut users, mut clients, mut sessions) = (0, 0, 0);
        let issuers = store.issuers().await?;
        for issuer in &issuers {
            users += store.list_users(&issuer.id, &UserFilter::default(), &first).await?.total;
            clients += store.list_clients(&issuer.id, &first).await?.total;
            let mut after = None;
            loop {
                let some = store.next_sessions(&issuer.id, after, 1_000, clock.now()).await?;
                sessions += some.items.len() as u64;
                after = some.next;
                if after.is_none() {
                    break;
                }
            }
        }
        store.close().await?;
        Ok([
            ("issuers", issuers.len() as u64),
            ("users", users),
            ("clients", clients),
            ("sessions", sessions),
        ])
    });
    let counted = counted.map_err(ProcessError::Records)?;
    let counted = counted.into_iter().chain([("families", families), ("revocations", revocations)]);
    Ok(counted.map(|(name, count)| (name.to_owned(), json!(count))).collect())
}

/// Counts the families and revocations that have not ended. The port lists neither, so the journal is read.
fn in_journal(config: &Config, clock: &Arc<SystemClock>) -> Result<[u64; 2], EmbeddedError> {
    let directory = DataDirectory::open(&config.storage.data_dir)?;
    let now = clock.now().millis();
    let journal = Journal::open(&directory.journal(), Arc::new(move || now), JournalOptions::default())?;
    let snapshot = journal.snapshot()?;
    let count = |table: Table| {
        snapshot.table(table).try_fold(0, |count, record| {
            let (_, value) = record?;
            let lives = split_value(&value).is_some_and(|(end, _)| end == NEVER || end > now);
            Ok::<_, JournalError>(count + u64::from(lives))
        })
    };
    let counted = [count(Table::Families)?, count(Table::Revocations)?];
    drop(snapshot);
    journal.close()?;
    Ok(counted)
}

fn rest_of_the_second(at: Timestamp) -> Duration {
    Duration::from_millis(1_000 - at.millis() % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_second_is_reached() {
        for (millis, rest) in [(5_000, 1_000), (5_001, 999), (5_999, 1)] {
            assert_eq!(rest_of_the_second(Timestamp::from_millis(millis)), Duration::from_millis(rest));
        }
    }
}
