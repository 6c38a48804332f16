//! Leaves nothing to replay at the next start.
//!
//! fjall replays its journal when it opens, some ten milliseconds per megabyte, even where the tables hold all of it
//! already: it looks at every change to find out. Here the tables are written out and the journal is emptied behind
//! them, which is what fjall itself does with the journals before the last one (docs/decisions/018).

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::engine::Tables;
use super::torn_tail::journal_number;
use crate::free_space::monotonic_now;

/// How long the end of the process may wait for the tables. What supervisors grant is longer (systemd: 90 s).
const AT_MOST: Duration = Duration::from_secs(20);

const PAUSE: Duration = Duration::from_millis(1);

/// Writes every table out and empties the journals. Nothing may be written to them any more. False: it took too long,
/// or fjall's worker has gone, and they are left as they were.
///
/// # Errors
/// fjall's or the file system's; nothing is lost then either.
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
    // A table's file, and the list of its files, are synced before the memtable goes that it was made of.
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
                // An older one, which fjall removes when it has written its last table out.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
