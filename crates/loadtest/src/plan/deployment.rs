//! How many machines of each kind, and what each kind runs out of first.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Costs, Hardware, OperationCost, Workload};
use crate::LoadtestError;
use crate::scenario::Scenario;

/// Seconds that Redis holds a code: its life, and 15 minutes more.
const CODE_KEPT: f64 = 60.0 + 900.0;

/// Hours that a tombstone is kept beyond its end.
const TOMBSTONE_MARGIN: f64 = 0.25;

/// Primaries of the smallest Redis Cluster.
const FEWEST_PRIMARIES: u32 = 3;

/// Hash tags of a kind of state, with 1,024 shards.
pub(super) const TAGS: f64 = 1_024.0;

/// What PostgreSQL does beside statements, as a multiple of them: vacuum, checkpoints, sending the log to standbys. An
/// assumption: measurements of seconds do not see it.
const MAINTENANCE: f64 = 1.5;

/// What the same statements cost a database of several machines that agree on every write, in CPU of all of them. An
/// assumption: no such database was measured.
const DISTRIBUTED: f64 = 4.0;

/// Machines of such a database.
const DISTRIBUTED_CORES: f64 = 16.0;

/// Cores that machines for PostgreSQL are sold with.
const SIZES: [f64; 9] = [2.0, 4.0, 8.0, 16.0, 32.0, 48.0, 64.0, 96.0, 128.0];

/// Connections that one PostgreSQL serves well.
const CONNECTIONS: f64 = 800.0;

/// What a kind of machine runs out of first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Nothing: it is the fewest that may be.
    Minimum,
    /// Its processors.
    Cpu,
    /// Its memory.
    Memory,
    /// Its network.
    Network,
    /// Its disk's space.
    Disk,
    /// What its disk can write.
    Log,
}

/// The provider's own processes.
#[derive(Clone, Debug, Serialize)]
pub struct Nodes {
    /// How many carry the peak.
    pub needed: u32,
    /// How many there are to be, so that what may be lost can be lost.
    pub count: u32,
    /// Cores that are busy at the peak, in all.
    pub busy_cores: f64,
    /// Gigabits per second at the peak, in all.
    pub gbit: f64,
    /// Why not fewer.
    pub limit: Limit,
}

/// One Redis Cluster.
#[derive(Clone, Debug, Serialize)]
pub struct RedisCluster {
    /// Primaries.
    pub primaries: u32,
    /// Replicas, in all.
    pub replicas: u32,
    /// Cores that are busy at the peak, on all primaries.
    pub busy_cores: f64,
    /// What the fullest primary has beyond the mean, as a multiple of it: hash tags fall on primaries by chance.
    pub skew: f64,
    /// Gigabytes, in all primaries.
    pub gb: f64,
    /// Gigabits per second at the peak, of all primaries.
    pub gbit: f64,
    /// Why not fewer.
    pub limit: Limit,
}

/// PostgreSQL, or what speaks its protocol.
#[derive(Clone, Debug, Serialize)]
pub struct Database {
    /// Whether one PostgreSQL is not enough, and CockroachDB or YugabyteDB has to spread it.
    pub distributed: bool,
    /// Machines: the primary and its standbys, or those of the distributed database.
    pub machines: u32,
    /// Cores of each.
    pub cores: f64,
    /// Cores of PostgreSQL that are busy at the peak.
    pub busy_cores: f64,
    /// Terabytes, once.
    pub tb: f64,
    /// Megabytes of write-ahead log per second at the peak.
    pub wal_mb_per_second: f64,
    /// Operations per second at the peak that wait for a commit; many share one.
    pub durable_per_second: f64,
    /// Connections of each node (`SYMBOLON_POSTGRES_CONNECTIONS`).
    pub connections_per_node: u32,
    /// Why not smaller.
    pub limit: Limit,
}

/// What a workload takes.
#[derive(Clone, Debug, Serialize)]
pub struct Deployment {
    /// What users do.
    pub workload: Workload,
    /// The machines.
    pub hardware: Hardware,
    /// Where the costs were measured.
    pub measured: String,
    /// Requests per second at the peak.
    pub rates: BTreeMap<Scenario, f64>,
    /// The provider.
    pub nodes: Nodes,
    /// Hot state.
    pub redis: RedisCluster,
    /// What must last.
    pub database: Database,
}

