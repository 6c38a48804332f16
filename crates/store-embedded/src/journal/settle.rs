//! Flushes the tables at the end, so that the next start has nothing to replay.
//!
//! fjall replays its journal when it opens, at some ten milliseconds per megabyte, even if the tables already hold all
//! of it: it examines every change to find out. So the tables are flushed and the journal is emptied afterwards. fjall
//! itself does the same with all journals but the last (docs/decisions/018).

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::engine::Tables;
use super::torn_tail::journal_number;
use crate::free_space::monotonic_now;

/// How long the end of the process may wait for the flush. Supervisors grant more (systemd: 90 s).
const AT_MOST: Duration = Duration::from_secs(20);

const PAUSE: Duration = Duration::from_millis(1);

/// Flushes every table and empties the journals, to which nothing may be written any more. False if that took too long,
/// for example because fjall's worker has ended; the journals are then left unchanged.
///
/// # Errors
/// An error of fjall or of the file system; no data is lost then either.
pub(super) fn settle(tables: &Tables, path: &Path) -> Result<bool, fjall::Error> {
    for table in tables.all() {
        table.rotate_memtable()?;
    }
    let give_up = monotonic_now() + AT_MOST;
    while tables.all().any(|table| table.sealed_memtable_count() > 0) {
        if monotonic_now() > give_up {
            return Ok(false);
        }
        thread::sleep(PAUSE);
    }
    // fjall syncs a table's file and the list of files before it drops the memtable, so the journal is not needed any
    // more.
    empty_journals(path)?;
    Ok(true)
}

fn empty_journals(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if journal_number(&path).is_some() {
            match OpenOptions::new().write(true).open(path) {
                Ok(file) => {
                    file.set_len(0)?;
                    file.sync_all()?;
                }
                // An older journal, which fjall removes once its last table is flushed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
