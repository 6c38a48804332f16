//! The data directory: one process at a time, one format version, both engines or none.

mod whole;

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The version of the layout that this program writes, and the newest one that it reads. Since 2, marks in the journal have
/// values: a program of before would take some of them for something else.
pub const FORMAT_VERSION: u32 = 2;

const LOCK_FILE: &str = "lock";
const FORMAT_FILE: &str = "format";
pub(crate) const DATABASE_FILE: &str = "symbolon.db";
const JOURNAL_DIRECTORY: &str = "journal";

/// Why a data directory could not be opened. [`problem`](Self::problem) describes the error, [`mend`](Self::mend) what
/// to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it open.
    #[error("the data directory {} {}: {}", .0.display(), self.problem(), self.mend())]
    Locked(PathBuf),
    /// A newer program has written it.
    #[error("the data directory {} {}: {}", path.display(), self.problem(), self.mend())]
    NewerFormat {
        /// The directory.
        path: PathBuf,
        /// The version in its `format` file.
        found: u32,
    },
    /// The `format` file is not a number, so this may not be our directory at all.
    #[error("the data directory {} {}: {}", .0.display(), self.problem(), self.mend())]
    BadFormat(PathBuf),
    /// A file that an earlier start created there is missing or empty.
    #[error("the data directory {} (data_dir) {}: {}", path.display(), self.problem(), self.mend())]
    NotWhole {
        /// The directory.
        path: PathBuf,
        /// The names of the missing files.
        missing: Vec<&'static str>,
    },
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory in question.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl OpenError {
    /// What is wrong with the directory.
    #[must_use]
    pub fn problem(&self) -> String {
        match self {
            Self::Locked(_) => "is in use by another process".to_owned(),
            Self::NewerFormat { found, .. } => {
                format!("has format {found}, and this program knows formats up to {FORMAT_VERSION}")
            }
            Self::BadFormat(_) => format!("has a file `{FORMAT_FILE}` that holds no format version"),
            Self::NotWhole { missing, .. } => {
                let are = if missing.len() == 1 { "is" } else { "are" };
                format!("is not whole: {} {are} missing", missing.join(" and "))
            }
            Self::Io { path, source } => format!("cannot be used: {}: {source}", path.display()),
        }
    }

    /// What to do about it.
    #[must_use]
    pub const fn mend(&self) -> &'static str {
        match self {
            Self::Locked(_) => "stop that one, or name another directory by data_dir",
            Self::NewerFormat { .. } => {
                "start the newer program again, or restore a backup made before the upgrade"
            }
            Self::BadFormat(_) => "name another directory by data_dir, or restore a backup",
            Self::NotWhole { .. } => {
                "put back what was taken out of it, restore a backup into a fresh directory, or remove the whole \
                 directory to begin anew"
            }
            Self::Io { .. } => "name a directory that belongs to the user whom the server runs as",
        }
    }
}

/// An open data directory. Holds the lock until it is dropped.
#[derive(Debug)]
pub struct DataDirectory {
    path: PathBuf,
    _lock: File,
}

impl DataDirectory {
    /// Opens `path`, creating it with mode 0700 if it does not exist, and locks it.
    ///
    /// # Errors
    /// [`OpenError::Locked`] if another process has it, [`OpenError::NewerFormat`] if a newer program has
    /// written it, [`OpenError::NotWhole`] if a part of it is gone, [`OpenError::Io`] for the rest.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, OpenError> {
        let path = path.into();
        create_directory(&path)?;
        let lock = take_lock(&path)?;
        let format = format_of(&path)?;
        Self::check_whole(&path)?;
        if format.is_none() {
            whole::note_begun(&path)?;
        }
        // Before anything of this version is written, so that a program of an earlier one refuses the directory from now on.
        if format != Some(FORMAT_VERSION) {
            write_format(&path)?;
        }
        let directory = Self { path, _lock: lock };
        create_directory(&directory.journal())?;
        sync_directory(&directory.path)?;
        Ok(directory)
    }

    /// Whether the directory at `path` has a `format` file with a version that this program reads. False if there is no
    /// such file. Creates and locks nothing.
    ///
    /// # Errors
    /// [`OpenError::NewerFormat`] and [`OpenError::BadFormat`] for a format that this program does not read,
    /// [`OpenError::Io`] for the rest.
    pub fn is_known(path: &Path) -> Result<bool, OpenError> {
        format_of(path).map(|format| format.is_some())
    }

    /// Whether the next start on the directory at `path` is the first one, or continues a first start that was
    /// interrupted.
    #[must_use]
    pub fn is_new(path: &Path) -> bool {
        whole::is_begun(path) || matches!(Self::is_known(path), Ok(false))
    }

    /// Refuses a directory that has lost the database, the journal or the `format` file: opening the rest would give a
    /// new provider, or one at which nothing was ever revoked. An interrupted first start is not refused. Creates and
    /// locks nothing.
    ///
    /// # Errors
    /// [`OpenError::NotWhole`] with what is missing, [`OpenError::Io`] for the rest.
    pub fn check_whole(path: &Path) -> Result<(), OpenError> {
        whole::check(path)
    }

    /// Records durably that both engines exist. From now on the directory is refused if one of them is missing.
    ///
    /// # Errors
    /// [`OpenError::Io`].
    pub fn note_whole(&self) -> Result<(), OpenError> {
        whole::note(&self.path)
    }

    /// Whether a process holds the lock of the directory at `path`. Creates nothing.
    #[must_use]
    pub fn is_held(path: &Path) -> bool {
        let lock = OpenOptions::new().read(true).write(true).open(path.join(LOCK_FILE));
        lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// The directory itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the [journal](crate::journal) lives.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.path.join(JOURNAL_DIRECTORY)
    }

    /// The file of the [database](crate::database).
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.path.join(DATABASE_FILE)
    }

    /// The file of the key that encrypts the other keys, unless the configuration names another.
    #[must_use]
    pub fn master_key(&self) -> PathBuf {
        self.path.join("master.key")
    }
}

