//! Refresh rotations per second on the cluster store, which reads many families at once and writes many in one commit;
//! compared with one statement and one commit for each rotation, on the same PostgreSQL and the same table, in turn.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use symbolon_crypto::random::{Random, SeededRandom};
use symbolon_loadtest::{LoadtestError, clock};
use symbolon_protocol::family::{Family, FamilyId, Rotation, RotationRequest};
use symbolon_protocol::grant::GrantId;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::session::{Amr, AuthenticationMethod};
use symbolon_protocol::time::Timestamp;
use symbolon_store::port::RefreshTokens;
use symbolon_store::shard::Route;
use symbolon_store_cluster::ClusterStore;
use symbolon_store_cluster::engines::{self, Engines};
use tokio::task::JoinSet;
use tokio_postgres::{Client, Config, NoTls};

use super::figures::median;
use super::reading::{postgres_cpu, wal};

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const MONTH: Duration = Duration::from_secs(30 * 86_400);

/// A text in the documents of the families that are rotated one by one.
const BY_ONE: &str = "one-by-one";

const MOVE: &str = "UPDATE families SET revision = revision + 1, ends_at = $3, document = $4
    WHERE key = $1 AND revision = $2";

/// The option that the store sets on its connections: no statement is planned twice.
const PLANS: &str = "-c plan_cache_mode=force_generic_plan";

/// How many times as fast as the single statements the batches must be.
pub const LIMIT_RATIO: f64 = 5.0;

/// What to measure.
#[derive(Clone, Debug)]
pub struct RotationOptions {
    /// The name of the database, which is created, and the prefix in Redis: a plain lower-case identifier.
    pub name: String,
    /// Rotations in flight at the store; each has its own families.
    pub in_flight: usize,
    /// Families of each rotation in flight.
    pub families: usize,
    /// Connections of the store, and of the single statements, where every connection is always busy.
    pub connections: usize,
    /// Rounds that count; one more runs before them.
    pub rounds: usize,
    /// How long each side rotates in a round.
    pub slice: Duration,
}

impl RotationOptions {
    /// The numbers of a busy node: 1,024 rotations in flight on 16 connections; 5 rounds of 2 s.
    pub fn new(name: &str) -> Self {
        let slice = Duration::from_secs(2);
        Self { name: name.into(), in_flight: 1_024, families: 8, connections: 16, rounds: 5, slice }
    }
}

/// One side; medians over the rounds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Rotations {
    /// Durable rotations per second.
    pub per_second: f64,
    /// CPU of PostgreSQL per rotation, in µs.
    pub postgres_us: f64,
    /// Bytes of write-ahead log per rotation.
    pub wal_bytes: f64,
}

/// Both sides.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RotationReport {
    /// The cluster store.
    pub batched: Rotations,
    /// One statement and one commit for each rotation.
    pub one_by_one: Rotations,
    /// The median over the rounds of the batched rate divided by the other rate of the same round.
    pub ratio: f64,
}

impl fmt::Display for RotationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| refresh rotation | rotations/s | PostgreSQL µs | WAL bytes |\n|---|---|---|---|")?;
        for (name, side) in [("batched", self.batched), ("one statement each", self.one_by_one)] {
            let Rotations { per_second, postgres_us, wal_bytes } = side;
            writeln!(f, "| {name} | {per_second:.0} | {postgres_us:.1} | {wal_bytes:.0} |")?;
        }
        writeln!(f, "\n{:.1} times as many (the limit is {LIMIT_RATIO})", self.ratio)
    }
}

/// Measures on these engines, which should have nothing else to do.
///
/// # Errors
/// [`LoadtestError`] if the runtime cannot be made or PostgreSQL's processes cannot be read.
///
/// # Panics
/// If an engine does not answer, or refuses a rotation.
pub fn measure_rotation(
    engines: &Engines,
    options: &RotationOptions,
) -> Result<RotationReport, LoadtestError> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(run(engines, options))
}

