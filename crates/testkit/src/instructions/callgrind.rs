//! The server under callgrind, and callgrind's figures.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use symbolon_crypto::{SecretString, SystemRandom, random};
use symbolon_loadtest::process::Server;
use symbolon_loadtest::{LoadtestError, Target, free_pair};
use tempfile::TempDir;

use crate::group_claims::GroupClaims;

/// The name of callgrind's files; the number of the dump is appended.
const DUMP: &str = "callgrind.out";

/// A server whose instructions are counted.
pub(super) struct Counted {
    server: Server,
    secret: String,
    directory: TempDir,
    dumps: Option<PathBuf>,
}

impl Counted {
    /// Starts `binary serve` on the embedded store; counting is off.
    pub(super) async fn start(binary: &Path, dumps: Option<&Path>) -> Result<Self, LoadtestError> {
        let directory = tempfile::Builder::new().prefix("symbolon-instructions-").tempdir_in("/var/tmp")?;
        let secret = random::base64url::<32>(&SystemRandom);
        let (listen, management) = free_pair()?;
        let issuer = format!("http://{listen}");
        let (listen, management) = (listen.to_string(), management.to_string());
        let data = directory.path().join("data");
        let environment: [(&str, &OsStr); 10] = [
            ("SYMBOLON_ISSUER", issuer.as_ref()),
            ("SYMBOLON_LISTEN", listen.as_ref()),
            ("SYMBOLON_MANAGEMENT_LISTEN", management.as_ref()),
            ("SYMBOLON_DATA_DIR", data.as_os_str()),
            ("SYMBOLON_ADMIN_SECRET", secret.as_ref()),
            ("SYMBOLON_ADMIN_ON_PUBLIC", "true".as_ref()),
            ("SYMBOLON_TEST_ENDPOINTS", "true".as_ref()),
            ("SYMBOLON_RATE_LIMITS", "off".as_ref()),
            ("SYMBOLON_LOG_LEVEL", "warn".as_ref()),
            ("SYMBOLON_WORKER_THREADS", "1".as_ref()),
        ];
        let mut out = OsString::from("--callgrind-out-file=");
        out.push(directory.path().join(DUMP));
        // Threads run in order: otherwise one may spin on a lock while the lock's owner does not run.
        let valgrind = ["--tool=callgrind", "--fair-sched=yes", "--instr-atstart=no"].map(OsString::from);
        let program = [out, binary.into(), "serve".into()];
        let log = directory.path().join("log");
        let arguments = valgrind.into_iter().chain(program);
        let server = Server::start(Path::new("valgrind"), arguments, &environment, Some(&log)).await?;
        Ok(Self { server, secret, directory, dumps: dumps.map(Path::to_owned) })
    }

    /// The target that discovery describes.
    pub(super) async fn target(&self) -> Result<Target, LoadtestError> {
        Target::discover(&self.server.url, Some(SecretString::new(self.secret.clone()))).await
    }

    /// Its admin API.
    pub(super) fn admin(&self) -> GroupClaims<'_> {
        GroupClaims { url: &self.server.url, secret: &self.secret }
    }

    /// Starts counting; before that, the server is several times faster.
    pub(super) fn count_from_now_on(&self) -> Result<(), LoadtestError> {
        self.tell(&["instrumentation", "on"])
    }

    /// Resets the count.
    pub(super) fn zero(&self) -> Result<(), LoadtestError> {
        self.tell(&["zero"])
    }

    /// The count since it was [reset](Self::zero). The dump is kept under `name`, if there is a directory for dumps.
    pub(super) fn instructions(&self, name: &str) -> Result<u64, LoadtestError> {
        self.tell(&["dump"])?;
        let missing = || failed("callgrind wrote no dump with a summary".into());
        let path = newest_dump(self.directory.path())?.ok_or_else(missing)?;
        let text = fs::read_to_string(&path)?;
        let instructions = summary(&text).ok_or_else(missing)?;
        if let Some(dumps) = &self.dumps {
            fs::create_dir_all(dumps)?;
            fs::copy(&path, dumps.join(format!("{DUMP}.{name}")))?;
        }
        fs::remove_file(&path)?;
        Ok(instructions)
    }

    /// Kills it and removes its data.
    pub(super) async fn end(self) {
        self.server.kill().await;
    }

    /// Sends a command to valgrind inside the process, through valgrind's own program for that.
    fn tell(&self, command: &[&str]) -> Result<(), LoadtestError> {
        let pid = format!("--pid={}", self.server.pid());
        let answer = Command::new("vgdb").arg(pid).args(command).output();
        let answer = answer.map_err(|error| failed(format!("vgdb cannot be started: {error}")))?;
        if answer.status.success() {
            return Ok(());
        }
        Err(failed(format!("vgdb {command:?}: {}", String::from_utf8_lossy(&answer.stderr))))
    }
}

fn failed(reason: String) -> LoadtestError {
    LoadtestError::Process { program: "valgrind".into(), reason }
}

/// The only dump in the directory: earlier ones were removed.
fn newest_dump(directory: &Path) -> Result<Option<PathBuf>, LoadtestError> {
    let prefix = format!("{DUMP}.");
    let mut found = None;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            found = Some(entry.path());
        }
    }
    Ok(found)
}

/// The sum over all functions, from the head of a dump.
fn summary(dump: &str) -> Option<u64> {
    let line = dump.lines().find_map(|line| line.strip_prefix("summary:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_stands_in_the_head_of_a_dump() {
        let dump = "# callgrind format\nversion: 1\nevents: Ir\nsummary: 161818\n\nfn=(1) write\n26 2\n";
        assert_eq!(summary(dump), Some(161_818));
        assert_eq!(summary("version: 1\n"), None);
    }
}
