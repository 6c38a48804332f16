//! The process under the drill: starts it, waits for it, kills it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use symbolon_loadtest::free_pair;

use super::{Wire, faketime};

/// The admin secret of the process.
pub const ADMIN_SECRET: &str = "the-admin-secret-of-a-drill";
/// The name of the session cookie.
pub const COOKIE: &str = "drill_session";
/// How long a start may take before it counts as failed: the first start of a cluster creates hundreds of tables.
const START: Duration = Duration::from_secs(180);

/// How to start the process.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The `symbolon` binary.
    pub binary: PathBuf,
    /// Its data directory.
    pub data: PathBuf,
    /// A command that runs the binary, such as `strace`, with its arguments.
    pub wrapper: Vec<String>,
    /// Further arguments after `serve`.
    pub arguments: Vec<String>,
    /// Environment in addition to what every drill sets.
    pub env: Vec<(String, String)>,
    /// The file for its standard error.
    pub log: PathBuf,
    issuer: String,
    address: IpAddr,
    ports: [u16; 2],
}

impl Launch {
    /// A process on two free ports of loopback.
    pub fn new(binary: &Path, data: &Path, log: &Path) -> Self {
        let ports = free_ports();
        Self {
            binary: binary.to_owned(),
            data: data.to_owned(),
            wrapper: Vec::new(),
            arguments: Vec::new(),
            env: Vec::new(),
            log: log.to_owned(),
            issuer: format!("http://127.0.0.1:{}", ports[0]),
            address: Ipv4Addr::LOCALHOST.into(),
            ports,
        }
    }

    /// The same issuer on other data and other ports.
    #[must_use]
    pub fn elsewhere(&self, data: &Path, log: &Path) -> Self {
        Self {
            data: data.to_owned(),
            log: log.to_owned(),
            ports: free_ports(),
            wrapper: Vec::new(),
            ..self.clone()
        }
    }

    /// Makes it a node of an issuer with another URL than its own address.
    #[must_use]
    pub fn of_issuer(self, issuer: &str) -> Self {
        Self { issuer: issuer.to_owned(), ..self }
    }

