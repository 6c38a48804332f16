//! Restores a data directory from a backup, with a new epoch.

use std::fs::{self, File};
use std::path::Path;

use symbolon_protocol::time::Timestamp;

use super::{BackupFailure, DATABASE, JOURNAL, Manifest, Staging, io_error, is_taken, records, verify};
use crate::directory::{DataDirectory, make_private};
use crate::epoch;
use crate::journal::{Journal, JournalOptions, Op, Table, UnixMillis};
use crate::open::last_seen;

/// After how many records the restore waits for the disk.
const RECORDS_PER_WAIT: u64 = 10_000;

/// How to restore.
pub struct RestoreOptions {
    /// Sessions and access tokens from before the restore stay valid, including those that were ended after the backup
    /// was made. Meant for a machine that was moved, not for one that was lost.
    pub keep_sessions: bool,
    /// The clock.
    pub now: UnixMillis,
}

/// What was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// When the backup was made.
    pub made_at: Timestamp,
    /// Number of records taken over into the journal.
    pub records: u64,
    /// Number of session records left out.
    pub left_out: u64,
    /// The new epoch; `None` with [`keep_sessions`](RestoreOptions::keep_sessions). Access tokens carry whole seconds,
    /// so one that is issued within the same second is taken for an older one and refused.
    pub epoch: Option<Timestamp>,
}

/// Makes the data directory `data` from a backup; `data` must not exist or be empty. It appears complete or not at all.
/// Blocks, and must not be called on a thread of an asynchronous runtime.
///
/// # Errors
/// [`BackupFailure`]: a file of the backup is damaged (the error names it), `data` is not empty, or the disk fails.
pub fn restore(backup: &Path, data: &Path, options: &RestoreOptions) -> Result<Restored, BackupFailure> {
    if is_taken(data)? {
        return Err(BackupFailure::DataNotEmpty(data.to_owned()));
    }
    let manifest = verify::check(backup)?;
    let staging = Staging::begin(data, ".restoring")?;
    let restored = fill(backup, &manifest, &staging.path, options)?;
    staging.finish()?;
    Ok(restored)
}

fn fill(
    backup: &Path,
    manifest: &Manifest,
    data: &Path,
    options: &RestoreOptions,
) -> Result<Restored, BackupFailure> {
    let directory = DataDirectory::open(data)?;
    let database = directory.database();
    fs::copy(backup.join(DATABASE), &database).map_err(io_error(&database))?;
    make_private(&database).map_err(io_error(&database))?;
    File::open(&database).and_then(|file| file.sync_all()).map_err(io_error(&database))?;
    let journal = Journal::open(&directory.journal(), options.now.clone(), JournalOptions::default())?;
    let (mut records, mut left_out) = (0, 0);
    let path = backup.join(JOURNAL);
    let found = records::read(&path, |op: Op| {
        if !options.keep_sessions && matches!(op.table, Table::Sessions | Table::SessionsOfUser) {
            left_out += 1;
            return Ok(());
        }
        journal.append([op]);
        records += 1;
        if records % RECORDS_PER_WAIT == 0 { durable(&journal) } else { Ok(()) }
    })?;
    if found != manifest.records {
        let what = format!("it has {found} records instead of {}", manifest.records);
        return Err(BackupFailure::Damaged { path, what });
    }
    durable(&journal)?;
    let epoch = match options.keep_sessions {
        true => None,
        false => Some(epoch_after(manifest.made_at, Timestamp::from_millis((options.now)()), &journal)?),
    };
    if let Some(at) = epoch {
        journal.append([epoch::put(at)?]);
        durable(&journal)?;
    }
    journal.close()?;
    directory.note_whole()?;
    Ok(Restored { made_at: manifest.made_at, records, left_out, epoch })
}

/// The new epoch: no earlier than any time that the backup knows of. This machine's clock may be behind. An epoch by
/// that clock alone would let access tokens that the old machine issued later be accepted, though their revocations are
/// lost.
fn epoch_after(made_at: Timestamp, now: Timestamp, journal: &Journal) -> Result<Timestamp, BackupFailure> {
    let known = [last_seen(journal)?, epoch::stored(journal)?];
    Ok(known.into_iter().flatten().fold(now.max(made_at), Timestamp::max))
}

/// Waits until everything that was appended is on disk.
fn durable(journal: &Journal) -> Result<(), BackupFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.map_err(crate::failed)?.block_on(journal.flush());
    Ok(())
}

#[cfg(test)]
mod tests;
