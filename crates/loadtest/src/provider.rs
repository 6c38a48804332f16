//! The provider under load: given, or started here.

use std::ffi::OsStr;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::path::{Path, PathBuf};

use symbolon_crypto::{SecretString, SystemRandom, random};
use tempfile::TempDir;

use crate::client::Way;
use crate::process::Server;
use crate::{LoadtestError, Target};

/// A provider that runs already.
pub struct RunningTarget {
    /// Its public URL, where the admin API must be mounted too.
    pub url: String,
    /// The URLs of further nodes of it, which share the load.
    pub others: Vec<String>,
    /// The admin API's secret; without it only a seed from a file will do.
    pub admin_secret: Option<SecretString>,
    /// Its process, where it is on this machine.
    pub pid: Option<u32>,
    /// Where its figures are, for instance `http://127.0.0.1:9090/metrics`.
    pub metrics: Option<String>,
}

/// Which provider is loaded, and how one is started where none is given.
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
}

impl ProviderOptions {
    /// One that `program` starts, with its data on a disk, by HTTP/1.1.
    pub fn new(program: PathBuf) -> Self {
        Self { target: None, program, data_parent: PathBuf::from("/var/tmp"), log: None, way: Way::default() }
    }
}

/// The provider under load.
pub(crate) struct Provider {
    pub(crate) url: String,
    pub(crate) others: Vec<String>,
    pub(crate) secret: Option<SecretString>,
    pub(crate) pid: Option<u32>,
    pub(crate) metrics: Option<String>,
    pub(crate) way: Way,
    started: Option<(Server, TempDir)>,
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
                metrics: target.metrics.clone(),
                way: options.way.clone(),
                started: None,
            }),
            None => Self::start(options, shards).await,
        }
    }

    /// What discovery says of it.
    pub(crate) async fn discover(&self) -> Result<Target, LoadtestError> {
        let target = Target::discover_by(&self.way, &self.url, self.secret.as_ref().map(copy)).await?;
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
        let server = Server::start(&options.program, ["serve"], &environment, options.log.as_deref()).await?;
        Ok(Self {
            url: server.url.clone(),
            others: Vec::new(),
            pid: Some(server.pid()),
            secret: Some(secret),
            metrics: Some(metrics),
            way: options.way.clone(),
            started: Some((server, data)),
        })
    }

    /// Whether it was started here, so that nobody else has it.
    pub(crate) const fn is_ours(&self) -> bool {
        self.started.is_some()
    }

    /// Ends it if it was started here, and removes its data.
    pub(crate) async fn end(self) {
        if let Some((server, data)) = self.started {
            server.kill().await;
            drop(data);
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
    let made = tempfile::Builder::new().prefix("symbolon-loadtest-").tempdir_in(parent);
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
