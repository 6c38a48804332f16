//! Reads what nodes and engines have used and done so far; the difference of two readings is what they used in between.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use symbolon_loadtest::LoadtestError;
use symbolon_loadtest::cpu::CpuReading;
use symbolon_store_cluster::engines::Engines;

use super::node::Node;

/// Redis commands that no request causes: heartbeats, replication, and these readings.
const NOT_OURS: &[&str] = &[
    "auth",
    "client",
    "cluster",
    "command",
    "config",
    "hello",
    "info",
    "ping",
    "psync",
    "publish",
    "replconf",
    "role",
    "select",
    "spublish",
    "ssubscribe",
    "subscribe",
];

/// Series of the nodes' metrics that are sums over the life of the process.
const QUERIES: [&str; 4] = [
    "symbolon_db_queries_total{operation=\"read\"}",
    "symbolon_db_queries_total{operation=\"write\"}",
    "symbolon_db_rows_total{operation=\"read\"}",
    "symbolon_db_rows_total{operation=\"write\"}",
];

/// One reading of some nodes, and of the engines if they use any.
pub(super) struct Reading {
    nodes: Vec<CpuReading>,
    queries: [f64; QUERIES.len()],
    engines: Option<EngineReading>,
}

struct EngineReading {
    redis: Vec<RedisReading>,
    postgres: Duration,
    /// Bytes of write-ahead log.
    wal: u64,
}

/// One Redis server.
struct RedisReading {
    primary: bool,
    cpu: Duration,
    commands: BTreeMap<String, u64>,
    bytes_in: u64,
    bytes_out: u64,
}

/// What was used between two readings.
#[derive(Clone, Debug, Default)]
pub(super) struct Used {
    pub(super) nodes: Duration,
    pub(super) redis_primaries: Duration,
    pub(super) redis_replicas: Duration,
    pub(super) postgres: Duration,
    pub(super) commands: BTreeMap<String, u64>,
    pub(super) redis_bytes_in: u64,
    pub(super) redis_bytes_out: u64,
    pub(super) wal: u64,
    /// Statements that read and statements that write, rows that were read and rows that were written.
    pub(super) queries: [f64; QUERIES.len()],
}

impl Reading {
    /// The reading before a slice: what costs the measured processes CPU time is read first, the CPU times last.
    pub(super) fn before(nodes: &[Node], engines: Option<&Engines>) -> Result<Self, LoadtestError> {
        let queries = queries(nodes)?;
        let wal = engines.map(wal);
        let engines = engines.zip(wal).map(|(engines, wal)| EngineReading::of(engines, wal)).transpose()?;
        Ok(Self { nodes: cpu(nodes)?, queries, engines })
    }

    /// The reading after a slice, in the reverse order.
    pub(super) fn after(nodes: &[Node], engines: Option<&Engines>) -> Result<Self, LoadtestError> {
        let cpu = cpu(nodes)?;
        let mut read = engines.map(|engines| EngineReading::of(engines, 0)).transpose()?;
        if let Some((read, engines)) = read.as_mut().zip(engines) {
            read.wal = wal(engines);
        }
        Ok(Self { nodes: cpu, queries: queries(nodes)?, engines: read })
    }

    pub(super) fn since(&self, earlier: &Self) -> Used {
        let nodes = self.nodes.iter().zip(&earlier.nodes).map(|(now, then)| now.since(then)).sum();
        let mut used = Used { nodes, ..Used::default() };
        for ((used, now), then) in used.queries.iter_mut().zip(self.queries).zip(earlier.queries) {
            *used = (now - then).max(0.0);
        }
        if let Some((now, then)) = self.engines.as_ref().zip(earlier.engines.as_ref()) {
            now.add_since(then, &mut used);
        }
        used
    }
}

impl EngineReading {
    fn of(engines: &Engines, wal: u64) -> Result<Self, LoadtestError> {
        let servers = engines.redis.nodes().len();
        let redis = (0..servers).map(|index| RedisReading::parse(&info(engines, index))).collect();
        Ok(Self { redis, postgres: postgres_cpu(engines.postgres.pid())?, wal })
    }

    fn add_since(&self, earlier: &Self, used: &mut Used) {
        used.postgres = self.postgres.saturating_sub(earlier.postgres);
        used.wal = self.wal.saturating_sub(earlier.wal);
        for (now, then) in self.redis.iter().zip(&earlier.redis) {
            let cpu = now.cpu.saturating_sub(then.cpu);
            if !now.primary {
                used.redis_replicas += cpu;
                continue;
            }
            used.redis_primaries += cpu;
            used.redis_bytes_in += now.bytes_in.saturating_sub(then.bytes_in);
            used.redis_bytes_out += now.bytes_out.saturating_sub(then.bytes_out);
            for (name, calls) in &now.commands {
                let calls = calls.saturating_sub(then.commands.get(name).copied().unwrap_or(0));
                if calls > 0 {
                    *used.commands.entry(name.clone()).or_default() += calls;
                }
            }
        }
    }
}

