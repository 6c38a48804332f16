//! The clock of one node, which can be set while the node runs.

use std::fs;
use std::path::{Path, PathBuf};

/// Where Debian keeps libfaketime.
const LIBRARIES: &str = "/usr/lib";

/// The library, in a directory of the machine's architecture.
const LIBRARY: &str = "faketime/libfaketime.so.1";

/// A file with the offset of a process's clock; libfaketime in that process reads it every second.
pub struct WrongClock {
    file: PathBuf,
    library: PathBuf,
}

impl WrongClock {
    /// A clock that is right at first.
    ///
    /// # Errors
    /// libfaketime is not installed.
    pub(super) fn new(file: &Path) -> Result<Self, String> {
        let directories = fs::read_dir(LIBRARIES).into_iter().flatten().flatten();
        let library = directories.map(|directory| directory.path().join(LIBRARY)).find(|path| path.exists());
        let clock = Self { file: file.to_owned(), library: library.ok_or("libfaketime is not installed")? };
        clock.set(0)?;
        Ok(clock)
    }

    /// Sets the offset of the clock in seconds.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set(&self, seconds: i32) -> Result<(), String> {
        // Renamed into place, because libfaketime must not read half of it.
        let new = self.file.with_extension("new");
        let written = fs::write(&new, format!("{seconds:+}s\n")).and_then(|()| fs::rename(&new, &self.file));
        written.map_err(|error| error.to_string())
    }

    /// The environment of the process with this clock. Only the wall clock is shifted: timeouts use the monotonic
    /// clock.
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