    /// Makes it listen at another address than loopback.
    #[must_use]
    pub fn at(self, address: IpAddr) -> Self {
        Self { address, ..self }
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs the binary through another command, such as `strace`.
    #[must_use]
    pub fn under(self, wrapper: Vec<String>) -> Self {
        Self { wrapper, ..self }
    }

    /// Gives the process a clock that is ahead of this one's by so many seconds, or behind; `None` if `faketime` is not
    /// installed. Timeouts go by the monotonic clock, which is right.
    pub fn with_clock(&self, ahead: i64) -> Option<Self> {
        let found = Command::new("faketime").arg("--version").stdout(Stdio::null()).status();
        if !found.is_ok_and(|status| status.success()) {
            return None;
        }
        let launch = self.clone().env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
        Some(launch.under(["faketime", "-f", &format!("{ahead:+}s")].map(str::to_owned).to_vec()))
    }

    /// Its issuer's URL.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The URL of its public listener.
    pub fn base(&self) -> String {
        format!("http://{}:{}", self.address, self.ports[0])
    }

    /// A wire to it.
    pub fn wire(&self) -> Wire {
        Self::wire_in_turn(&[self])
    }

    /// A wire that sends requests to several nodes of one issuer in turn.
    pub fn wire_in_turn(nodes: &[&Self]) -> Wire {
        let bases: Vec<String> = nodes.iter().map(|node| node.base()).collect();
        Wire::in_turn(&bases, ADMIN_SECRET)
    }

    /// Whether it reports itself ready.
    ///
    /// # Errors
    /// What it reports instead.
    pub fn readiness(&self) -> Result<(), String> {
        let management = Wire::new(&format!("http://{}:{}", self.address, self.ports[1]), ADMIN_SECRET);
        let answer = management.get("/readyz", &[]).map_err(|lost| lost.0)?;
        if answer.status == 200 { Ok(()) } else { Err(format!("{} {}", answer.status, answer.body)) }
    }

    /// Starts it and waits until it is ready.
    ///
    /// # Errors
    /// Its standard error, if it ended instead.
    pub fn start(&self) -> Result<Provider, String> {
        let mut words =
            self.wrapper.iter().cloned().chain([self.binary.to_string_lossy().into_owned(), "serve".into()]);
        let log =
            File::options().create(true).append(true).open(&self.log).map_err(|error| error.to_string())?;
        let before = log.metadata().map_or(0, |metadata| metadata.len());
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).args(&self.arguments).stdout(Stdio::piped()).stderr(log).stdin(Stdio::null());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("SYMBOLON_")) {
            command.env_remove(name);
        }
        command.envs(self.environment());
        faketime::remove_what_the_dead_left(Path::new(faketime::SHARED_MEMORY));
        let mut child = command.spawn().map_err(|error| format!("{}: {error}", self.binary.display()))?;
        let stdout = child.stdout.take().expect("standard output is piped");
        let mut provider = Provider { child: Some(child), wrapped: !self.wrapper.is_empty() };
        if wait_for_ready(stdout) {
            return Ok(provider);
        }
        let ended = provider.child.as_mut().and_then(|child| child.try_wait().ok().flatten());
        provider.kill();
        let mut said = String::new();
        let log = fs::read(&self.log).unwrap_or_default();
        drop(log.get(before as usize..).unwrap_or_default().read_to_string(&mut said));
        let how = ended.map_or_else(|| "it hangs".to_owned(), |status| status.to_string());
        Err(format!("it did not start, {how}: {}", said.trim()))
    }

    fn environment(&self) -> Vec<(String, String)> {
        let set = [
            ("SYMBOLON_ISSUER", self.issuer.clone()),
            ("SYMBOLON_LISTEN", format!("{}:{}", self.address, self.ports[0])),
            ("SYMBOLON_MANAGEMENT_LISTEN", format!("{}:{}", self.address, self.ports[1])),
            ("SYMBOLON_DATA_DIR", self.data.to_string_lossy().into_owned()),
            ("SYMBOLON_ADMIN_SECRET", ADMIN_SECRET.to_owned()),
            ("SYMBOLON_ADMIN_ON_PUBLIC", "true".to_owned()),
            ("SYMBOLON_TEST_ENDPOINTS", "true".to_owned()),
            ("SYMBOLON_RATE_LIMITS", "off".to_owned()),
            ("SYMBOLON_SESSION_COOKIE", COOKIE.to_owned()),
            ("SYMBOLON_LOG_LEVEL", "warn".to_owned()),
        ];
        set.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(self.env.clone()).collect()
    }
}

/// A running process. It is killed when this is dropped.
pub struct Provider {
    child: Option<Child>,
    wrapped: bool,
}

impl Provider {
    /// SIGKILL, and waits until it is gone.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.wait();
    }

    /// SIGTERM, and waits until it has ended.
    pub fn stop(&mut self) {
        self.signal(Signal::TERM);
        self.wait();
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)))
    }

    /// The id of its process, unless a wrapper runs it.
    pub fn process(&self) -> Option<u32> {
        self.child.as_ref().filter(|_| !self.wrapped).map(Child::id)
    }

    fn signal(&self, signal: Signal) {
        let Some(child) = &self.child else { return };
        let own = child.id();
        // A wrapper is only the parent: the signal goes to its child, and it ends with the child.
        let target = if self.wrapped { child_of(own).unwrap_or(own) } else { own };
        if let Some(pid) = i32::try_from(target).ok().and_then(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process(pid, signal);
        }
    }

    fn wait(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.wait().expect("a child can be waited for");
        }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.kill();
    }
}

fn child_of(pid: u32) -> Option<u32> {
    fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))
        .ok()?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

fn free_ports() -> [u16; 2] {
    let (one, two) = free_pair().expect("free ports");
    [one, two].map(|address| address.port())
}

/// Returns true as soon as the process prints that it listens. Its output is read to the end in any case, so that the
/// process never waits for a reader.
fn wait_for_ready(stdout: impl Read + Send + 'static) -> bool {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if line.starts_with("listening on ") {
                let _ = sender.send(());
            }
        }
    });
    receiver.recv_timeout(START).is_ok()
}
