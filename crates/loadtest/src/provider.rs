//! The provider under load: given, or started here.

use std::ffi::OsStr;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::path::{Path, PathBuf};

use symbolon_crypto::{SecretString, SystemRandom, random};
use tempfile::TempDir;

use crate::admin;
use crate::client::Way;
use crate::guard::{DIRECTORY_PREFIX, Guard};
use crate::process::Server;
use crate::run::before::default_notes;
use crate::target::AdminPlace;
use crate::{LoadtestError, Target};

/// A provider that runs already.
pub struct RunningTarget {
    /// Its public URL.
    pub url: String,
    /// Where its admin API is, down to `/api/admin` or `/api/admin/issuers/ID`; without, on the public listener.
    pub admin_url: Option<String>,
    /// The URLs of further nodes of it, which share the load.
    pub others: Vec<String>,
    /// The admin API's secret; without it only a seed from a file will do.
    pub admin_secret: Option<SecretString>,
    /// Its process, where it is on this machine.
    pub pid: Option<u32>,
    /// Where its figures are, for instance `http://127.0.0.1:9090/metrics`. Of several nodes it is only read there what they run
    /// with: the figures are one node's.
    pub metrics: Option<String>,
}

impl Clone for RunningTarget {
    fn clone(&self) -> Self {
        Self {
            url: self.url.clone(),
            admin_url: self.admin_url.clone(),
            others: self.others.clone(),
            admin_secret: self.admin_secret.as_ref().map(copy),
            pid: self.pid,
            metrics: self.metrics.clone(),
        }
    }
}

/// Which provider is loaded, and how one is started where none is given.
#[derive(Clone)]
pub struct ProviderOptions {
    /// A running provider; without one `program serve` is started on free ports, with fresh data.
    pub target: Option<RunningTarget>,
    /// The binary that has `serve`.
    pub program: PathBuf,
    /// Where a started provider's data goes: a disk, not memory, or durable commits would seem free.
    pub data_parent: PathBuf,
    /// The file that a started provider adds its log to; without, it goes where this process's errors go.
    pub log: Option<PathBuf>,
    /// How the provider is asked.
    pub way: Way,
    /// Where it is noted what a running provider's settings were, in case this process is killed.
    pub notes: PathBuf,
    /// The binary that has `loadtest guard`, which ends a started provider in that case; without, nobody does.
    pub guard: Option<PathBuf>,
}

impl ProviderOptions {
    /// One that `program` starts, with its data on a disk, by HTTP/1.1.
    pub fn new(program: PathBuf) -> Self {
        Self {
            target: None,
            program,
            data_parent: PathBuf::from("/var/tmp"),
            log: None,
            way: Way::default(),
            notes: default_notes(),
            guard: None,
        }
    }
}

/// The provider under load.
pub(crate) struct Provider {
    pub(crate) url: String,
    pub(crate) others: Vec<String>,
    pub(crate) secret: Option<SecretString>,
    pub(crate) pid: Option<u32>,
    pub(crate) metrics: Option<String>,
    /// Where it says what it is and what it runs with.
    pub(crate) about: Option<String>,
    pub(crate) way: Way,
    pub(crate) notes: PathBuf,
    admin_url: Option<String>,
    started: Option<Started>,
}

/// A provider that was started here.
struct Started {
    server: Server,
    data: TempDir,
    guard: Option<Guard>,
}

impl Provider {
    /// The given one, or one that is started with so many shards of every kind of state, or its own number of them.
    pub(crate) async fn get(options: &ProviderOptions, shards: Option<u32>) -> Result<Self, LoadtestError> {
        match &options.target {
            Some(target) => Ok(Self {
                url: target.url.clone(),
                others: target.others.clone(),
                secret: target.admin_secret.as_ref().map(copy),
                pid: target.pid,
                metrics: target.metrics.clone().filter(|_| target.others.is_empty()),
                about: target.metrics.clone(),
                way: options.way.clone(),
                notes: options.notes.clone(),
                admin_url: target.admin_url.clone(),
                started: None,
            }),
            None => Self::start(options, shards).await,
        }
    }

    /// What discovery says of it.
    pub(crate) async fn discover(&self) -> Result<Target, LoadtestError> {
        let mut target = Target::discover_by(&self.way, &self.url, self.secret.as_ref().map(copy)).await?;
        if let Some(url) = &self.admin_url {
            target.admin = AdminPlace::of(url, &self.way)?;
        } else if target.admin_secret.is_some() {
            admin::find_issuer(&mut target).await?;
        }
        target.with_others(&self.way, &self.others)
    }