async fn run(engines: &Engines, options: &RotationOptions) -> Result<RotationReport, LoadtestError> {
    engines.postgres.create_database(&options.name);
    let url = engines.postgres.url(&options.name);
    let now = Arc::new(|| NOW.millis());
    let mut store = engines::options(url.clone(), &engines.redis.urls(), &options.name, now);
    store.postgres.connections = options.connections;
    let store = Arc::new(ClusterStore::open(store).await.expect("the store opens"));
    let mut walkers = begin(&store, options).await;
    let mut singles = connect(&store, &url, options).await;
    let (mut batched, mut one_by_one) = (Vec::new(), Vec::new());
    for round in 0..=options.rounds {
        let of_store = timed(engines, options.slice, &mut walkers).await?;
        let of_singles = timed(engines, options.slice, &mut singles).await?;
        if round > 0 {
            batched.push(of_store);
            one_by_one.push(of_singles);
        }
    }
    let ratios =
        batched.iter().zip(&one_by_one).map(|(many, one)| many.per_second / one.per_second.max(1e-9));
    Ok(RotationReport { ratio: median(ratios), batched: medians(&batched), one_by_one: medians(&one_by_one) })
}

fn medians(rounds: &[Rotations]) -> Rotations {
    Rotations {
        per_second: median(rounds.iter().map(|round| round.per_second)),
        postgres_us: median(rounds.iter().map(|round| round.postgres_us)),
        wal_bytes: median(rounds.iter().map(|round| round.wal_bytes)),
    }
}

/// Rotates its own families, one after the other.
trait Walker: Send + 'static {
    fn rotate(&mut self) -> impl Future<Output = ()> + Send;
}

/// Runs all walkers at once for `slice`.
async fn timed<W: Walker>(
    engines: &Engines,
    slice: Duration,
    walkers: &mut Vec<W>,
) -> Result<Rotations, LoadtestError> {
    let pid = engines.postgres.pid();
    let (log, cpu, began) = (wal(engines), postgres_cpu(pid)?, clock::now());
    let over = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for mut walker in walkers.drain(..) {
        let over = Arc::clone(&over);
        tasks.spawn(async move {
            let mut rotations = 0_u64;
            while rotations == 0 || !over.load(Ordering::Relaxed) {
                walker.rotate().await;
                rotations += 1;
            }
            (walker, rotations)
        });
    }
    tokio::time::sleep(slice).await;
    over.store(true, Ordering::Relaxed);
    let mut rotations = 0;
    while let Some(done) = tasks.join_next().await {
        let (walker, count) = done.expect("a rotation is answered");
        walkers.push(walker);
        rotations += count;
    }
    let elapsed = clock::now().duration_since(began).as_secs_f64();
    let cpu = postgres_cpu(pid)?.saturating_sub(cpu);
    let rotations = rotations as f64;
    Ok(Rotations {
        per_second: rotations / elapsed,
        postgres_us: cpu.as_secs_f64() * 1e6 / rotations,
        wal_bytes: wal(engines).saturating_sub(log) as f64 / rotations,
    })
}

/// Rotates through the store as the provider does: reads the family, then rotates it.
struct OfStore {
    store: Arc<ClusterStore>,
    families: Vec<(FamilyId, u32)>,
    next: usize,
}

impl Walker for OfStore {
    async fn rotate(&mut self) {
        let issuer = IssuerId::default_issuer();
        self.next = (self.next + 1) % self.families.len();
        let (id, version) = &mut self.families[self.next];
        let found = self.store.family(&issuer, id).await.expect("the family is read").in_memory();
        assert!(found.is_some(), "a family is there");
        let request = RotationRequest {
            presented: *version,
            now: NOW,
            retry_window: Duration::ZERO,
            idle: MONTH,
            rotate: true,
            tombstone_until: NOW + MONTH,
        };
        match self.store.rotate(&issuer, id, &request).await.expect("a rotation is committed").in_memory() {
            Rotation::Rotated(family) => *version = family.version,
            other => panic!("a rotation, not {other:?}"),
        }
    }
}

