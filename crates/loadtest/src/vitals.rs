//! What a process holds: memory, open files, threads, and the disk that its data take; and how much of each it may.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const MIB: f64 = 1_048_576.0;
/// What `st_blocks` counts in, whatever the file system's own blocks are.
const BLOCK: u64 = 512;

/// One reading. What cannot be read is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Vitals {
    /// Resident memory, in MiB.
    pub(crate) memory: Option<f64>,
    /// Open files and connections.
    pub(crate) descriptors: Option<f64>,
    pub(crate) threads: Option<f64>,
    /// What its data take on the disk, in MiB.
    pub(crate) disk: Option<f64>,
}

impl Vitals {
    /// Of a process, by `/proc`, and of the directory of its data.
    pub(crate) fn of(pid: Option<u32>, data: Option<&Path>) -> Self {
        let process = |pid: u32| Self {
            memory: resident(pid),
            descriptors: entries(&format!("/proc/{pid}/fd")),
            threads: entries(&format!("/proc/{pid}/task")),
            disk: None,
        };
        let disk = data.and_then(taken).map(|bytes| bytes as f64 / MIB);
        Self { disk, ..pid.map(process).unwrap_or_default() }
    }

    /// How much of each there may be: the machine's memory, the process's limit of open files, and what is free of the disk
    /// besides what is taken already. Threads have no limit that comes first.
    pub(crate) fn limits(pid: Option<u32>, data: Option<&Path>) -> Self {
        let free = data.and_then(|data| rustix::fs::statvfs(data).ok());
        let free = free.map(|disk| disk.f_bavail as f64 * disk.f_frsize as f64 / MIB);
        Self {
            memory: pid.map(|_| crate::machine::describe().memory_mib as f64).filter(|mib| *mib > 0.0),
            descriptors: pid.and_then(open_files),
            threads: None,
            disk: free.zip(Self::of(None, data).disk).map(|(free, taken)| free + taken),
        }
    }
}

/// The second figure of `/proc/PID/statm`, in pages.
fn resident(pid: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: f64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as f64 / MIB)
}

/// How many entries a directory has.
fn entries(path: &str) -> Option<f64> {
    Some(fs::read_dir(path).ok()?.count() as f64)
}

/// The soft limit of `/proc/PID/limits`.
fn open_files(pid: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// What the files below a directory take on the disk, in bytes. Files that go away meanwhile count as nothing.
fn taken(directory: &Path) -> Option<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory).ok()?.flatten() {
        // The entry's own: what a link leads to is somebody else's.
        let Ok(metadata) = entry.metadata() else { continue };
        bytes += metadata.blocks() * BLOCK;
        if metadata.is_dir() {
            bytes += taken(&entry.path()).unwrap_or(0);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_files_and_threads() {
        let data = tempfile::tempdir().unwrap();
        let before = Vitals::of(Some(std::process::id()), Some(data.path()));
        assert!(
            before.memory > Some(1.0) && before.descriptors > Some(2.0) && before.threads >= Some(1.0),
            "{before:?}"
        );
        fs::create_dir(data.path().join("inner")).unwrap();
        fs::write(data.path().join("inner/file"), vec![7; 3 << 20]).unwrap();
        let after = Vitals::of(None, Some(data.path())).disk.unwrap();
        assert!((after - before.disk.unwrap() - 3.0).abs() < 0.5, "{after}");
        let limits = Vitals::limits(Some(std::process::id()), Some(data.path()));
        assert!(limits.memory > before.memory && limits.descriptors > before.descriptors, "{limits:?}");
        assert!(limits.disk > Some(after), "{limits:?}");
    }

    #[test]
    fn what_is_gone_is_unknown() {
        assert_eq!(Vitals::of(Some(u32::MAX), Some(Path::new("/nowhere/at/all"))), Vitals::default());
        assert_eq!(Vitals::of(None, None), Vitals::default());
    }
}
