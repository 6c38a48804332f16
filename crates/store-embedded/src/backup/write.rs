//! Makes a backup while requests are served.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use symbolon_protocol::time::Timestamp;
use symbolon_store::backup::BackupReport;

use super::{
    BackupFailure, DATABASE, FORMAT, JOURNAL, MANIFEST, Manifest, SUMS, Staging, io_error, is_taken, records,
    verify,
};
use crate::EmbeddedStore;
use crate::database::{Database, DatabaseSnapshot};
use crate::journal::{Journal, JournalSnapshot};

impl EmbeddedStore {
    /// Checks whether a backup can be made in `target`, as [`backup`](Self::backup) does before it copies.
    ///
    /// # Errors
    /// [`BackupFailure`].
    pub fn check_backup_target(&self, target: &Path) -> Result<(), BackupFailure> {
        begin(target).map(drop)
    }

    /// Copies both engines as of one moment into the new directory `target`; `now` is noted in it.
    ///
    /// # Errors
    /// [`BackupFailure`]: `target` is not empty, its file system fails, or an engine does.
    pub async fn backup(&self, target: &Path, now: Timestamp) -> Result<BackupReport, BackupFailure> {
        take(&self.database, &self.journal, target, now).await
    }
}

pub(super) async fn take(
    database: &Database,
    journal: &Arc<Journal>,
    target: &Path,
    now: Timestamp,
) -> Result<BackupReport, BackupFailure> {
    let staging = begin(target)?;
    let held = Arc::clone(journal);
    let (database, journal) = database.snapshot_with(move || held.snapshot()).await?;
    let journal = journal?;
    let written = tokio::task::spawn_blocking(move || write(staging, &database, &journal, now)).await;
    written.map_err(|error| BackupFailure::Store(crate::failed(error)))?
}

fn begin(target: &Path) -> Result<Staging, BackupFailure> {
    if is_taken(target)? {
        return Err(BackupFailure::TargetNotEmpty(target.to_owned()));
    }
    Staging::begin(target, ".partial")
}

fn write(
    staging: Staging,
    database: &DatabaseSnapshot,
    journal: &JournalSnapshot,
    now: Timestamp,
) -> Result<BackupReport, BackupFailure> {
    let directory = staging.path.as_path();
    // The database first, because its log cannot be emptied until it is copied.
    database.copy_to(&directory.join(DATABASE))?;
    let records = records::write(journal, &directory.join(JOURNAL))?;
    let commit = journal.commit().get();
    let program = env!("CARGO_PKG_VERSION").to_owned();
    let manifest = Manifest { format: FORMAT, program, made_at: now, commit, records };
    let text = serde_json::to_string_pretty(&manifest).map_err(crate::failed)?;
    write_text(&directory.join(MANIFEST), &format!("{text}\n"))?;
    let (sums, bytes) = verify::sums(directory)?;
    write_text(&directory.join(SUMS), &sums)?;
    let bytes = bytes + sums.len() as u64;
    staging.finish()?;
    Ok(BackupReport { commit, records, bytes })
}

fn write_text(path: &Path, text: &str) -> Result<(), BackupFailure> {
    let write = || {
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    write().map_err(io_error(path))
}

#[cfg(test)]
mod tests;
