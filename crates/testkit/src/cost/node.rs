//! The providers that are measured.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use symbolon_crypto::{SecretString, SystemRandom, random};
use symbolon_loadtest::client::{Peer, Way};
use symbolon_loadtest::process::Server;
use symbolon_loadtest::{LoadtestError, Target, free_pair};
use symbolon_store_cluster::engines::{PostgresServer, RedisCluster};
use tempfile::TempDir;
use url::Url;

/// The pause between two checks whether a node is ready.
const BETWEEN: Duration = Duration::from_millis(50);

/// How many times this is checked.
const LOOKS: usize = 600;

/// One process.
pub(super) struct Node {
    pub(super) server: Server,
    /// `http://ADDRESS` of its management listener.
    pub(super) management: String,
}

/// Nodes of one provider, on either store.
pub(super) struct Provider {
    pub(super) nodes: Vec<Node>,
    secret: String,
    /// Logs, and the data of the embedded store.
    directory: TempDir,
}

impl Provider {
    /// One node on the embedded store, whose data is on a disk.
    pub(super) async fn embedded(binary: &Path) -> Result<Self, LoadtestError> {
        let mut provider = Self::empty()?;
        let data = provider.directory.path().join("data");
        provider.add_nodes(binary, 1, &[("SYMBOLON_DATA_DIR", data.as_os_str())]).await?;
        Ok(provider)
    }

    /// `count` nodes on the engines, in the database `name` and under the prefix `name`.
    pub(super) async fn clustered(
        binary: &Path,
        count: usize,
        (postgres, redis, name): (&PostgresServer, &RedisCluster, &str),
    ) -> Result<Self, LoadtestError> {
        postgres.create_database(name);
        let (postgres, redis) = (postgres.url(name), redis.urls());
        let master = random::base64url::<32>(&SystemRandom);
        let mut provider = Self::empty()?;
        let environment: [(&str, &OsStr); 5] = [
            ("SYMBOLON_STORE", "cluster".as_ref()),
            ("SYMBOLON_POSTGRES_URL", postgres.as_ref()),
            ("SYMBOLON_REDIS_URLS", redis.as_ref()),
            ("SYMBOLON_REDIS_PREFIX", name.as_ref()),
            ("SYMBOLON_MASTER_KEY", master.as_ref()),
        ];
        provider.add_nodes(binary, count, &environment).await?;
        Ok(provider)
    }

    fn empty() -> Result<Self, LoadtestError> {
        let directory = tempfile::Builder::new().prefix("symbolon-cost-").tempdir_in("/var/tmp")?;
        Ok(Self { nodes: Vec::new(), secret: random::base64url::<32>(&SystemRandom), directory })
    }

    async fn add_nodes(
        &mut self,
        binary: &Path,
        count: usize,
        store: &[(&str, &OsStr)],
    ) -> Result<(), LoadtestError> {
        let mut issuer = None;
        for number in 0..count {
            let (listen, management) = free_pair()?;
            let (listen, management) = (listen.to_string(), management.to_string());
            let issuer = issuer.get_or_insert_with(|| format!("http://{listen}"));
            let mut environment: Vec<(&str, &OsStr)> = vec![
                ("SYMBOLON_ISSUER", issuer.as_str().as_ref()),
                ("SYMBOLON_LISTEN", listen.as_ref()),
                ("SYMBOLON_MANAGEMENT_LISTEN", management.as_ref()),
                ("SYMBOLON_ADMIN_SECRET", self.secret.as_ref()),
                ("SYMBOLON_ADMIN_ON_PUBLIC", "true".as_ref()),
                ("SYMBOLON_TEST_ENDPOINTS", "true".as_ref()),
                ("SYMBOLON_RATE_LIMITS", "off".as_ref()),
                ("SYMBOLON_LOG_LEVEL", "warn".as_ref()),
            ];
            environment.extend(store);
            let log = self.directory.path().join(format!("log-{number}"));
            let server = Server::start(binary, ["serve"], &environment, Some(&log)).await?;
            let node = Node { server, management: format!("http://{management}") };
            node.wait_until_ready(binary).await?;
            self.nodes.push(node);
        }
        Ok(())
    }

    /// The secret of the admin API.
    pub(super) fn admin_secret(&self) -> &str {
        &self.secret
    }

    /// The target that discovery describes, with all its nodes.
    pub(super) async fn target(&self) -> Result<Target, LoadtestError> {
        let mut urls = self.nodes.iter().map(|node| node.server.url.clone());
        let first = urls.next().unwrap_or_default();
        let target = Target::discover(&first, Some(SecretString::new(self.secret.clone()))).await?;
        target.with_others(&Way::default(), &urls.collect::<Vec<_>>())
    }

    /// The first `count` nodes.
    pub(super) fn peers(&self, count: usize) -> Result<Vec<Peer>, LoadtestError> {
        self.nodes.iter().take(count).map(|node| node.peer()).collect()
    }

    pub(super) async fn end(self) {
        for node in self.nodes {
            node.server.kill().await;
        }
    }
}

impl Node {
    fn peer(&self) -> Result<Peer, LoadtestError> {
        let invalid = |reason: String| LoadtestError::Target { url: self.server.url.clone(), reason };
        let url = Url::parse(&self.server.url).map_err(|error| invalid(error.to_string()))?;
        Peer::of(&url, &Way::default()).map_err(invalid)
    }

    /// A node of a cluster is ready when it holds its lease.
    async fn wait_until_ready(&self, binary: &Path) -> Result<(), LoadtestError> {
        for _ in 0..LOOKS {
            if ureq::get(format!("{}/readyz", self.management)).call().is_ok() {
                return Ok(());
            }
            tokio::time::sleep(BETWEEN).await;
        }
        Err(LoadtestError::Process { program: binary.to_owned(), reason: "does not become ready".into() })
    }

    /// Its metrics, in the format of Prometheus.
    pub(super) fn metrics(&self) -> Result<String, LoadtestError> {
        let failed = |error: ureq::Error| LoadtestError::Target {
            url: self.management.clone(),
            reason: error.to_string(),
        };
        let mut answer = ureq::get(format!("{}/metrics", self.management)).call().map_err(failed)?;
        answer.body_mut().read_to_string().map_err(failed)
    }
}