impl RedisReading {
    /// Reads the answer to INFO EVERYTHING.
    fn parse(info: &str) -> Self {
        let mut reading =
            Self { primary: true, cpu: Duration::ZERO, commands: BTreeMap::new(), bytes_in: 0, bytes_out: 0 };
        for (name, value) in info.lines().filter_map(|line| line.trim().split_once(':')) {
            let bytes = || value.parse().unwrap_or(0);
            match name {
                "role" => reading.primary = value == "master",
                "used_cpu_sys" | "used_cpu_user" => {
                    reading.cpu += Duration::from_secs_f64(value.parse().unwrap_or(0.0));
                }
                "total_net_input_bytes" => reading.bytes_in = bytes(),
                "total_net_output_bytes" => reading.bytes_out = bytes(),
                _ => reading.command(name, value),
            }
        }
        reading
    }

    /// `cmdstat_client|setinfo:calls=3,usec=…`.
    fn command(&mut self, name: &str, value: &str) {
        let Some(name) = name.strip_prefix("cmdstat_") else { return };
        let family = name.split('|').next().unwrap_or(name);
        let calls = value.strip_prefix("calls=").and_then(|rest| rest.split(',').next()?.parse().ok());
        if let (false, Some(calls)) = (NOT_OURS.contains(&family), calls) {
            self.commands.insert(name.to_owned(), calls);
        }
    }
}

fn info(engines: &Engines, index: usize) -> String {
    engines.redis.cli(index, &["INFO", "everything"])
}

fn cpu(nodes: &[Node]) -> Result<Vec<CpuReading>, LoadtestError> {
    nodes.iter().map(|node| CpuReading::of(node.server.pid())).collect()
}

/// Bytes that were written to the write-ahead log so far.
pub(super) fn wal(engines: &Engines) -> u64 {
    let position = engines.postgres.psql("postgres", "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn");
    position.parse().expect("a number of bytes")
}

/// Sums over all nodes; a series that a node does not have yet is 0.
fn queries(nodes: &[Node]) -> Result<[f64; QUERIES.len()], LoadtestError> {
    let mut sums = [0.0; QUERIES.len()];
    for node in nodes {
        let page = node.metrics()?;
        for (sum, series) in sums.iter_mut().zip(QUERIES) {
            let value = page.lines().find_map(|line| line.strip_prefix(series));
            *sum += value.and_then(|value| value.trim().parse::<f64>().ok()).unwrap_or(0.0);
        }
    }
    Ok(sums)
}

/// The CPU time of PostgreSQL's first process and its children: to the nanosecond for running ones; in ticks of 10 ms
/// for ended ones that the first process has waited for.
pub(super) fn postgres_cpu(first: u32) -> Result<Duration, LoadtestError> {
    let gone = |source| LoadtestError::Cpu { pid: first, source };
    let stat = fs::read_to_string(format!("/proc/{first}/stat")).map_err(gone)?;
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    // Fields 16 and 17 of proc_pid_stat(5): cutime and cstime.
    let ticks: u64 = fields.split_whitespace().skip(13).take(2).filter_map(|f| f.parse::<u64>().ok()).sum();
    let ended =
        Duration::from_nanos(ticks * (1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)));
    let children = fs::read_to_string(format!("/proc/{first}/task/{first}/children")).map_err(gone)?;
    let children = children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok());
    Ok(ended + std::iter::once(first).chain(children).map(on_cpu).sum::<Duration>())
}

/// The CPU time of a process with one thread; zero if it has just ended.
fn on_cpu(pid: u32) -> Duration {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|figure| figure.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_those_of_requests() {
        let info = "# Server\r\nrole:slave\r\nused_cpu_sys:0.250000\r\nused_cpu_user:1.500000\r\n\
                    total_net_input_bytes:70\r\ntotal_net_output_bytes:90\r\n\
                    cmdstat_mget:calls=12,usec=40,usec_per_call=3.33,rejected_calls=0,failed_calls=0\r\n\
                    cmdstat_cluster|slots:calls=3,usec=9\r\ncmdstat_ping:calls=5,usec=1\r\n\
                    cmdstat_script|load:calls=1,usec=3\r\n";
        let reading = RedisReading::parse(info);
        assert!(!reading.primary);
        assert_eq!(
            (reading.cpu, reading.bytes_in, reading.bytes_out),
            (Duration::from_millis(1_750), 70, 90)
        );
        let commands: Vec<_> = reading.commands.iter().map(|(name, calls)| (name.as_str(), *calls)).collect();
        assert_eq!(commands, [("mget", 12), ("script|load", 1)]);
    }
}
