//! Several nodes on one PostgreSQL and one Redis Cluster, and their faults.

mod clock;
mod fault;
mod faults;
mod network;
mod plant;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use symbolon_store_cluster::engines::{
    PostgresServer, PostgresServerOptions, RedisCluster, RedisServerOptions, temporary_directory,
};
use tempfile::TempDir;

use super::inbox::Inbox;
use super::{Crew, Launch, People, Provider, RelyingPartyAtHand, Wire};
pub use clock::WrongClock;
pub use fault::{Fault, all_faults};
pub use network::{Network, Switch};
pub use plant::{Plant, all_plants};

/// The number of nodes. The last one has the clock that can be set.
pub const NODES: usize = 3;

/// The database in PostgreSQL.
const DATABASE: &str = "drill";

/// The master key, which all nodes share.
const MASTER_KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// The issuer of the nodes, whatever addresses they listen at.
const ISSUER: &str = "http://drill.example";

/// How long anything here may take on a slow and loaded machine before it counts as failed.
const DEADLINE: Duration = Duration::from_secs(180);

const BETWEEN: Duration = Duration::from_millis(50);

/// Three nodes and their engines. All of them end with this value, and with the process, however that ends.
pub struct Cluster {
    nodes: Vec<Node>,
    /// The three primaries and three replicas.
    pub redis: RedisCluster,
    /// The database.
    pub postgres: PostgresServer,
    /// The nodes' namespaces; or why they have none.
    pub network: Result<Network, String>,
    /// What people who sign in have around them.
    pub people: People,
    /// The clock of the last node; or why it has none of its own.
    pub clock: Result<WrongClock, String>,
    binary: PathBuf,
    /// The binary of a neighbouring version, to which nodes change.
    neighbour: Option<PathBuf>,
    directory: TempDir,
}

struct Node {
    launch: Launch,
    provider: Option<Provider>,
}

impl Cluster {
    /// Starts the engines and then the nodes. Nodes may later change to `neighbour`, another version.
    ///
    /// # Errors
    /// The output of a node that did not start.
    pub fn start(binary: &Path, neighbour: Option<PathBuf>) -> Result<Self, String> {
        let directory = temporary_directory("drill");
        let network = Network::new(NODES);
        let here = |switch| network.as_ref().ok().map(|network| network.here(switch));
        let (postgres, redis) = std::thread::scope(|scope| {
            let address = here(Switch::Postgres);
            let postgres = scope.spawn(move || {
                PostgresServer::start(PostgresServerOptions { address, ..PostgresServerOptions::default() })
            });
            let address = here(Switch::Redis);
            let redis = RedisCluster::start(RedisServerOptions { address, ..RedisServerOptions::default() });
            (postgres.join().expect("PostgreSQL starts"), redis)
        });
        postgres.create_database(DATABASE);
        let spaces = network.as_ref().map_or_else(|_| Ok(Vec::new()), |_| Network::spaces(NODES));
        let inbox = spaces.and_then(|spaces| Inbox::open(&spaces)).map_err(|error| error.to_string())?;
        let clock = WrongClock::new(&directory.path().join("clock"));
        let mut cluster = Self {
            nodes: Vec::new(),
            redis,
            postgres,
            network,
            people: People::new(ISSUER, inbox),
            clock,
            binary: binary.to_owned(),
            neighbour,
            directory,
        };
        for index in 0..NODES {
            let launch = cluster.launch(index);
            cluster.nodes.push(Node { launch, provider: None });
            cluster.start_node(index)?;
        }
        Ok(cluster)
    }

    fn launch(&self, index: usize) -> Launch {
        let data = self.directory.path().join(format!("data-{index}"));
        let mut launch = Launch::new(&self.binary, &data, &self.log_of(index))
            .of_issuer(ISSUER)
            .env("SYMBOLON_STORE", "cluster")
            .env("SYMBOLON_POSTGRES_URL", &self.postgres.url(DATABASE))
            .env("SYMBOLON_REDIS_URLS", &self.redis.urls())
            .env("SYMBOLON_MASTER_KEY", MASTER_KEY);
        launch = self.people.served_by(launch);
        let mut wrapper = Vec::new();
        if let Ok(network) = &self.network {
            launch = launch.at(network.node(index, Switch::Front));
            wrapper = Network::wrapper(index);
        }
        if let (Ok(clock), true) = (&self.clock, index == NODES - 1) {
            launch = clock.env().into_iter().fold(launch, |launch, (name, value)| launch.env(name, &value));
        }
        // The nodes end with this process, however it ends.
        wrapper.extend(["setpriv", "--pdeathsig", "KILL", "--"].map(str::to_owned));
        launch.under(wrapper)
    }

