//! A process beside this one that ends a provider and removes its data when this one is killed, which can then do neither
//! itself.

use std::fs;
use std::io::{self, BufRead, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// How the directories of started providers begin. Nothing else is ever removed.
pub(crate) const DIRECTORY_PREFIX: &str = "symbolon-loadtest-";
/// What this process says when it has tidied up itself.
const DONE: &str = "done";
/// So often it is looked for who serves, with a pause after each time: a provider that was just being started when its load test
/// was killed shows its directory only a moment later.
const LOOKS: usize = 5;
const PAUSE: Duration = Duration::from_millis(50);

/// The process beside, which hears of this one's end by the end of a pipe.
pub(crate) struct Guard {
    child: Child,
    pipe: ChildStdin,
}

impl Guard {
    /// Starts `program loadtest guard` for a directory.
    pub(crate) fn of(program: &Path, directory: &Path) -> io::Result<Self> {
        let mut child = Command::new(program)
            .args(["loadtest", "guard"])
            .arg(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            // Ctrl-C, and a kill of the whole group, are not for it.
            .process_group(0)
            .spawn()?;
        let pipe = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { child, pipe })
    }

    /// There is nothing left to do for it.
    pub(crate) fn dismiss(mut self) {
        // It may have been killed, and then needs no dismissal.
        let _ = writeln!(self.pipe, "{DONE}");
        drop(self.pipe);
        let _ = self.child.wait();
    }
}

/// What the process beside does: reads until the end of `input`, then ends whoever serves from the directory and removes it,
/// unless it was told that this has been done.
///
/// # Errors
/// The directory is none of a load test's, or cannot be removed.
pub fn watch(directory: &Path, input: impl BufRead) -> io::Result<()> {
    let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !name.starts_with(DIRECTORY_PREFIX) {
        return Err(io::Error::other(format!("{} is no directory of a load test", directory.display())));
    }
    if input.lines().map_while(Result::ok).any(|line| line == DONE) {
        return Ok(());
    }
    for _ in 0..LOOKS {
        for process in processes()?.filter(|process| serves_from(*process, directory)) {
            let _ = kill_process(process, Signal::KILL);
        }
        std::thread::sleep(PAUSE);
    }
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// All processes of this machine.
fn processes() -> io::Result<impl Iterator<Item = Pid>> {
    let number =
        |entry: io::Result<fs::DirEntry>| Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?);
    Ok(fs::read_dir("/proc")?.filter_map(number))
}

/// Whether the process was started with this directory for its data.
fn serves_from(process: Pid, directory: &Path) -> bool {
    let environment = fs::read(PathBuf::from(format!("/proc/{}/environ", process.as_raw_nonzero())));
    let wanted = [b"SYMBOLON_DATA_DIR=", directory.as_os_str().as_encoded_bytes()].concat();
    environment.is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|one| one == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> tempfile::TempDir {
        tempfile::Builder::new().prefix(DIRECTORY_PREFIX).tempdir().unwrap()
    }

    #[test]
    fn what_was_left_behind_is_ended_and_removed() {
        let directory = directory();
        fs::write(directory.path().join("data"), "x").unwrap();
        let mut child =
            Command::new("sleep").arg("600").env("SYMBOLON_DATA_DIR", directory.path()).spawn().unwrap();
        // Nobody has said that there is one, and its environment may not be in place yet.
        watch(directory.path(), b"".as_slice()).unwrap();
        assert!(!child.wait().unwrap().success());
        assert!(!directory.path().exists());
    }

    #[test]
    fn nothing_is_done_after_a_dismissal_or_to_others() {
        let kept = directory();
        watch(kept.path(), b"done\n".as_slice()).unwrap();
        assert!(kept.path().exists());
        let elsewhere = directory();
        let mut child =
            Command::new("sleep").arg("600").env("SYMBOLON_DATA_DIR", elsewhere.path()).spawn().unwrap();
        watch(kept.path(), b"".as_slice()).unwrap();
        assert!(child.try_wait().unwrap().is_none(), "it serves from elsewhere");
        child.kill().unwrap();
        child.wait().unwrap();
        let other = tempfile::tempdir().unwrap();
        assert!(watch(other.path(), b"".as_slice()).is_err() && other.path().exists());
    }
}