/// What all requests of the peak use in a second.
#[derive(Clone, Copy, Debug, Default)]
struct Peak {
    node_cores: f64,
    primary_cores: f64,
    replica_cores: f64,
    postgres_cores: f64,
    node_bytes: f64,
    redis_bytes: f64,
    wal_bytes: f64,
    durable: f64,
}

impl Peak {
    fn add(&mut self, rate: f64, cost: &OperationCost) {
        let cores = |us: f64| rate * us / 1e6;
        self.node_cores += cores(cost.node_us);
        self.primary_cores += cores(cost.redis_primary_us);
        self.replica_cores += cores(cost.redis_replica_us);
        self.postgres_cores += cores(cost.postgres_us);
        self.node_bytes += rate * (cost.http_bytes + cost.redis_bytes);
        self.redis_bytes += rate * cost.redis_bytes;
        self.wal_bytes += rate * cost.wal_bytes;
        self.durable += if cost.is_durable() { rate } else { 0.0 };
    }
}

impl OperationCost {
    /// Whether an answer waits for a commit.
    pub(super) fn is_durable(&self) -> bool {
        self.rows_written >= 0.5
    }
}

impl Deployment {
    /// Plans.
    ///
    /// # Errors
    /// [`LoadtestError::Options`]: a figure that cannot be, or an operation whose cost was not measured.
    pub fn of(costs: &Costs, workload: &Workload, hardware: &Hardware) -> Result<Self, LoadtestError> {
        workload.check()?;
        hardware.check()?;
        let rates: BTreeMap<_, _> =
            workload.peak_rates().into_iter().filter(|(_, rate)| *rate > 0.0).collect();
        let mut peak = Peak::default();
        for (scenario, rate) in &rates {
            peak.add(*rate, costs.of(*scenario)?);
        }
        let nodes = nodes(&peak, costs, hardware);
        let redis = redis(&peak, costs, workload, hardware);
        let database = database(&peak, costs, workload, (hardware, nodes.count));
        let (workload, hardware) = (*workload, *hardware);
        Ok(Self { workload, hardware, measured: costs.measured.clone(), rates, nodes, redis, database })
    }

    /// What goes to and from the users at the peak, in gigabytes per second: what the nodes carry without what goes to Redis.
    pub fn traffic_gb_per_second(&self) -> f64 {
        (self.nodes.gbit - self.redis.gbit).max(0.0) / 8.0
    }

    /// Nodes that are left with one zone lost, or with one machine lost where zones need not be survived.
    pub fn nodes_left(&self) -> u32 {
        let per_zone = self.nodes.count.div_ceil(self.hardware.zones);
        let lost = if self.hardware.survive_zone { per_zone } else { 1 };
        self.nodes.count.saturating_sub(lost).max(1)
    }
}

/// Rounds up to a whole machine, and one at least.
fn machines(number: f64) -> u32 {
    // Far beyond what anybody has, the cast saturates.
    number.ceil().max(1.0) as u32
}

fn gbit(bytes: f64) -> f64 {
    bytes * 8.0 / 1e9
}

fn nodes(peak: &Peak, costs: &Costs, hardware: &Hardware) -> Nodes {
    let each = hardware.node_cores * hardware.utilisation - costs.background.node_us / 1e6;
    let by_cpu = machines(peak.node_cores / each.max(f64::MIN_POSITIVE));
    let by_network = machines(gbit(peak.node_bytes) / (hardware.network_gbit * hardware.utilisation));
    let needed = by_cpu.max(by_network);
    let count = if hardware.survive_zone {
        needed.div_ceil(hardware.zones - 1).saturating_mul(hardware.zones)
    } else {
        needed.saturating_add(1)
    };
    let limit = match needed {
        1 => Limit::Minimum,
        _ if by_network > by_cpu => Limit::Network,
        _ => Limit::Cpu,
    };
    Nodes { needed, count, busy_cores: peak.node_cores, gbit: gbit(peak.node_bytes), limit }
}

/// What the fullest of so many primaries has, in means: tags fall on primaries as balls into bins.
fn skew(primaries: u32) -> f64 {
    let primaries = f64::from(primaries);
    1.0 + (2.0 * primaries.ln() * primaries / TAGS).sqrt()
}

