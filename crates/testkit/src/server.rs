//! Starts and stops a server: one process on the embedded store or, with `SYMBOLON_TEST_STORE=cluster`, three nodes on
//! a cluster store, to which requests go in turn.

mod data;
mod round_robin;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::Value;
use symbolon_app::app::{App, Ports};
use symbolon_app::clock::Clock;
use symbolon_config::{Config, Sources};
use symbolon_crypto::digest;
use symbolon_crypto::random::SeededRandom;
use symbolon_crypto::seal::MasterKey;
use symbolon_crypto::secret::SecretArray;
use symbolon_crypto::signer::InlineSigner;
use symbolon_protocol::time::Timestamp;
use symbolon_server::serve::{self, Server};
use symbolon_server::{endpoints, jobs};
use symbolon_store::Store;
use symbolon_telemetry::Registry;

pub use data::is_clustered;
use data::{Data, Recover};
pub(crate) use data::{Durability, embedded};
use round_robin::RoundRobin;

use crate::browser::{Answer, Browser};
use crate::clock::TestClock;
use crate::commit_gate::CommitGate;
use crate::key_pool::KeyPool;
use crate::upgrade::{FixtureContents, FixtureStore, HOST};

/// The admin secret of every test server.
pub const ADMIN_SECRET: &str = "an-admin-secret-for-tests";

/// How a test server differs from the default.
#[derive(Clone)]
pub struct Options {
    /// Configuration by environment, in addition to what the kit sets.
    pub env: Vec<(String, String)>,
    /// The issuer; `None` for the public listener's http URL.
    pub issuer: Option<String>,
    /// Seeds the randomness of ids and tokens.
    pub seed: u64,
    /// Whether there is only one process even on the cluster store: for tests of the behaviour of one process.
    pub one_node: bool,
    /// Whether the embedded store is recovered only by [`TestServer::recover`].
    pub recover_later: bool,
    /// Holds back the commits of the embedded store.
    pub commit_gate: Option<CommitGate>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            env: Vec::new(),
            issuer: None,
            seed: 1,
            one_node: false,
            recover_later: false,
            commit_gate: None,
        }
    }
}

impl Options {
    /// Sets an environment variable of the configuration.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// One process, on either store.
    #[must_use]
    pub fn one_node(mut self) -> Self {
        self.one_node = true;
        self
    }

    /// Serves before the embedded store is recovered.
    #[must_use]
    pub fn recover_later(mut self) -> Self {
        self.recover_later = true;
        self
    }

    /// Lets a test hold back the commits of the embedded store.
    #[must_use]
    pub fn commit_gate(mut self, gate: &CommitGate) -> Self {
        self.commit_gate = Some(gate.clone());
        self
    }

    /// Sets the issuer.
    #[must_use]
    pub fn issuer(mut self, url: &str) -> Self {
        self.issuer = Some(url.to_owned());
        self
    }
}

/// One process of the provider.
struct Node {
    app: Arc<App>,
    /// The URL of its own public listener.
    url: String,
    server: Server,
    /// `None` before its store is recovered.
    jobs: Option<jobs::Jobs>,
}

impl Node {
    fn spawn_jobs(&mut self) {
        self.jobs = Some(jobs::spawn(Arc::clone(&self.app), None, self.server.stopping()));
    }
}

/// A server that runs until it is dropped.
pub struct TestServer {
    /// Its issuer's URL.
    pub issuer: String,
    /// The URL of the public listener, `http://127.0.0.1:PORT`.
    pub url: String,
    /// The URL of the management listener.
    pub management: String,
    /// The clock.
    pub clock: Arc<TestClock>,
    /// The state behind the handlers; of the first node, if there are several.
    pub app: Arc<App>,
    nodes: Vec<Node>,
    recover: Option<Recover>,
    runtime: Option<tokio::runtime::Runtime>,
    data: Option<Data>,
}

impl TestServer {
    /// Starts a server with fresh data.
    pub fn start() -> Self {
        Self::start_with(Options::default())
    }

    /// Starts a server with fresh data and options.
    pub fn start_with(options: Options) -> Self {
        Self::start_in(Data::fresh(), options, Arc::new(TestClock::default()))
    }

