//! What libfaketime leaves behind.
//!
//! It makes a semaphore and shared memory that are named after its process, and does not start where they exist. A process
//! that is killed leaves its own, and thousands of processes later another one has the same number.

use std::fs;
use std::path::Path;

/// Where Linux keeps POSIX semaphores and shared memory.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";

/// How the files are called; the number of the process follows.
const NAMES: [&str; 2] = ["sem.faketime_sem_", "faketime_shm_"];

/// Removes the files in `directory` of processes that are gone.
pub(super) fn remove_what_the_dead_left(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process =
            name.to_str().and_then(|name| NAMES.iter().find_map(|prefix| name.strip_prefix(prefix)));
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            // Another drill may have removed it at the same time.
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_living_stays() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut dead = std::process::Command::new("true").spawn().expect("a process");
        dead.wait().expect("a child can be waited for");
        let left = format!("sem.faketime_sem_{}", dead.id());
        let held = format!("faketime_shm_{}", std::process::id());
        for name in [&*left, &held, "sem.other"] {
            fs::write(directory.path().join(name), "").expect("a file can be written");
        }
        remove_what_the_dead_left(directory.path());
        let stays = |name: &str| directory.path().join(name).exists();
        assert_eq!([&*left, &held, "sem.other"].map(stays), [false, true, true]);
    }
}
