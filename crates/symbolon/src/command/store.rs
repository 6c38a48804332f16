//! `symbolon store`.

use clap::{ArgMatches, Command};
use serde_json::{Value, json};
use symbolon_app::clock::SystemClock;
use symbolon_store_cluster::{ClusterOptions, Finding, Level, check};

use super::output::{line, print};
use super::{CommandError, load, migrate};
use crate::cli::at_home;
use crate::process::store::cluster_options;

pub(super) fn command() -> Command {
    let check = Command::new("check")
        .about("Examine PostgreSQL and Redis: whether they keep what the cluster store promises")
        .after_help("Nothing is changed in them. The exit code is 1 where something is refused.");
    let epoch = Command::new("open-epoch")
        .about("After PostgreSQL was restored to an earlier moment: end every access token of before")
        .after_help("Every node must be stopped. Those that start afterwards know of the epoch.");
    Command::new("store")
        .about("Examine the engines of the cluster store, and move from one store to the other")
        .subcommand_required(true)
        .subcommand(at_home(check))
        .subcommand(at_home(epoch))
        .subcommand(migrate::command())
        .subcommand(migrate::thaw_command())
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    match matches.subcommand() {
        Some(("check", matches)) => examine(matches),
        Some(("open-epoch", matches)) => open_epoch(matches),
        Some(("migrate", matches)) => migrate::run(matches),
        Some(("thaw", matches)) => migrate::thaw(matches),
        _ => Ok(()),
    }
}

/// The options of the engines that the configuration names.
fn engines(matches: &ArgMatches) -> Result<ClusterOptions, CommandError> {
    cluster_options(&load(matches)?, &SystemClock::start(), false).ok_or_else(|| {
        let mend = "store is \"embedded\", which has no engines: write store = \"cluster\" (SYMBOLON_STORE)";
        CommandError::Usage(mend.to_owned())
    })
}

fn open_epoch(matches: &ArgMatches) -> Result<(), CommandError> {
    let options = engines(matches)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let opened = runtime.block_on(symbolon_store_cluster::open_epoch(&options.postgres))?;
    print(matches, &json!({ "opened_at": opened.millis() }), |_| {
        "An epoch is open: nodes that start now accept no access token from before.\n".to_owned()
    })?;
    Ok(())
}

fn examine(matches: &ArgMatches) -> Result<(), CommandError> {
    let options = engines(matches)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let findings = runtime.block_on(check(&options));
    print(matches, &findings.iter().map(told).collect(), |_| findings.iter().map(lines).collect())?;
    if findings.iter().any(|finding| finding.level == Level::Refused) {
        return Err(CommandError::Failed("no node starts on these engines"));
    }
    Ok(())
}

fn told(finding: &Finding) -> Value {
    json!({ "level": finding.level.to_string(), "what": finding.what, "mend": finding.mend })
}

/// A finding, and below it what to do about it.
fn lines(finding: &Finding) -> String {
    let level = finding.level.to_string();
    let mend = if finding.mend.is_empty() {
        String::new()
    } else {
        format!("{:9}mend: {}\n", "", line(&finding.mend))
    };
    format!("{level:9}{}\n{mend}", line(&finding.what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mend_stands_below_what_it_mends_where_there_is_one() {
        let fine = Finding { level: Level::Fine, what: "good".into(), mend: String::new() };
        assert_eq!(lines(&fine), "fine     good\n");
        let refused = Finding { level: Level::Refused, what: "bad\u{1b}".into(), mend: "do this".into() };
        assert_eq!(lines(&refused), "refused  bad\u{fffd}\n         mend: do this\n");
    }
}
