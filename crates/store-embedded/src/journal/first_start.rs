//! Removes what an unfinished first start left.
//!
//! fjall (3.1) creates its lock, its first journal and then its version file, and fails if any of them exists already.
//! It takes a directory without the version file for a new one. So a crash in between leaves a directory that fjall
//! never opens. Nothing can have been stored by then, so the directory is emptied; but only after a check that nothing
//! *is* stored.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// The length of the version file: three letters and a number.
const VERSION_BYTES: u64 = 4;

/// Empties fjall's directory if its creation was begun and not finished. Returns whether it did.
///
/// # Errors
/// The file system's.
pub(super) fn clear_unfinished(directory: &Path) -> io::Result<bool> {
    let version = fs::metadata(directory.join("version")).map_or(0, |version| version.len());
    if version >= VERSION_BYTES {
        return Ok(false);
    }
    let entries: Vec<_> = fs::read_dir(directory)?.collect::<Result<_, _>>()?;
    for entry in &entries {
        if !is_blank(&entry.path())? {
            return Ok(false);
        }
    }
    for entry in &entries {
        if entry.file_type()?.is_dir() {
            fs::remove_dir(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(!entries.is_empty())
}

/// Whether it is an empty directory, a journal of zeros, or another file that is too short to hold anything.
fn is_blank(path: &Path) -> io::Result<bool> {
    if path.is_dir() {
        return Ok(fs::read_dir(path)?.next().is_none());
    }
    if path.extension().is_none_or(|extension| extension != "jnl") {
        return Ok(fs::metadata(path)?.len() < VERSION_BYTES);
    }
    let mut file = fs::File::open(path)?;
    let mut chunk = vec![0; 64 << 10];
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok(true);
        }
        if chunk.iter().take(read).any(|byte| *byte != 0) {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{get, open, put, wait};
    use super::*;

    #[test]
    fn a_first_start_that_was_cut_off_is_begun_again() {
        let steps: [&dyn Fn(&Path); 4] = [
            &|path| fs::write(path.join("lock"), "").unwrap(),
            &|path| fs::create_dir(path.join("keyspaces")).unwrap(),
            &|path| fs::write(path.join("0.jnl"), [0; 1000]).unwrap(),
            &|path| fs::write(path.join("version"), "FJ").unwrap(),
        ];
        for done in 0..=steps.len() {
            let directory = tempfile::tempdir().unwrap();
            steps.iter().take(done).for_each(|step| step(directory.path()));
            let journal = open(directory.path());
            wait(&journal, journal.append([put(1, b"one")]));
            assert!(get(&journal, 1).is_some(), "after {done} steps");
        }
    }

    #[test]
    fn a_directory_that_holds_something_is_never_cleared() {
        let directory = tempfile::tempdir().unwrap();
        let journal = open(directory.path());
        wait(&journal, journal.append([put(1, b"one")]));
        drop(journal);
        assert!(!clear_unfinished(directory.path()).unwrap());
        fs::remove_file(directory.path().join("version")).unwrap();
        assert!(!clear_unfinished(directory.path()).unwrap());
        assert!(directory.path().join("0.jnl").exists());
    }
}
