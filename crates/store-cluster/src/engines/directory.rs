//! Directories that are gone when their owner is dropped, or, at the latest, when the process has ended.
//!
//! Servers in a `static` are never dropped, and a process that is killed drops nothing. So a shell holds the other end
//! of a pipe from this process; when the pipe closes, the process has ended, and the shell removes what is left.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use parking_lot::Mutex;
use tempfile::TempDir;

/// Reads directories line by line until the process has ended. Servers die at the same moment: one that still writes
/// may need a second attempt.
const JANITOR: &str = r#"
trap '' HUP INT TERM
while IFS= read -r directory; do set -- "$@" "$directory"; done
for attempt in 1 2 3 4 5 6 7 8 9 10; do
  rm -rf -- "$@" 2>/dev/null && exit
  sleep 0.2
done
"#;

/// A new directory `symbolon-KIND-…` among the temporary files, which only its owner may enter.
pub fn temporary(kind: &str) -> TempDir {
    let directory = tempfile::Builder::new()
        .prefix(&format!("symbolon-{kind}-"))
        .tempdir()
        .expect("a temporary directory can be made");
    entrust(directory.path());
    directory
}

/// Has the janitor remove `directory` when the process has ended.
fn entrust(directory: &Path) {
    static JANITOR_OF_THIS_PROCESS: OnceLock<Mutex<Child>> = OnceLock::new();
    let janitor = JANITOR_OF_THIS_PROCESS.get_or_init(|| {
        let spawned = Command::new("/bin/sh")
            .args(["-c", JANITOR, "janitor"])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A group of its own: a signal to the test's process group, such as Ctrl-C, must not end it.
            .process_group(0)
            .spawn();
        Mutex::new(spawned.expect("/bin/sh can be started"))
    });
    let mut janitor = janitor.lock();
    let pipe = janitor.stdin.as_mut().expect("the janitor's input is a pipe");
    writeln!(pipe, "{}", directory.display()).expect("the janitor reads");
}
