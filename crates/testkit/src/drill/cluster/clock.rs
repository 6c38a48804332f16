//! The clock of one node, which can be set while the node runs.

use std::fs;
use std::path::{Path, PathBuf};

/// Where Debian keeps libfaketime.
const LIBRARIES: &str = "/usr/lib";

/// The library, in a directory of the machine's architecture.
const LIBRARY: &str = "faketime/libfaketime.so.1";

/// A file that says how far off the clock of a process is; libfaketime in that process reads it every second.
pub struct WrongClock {
    file: PathBuf,
    library: PathBuf,
}

impl WrongClock {
    /// A clock that is right as yet.
    ///
    /// # Errors
    /// libfaketime is not here.
    pub(super) fn new(file: &Path) -> Result<Self, String> {
        let directories = fs::read_dir(LIBRARIES).into_iter().flatten().flatten();
        let library = directories.map(|directory| directory.path().join(LIBRARY)).find(|path| path.exists());
        let clock = Self { file: file.to_owned(), library: library.ok_or("libfaketime is not installed")? };
        clock.set(0)?;
        Ok(clock)
    }

    /// Lets the clock be off by so many seconds.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set(&self, seconds: i32) -> Result<(), String> {
        // Whoever reads it meanwhile must not find half of it.
        let new = self.file.with_extension("new");
        let written = fs::write(&new, format!("{seconds:+}s\n")).and_then(|()| fs::rename(&new, &self.file));
        written.map_err(|error| error.to_string())
    }

    /// Environment of the process whose clock it is. Only the wall clock: timeouts rest on the other one.
    pub(super) fn env(&self) -> [(&'static str, String); 5] {
        [
            ("LD_PRELOAD", self.library.to_string_lossy().into_owned()),
            ("FAKETIME_TIMESTAMP_FILE", self.file.to_string_lossy().into_owned()),
            ("FAKETIME_CACHE_DURATION", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
            ("DONT_FAKE_MONOTONIC", "1".to_owned()),
        ]
    }
}
