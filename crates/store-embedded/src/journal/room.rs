//! Writes zeros ahead of the journal, so that the blocks of later batches exist already.
//!
//! fjall creates a journal with a length of 64 MiB but without blocks. A batch then allocates new blocks, and its sync
//! also has to write the file's inode: a second wait for the disk (or a transaction in the file system's own journal).
//! If the blocks exist and were written once, a sync writes the data only.
//!
//! Only holes before a file's end are filled. A journal that existed when fjall started has none, because fjall appends
//! to it. Correctness does not depend on the zeros: if they cannot be written, batches allocate new blocks as before.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{SeekFrom, seek};

use super::torn_tail::newest;

/// How many bytes of zeros are written at a time. The next sync has to write them too.
const FILLED: u64 = 512 << 10;
/// More zeros are written when fewer bytes than this are left.
const LEAST: u64 = 256 << 10;
/// How many bytes of batches are written between two checks. So a new journal is noticed after at most so many bytes.
const LOOK_EVERY: u64 = 128 << 10;

/// The zeros ahead of the journal. Only for the writer's thread: nobody else may write to the journal.
pub(super) struct Room {
    directory: PathBuf,
    journal: Option<Filled>,
    since_look: u64,
    zeros: Box<[u8]>,
}

/// A journal that has holes.
struct Filled {
    path: PathBuf,
    file: File,
    length: u64,
    /// Upper bound of the offset that batches have reached.
    written: u64,
    /// Offset of the end of the zeros.
    end: u64,
}

impl Room {
    /// For the journals in fjall's directory, which is not read yet.
    pub(super) fn new(directory: &Path) -> Self {
        // With this value, the first batch is followed by a check.
        let zeros = vec![0; FILLED as usize].into();
        Self { directory: directory.to_owned(), journal: None, since_look: LOOK_EVERY, zeros }
    }

    /// Notes that a batch of at most `bytes` was written. To be called between two batches.
    pub(super) fn written(&mut self, bytes: u64) {
        self.since_look += bytes;
        if let Some(journal) = &mut self.journal {
            journal.written += bytes;
        }
        if self.since_look >= LOOK_EVERY {
            self.since_look = 0;
            if let Err(error) = self.look() {
                tracing::debug!(%error, "no room was made in the journal");
                self.journal = None;
            }
        }
    }

    fn look(&mut self) -> io::Result<()> {
        let Some(path) = newest(&self.directory)? else { return Ok(()) };
        if self.journal.as_ref().is_none_or(|journal| journal.path != path) {
            self.journal = Filled::open(path)?;
        }
        match &mut self.journal {
            Some(journal) if journal.written + LEAST > journal.end => journal.fill(&self.zeros),
            _ => Ok(()),
        }
    }
}

impl Filled {
    /// `None` if the file has no hole.
    fn open(path: PathBuf) -> io::Result<Option<Self>> {
        let file = OpenOptions::new().write(true).open(&path)?;
        let length = file.metadata()?.len();
        // The start of the hole is a multiple of the block size; all written data ends before it.
        let hole = seek(&file, SeekFrom::Hole(0))?;
        Ok((hole < length).then_some(Self { path, file, length, written: hole, end: hole }))
    }

    fn fill(&mut self, zeros: &[u8]) -> io::Result<()> {
        let room = usize::try_from(self.length - self.end).unwrap_or(usize::MAX).min(zeros.len());
        let zeros = zeros.get(..room).unwrap_or_default();
        self.file.write_all_at(zeros, self.end)?;
        self.end += zeros.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn hole(path: &Path) -> u64 {
        seek(File::open(path).unwrap(), SeekFrom::Hole(0)).unwrap()
    }

    #[test]
    fn zeros_stay_ahead_of_the_batches_up_to_the_end_of_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("0.jnl");
        let mut journal = File::create(&path).unwrap();
        let length = 3 * FILLED + 5;
        journal.set_len(length).unwrap();
        let mut room = Room::new(directory.path());
        let batch = [7; 10_000];
        let mut written = 0;
        while written + batch.len() as u64 <= length {
            journal.write_all(&batch).unwrap();
            written += batch.len() as u64;
            room.written(batch.len() as u64);
            let ahead = hole(&path);
            assert!(ahead >= (written + LEAST - LOOK_EVERY).min(length), "{ahead} at {written}");
        }
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(whole.len() as u64, length);
        let (batches, rest) = whole.split_at(written as usize);
        assert!(batches.iter().all(|byte| *byte == 7) && rest.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_journal_that_is_appended_to_stays_as_it_is_and_a_new_one_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let old = directory.path().join("3.jnl");
        std::fs::write(&old, [7; 10_000]).unwrap();
        let mut room = Room::new(directory.path());
        room.written(100);
        assert_eq!(std::fs::read(&old).unwrap(), [7; 10_000]);
        let new = directory.path().join("4.jnl");
        File::create(&new).unwrap().set_len(2 * FILLED).unwrap();
        room.written(LOOK_EVERY);
        assert_eq!((hole(&new), std::fs::metadata(&old).unwrap().len()), (FILLED, 10_000));
    }

    #[test]
    fn without_a_journal_nothing_happens() {
        let directory = tempfile::tempdir().unwrap();
        Room::new(directory.path()).written(100);
        Room::new(&directory.path().join("missing")).written(100);
    }
}
