//! Checks that every file that an earlier start created is still there.
//!
//! The first start creates the file `first-start` before any data, and removes it once both engines exist. If a later
//! start finds it, the first start was interrupted before anything was acknowledged, and is continued. If it is not
//! there, a missing part means that data was lost, and the start is refused.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::{DATABASE_FILE, FORMAT_FILE, OpenError, io_error, sync_directory};

const BEGUN_FILE: &str = "first-start";

/// A file of the journal's engine. If it is missing, the engine creates an empty journal.
const JOURNAL_VERSION_FILE: &str = "journal/version";

/// Records durably that a first start has begun.
pub(super) fn note_begun(directory: &Path) -> Result<(), OpenError> {
    let path = directory.join(BEGUN_FILE);
    let made = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
    made.map_err(|source| io_error(&path, source))?;
    sync_directory(directory)
}

/// Whether a first start began there and was not completed.
pub(super) fn is_begun(directory: &Path) -> bool {
    directory.join(BEGUN_FILE).exists()
}

/// Records durably that the first start is complete.
pub(super) fn note(directory: &Path) -> Result<(), OpenError> {
    let path = directory.join(BEGUN_FILE);
    match fs::remove_file(&path) {
        Ok(()) => sync_directory(directory),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(io_error(&path, source)),
    }
}

/// Refuses a directory with a missing part, unless all parts are missing or the first start was interrupted.
pub(super) fn check(directory: &Path) -> Result<(), OpenError> {
    if is_begun(directory) {
        return Ok(());
    }
    let parts = [FORMAT_FILE, DATABASE_FILE, JOURNAL_VERSION_FILE];
    let mut missing = Vec::new();
    for part in parts {
        if length(&directory.join(part))?.unwrap_or(0) == 0 {
            missing.push(part);
        }
    }
    if missing.is_empty() || missing.len() == parts.len() {
        return Ok(());
    }
    Err(OpenError::NotWhole { path: directory.to_owned(), missing })
}

/// The size of a file in bytes; `None` if it does not exist.
fn length(path: &Path) -> Result<Option<u64>, OpenError> {
    match fs::metadata(path) {
        Ok(found) => Ok(Some(found.len())),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(source) => Err(io_error(path, source)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DataDirectory, JOURNAL_DIRECTORY};
    use super::*;
    use crate::open::tests::options;
    use crate::{EmbeddedError, EmbeddedStore, Recovery};

    /// A data directory after its first start.
    fn started() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        drop(EmbeddedStore::open(options(directory.path())).unwrap());
        directory
    }

    fn refusal(directory: &Path) -> String {
        let error = EmbeddedStore::open(options(directory)).map(drop).unwrap_err();
        assert!(matches!(error, EmbeddedError::Directory(OpenError::NotWhole { .. })), "{error}");
        error.to_string()
    }

    fn remove_database(directory: &Path) {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            if entry.file_name().to_str().unwrap().starts_with(DATABASE_FILE) {
                fs::remove_file(entry.path()).unwrap();
            }
        }
    }

    #[test]
    fn half_a_directory_is_refused_by_what_it_lacks() {
        let directory = started();
        fs::remove_dir_all(directory.path().join(JOURNAL_DIRECTORY)).unwrap();
        for _ in 0..2 {
            let told = refusal(directory.path());
            assert!(told.contains(directory.path().to_str().unwrap()), "{told}");
            assert!(
                told.contains("journal/version is missing") && told.contains("restore a backup"),
                "{told}"
            );
        }
        remove_database(directory.path());
        assert!(refusal(directory.path()).contains("symbolon.db and journal/version are missing"));

        let directory = started();
        remove_database(directory.path());
        assert!(refusal(directory.path()).contains("symbolon.db is missing"));

        let directory = started();
        fs::remove_file(directory.path().join(FORMAT_FILE)).unwrap();
        assert!(refusal(directory.path()).contains("format is missing"));
    }

    #[test]
    fn a_first_start_that_was_cut_off_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        drop(DataDirectory::open(directory.path()).unwrap());
        let started = EmbeddedStore::records(options(directory.path())).unwrap();
        drop(started);
        assert!(is_begun(directory.path()) && DataDirectory::is_new(directory.path()));
        assert!(length(&directory.path().join(DATABASE_FILE)).unwrap().unwrap() > 0);
        let store = EmbeddedStore::records(options(directory.path())).unwrap();
        store.recover(&Recovery::of(&options(directory.path()))).unwrap();
        assert!(!is_begun(directory.path()) && !DataDirectory::is_new(directory.path()));
    }

    #[test]
    fn nothing_is_whole_and_other_files_are_nobodys_loss() {
        let directory = tempfile::tempdir().unwrap();
        DataDirectory::check_whole(&directory.path().join("none")).unwrap();
        fs::write(directory.path().join("master.key"), "key").unwrap();
        DataDirectory::check_whole(directory.path()).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        DataDirectory::check_whole(started().path()).unwrap();
    }
}