async fn begin(store: &Arc<ClusterStore>, options: &RotationOptions) -> Vec<OfStore> {
    let random = SeededRandom::new(1);
    let mut walkers = Vec::new();
    for _ in 0..options.in_flight {
        let families = begin_families(store, options.families, "client", &random).await;
        walkers.push(OfStore { store: Arc::clone(store), families, next: 0 });
    }
    walkers
}

async fn begin_families(
    store: &ClusterStore,
    count: usize,
    client: &str,
    random: &SeededRandom,
) -> Vec<(FamilyId, u32)> {
    let route = Route { generation: 1, shard: 3 };
    let families: Vec<_> =
        (0..count).map(|_| (route.draw_family(NOW, random), family(client, random))).collect();
    let ids = families.iter().map(|(id, family)| (id.clone(), family.version)).collect();
    let begun = store.begin_families(&IssuerId::default_issuer(), families).await;
    begun.map(drop).expect("families begin");
    ids
}

fn family(client: &str, random: &dyn Random) -> Family {
    Family {
        grant: GrantId::draw(&IssuerId::default_issuer(), "user", NOW, random),
        client: ClientId::parse(client).expect("a client id"),
        user: UserId::parse("user").expect("a user id"),
        sid: None,
        scope: Scope::parse("openid offline_access").expect("a scope"),
        auth_time: NOW,
        amr: Amr::of(AuthenticationMethod::Pwd),
        version: 1,
        created_at: NOW,
        rotated_at: NOW,
        idle_expires_at: NOW + MONTH,
        expires_at: NOW + 12 * MONTH,
        binding: None,
        resources: Vec::new(),
        authorization_details: Default::default(),
    }
}

/// Rotates on its own connection: one statement for each rotation, which writes what the store would write and commits.
/// It knows the family already, so it is spared the store's first step of reading it.
struct OfConnection {
    client: Client,
    write: tokio_postgres::Statement,
    families: Vec<Single>,
    next: usize,
}

/// A family that only this walker rotates.
struct Single {
    key: Vec<u8>,
    revision: i64,
    document: String,
}

impl Walker for OfConnection {
    async fn rotate(&mut self) {
        self.next = (self.next + 1) % self.families.len();
        let Single { key, revision, document } = &mut self.families[self.next];
        // A family that was only ever rotated has as many versions as its row has revisions.
        let version = |version: i64| format!("\"version\":{version},");
        *document = document.replacen(&version(*revision), &version(*revision + 1), 1);
        let ends_at = (NOW + MONTH).millis() as i64;
        let moved = self.client.execute(&self.write, &[key, revision, &ends_at, document]).await;
        assert_eq!(moved.expect("a commit"), 1, "nobody else has this row");
        *revision += 1;
    }
}

async fn connect(store: &ClusterStore, url: &str, options: &RotationOptions) -> Vec<OfConnection> {
    let random = SeededRandom::new(2);
    let count = options.families * options.in_flight.div_ceil(options.connections);
    begin_families(store, count * options.connections, BY_ONE, &random).await;
    let mut config: Config = url.parse().expect("a URL");
    config.options(PLANS);
    let mut clients = Vec::new();
    for _ in 0..options.connections {
        let (client, connection) = config.connect(NoTls).await.expect("PostgreSQL answers");
        tokio::spawn(connection);
        let write = client.prepare(MOVE).await.expect("a statement");
        clients.push(OfConnection { client, write, families: Vec::new(), next: 0 });
    }
    let all = format!("SELECT key, revision, document FROM families WHERE document LIKE '%{BY_ONE}%'");
    let rows = clients[0].client.query(&all, &[]).await.expect("rows");
    for (index, row) in rows.iter().enumerate() {
        let single = Single { key: row.get(0), revision: row.get(1), document: row.get(2) };
        clients[index % options.connections].families.push(single);
    }
    clients
}