    /// Starts a server on a copy of a store that an earlier build left, at the time of leaving it.
    pub fn start_on(kind: FixtureStore, left: &FixtureContents, options: Options) -> Self {
        let options = options.issuer(&format!("http://{HOST}"));
        Self::start_in(Data::left(kind), options, Arc::new(TestClock::at(left.at)))
    }

    /// Stops the server and starts it again on the same data and clock.
    pub fn restart(mut self, options: Options) -> Self {
        self.stop();
        self.start_again(options)
    }

    /// Ends the server without closing its store, as a crash would, and starts it again on the same data and clock.
    pub fn crash(mut self, options: Options) -> Self {
        self.end(false);
        self.start_again(options)
    }

    fn start_again(mut self, options: Options) -> Self {
        let data = self.data.take().expect("data");
        let clock = Arc::clone(&self.clock);
        drop(self);
        Self::start_in(data, options, clock)
    }

    fn start_in(data: Data, options: Options, clock: Arc<TestClock>) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let guard = runtime.enter();
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let number = if options.one_node { 1 } else { data.nodes() };
        let bound: Vec<_> = (0..number).map(|_| serve::bind(loopback, loopback, 2).expect("ports")).collect();
        let fronts = RoundRobin::before(&bound);
        let url = format!("http://{}", fronts.public);
        let management = format!("http://{}", fronts.management);
        let issuer = options.issuer.clone().unwrap_or_else(|| url.clone());
        let mut stores = runtime.block_on(data.open(number, &clock, options.commit_gate.as_ref()));
        if !options.recover_later
            && let Some(recover) = stores.recover.take()
        {
            recover();
        }
        fronts.start(stores.in_step);
        let mut nodes = Vec::with_capacity(number);
        for (node, (bound, store)) in bound.into_iter().zip(stores.stores).enumerate() {
            let config = config(&options, &issuer, bound.public_address);
            let url = format!("http://{}", bound.public_address);
            // Nodes must not draw the same ids, so each has its own seed.
            let app = app(config, store, &clock, options.seed + 1_000 * node as u64);
            runtime.block_on(app.load_issuers()).expect("issuers");
            let server = Server::start(&app, bound).expect("a server");
            let mut node = Node { app, url, server, jobs: None };
            if stores.recover.is_none() {
                node.spawn_jobs();
            }
            nodes.push(node);
        }
        drop(guard);
        let app = Arc::clone(&nodes.first().expect("a node").app);
        let (runtime, data, recover) = (Some(runtime), Some(data), stores.recover);
        Self { issuer, url, management, clock, app, nodes, recover, runtime, data }
    }

    /// Recovers the store of a server that serves [before](Options::recover_later) that.
    pub fn recover(&mut self) {
        let recover = self.recover.take().expect("a store that is not recovered");
        recover();
        let _guard = self.runtime.as_ref().expect("running").enter();
        for node in &mut self.nodes {
            node.app.note_recovered();
            node.spawn_jobs();
        }
    }

    /// Waits until all audit records are in the audit log, whichever node recorded them.
    pub fn drain_audit(&self) {
        for node in &self.nodes {
            self.block_on(node.app.audit.drain());
        }
    }

    /// Waits until all is done that was left to do after answers, whichever node gave them: what was to be mailed is queued.
    pub fn settle(&self) {
        for node in &self.nodes {
            self.block_on(node.app.detached.settled());
        }
    }

    /// The URL of each node's own public listener, which answers by what that node knows at the moment. Through
    /// [`url`](Self::url) every request waits until all nodes know of all earlier changes.
    pub fn node_urls(&self) -> Vec<String> {
        self.nodes.iter().map(|node| node.url.clone()).collect()
    }

    /// The value of a counter of whole numbers, summed up over all nodes. `line` is how its line begins, with labels.
    pub fn counted(&self, line: &str) -> u64 {
        let of = |page: String| {
            let shown = page.lines().find_map(|shown| shown.strip_prefix(line)).unwrap_or_default();
            shown.trim().parse::<u64>().unwrap_or_else(|_| panic!("no {line}"))
        };
        self.nodes.iter().map(|node| of(node.app.registry.render(&[]))).sum()
    }

    /// The operations on each kind of record, summed up over all nodes.
    pub fn store_operations(&self) -> BTreeMap<&'static str, u64> {
        let mut operations = BTreeMap::new();
        for node in &self.nodes {
            for kind in node.app.store.figures().snapshot().kinds {
                let own: u64 = kind.shards.iter().map(|shard| shard.operations).sum();
                *operations.entry(kind.kind.name()).or_default() += own;
            }
        }
        operations
    }

    /// The state of another process with the same store. Its issuers are not loaded, and it serves nothing.
    pub fn another(&self, issuer: &str) -> Arc<App> {
        let config = config(&Options::default(), issuer, SocketAddr::from(([127, 0, 0, 1], 1)));
        app(config, Arc::clone(&self.app.store), &self.clock, 1_000_000)
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A browser without cookies.
    pub fn browser(&self) -> Browser {
        Browser::new(&self.url)
    }

    /// Calls the admin API below `/api/admin`.
    pub fn admin(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        self.admin_with(method, path, body.map(|body| body.to_string()), ADMIN_SECRET)
    }

    /// Calls the admin API with a raw body and any secret.
    pub fn admin_with(&self, method: &str, path: &str, body: Option<String>, secret: &str) -> Answer {
        let browser = Browser::new(&self.management);
        let headers =
            [("authorization", format!("Bearer {secret}")), ("content-type", "application/json".to_owned())];
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        browser.send(method, &format!("/api/admin{path}"), &headers, body.unwrap_or_default().as_bytes())
    }

    /// Calls the admin API with a body of a media type.
    pub fn admin_sending(&self, method: &str, path: &str, (media_type, body): (&str, &[u8])) -> Answer {
        let secret = format!("Bearer {ADMIN_SECRET}");
        let headers = [("authorization", secret.as_str()), ("content-type", media_type)];
        Browser::new(&self.management).send(method, &format!("/api/admin{path}"), &headers, body)
    }

    /// Runs work of the store or of the app on the server's runtime.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.as_ref().expect("running").block_on(work)
    }

    fn stop(&mut self) {
        self.end(true);
    }

    fn end(&mut self, closes: bool) {
        let Some(runtime) = self.runtime.take() else { return };
        for Node { app, server, jobs, .. } in self.nodes.drain(..) {
            runtime.block_on(async move {
                server.stop().await;
                if let Some(jobs) = jobs {
                    jobs.finish().await;
                }
                if closes {
                    app.store.close().await.expect("the store closes");
                }
            });
        }
        runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The configuration of an issuer and a public listener.
pub(crate) fn config(options: &Options, issuer: &str, public: SocketAddr) -> Config {
    let set = [
        ("SYMBOLON_ISSUER", issuer),
        ("SYMBOLON_LISTEN", &public.to_string()),
        ("SYMBOLON_ADMIN_SECRET", ADMIN_SECRET),
        ("SYMBOLON_ADMIN_ON_PUBLIC", "true"),
        ("SYMBOLON_TEST_ENDPOINTS", "true"),
        ("SYMBOLON_RATE_LIMITS", "off"),
        ("SYMBOLON_ARGON2_MEMORY", "64KiB"),
        ("SYMBOLON_ARGON2_ITERATIONS", "1"),
    ];
    let mut env: Vec<(String, String)> =
        set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    for (name, value) in &options.env {
        env.retain(|(own, _)| own != name);
        env.push((name.clone(), value.clone()));
    }
    Config::load(Sources { file: None, env: env.into_iter(), flags: Vec::new() })
        .expect("a good configuration")
}

/// The state behind the handlers.
pub(crate) fn app(config: Config, store: Arc<dyn Store>, clock: &Arc<TestClock>, seed: u64) -> Arc<App> {
    let ports = Ports {
        store,
        clock: Arc::clone(clock) as Arc<dyn Clock>,
        random: Arc::new(SeededRandom::new(seed)),
        signer: Arc::new(InlineSigner),
        key_generator: Arc::new(KeyPool),
        master: MasterKey::from_bytes(SecretArray::new([7; 32])).expect("a master key"),
    };
    let registry = Arc::new(Registry::new("test", "test").keeping_requests(config.telemetry.metrics));
    let secret = digest::sha256(&[ADMIN_SECRET.as_bytes()]);
    App::new(config, ports, registry, secret, endpoints::reserved_segments())
}
