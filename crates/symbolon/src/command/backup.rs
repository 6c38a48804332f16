//! `symbolon backup`.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command};
use http::Method;
use serde_json::json;
use symbolon_admin::backup_target;

use super::api::Api;
use super::output::{Column, facts, print};
use super::{CommandError, given, load, on_embedded};
use crate::cli::administration;

pub(super) fn command() -> Command {
    let target = Arg::new("directory").required(true).value_name("DIR");
    administration(
        Command::new("backup")
            .about("Copy everything but the master key, as of one moment, while the server runs")
            .arg(target.help("Directory to be made; with --server, on the server's machine")),
    )
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), CommandError> {
    const SHOWN: [Column; 4] =
        [("directory", "path"), ("commit", "commit"), ("records", "records"), ("bytes", "bytes")];
    if !Api::is_named(matches) {
        on_embedded(&load(matches)?)?;
    }
    let target = PathBuf::from(given(matches, "directory"));
    // Made absolute, because the server has another working directory.
    let target = std::path::absolute(&target).map_err(file_error(&target))?;
    let api = Api::reach(matches)?;
    // Unless `--server` names a server: the server can always write beside its data directory, but perhaps not at the
    // target. So it writes the backup there, and this command moves the backup to the target.
    let copy = match Api::is_named(matches) {
        true => None,
        false => backup_target::beside(&api.config.storage.data_dir, &format!("-{}", std::process::id())),
    };
    if copy.is_some() {
        check_target(&target)?;
    }
    let place = copy.as_deref().unwrap_or(&target);
    let mut report = api.ask_all(Method::POST, "/backup", Some(&json!({ "path": place })))?;
    api.close()?;
    if let Some(copy) = copy {
        moved(&copy, &target)?;
        if let Some(path) = report.get_mut("path") {
            *path = json!(target);
        }
    }
    let note = "master.key is not in it: keep the master key elsewhere.\n";
    Ok(print(matches, &report, |report| format!("{}{note}", facts(&SHOWN, report)))?)
}

fn file_error(path: &Path) -> impl FnOnce(io::Error) -> CommandError {
    let path = path.display().to_string();
    move |source| CommandError::File { path, source }
}

/// Refuses a target that cannot take a backup, before anything is copied.
fn check_target(target: &Path) -> Result<(), CommandError> {
    let refused = |why: &str| Err(CommandError::Usage(format!("{} {why}", target.display())));
    match target.read_dir().map(|mut entries| entries.next().is_none()) {
        Ok(true) => return Ok(()),
        Ok(false) => return refused("is not empty: a backup goes into a directory of its own"),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(source) => return Err(file_error(target)(source)),
    }
    match target.parent() {
        Some(parent) if parent.is_dir() => Ok(()),
        _ => refused("needs a directory to stand in"),
    }
}

/// Moves a complete copy to the target: by renaming it within one file system, else file by file. The target appears
/// complete.
fn moved(copy: &Path, target: &Path) -> Result<(), CommandError> {
    match fs::rename(copy, target) {
        Err(error) if error.kind() == ErrorKind::CrossesDevices => {}
        other => return other.map_err(file_error(target)),
    }
    let mut aside = target.as_os_str().to_owned();
    aside.push(".partial");
    let aside = PathBuf::from(aside);
    let across = || -> io::Result<()> {
        fs::DirBuilder::new().mode(0o700).create(&aside)?;
        for entry in fs::read_dir(copy)? {
            let entry = entry?;
            let to = aside.join(entry.file_name());
            fs::copy(entry.path(), &to)?;
            fs::File::open(&to)?.sync_all()?;
        }
        fs::File::open(&aside)?.sync_all()?;
        fs::rename(&aside, target)?;
        target.parent().map_or(Ok(()), |parent| fs::File::open(parent)?.sync_all())
    };
    let done = across().map_err(file_error(target));
    if done.is_err() {
        drop(fs::remove_dir_all(&aside));
    }
    drop(fs::remove_dir_all(copy));
    done
}