/// The fewest primaries of which the fullest has no more than `share` of the whole.
fn primaries(share: f64) -> u32 {
    let fits = |primaries: u32| skew(primaries) / f64::from(primaries) <= share;
    let mut most = FEWEST_PRIMARIES;
    while !fits(most) && most < u32::MAX / 2 {
        most *= 2;
    }
    let mut fewest = FEWEST_PRIMARIES;
    // What fits stays fitting with more: the share falls with their number.
    while fewest < most {
        let middle = fewest + (most - fewest) / 2;
        if fits(middle) {
            most = middle;
        } else {
            fewest = middle + 1;
        }
    }
    fewest
}

fn redis(peak: &Peak, costs: &Costs, workload: &Workload, hardware: &Hardware) -> RedisCluster {
    let kept = &costs.footprint;
    let bytes = workload.sessions() * kept.session
        + workload.codes(CODE_KEPT) * kept.code
        + workload.tombstones(TOMBSTONE_MARGIN) * kept.tombstone;
    let gb = bytes / 1e9;
    // A server works on one core.
    let cores = peak.primary_cores.max(peak.replica_cores);
    let share = |has: f64, needed: f64| has / needed.max(f64::MIN_POSITIVE);
    let [by_cpu, by_memory, by_network] = [
        share(hardware.utilisation, cores),
        share(hardware.redis_gb, gb),
        share(hardware.network_gbit * hardware.utilisation, gbit(peak.redis_bytes)),
    ]
    .map(primaries);
    let primaries = by_cpu.max(by_memory).max(by_network);
    let limit = match primaries {
        FEWEST_PRIMARIES => Limit::Minimum,
        _ if by_memory == primaries => Limit::Memory,
        _ if by_cpu == primaries => Limit::Cpu,
        _ => Limit::Network,
    };
    RedisCluster {
        primaries,
        replicas: primaries.saturating_mul(hardware.redis_replicas),
        busy_cores: peak.primary_cores,
        skew: skew(primaries),
        gb,
        gbit: gbit(peak.redis_bytes),
        limit,
    }
}

fn database(
    peak: &Peak,
    costs: &Costs,
    workload: &Workload,
    (hardware, nodes): (&Hardware, u32),
) -> Database {
    let kept = &costs.footprint;
    let bytes = workload.users * kept.user
        + workload.families() * kept.family
        + workload.tombstones(TOMBSTONE_MARGIN) * kept.tombstone_row;
    let tb = bytes / 1e12;
    let leases = f64::from(nodes) * costs.background.postgres_us / 1e6;
    let busy_cores = (peak.postgres_cores + leases) * MAINTENANCE;
    let wal_mb_per_second = peak.wal_bytes / 1e6;
    let wanted = busy_cores / hardware.utilisation;
    let beyond = [
        (Limit::Cpu, wanted / hardware.postgres_cores),
        (Limit::Log, wal_mb_per_second / (hardware.wal_mb_per_second * hardware.utilisation)),
        (Limit::Disk, tb / hardware.postgres_tb),
    ];
    let most = beyond.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
    let (limit, part) = most.unwrap_or((Limit::Minimum, 0.0));
    let distributed = part > 1.0;
    let standbys = if hardware.survive_zone { hardware.zones - 1 } else { 1 };
    let smallest = SIZES.into_iter().find(|size| *size >= wanted).unwrap_or(hardware.postgres_cores);
    let (machines, cores) = if distributed {
        let by_cpu = machines(wanted * DISTRIBUTED / DISTRIBUTED_CORES);
        let by_disk = machines(3.0 * tb / hardware.postgres_tb);
        (by_cpu.max(by_disk).max(3), DISTRIBUTED_CORES)
    } else {
        (1 + standbys, smallest.min(hardware.postgres_cores.max(SIZES[0])))
    };
    let minimum = !distributed && cores <= SIZES[0];
    Database {
        distributed,
        machines,
        cores,
        busy_cores,
        tb,
        wal_mb_per_second,
        durable_per_second: peak.durable,
        connections_per_node: (CONNECTIONS / f64::from(nodes)).clamp(4.0, 16.0) as u32,
        limit: if minimum { Limit::Minimum } else { limit },
    }
}

#[cfg(test)]
mod tests;