    async fn start(options: &ProviderOptions, shards: Option<u32>) -> Result<Self, LoadtestError> {
        let data = data_directory(&options.data_parent)?;
        let secret = SecretString::new(random::base64url::<32>(&SystemRandom));
        let (listen, management) = free_pair()?;
        let url = format!("http://{listen}");
        let metrics = format!("http://{management}/metrics");
        let (listen, management) = (listen.to_string(), management.to_string());
        let mut environment: Vec<(&str, &OsStr)> = vec![
            ("SYMBOLON_ISSUER", url.as_ref()),
            ("SYMBOLON_LISTEN", listen.as_ref()),
            ("SYMBOLON_MANAGEMENT_LISTEN", management.as_ref()),
            ("SYMBOLON_DATA_DIR", data.path().as_os_str()),
            ("SYMBOLON_ADMIN_SECRET", secret.expose().as_ref()),
            ("SYMBOLON_ADMIN_ON_PUBLIC", "true".as_ref()),
            ("SYMBOLON_TEST_ENDPOINTS", "true".as_ref()),
            ("SYMBOLON_RATE_LIMITS", "off".as_ref()),
        ];
        let shards = shards.map(|shards| shards.to_string());
        if let Some(shards) = &shards {
            environment.extend(SHARDS.map(|name| (name, OsStr::new(shards))));
        }
        let guard = options.guard.as_ref().map(|program| Guard::of(program, data.path())).transpose()?;
        let server = Server::start(&options.program, ["serve"], &environment, options.log.as_deref()).await?;
        Ok(Self {
            url: server.url.clone(),
            others: Vec::new(),
            pid: Some(server.pid()),
            secret: Some(secret),
            about: Some(metrics.clone()),
            metrics: Some(metrics),
            way: options.way.clone(),
            notes: options.notes.clone(),
            admin_url: None,
            started: Some(Started { server, data, guard }),
        })
    }

    /// What it runs with, by name, where that is known: what is started here has its settings from here.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let told = |name: &str, value: String| (name.to_owned(), value);
        match &self.started {
            Some(started) => vec![
                told("Store", format!("embedded, with fresh data in {}", started.data.path().display())),
                told("Rate limits", "off".into()),
                told("Test endpoints", "on".into()),
            ],
            None => vec![told("Nodes", (1 + self.others.len()).to_string())],
        }
    }

    /// Where its data are, if it was started here.
    pub(crate) fn data_directory(&self) -> Option<PathBuf> {
        self.started.as_ref().map(|started| started.data.path().to_owned())
    }

    /// Whether it was started here, so that nobody else has it.
    pub(crate) const fn is_ours(&self) -> bool {
        self.started.is_some()
    }

    /// Ends it if it was started here, and removes its data.
    pub(crate) async fn end(self) {
        if let Some(Started { server, data, guard }) = self.started {
            server.kill().await;
            drop(data);
            if let Some(guard) = guard {
                guard.dismiss();
            }
        }
    }
}

fn copy(secret: &SecretString) -> SecretString {
    SecretString::new(secret.expose().to_owned())
}

/// The number of shards of every kind, as the provider's environment names it.
const SHARDS: [&str; 6] = [
    "SYMBOLON_SHARDS_CODE",
    "SYMBOLON_SHARDS_SESSION",
    "SYMBOLON_SHARDS_CHALLENGE",
    "SYMBOLON_SHARDS_REFRESH",
    "SYMBOLON_SHARDS_REVOCATION",
    "SYMBOLON_SHARDS_ASSERTION",
];

fn data_directory(parent: &Path) -> Result<TempDir, LoadtestError> {
    let made = tempfile::Builder::new().prefix(DIRECTORY_PREFIX).tempdir_in(parent);
    made.map_err(|error| {
        let parent = PathBuf::from(parent);
        LoadtestError::Options(format!(
            "no directory for the provider's data in {}: {error}",
            parent.display()
        ))
    })
}

/// Below the ports that Linux gives to outgoing connections, of which one may be gone the next moment, and below those that
/// the engines of tests reserve (10,000 to 32,000, those of Redis's cluster bus among them).
const PORTS: Range<u16> = 2_000..8_000;

/// An address of loopback that was free a moment ago: an issuer must name its port before the server has it.
///
/// # Errors
/// None is free.
pub fn free_address() -> io::Result<SocketAddr> {
    free_listener()?.local_addr()
}

/// Two of them, which are not the same.
///
/// # Errors
/// As of [`free_address`].
pub fn free_pair() -> io::Result<(SocketAddr, SocketAddr)> {
    let (one, two) = (free_listener()?, free_listener()?);
    Ok((one.local_addr()?, two.local_addr()?))
}

fn free_listener() -> io::Result<TcpListener> {
    let start = u16::from_le_bytes(random::bytes(&SystemRandom)) % PORTS.end.abs_diff(PORTS.start);
    let ports = (PORTS.start + start..PORTS.end).chain(PORTS.start..PORTS.start + start);
    let mut refused = io::Error::from(io::ErrorKind::AddrInUse);
    for port in ports {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(listener) => return Ok(listener),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}
