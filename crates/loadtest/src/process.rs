//! Servers as child processes that never outlive the measurement.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use crate::LoadtestError;

/// What a server says on standard output when it is ready.
const READY: &str = "listening on http://";
/// How long a server may take until it says so.
const START: Duration = Duration::from_secs(30);

/// A running server; dropping it kills it.
pub struct Server {
    child: Child,
    pid: u32,
    /// Its URL, `http://ADDRESS`.
    pub url: String,
    /// Kept open: whoever writes to a closed pipe fails.
    _output: tokio::task::JoinHandle<()>,
}

impl Server {
    /// Starts a program and waits for its line `listening on http://ADDRESS`. Its standard error is added to
    /// the file `log`, or goes where this process's goes. Its standard input is a pipe that ends with this process.
    ///
    /// # Errors
    /// [`LoadtestError::Process`] when it cannot be started, ends, or is not ready within 30 s.
    pub async fn start<A: AsRef<OsStr>>(
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
        environment: &[(&str, &OsStr)],
        log: Option<&Path>,
    ) -> Result<Self, LoadtestError> {
        let errors = match log {
            Some(log) => Stdio::from(OpenOptions::new().create(true).append(true).open(log)?),
            None => Stdio::inherit(),
        };
        let failed = |reason: String| LoadtestError::Process { program: program.to_owned(), reason };
        let mut child = Command::new(program)
            .args(arguments)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed(format!("cannot be started: {error}")))?;
        let output = child.stdout.take().ok_or_else(|| failed("has no standard output".into()))?;
        let pid = child.id().ok_or_else(|| failed("ended at once".into()))?;
        let mut lines = BufReader::new(output);
        let url = match tokio::time::timeout(START, ready_line(&mut lines)).await {
            Ok(Ok(Some(url))) => url,
            Ok(Ok(None)) => {
                let status =
                    child.wait().await.map_or_else(|error| error.to_string(), |status| status.to_string());
                let said =
                    log.and_then(last_line).map(|line| format!("; it said: {line}")).unwrap_or_default();
                return Err(failed(format!("ended before it was ready: {status}{said}")));
            }
            Ok(Err(error)) => return Err(failed(format!("cannot read its output: {error}"))),
            Err(_) => {
                return Err(failed(format!("said nothing about listening within {} s", START.as_secs())));
            }
        };
        let drain = tokio::spawn(async move {
            let mut line = String::new();
            while lines.read_line(&mut line).await.is_ok_and(|read| read > 0) {
                line.clear();
            }
        });
        Ok(Self { child, pid, url, _output: drain })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Kills it and waits for its end.
    pub async fn kill(mut self) {
        let _ = self.child.kill().await;
    }
}

/// What a program said last.
fn last_line(log: &Path) -> Option<String> {
    let text = std::fs::read_to_string(log).ok()?;
    text.lines().rev().find(|line| !line.trim().is_empty()).map(str::to_owned)
}

async fn ready_line(lines: &mut BufReader<ChildStdout>) -> io::Result<Option<String>> {
    let mut line = String::new();
    while lines.read_line(&mut line).await? > 0 {
        if let Some((_, address)) = line.split_once(READY) {
            let address = address.split_whitespace().next().unwrap_or("");
            return Ok(Some(format!("http://{address}")));
        }
        line.clear();
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_program_ended_is_told_by_its_own_words() {
        let log = tempfile::NamedTempFile::new().unwrap();
        let script = ["-c", "echo first >&2; echo the disk is full >&2; exit 3"];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let started = runtime.block_on(Server::start(Path::new("/bin/sh"), script, &[], Some(log.path())));
        let told = started.err().unwrap().to_string();
        assert!(told.ends_with("exit status: 3; it said: the disk is full"), "{told}");
    }
}