    /// Whether there is a neighbouring version.
    pub fn has_neighbour(&self) -> bool {
        self.neighbour.is_some()
    }

    fn log_of(&self, index: usize) -> PathBuf {
        self.directory.path().join(format!("log-{index}"))
    }

    /// A wire that sends requests to the nodes in turn.
    pub fn wire(&self) -> Wire {
        Launch::wire_in_turn(&self.nodes.iter().map(|node| &node.launch).collect::<Vec<_>>())
    }

    /// Workers for a client of their own, and people who sign in.
    pub fn crew(&self, workers: usize, seed: u64) -> Crew {
        let register = match self.has_neighbour() {
            true => RelyingPartyAtHand::register_plain,
            false => RelyingPartyAtHand::register_told,
        };
        let party = register(&self.wire(), &self.people).expect("an answer");
        Crew::new(party, workers, seed).with_people(self.people.clone())
    }

    /// Ends every claim of a delivery, and every pause after a failed attempt: as if minutes had gone by.
    pub fn make_deliveries_due(&self) {
        self.postgres.psql(DATABASE, "UPDATE deliveries SET due_at = 0");
    }

    /// SIGKILL to a node.
    pub fn kill_node(&mut self, index: usize) {
        self.nodes[index].provider = None;
    }

    /// SIGTERM to a node; returns when it has ended.
    pub fn stop_node(&mut self, index: usize) {
        if let Some(mut provider) = self.nodes[index].provider.take() {
            provider.stop();
        }
    }

    /// Starts a node that is not running.
    ///
    /// # Errors
    /// Its output, if it does not start.
    pub fn start_node(&mut self, index: usize) -> Result<(), String> {
        let node = &mut self.nodes[index];
        node.provider = Some(node.launch.start().map_err(|said| format!("node {index}: {said}"))?);
        Ok(())
    }

    /// Makes a node that is not running start as the other version.
    ///
    /// # Errors
    /// There is no other version.
    pub fn change_version(&mut self, index: usize) -> Result<(), String> {
        let neighbour = self.neighbour.as_ref().ok_or("there is no neighbouring version")?;
        let binary = &mut self.nodes[index].launch.binary;
        *binary = if binary == neighbour { self.binary.clone() } else { neighbour.clone() };
        Ok(())
    }

    /// Waits until a node reports itself ready.
    ///
    /// # Errors
    /// What it reported instead, when the time was over.
    pub fn wait_until_ready(&self, index: usize) -> Result<(), String> {
        let node = &self.nodes[index];
        eventually(|| node.launch.readiness()).map_err(|said| format!("node {index} is not ready: {said}"))
    }

    /// Waits until a node does not report itself ready; returns its report.
    ///
    /// # Errors
    /// It still reported itself ready when the time was over.
    pub fn wait_until_unready(&self, index: usize) -> Result<String, String> {
        let node = &self.nodes[index];
        let mut said = String::new();
        eventually(|| match node.launch.readiness() {
            Ok(()) => Err(format!("node {index} calls itself ready")),
            Err(why) => {
                said = why;
                Ok(())
            }
        })?;
        Ok(said)
    }

    /// Waits until all nodes report themselves ready.
    ///
    /// # Errors
    /// A node ended by itself, or what one reported instead when the time was over.
    pub fn wait_until_all_ready(&mut self) -> Result<(), String> {
        for index in 0..self.nodes.len() {
            if self.nodes[index].provider.as_mut().is_none_or(Provider::has_ended) {
                return Err(format!("node {index} ended by itself"));
            }
            self.wait_until_ready(index)?;
        }
        Ok(())
    }

    /// The logs of the nodes.
    pub fn logs(&self) -> String {
        let log = |index| {
            let text = std::fs::read(self.log_of(index)).unwrap_or_default();
            format!("node {index}:\n{}\n", String::from_utf8_lossy(&text))
        };
        (0..self.nodes.len()).map(log).collect()
    }
}

/// Repeats `ask` until it succeeds; returns its last error after [`DEADLINE`].
#[allow(clippy::disallowed_methods, reason = "the processes waited for live in real time")]
fn eventually(mut ask: impl FnMut() -> Result<(), String>) -> Result<(), String> {
    let began = Instant::now();
    loop {
        match ask() {
            Err(why) if began.elapsed() > DEADLINE => return Err(why),
            Err(_) => std::thread::sleep(BETWEEN),
            Ok(()) => return Ok(()),
        }
    }
}