/// Makes the entries of a directory durable: a new file whose name was never synced can vanish in a power cut.
///
/// # Errors
/// [`OpenError::Io`] with the directory's name.
pub fn sync_directory(path: &Path) -> Result<(), OpenError> {
    File::open(path).and_then(|directory| directory.sync_all()).map_err(|source| io_error(path, source))
}

/// Creates the file if it does not exist, and takes all permissions from group and others.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    make_private(path)
}

/// Takes all permissions on a file, if it exists, from group and others.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    let mode = match fs::metadata(path) {
        Ok(metadata) => metadata.permissions().mode() & 0o777,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if mode & 0o077 == 0 {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o700))
}

fn create_directory(path: &Path) -> Result<(), OpenError> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent {
        create_directory(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => return Err(io_error(path, source)),
        _ => {}
    }
    sync_directory(parent.unwrap_or_else(|| Path::new(".")))
}

fn take_lock(directory: &Path) -> Result<File, OpenError> {
    let path = directory.join(LOCK_FILE);
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(&path)
        .map_err(|source| io_error(&path, source))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked(directory.to_owned())),
        Err(TryLockError::Error(source)) => Err(io_error(&path, source)),
    }
}

/// The version in the `format` file of a directory, which this program reads; `None` if there is no such file.
fn format_of(path: &Path) -> Result<Option<u32>, OpenError> {
    let file = path.join(FORMAT_FILE);
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) if source.kind() == io::ErrorKind::InvalidData => {
            return Err(OpenError::BadFormat(path.to_owned()));
        }
        Err(source) => return Err(io_error(&file, source)),
    };
    match text.trim().parse::<u32>() {
        Ok(found) if found > FORMAT_VERSION => Err(OpenError::NewerFormat { path: path.to_owned(), found }),
        Ok(found @ 1..) => Ok(Some(found)),
        Ok(0) | Err(_) => Err(OpenError::BadFormat(path.to_owned())),
    }
}

/// Writes the version to a temporary file and renames it, so that a power cut leaves either no file or a complete one.
fn write_format(directory: &Path) -> Result<(), OpenError> {
    let path = &directory.join(FORMAT_FILE);
    let aside = path.with_extension("new");
    let written = || -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&aside)?;
        writeln!(file, "{FORMAT_VERSION}")?;
        file.sync_all()?;
        fs::rename(&aside, path)
    };
    written().map_err(|source| io_error(path, source))?;
    sync_directory(directory)
}

fn io_error(path: &Path, source: io::Error) -> OpenError {
    OpenError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn creates_nested_private_directories_and_the_format_file() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("a/b");
        let directory = DataDirectory::open(&path).unwrap();
        for private in [directory.path(), &directory.journal()] {
            assert_eq!(fs::metadata(private).unwrap().permissions().mode() & 0o777, 0o700);
        }
        assert_eq!(fs::read_to_string(path.join(FORMAT_FILE)).unwrap(), "2\n");
        assert!(directory.database().ends_with("a/b/symbolon.db"));
        assert!(directory.master_key().ends_with("a/b/master.key"));
    }

    #[test]
    fn a_second_opener_is_refused_by_name_until_the_first_lets_go() {
        let temporary = tempfile::tempdir().unwrap();
        let first = DataDirectory::open(temporary.path()).unwrap();
        let error = DataDirectory::open(temporary.path()).unwrap_err();
        assert!(matches!(error, OpenError::Locked(_)));
        assert!(error.to_string().contains(temporary.path().to_str().unwrap()));
        drop(first);
        DataDirectory::open(temporary.path()).unwrap();
    }

    #[test]
    fn a_newer_format_is_refused_by_number() {
        let temporary = tempfile::tempdir().unwrap();
        fs::write(temporary.path().join(FORMAT_FILE), "3\n").unwrap();
        let error = DataDirectory::open(temporary.path()).unwrap_err();
        assert!(matches!(error, OpenError::NewerFormat { found: 3, .. }));
        assert!(error.to_string().contains("format 3"));
    }

    #[test]
    fn an_older_format_is_opened_and_no_longer_one_of_programs_of_before() {
        let temporary = tempfile::tempdir().unwrap();
        let format = temporary.path().join(FORMAT_FILE);
        drop(DataDirectory::open(temporary.path()).unwrap());
        fs::write(&format, "1\n").unwrap();
        drop(DataDirectory::open(temporary.path()).unwrap());
        assert_eq!(fs::read_to_string(&format).unwrap(), "2\n");
    }

    #[test]
    fn a_foreign_format_file_is_refused() {
        let temporary = tempfile::tempdir().unwrap();
        for text in [&b""[..], b"0", b"hello", b"\xff"] {
            fs::write(temporary.path().join(FORMAT_FILE), text).unwrap();
            assert!(matches!(DataDirectory::open(temporary.path()), Err(OpenError::BadFormat(_))));
        }
    }
}
